"""How are intervals and paired differences put into words? For lines of a terminal and cells."""

from rag_evals.core import Phrases, phrases
from rag_evals.stats import Interval, PairedComparison


def detectable_words(paired: PairedComparison, say: Phrases | None = None) -> str:
    """Say which true difference this many rows would usually find: "0.08 (80 % power)".

    Args:
        paired: What the rows say.
        say: In which language; None is English, here and below.
    """
    say = say or phrases()
    if paired.detectable is None:
        return say("compare.no_spread")
    if paired.detectable > 1:
        return say("compare.above_one")
    return say("compare.power", effect=say.written(f"{paired.detectable:.2g}"))


def needed_words(paired: PairedComparison, say: Phrases | None = None) -> str | None:
    """Say how many rows would find a difference of this size; None where that is not known."""
    say, rows = say or phrases(), paired.rows_needed
    return None if rows is None else say("compare.needed", rows=say.whole(rows))


def difference_words(paired: PairedComparison, say: Phrases | None = None) -> str:
    """Write the difference with its interval; without one where both sides are the same."""
    if not paired.difference.width:
        return (say or phrases())("compare.same_outcomes")
    return interval_words(paired.difference, sign="+", say=say)


def interval_words(interval: Interval, sign: str = "", say: Phrases | None = None) -> str:
    """Write an estimate with its interval: "0.683 [0.624, 0.723]"."""
    low, high = _end(interval.low, sign), _end(interval.high, sign)
    return (say or phrases()).written(f"{interval.estimate:{sign}.3f} [{low}, {high}]")


def _end(value: float, sign: str) -> str:
    """Write an end of an interval; one near 0 must not look as if it were 0."""
    near = 1e-9 < abs(value) < 0.0005
    return f"{value:{sign}.1g}" if near else f"{value:{sign}.3f}"
