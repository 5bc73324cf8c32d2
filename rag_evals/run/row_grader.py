"""Who grades the rows of a run? This process, in a session, or several worker processes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from rag_evals.dataset import NumberedSample
from rag_evals.grading import Grader
from rag_evals.run.batch_answers import RoundAnswers
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.session import session_of


class RowGrader(Protocol):
    """What a run asks of a session, or of its workers; each member as in `AsyncGradingSession`."""

    @property
    def waiting_seconds(self) -> float:
        """How long an endpoint has asked to wait."""

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0."""

    def fingerprint(self, grader: str) -> str:
        """Return the beginning of a grader's fingerprint."""

    def together(self, graders: Sequence[Grader[Any]]) -> Sequence[Any]:
        """Say what the gradings of one row share, one for each."""

    async def grade_row(self, row: NumberedSample, grader: Grader[Any], together: Any) -> Outcome:
        """Grade a row; `together` is what its grading shares."""

    def line_of(self, outcome: Outcome, together: Any) -> bytes:
        """Return the line of an outcome in `results.jsonl`; arguments as `grade_row` had them."""


@asynccontextmanager
async def row_grader_of(
    plan: Plan, answers: RoundAnswers | None = None, *, results: bool = True, lines: bool = True
) -> AsyncIterator[RowGrader]:
    """Open what grades the rows of a plan, in the running event loop.

    Args:
        plan: What is graded.
        answers: What has come of batches, where judges are asked in them: nothing to share out.
        results: False where nobody looks at results and findings of outcomes.
        lines: Whether `line_of` is asked for each outcome.
    """
    if answers is not None or plan.settings.workers == 1:
        async with session_of(plan, answers) as session:
            yield session
        return
    # Most runs have none, and need not load them.
    from rag_evals.run.workers import workers_of  # noqa: PLC0415

    async with workers_of(plan, results=results, lines=lines) as workers:
        yield workers
