"""How do the groups of a run compare: by topic, language, source?

One line per group with its own interval; rows without a score are counted, never dropped.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.bands import DEFAULT_BANDS, Band, count_bands
from rag_evals.stats.checks import require_aligned
from rag_evals.stats.intervals import Interval, mean_interval


@dataclass(frozen=True, slots=True)
class GroupScores:
    """The scores of one group of rows.

    Attributes:
        group: The value that its rows share; None where they lack one.
        rows: All rows, scored or not.
        scored: Rows with a score.
        mean: Mean of the scored rows; None when there are none.
        bands: Scored rows in each band, from highest to lowest.
        unscored: Rows without a score, by reason.
    """

    group: str | None
    rows: int
    scored: int
    mean: Interval | None
    bands: Mapping[str, int]
    unscored: Mapping[str, int]


def summarize_groups(
    scores: Sequence[float | None],
    groups: Sequence[str | None],
    *,
    reasons: Sequence[str | None] | None = None,
    clusters: Sequence[Hashable | None] | None = None,
    bands: Sequence[Band] = DEFAULT_BANDS,
    confidence: float = 0.95,
) -> list[GroupScores]:
    """Summarize the scores of each group, in order of first appearance.

    Args:
        scores: Numbers from 0 to 1, one per row; None where the row has no score.
        groups: The group of each row, aligned with `scores`; rows with None are one group.
        reasons: Why a row has no score, aligned; None counts such rows as "unscored".
        clusters: As in `mean_interval`, aligned.
        bands: From highest to lowest.
        confidence: Coverage of each interval, as a fraction; not corrected for many groups.

    Raises:
        InvalidScoresError: There are no rows, or a score is not a number from 0 to 1.
        UnpairedScoresError: A list has another length than `scores`.
    """
    if not scores:
        raise InvalidScoresError("scores is empty; at least one row is needed")
    require_aligned("scores", scores, "groups", groups)
    for name, column in (("reasons", reasons), ("clusters", clusters)):
        if column is not None:
            require_aligned("scores", scores, name, column)
    members: dict[str | None, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    table = []
    for group, rows in members.items():
        kept: list[float] = []
        kept_clusters: list[Hashable | None] = []
        unscored: Counter[str] = Counter()
        for row in rows:
            score = scores[row]
            if score is None:
                unscored[(reasons[row] if reasons else None) or "unscored"] += 1
                continue
            kept.append(score)
            kept_clusters.append(clusters[row] if clusters else None)
        mean = mean_interval(kept, clusters=kept_clusters, confidence=confidence) if kept else None
        counts = count_bands(kept, bands=bands)
        table.append(GroupScores(group, len(rows), len(kept), mean, counts, dict(unscored)))
    return table
