"""Which numbers describe a comparison? The vector that the model weighs, in a fixed order."""

from collections.abc import Sequence

from rag_evals.embedded.compare import (
    EvidenceComparison,
    PolarityDifferences,
    compare_polarity,
    find_differences,
)
from rag_evals.text import INSISTS, stem

MEANINGS = {
    "best_cover": "share of the statement's weight that the best sentence holds",
    "wide_cover": "share that the best chunk, and chunks nearly as good, hold",
    "bigram_share": "share of its pairs of neighbouring words that stand so in the evidence",
    "near_share": "share missing, but with a word of the same beginning in the evidence",
    "replaced_share": "share missing, but with a synonym in the evidence",
    "replaced_wide": "share missing, but with a synonym elsewhere in the best chunk",
    "evidence_spread": "further sentences that the evidence takes, of three",
    "missing_rarity": "how rare the words are for which nothing stands, on average",
    "missing_end": "share of a run of two or more missing words at the end of the statement",
    "numbers_missing": "share of its numbers that the evidence lacks",
    "numbers_nowhere": "numbers that the best chunk lacks, up to 3",
    "names_nowhere": "names that the best chunk lacks, up to 3",
    "name_swapped": "another name stands in the place of a name",
    "denial_added": "it denies what the evidence says without any denial",
    "denial_dropped": "the evidence denies what it says without any denial",
    "quantifier_added": "a quantifier without exception (all, none, only) that the evidence lacks",
    "opposites": "words whose opposite stands in their place, up to 3",
    "number_clash": "another number stands in the place of a missing one",
    "clash_clean": "number, name, unit or opposite clash; 1 where all else agrees, then falls fast",
    "denial_clean": "likewise: a denial on one side only",
    "turned_clean": "likewise: another quantifier, or names in turned order",
    "hedge_clean": "likewise: the evidence is a hope, a doubt or an if",
}
"""Every feature with its meaning; shares lie in 0..1, a weight is the rarity of a word."""

FEATURES = tuple(MEANINGS)

# More of these never speaks against support, more of the others never for it. The fit holds the
# signs: without them, weights of features that go together cancel out and do not carry over.
FAVOURABLE = frozenset(
    (
        "best_cover",
        "wide_cover",
        "bigram_share",
        "near_share",
        "replaced_share",
        "replaced_wide",
    )
)
# Edits may only make these speak louder against support; see the training command.
SHARPENED = frozenset(("clash_clean", "denial_clean", "turned_clean", "hedge_clean"))
_MOST = 3.0
_SHARPNESS = 8
# Of a comparison without evidence.
_NO_OVERLAP, _NO_DIFFERENCES = (0.0,) * 7, (0.0,) * 10


def features(result: EvidenceComparison) -> list[float]:
    """Describe a comparison by numbers, one for each name in `FEATURES`."""
    return [*shared_features(result), *difference_features(result)]


def shared_features(result: EvidenceComparison) -> list[float]:
    """Return the first features: what the evidence shares with the statement, and what it lacks."""
    overlap = _overlap(result) if result.evidence.sentences else _NO_OVERLAP
    return [*overlap, *_missing(result), *_numbers(result), _names_nowhere(result)]


def difference_features(result: EvidenceComparison) -> Sequence[float]:
    """Find what the evidence says otherwise, and return the features that tell of it."""
    if not result.evidence.sentences:
        return _NO_DIFFERENCES
    find_differences(result)
    polarity = compare_polarity(result)
    name_swapped = 1.0 if result.name_rivals else 0.0
    return [name_swapped, *_polarity(result, polarity), *_clashes(result, polarity)]


def _overlap(result: EvidenceComparison) -> list[float]:
    weights, total, wide = result.weights, result.total or 1.0, result.wide
    return [
        result.evidence.cover,
        # In the statement's order: a set's own order differs by process, and so would the last bit.
        sum([weight for key, weight in weights.items() if key in wide]) / total,
        _bigram_share(result),
        sum([weights[key] for key in result.near]) / total,
        sum([weights[key] for key in result.replaced]) / total,
        _replaced_wide(result) / total,
        max(0, len(result.evidence.sentences) - 1) / 3,
    ]


