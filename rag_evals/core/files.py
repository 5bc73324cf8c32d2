"""Which files are read and written? Ordinary ones are read; what is written, its owner can read."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rag_evals.errors import ConfigurationError

MISSING = "does not exist"

_PRIVATE = 0o600


def fault_of(path: Path) -> str | None:
    """Say why a path cannot be read as a file; None for an ordinary file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return MISSING
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISDIR(mode):
        return "is a folder"
    if not stat.S_ISREG(mode):
        return "is a pipe or a device, which may never end; write what it gives into a file first"
    return None


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that only its owner can read, in a folder that is made where missing.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A pipe that nobody reads is an error, not an endless wait.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
        number = os.open(path, flags, _PRIVATE)
        os.set_blocking(number, True)
        with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
            yield file
    except OSError as error:
        raise ConfigurationError(f"{str(path)!r} cannot be written: {error.strerror}") from error
