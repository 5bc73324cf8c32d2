"""The pytest plugin: a fixture, a marker, two assertions, and a summary table.

pytest loads this module whenever rag_evals is installed, so it imports only pytest at first and
everything else on the first grading. The hooks are old-style wrappers, which all supported versions
of pytest accept.
"""

import math
import os
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

from rag_evals.errors import ConfigurationError, RagEvalsError, UnknownNameError

if TYPE_CHECKING:
    from rag_evals.run import Gate, GateAt, GradingSession, Outcome, Run

__all__ = ["GradedFixture", "assert_faithful", "assert_scores", "graded"]

MARKER = "rag_evals"
_PROPERTY = "rag_evals."
_CONCURRENCY = 16
_MARKED = ("judge", "graders", "at_least")
_ROWS_SHOWN = 20
_FAITHFUL = 0.9
_WORST_SHOWN = 5
_TIMEOUT_SECONDS = 120

OPTIONS = {
    "judge": ("JUDGE", "Judge for tests. Default: $RAG_EVALS_JUDGE, else embedded."),
    "graders": ("NAMES", "Graders for tests, separated by commas. Default: faithfulness."),
    "cache": ("on|off|FILE", "Where to store replies. Default: on, in the user's cache."),
    "concurrency": (
        "N", f"Maximum number of concurrent gradings per process. Default: {_CONCURRENCY}."
    ),
    "timeout": ("SECONDS", f"Time limit for all calls of a grading. Default: {_TIMEOUT_SECONDS}."),
}  # fmt: skip
"""Metavar and help text of each option, keyed by its name without `--rag-evals-`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rag_evals", "grade answers of RAG programs")
    for name, (metavar, words) in OPTIONS.items():
        group.addoption(
            f"--rag-evals-{name}", dest=f"rag_evals_{name}", metavar=metavar, help=words
        )
        parser.addini(f"rag_evals_{name}", words, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(judge=None, graders=None, at_least=None): the test grades answers with this "
        "judge and these graders; a score below at_least fails the test.",
    )
    config.pluginmanager.register(GradingHooks(OpenJudges(config)), "rag_evals-grading")


class GradedRow(TypedDict):
    """A graded row in a form that pytest-xdist can send."""

    grader: str
    judge: str
    score: float | None


@dataclass(slots=True)
class Grading:
    outcome: "Outcome"
    chunks: Sequence[str]
    judge: str
    is_told: bool = False

    def lines(self) -> list[str]:
        from rag_evals.report.failures import outcome_lines  # noqa: PLC0415 - loaded when first used

        return outcome_lines(self.outcome, self.chunks)


class OpenJudges:
    """The options, and a session for each judge and its graders."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        graders = tuple(filter(None, map(str.strip, self._text("graders").split(","))))
        cache = self._text("cache")
        self._judge = self._text("judge")
        self._graders = graders or ("faithfulness",)
        self._options: dict[str, Any] = {
            "cache": {"": True, "on": True, "off": False}.get(cache, cache),
            "concurrency": int(self._number("concurrency", _CONCURRENCY)),
            "timeout": self._number("timeout", _TIMEOUT_SECONDS, whole=False),
        }
        self._open: dict[object, GradingSession] = {}
        self._closing = ExitStack()
        self._lock = threading.Lock()

    # `Any`: the types that `open_session` accepts.
    def session(self, judge: Any, graders: Any, grader: str | None) -> "GradingSession":
        from rag_evals.run import open_session  # noqa: PLC0415 - loaded when first used

        asked = self._graders if graders is None else graders
        names = _names(asked)
        if names is not None and grader is not None and grader not in names:
            asked = names = (grader,)
        key = (judge if isinstance(judge, str) else id(judge), names or id(asked))
        with self._lock:
            if key not in self._open:
                client = self.name(judge) if judge is None else judge
                opener = open_session(asked, client, **self._options)
                self._open[key] = self._closing.enter_context(opener)
            return self._open[key]

    def name(self, judge: object) -> str:
        from rag_evals.grading import default_judge  # noqa: PLC0415 - loaded when first used

        if judge is None or isinstance(judge, str):
            return judge or self._judge or default_judge()
        return type(judge).__name__

    def close(self) -> None:
        self._open.clear()
        self._closing.close()

    def _text(self, name: str) -> str:
        option = self._config.getoption(f"rag_evals_{name}")
        return str(self._config.getini(f"rag_evals_{name}") if option is None else option).strip()

    def _number(self, name: str, default: float, *, whole: bool = True) -> float:
        text = self._text(name)
        try:
            number = float(text or default)
        except ValueError:
            number = -1.0
        if not 1 <= number < float("inf") or (whole and number != int(number)):
            raise pytest.UsageError(
                f"--rag-evals-{name} (in an ini file: rag_evals_{name}) is {text!r}; expected a "
                f"{'whole ' if whole else ''}number, at least 1"
            )
        return number


