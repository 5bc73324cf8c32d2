"""How does a run talk to a worker process? By pipes: messages go in, messages come out."""

import asyncio
import signal
import sys
from collections.abc import Callable

from rag_evals.run.worker_beats import Silence
from rag_evals.run.worker_messages import FromWorker, Unpacker


class WorkerProcess(asyncio.SubprocessProtocol):
    """One worker process, and the pipes to it.

    Attributes:
        ended: When it has ended.
        silent_seconds: How long it had said nothing when it was killed for that; None otherwise.
    """

    def __init__(
        self, take: Callable[[FromWorker], None], ended: Callable[["WorkerProcess"], None]
    ):
        self._take = take
        self._has_ended = ended
        self._unpacker = Unpacker()
        self._silence = Silence()
        self.silent_seconds: float | None = None
        self._transport: asyncio.SubprocessTransport
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the pipes."""
        assert isinstance(transport, asyncio.SubprocessTransport), "asyncio starts a process"
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Take what the worker sends."""
        del fd
        assert isinstance(data, bytes), "pipes are not text"
        self._silence.heard()
        for message in self._unpacker.messages(data):
            self._take(message)

    def connection_lost(self, error: Exception | None) -> None:
        """The process has ended, and all that it sent was taken."""
        del error
        self._transport.close()
        self.ended.set_result(None)
        self._has_ended(self)

    def send(self, data: bytes) -> None:
        """Send bytes; to a process that has ended, nothing is sent."""
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport), "standard input is a pipe"
        pipe.write(data)

    def end(self) -> None:
        """Kill the process, if it has not ended."""
        self._transport.close()

    def look(self) -> None:
        """Kill the process if it has said nothing for too long; once every `beat_seconds()`."""
        if (seconds := self._silence.look()) is not None:
            self.silent_seconds = seconds
            self.end()

    def how_it_ended(self) -> str:
        """Say it in words."""
        if self.silent_seconds is not None:
            process = self._transport.get_pid()
            return f"(process {process}) said nothing for {self.silent_seconds:g} s and was ended"
        code = self._transport.get_returncode()
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended by itself, with exit code {code}"


async def start_process(
    take: Callable[[FromWorker], None], ended: Callable[[WorkerProcess], None]
) -> WorkerProcess:
    """Start a worker.

    Args:
        take: Is given each message of the worker.
        ended: Is called once the process has ended.
    """
    # As the same Python with the same modules; never by running the user's script again.
    code = f"import sys; sys.path[:] = {sys.path!r}; from rag_evals.run.worker import main; main()"
    loop = asyncio.get_running_loop()
    _, process = await loop.subprocess_exec(
        lambda: WorkerProcess(take, ended), sys.executable, "-c", code, stderr=None
    )
    return process
