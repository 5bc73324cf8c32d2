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

from rag_evals.embedded.features import FEATURES
from rag_evals.embedded.sentence import Sentence
from rag_evals.errors import ConfigurationError
from rag_evals.text import stem, words_in

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
