"""Functions for tests: `graded(row)`, `assert_faithful(case)` and `assert_scores(run, ...)`."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag_evals.errors import ConfigurationError, RagEvalsError, UnknownNameError
from rag_evals.pytest_plugin.current import Grading, current_test, running

if TYPE_CHECKING:
    from rag_evals.run import Gate, GateAt, Outcome, Run

_FAITHFUL = 0.9
_WORST_SHOWN = 5


class GradedFixture:
    """The fixture `graded`, which is called with a row and grades it.

    The judge and the graders are set by the test's marker, else by the options; they default to the
    embedded judge and faithfulness.
    """

    def __repr__(self) -> str:
        return "GradedFixture()"

    # `Any`: row fields, validated like those of any other row.
    def __call__(
        self, row: object = None, /, grader: str | None = None, **fields: Any
    ) -> "Outcome":
        """Grade one row; fail the test if there is no score, or one below the marker's `at_least`.

        Args:
            row: A `Sample`, a mapping or an object with fields, like a row of `evaluate`.
            grader: One of the test's graders; None if it has only one.
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
        """Grade one row as `graded()` does, but return its outcome even without a score."""
        __tracebackhide__ = True
        return _grading(row, grader, fields).outcome


def assert_faithful(
    case: object, at_least: float | None = None, languages: Collection[str] = ()
) -> None:
    """Fail the test unless a row's context supports its answer.

    Args:
        case: A row, as for `graded`, or an `Outcome`.
        at_least: Minimum share of supported statements, 0 to 1; None uses the marker's, else 0.9.
        languages: Languages other than English and Russian for which to accept verdicts from the
            embedded judge, such as `["de"]`; `["any"]` for all.

    Raises:
        AssertionError: A statement is unsupported, or the row has no score. The message lists each
            unsupported statement with the reason and the nearest chunk.
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
    """Fail the test unless the mean scores of a run are high enough.

    Args:
        run: A run, or its folder.
        at: Which number to check: the mean, or the lower end of its 95 % interval.
        min_scored: Minimum share of rows with a score; failed rows have none.
        count: Scores for rows that are not scorable, by reason, as for `Gate`.
        **at_least: Minimum mean of each grader, such as `faithfulness=0.9`.

    Raises:
        AssertionError: A rule failed. The message lists each failed rule and the worst rows.
        ConfigurationError: No grader is given, one is not in the run, or a number is out of range.
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
        # The mistake is in the test, whose line the plugin's own frames would hide.
        raise error.with_traceback(None) from None


def _require_score(done: Grading, at_least: float, languages: Collection[str] = ()) -> None:
    from rag_evals.run import require_share  # noqa: PLC0415 - loaded when first used

    __tracebackhide__ = True
    require_share("at_least", at_least)
    score, result = done.outcome.score, done.outcome.result
    told = getattr(result, "language", None)
    if done.outcome.reason == "unread_language" and not {"any", told}.isdisjoint(languages):
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
        yield f"  and {len(low) - _WORST_SHOWN} more under 1"