def _names(graders: Any) -> tuple[str, ...] | None:
    """Return the graders' names; None if a grader is not given by name."""
    several = [graders] if isinstance(graders, str) else graders
    is_named = isinstance(several, Sequence) and all(isinstance(one, str) for one in several)
    return tuple(several) if is_named else None


class CurrentTest:
    def __init__(self, item: pytest.Item, judges: OpenJudges) -> None:
        self._item = item
        self._judges = judges
        self._gradings: list[Grading] = []
        self._rows: list[GradedRow] = []

    def begin(self) -> None:
        """Discard the results of an earlier attempt at the same test."""
        self._gradings.clear()
        self._rows.clear()
        properties = self._item.user_properties
        properties[:] = [one for one in properties if not one[0].startswith(_PROPERTY)]

    # `Any`: values from the user's marker, validated where they are used.
    def marked(self, name: str) -> Any:
        marker = self._item.get_closest_marker(MARKER)
        return None if marker is None else marker.kwargs.get(name)

    def grade(self, row: object, grader: str | None, fields: Mapping[str, object]) -> Grading:
        # Loaded when first used.
        from rag_evals.core import Sample  # noqa: PLC0415
        from rag_evals.dataset import ColumnMap, RowData  # noqa: PLC0415

        if (row is None) == (not fields):
            raise ConfigurationError(
                "graded accepts either a row or its fields: graded(sample), or "
                "graded(answer='...', context=['...'])"
            )
        judge = self.marked("judge")
        session = self._judges.session(judge, self.marked("graders"), grader)
        rows = RowData((), ColumnMap(), frozenset({"answer"}))
        numbered = rows.number(len(self._gradings), fields if row is None else row)
        sample = numbered.sample
        chunks = [chunk.text for chunk in sample.context] if isinstance(sample, Sample) else []
        outcome = session.grade(numbered, grader)
        done = Grading(outcome, chunks, self._judges.name(judge))
        self._gradings.append(done)
        self._rows.append(GradedRow(grader=outcome.grader, judge=done.judge, score=outcome.score))
        self.remember(outcome.grader, outcome.score, outcome.words())
        return done

    def known(self, case: object) -> Grading | None:
        from rag_evals.run import Outcome  # noqa: PLC0415 - loaded when first used

        if not isinstance(case, Outcome):
            return None
        own = (done for done in self._gradings if done.outcome is case)
        return next(own, None) or Grading(case, (), "unknown")

    def remember(self, name: str, score: float | None, otherwise: str) -> None:
        """Store a score, or the reason for its absence, as a property in JUnit reports."""
        ended = otherwise if score is None else f"{score:.4f}"
        self._item.user_properties.append((f"{_PROPERTY}{name}", ended))

    def taken_rows(self) -> list[GradedRow]:
        rows, self._rows = self._rows, []
        return rows

    def untold_lines(self) -> list[str]:
        untold = [one for one in self._gradings if not one.is_told and one.outcome.score != 1]
        for one in untold:
            one.is_told = True
        return [line for one in untold for line in one.lines()]


running: list[CurrentTest] = []
"""The running tests; more than one if a test itself runs pytest."""


def current_test() -> CurrentTest:
    if not running:
        raise ConfigurationError(
            "no test is running with the rag_evals plugin; call this inside a test, and run "
            "pytest without -p no:rag_evals"
        )
    return running[-1]


