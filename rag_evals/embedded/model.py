"""How do features become a calibrated support, of a statement and of a whole answer?

The weights file, and the sum that it defines.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, log1p
from pathlib import Path
from typing import Any

from rag_evals.embedded.compare import (
    EvidenceComparison,
    PolarityDifferences,
    compare_polarity,
    find_differences,
)
from rag_evals.embedded.sentence import Sentence
from rag_evals.errors import ConfigurationError
from rag_evals.text import INSISTS, stem, words_in

# Which numbers describe a comparison? The vector that the model weighs, in a fixed order.

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


# Which English words say little in any text?
#
# An answer frames its facts in words of its own: "additionally", "various factors", "the article
# discusses". Such words are rare in sources, so their rarity alone would make them weigh like
# facts. Written from general knowledge.

_FRAME_FACTOR, _GENERAL_FACTOR = 0.2, 0.5


@lru_cache(maxsize=1)
def vague_factors() -> dict[str, float]:
    """Return the factor for the weight of each vague word key, 0 to 1."""
    factors = {stem(word): _GENERAL_FACTOR for word in words_in("vague_general")}
    return factors | {stem(word): _FRAME_FACTOR for word in words_in("vague_frame")}


FORMAT = 1
_LEAST_IDF = 0.5
_MOST_NUMBER_IDF = 6.0


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted weights: a logistic regression over `FEATURES`, and a background count of words."""

    coefficients: tuple[float, ...]
    intercept: float
    thresholds: Mapping[str, float]
    idf: Mapping[str, float]
    unseen_idf: Mapping[str, float]
    digest: str

    def key_weights(self, statement: Sentence) -> dict[str, float]:
        """Weigh the content words of a statement by how rare they are."""
        idf = self.idf
        weights: dict[str, float] = {}
        small_words = statement.small_words
        for word in statement.sequence:
            key = word.key
            if word.kind == "stop" or key in small_words:
                continue
            weight = idf.get(key)
            if weight is None:
                weight = self.unseen_idf["ru" if "а" <= key[0] <= "я" else "en"]
            if word.kind == "number":
                weight = min(weight, _MOST_NUMBER_IDF)
            weights[key] = weight
        return weights

    def log_odds(self, values: Sequence[float]) -> float:
        """Weigh features; of the first few alone, this is their part of the sum."""
        total = self.intercept
        for coefficient, value in zip(self.coefficients, values, strict=False):
            total += coefficient * value
        return total

    def support(self, values: Sequence[float]) -> float:
        """Turn features into a calibrated probability, 0 to 1."""
        return probability(self.log_odds(values))

    def never_adds(self, first: int) -> bool:
        """Say whether no feature from a place in `FEATURES` on can speak for support."""
        return all(coefficient <= 0.0 for coefficient in self.coefficients[first:])


def probability(log_odds: float) -> float:
    """Turn log odds into a probability; beyond 40 they say no more."""
    return 1.0 / (1.0 + exp(-max(-40.0, min(40.0, log_odds))))


def log_odds(chance: float) -> float:
    """Turn a probability into log odds, at most 40 either way."""
    if not 0.0 < chance < 1.0:
        return 40.0 if chance >= 1.0 else -40.0
    return max(-40.0, min(40.0, log(chance / (1 - chance))))


def load(path: Path) -> Model:
    """Read a weights file.

    Args:
        path: A file made by `python -m tools.train_embedded`.

    Returns:
        The model; the same file is read once per process while it does not change.

    Raises:
        ConfigurationError: The file is missing, is not JSON, or was made for other features.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise ConfigurationError(f"no weights file {str(path)!r}: {error}") from error
    return _load(path, changed)


@lru_cache(maxsize=8)
def _load(place: Path, changed: int) -> Model:
    raw = place.read_bytes()
    try:
        data = json.loads(raw)
    except ValueError as error:
        raise ConfigurationError(f"{str(place)!r} is not a JSON weights file: {error}") from error
    return parse(data, hashlib.sha256(raw).hexdigest())


def parse(data: Mapping[str, Any], digest: str) -> Model:
    """Build a model from the content of a weights file.

    Args:
        data: The JSON object.
        digest: Hash of the file's bytes.

    Returns:
        The model.

    Raises:
        ConfigurationError: The object lacks a part, or its features are not those of this version.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ConfigurationError(f"weights of format {FORMAT} expected")
    try:
        named = data["coefficients"]
        idf, unseen = read_idf(data["background"])
        coefficients = tuple(float(named[name]) for name in FEATURES)
        intercept = float(data["intercept"])
        thresholds = {name: float(value) for name, value in data["thresholds"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"weights file lacks or misstates {error}") from error
    return Model(coefficients, intercept, thresholds, idf, unseen, digest)


def read_idf(background: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Turn background counts into idf weights.

    Args:
        background: Per language "chunks" (how many were counted) and "words": a count of chunks
            to the keys that occur in so many, separated by spaces.

    Returns:
        The idf of each key, and per language that of a key never seen.
    """
    idf: dict[str, float] = {}
    unseen: dict[str, float] = {}
    for language, table in background.items():
        top = log(table["chunks"] + 1)
        unseen[language] = max(_LEAST_IDF, top)
        for count, keys in table["words"].items():
            weight = max(_LEAST_IDF, top - log(int(count) + 1))
            for key in keys.split():
                idf[key] = weight
    for key, factor in vague_factors().items():
        idf[key] = factor * idf.get(key, unseen.get("en", _LEAST_IDF))
    return idf, unseen


# How surely does a whole answer hold, when each of its statements is supported so surely?
#
# Every statement must hold, so their chances are multiplied. A sum over log odds would let a long
# answer fail by accident, a mean would let true sentences hide a false one: here each further
# statement lowers the figure, a true one hardly.

LEAST_ANSWER_SUPPORT = 0.5
"""From here on a whole answer counts as supported, however many statements it has."""

# Of LFQA, ExpertQA and dialogue replies: the first two rank answers well, the last calibrates.
_SLOPE, _OFFSET = 2.0, 1.0
_SHARED_FAULTS = 0.4


def answer_support(supports: Iterable[float]) -> float:
    """Return how surely all statements of an answer hold.

    Args:
        supports: Of its statements, 0 to 1; 1 for none.

    Returns:
        0 to 1. A further statement never raises it, so no padding makes an answer pass.
    """
    chances = sum(-log1p(exp(-(_SLOPE * log_odds(support) + _OFFSET))) for support in supports)
    # Statements of one answer tend to be wrong together: the product alone would be too low.
    return exp(_SHARED_FAULTS * chances)
