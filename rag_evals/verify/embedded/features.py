"""Which numbers describe a comparison? The vector that the model weighs, in a fixed order."""

from itertools import pairwise

from rag_evals.text.words import stem
from rag_evals.verify.embedded.compare import Comparison

FEATURES = (
    "best_cover", "cover", "chunk_cover", "wide_cover", "wide_all", "all_held", "near_share",
    "replaced_share", "largest_missing", "hard_missing_share", "hard_missing_mean",
    "bigram_share", "link_share", "name_inversions", "substituted_share", "inserted_share",
    "linker_share", "numbers_missing", "numbers_missing_share", "numbers_missing_chunk",
    "number_swapped", "numbers_loose", "unit_wrong", "names_missing", "names_missing_share",
    "names_missing_chunk", "name_swapped", "opposites", "denial_added", "denial_dropped",
    "quantifier_changed", "quantifier_swapped", "hedge_dropped", "absolute_added",
    "number_clash", "clash", "clash_clean", "turned_clean",
)  # fmt: skip
# More of these never speaks against support, more of the others never for it. The fit holds the
# signs: without them, weights of features that go together cancel out and do not carry over.
FAVOURABLE = frozenset(
    (
        "best_cover", "cover", "chunk_cover", "wide_cover", "wide_all", "all_held", "near_share",
        "replaced_share", "bigram_share", "link_share",
    )
)  # fmt: skip

# Edits may only make these speak louder against support; see the training command.
CONTRADICTION = frozenset(
    (
        "name_inversions", "number_swapped", "numbers_loose", "unit_wrong", "name_swapped",
        "opposites", "denial_added", "denial_dropped", "quantifier_changed", "quantifier_swapped",
        "hedge_dropped", "absolute_added", "linker_share", "number_clash", "clash", "clash_clean",
        "turned_clean",
    )
)  # fmt: skip


def features(result: Comparison) -> list[float]:
    """Describe a comparison by numbers.

    Args:
        result: A statement beside its evidence.

    Returns:
        One number for each name in `FEATURES`; shares lie in 0..1, counts are capped at 3.
    """
    return [
        *_overlap(result),
        *_order(result),
        *_numbers(result),
        *_names(result),
        *_polarity(result),
        *_clashes(result),
    ]


def _overlap(result: Comparison) -> list[float]:
    sequence = result.statement.sequence
    weights, total, held = result.weights, result.total or 1.0, result.held
    lost = {sequence[i][1] for i in result.missing}
    hard = [weights[key] for key in lost if key not in result.near and key not in result.replaced]
    return [
        result.chosen.cover,
        1.0 - sum(weights[key] for key in lost) / total if weights else 0.0,
        result.chosen.chunk_cover,
        sum(weights[key] for key in result.wide) / total,
        1.0 if len(result.wide) == len(weights) else 0.0,
        1.0 if weights and not lost and held else 0.0,
        sum(weights[key] for key in result.near) / total,
        sum(weights[key] for key in result.replaced) / total,
        max(hard, default=0.0) / 10,
        sum(hard) / total,
        sum(hard) / 10 / len(hard) if hard else 0.0,
    ]


def _order(result: Comparison) -> list[float]:
    total = result.total or 1.0
    sequence, weights = result.statement.sequence, result.weights
    swapped = {sequence[i][1] for i, _ in result.substituted}
    added = {sequence[i][1] for i in result.inserted} - swapped
    return [
        _bigram_share(result),
        result.links_held / result.links if result.links else 0.0,
        min(2.0, result.name_inversions),
        sum(weights[key] for key in swapped) / total,
        sum(weights[key] for key in added) / total,
        result.linkers_changed / result.linkers if result.linkers else 0.0,
    ]


def _bigram_share(result: Comparison) -> float:
    keys = [word[1] for word in result.statement.sequence]
    pairs = set(pairwise(keys))
    if not pairs:
        return 0.0
    theirs: set[tuple[str, str]] = set()
    for place in result.chosen.places:
        others = [word[1] for word in place.sentence.sequence]
        theirs.update(pairwise(others))
    return len(pairs & theirs) / len(pairs)


def _numbers(result: Comparison) -> list[float]:
    numbers = result.statement.numbers
    absent = [number for number in numbers if number not in result.held]
    nowhere = [number for number in absent if number not in result.chunk_keys]
    other = result.chosen.places[0].sentence if result.chosen.places else None
    rivals = [n for n in other.numbers if n not in numbers] if other else []
    return [
        min(3.0, len(absent)),
        len(absent) / len(numbers) if numbers else 0.0,
        min(3.0, len(nowhere)),
        1.0 if absent and rivals else 0.0,
        min(3.0, len(result.loose_numbers)),
        1.0 if result.wrong_units else 0.0,
    ]


def _names(result: Comparison) -> list[float]:
    names = result.statement.names
    absent = [key for key in names if key not in result.held]
    nowhere = [key for key in absent if key not in result.chunk_keys]
    other = result.chosen.places[0].sentence if result.chosen.places else None
    sequence = result.statement.sequence
    swapped = other is not None and any(
        sequence[i][1] in names and any(other.sequence[j][1] in other.names for j in fresh)
        for i, fresh in result.substituted
    )
    return [
        min(3.0, len(absent)),
        len(absent) / len(names) if names else 0.0,
        min(3.0, len(nowhere)),
        1.0 if swapped else 0.0,
    ]


def _polarity(result: Comparison) -> list[float]:
    rivals = [theirs for _, theirs in result.quantifiers_changed if theirs]
    return [
        min(3.0, len(result.opposites)),
        1.0 if result.negation_added else 0.0,
        1.0 if result.negation_dropped else 0.0,
        min(3.0, len(result.quantifiers_changed)),
        1.0 if rivals else 0.0,
        1.0 if result.hedge_dropped else 0.0,
        1.0 if result.absolute_added else 0.0,
    ]


def _clashes(result: Comparison) -> list[float]:
    """Clashes weigh most where all else agrees: there the evidence speaks of the same thing."""
    strange = {result.statement.sequence[i][1] for i in result.number_rivals}
    strange.update(stem(ours) for ours, _ in result.opposites)
    rest = sum(weight for key, weight in result.weights.items() if key not in strange)
    held = result.chosen.cover * result.total / rest if rest else 0.0
    agreement = min(1.0, held) ** 3
    clash = bool(result.number_rivals or result.opposites or result.wrong_units)
    turned = bool(
        result.negation_added or result.negation_dropped or result.name_inversions
        or any(theirs for _, theirs in result.quantifiers_changed)
    )  # fmt: skip
    return [
        1.0 if result.number_rivals else 0.0,
        1.0 if clash else 0.0,
        agreement if clash else 0.0,
        agreement if turned else 0.0,
    ]
