"""How are single rows graded, for as long as a program runs? In a session, opened once.

All its gradings share one judge with its connections, one rate limit, one cache and one price list.
A run grades through a session as well, and so does everything else that grades many rows.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from itertools import count, product
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, Unpack

from pydantic import BaseModel

from rag_evals.cache.calls import CallCache
from rag_evals.core import Meter, Sample, Usage, Work, require_known, watching
from rag_evals.dataset import NumberedSample, RowData
from rag_evals.errors import ConfigurationError, EventLoopError, PendingError, UnknownNameError
from rag_evals.grading import Grader, sample_flow
from rag_evals.grading.grader import drive_async
from rag_evals.judge import AsyncJudge, Client, endpoint_of, judge_for, model_of
from rag_evals.judge.session import JudgePipeline, ReplyStore, batch_session, judge_session
from rag_evals.judge.wire.ask import client_settings
from rag_evals.run.engine.batch_table import RoundAnswers, grading_now
from rag_evals.run.plan.options import OPTIONS, RunOptions, refuse_idle
from rag_evals.run.plan.plan import Graders, Plan, make_plan
from rag_evals.run.record.extras import ReplyLog
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.outcome import GradingIdentity, Outcome, outcome_of
from rag_evals.run.record.store import identity_differences


class RunJudges:
    """Opens each judge of a run once: within the run's limits, and with its cache."""

    def __init__(
        self,
        plan: Plan,
        stack: AsyncExitStack,
        *,
        answers: RoundAnswers | None = None,
        folder: Path | None = None,
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._answers = answers
        self._stack = stack
        self._named: dict[str, JudgePipeline] = {}
        self._lock = asyncio.Lock()
        self._opened: list[JudgePipeline] = []

    @property
    def waiting_seconds(self) -> float:
        """How long an endpoint has asked to wait, from now; 0 when none has."""
        return max((judge.waiting_seconds for judge in self._opened), default=0.0)

    @property
    def lessons(self) -> dict[str, list[str]]:
        """What was learned of which models; see `JudgeHost`."""
        found: dict[str, set[str]] = {}
        for judge in self._opened:
            for what, models in judge.host.lessons.items():
                found.setdefault(what, set()).update(models)
        return {what: sorted(models) for what, models in found.items()}

    async def open(self) -> JudgePipeline | None:
        """Open the judge of the plan, and those that graders name; None when none is asked."""
        client, model = self._plan.client, self._plan.model
        judge = await self._open(client, model)
        if judge is not None and isinstance(client, str) and model is None:
            self._named[client] = judge
        for opened, grader in product(self._opened, self._plan.graders):
            # Such as `seed`: a grader of prompts has its own.
            own = getattr(grader, "settings", {})
            opened.host.check_settings(own, model or grader.model or model_of(client))
        for grader in self._plan.graders:
            for endpoint in grader.endpoints:
                await self.named(endpoint)
        return judge

    async def named(self, endpoint: str) -> JudgePipeline:
        """Return the judge that a call names, such as `openai/gpt-4o`; opened when first asked."""
        async with self._lock:
            if endpoint not in self._named:
                judge = await self._open(endpoint, None)
                assert judge is not None, "a session over a string has a judge"
                self._named[endpoint] = judge
            return self._named[endpoint]

    async def _open(self, client: Client, model: str | None) -> JudgePipeline | None:
        if client is None:
            return None
        if self._answers is None and isinstance(client, str):
            # First: a judge that cannot be asked must leave no cache file.
            judge_for(client, model)
        settings, store = self._plan.settings.session, self._store(client, model)
        if self._answers is None:
            opened = judge_session(client, model, settings, store)
        else:
            assert isinstance(client, str), "whoever asks by batches has looked for a string"
            opened = batch_session(client, model, settings.options, self._answers, store)
        judge = await self._stack.enter_async_context(opened)
        self._opened.append(judge)
        return judge

    def _store(self, client: Client, model: str | None) -> ReplyStore | None:
        cache = self._cache(client, model)
        if self._folder is None or not self._plan.settings.keep_replies:
            return cache
        return ReplyLog(self._folder, grading_key, cache)

    def _cache(self, client: Client, model: str | None) -> CallCache | None:
        settings = self._plan.settings
        if (cache := settings.open_cache()) is None:
            return None
        self._stack.enter_context(closing(cache))
        return CallCache(
            cache,
            endpoint=endpoint_of(client),
            default_model=model_of(client),
            model=model,
            settings=settings.session.options.settings,
            own=client_settings(client),
        )


T = TypeVar("T")


def closed_too_soon() -> ConfigurationError:
    """Say that a session was closed while it graded."""
    return ConfigurationError(
        "the session was closed while a row was graded; wait for all rows inside its with block"
    )


def grading_key() -> tuple[str, str]:
    """Return sample id and grader of the grading of this task."""
    sample_id, _, grader = grading_now.get().rpartition("\n")
    return sample_id, grader


class LoopThread:
    """An event loop in a thread of its own, for any number of threads; close it at the end."""

    def __init__(self) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def stay() -> None:
            end = asyncio.Event()
            started.set_result((asyncio.get_running_loop(), end))
            await end.wait()

        # A daemon: a program that ends without closing must not hang.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(stay()), name="rag-evals-loop", daemon=True
        )
        self._thread.start()
        self._loop, self._end = started.result()
        # Work that is handed over while the loop ends would never begin, and be waited for.
        self._handing_over = threading.Lock()
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for it; an interrupt of the wait cancels it.

        Raises:
            ConfigurationError: The loop was closed.
        """
        future = self.begin(work)
        try:
            return future.result()
        except CancelledError:
            raise closed_too_soon() from None
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin a coroutine in the loop, and do not wait for it.

        Raises:
            ConfigurationError: The loop was closed.
        """
        with self._handing_over:
            if self._is_closed:
                work.close()
                raise ConfigurationError("the session is closed; grade inside its with block")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop: what still runs in it is cancelled."""
        with self._handing_over:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()


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
        self._settings = {grader.name: plan.asked_with(grader) for grader in plan.graders}
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
    def lessons(self) -> dict[str, list[str]]:
        """What was learned of which models; see `JudgeHost`."""
        return self._judges.lessons

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
        return await self.grade_row(self.read(sample), self._grader(grader))

    async def grade_all(self, sample: object) -> list[Outcome]:
        """Grade one row with all graders of the session, side by side; as `grade` otherwise.

        Returns:
            One outcome for each grader, in the order of the graders.
        """
        self._check_usable()
        row = self.read(sample)
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
            grading = GradingIdentity(
                row.position,
                row.name,
                grader.name,
                row.fingerprint,
                self._fingerprints[grader.name],
                self._plan.identity["judge"],
                self._settings[grader.name],
                RowFacts.of(row.sample),
            )
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
                sample_flow(grader, row.sample), self._judge, meter, named=self._judges.named
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

    def read(self, sample: object) -> NumberedSample:
        """Read and number a row as `grade` does, which takes the result too."""
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
    plan: Plan, answers: RoundAnswers | None = None, folder: Path | None = None
) -> AsyncIterator[AsyncGradingSession]:
    """Open the session of a plan in the running event loop.

    Args:
        plan: As `make_plan` makes it; over `()` where the rows are given to `grade`.
        answers: What has come of batches, where judges are asked in them.
        folder: Of the run; where the plan keeps replies, they are kept there.
    """
    async with AsyncExitStack() as stack:
        judges = RunJudges(plan, stack, answers=answers, folder=folder)
        session = AsyncGradingSession(plan, judges, await judges.open())
        try:
            yield session
        finally:
            session.close()


def plan_words(plan: Plan) -> str:
    """Say in one line who grades, and who judges."""
    names = ", ".join(grader.name for grader in plan.graders)
    return f"{names}; judge: {plan.identity['judge']}"


class SessionThread:
    """A session that is open in an event loop of its own, until it is closed."""

    def __init__(self, manager: AbstractAsyncContextManager[AsyncGradingSession]) -> None:
        self._manager = manager
        self.loop = LoopThread()
        try:
            self.session = self.loop.run(manager.__aenter__())
        except BaseException:
            self.loop.close()
            raise

    def close(self) -> None:
        """Close the session and its connections, then the loop."""
        try:
            self.loop.run(self._manager.__aexit__(None, None, None))
        finally:
            self.loop.close()


class SessionOpener:
    """What `open_session` returns: enter it by `async with`, or by `with`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._opened: AbstractAsyncContextManager[AsyncGradingSession] | None = None
        self._thread: SessionThread | None = None

    def __repr__(self) -> str:
        """One line: the graders, and the judge."""
        return f"SessionOpener({plan_words(self._plan)})"

    async def __aenter__(self) -> AsyncGradingSession:
        """Open the session in the running event loop."""
        self._opened = self._new()
        return await self._opened.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session and the connections that were made for it."""
        assert self._opened is not None, "it was entered"
        await self._opened.__aexit__(kind, error, trace)

    def __enter__(self) -> GradingSession:
        """Open the session in an event loop of its own."""
        self._opened = self._new()
        self._thread = SessionThread(self._opened)
        return GradingSession(self._thread.loop, self._thread.session)

    def __exit__(self, *_: object) -> None:
        """Close the session and the connections that were made for it."""
        assert self._thread is not None, "it was entered by `with`"
        self._thread.close()

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse data that lacks a column which the graders need.

        Raises:
            MissingColumnError: It names the field, and the columns that there are.
        """
        rows = self._plan.data
        assert isinstance(rows, RowData), "a session is planned without a file"
        rows.require_names(names)

    @property
    def judged_by(self) -> dict[str, Any]:
        """Who grades: judge, address, models, settings, and the graders' fingerprints."""
        told = ("judge", "address", "models", "settings", "graders")
        return {name: self._plan.identity[name] for name in told}

    def require_same(self, judged_by: Mapping[str, Any], where: str) -> None:
        """Refuse to continue what another judge, or another grader, began.

        Raises:
            ConfigurationError: It names both judges.
        """
        if differences := identity_differences(judged_by, self.judged_by):
            raise ConfigurationError(
                f"{where} is of another run: {'; '.join(differences)}; use the same settings to "
                "continue it, or name another folder"
            )

    def _new(self) -> AbstractAsyncContextManager[AsyncGradingSession]:
        if self._opened is not None:
            raise ConfigurationError("a session is entered once; call open_session again")
        return session_of(self._plan)


def open_session(
    graders: Graders = "faithfulness", client: Client = None, **options: Unpack[RunOptions]
) -> SessionOpener:
    """Open a session that grades rows as they come: in a server, a guardrail, a test or a worker.

    `async with open_session(...) as session` gives an `AsyncGradingSession`, whose `grade` is
    awaited; `with open_session(...) as session` gives a `GradingSession` for any thread.

    Args:
        graders: As for `evaluate`.
        client: As for `evaluate`.
        options: As for `evaluate`; those of a whole data set, such as `limit`, are refused.
            Gradings above `concurrency` wait.

    Raises:
        ConfigurationError: A setting cannot work; nothing was sent.
    """
    require_known("open_session", options, list(OPTIONS))
    of_data = [name for name, option in OPTIONS.items() if not option.in_session]
    refuse_idle(options, *of_data, where="in a session, which has no data of its own")
    return SessionOpener(make_plan((), graders, client, options=options))
