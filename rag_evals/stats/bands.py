"""Is this score high, good, medium or low?

A band has a lower limit that belongs to it and reaches up to the next band. Names and limits are
the user's to choose; `DEFAULT_BANDS` has English and Russian labels.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rag_evals.errors import ConfigurationError
from rag_evals.stats.checks import require_scores

# A score such as 0.1 added nine times falls 1e-16 short of 0.9, and belongs to the upper band.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Band:
    """A named range of scores.

    Attributes:
        name: Stable word for code and files, for example "good".
        lower: Smallest score in the band, 0 to 1.
        labels: What to show, by language code; a language without a label shows the name.
        meanings: What a score in the band says, by language code; empty for bands of a user.
    """

    name: str
    lower: float
    labels: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)

    def label(self, language: str = "en") -> str:
        """What to show a reader of `language`, for example "Хорошая достоверность" for "ru"."""
        return self.labels.get(language, self.name)

    def meaning(self, language: str = "en") -> str | None:
        """What a score in it says, to a reader of `language`; None where nobody said."""
        return self.meanings.get(language)


DEFAULT_BANDS: tuple[Band, ...] = (
    Band(
        "high",
        0.9,
        {"en": "high", "ru": "Высокая достоверность"},
        {"en": "all statements are supported", "ru": "все утверждения подтверждены"},
    ),
    Band(
        "good",
        0.7,
        {"en": "good", "ru": "Хорошая достоверность"},
        {"en": "most statements are supported", "ru": "большинство утверждений подтверждено"},
    ),
    Band(
        "medium",
        0.5,
        {"en": "medium", "ru": "Средняя достоверность"},
        {
            "en": "some statements are not supported",
            "ru": "часть утверждений не подтверждена",
        },
    ),
    Band(
        "low",
        0.0,
        {"en": "low", "ru": "Низкая достоверность"},
        {
            "en": "a large part of the statements is not supported",
            "ru": "значительная часть утверждений не подтверждена",
        },
    ),
)


def build_bands(
    limits: Mapping[str, float], *, labels: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Band, ...]:
    """Make bands from names and lower limits.

    Args:
        limits: Lower limit of each band, 0 to 1, in any order; one of them must be 0.
        labels: For each band name, what to show by language code. None shows the names.

    Returns:
        The bands from highest to lowest.

    Raises:
        ConfigurationError: A limit is outside 0..1 or given twice, or none is 0.
    """
    shown = labels or {}
    for name in shown:
        if name not in limits:
            raise ConfigurationError(f"labels for band {name!r}; the bands are {list(limits)}")
    bands = sorted(
        (Band(name, lower, dict(shown.get(name, {}))) for name, lower in limits.items()),
        key=lambda band: -band.lower,
    )
    for band in bands:
        if not 0 <= band.lower <= 1:
            raise ConfigurationError(
                f"band {band.name!r} starts at {band.lower!r}; limits are 0 to 1"
            )
    for upper, lower in pairwise(bands):
        if upper.lower == lower.lower:
            raise ConfigurationError(
                f"bands {upper.name!r} and {lower.name!r} both start at {upper.lower!r}"
            )
    if not bands or bands[-1].lower != 0:
        raise ConfigurationError(f"no band starts at 0: {dict(limits)!r}; scores from 0 need one")
    return tuple(bands)


def band_of(score: float, *, bands: Sequence[Band] = DEFAULT_BANDS) -> Band:
    """Find the band of a score.

    Args:
        score: 0 to 1.
        bands: From highest to lowest, as `build_bands` gives them.

    Raises:
        InvalidScoresError: The score is not a number from 0 to 1.
    """
    require_scores("score", [score])
    return next(band for band in bands if score >= band.lower - _ROUNDING)


def count_bands(
    scores: Iterable[float], *, bands: Sequence[Band] = DEFAULT_BANDS
) -> dict[str, int]:
    """Count the scores in each band, empty bands included, from highest to lowest.

    Args:
        scores: Numbers from 0 to 1; leave out rows without a score.
        bands: From highest to lowest, as `build_bands` gives them.

    Raises:
        InvalidScoresError: A score is not a number from 0 to 1.
    """
    limits = [band.lower - _ROUNDING for band in reversed(bands)]
    counts = [0] * len(bands)
    for score in scores:
        if not 0 <= score <= 1:
            require_scores("score", [score])
        counts[-bisect_right(limits, score)] += 1
    return {band.name: count for band, count in zip(bands, counts, strict=True)}
