"""How do our own clients send requests? With the official SDK, over aiohttp, with our retries.

Async ones travel on aiohttp: its pool costs the same at any concurrency, where httpx scans all its
connections for each request. Posting a body skips the SDK's walk over every message. Proxies and
the time-out of one try are the SDK's; retries are ours, because only we know the whole run.
"""

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from rag_evals.errors import JudgeUnavailableError
from rag_evals.judge.deadline import row_clock_stopped
from rag_evals.judge.exchange import current_exchange
from rag_evals.judge.providers import Endpoint
from rag_evals.judge.replies import fault_of, no_reply
from rag_evals.judge.request_retries import TRANSPORT_RETRIES, RequestRetries
from rag_evals.judge.wait_headers import DEFAULT_MAX_WAIT_SECONDS
from rag_evals.judge.wire import async_http_client, http_client

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor

    from rag_evals.judge.limits import RequestLimiter

CONNECT_SECONDS = 5.0
RESPONSES = "openai-responses"
AZURE_API_VERSION = "2024-10-21"
"""The oldest one that takes schemas of replies; `OPENAI_API_VERSION` names another."""
_PATH = "/chat/completions"


def build_openai(endpoint: Endpoint, *, reply_seconds: float) -> "Instructor":
    """Make a sync instructor client for an OpenAI-compatible host; as `build_async_openai`."""
    import instructor  # noqa: PLC0415 - loads its runtime
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - as above

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    kind: Any = openai.AzureOpenAI if endpoint.provider == "azure_openai" else openai.OpenAI
    sdk = kind(
        timeout=timeout,
        max_retries=TRANSPORT_RETRIES,
        http_client=http_client(timeout),
        **_where(endpoint),
    )
    if endpoint.provider == RESPONSES:
        return instructor.from_openai(sdk, mode=instructor.Mode.RESPONSES_TOOLS)  # type: ignore[no-any-return]  # sdk is of two kinds

    def create(**body: Any) -> Any:
        content = _packed(body, endpoint.model)
        retries = _retries_of(None)
        while True:
            _count_request()
            one_try = min(reply_seconds, max(1.0, _seconds_left()))
            options: Any = {"max_retries": 0, "timeout": openai.Timeout(one_try, connect=5.0)}
            try:
                return _completion(
                    sdk.post(_PATH, cast_to=Response, content=content, options=options)
                )
            except Exception as error:  # noqa: BLE001 - raised again where there is no next try
                time.sleep(retries.seconds_before_next(error))

    mode = instructor.Mode.JSON_SCHEMA
    return instructor.Instructor(
        client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode
    )


def build_async_openai(
    endpoint: Endpoint, *, reply_seconds: float, limiter: "RequestLimiter | None"
) -> "AsyncInstructor":
    """Make an async instructor client for an OpenAI-compatible host.

    Args:
        endpoint: Where it is, and the model to ask where a call names none.
        reply_seconds: Time-out of one try.
        limiter: What each request passes and each response teaches; None for a single grading.

    Raises:
        openai.OpenAIError: There is no key.
    """
    import asyncio  # noqa: PLC0415 - 20 ms that a program without a loop need not spend

    import instructor  # noqa: PLC0415 - loads its runtime
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - as above

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    is_azure = endpoint.provider == "azure_openai"
    kind: Any = openai.AsyncAzureOpenAI if is_azure else openai.AsyncOpenAI
    sdk = kind(
        timeout=timeout,
        max_retries=TRANSPORT_RETRIES,
        http_client=async_http_client(timeout),
        **_where(endpoint),
    )
    if endpoint.provider == RESPONSES:
        return instructor.from_openai(sdk, mode=instructor.Mode.RESPONSES_TOOLS)  # type: ignore[no-any-return]  # sdk is of two kinds

    async def create(**body: Any) -> Any:
        content = _packed(body, endpoint.model)
        retries = _retries_of(limiter)
        while True:
            await _pass(limiter, is_retry=_count_request())
            try:
                response = await sdk.post(
                    _PATH, cast_to=Response, content=content, options={"max_retries": 0}
                )
                _teach(limiter, response)
                return _completion(response)
            except Exception as error:  # noqa: BLE001 - raised again where there is no next try
                _teach(limiter, getattr(error, "response", None))
                await asyncio.sleep(retries.seconds_before_next(error))

    mode = instructor.Mode.JSON_SCHEMA
    return instructor.AsyncInstructor(
        client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode
    )


def _where(endpoint: Endpoint) -> dict[str, Any]:
    """Return the arguments of an SDK client that say where it asks, and with which key."""
    if endpoint.provider != "azure_openai":
        return {"base_url": endpoint.address, "api_key": endpoint.key}
    return {
        "azure_endpoint": endpoint.address,
        # Part of the path; else the SDK would look for it in a body that it cannot read.
        "azure_deployment": endpoint.model,
        "api_version": os.environ.get("OPENAI_API_VERSION") or AZURE_API_VERSION,
        "api_key": endpoint.key,
    }


def _packed(body: dict[str, Any], model: str) -> bytes:
    body |= body.pop("extra_body", {})
    body.setdefault("model", model)
    return to_json(body)


def _retries_of(limiter: "RequestLimiter | None") -> RequestRetries:
    most_wait = _seconds_left if limiter is None else lambda: limiter.max_wait_seconds
    return RequestRetries(limiter, retries=TRANSPORT_RETRIES, most_wait=most_wait)


def _seconds_left() -> float:
    exchange = current_exchange.get()
    left = None if exchange is None else exchange.seconds_left
    return DEFAULT_MAX_WAIT_SECONDS if left is None else left


def _count_request() -> bool:
    exchange = current_exchange.get()
    return exchange is not None and exchange.count_request()


async def _pass(limiter: "RequestLimiter | None", *, is_retry: bool) -> None:
    """Let one request go; the time that the endpoint asked for is not the row's."""
    if limiter is None:
        return
    if limiter.is_paused:
        with row_clock_stopped():
            await limiter.before_request(is_retry=is_retry)
    else:
        await limiter.before_request(is_retry=is_retry)


def _teach(limiter: "RequestLimiter | None", response: Any) -> None:
    if limiter is not None and response is not None:
        limiter.after_response(response.status_code, _limit_headers(response.headers.raw))


def _limit_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Pick the headers that a limiter reads; looking each up by name would decode all of them."""
    lowered = ((name.lower(), value) for name, value in raw)
    return {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in lowered
        if name.startswith((b"x-ratelimit-", b"retry-after"))
    }


def _completion(response: Any) -> Any:
    """Read the body of a reply.

    Raises:
        JudgeUnavailableError: It is none, whatever its status says.
    """
    from openai.types.chat import ChatCompletion  # noqa: PLC0415 - loaded by now

    completion: Any
    try:
        completion = ChatCompletion.model_validate_json(response.content)
    except ValidationError:
        try:
            found = from_json(response.content)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise no_reply(response.content) from None
        # Some hosts leave fields out; the SDK's own way takes what is there.
        completion = ChatCompletion.construct(**{"choices": None, **found})
    fault = fault_of(completion)
    if isinstance(fault, JudgeUnavailableError):
        raise fault
    return completion
