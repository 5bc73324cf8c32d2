"""How does a run talk to a worker process? By pipes: messages go in, messages come out."""

import asyncio
import signal
import subprocess
from collections.abc import Callable

from rag_evals.run.worker_beats import Silence
from rag_evals.run.worker_messages import FromWorker, Unpacker
from rag_evals.run.workers_begun import begun_worker


class WorkerProcess(asyncio.Protocol):
    """One worker process, and the pipes to it.

    Attributes:
        ended: When it has ended, and all that it sent was taken.
        silent_seconds: How long it had said nothing when it was killed for that; None otherwise.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        take: Callable[[FromWorker], None],
        ended: Callable[["WorkerProcess"], None],
    ) -> None:
        self._process = process
        self._take = take
        self._has_ended = ended
        self._unpacker = Unpacker()
        self._silence = Silence()
        self.silent_seconds: float | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting: asyncio.Future[None]
        self._input: asyncio.WriteTransport

    async def connect(self) -> None:
        """Take the pipes."""
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        await loop.connect_read_pipe(lambda: self, self._process.stdout)

    def data_received(self, data: bytes) -> None:
        """Take what the worker sends."""
        self._silence.heard()
        for message in self._unpacker.messages(data):
            self._take(message)

    def connection_lost(self, error: Exception | None) -> None:
        """The process is ending, and all that it sent was taken."""
        del error
        if not self._input.is_closing():
            self._input.abort()
        self._waiting = asyncio.ensure_future(self._wait())

    async def _wait(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._process.wait)
        self.ended.set_result(None)
        self._has_ended(self)

    def send(self, data: bytes) -> None:
        """Send bytes; to a process that has ended, nothing is sent."""
        if not self._input.is_closing():
            self._input.write(data)

    def end(self) -> None:
        """Kill the process, if it has not ended."""
        self._process.kill()

    def look(self) -> None:
        """Kill the process if it has said nothing for too long; once every `beat_seconds()`."""
        if self.silent_seconds is None and (seconds := self._silence.look()) is not None:
            self.silent_seconds = seconds
            self.end()

    def how_it_ended(self) -> str:
        """Say it in words."""
        if self.silent_seconds is not None:
            seconds = f"{self.silent_seconds:g} s"
            return f"(process {self._process.pid}) said nothing for {seconds} and was ended"
        code = self._process.returncode
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended by itself, with exit code {code}"


async def start_process(
    take: Callable[[FromWorker], None], ended: Callable[[WorkerProcess], None]
) -> WorkerProcess:
    """Start a worker, or take one that `workers_begun` has started.

    Args:
        take: Is given each message of the worker.
        ended: Is called once the process has ended.
    """
    process = WorkerProcess(begun_worker(), take, ended)
    await process.connect()
    return process
