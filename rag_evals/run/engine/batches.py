"""Grading of a data set in batches.

Each round grades all unfinished rows with the replies collected so far and sends the requests that
are still missing. Rounds repeat until no row is pending. A results file is read only when complete,
because a lost line means paying for its reply twice.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, aclosing, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from rag_evals.errors import ConfigurationError, JudgeUnavailableError, UnknownBatchError
from rag_evals.judge.batches import BatchApi, BatchHost, BatchResult, BatchState
from rag_evals.judge.pace.retry import seconds_before_poll
from rag_evals.run.engine.batch_table import (
    GIVEN,
    SENDING,
    WRITTEN,
    BatchPart,
    BatchTable,
    RoundAnswers,
)
from rag_evals.run.engine.loop import runner_of
from rag_evals.run.engine.session import session_of
from rag_evals.run.plan.plan import Plan
from rag_evals.run.plan.progress import Report
from rag_evals.run.read.run import Run
from rag_evals.run.record.lines import PRIVATE
from rag_evals.run.record.store import MANIFEST, RunStore, read_manifest, require_same_run

Tell = Callable[[str], object]
"""Receives lines about the progress of the batches."""

_TRIES = 3
_SHOWN_CHARS = 60
_NO_ANSWER = "no answer, asking again: {}"


class _Held(NamedTuple):
    """Counts of a results file.

    Attributes:
        requests: Requests of the part that have a result.
        replies: Requests of the part that have a reply.
        foreign: Results for requests of other parts.
        others: Unreadable lines.
        start: The first unreadable line, cut short.
    """

    requests: int
    replies: int
    foreign: int
    others: int
    start: str

    @classmethod
    def of(cls, path: Path, asked: frozenset[str]) -> "_Held":
        keys: set[str] = set()
        replied: set[str] = set()
        others, start = 0, ""
        with path.open("rb") as lines:
            for line in filter(None, map(bytes.strip, lines)):
                if (found := BatchResult.read(line)) is not None:
                    (keys if found.reply is None else replied).add(found.key)
                else:
                    shown = line[:_SHOWN_CHARS].decode("utf-8", "replace")
                    start = start or f": {shown!r}"
                    others += 1
        every = keys | replied
        return cls(len(every & asked), len(replied & asked), len(every - asked), others, start)

    def why_none(self, part: BatchPart) -> str:
        if self.foreign:
            return f": 0 of {self.foreign} are of this batch's {part.requests} requests"
        return self.start


def _take(
    table: BatchTable, part: BatchPart, held: _Held, status: str, words: str, tell: Tell
) -> None:
    with table.path_of(part.number, ".out").open("rb") as lines:
        results = (found for line in lines if (found := BatchResult.read(line)) is not None)
        table.take(part, status, results)
    words += f", {min(held.replies, part.requests)} of {part.requests} requests have a reply"
    if held.others:
        words += f", and {held.others} lines cannot be read"
        if (again := part.requests - held.requests) > 0:
            words += f"; {again} requests are sent again, and paid for again"
    tell(f"taken: {words}")


def take_file(table: BatchTable, part: BatchPart, tell: Tell) -> None:
    """Take the results that the user's program wrote, if it has."""
    path = table.path_of(part.number, ".out")
    if not path.exists():
        return
    held = _Held.of(path, table.keys(part))
    if not held.requests:
        raise ConfigurationError(
            f"no line of {str(path)!r} is a result of part {part.number}{held.why_none(part)}; "
            "let `vllm run-batch` write it"
        )
    _take(table, part, held, "completed", str(path), tell)


def take_batch(
    table: BatchTable, part: BatchPart, state: BatchState, api: BatchApi, tell: Tell
) -> None:
    """Download and store the results of a finished batch."""
    held = _fetched(api, state, table.path_of(part.number, ".out"), table.keys(part))
    if not held.requests and (held.others or held.foreign or state.replied):
        raise ConfigurationError(
            f"the endpoint sent no results of batch {state.name}"
            f"{held.why_none(part)}; "
            f"nothing was taken: `rag-evals batch collect {table.folder.parent}` fetches it again"
        )
    _take(table, part, held, state.status, f"batch {state.name}, {state.status}", tell)


