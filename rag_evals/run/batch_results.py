"""How do results come into the table of a run? As a file in its folder, read once it is whole.

A file that breaks off or holds something else is fetched again, because each line that is lost is
a reply that is paid for, and would be paid for again.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rag_evals.errors import ConfigurationError, JudgeUnavailableError, UnknownBatchError
from rag_evals.judge import BatchApi, BatchResult, BatchState, read_result, seconds_before_poll
from rag_evals.run.batch_table import BatchPart, BatchTable
from rag_evals.run.lines import PRIVATE

Tell = Callable[[str], object]
"""Is told in a line where the batches stand."""

_TRIES = 3
_SHOWN_CHARS = 60


class _Held(NamedTuple):
    """What a file of results holds.

    Attributes:
        requests: Requests that it speaks of.
        replies: Those of them that have a reply.
        others: Lines that cannot be read.
        start: How the first of these begins, for a message.
    """

    requests: int
    replies: int
    others: int
    start: str


def take_file(table: BatchTable, part: BatchPart, tell: Tell) -> None:
    """Take what a program of the user's has written for a part; a file that is not there is none.

    Raises:
        ConfigurationError: Nothing in it is a result.
    """
    path = table.path_of(part.number, ".out")
    if not path.exists():
        return
    held = _held(path)
    if not held.requests:
        raise ConfigurationError(
            f"no line of {str(path)!r} is a result{held.start}; let `vllm run-batch` write it"
        )
    _take(table, part, path, "completed")
    tell(f"taken: {path}, {_words(held, part)}")


def take_batch(
    table: BatchTable, part: BatchPart, state: BatchState, api: BatchApi, tell: Tell
) -> None:
    """Take the results of a batch that has ended, all or nothing.

    Raises:
        UnknownBatchError: The endpoint has them no more.
        ConfigurationError: What is there is no results.
    """
    path = table.path_of(part.number, ".out")
    held = _fetched(api, state, path)
    if not held.requests and (held.others or state.replied):
        raise ConfigurationError(
            f"what the endpoint sent as the results of batch {state.name} holds none{held.start}; "
            f"nothing was taken: `rag-evals batch collect {table.folder.parent}` fetches it again"
        )
    _take(table, part, path, state.status)
    tell(f"taken: batch {state.name}, {state.status}, {_words(held, part)}")


def _fetched(api: BatchApi, state: BatchState, path: Path) -> _Held:
    for number in range(1, _TRIES + 1):
        is_last = number == _TRIES
        try:
            _write(path, (line for name in state.results for line in api.lines(state.name, name)))
        except JudgeUnavailableError:
            if is_last:
                raise
        else:
            held = _held(path)
            if is_last or not _is_short(held, state):
                return held
        time.sleep(seconds_before_poll(number))
    raise AssertionError("the last try returns or raises")


def _is_short(held: _Held, state: BatchState) -> bool:
    """Say whether replies seem to be lost; a provider counts what it worked off."""
    return bool(held.others) or held.requests < (state.replied or 0)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(line + b"\n" for line in lines)


def _held(path: Path) -> _Held:
    keys: set[str] = set()
    replied: set[str] = set()
    others, start = 0, ""
    with path.open("rb") as lines:
        for line in filter(None, map(bytes.strip, lines)):
            if (found := read_result(line)) is not None:
                (keys if found.reply is None else replied).add(found.key)
            else:
                shown = line[:_SHOWN_CHARS].decode("utf-8", "replace")
                start = start or f": {shown!r}"
                others += 1
    return _Held(len(keys | replied), len(replied), others, start)


def _take(table: BatchTable, part: BatchPart, path: Path, status: str) -> None:
    with path.open("rb") as lines:
        table.take(part, status, _results(lines))


def _results(lines: Iterable[bytes]) -> Iterator[BatchResult]:
    return (found for line in lines if (found := read_result(line)) is not None)


def _words(held: _Held, part: BatchPart) -> str:
    words = f"{min(held.replies, part.requests)} of {part.requests} requests have a reply"
    if not held.others:
        return words
    words += f", and {held.others} lines cannot be read"
    again = part.requests - held.requests
    return f"{words}; {again} requests are sent again, and paid for again" if again > 0 else words


def let_go(table: BatchTable, part: BatchPart, error: UnknownBatchError, tell: Tell) -> None:
    """Put the requests of a batch that is no more into the next one."""
    table.release(part, "unknown")
    tell(f"{error}; its {part.requests} requests are sent again, and paid for again")
