"""What do tests call? `graded(row)`, `assert_faithful(case)` and `assert_scores(run, ...)`."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag_evals.errors import ConfigurationError, RagEvalsError, UnknownNameError
from rag_evals.pytest_plugin.current import Grading, current_test, running

if TYPE_CHECKING:
    from rag_evals.run import GateAt, Outcome, Run

_FAITHFUL = 0.9
_WORST_SHOWN = 5


class GradedFixture:
    """What the fixture `graded` is: call it with a row to grade it.

    The judge and the graders are those of the test's marker, else those of the options, else the
    embedded judge and faithfulness.
    """

    def __repr__(self) -> str:
        """One line."""
        return "GradedFixture()"

    # `Any`: fields of a row, checked as those of any other row.
    def __call__(
        self, row: object = None, /, grader: str | None = None, **fields: Any
    ) -> "Outcome":
        """Grade one row; the test fails when it gets no score, or less than its marker asks.

        Args:
            row: A `Sample`, a mapping or an object with fields, as a row of `evaluate`.
            grader: One of the test's graders; None where it has only one.
            **fields: Instead of a row: `question=`, `answer=`, `context=`, `reference=`.

        Returns:
            A scored outcome.

        Raises:
            AssertionError: The row is not scorable, its grading failed, or it scored too little.
            ConfigurationError: Nothing can be graded by this judge and these graders.
        """
        __tracebackhide__ = True
        done = _grading(row, grader, fields)
        _require_score(done, current_test().marked("at_least") or 0.0)
        return done.outcome

    # `Any`: as above.
    def outcome(self, row: object = None, /, grader: str | None = None, **fields: Any) -> "Outcome":
        """Grade one row and return its outcome, also without a score; otherwise as a call."""
        __tracebackhide__ = True
        return _grading(row, grader, fields).outcome


def assert_faithful(
    case: object, at_least: float | None = None, languages: Collection[str] = ()
) -> None:
    """Fail the test unless the context of a row supports its answer.

    Args:
        case: A row as `graded` takes it, or an `Outcome`.
        at_least: Least share of supported statements, 0 to 1; None takes the marker's, else 0.9.
        languages: Codes of languages besides English and Russian in which verdicts of the embedded
            judge count, such as `["de"]`; `["any"]` for all.

    Raises:
        AssertionError: With each unsupported statement, why, and the nearest chunk; also for a row
            without a score.
        ConfigurationError: As for `graded`.
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
    """Fail the test unless the scores of a run are high enough.

    Args:
        run: What `evaluate` returned, or a run folder.
        at: Which number must reach it: the mean, or the lower end of its 95 % interval.
        min_scored: Least share of the rows that must have a score; failed rows have none.
        count: What rows without a score count as, by reason, as `Gate` takes them.
        **at_least: The least score for each grader, by its name: `faithfulness=0.9`.

    Raises:
        AssertionError: With each rule that is missed, and the worst rows.
        ConfigurationError: No grader is named, the run has none of that name, or a number is no
            share.
    """
    __tracebackhide__ = True
    try:
        missed = list(_missed(run, at, min_scored, count or {}, at_least))
    except RagEvalsError as error:
        raise error.with_traceback(None) from None
    if missed:
        raise AssertionError("\n".join(missed))


def _grading(row: object, grader: str | None, fields: Mapping[str, object]) -> Grading:
    __tracebackhide__ = True
    try:
        return current_test().grade(row, grader, fields)
    except RagEvalsError as error:
        # The mistake is in the test; our own frames would only hide its line.
        raise error.with_traceback(None) from None


def _require_score(done: Grading, at_least: float, languages: Collection[str] = ()) -> None:
    from rag_evals.run import require_share  # noqa: PLC0415 - loaded when first used

    __tracebackhide__ = True
    require_share("at_least", at_least)
    score, result = done.outcome.score, done.outcome.result
    told = getattr(result, "language", None)
    if done.outcome.reason == "unread_language" and not {"any", told}.isdisjoint(languages):
        score = getattr(result, "score", None)
    # A row without a score fails whatever was asked.
    if score is not None and score >= at_least:
        return
    done.is_told = True
    head, *rest = done.lines()
    asked = "" if score is None else f", at least {at_least:g} was asked"
    raise AssertionError("\n".join([f"{head}{asked} (judge: {done.judge})", *rest]))


def _missed(
    run: "Run | str | os.PathLike[str]",
    at: "GateAt",
    min_scored: float,
    count: Mapping[str, float],
    at_least: Mapping[str, float],
) -> Iterator[str]:
    """Yield what is missed, each with its worst rows; keep the numbers for the table."""
    # Loaded when first used.
    from rag_evals.run import Gate, Summary, load_run  # noqa: PLC0415

    if not at_least:
        raise ConfigurationError("assert_scores names no grader; expected as in faithfulness=0.9")
    found = load_run(run)
    summary = found.summary()
    if summary.unfinished:
        yield f"the run ended before all of its data was graded: {found.folder}"
    for name, least in at_least.items():
        if name not in summary.graders:
            raise UnknownNameError.of("grader in the run", name, summary.graders)
        numbers = summary.graders[name]
        rules = Gate(least, at, min_scored, count)
        missed = [str(one) for one in rules.missed(Summary(graders={name: numbers}))]
        if running:
            without = numbers.total - numbers.scored
            rows = f"{numbers.total} rows" + (f", {without} without a score" if without else "")
            running[-1].remember_run(name, numbers.mean(count), "; ".join([rows, *missed]))
        yield from missed
        if missed:
            yield from _worst_lines(found, name)


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
        yield f"  and {len(low) - _WORST_SHOWN} more under 1"