def _fetched(api: BatchApi, state: BatchState, path: Path, keys: frozenset[str]) -> _Held:
    for number in range(1, _TRIES + 1):
        is_last = number == _TRIES
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
            with os.fdopen(descriptor, "wb") as file:
                for name in state.results:
                    file.writelines(line + b"\n" for line in api.lines(state.name, name))
        except JudgeUnavailableError:
            if is_last:
                raise
        else:
            held = _Held.of(path, keys)
            # The provider counts the replies; if fewer came, some were lost on the way.
            is_short = bool(held.others) or held.requests < (state.replied or 0)
            if is_last or not is_short:
                return held
        time.sleep(seconds_before_poll(number))
    raise AssertionError("the last try returns or raises")


@dataclass(frozen=True, slots=True)
class BatchSteps:
    """Steps to take with the batches of a run.

    Attributes:
        take: Collect finished results.
        send: Send missing requests.
        wait: Repeat both until no row is pending.
        again: Resend the requests of batches that the endpoint has deleted.
        max_requests: Most requests in one batch; None for the provider's limit.
    """

    take: bool = True
    send: bool = True
    wait: bool = False
    again: bool = False
    max_requests: int | None = None


async def aexecute_batches(
    plan: Plan,
    steps: BatchSteps,
    *,
    out: Path,
    tell: Tell,
    progress: Report | bool | None = None,
    command: str | None = None,
) -> Run:
    """Grade in batches and return the run so far.

    Args:
        plan: The plan.
        steps: The steps to take.
        out: The run folder, new or to be resumed.
        tell: Receives lines about the progress of the batches.
        progress: As for `evaluate`.
        command: JSON of the options of the command that starts the batches; None keeps the stored.

    Raises:
        ConfigurationError: The judge supports no batches, or the provider rejected one.
    """
    check_batch_judges(plan)
    if plan.settings.restart:
        with RunStore(out, plan.manifest(), restart=True):
            pass
    elif (out / MANIFEST).exists():
        # The command may name the wrong folder, so check before touching its batches.
        require_same_run(out, plan.manifest())
    plan = replace(plan, batched=True, settings=replace(plan.settings, restart=False))
    with BatchTable(out) as table:
        if command is not None:
            table.command = command
        if steps.take:
            await _outlast(partial(take_results, table, tell, again=steps.again), steps, tell)
        while True:
            run = await _round(plan, table, steps, out, progress)
            if steps.send:
                await _outlast(partial(send_parts, table, tell), steps, tell)
            if not (steps.wait and run.summary().pending):
                return run
            await _ended(table, tell)
            await _outlast(partial(take_results, table, tell), steps, tell)


async def _outlast(work: Callable[[], None], steps: BatchSteps, tell: Tell) -> None:
    """Do the work; with `wait`, retry through outages of any length."""
    for number in count(1):
        try:
            work()
        except JudgeUnavailableError as error:
            if not steps.wait:
                raise
            tell(_NO_ANSWER.format(error))
            await asyncio.sleep(seconds_before_poll(number))
        else:
            return


def check_batch_judges(plan: Plan) -> None:
    own = [] if plan.client is None else [plan.client]
    asked = own + [endpoint for grader in plan.graders for endpoint in grader.endpoints]
    if not asked:
        raise ConfigurationError(
            "this run asks no judge, so there is nothing to send in a batch; name one, as in "
            "--judge openai/gpt-4o-mini"
        )
    for judge in asked:
        if not isinstance(judge, str):
            raise ConfigurationError(
                "batches are sent to a judge that a string names, such as 'openai/gpt-4o-mini'; "
                f"this client is {type(judge).__name__}"
            )
        BatchHost.of(judge)


async def _round(
    plan: Plan,
    table: BatchTable,
    steps: BatchSteps,
    out: Path,
    progress: Report | bool | None,
) -> Run:
    table.drop_written()
    answers = RoundAnswers(table, max_requests=steps.max_requests)
    session = session_of(plan, answers, out)
    opened = runner_of(plan, out=out, progress=progress, opened=session)
    with answers.writing():
        async with opened as runner, aclosing(runner.outcomes()) as outcomes:
            async for _ in outcomes:
                pass
            return runner.finished()


