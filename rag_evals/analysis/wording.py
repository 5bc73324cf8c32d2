"""How are intervals and paired differences put into words? For lines of a terminal and cells."""

from rag_evals.stats import Interval, PairedComparison


def detectable_words(paired: PairedComparison) -> str:
    """Say which true difference this many rows would usually find: "0.08 (80 % power)"."""
    if paired.detectable is None:
        return "unknown: no spread was seen"
    if paired.detectable > 1:
        return "above 1 (80 % power), so these rows can show none"
    return f"{paired.detectable:.2g} (80 % power)"


def difference_words(paired: PairedComparison) -> str:
    """Write the difference with its interval; without one where both sides are the same."""
    if not paired.difference.width:
        return "+0.000: both are the same outcomes"
    return interval_words(paired.difference, sign="+")


def interval_words(interval: Interval, sign: str = "") -> str:
    """Write an estimate with its interval: "0.683 [0.624, 0.723]"."""
    low, high = _end(interval.low, sign), _end(interval.high, sign)
    return f"{interval.estimate:{sign}.3f} [{low}, {high}]"


def _end(value: float, sign: str) -> str:
    """Write an end of an interval; one near 0 must not look as if it were 0."""
    near = 1e-9 < abs(value) < 0.0005
    return f"{value:{sign}.1g}" if near else f"{value:{sign}.3f}"
