"""Sessions, which grade individual rows and share connections, rate limits and a cache."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Self, Unpack

from pydantic import BaseModel

from rag_evals.cache.calls import CallCache
from rag_evals.cache.database import Database
from rag_evals.core import Meter, Sample, Usage, Work, require_known, watching
from rag_evals.dataset import NumberedSample, RowData, required_module
from rag_evals.errors import ConfigurationError, EventLoopError, PendingError, UnknownNameError
from rag_evals.grading import Grader, sample_flow
from rag_evals.grading.grader import drive_async
from rag_evals.judge import AsyncJudge, Client, endpoint_of, model_of
from rag_evals.judge.batches import ArrivedReplies
from rag_evals.judge.pace.row_time import LoopThread, closed_too_soon
from rag_evals.judge.session import JudgePipeline, ReplyStore, batch_session, judge_session
from rag_evals.judge.wire.ask import client_settings
from rag_evals.run.plan.options import DATA_OPTIONS, OPTIONS, RunOptions, refuse_idle
from rag_evals.run.plan.plan import Graders, Plan, make_plan
from rag_evals.run.record.extras import ReplyLog
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.outcome import COLUMNS, Outcome, outcome_of, outcome_schema

if TYPE_CHECKING:
    from concurrent.futures import Future


grading_now: ContextVar[tuple[str, str]] = ContextVar("grading_now")
"""Sample id and grader name of the current task."""


@dataclass(slots=True)
class RunJudges:
    """Opens each judge only once."""

    plan: Plan
    stack: AsyncExitStack
    answers: ArrivedReplies | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Keyed by endpoint; the key is None for a judge that calls cannot specify by name.
    _opened: dict[str | None, JudgePipeline] = field(default_factory=dict)

    @property
    def waiting_seconds(self) -> float:
        return max((judge.waiting_seconds for judge in self._opened.values()), default=0.0)

    @property
    def lessons(self) -> dict[str, list[str]]:
        """What the run learned about models from the judges' endpoints; see `JudgeHost`."""
        found: dict[str, set[str]] = {}
        for judge in self._opened.values():
            for what, models in judge.host.lessons.items():
                found.setdefault(what, set()).update(models)
        return {what: sorted(models) for what, models in found.items()}

    async def open(self) -> JudgePipeline | None:
        client, model = self.plan.client, self.plan.model
        judge = None
        if client is not None:
            name = client if isinstance(client, str) and model is None else None
            judge = self._opened[name] = await self._open(client, model)
            for grader in self.plan.graders:
                # Settings of the grader, such as `seed`.
                own = getattr(grader, "settings", {})
                judge.host.check_settings(own, model or grader.model or model_of(client))
        for grader in self.plan.graders:
            for endpoint in grader.endpoints:
                await self.named(endpoint)
        return judge

    async def named(self, endpoint: str) -> JudgePipeline:
        """Return the judge for an endpoint such as `openai/gpt-4o`."""
        async with self._lock:
            if endpoint not in self._opened:
                self._opened[endpoint] = await self._open(endpoint, None)
            return self._opened[endpoint]

    async def _open(self, client: Client, model: str | None) -> JudgePipeline:
        settings = self.plan.settings
        if self.answers is None:
            opened = judge_session(client, model, settings.session)
        else:
            assert isinstance(client, str), "batches need a judge string"
            opened = batch_session(client, model, settings.session.options, self.answers)
        judge = await self.stack.enter_async_context(opened)
        store: ReplyStore | None = None
        # Open the cache last, so that no cache file is created if the judge cannot be opened.
        if settings.cache is not None:
            store = CallCache(
                self.stack.enter_context(closing(Database(settings.cache))),
                endpoint=endpoint_of(client),
                default_model=model_of(client),
                model=model,
                settings=settings.session.options.settings,
                own=client_settings(client),
            )
        if self.plan.out is not None and settings.keep_replies:
            store = ReplyLog(self.plan.out, grading_now.get, store)
        return replace(judge, store=store)


def plan_words(plan: Plan) -> str:
    names = ", ".join(grader.name for grader in plan.graders)
    return f"{names}; judge: {plan.identity['judge']}"


