"""How does a comparison become a calibrated support, of a statement and of a whole answer?

A dozen features, a logistic regression over them, and the weights file that holds it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, log1p
from pathlib import Path
from typing import Any

from rag_evals.embedded.compare import StatementComparison
from rag_evals.embedded.passage import Sentence, figures_in, names_in
from rag_evals.errors import ConfigurationError
from rag_evals.text import READ_WELL
from rag_evals.text.language import denials, small_words
from rag_evals.text.lexicon import words_in
from rag_evals.text.word_forms import stem

# Which numbers describe a comparison? The vector that the model weighs, in a fixed order.

MEANINGS = {
    "cover": "share of the statement's weight that the sentence holds, squared",
    "wide": "share that the widest chunk, and chunks nearly as wide, hold",
    "pairs": "share of its pairs of neighbouring words that the best sentences have too",
    "reworded": "share missing, but with a synonym in the sentence, half for the same beginning",
    "numbers_nowhere": "numbers that no such chunk holds, up to 3",
    "names_nowhere": "names that no such chunk holds, up to 3",
    "clash": "1 where the sentence contradicts and all else agrees, then falls fast",
}
"""Every feature with its meaning; shares lie in 0..1, a weight is the rarity of a word."""

FEATURES = tuple(MEANINGS)

# More of these never speaks against support, more of the others never for it. The fit holds the
# signs: without them, weights of features that go together cancel out and do not carry over.
FAVOURABLE = frozenset(("cover", "wide", "pairs", "reworded"))
_MOST = 3
_SHARPNESS = 6
_NEAR = 0.5


def features(compared: StatementComparison) -> list[float]:
    """Describe a comparison by numbers, one for each name in `FEATURES`."""
    return [*shared_features(compared), clash_feature(compared)]


def shared_features(compared: StatementComparison) -> list[float]:
    """Return the first features: what the chunks share with the statement, and what they lack."""
    weights, found = compared.weights, compared.found
    statement, wide = compared.statement, found.wide
    total = sum(weights.values()) or 1.0
    cover = min(1.0, compared.evidence.cover / total)
    lost = [key for key in compared.lost if key not in wide]
    reworded = [weights[key] for key in lost if key in compared.replaced]
    reworded += [_NEAR * weights[key] for key in lost if key in compared.near]
    strange = set(lost) - compared.replaced.keys()
    numbers = strange and {statement.keys[i] for i in figures_in(statement)}
    return [
        cover * cover,
        # In the statement's order: a set's own order differs by process, and so would the last bit.
        sum([weight for key, weight in weights.items() if key in wide]) / total,
        found.pairs,
        sum(reworded) / total,
        min(_MOST, len(strange & numbers)) if numbers else 0.0,
        min(_MOST, len(strange & names_in(statement).keys())) if strange else 0.0,
    ]


def clash_feature(compared: StatementComparison) -> float:
    """Return the last feature: whether the sentence contradicts, and says all the rest."""
    return agreement(compared) ** _SHARPNESS if compared.clashes else 0.0


def agreement(compared: StatementComparison) -> float:
    """Return the share that the sentence holds of all but the words that clash."""
    strange = frozenset[str]().union(*[clash.keys for clash in compared.clashes])
    where, replaced = compared.evidence.sentence.where, compared.replaced.keys() | compared.near
    total = held = 0.0
    for key, weight in compared.weights.items():
        if key not in strange:
            total += weight
            if key in where or key in replaced:
                held += weight
    return held / total if total else 1.0


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


FORMAT = 2
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
    answer_limit: float
    digest: str

    def key_weights(self, statement: Sentence, language: str) -> dict[str, float]:
        """Weigh the content words of a statement by how rare they are."""
        idf = self.idf
        weights: dict[str, float] = {}
        small: frozenset[str] = frozenset()
        if language not in READ_WELL:
            small = small_words(language) | denials(language)
        for word in statement.sequence:
            key = word.key
            if word.kind == "stop" or key in small or word.low in small:
                continue
            weight = idf.get(key)
            if weight is None:
                weight = self.unseen_idf["ru" if "а" <= key[0] <= "я" else "en"]
            if word.kind == "number":
                weight = min(weight, _MOST_NUMBER_IDF)
            weights[key] = weight
        return weights

    def log_odds(self, values: Sequence[float]) -> float:
        """Weigh features; of the first few alone, the highest sum that they can reach."""
        total = self.intercept
        for coefficient, value in zip(self.coefficients, values, strict=False):
            total += coefficient * value
        return total

    def support(self, values: Sequence[float]) -> float:
        """Turn features into a calibrated probability, 0 to 1."""
        return probability(self.log_odds(values))


def probability(log_odds: float) -> float:
    """Turn log odds into a probability; beyond 40 they change nothing."""
    return 1.0 / (1.0 + exp(-max(-40.0, min(40.0, log_odds))))


def log_odds(chance: float) -> float:
    """Turn a probability into log odds, at most 40 either way."""
    if not 0.0 < chance < 1.0:
        return 40.0 if chance >= 1.0 else -40.0
    return max(-40.0, min(40.0, log(chance / (1 - chance))))


def load(path: Path) -> Model:
    """Read a weights file.

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
        limit = float(data["answer_limit"])
        thresholds = {name: float(value) for name, value in data["thresholds"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"weights file lacks or misstates {error}") from error
    return Model(coefficients, intercept, thresholds, idf, unseen, limit, digest)


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
# Its weakest statement decides, by a milder limit than a statement has alone: a sum would let a
# long answer fail by accident, a mean would let true sentences hide a false one. On either side of
# the limit answers are ranked by all statements together.

LEAST_ANSWER_SUPPORT = 0.5
"""From here on a whole answer counts as supported, however many statements it has."""

# Of LFQA, ExpertQA and dialogue replies, which rank well by these.
_SLOPE, _OFFSET = 2.0, 1.0
_SHARED_FAULTS = 0.4
PASSED_SUPPORT, FAILED_SUPPORT = (0.55, 0.80), (0.10, 0.40)
"""Least and largest support of answers on either side of the limit, of the least calibration error
over all sources of answers: they differ in how many answers hold."""


def answer_support(supports: Sequence[float], limit: float) -> float:
    """Return how surely all statements of an answer hold.

    Args:
        supports: Of its statements, 0 to 1.
        limit: Support of the weakest statement from which on the answer counts as supported.

    Returns:
        0.55 to 0.8 for a supported answer, 0.1 to 0.4 for any other. A further statement never
        raises it, so no padding makes an answer pass.
    """
    chances = sum(-log1p(exp(-(_SLOPE * log_odds(support) + _OFFSET))) for support in supports)
    # Statements of one answer tend to be wrong together: the product alone would be too low.
    together = exp(_SHARED_FAULTS * chances)
    has_passed = min(supports, default=1.0) >= limit
    low, high = PASSED_SUPPORT if has_passed else FAILED_SUPPORT
    return round(low + (high - low) * together, 12)