def _replaced_wide(result: EvidenceComparison) -> float:
    found = result.replaced_wide
    return sum([w for key, w in result.weights.items() if key in found]) if found else 0.0


def _bigram_share(result: EvidenceComparison) -> float:
    pairs = result.statement.pairs
    shared = [pairs & place.sentence.pairs for place in result.evidence.sentences]
    return len(shared[0].union(*shared[1:])) / len(pairs) if pairs else 0.0


def _missing(result: EvidenceComparison) -> list[float]:
    weights, near, replaced = result.weights, result.near, result.replaced
    hard = [weights[key] for key in result.lost if key not in near and key not in replaced]
    return [sum(hard) / 10 / len(hard) if hard else 0.0, _missing_end(result)]


def _missing_end(result: EvidenceComparison) -> float:
    # Scattered missing words are mostly paraphrase; a run at the end is a detail nobody gave.
    keys, weights = result.statement.keys, result.weights
    run, count = 0.0, 0
    for i in reversed(result.content):
        key = keys[i]
        if key in result.covered_keys or key in result.wide:
            break
        if key not in result.near and key not in result.replaced:
            run, count = run + weights[key], count + 1
    return run / (result.total or 1.0) if count > 1 else 0.0


def _numbers(result: EvidenceComparison) -> tuple[float, float]:
    numbers = result.statement.numbers
    if not numbers:
        return 0.0, 0.0
    absent = [number for number in numbers if number not in result.covered_keys]
    nowhere = len([number for number in absent if number not in result.chunk_keys])
    return len(absent) / len(numbers), min(_MOST, nowhere)


def _names_nowhere(result: EvidenceComparison) -> float:
    covered_keys, replaced, chunk_keys = result.covered_keys, result.replaced, result.chunk_keys
    names = [
        key for key in result.statement.names if key not in covered_keys and key not in replaced
    ]
    return min(_MOST, len([key for key in names if key not in chunk_keys]))


def _polarity(result: EvidenceComparison, polarity: PolarityDifferences) -> list[float]:
    return [
        1.0 if polarity.negation_added else 0.0,
        1.0 if polarity.negation_dropped else 0.0,
        1.0 if polarity.quantifier_added else 0.0,
        min(_MOST, len(result.opposites)),
    ]


def _clashes(result: EvidenceComparison, polarity: PolarityDifferences) -> list[float]:
    """Clashes weigh most where all else agrees: there the evidence speaks of the same thing."""
    clash = bool(
        result.number_rivals or result.name_rivals or result.opposites or result.wrong_units
    )
    denied = polarity.negation_added or polarity.negation_dropped
    turned = bool(polarity.quantifiers_swapped or result.name_inversions)
    hedged = bool(polarity.hedge_dropped)
    found = (clash, denied, turned, hedged)
    if not any(found):
        return [0.0] * 5
    agreement = _agreement(result, polarity) ** _SHARPNESS
    return [
        1.0 if result.number_rivals else 0.0,
        *(agreement if is_found else 0.0 for is_found in found),
    ]


def _agreement(result: EvidenceComparison, polarity: PolarityDifferences) -> float:
    """Return the share that the best sentence holds of all but the words that clash."""
    sequence = result.statement.sequence
    strange = {sequence[i].key for i in (*result.number_rivals, *result.name_rivals)}
    strange.update(stem(ours) for ours, _ in result.opposites)
    strange.update(stem(ours) for ours in polarity.own_words)
    if polarity.hedge_dropped:
        strange.update(word.key for word in sequence if word.marks & INSISTS)
    for number, _, _ in result.wrong_units:
        for position in result.statement.positions[number]:
            strange.update(word.key for word in sequence[position + 1 : position + 2])
    primary = result.evidence.sentences[0].sentence.last
    rest = [(key, weight) for key, weight in result.weights.items() if key not in strange]
    total = sum(weight for _, weight in rest)
    return sum(weight for key, weight in rest if key in primary) / total if total else 0.0