class GradingHooks:
    def __init__(self, judges: OpenJudges) -> None:
        self._judges = judges
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
        if rows := [(test, row) for test, own in self._rows.items() for row in own]:
            terminalreporter.write_sep("=", f"rag_evals: {len(rows)} graded")
            for line in _table(rows):
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
            f"{item.nodeid}: the marker {MARKER} has at_least={at_least!r}; expected a number "
            "from 0 to 1"
        )


def _table(rows: Sequence[tuple[str, GradedRow]]) -> Iterator[str]:
    """Yield rows without a score, then the lowest scores, then the mean of each grader."""
    from rag_evals.text import shortened  # noqa: PLC0415 - loaded when first used

    ranked = sorted(rows, key=lambda pair: -1.0 if pair[1]["score"] is None else pair[1]["score"])
    width = max(len(row["grader"]) for _, row in ranked[:_ROWS_SHOWN])
    yield f"score  {'grader':{width}}  test"
    for test, row in ranked[:_ROWS_SHOWN]:
        score = "none" if row["score"] is None else f"{row['score']:.2f}"
        yield f"{score:>5}  {row['grader']:{width}}  {shortened(test, 100)}"
    if len(rows) > _ROWS_SHOWN:
        yield f"and {len(rows) - _ROWS_SHOWN} more with scores no lower than these"
    by_judge: dict[tuple[str, str], list[float | None]] = {}
    for _, row in rows:
        by_judge.setdefault((row["grader"], row["judge"]), []).append(row["score"])
    for (grader, judge), own in by_judge.items():
        scores = [score for score in own if score is not None]
        mean = f"{math.fsum(scores) / len(scores):.2f}" if scores else "no score"
        yield f"{grader}: {mean} over {len(scores)} scored of {len(own)} (judge: {judge})"


class GradedFixture:
    """The value of the fixture `graded`: a callable that grades a row.

    The judge and graders come from the test's marker or else from the options, which default to the
    embedded judge and faithfulness.
    """

    def __repr__(self) -> str:
        return "GradedFixture()"

    # `Any`: row fields, validated like those of any other row.
    def __call__(
        self, row: object = None, /, grader: str | None = None, **fields: Any
    ) -> "Outcome":
        """Grade one row; fail the test if its score is missing or below the marker's `at_least`.

        Args:
            row: A `Sample`, a mapping or an object with fields, as in `evaluate`.
            grader: One of the test's graders; None if the test has only one.
            **fields: Alternative to `row`: `question=`, `answer=`, `context=`, `reference=`.

        Returns:
            A scored outcome.

        Raises:
            AssertionError: The row is not scorable, its grading failed, or its score is too low.
            ConfigurationError: The judge or the graders are invalid.
        """
        __tracebackhide__ = True
        done = _grading(row, grader, fields)
        _require_score(done, current_test().marked("at_least") or 0.0)
        return done.outcome

    # `Any`: as above.
    def outcome(self, row: object = None, /, grader: str | None = None, **fields: Any) -> "Outcome":
        """Grade one row like `graded()`, but return the outcome even if it has no score."""
        __tracebackhide__ = True
        return _grading(row, grader, fields).outcome


@pytest.fixture(scope="session")
def graded() -> GradedFixture:
    """Grade rows in a test: `graded(answer=..., context=[...])` returns a scored outcome."""
    return GradedFixture()


def assert_faithful(
    case: object, at_least: float | None = None, languages: Collection[str] = ()
) -> None:
    """Fail the test unless a row's context supports its answer.

    Args:
        case: A row, as in `graded`, or an `Outcome`.
        at_least: Minimum share of supported statements, 0 to 1; by default, the marker's value, or
            else 0.9.
        languages: Languages other than English and Russian for which to accept verdicts from the
            embedded judge, such as `["de"]`; `["any"]` for all.

    Raises:
        AssertionError: A statement is unsupported, or the row has no score. The message lists each
            unsupported statement with the reason and the nearest chunk.
        ConfigurationError: As in `graded`.
    """
    __tracebackhide__ = True
    test = current_test()
    if at_least is None:
        at_least = test.marked("at_least")
    done = test.known(case) or _grading(case, "faithfulness", {})
    _require_score(done, _FAITHFUL if at_least is None else at_least, languages)


