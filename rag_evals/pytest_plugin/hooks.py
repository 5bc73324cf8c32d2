"""The hooks called by pytest, with old-style wrappers, which all supported versions accept."""

import math
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest

from rag_evals.pytest_plugin.current import (
    MARKER,
    CurrentTest,
    GradedRow,
    OpenJudges,
    PluginOptions,
    running,
)

_MARKED = ("judge", "graders", "at_least")
_ROWS_SHOWN = 20


class GradingHooks:
    def __init__(self, options: PluginOptions) -> None:
        self._options = options
        self._judges = OpenJudges(options)
        self._rows: dict[str, list[GradedRow]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark tests that use `graded`, before `-m` selects tests."""
        for item in items:
            for marker in item.iter_markers(MARKER):
                _check_marker(marker, item)
            grades = "graded" in getattr(item, "fixturenames", ())
            if grades and item.get_closest_marker(MARKER) is None:
                item.add_marker(MARKER)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        test = CurrentTest(item, self._judges)
        running.append(test)
        yield
        running.remove(test)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if running:
            running[-1].begin()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, None]:
        # `Any`: pluggy's result has no public type in some versions.
        result = yield
        if running:
            report = result.get_result()
            report.rag_evals = running[-1].taken_rows()
            lines = running[-1].untold_lines() if report.failed else []
            if lines:
                report.sections.append(("rag_evals", "\n".join(lines)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self._rows.pop(report.nodeid, None)
        rows = getattr(report, "rag_evals", None)
        if rows:
            self._rows.setdefault(report.nodeid, []).extend(rows)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        rows = [(test, row) for test, own in self._rows.items() for row in own]
        if rows:
            terminalreporter.write_sep("=", f"rag_evals: {len(rows)} graded")
            for line in [*_lowest(rows), *_means([row for _, row in rows])]:
                terminalreporter.write_line(line)

    def pytest_sessionfinish(self) -> None:
        self._judges.close()


def _check_marker(marker: pytest.Mark, item: pytest.Item) -> None:
    at_least = marker.kwargs.get("at_least")
    wrong = [name for name in marker.kwargs if name not in _MARKED]
    if marker.args or wrong:
        given = ", ".join([*map(repr, marker.args), *wrong])
        raise pytest.UsageError(
            f"{item.nodeid}: the marker {MARKER} accepts judge=, graders= and at_least=, "
            f"not {given}"
        )
    if at_least is not None and not (isinstance(at_least, int | float) and 0 <= at_least <= 1):
        raise pytest.UsageError(
            f"{item.nodeid}: at_least={at_least!r} of the marker {MARKER} is not a number "
            "from 0 to 1"
        )


def _lowest(rows: Sequence[tuple[str, GradedRow]]) -> Iterator[str]:
    """Yield a table: rows without a score, then the lowest scores."""
    from rag_evals.text import shortened  # noqa: PLC0415 - loaded when first used

    ranked = sorted(rows, key=lambda pair: -1.0 if pair[1]["score"] is None else pair[1]["score"])
    width = max(len(row["grader"]) for _, row in ranked[:_ROWS_SHOWN])
    yield f"score  {'grader':{width}}  test"
    for test, row in ranked[:_ROWS_SHOWN]:
        score = "none" if row["score"] is None else f"{row['score']:.2f}"
        yield f"{score:>5}  {row['grader']:{width}}  {shortened(test, 100)}"
    if len(rows) > _ROWS_SHOWN:
        yield f"and {len(rows) - _ROWS_SHOWN} more with scores no lower than these"


def _means(rows: Sequence[GradedRow]) -> Iterator[str]:
    for grader, judge in dict.fromkeys((row["grader"], row["judge"]) for row in rows):
        own = [row["score"] for row in rows if (row["grader"], row["judge"]) == (grader, judge)]
        scores = [score for score in own if score is not None]
        mean = f"{math.fsum(scores) / len(scores):.2f}" if scores else "no score"
        yield f"{grader}: {mean} over {len(scores)} scored of {len(own)} (judge: {judge})"
