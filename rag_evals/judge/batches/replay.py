"""How is a judge asked whose replies come in a file, hours later? As always, over what has come.

A flow runs against the replies that are there. The first request without one ends it with a
`PendingError`; once its reply has come, the flow runs again from its beginning, and gets further.
So what is asked, what is wrong with a reply, and how it is asked again are those of every call.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_core import from_json

from rag_evals.core import JudgeCall, JudgeReply, Meter, Usage, fingerprint
from rag_evals.errors import JudgeUnavailableError, PendingError
from rag_evals.judge.batches.api import batch_host
from rag_evals.judge.clients.build import endpoint_of, own_async_judge
from rag_evals.judge.pace import retry
from rag_evals.judge.pace.faults import read_fault
from rag_evals.judge.pace.limits import RequestLimiter
from rag_evals.judge.wire.ask import AskOptions, AsyncInstructorJudge
from rag_evals.judge.wire.direct import (
    AsyncDirectJudge,
    ChatReply,
    read_reply,
    status_error,
    usable,
)
from rag_evals.judge.wire.sending import Answered, ClientUse

_KEY_VERSION = 1
_OK = 200
_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of sending a request for the last time.

    Attributes:
        number: How often it was sent so far, from 1.
        reply: The body that came with status 200; None where none did.
        status: The status of HTTP of an error; None where the request was not worked off.
        fault: The body of an error, or why the request was not worked off.
    """

    number: int
    reply: str | None = None
    status: int | None = None
    fault: str = ""

    def read(self) -> ChatReply:
        """Return the reply.

        Raises:
            Exception: What a client would have raised.
        """
        return usable(read_reply(self.body().encode()))

    def body(self) -> str:
        """Return the body of the reply.

        Raises:
            Exception: As above.
        """
        if self.reply is not None:
            return self.reply
        if self.status is not None:
            raise status_error(self.status, self.fault.encode())
        raise JudgeUnavailableError(f"no reply after {self.number} batches: {self.fault}")

    def answered(self) -> Answered:
        """Return the reply, or the error, as the network would have brought it.

        Raises:
            JudgeUnavailableError: There is neither.
        """
        if self.status is not None:
            return Answered(self.status, self.fault.encode())
        return Answered(_OK, self.body().encode())


class ArrivedReplies(Protocol):
    """What has come so far."""

    def attempt(self, key: str) -> Attempt | None:
        """Return what came of a request; None for one that waits, or was never sent."""
        ...

    def is_paid_here(self, key: str) -> bool:
        """Say whether the grading that runs is the one that a request was sent for."""
        ...

    def note(self, missing: PendingError) -> None:
        """Take note of a request that has no reply yet."""
        ...


class BatchReplay:
    """Asks a judge of which only replies that have come are known; see `JudgeHost`.

    Args:
        judge: Knows how the endpoint is asked.
        spec: The judge string.
        answers: What has come.
    """

    def __init__(self, judge: AsyncInstructorJudge, spec: str, answers: ArrivedReplies) -> None:
        self._judge = judge
        self._spec = spec
        self._answers = answers

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers; None when nobody knows."""
        return self._judge.identity

    @property
    def models_without_temperature(self) -> Sequence[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return self._judge.models_without_temperature

    def check_settings(self, settings: Mapping[str, Any], model: str | None) -> None:
        """Refuse settings that the provider does not take."""
        self._judge.check_settings(settings, model)

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Read the replies to a call.

        Raises:
            PendingError: One has not come; it has the request.
            GradingError: No valid reply, as of any judge.
        """
        requests = _Requests(self._spec, self._answers, call.sample_index)
        used = Meter()
        token = _asked_now.set(requests)
        try:
            if isinstance(self._judge, AsyncDirectJudge):
                return await self._judge.posting(requests.post).ask(call, used)
            return await self._judge.ask(call, used)
        finally:
            _asked_now.reset(token)
            # Equal calls of several rows are sent once: one of the rows has paid.
            mine = requests.first is None or self._answers.is_paid_here(requests.first)
            counted = used.total if mine else Usage(cache_hits=1)
            meter.add(
                counted,
                endpoint=call.endpoint,
                model=call.model,
                answered_by=used.answered_by,
            )


class _Requests:
    """The requests of one call, in a run over what has come."""

    def __init__(self, spec: str, answers: ArrivedReplies, sample_index: int) -> None:
        self._spec = spec
        self._answers = answers
        self._sample_index = sample_index
        self.first: str | None = None

    async def post(self, **body: Any) -> ChatReply:
        """Answer a request of ours."""
        return self._arrived(body | body.pop("extra_body", {}), Attempt.read).read()

    async def answer(self, content: bytes) -> Answered:
        """Answer a request of a provider's own library."""
        return self._arrived(from_json(content), Attempt.body).answered()

    def _arrived(self, body: dict[str, Any], read: Callable[[Attempt], object]) -> Attempt:
        """Return what came of a request for good.

        Raises:
            PendingError: Nothing yet, or a fault that may pass.
        """
        key = fingerprint(_KEY_VERSION, endpoint_of(self._spec), body, self._sample_index)
        self.first = self.first or key
        found = self._answers.attempt(key)
        if found is None:
            raise _pending(self._spec, key, body)
        try:
            read(found)
        except Exception as error:  # noqa: BLE001 - whatever a client would have raised
            passes = isinstance(error, JudgeUnavailableError) or retry.may_pass(
                error, read_fault(error)
            )
            if passes and found.number <= retry.WAITS.retries:
                raise _pending(self._spec, key, body) from None
        return found


_asked_now: ContextVar[_Requests] = ContextVar("asked_now")


async def _answer(content: bytes) -> Answered:
    return await _asked_now.get().answer(content)


def _pending(spec: str, key: str, body: dict[str, Any]) -> PendingError:
    error = PendingError("the reply has not come yet")
    # A copy: re-asks go on with the same list of messages.
    error.endpoint, error.key, error.body = spec, key, dict(body)
    return error


@asynccontextmanager
async def batch_replay(
    spec: str, model: str | None, options: AskOptions, answers: ArrivedReplies
) -> AsyncIterator[BatchReplay]:
    """Make the host of a run by batches; arguments as for `batch_session`."""
    batch_host(spec)
    use = ClientUse(asynchronous=True, seconds=_SECONDS, limiter=RequestLimiter(1), answer=_answer)
    async with own_async_judge(spec, model, options, use) as judge:
        assert isinstance(judge, AsyncInstructorJudge), "hosts of batches are asked for text"
        yield BatchReplay(judge, spec, answers)
