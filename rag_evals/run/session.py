"""How are single rows graded, for as long as a program runs? In a session, opened once.

All its gradings share one judge with its connections, one rate limit, one cache and one price list.
A run grades through a session as well, and so does everything else that grades many rows.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any

from pydantic import BaseModel

from rag_evals.core import Meter, Sample, Usage, Work, watching
from rag_evals.dataset import NumberedSample, RowData
from rag_evals.errors import ConfigurationError, EventLoopError, PendingError, UnknownNameError
from rag_evals.grading import Grader, drive_async
from rag_evals.judge import AsyncJudge
from rag_evals.run.batch_answers import RoundAnswers, grading_now
from rag_evals.run.judges import RunJudges
from rag_evals.run.loop_thread import LoopThread, closed_too_soon
from rag_evals.run.outcome import GradingIdentity, Outcome, outcome_of
from rag_evals.run.plan import Plan


class AsyncGradingSession:
    """Grades rows as they come, in the event loop that opened it; see `open_session`.

    Any number of tasks may grade at the same time; those above `concurrency` wait for a place.
    """

    def __init__(self, plan: Plan, judges: RunJudges, judge: AsyncJudge | None) -> None:
        self._plan = plan
        self._judges = judges
        self._judge = judge
        self._loop = asyncio.get_running_loop()
        self._places = asyncio.Semaphore(plan.settings.session.concurrency)
        self._graders = {grader.name: grader for grader in plan.graders}
        self._fingerprints = plan.fingerprints
        self._indexes = count()
        self._usage = Usage()
        self._cost_usd: float | None = None
        self._is_open = True

    def __repr__(self) -> str:
        """One line: the graders, and the judge."""
        return f"AsyncGradingSession({plan_words(self._plan)})"

    @property
    def graders(self) -> list[str]:
        """Names of the graders, in the order given."""
        return list(self._graders)

    @property
    def usage(self) -> Usage:
        """What all gradings so far have used."""
        return self._usage

    @property
    def cost_usd(self) -> float | None:
        """List price of what was used, in US dollars; None where no price is known."""
        return self._cost_usd

    @property
    def waiting_seconds(self) -> float:
        """How long an endpoint has asked to wait, from now; 0 when none has."""
        return self._judges.waiting_seconds

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return self._judges.models_without_temperature

    def fingerprint(self, grader: str) -> str:
        """Return the beginning of a grader's fingerprint, as outcomes have it."""
        return self._fingerprints[grader]

    async def grade(self, sample: object, grader: str | None = None) -> Outcome:
        """Grade one row with one grader.

        Args:
            sample: A `Sample`, a mapping or an object with fields, as a row of `evaluate`.
            grader: Name of one of the session's graders; None where it has only one.

        Returns:
            The outcome, as in a run: whatever is wrong with the row or the reply is in it.

        Raises:
            ConfigurationError: The session cannot work, whatever the row; it is closed; or it has
                no such grader.
        """
        self._check_usable()
        return await self.grade_row(self._row(sample), self._grader(grader))

    async def grade_all(self, sample: object) -> list[Outcome]:
        """Grade one row with all graders of the session, side by side; as `grade` otherwise.

        Returns:
            One outcome for each grader, in the order of the graders.
        """
        self._check_usable()
        row = self._row(sample)
        graders = self._graders.values()
        return list(await asyncio.gather(*(self.grade_row(row, grader) for grader in graders)))

    async def grade_row(self, row: NumberedSample, grader: Grader[Any]) -> Outcome:
        """Grade a row that has been read and numbered before; as `grade` otherwise."""
        grading_now.set(f"{row.name}\n{grader.name}")
        return await watching(Work("row", grader.name, row), self._graded(row, grader))

    async def _graded(self, row: NumberedSample, grader: Grader[Any]) -> Outcome:
        async with self._places:
            meter = Meter()
            began = time.monotonic()
            grading = GradingIdentity.of(row, grader.name, self._fingerprints[grader.name])
            try:
                ended = await self._ended(row, grader, meter)
            finally:
                # Also what was paid for a row that nobody waits for any more.
                cost = self._count(grader, meter)
            seconds = time.monotonic() - began if isinstance(row.sample, Sample) else 0.0
            return outcome_of(grading, ended, seconds, meter.total, cost, tuple(meter.answered_by))

    async def _ended(
        self, row: NumberedSample, grader: Grader[Any], meter: Meter
    ) -> BaseModel | Exception:
        if not isinstance(row.sample, Sample):
            return row.sample
        try:
            return await drive_async(
                grader.flow(row.sample), self._judge, meter, named=self._judges.named
            )
        except (ConfigurationError, PendingError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a grader raises is its row's failure
            if not self._is_open:
                # Its connections are gone: nothing that this row could help.
                raise closed_too_soon() from None
            return error

    def close(self) -> None:
        """Take no more rows."""
        self._is_open = False

    def _check_usable(self) -> None:
        if not self._is_open:
            raise ConfigurationError("the session is closed; grade inside its with block")
        if asyncio.get_running_loop() is not self._loop:
            raise EventLoopError(
                "this session was opened in another event loop; open one in each loop, or one with "
                "`with open_session(...)`, which any thread may use"
            )

    def _row(self, sample: object) -> NumberedSample:
        if isinstance(sample, NumberedSample):
            return sample
        assert isinstance(self._plan.data, RowData), "a session is planned without a file"
        return self._plan.data.number(next(self._indexes), sample)

    def _grader(self, name: str | None) -> Grader[Any]:
        if name is None and len(self._graders) == 1:
            return next(iter(self._graders.values()))
        if name is None:
            raise ConfigurationError(
                f"the session has {len(self._graders)} graders ({', '.join(self._graders)}); name "
                "one, as in grade(sample, 'faithfulness'), or call grade_all(sample)"
            )
        if not isinstance(name, str) or name not in self._graders:
            raise UnknownNameError.of("grader", str(name), self._graders)
        return self._graders[name]

    def _count(self, grader: Grader[Any], meter: Meter) -> float | None:
        cost = self._plan.cost_usd(grader, meter)
        self._usage += meter.total
        if cost is not None:
            self._cost_usd = (self._cost_usd or 0.0) + cost
        return cost


class GradingSession:
    """Grades rows as they come, from any number of threads; see `open_session`.

    The work is done in an event loop that has a thread of its own.
    """

    def __init__(self, loop: LoopThread, session: AsyncGradingSession) -> None:
        self._loop = loop
        self._session = session

    def __repr__(self) -> str:
        """One line: the graders, and the judge."""
        return repr(self._session).removeprefix("Async")

    @property
    def graders(self) -> list[str]:
        """Names of the graders, in the order given."""
        return self._session.graders

    @property
    def usage(self) -> Usage:
        """What all gradings so far have used."""
        return self._session.usage

    @property
    def cost_usd(self) -> float | None:
        """List price of what was used, in US dollars; None where no price is known."""
        return self._session.cost_usd

    def grade(self, sample: object, grader: str | None = None) -> Outcome:
        """Grade one row with one grader; as `AsyncGradingSession.grade`."""
        return self._loop.run(self._session.grade(sample, grader))

    def grade_all(self, sample: object) -> list[Outcome]:
        """Grade one row with all graders; as `AsyncGradingSession.grade_all`."""
        return self._loop.run(self._session.grade_all(sample))


@asynccontextmanager
async def session_of(
    plan: Plan, answers: RoundAnswers | None = None
) -> AsyncIterator[AsyncGradingSession]:
    """Open the session of a plan in the running event loop.

    Args:
        plan: As `make_plan` makes it; over `()` where the rows are given to `grade`.
        answers: What has come of batches, where judges are asked in them.
    """
    async with AsyncExitStack() as stack:
        judges = RunJudges(plan, stack, answers=answers)
        session = AsyncGradingSession(plan, judges, await judges.open())
        try:
            yield session
        finally:
            session.close()


def plan_words(plan: Plan) -> str:
    """Say in one line who grades, and who judges."""
    names = ", ".join(grader.name for grader in plan.graders)
    return f"{names}; judge: {plan.identity['judge']}"
