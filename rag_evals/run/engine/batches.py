"""Grading a data set in batches.

Each round grades all unfinished rows with the replies collected so far and sends the requests that
have no reply yet, until no row is pending. Requests and results are stored in an SQLite file in the
run folder. Each step is recorded before it is taken, so nothing is lost if the process is killed.
"""

import asyncio
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import IO, Self

from filelock import FileLock, Timeout

from rag_evals.core import private_file
from rag_evals.errors import (
    ConfigurationError,
    JudgeUnavailableError,
    PendingError,
    UnknownBatchError,
)
from rag_evals.judge.batches import BatchApi, BatchHost, BatchResult, BatchState
from rag_evals.judge.pace.retry import seconds_before_poll
from rag_evals.run.engine.evaluate import runner_of
from rag_evals.run.engine.session import grading_now, session_of
from rag_evals.run.plan.plan import Plan
from rag_evals.run.read.run import Run
from rag_evals.run.record.lines import PRIVATE
from rag_evals.run.record.store import BATCH, MANIFEST, RunStore, read_manifest, require_same_run

Tell = Callable[[str], object]
"""Called with each line of text about the progress of the batches."""

_TRIES = 3
_SHOWN_CHARS = 60
_FILE = "batches.sqlite3"
# AUTOINCREMENT, because part numbers are used in file names and must not be reused.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS parts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, endpoint TEXT NOT NULL,
    model TEXT NOT NULL, ended INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL, file TEXT,
    batch TEXT
);
CREATE TABLE IF NOT EXISTS requests (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, part INTEGER, sent INTEGER NOT NULL DEFAULT 0,
    reply TEXT, status INTEGER, fault TEXT
);
CREATE INDEX IF NOT EXISTS requests_part ON requests (part);
"""
_PARTS = """
SELECT number, name, endpoint, model, (SELECT count(*) FROM requests WHERE part = number), ended,
    status, file, batch FROM parts ORDER BY number
