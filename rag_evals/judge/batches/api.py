"""What can be done with the batches of an endpoint? Send one, ask for it, fetch its results.

What all ways of sending share stands here: a request is sent once, and where its reply was lost,
what was made of it is looked for.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TypeVar

from rag_evals.errors import JudgeUnavailableError, RagEvalsError, UnknownBatchError
from rag_evals.judge.address_name import address_name
from rag_evals.judge.batches.hosts import batch_host
from rag_evals.judge.batches.results import BatchState
from rag_evals.judge.failures import translate
from rag_evals.judge.replies import no_reply
from rag_evals.judge.request_retries import TRANSPORT_RETRIES
from rag_evals.judge.sdk_errors import read_fault

T = TypeVar("T")
NEWEST = 1000
"""So many of the newest files or batches are looked through for one that was made."""

_FIRST_WAIT_SECONDS = 0.5
_NOT_FOUND = 404
_SHOWN_CHARS = 80


class BatchApi(ABC):
    """The batches of one endpoint.

    Args:
        spec: A judge string, such as `openai/gpt-4o-mini`.
        sdk: A client of the provider's library.
        key: The key of the client, so that it stands in no message.
        address_name: What a user changes to have another address asked.
    """

    def __init__(self, spec: str, sdk: Any, *, key: str | None, address_name: str) -> None:
        self.host = batch_host(spec)
        self._sdk = sdk
        self._key = key
        self._address_name = address_name

    def close(self) -> None:
        """Close the connections."""
        self._sdk.close()

    def upload(self, path: Path, name: str, *, again: bool) -> str:
        """Upload a file of requests, once.

        Args:
            path: The file.
            name: What it is called there; no other file has it.
            again: It may be there already.

        Returns:
            The provider's name of it.
        """
        return self._certainly(
            lambda: self._upload(path, name), lambda: self._find_file(name), again=again
        )

    def create(self, path: Path, file_id: str, name: str, *, again: bool) -> BatchState:
        """Make a batch of an uploaded file, once; arguments as for `upload`."""
        return self._certainly(
            lambda: self._create(path, file_id, name),
            lambda: self._find_batch(path, file_id),
            again=again,
        )

    def state(self, batch: str) -> BatchState:
        """Ask where a batch stands.

        Raises:
            UnknownBatchError: There is no such batch for this key.
        """
        try:
            with self._translated(raw=_NOT_FOUND):
                return self._retrieve(batch)
        except NotThere:
            raise UnknownBatchError(
                f"the endpoint has no batch {batch!r}: it was made with another key or at "
                f"another address ({self._address_name}), or was deleted there"
            ) from None

    def lines(self, batch: str, file: str) -> Iterator[bytes]:
        """Fetch the lines of a file of results.

        Raises:
            UnknownBatchError: The file is not there any more.
        """
        try:
            with self._translated(raw=_NOT_FOUND):
                yield from self._lines(batch, file)
        except NotThere:
            raise UnknownBatchError(
                f"the endpoint has the results of batch {batch!r} no more (file {file!r}): they "
                "were deleted there, or are too old"
            ) from None

    @abstractmethod
    def _upload(self, path: Path, name: str) -> str:
        """Send a file."""

    @abstractmethod
    def _find_file(self, name: str) -> str | None:
        """Look for a file that may have been sent."""

    @abstractmethod
    def _create(self, path: Path, file_id: str, name: str) -> BatchState:
        """Order a batch."""

    @abstractmethod
    def _find_batch(self, path: Path, file_id: str) -> BatchState | None:
        """Look for a batch that may have been ordered."""

    @abstractmethod
    def _retrieve(self, batch: str) -> BatchState:
        """Ask for a batch."""

    @abstractmethod
    def _lines(self, batch: str, file: str) -> Iterator[bytes]:
        """Fetch a file, line by line."""

    def _cut(self, response: Any) -> Iterator[bytes]:
        """Cut what comes into lines; only a line feed ends one, whatever letters a reply has."""
        rest = b""
        for piece in response.iter_bytes():
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        if rest:
            yield rest

    @property
    def _once(self) -> Any:
        """The client that sends a request once: what it repeats could be paid twice."""
        return self._sdk.with_options(max_retries=0)

    def _certainly(self, send: Callable[[], T], find: Callable[[], T | None], *, again: bool) -> T:
        """Send what must be sent once; where its reply was lost, find what was made of it."""
        for tries_left in reversed(range(TRANSPORT_RETRIES)):
            with self._translated():
                if again and (found := find()) is not None:
                    return found
            try:
                with self._translated():
                    return send()
            except JudgeUnavailableError:
                if not tries_left:
                    raise
                again = True
                time.sleep(_FIRST_WAIT_SECONDS * (TRANSPORT_RETRIES - 1 - tries_left))
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _translated(self, *, raw: int | None = None) -> Iterator[None]:
        """Raise what the library raises as one of our errors, one status as `NotThere`."""
        named = address_name.set(self._address_name)
        try:
            yield
        except (RagEvalsError, NotThere):
            raise
        except JSONDecodeError as error:
            raise no_reply(error.doc) from None
        # Also what the library below it raises, in the middle of a file.
        except Exception as error:  # noqa: BLE001 - whatever it is, a user reads one line
            if raw is not None and read_fault(error).status == raw:
                raise NotThere from None
            raise translate(error, attempts=1, key=self._key) from None
        finally:
            address_name.reset(named)


def identified(found: Any) -> Any:
    """Return a file or a batch that an endpoint told of.

    Raises:
        JudgeUnavailableError: What came is none, such as a page of a proxy.
    """
    if not getattr(found, "id", None):
        said = " ".join(str(found).split())[:_SHOWN_CHARS]
        raise JudgeUnavailableError(f"the endpoint answered with no file and no batch: {said!r}")
    return found


class NotThere(Exception):  # noqa: N818 - a turn in the flow, which nobody outside sees
    """The endpoint does not have what was asked for."""
