"""How do requests of our own async clients travel? The official SDK on aiohttp, posted and watched.

aiohttp's pool costs the same at any concurrency, where httpx scans all its connections for each
request; posting a body skips the SDK's walk over every message. Retries, `Retry-After`, time-outs
and proxies stay the SDK's.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import to_json

from rag_evals.judge.schema import current_exchange

if TYPE_CHECKING:
    from instructor import AsyncInstructor

    from rag_evals.judge.limits import Gate

CONNECT_SECONDS = 5.0
TRANSPORT_RETRIES = 4


def build_async_openai(
    model: str, *, reply_seconds: float, gate: "Gate | None"
) -> "AsyncInstructor":
    """Make an async instructor client for an OpenAI-compatible host.

    Args:
        model: Model to ask where a call names none.
        reply_seconds: Time-out of one try.
        gate: What each request passes and each response teaches; None for a single grading.

    Raises:
        openai.OpenAIError: There is no key.
    """
    import instructor  # noqa: PLC0415 - loads its runtime
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - as above
    from openai.types.chat import ChatCompletion  # noqa: PLC0415 - as above

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    sdk = openai.AsyncOpenAI(
        timeout=timeout,
        max_retries=TRANSPORT_RETRIES,
        http_client=openai.DefaultAioHttpClient(timeout=timeout, event_hooks=_hooks(gate)),
    )

    async def create(**body: Any) -> ChatCompletion:
        body |= body.pop("extra_body", {})
        body.setdefault("model", model)
        response = await sdk.post("/chat/completions", cast_to=Response, content=to_json(body))
        try:
            return ChatCompletion.model_validate_json(response.content)
        except ValidationError:
            # Some hosts leave fields out; the SDK's own way takes what is there.
            return ChatCompletion.construct(**response.json())

    mode = instructor.Mode.JSON_SCHEMA
    return instructor.AsyncInstructor(
        client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode
    )


def _limit_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Pick the headers that a gate reads; looking each up by name would decode all of them."""
    lowered = ((name.lower(), value) for name, value in raw)
    return {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in lowered
        if name.startswith((b"x-ratelimit-", b"retry-after"))
    }


def _hooks(gate: "Gate | None") -> dict[str, list[Any]]:
    """Watch every HTTP request: the SDK retries 429s without telling anyone."""

    async def before(_: Any) -> None:
        exchange = current_exchange.get()
        is_retry = exchange is not None and exchange.count_request()
        if gate is not None:
            await gate.before_request(is_retry=is_retry)

    async def after(response: Any) -> None:
        if gate is not None:
            gate.after_response(response.status_code, _limit_headers(response.headers.raw))

    return {"request": [before], "response": [after]}
