"""How does a run go from row to row? As many at a time as are allowed, each kept when it ends."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from rag_evals.dataset import FileData, NumberedSample
from rag_evals.errors import PendingError, TooManyFailuresError
from rag_evals.grading import Grader
from rag_evals.run.collector import settled_heap
from rag_evals.run.earlier_outcomes import Taken, opened_earlier
from rag_evals.run.in_flight import UntilOneEnded, in_flight
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.progress import Progress, Report, reporting, silent
from rag_evals.run.refusals import Refusals
from rag_evals.run.run import Run
from rag_evals.run.samples import StoredSample, stored_sample
from rag_evals.run.session import AsyncGradingSession, session_of
from rag_evals.run.store import RunStore
from rag_evals.run.summary import Summary


@asynccontextmanager
async def runner_of(
    plan: Plan,
    *,
    out: str | Path | None,
    progress: Report | bool | None,
    keep: bool,
    results: bool,
    lowest: int | None = None,
    opened: AbstractAsyncContextManager[AsyncGradingSession] | None = None,
) -> "AsyncIterator[Runner]":
    """Open all that a run needs, its folder last; arguments as for `evaluate`.

    Args:
        plan: What is graded.
        out: As for `evaluate`.
        progress: As for `evaluate`.
        keep: Hold the outcomes in memory.
        results: Outcomes are needed with their results, also those of an earlier run.
        lowest: How many outcomes of an earlier run are asked for, those with the lowest scores;
            None for all.
        opened: Opens the session that grades the rows; None for that of the plan.
    """
    folder = None if out is None else Path(out)
    async with AsyncExitStack() as stack:
        # First: a judge that cannot be opened must leave no folder that refuses the right one.
        session = await stack.enter_async_context(opened or session_of(plan))
        store = None
        if folder is not None:
            store = RunStore(folder, plan.manifest(), restart=plan.settings.restart)
            stack.enter_context(store)
        report = stack.enter_context(reporting(progress))
        stack.enter_context(settled_heap())
        if store is not None and isinstance(plan.data, FileData) and plan.data.kept_check:
            store.keep_check(plan.data.kept_check)
        if keep:
            lowest = None
        yield Runner(plan, session, store, report, keep=keep, results=results, lowest=lowest)


class Runner:
    """The state of one run while it goes on."""

    def __init__(
        self,
        plan: Plan,
        session: AsyncGradingSession,
        store: RunStore | None,
        report: Report,
        *,
        keep: bool,
        results: bool,
        lowest: int | None,
    ) -> None:
        self._plan = plan
        self._session = session
        self._store = store
        self._report = report
        self._keep = keep
        self._began = time.monotonic()
        self._done = self._graded = 0
        self._refusals = Refusals()
        self._checkpoint, self._ended, self._earlier = opened_earlier(
            plan, store, session.fingerprint, self._refusals, keep=results, lowest=lowest
        )
        # All rows were read: what was not taken is of rows that the data has no more.
        self._is_complete = False
        # How many gradings of a row have not ended, of those that have begun.
        self._under_way: Counter[int] = Counter()
        self._outcomes: list[Outcome] = []
        # In the summary, and not yet handed on.
        self._counted: dict[int, Outcome] = {}
        self._samples: dict[str, StoredSample] = {}
        self._summary = Summary(unfinished=True, judge=plan.identity["judge"], stages=plan.stages)
        self._policy = plan.policy(plan)
        # What the policy says in the end, as the manifest has it.
        self.notes: Mapping[str, Any] = {}
        if self._ended is not None:
            self._ended.fill(self._summary)
            self._done = self._ended.count

    async def outcomes(self) -> AsyncGenerator[Outcome]:
        """Grade, and yield each outcome once it is kept; those of an earlier run as they come up.

        Raises:
            TooManyFailuresError: With the run so far.
        """
        waits = asyncio.create_task(self._tell_of_waits())
        most = self._plan.settings.session.concurrency
        try:
            async with aclosing(in_flight(self._work(), most)) as ended:
                async for outcome in ended:
                    if outcome is not None:
                        yield self._counted.pop(id(outcome))
            if self._summary.pending:
                self._wait()
            else:
                self._complete()
                self._check_failures(at_the_end=True)
        except TooManyFailuresError as error:
            # What ended beside the last straw is part of that run too.
            for outcome in self._counted.values():
                yield outcome
            error.run = self.finished()
            raise
        finally:
            self._save(at_the_end=True)
            waits.cancel()
            await asyncio.gather(waits, return_exceptions=True)

    def _wait(self) -> None:
        """Note how many gradings have no outcome yet."""
        if self._store is not None:
            self._store.wait(self._summary.pending)

    def _complete(self) -> None:
        """Note that all rows were graded, once it is sure which rows the data has.

        Raises:
            DataError: The file changed while it was read.
        """
        if isinstance(self._plan.data, FileData):
            self._plan.data.require_unchanged()
        gone = self._earlier.left_out()
        before = 0 if self._ended is None else self._ended.state.left_out
        self._summary.left_out = before + len(gone)
        self._is_complete = True
        self._summary.unfinished = False
        self.notes = self._policy.finish(self._summary)
        if self._store is not None:
            self._store.finish(gone, **self.notes)

    def finished(self) -> Run:
        """Return the run as far as it came."""
        folder = None if self._store is None else self._store.folder
        order = {grader.name: place for place, grader in enumerate(self._plan.graders)}
        self._outcomes.sort(key=lambda outcome: (outcome.index, order[outcome.grader]))
        # Outcomes end in any order; what is shown must not change with it.
        graders = self._summary.graders
        self._summary.graders = {name: graders[name] for name in order if name in graders}
        self._summary.seconds = time.monotonic() - self._began
        self._summary.presets = self._plan.presets
        self._summary.without_temperature = self._session.models_without_temperature
        self._summary.untuned = self._plan.untuned
        outcomes = self._outcomes if self._keep else None
        return Run.fresh(outcomes, self._summary, folder, self._graded, self._samples)

    def _work(
        self,
    ) -> Iterator[Outcome | Coroutine[Any, Any, Outcome | None] | UntilOneEnded | None]:
        """Yield what is still to be graded; what an earlier run ended is counted on the way."""
        yield from self._ended_before()
        for row in self._rows():
            earlier = self._earlier_of(row)
            self._summary.changed = self._earlier.changed
            resumed = any(earlier.values())
            while (admission := self._policy.admits(row.position, resumed=resumed)) == "wait":
                yield UntilOneEnded()
            if admission == "stop":
                return
            if self._store is not None:
                if not self._has_sample(row):
                    self._store.samples.keep(row)
            elif self._keep and (sample := stored_sample(row)) is not None:
                self._samples[row.name] = sample
            left = [each for each in self._plan.graders if earlier.get(each.name, 1) is None]
            yield from self._taken([taken for taken in earlier.values() if taken is not None])
            self._under_way[row.position] += len(left)
            for grader in left:
                yield self._grade(row, grader)

    async def _grade(self, row: NumberedSample, grader: Grader[Any]) -> Outcome | None:
        """Grade a row; None where its reply has not come."""
        try:
            outcome = await self._session.grade_row(row, grader)
        except PendingError:
            self._summary.pending += 1
            return None
        # Kept first, so that the next start knows this row and gets past it.
        if self._store is not None:
            self._note(outcome, self._place_of(outcome, self._store))
        if (fatal := self._refusals.fatal(outcome)) is not None:
            raise fatal
        self._graded += 1
        self._refusals.count(outcome)
        self._count(outcome)
        self._check_failures()
        return outcome

    def _place_of(self, outcome: Outcome, store: RunStore) -> int:
        """Write the line of an outcome, and return where it begins."""
        # A round of batches meets the failures of earlier ones again, over the same replies.
        place = self._earlier.failed_so_at(outcome) if self._plan.batched else None
        return store.append_line(outcome.to_line()) if place is None else place

    def _check_failures(self, *, at_the_end: bool = False) -> None:
        limit = self._plan.settings.max_failures
        failed = self._summary.failed
        if failed and limit.is_passed(failed, self._done, at_the_end=at_the_end):
            kept = (
                "" if self._store is None else f"; what was graded is kept in {self._store.folder}"
            )
            raise TooManyFailuresError(
                f"{failed} of {self._done} gradings failed, more than {limit} "
                f"({self._summary.failures()}; the first: {self._summary.first_failure}){kept}"
            )

    def _ended_before(self) -> Iterator[Outcome]:
        """Yield those outcomes of the rows that ended before the checkpoint that are asked for."""
        if self._ended is not None:
            for outcome in self._earlier.lowest():
                # In the summary already.
                self._counted[id(outcome)] = outcome
                yield outcome
            self._tell()

    def _earlier_of(self, row: NumberedSample) -> dict[str, Taken | None]:
        """Take what an earlier start ended of a row; None for a grading that is to be done."""
        return {
            each.name: self._earlier.take(row, each.name, self._session.fingerprint(each.name))
            for each in self._plan.graders
            if self._ended is None or not self._ended.has(each.name, row.position)
        }

    def _taken(self, found: list[Taken]) -> Iterator[Outcome]:
        """Count outcomes of an earlier start, all before the first is handed on."""
        for taken in found:
            self._note(*taken)
            self._count(taken.outcome)
        for taken in found:
            yield taken.outcome

    def _has_sample(self, row: NumberedSample) -> bool:
        return self._ended is not None and self._ended.kept[row.position] == 1

    def _rows(self) -> Iterator[NumberedSample]:
        """Read the rows; where a checkpoint says which ended, only the others."""
        if self._ended is None or not isinstance(self._plan.data, FileData):
            return self._plan.in_turn()
        return self._plan.data.some(self._ended.wanted())

    def _note(self, outcome: Outcome, place: int) -> None:
        """Take an outcome whose line is written into the checkpoint."""
        self._under_way[outcome.index] -= 1
        if self._under_way[outcome.index] <= 0:
            del self._under_way[outcome.index]
        if self._checkpoint is not None:
            self._checkpoint.add(outcome, place)

    def _save(self, *, at_the_end: bool = False) -> None:
        """Write the checkpoint, where every line of the folder is in it."""
        data = self._plan.data
        if self._checkpoint is None or not isinstance(data, FileData):
            return
        if not (data.has_same_content() if at_the_end else data.looks_unchanged()):
            # Rows of two states of the file may be among those that ended.
            self._checkpoint.drop()
            self._checkpoint = None
        elif self._is_complete or self._earlier.all_taken:
            self._checkpoint.save(
                self._summary,
                self._under_way,
                answered=self._refusals.has_answered,
                left_out=self._summary.left_out,
            )
        else:
            self._checkpoint.write_rows()

    def _count(self, outcome: Outcome) -> None:
        self._done += 1
        self._summary.add(outcome)
        self._counted[id(outcome)] = outcome
        self._policy.ended(outcome)
        if self._keep:
            self._outcomes.append(outcome)
        if self._checkpoint is not None and self._checkpoint.is_due:
            self._save()
        self._tell()

    def _tell(self) -> None:
        if self._report is silent:
            return
        self._report(
            Progress(
                done=self._done,
                total=self._plan.total,
                failed=self._summary.failed,
                seconds=time.monotonic() - self._began,
                graded=self._graded,
                tokens=self._summary.usage.tokens,
                cost_usd=self._summary.cost_usd,
                waiting_seconds=self._session.waiting_seconds,
            )
        )

    async def _tell_of_waits(self) -> None:
        """Say that the endpoint keeps the run waiting: no row ends meanwhile to say anything."""
        while not await asyncio.sleep(1, False):
            if self._session.waiting_seconds >= 1:
                self._tell()