def send_parts(table: BatchTable, tell: Tell) -> None:
    """Send the written parts, unless a killed program has already sent them."""
    with _Apis() as apis:
        for part in table.parts():
            if part.batch is not None:
                continue
            if BatchHost.of(part.endpoint).is_local:
                path, out = table.path_of(part.number), table.path_of(part.number, ".out")
                table.note(part.number, status=GIVEN)
                tell(f"to do: vllm run-batch -i {path} -o {out} --model {part.model}")
                continue
            again = part.status == SENDING
            # After a kill, the next start looks for it at the provider.
            table.note(part.number, status=SENDING)
            api = apis.of(part.endpoint)
            path, file = table.path_of(part.number), part.file
            if file is None:
                file = api.upload(path, part.name, again=again)
                table.note(part.number, file=file)
            made = api.create(path, file, part.name, again=again)
            table.note(part.number, batch=made.name, status=made.status)
            tell(
                f"sent: batch {made.name} with {part.requests} requests to {part.model}; "
                f"`rag-evals batch collect {table.folder.parent}` takes the replies"
            )


def take_results(table: BatchTable, tell: Tell, *, again: bool = False) -> None:
    """Take the results of finished batches.

    Raises:
        ConfigurationError: The provider rejected a batch or has deleted it.
    """
    with _Apis() as apis:
        for part in table.parts():
            if BatchHost.of(part.endpoint).is_local:
                take_file(table, part, tell)
            elif part.batch is not None:
                try:
                    _take_ended(table, part, apis.of(part.endpoint), tell)
                except UnknownBatchError as error:
                    if not again:
                        raise _with_way_out(error, table, part) from None
                    table.release(part, "unknown")
                    tell(
                        f"{error}; its {part.requests} requests are sent again, and paid for again"
                    )


def _with_way_out(
    error: UnknownBatchError, table: BatchTable, part: BatchPart
) -> UnknownBatchError:
    return UnknownBatchError(
        f"{error}; `rag-evals batch collect {table.folder.parent} --again` sends its "
        f"{part.requests} requests again, and pays for them again"
    )


def _take_ended(table: BatchTable, part: BatchPart, api: BatchApi, tell: Tell) -> None:
    state = _noted(table, part, api)
    if not BatchState.is_end(state.status):
        return
    if state.status == "failed" and not state.results:
        table.release(part, state.status)
        raise ConfigurationError(
            f"the provider processed nothing of batch {state.name}: "
            f"{state.message or 'it gives no reason'}; when that is fixed, `rag-evals batch "
            f"submit {table.folder.parent}` sends its {part.requests} requests again"
        )
    take_batch(table, part, state, api, tell)


def _noted(table: BatchTable, part: BatchPart, api: BatchApi) -> BatchState:
    state = api.state(str(part.batch))
    ended = part.ended if state.ended is None else state.ended
    table.note(part.number, status=state.status, ended=ended)
    return state


def ask_states(table: BatchTable) -> list[BatchPart]:
    """Refresh the status of sent batches, and return the parts without results."""
    with _Apis() as apis:
        for part in table.parts():
            if part.batch is not None:
                try:
                    _noted(table, part, apis.of(part.endpoint))
                except UnknownBatchError as error:
                    raise _with_way_out(error, table, part) from None
    return table.parts()


async def _ended(table: BatchTable, tell: Tell) -> None:
    told = ""
    for number in count(1):
        try:
            words = batch_words(parts := ask_states(table))
        except JudgeUnavailableError as error:
            # A batch takes up to a day, so do not give up when the network is down for an hour.
            parts, words = table.parts(), _NO_ANSWER.format(error)
        if any(part.batch is None for part in parts):
            raise ConfigurationError(
                "a program of yours processes these requests, so there is nothing to wait for; "
                f"then run `rag-evals batch collect {table.folder.parent}`"
            )
        if words != told:
            tell(words)
            told = words
        if all(BatchState.is_end(part.status) for part in parts):
            return
        await asyncio.sleep(seconds_before_poll(number))


def pending_in(folder: Path) -> int:
    return int(read_manifest(folder).get("pending", 0))


def batch_words(parts: Iterable[BatchPart]) -> str:
    sent = [part for part in parts if part.status != WRITTEN]
    ended = sum(BatchState.is_end(part.status) for part in sent)
    requests, done = sum(part.requests for part in sent), sum(part.ended for part in sent)
    return f"batches: {ended} of {len(sent)} ended, {done} of {requests} requests processed"


class _Apis:
    """One open client per endpoint."""

    def __init__(self) -> None:
        self._opened: dict[str, BatchApi] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "_Apis":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def of(self, endpoint: str) -> BatchApi:
        if endpoint not in self._opened:
            self._opened[endpoint] = self._stack.enter_context(closing(BatchApi.open(endpoint)))
        return self._opened[endpoint]