def assert_scores(
    run: "Run | str | os.PathLike[str]",
    *,
    at: "GateAt" = "mean",
    min_scored: float = 0.9,
    count: Mapping[str, float] | None = None,
    **at_least: float,
) -> None:
    """Fail the test unless the mean scores of a run are high enough.

    Args:
        run: A run, or its folder.
        at: Value to check: the mean, or the lower end of its 95 % interval.
        min_scored: Minimum share of rows with a score; failed rows have none.
        count: Scores for rows that are not scorable, by reason, as in `Gate`.
        **at_least: Minimum mean of each grader, such as `faithfulness=0.9`.

    Raises:
        AssertionError: A rule failed. The message lists each failed rule and the worst rows.
        ConfigurationError: No grader is given, a grader is not in the run, or a number is invalid.
    """
    # Loaded when first used.
    from rag_evals.run import Gate, load_run  # noqa: PLC0415

    __tracebackhide__ = True
    try:
        if not at_least:
            raise ConfigurationError(
                "assert_scores got no grader; give one, as in faithfulness=0.9"
            )
        gates = {name: Gate(least, at, min_scored, count or {}) for name, least in at_least.items()}
        missed = list(_missed(load_run(run), gates))
    except RagEvalsError as error:
        raise error.with_traceback(None) from None
    if missed:
        raise AssertionError("\n".join(missed))


def _grading(row: object, grader: str | None, fields: Mapping[str, object]) -> Grading:
    __tracebackhide__ = True
    try:
        return current_test().grade(row, grader, fields)
    except RagEvalsError as error:
        # The error is in the test; the plugin's own frames would hide the line that caused it.
        raise error.with_traceback(None) from None


def _require_score(done: Grading, at_least: float, languages: Collection[str] = ()) -> None:
    from rag_evals.run import require_share  # noqa: PLC0415 - loaded when first used

    __tracebackhide__ = True
    require_share("at_least", at_least)
    score, result = done.outcome.score, done.outcome.result
    told = getattr(result, "language", None)
    allowed = {"any", told} if told else set(languages)
    if done.outcome.reason == "unread_language" and not allowed.isdisjoint(languages):
        score = getattr(result, "score", None)
    # A row without a score always fails.
    if score is not None and score >= at_least:
        return
    done.is_told = True
    head, *rest = done.lines()
    asked = "" if score is None else f", expected at least {at_least:g}"
    raise AssertionError("\n".join([f"{head}{asked} (judge: {done.judge})", *rest]))


def _missed(run: "Run", gates: Mapping[str, "Gate"]) -> Iterator[str]:
    from rag_evals.run import Summary  # noqa: PLC0415 - as above

    summary = run.summary()
    if summary.unfinished:
        yield f"the run stopped before all of its data was graded: {run.folder}"
    for name, gate in gates.items():
        if name not in summary.graders:
            raise UnknownNameError.of("grader in the run", name, summary.graders)
        numbers = summary.graders[name]
        missed = [str(one) for one in gate.missed(Summary(graders={name: numbers}))]
        if running:
            running[-1].remember(f"{name}.mean", numbers.mean(gate.count), "no score")
        yield from missed
        if missed:
            yield from _worst_lines(run, name)


def _worst_lines(run: "Run", grader: str) -> Iterator[str]:
    # Loaded when first used.
    from rag_evals.report.failures import record_lines  # noqa: PLC0415
    from rag_evals.text import shortened  # noqa: PLC0415

    low = [one for one in run.of_grader(grader) if one["score"] is None or one["score"] < 1]
    low.sort(key=lambda record: -1.0 if record["score"] is None else record["score"])
    for record in low[:_WORST_SHOWN]:
        head, *rest = record_lines(record, run)
        yield f"  row {shortened(record['sample_id'], 60)!r}: {head}"
        yield from (f"  {line}" for line in rest)
    if len(low) > _WORST_SHOWN:
        yield f"  and {len(low) - _WORST_SHOWN} more below 1"
