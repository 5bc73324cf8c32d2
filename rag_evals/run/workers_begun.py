"""When do worker processes begin? While their run is being planned: each needs a second for it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rag_evals.run.settings import processor_cores

_Begun = list["subprocess.Popen[bytes]"]

_begun: ContextVar[_Begun | None] = ContextVar("begun", default=None)


@contextmanager
def workers_begun(workers: object, client: object) -> Iterator[None]:
    """Begin processes for the workers of a run; those that it does not take end with the block.

    Args:
        workers: How many, as a user gave it; with 1, or what cannot be, none begins.
        client: The judge, as a user gave it; for an object none begins.
    """
    number = workers if isinstance(workers, int) and workers <= processor_cores() else 1
    if number <= 1 or not isinstance(client, str | None) or sys.platform == "win32":
        yield
        return
    begun = [_begin() for _ in range(number)]
    token = _begun.set(begun)
    try:
        yield
    finally:
        _begun.reset(token)
        for process in begun:
            with process:
                process.kill()


def begun_worker() -> "subprocess.Popen[bytes]":
    """Return a process that has begun, or begin one."""
    begun = _begun.get()
    return begun.pop() if begun else _begin()


def _begin() -> "subprocess.Popen[bytes]":
    # Ctrl-C on a terminal reaches all processes; the run decides what it means. The same Python
    # with the same modules begins; never by running the user's script again.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"sys.path[:] = {sys.path!r}; from rag_evals.run.worker import main; main()"
    )
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, bufsize=0)