"""
# A part in the SENDING state may or may not have reached the provider.
WRITTEN, SENDING = "written", "sending"


@dataclass(frozen=True, slots=True)
class BatchPart:
    """A file of requests for one endpoint and model, which becomes a batch when it is sent.

    `status` is `written`, `sending`, `given` (for the user to run with vLLM) or the provider's
    status. `ended` is the number of processed requests; `file` and `batch` are the provider's ids.
    """

    number: int
    name: str
    endpoint: str
    model: str
    requests: int
    ended: int
    status: str
    file: str | None
    batch: str | None


@dataclass(slots=True)
class _OpenPart:
    number: int
    file: IO[bytes]
    requests: int = 0


class BatchTable:
    """The batches in a run folder, locked so that only one process can use them."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._lock = FileLock(run / BATCH / ".lock", timeout=0)

    def __enter__(self) -> Self:
        """Raise `ConfigurationError` if the folder is in use or damaged."""
        folder = self.run / BATCH
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            (folder / _FILE).touch(PRIVATE)
            self._connection = sqlite3.connect(folder / _FILE)
            self._connection.executescript(_SCHEMA)
        except Timeout:
            raise ConfigurationError(
                f"the batches in {str(folder)!r} are in use by another program; wait until it exits"
            ) from None
        except (OSError, sqlite3.DatabaseError) as error:
            self._lock.release()
            why = error.strerror if isinstance(error, OSError) else error
            raise ConfigurationError(f"{str(folder)!r} cannot be used: {why}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._lock.release()

    @property
    def command_file(self) -> Path:
        """JSON file that contains the options of the command that started the batches."""
        return self.run / BATCH / "command.json"

    def path_of(self, part: int, kind: str = "") -> Path:
        return self.run / BATCH / f"part-{part}{kind}.jsonl"

    def parts(self) -> list[BatchPart]:
        """Return the parts that do not have results yet."""
        return [BatchPart(*row) for row in self._connection.execute(_PARTS)]

    def update(self, part: BatchPart, **columns: object) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        with self._connection as connection:
            connection.execute(
                f"UPDATE parts SET {names} WHERE number = ?", (*columns.values(), part.number)
            )

    def release(self, part: BatchPart) -> None:
        """Delete a part, so that its requests can be added to another one."""
        with self._connection as connection:
            connection.execute("UPDATE requests SET part = NULL WHERE part = ?", (part.number,))
            connection.execute("DELETE FROM parts WHERE number = ?", (part.number,))

    def store_results(
        self,
        part: BatchPart,
        state: BatchState,
        lines: Iterable[bytes],
        *,
        must_be_complete: bool = False,
    ) -> str:
        """Store the results of a part and return a summary; store nothing if an error is raised."""
        lost = f"the batch is {state.status} and has no reply to this request"
        unreadable, shown = 0, ""
        with self._connection as connection:
            connection.execute(
                "UPDATE requests SET sent = sent + 1, reply = NULL, status = NULL, fault = ? "
                "WHERE part = ?",
                (lost, part.number),
            )
            for line in filter(None, map(bytes.strip, lines)):
                if (found := BatchResult.read(line)) is None:
                    unreadable += 1
                elif connection.execute(
                    "UPDATE requests SET reply = ?, status = ?, fault = ? "
                    "WHERE key = ? AND part = ? AND reply IS NULL",
                    (found.reply, found.status, found.fault, found.key, part.number),
                ).rowcount:
                    continue
                shown = shown or f": {line[:_SHOWN_CHARS].decode('utf-8', 'replace')!r}"
            results, replies = connection.execute(
                "SELECT count(nullif(fault, ?)), count(reply) FROM requests WHERE part = ?",
                (lost, part.number),
            ).fetchone()
            # Resending a request whose reply was lost costs money, so download everything again.
            if must_be_complete and (unreadable or results < (state.replied or 0)):
                raise JudgeUnavailableError("the results are incomplete")
            if not results and (shown or state.replied):
                raise ConfigurationError(
                    f"batch {state.name} has no results{shown}; nothing was stored; "
                    f"`rag-evals batch collect {self.run}` reads them again"
                )
            self.release(part)
        words = _lost_words(unreadable, part.requests - results)
        replied = f"{replies} of {part.requests} requests have a reply"
        return f"collected: batch {state.name}, {state.status}, {replied}{words}"

    @contextmanager
    def round(self) -> Iterator[None]:
        """Write missing requests to new parts; roll back if the block raises."""
        with self._connection as connection, ExitStack() as self._files:
            unsent = f"(SELECT number FROM parts WHERE status = '{WRITTEN}')"
            connection.execute(f"UPDATE requests SET part = NULL WHERE part IN {unsent}")
            connection.execute(f"DELETE FROM parts WHERE status = '{WRITTEN}'")
            self._writing: dict[tuple[str, str], _OpenPart] = {}
            yield

    def attempt(self, key: str) -> BatchResult | None:
        """Return the latest result of a request, or None if there is none or it is pending."""
        row = self._connection.execute(
            "SELECT key, reply, status, fault, sent FROM requests "
            "WHERE key = ? AND part IS NULL AND sent > 0",
            (key,),
        ).fetchone()
        return BatchResult(*row) if row else None

    def is_paid_here(self, key: str) -> bool:
        """True if the current grading was the first to need this request."""
        found = self._connection.execute("SELECT owner FROM requests WHERE key = ?", (key,))
        return found.fetchone() in (None, ("\n".join(grading_now.get()),))

    def note(self, missing: PendingError) -> None:
        """Add a request to a part, unless it already belongs to one."""
        waits = "SELECT 1 FROM requests WHERE key = ? AND part IS NOT NULL"
        if self._connection.execute(waits, (missing.key,)).fetchone():
            return
        host, model = BatchHost.of(missing.endpoint), str(missing.body["model"])
        line = host.line(missing.key, missing.body)
        place = missing.endpoint, model
        part = self._writing.get(place)
        if (
            part is None
            or part.requests >= host.max_requests
            or part.file.tell() + len(line) > host.max_bytes
        ):
            part = self._writing[place] = self._new_part(*place)
        part.file.write(line)
        part.requests += 1
        self._connection.execute(
            "INSERT INTO requests (key, owner, part) VALUES (?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET part = excluded.part",
            (missing.key, "\n".join(grading_now.get()), part.number),
        )

    def _new_part(self, endpoint: str, model: str) -> _OpenPart:
        made = self._connection.execute(
            "INSERT INTO parts (name, endpoint, model, status) VALUES (?, ?, ?, ?)",
            (f"rag-evals-{uuid.uuid4().hex}", endpoint, model, WRITTEN),
        )
        number = int(made.lastrowid or 0)
        return _OpenPart(number, self._files.enter_context(private_file(self.path_of(number))))


def _has_batches(folder: Path) -> bool:
    # Path.exists() raises an error if a name is too long; creating the folder will report it.
    return os.path.exists(folder / BATCH / _FILE)  # noqa: PTH110


def parts_under_way(folder: Path) -> Sequence[BatchPart]:
    """Return the parts in a run folder that have been sent but do not have results yet."""
    if not _has_batches(folder):
        return ()
    with BatchTable(folder) as table:
        return [part for part in table.parts() if part.status != WRITTEN]


def open_batches(folder: Path) -> BatchTable:
    """Return the batches of a run folder; raise `ConfigurationError` if it has none."""
    if not _has_batches(folder):
        raise ConfigurationError(
            f"{str(folder)!r} has no batches; `rag-evals grade DATA --judge PROVIDER/MODEL "
            "--batch` starts them"
        )
    return BatchTable(folder)


@dataclass(frozen=True, slots=True)
class BatchSteps:
    """Next steps for a run's batches once the finished results have been collected.

    `send` sends missing requests, `wait` sends and collects until no row is pending, and `again`
    resends the requests of batches that the endpoint has deleted.
    """

    send: bool = True
    wait: bool = False
    again: bool = False


async def aexecute_batches(
    plan: Plan, steps: BatchSteps, *, tell: Tell, command: str | None = None
) -> Run:
    """Grade in batches and return the run so far.

    `command` contains the options of the starting command as JSON; by default, those stored.
    """
    check_batch_judges(plan)
    out = plan.out
    assert out is not None, "batches are stored in a run folder"
    if plan.settings.restart:
        with RunStore(out, plan.manifest(), restart=True):
            pass
    elif (out / MANIFEST).exists():
        # This may be the wrong folder, so check before changing its batches.
        require_same_run(out, plan.manifest())
    plan = replace(plan, batched=True, settings=replace(plan.settings, restart=False))
    with BatchTable(out) as table:
        if command is not None:
            with private_file(table.command_file) as file:
                file.write(command.encode())
        await _outlast(partial(collect_results, table, tell, again=steps.again), steps, tell)
        while True:
            session = session_of(plan, table)
            with table.round():
                async with runner_of(plan, opened=session) as runner:
                    run = await runner.run()
            if steps.send:
                await _outlast(partial(send_parts, table, tell), steps, tell)
            if not (steps.wait and run.summary().pending):
                return run
            await _wait_for_results(table, steps, tell)


async def _wait_for_results(table: BatchTable, steps: BatchSteps, tell: Tell) -> None:
    told = ""
    for number in count(1):
        await _outlast(partial(collect_results, table, tell), steps, tell)
        parts = table.parts()
        if not parts:
            return
        if any(part.batch is None for part in parts):
            raise ConfigurationError(
                "you process these requests yourself, so --wait has no effect; when they are done, "
                f"run `rag-evals batch collect {table.run}`"
            )
        if (words := batch_words(parts)) != told:
            tell(words)
            told = words
        await asyncio.sleep(seconds_before_poll(number))


async def _outlast(work: Callable[[], None], steps: BatchSteps, tell: Tell) -> None:
    """Call `work`; if the user chose to wait, retry until the outage is over."""
    for number in count(1):
        try:
            work()
            break
        except JudgeUnavailableError as error:
            if not steps.wait:
                raise
            tell(f"no answer, trying again: {error}")
            await asyncio.sleep(seconds_before_poll(number))


def check_batch_judges(plan: Plan) -> None:
    own = [] if plan.client is None else [plan.client]
    asked = own + [endpoint for grader in plan.graders for endpoint in grader.endpoints]
    if not asked:
        raise ConfigurationError(
            "this run has no judge to send a batch to; specify one, such as --judge "
            "openai/gpt-4o-mini"
        )
    for judge in asked:
        if not isinstance(judge, str):
            raise ConfigurationError(
                f"batches need a judge string such as 'openai/gpt-4o-mini', not a client of type "
                f"{type(judge).__name__}"
            )
        BatchHost.of(judge)


def send_parts(table: BatchTable, tell: Tell) -> None:
    """Send the written parts, except those that a killed process has already sent."""
    for part in table.parts():
        if part.batch is not None:
            continue
        path = table.path_of(part.number)
        if BatchHost.of(part.endpoint).is_local:
            table.update(part, status="given")
            results = table.path_of(part.number, ".out")
            tell(f"to do: vllm run-batch -i {path} -o {results} --model {part.model}")
            continue
        again = part.status == SENDING
        # If the process is killed now, the next run asks the provider whether it received the part.
        table.update(part, status=SENDING)
        with closing(BatchApi.open(part.endpoint)) as api:
            file = part.file or api.upload(path, part.name, again=again)
            table.update(part, file=file)
            made = api.create(path, file, part.name, again=again)
        table.update(part, batch=made.name, status=made.status)
        tell(
            f"sent: batch {made.name} with {part.requests} requests to {part.model}; "
            f"`rag-evals batch collect {table.run}` fetches the replies"
        )


def collect_results(
    table: BatchTable, tell: Tell, *, again: bool = False, only_ask: bool = False
) -> None:
    """Collect the results of finished batches, or only refresh their status if `only_ask`."""
    for part in table.parts():
        if part.batch is None:
            path = table.path_of(part.number, ".out")
            if not only_ask and BatchHost.of(part.endpoint).is_local and path.exists():
                state = BatchState(str(path), "completed", replied=part.requests)
                with path.open("rb") as lines:
                    tell(table.store_results(part, state, lines))
            continue
        try:
            with closing(BatchApi.open(part.endpoint)) as api:
                state = api.state(part.batch)
                ended = part.ended if state.ended is None else state.ended
                table.update(part, status=state.status, ended=ended)
                if BatchState.is_end(state.status) and not only_ask:
                    tell(_download_results(table, part, state, api))
        except UnknownBatchError as error:
            if not again:
                raise UnknownBatchError(
                    f"{error}; `rag-evals batch collect {table.run} --again` resends its "
                    f"{part.requests} requests, which are paid for again"
                ) from None
            table.release(part)
            tell(f"{error}; its {part.requests} requests are resent and paid for again")


def _download_results(table: BatchTable, part: BatchPart, state: BatchState, api: BatchApi) -> str:
    if state.status == "failed" and not state.results:
        table.release(part)
        raise ConfigurationError(
            f"the provider rejected batch {state.name}: {state.message or 'no reason given'}; "
            f"fix that, and run `rag-evals batch collect {table.run} --send` to send its "
            f"{part.requests} requests again"
        )
    tries = 0
    while True:
        tries += 1
        lines = chain.from_iterable(api.lines(state.name, file) for file in state.results)
        try:
            return table.store_results(part, state, lines, must_be_complete=tries < _TRIES)
        except JudgeUnavailableError:
            if tries == _TRIES:
                raise
            time.sleep(seconds_before_poll(tries))


def _lost_words(unreadable: int, resent: int) -> str:
    if not unreadable:
        return ""
    again = f"; {resent} requests are resent and paid for again" if resent > 0 else ""
    return f", and {unreadable} lines could not be read{again}"


def pending_in(folder: Path) -> int:
    return int(read_manifest(folder).get("pending", 0))


def batch_words(parts: Iterable[BatchPart]) -> str:
    sent = [part for part in parts if part.status != WRITTEN]
    ended = sum(BatchState.is_end(part.status) for part in sent)
    requests, done = sum(part.requests for part in sent), sum(part.ended for part in sent)
    return f"batches: {ended} of {len(sent)} finished, {done} of {requests} requests processed"
