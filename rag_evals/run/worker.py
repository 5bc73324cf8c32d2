"""What does a worker process do? It grades the rows that it is given, until its pipe is closed.

A run starts it; see `rag_evals.run.workers`.
"""

import asyncio
import gc
import os
import threading
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader
from rag_evals.run.collector import settled_heap
from rag_evals.run.judges import RunJudges
from rag_evals.run.outcome import Outcome
from rag_evals.run.row_questions import RowMember
from rag_evals.run.session import AsyncGradingSession
from rag_evals.run.worker_beats import Beats, beat_seconds
from rag_evals.run.worker_messages import (
    Beat,
    Begin,
    Broken,
    Deal,
    Finish,
    FromWorker,
    Graded,
    Pause,
    Ready,
    Unpacker,
    Waiting,
    WithoutTemperature,
    packed,
    sendable,
)
from rag_evals.text import one_line

_SECONDS_TO_GATHER = 0.01


def main() -> None:
    """Work for the process that started this one."""
    # What a grader prints must not come between the messages, nor what it reads be taken from them.
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asyncio.run(_work(incoming, outgoing))
    # Nothing is collected where all of it goes away: that takes a quarter of a second.
    gc.freeze()


async def _work(incoming: int, outgoing: int) -> None:
    # Made in the loop, to which its futures belong.
    await _Worker(outgoing).work(incoming)


class _Worker(asyncio.Protocol):
    def __init__(self, outgoing: int) -> None:
        self._outgoing = outgoing
        self._unpacker = Unpacker()
        self._begin: asyncio.Future[Begin] = asyncio.Future()
        self._over = asyncio.Event()
        self._graders: dict[str, Grader[Any]] = {}
        self._gradings: set[asyncio.Task[None]] = set()
        self._told: list[str] = []
        self._ended: list[bytes] = []
        self._writing = threading.Lock()
        self._beats = Beats(lambda: self._write(packed(Beat())))
        self._judges: RunJudges
        self._session: AsyncGradingSession

    async def work(self, incoming: int) -> None:
        """Grade until the run says that all is graded."""
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: self, os.fdopen(incoming, "rb", 0))
        moves = asyncio.create_task(self._note_moves())
        self._beats.begin()
        try:
            await self._grade_all()
            self._beats.end()
            moves.cancel()
        except Exception as error:  # noqa: BLE001 - the run says what ended it
            self._send(Broken(sendable(error)))
            await asyncio.Event().wait()

    def data_received(self, data: bytes) -> None:
        """Take what the run sends."""
        messages = self._unpacker.messages(data)
        while True:
            try:
                message = next(messages)
            except StopIteration:
                return
            # A module of the user's own may fail in any way when it is imported here.
            except Exception as error:  # noqa: BLE001
                self._send(Broken(_not_read(error)))
                return
            self._take(message)

    def connection_lost(self, error: Exception | None) -> None:
        """The run has ended, however it did: nobody is there to be told of what is under way."""
        del error
        os._exit(1)

    def _take(self, message: object) -> None:
        match message:
            case Begin():
                self._begin.set_result(message)
            case Deal():
                self._deal(message)
            case Pause(endpoint, seconds, is_refusal):
                self._judges.pause(endpoint, seconds, is_refusal=is_refusal)
            case Finish():
                self._over.set()

    async def _grade_all(self) -> None:
        plan = (await self._begin).plan
        self._graders = {grader.name: grader for grader in plan.graders}
        async with AsyncExitStack() as stack:
            self._judges = RunJudges(plan, stack, on_pause=self._tell_of_pause)
            judge = await self._judges.open()
            self._session = AsyncGradingSession(plan, self._judges, judge)
            stack.enter_context(settled_heap())
            waits = asyncio.create_task(self._tell_of_waits())
            self._send(Ready())
            await self._over.wait()
            waits.cancel()

    def _deal(self, deal: Deal) -> None:
        graders = [self._graders[name] for name in deal.graders]
        for grader, member in zip(graders, self._session.together(graders), strict=True):
            task = asyncio.create_task(self._grade(deal, grader, member))
            self._gradings.add(task)
            task.add_done_callback(self._gradings.discard)

    async def _grade(self, deal: Deal, grader: Grader[Any], member: RowMember | None) -> None:
        try:
            outcome = await self._session.grade_row(deal.row, grader, member)
        except Exception as error:  # noqa: BLE001 - ends the run, as without workers
            self._send(Broken(sendable(error)))
            return
        if (models := self._session.models_without_temperature) != self._told:
            self._told = models
            self._send(WithoutTemperature(models))
        self._tell_end(deal.number, outcome)

    def _tell_end(self, number: int, outcome: Outcome) -> None:
        begin = self._begin.result()
        line = outcome.to_line() if begin.lines else None
        if not begin.results:
            outcome = replace(outcome, result=None, findings=())
        if not self._ended:
            asyncio.get_running_loop().call_later(_SECONDS_TO_GATHER, self._send_ended)
        self._ended.append(packed(Graded(number, outcome, line)))
        # Sooner where little is left to do: until the run has sent more, nothing would be done.
        if len(self._ended) >= len(self._gradings) // 2:
            self._send_ended()

    def _send_ended(self) -> None:
        """Send the outcomes that ended since; each message wakes the run, which costs its share."""
        ended, self._ended = self._ended, []
        self._write(b"".join(ended))

    async def _note_moves(self) -> None:
        while not await asyncio.sleep(beat_seconds(), False):
            self._beats.moved()

    async def _tell_of_waits(self) -> None:
        while not await asyncio.sleep(1, False):
            if self._session.waiting_seconds >= 1:
                self._send(Waiting(self._session.waiting_seconds))

    def _tell_of_pause(self, endpoint: str, seconds: float | None, is_refusal: bool) -> None:
        self._send(Pause(endpoint, seconds, is_refusal))

    def _send(self, message: FromWorker) -> None:
        self._send_ended()
        self._write(packed(message))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            # A beat comes from another thread, and must not come between two parts of a message.
            with self._writing:
                while left:
                    left = left[os.write(self._outgoing, left) :]
        except BrokenPipeError:
            os._exit(1)


def _not_read(error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"a worker cannot read what it is to grade with ({type(error).__name__}: "
        f"{one_line(str(error))}); make it of what a module has, or grade without workers"
    )
