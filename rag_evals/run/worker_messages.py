"""What do a run and its worker processes say to each other? Pickled messages in a row."""

import copyreg
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields
from io import BytesIO
from operator import attrgetter
from types import FunctionType
from typing import Any, NamedTuple

from rag_evals.core import Chunk, Finding, Quote, Sample, Usage
from rag_evals.dataset import NumberedSample
from rag_evals.errors import ConfigurationError, RagEvalsError
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.text import one_line

_HEAD_BYTES = 8


class Begin(NamedTuple):
    """To a worker, first: what it grades with.

    Attributes:
        plan: The run.
        results: Outcomes are sent with their results and findings.
        lines: Outcomes are sent with their lines for the store.
    """

    plan: Plan
    results: bool
    lines: bool


class Deal(NamedTuple):
    """To a worker: grade a row with these graders."""

    number: int
    row: NumberedSample
    graders: tuple[str, ...]


class Pause(NamedTuple):
    """Both ways: an endpoint has asked for a pause; `is_refusal` where it refused a call."""

    endpoint: str
    seconds: float | None
    is_refusal: bool


class Finish(NamedTuple):
    """To a worker: all is graded."""


class Ready(NamedTuple):
    """From a worker: it can be given rows."""


class Graded(NamedTuple):
    """From a worker: how a grading of the row with this number ended, and its line if asked for."""

    number: int
    outcome: Outcome
    line: bytes | None


class Waiting(NamedTuple):
    """From a worker: for so long nobody there is let through to an endpoint."""

    seconds: float


class WithoutTemperature(NamedTuple):
    """From a worker: models that refused a temperature of 0."""

    models: list[str]


class Beat(NamedTuple):
    """From a worker: it works."""


class Broken(NamedTuple):
    """From a worker: the run cannot go on."""

    error: Exception


ToWorker = Begin | Deal | Pause | Finish
FromWorker = Ready | Graded | Pause | Waiting | WithoutTemperature | Beat | Broken


def packed(message: ToWorker | FromWorker) -> bytes:
    """Return the bytes of a message, their number before them."""
    buffer = BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _QUICK_WAYS
    pickler.dump(message)
    return _with_head(buffer.getvalue())


def packed_plan(plan: Plan, *, results: bool, lines: bool) -> bytes:
    """Return the bytes of the first message; arguments as for `Begin`.

    Raises:
        ConfigurationError: Part of the plan cannot be given to another process; it is named.
    """
    if not (plan.client is None or isinstance(plan.client, str)):
        raise ConfigurationError(
            f"each worker makes its own client, and {type(plan.client).__name__} is one already; "
            "name the judge by a string such as 'openai/gpt-4o-mini', or grade without workers"
        )
    for grader in plan.graders:
        try:
            _pickled(grader)
        except ConfigurationError as error:
            raise ConfigurationError(f"grader {grader.name!r}: {error}") from error
    return _with_head(_pickled(Begin(plan, results, lines)))


class Unpacker:
    """Makes messages of bytes as they come."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def messages(self, data: bytes) -> Iterator[Any]:
        """Take some bytes, and yield the messages that are whole now."""
        self._bytes += data
        begin = 0
        while len(self._bytes) >= begin + _HEAD_BYTES:
            body = begin + _HEAD_BYTES
            end = body + int.from_bytes(self._bytes[begin:body], "big")
            if len(self._bytes) < end:
                break
            yield pickle.loads(memoryview(self._bytes)[body:end].tobytes())
            begin = end
        del self._bytes[:begin]


def sendable(error: Exception) -> Exception:
    """Return an error that another process can read: itself for most."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever a user's exception does there
        return RagEvalsError(f"{type(error).__name__}: {one_line(str(error))}")
    return error


def _parts_of(kind: type[Any], make: Callable[..., Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Say what pickle stores of a dataclass: its values in a row, and what makes it of them."""
    values = attrgetter(*(field.name for field in fields(kind)))
    return lambda one: (make, values(one))


def _sample(*values: Any) -> Sample:
    """Make a sample of values that were checked when it was made first."""
    sample = object.__new__(Sample)
    for field, value in zip(fields(Sample), values, strict=True):
        object.__setattr__(sample, field.name, value)
    return sample


# Frozen dataclasses have a slow way through pickle; this one takes half the time for a row.
_QUICK_WAYS: dict[type[Any], Callable[[Any], Any]] = {
    **copyreg.dispatch_table,
    Sample: _parts_of(Sample, _sample),
    **{kind: _parts_of(kind, kind) for kind in (Chunk, Finding, Outcome, Quote, Usage)},
}


class _Pickler(pickle.Pickler):
    """Refuses what a worker could not find again."""

    def reducer_override(self, value: Any) -> Any:
        """Look at classes and functions, which are pickled as their names."""
        if isinstance(value, type | FunctionType) and value.__module__ == "__main__":
            raise ConfigurationError(
                f"{value.__qualname__} is defined in the script or notebook that was started, "
                "where a worker cannot import it; move it into a module of its own, or grade "
                "without workers"
            )
        return NotImplemented


def _pickled(value: object) -> bytes:
    buffer = BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    except ConfigurationError:
        raise
    except Exception as error:
        # PicklingError, TypeError, AttributeError: it depends on what the object holds.
        raise ConfigurationError(
            f"it cannot be given to a worker ({one_line(str(error))}); make it of what pickle can "
            "store, or grade without workers"
        ) from error
    return buffer.getvalue()


def _with_head(body: bytes) -> bytes:
    return len(body).to_bytes(_HEAD_BYTES, "big") + body