class AsyncGradingSession:
    """Grades rows as they arrive, in the event loop that opened the session; see `open_session`.

    Any number of tasks may grade rows at the same time; up to `concurrency` rows are in progress.

    Attributes:
        graders: Names of the graders, in the order in which they were passed.
        usage: Usage of all gradings so far.
        cost_usd: List price of the usage in US dollars; None if no price is known.
    """

    def __init__(self, plan: Plan, judges: RunJudges, judge: AsyncJudge | None) -> None:
        self.judges = judges
        self.graders = [grader.name for grader in plan.graders]
        self.usage = Usage()
        self.cost_usd: float | None = None
        self._plan = plan
        self._judge = judge
        self._loop = asyncio.get_running_loop()
        self._places = asyncio.Semaphore(plan.settings.session.concurrency)
        self._fingerprints = plan.fingerprints
        self._settings = {grader.name: plan.asked_with(grader) for grader in plan.graders}
        self._indexes = count()
        self._is_open = True

    def __repr__(self) -> str:
        return f"AsyncGradingSession({plan_words(self._plan)})"

    async def grade(self, sample: object, grader: str | None = None) -> Outcome:
        """Grade one row with one grader.

        Args:
            sample: A `Sample`, a mapping or an object with fields, as in the data for `evaluate`.
            grader: Name of one of the session's graders; optional if it has only one.

        Returns:
            The outcome, even if the row or the judge's reply is invalid.

        Raises:
            ConfigurationError: The session is closed or has no such grader.
        """
        return await self.grade_row(self.read(sample), self._grader(grader))

    async def grade_all(self, sample: object) -> list[Outcome]:
        """Grade one row with all graders concurrently; return the outcomes in grader order."""
        row = self.read(sample)
        graded = (self.grade_row(row, grader) for grader in self._plan.graders)
        return list(await asyncio.gather(*graded))

    async def grade_row(self, row: NumberedSample, grader: Grader[Any]) -> Outcome:
        """Grade a row returned by `read`."""
        grading_now.set((row.name, grader.name))
        return await watching(Work("row", grader.name, row), self._graded(row, grader))

    async def _graded(self, row: NumberedSample, grader: Grader[Any]) -> Outcome:
        async with self._places:
            meter = Meter()
            began = time.monotonic()
            grading = {
                "index": row.position,
                "sample_id": row.name,
                "grader": grader.name,
                "facts": RowFacts.of(row.sample),
                "sample_fingerprint": row.fingerprint,
                "grader_fingerprint": self._fingerprints[grader.name],
                "judge": self._plan.identity["judge"],
                "settings": self._settings[grader.name],
            }
            ended: BaseModel | Exception
            try:
                if isinstance(row.sample, Sample):
                    flow = sample_flow(grader, row.sample)
                    named = self.judges.named
                    ended = await drive_async(flow, self._judge, meter, named=named)
                else:
                    ended = row.sample
            except (ConfigurationError, PendingError):
                raise
            except Exception as error:  # noqa: BLE001 - any error in a grader fails its row
                if not self._is_open:
                    # The row failed because its connections were closed.
                    raise closed_too_soon() from None
                ended = error
            finally:
                # A cancelled row may also have incurred costs.
                cost = self._plan.cost_usd(grader, meter)
                self.usage += meter.total
                if cost is not None:
                    self.cost_usd = (self.cost_usd or 0.0) + cost
            seconds = time.monotonic() - began if isinstance(row.sample, Sample) else 0.0
            return outcome_of(grading, ended, seconds, meter.total, cost, tuple(meter.answered_by))

    def close(self) -> None:
        """Reject further rows."""
        self._is_open = False

    def read(self, sample: object) -> NumberedSample:
        """Number a row and convert it to a sample that `grade` accepts."""
        if not self._is_open:
            raise ConfigurationError("the session is closed; call grade inside the with block")
        if asyncio.get_running_loop() is not self._loop:
            raise EventLoopError(
                "this session was opened in another event loop; open one in each loop, or use "
                "`with open_session(...)`, which works in any thread"
            )

        if isinstance(sample, NumberedSample):
            return sample
        assert isinstance(self._plan.data, RowData), "a session's plan has no data file"
        return self._plan.data.number(next(self._indexes), sample)

    def _grader(self, name: str | None) -> Grader[Any]:
        graders = {grader.name: grader for grader in self._plan.graders}
        if name is None and len(graders) == 1:
            return next(iter(graders.values()))
        if name is None:
            raise ConfigurationError(
                f"the session has {len(graders)} graders ({', '.join(graders)}); choose one, as in "
                "grade(sample, 'faithfulness'), or call grade_all(sample)"
            )
        if not isinstance(name, str) or name not in graders:
            raise UnknownNameError.of("grader", str(name), graders)
        return graders[name]


@asynccontextmanager
async def session_of(
    plan: Plan, answers: ArrivedReplies | None = None
) -> AsyncIterator[AsyncGradingSession]:
    """Open a session in the running event loop; `answers` contains replies from batches."""
    async with AsyncExitStack() as stack:
        judges = RunJudges(plan, stack, answers)
        session = AsyncGradingSession(plan, judges, await judges.open())
        try:
            yield session
        finally:
            session.close()


