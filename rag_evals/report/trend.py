"""How did the scores change from run to run? A file with one line for each run and grader."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rag_evals.core import Phrases, phrases
from rag_evals.errors import DataError
from rag_evals.report.tables import markdown_row
from rag_evals.run import Run

_SHOWN = 20
_BARS = "▁▂▃▄▅▆▇█"
# Means that lie closer together are drawn as a flat line, not as mountains.
_LEAST_RANGE = 0.05


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """What one run came to, for one grader.

    Attributes:
        time: When it was finished, in ISO form; None where the run does not say.
        commit: What was graded: `$GITHUB_SHA` or `$CI_COMMIT_SHA`; None outside of a build.
        grader: Its name.
        mean: Mean score, or None without one.
        scored: Rows with a score.
        total: All rows.
        judge: Who graded.
        asked: What else makes two points comparable: fingerprint of the grader, hash of the data.
    """

    time: str | None
    commit: str | None
    grader: str
    mean: float | None
    scored: int
    total: int
    judge: str | None
    asked: str

    def __repr__(self) -> str:
        """One line."""
        mean = _mean(self.mean, phrases())
        return f"TrendPoint({self.grader}: {mean} over {self.scored} of {self.total})"


def read_trend(path: Path) -> list[TrendPoint]:
    """Read the points of earlier runs; none where there is no file.

    Raises:
        DataError: A line is no point.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read as a trend: {error}") from error
    return [_point(line, number, path) for number, line in enumerate(lines, 1) if line.strip()]


def add_to_trend(path: Path, run: Run) -> list[TrendPoint]:
    """Add a run to a file of earlier ones, once, and return all points.

    Args:
        path: The file; it is made where there is none.
        run: A run; one with pending gradings has no number yet, and is not added.

    Raises:
        DataError: A line of the file is no point.
    """
    earlier = read_trend(path)
    known = {_which(point) for point in earlier if point.time is not None}
    points = [] if run.summary().pending else points_of(run)
    new = [point for point in points if _which(point) not in known]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(asdict(point), ensure_ascii=False)}\n" for point in new)
    return [*earlier, *new]


def _which(point: TrendPoint) -> tuple[object, ...]:
    """Name the run of a point; the same one may be collected or shown again by a later build."""
    return (point.time, point.grader, point.judge, point.asked)


def points_of(run: Run) -> list[TrendPoint]:
    """Return what a run came to, one point for each grader."""
    identity = run.identity
    graders: Mapping[str, str] = identity.get("graders", {})
    commit = os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA") or None
    return [
        TrendPoint(
            run.manifest.get("finished"),
            commit,
            name,
            of_grader.mean(),
            of_grader.scored,
            of_grader.total,
            run.judge,
            f"{graders.get(name, '')[:16]} {str(identity.get('data'))[:16]}",
        )
        for name, of_grader in run.summary().graders.items()
    ]


def trend_markdown(points: Sequence[TrendPoint], say: Phrases | None = None) -> str:
    """Show the last runs of each grader as Markdown: a small drawing, now, and before.

    Args:
        points: Of all runs, the oldest first.
        say: In which language; None is English, here and below.
    """
    say = say or phrases()
    heads = [say(f"trend.head_{name}") for name in ("grader", "runs", "now", "change")]
    lines = [markdown_row(*heads), "|---|---|---|---|"]
    for own in _by_grader(points):
        bars = drawn([point.mean for point in own])
        grader = say.named("graders", own[-1].grader)
        lines.append(markdown_row(grader, bars, _mean(own[-1].mean, say), _change(own, say)))
    return "\n".join(lines) + "\n"


def trend_lines(points: Sequence[TrendPoint], say: Phrases | None = None) -> list[str]:
    """Show the same in one line for each grader."""
    say = say or phrases()
    return [
        say(
            "trend.line",
            grader=say.named("graders", own[-1].grader),
            bars=drawn([point.mean for point in own]),
            mean=_mean(own[-1].mean, say),
            change=_change(own, say),
        )
        for own in _by_grader(points)
    ]


def drawn(means: Sequence[float | None]) -> str:
    """Draw means as bars, the lowest to the highest; a dot for a run without a score."""
    known = [mean for mean in means if mean is not None]
    if not known:
        return "·" * len(means)
    low, high = min(known), max(known)
    middle, reach = (low + high) / 2, max(high - low, _LEAST_RANGE)
    low = middle - reach / 2
    places = [None if mean is None else (mean - low) / reach for mean in means]
    last = len(_BARS) - 1
    return "".join("·" if one is None else _BARS[round(one * last)] for one in places)


def _by_grader(points: Sequence[TrendPoint]) -> list[list[TrendPoint]]:
    names = dict.fromkeys(point.grader for point in points)
    return [[point for point in points if point.grader == name][-_SHOWN:] for name in names]


def _change(points: Sequence[TrendPoint], say: Phrases) -> str:
    if len(points) < 2:
        return say("trend.first_run")
    before, now = points[-2:]
    others = [
        say(phrase)
        for phrase, is_other in (
            ("trend.another_judge", now.judge != before.judge),
            ("trend.other_rows", now.asked != before.asked),
        )
        if is_other
    ]
    mean = _mean(before.mean, say)
    if now.mean is None or before.mean is None:
        return "; ".join([say("trend.from", mean=mean), *others])
    difference = say.written(f"{now.mean - before.mean:+.2f}")
    return "; ".join([say("trend.by", difference=difference, mean=mean), *others])


def _mean(mean: float | None, say: Phrases) -> str:
    return say("trend.no_score") if mean is None else say.number(mean)


def _point(line: str, number: int, path: Path) -> TrendPoint:
    fault = f"{str(path)!r}, line {number}: no point of a trend; another file, or a broken one"
    try:
        # `Any`: parsed JSON, which is checked below.
        values: Any = json.loads(line, parse_constant=_refused)
    except ValueError:
        raise DataError(fault) from None
    names = {field.name for field in fields(TrendPoint)}
    if not isinstance(values, dict) or not names <= values.keys():
        raise DataError(fault)
    point = TrendPoint(**{name: values[name] for name in names})
    texts = (point.grader, point.asked)
    is_mean = point.mean is None or isinstance(point.mean, int | float)
    if not (is_mean and all(isinstance(text, str) for text in texts)):
        raise DataError(fault)
    return point


def _refused(word: str) -> float:
    raise ValueError(word)
