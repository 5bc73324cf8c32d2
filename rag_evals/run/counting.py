"""How are outcomes counted that have no score? In words, and as the worst that they can mean."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from rag_evals.core import Phrases


def worst_mean(scores: Sequence[float], failed: int) -> float | None:
    """Return the mean score if each failed row had 0; None where none failed or none has a score.

    Args:
        scores: Of the rows that have one, 0 to 1.
        failed: Rows that failed.
    """
    return math.fsum(scores) / (len(scores) + failed) if scores and failed else None


def counted_words(counts: Mapping[str, int]) -> str:
    """List what was counted: "3 empty_context, 1 JudgeOutputError".

    By count, then by name: outcomes end in any order, what is shown must not change.
    """
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)


def reason_words(reasons: Mapping[str, int], say: Phrases) -> str:
    """List why rows have no score in a reader's language; as `counted_words` otherwise."""
    said: Counter[str] = Counter()
    for reason, count in reasons.items():
        said[say.reason(reason)] += count
    return counted_words(said)