class GradingSession:
    """Grades rows as they arrive, from any number of threads; see `open_session`.

    The work is done by an event loop in a separate thread. `async with` opens an
    `AsyncGradingSession` instead.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._opening = session_of(plan)
        self._is_entered = False

    async def __aenter__(self) -> AsyncGradingSession:
        self._enter()
        return await self._opening.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._opening.__aexit__(*error)

    def __enter__(self) -> Self:
        self._enter()
        self._loop = LoopThread()
        try:
            self._session = self._loop.run(self._opening.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enter(self) -> None:
        if self._is_entered:
            raise ConfigurationError("a session can be entered only once; call open_session again")
        self._is_entered = True

    def __repr__(self) -> str:
        return f"GradingSession({plan_words(self.plan)})"

    @property
    def graders(self) -> list[str]:
        """Names of the graders, in the order in which they were passed."""
        return self._session.graders

    @property
    def usage(self) -> Usage:
        """Usage of all gradings so far."""
        return self._session.usage

    @property
    def cost_usd(self) -> float | None:
        """List price of the usage in US dollars; None if no price is known."""
        return self._session.cost_usd

    def grade(self, sample: object, grader: str | None = None) -> Outcome:
        """Grade one row with one grader; see `AsyncGradingSession.grade`."""
        return self._loop.run(self._session.grade(sample, grader))

    def grade_all(self, sample: object) -> list[Outcome]:
        """Grade one row with all graders; see `AsyncGradingSession.grade_all`."""
        return self._loop.run(self._session.grade_all(sample))

    def begin_flat(
        self, row: Mapping[str, Any], keep: Sequence[str] = ()
    ) -> "Future[list[dict[str, Any]]]":
        """Start grading a row; the future returns the `Outcome.to_row` of each grader.

        The columns in `keep` are copied from the row into each of them.
        """

        async def graded() -> list[dict[str, Any]]:
            sample, kept = self._session.read(row), {name: row[name] for name in keep}
            outcomes = await self._session.grade_all(sample)
            return [outcome.to_row(sample) | kept for outcome in outcomes]

        return self._loop.begin(graded())

    def close(self) -> None:
        """Close the session and its connections."""
        try:
            self._loop.run(self._opening.__aexit__(None, None, None))
        finally:
            self._loop.close()


def open_session(
    graders: Graders = "faithfulness", client: Client = None, **options: Unpack[RunOptions]
) -> GradingSession:
    """Open a session that grades rows as they arrive, for example in a server or a test.

    `with open_session(...)` opens a `GradingSession` for use in any thread, and `async with` opens
    an `AsyncGradingSession` for the running event loop.

    Args:
        graders: As for `evaluate`.
        client: As for `evaluate`.
        options: As for `evaluate`, except options for whole data sets, such as `limit`.

    Raises:
        ConfigurationError: A setting is invalid; nothing was sent.
    """
    require_known("open_session", options, ["graders", "client", *OPTIONS])
    refuse_idle(options, *DATA_OPTIONS, where="in a session, which has no data set")
    return GradingSession(make_plan((), graders, client, options=options))


class TableGrader:
    """Grades rows in Arrow tables and returns Arrow tables of outcomes, for engines such as Ray.

    It opens one session per process. It can be pickled, but pickling requires cloudpickle if
    `sessions` is a lambda.

    Args:
        sessions: Opens a session, as in `lambda: open_session("faithfulness", "openai/…")`; called
            once in each process.
        keep: Data columns to copy into the outcomes.

    Raises:
        ConfigurationError: A column in `keep` has the same name as an outcome column.
    """

    def __init__(self, sessions: Callable[[], GradingSession], keep: Sequence[str] = ()) -> None:
        taken = sorted(set(keep) & set(COLUMNS))
        if taken:
            raise ConfigurationError(
                f"keep contains {taken[0]!r}, which is an outcome column; rename it in the data"
            )
        self.sessions = sessions
        self.keep = tuple(keep)
        self._opening = threading.Lock()
        self._opened: GradingSession | None = None

    def __repr__(self) -> str:
        return f"TableGrader({'open' if self._opened else 'not yet used'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sessions, self.keep)

    def __call__(self, table: Any) -> Any:
        """Grade a `pyarrow.Table`; return a table with one row for each sample and grader.

        Its columns are those of `Outcome.to_row` and `keep`.
        """
        arrow = required_module("pyarrow", "data", "grade Arrow tables")
        missing = [name for name in self.keep if name not in table.column_names]
        if missing:
            raise ConfigurationError(
                f"the table has no column {missing[0]!r}; it has {', '.join(table.column_names)}"
            )
        opened = self._open()
        # Start all rows; the session limits how many are graded at the same time.
        begun = [opened.begin_flat(row, self.keep) for row in table.to_pylist()]
        schema = outcome_schema()
        for name in self.keep:
            schema = schema.append(table.schema.field(name))
        try:
            flat = [each for graded in begun for each in graded.result()]
        finally:
            for graded in begun:
                graded.cancel()
        return arrow.Table.from_pylist(flat, schema=schema)

    async def grade_row(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Grade one row; return an outcome row for each grader, as in the table."""
        return await asyncio.wrap_future(self._open().begin_flat(row, self.keep))

    def close(self) -> None:
        """Close the session; grading another row opens a new one."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _open(self) -> GradingSession:
        with self._opening:
            if self._opened is None:
                self._opened = self.sessions().__enter__()
            return self._opened
