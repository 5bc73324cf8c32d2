"""The model: a logistic regression over seven features, its weights file and answer support."""

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

# The features of a comparison, in a fixed order.

MEANINGS = {
    "cover": "share of the statement's weight found in the sentence, squared",
    "wide": "share found in the best chunk, or in any chunk that contains nearly as much",
    "pairs": "share of its adjacent word pairs that also occur in the best sentences",
    "reworded": "share replaced by a synonym, plus half the share replaced by a related form",
    "numbers_nowhere": "numbers in none of these chunks, up to 3",
    "names_nowhere": "names in none of these chunks, up to 3",
    "clash": "1 if the sentence clashes but otherwise agrees; drops fast as agreement falls",
}
"""What each feature means. Shares are between 0 and 1; the weight of a word is its rarity."""

FEATURES = tuple(MEANINGS)

# Higher values of these features never lower the support; those of the rest never raise it. The
# fit enforces this; otherwise, weights of correlated features cancel out and fail to generalise.
FAVOURABLE = frozenset(("cover", "wide", "pairs", "reworded"))
_MOST = 3
_SHARPNESS = 6
_NEAR = 0.5


def features(compared: StatementComparison) -> list[float]:
    return [*shared_features(compared), clash_feature(compared)]


def shared_features(compared: StatementComparison) -> list[float]:
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
        # Add weights in the statement's order, because set order varies between processes.
        sum(map(weights.__getitem__, filter(wide.__contains__, weights))) / total,
        found.pairs,
        sum(reworded) / total,
        min(_MOST, len(strange & numbers)) if numbers else 0.0,
        min(_MOST, len(strange & names_in(statement).keys())) if strange else 0.0,
    ]


def clash_feature(compared: StatementComparison) -> float:
    """Return the last feature: 1 if the sentence clashes but contains all other words."""
    return agreement(compared) ** _SHARPNESS if compared.clashes else 0.0


def agreement(compared: StatementComparison) -> float:
    """Return the share of the statement found in the sentence, ignoring contradicted words."""
    strange = frozenset[str]().union(*[clash.keys for clash in compared.clashes])
    where, replaced = compared.evidence.sentence.where, compared.replaced.keys() | compared.near
    total = held = 0.0
    for key, weight in compared.weights.items():
        if key not in strange:
            total += weight
            if key in where or key in replaced:
                held += weight
    return held / total if total else 1.0


# English words that carry little meaning in any text.
#
# Answers present facts with phrases such as "additionally", "various factors" and "the article
# discusses". These are rare in sources, so by rarity alone they would weigh as much as facts. The
# word lists are based on general knowledge.

_FRAME_FACTOR, _GENERAL_FACTOR = 0.2, 0.5

FORMAT = 2
_LEAST_IDF = 0.5
_MOST_NUMBER_IDF = 6.0


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted weights: a logistic regression over `FEATURES`, and background word counts."""

    coefficients: tuple[float, ...]
    intercept: float
    thresholds: Mapping[str, float]
    idf: Mapping[str, float]
    unseen_idf: Mapping[str, float]
    answer_limit: float
    digest: str

    def key_weights(self, statement: Sentence, language: str) -> dict[str, float]:
        """Map the content words of a statement to weights, according to their rarity."""
        idf = self.idf
        weights: dict[str, float] = {}
        small: frozenset[str] = frozenset()
        if language not in READ_WELL:
            small = small_words(language) | denials(language)
        for word in statement.sequence:
            key = word.key
            if word.kind == "stop" or (small and (key in small or word.low in small)):
                continue
            weight = idf.get(key)
            if weight is None:
                weight = self.unseen_idf["ru" if "а" <= key[0] <= "я" else "en"]
            if word.kind == "number":
                weight = min(weight, _MOST_NUMBER_IDF)
            weights[key] = weight
        return weights

    def log_odds(self, values: Sequence[float]) -> float:
        """Return the log odds; without the last value, the clash, the result is an upper bound."""
        total = self.intercept
        for coefficient, value in zip(self.coefficients, values, strict=False):
            total += coefficient * value
        return total

    def support(self, values: Sequence[float]) -> float:
        return probability(self.log_odds(values))


def probability(log_odds: float) -> float:
    return 1.0 / (1.0 + exp(-max(-40.0, min(40.0, log_odds))))


def log_odds(chance: float) -> float:
    if not 0.0 < chance < 1.0:
        return 40.0 if chance >= 1.0 else -40.0
    return max(-40.0, min(40.0, log(chance / (1 - chance))))


def load(path: Path) -> Model:
    """Read a weights file; the result is cached until the file changes."""
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
    """Build a model from the contents of a weights file."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ConfigurationError(f"expected weights in format {FORMAT}")
    try:
        named = data["coefficients"]
        idf, unseen = read_idf(data["background"])
        coefficients = tuple(float(named[name]) for name in FEATURES)
        intercept = float(data["intercept"])
        limit = float(data["answer_limit"])
        thresholds = {name: float(value) for name, value in data["thresholds"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"weights file: missing or invalid value: {error}") from error
    return Model(coefficients, intercept, thresholds, idf, unseen, limit, digest)


def read_idf(background: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the idf of each key, and the idf of unseen keys in each language.

    For each language, "chunks" is the total number of chunks, and "words" maps numbers of chunks to
    the keys that occur in exactly that many.
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
    factors = {stem(word): _GENERAL_FACTOR for word in words_in("vague_general")}
    factors |= {stem(word): _FRAME_FACTOR for word in words_in("vague_frame")}
    for key, factor in factors.items():
        idf[key] = factor * idf.get(key, unseen.get("en", _LEAST_IDF))
    return idf, unseen


# The support of a whole answer, derived from the support of its statements.
#
# The weakest statement is compared with a limit, which is lower than for a single statement. With a
# sum, long answers would fail by chance; with a mean, true sentences would hide a false one. On
# either side of the limit, answers are ranked by all their statements.

LEAST_ANSWER_SUPPORT = 0.5
"""Minimum support at which an answer counts as supported, regardless of its length."""

# Tuned on LFQA, ExpertQA and dialogue replies.
_SLOPE, _OFFSET = 2.0, 1.0
_SHARED_FAULTS = 0.4
PASSED_SUPPORT, FAILED_SUPPORT = (0.55, 0.80), (0.10, 0.40)
"""Lowest and highest support of answers on either side of the limit, chosen to minimise the mean
calibration error over all answer sources."""


def answer_support(supports: Sequence[float], limit: float) -> float:
    """Return the probability that all statements in an answer are supported.

    It is between 0.55 and 0.8 if the weakest statement reaches the limit, otherwise between 0.1 and
    0.4. Additional statements never raise it, so an answer cannot pass by padding.
    """
    chances = sum(-log1p(exp(-(_SLOPE * log_odds(support) + _OFFSET))) for support in supports)
    # Statements in the same answer tend to be wrong together, so the product alone is too low.
    together = exp(_SHARED_FAULTS * chances)
    has_passed = min(supports, default=1.0) >= limit
    low, high = PASSED_SUPPORT if has_passed else FAILED_SUPPORT
    return round(low + (high - low) * together, 12)
