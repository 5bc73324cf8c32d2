"""How do our own clients send requests? With the official SDK, over aiohttp, with our retries.

Async ones travel on aiohttp: its pool costs the same at any concurrency, where httpx scans all its
connections for each request. Posting a body skips the SDK's walk over every message. Proxies and
the time-out of one try are the SDK's; retries are ours, because only we know the whole run.
"""

import inspect
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from rag_evals.errors import JudgeUnavailableError
from rag_evals.judge.providers import OPENAI_HOSTS, Endpoint
from rag_evals.judge.replies import fault_of, no_reply
from rag_evals.judge.request_retries import TRANSPORT_RETRIES
from rag_evals.judge.sending import repeating, repeating_async, seconds_for_one_try
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
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - loaded by now

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    kind: Any = openai.AzureOpenAI if endpoint.provider == "azure_openai" else openai.OpenAI
    sdk = kind(
        timeout=timeout,
        max_retries=TRANSPORT_RETRIES,
        http_client=http_client(timeout),
        **_where(endpoint),
    )

    def send(body: dict[str, Any]) -> Any:
        one_try = openai.Timeout(seconds_for_one_try(reply_seconds), connect=CONNECT_SECONDS)
        options: Any = {"max_retries": 0, "timeout": one_try}
        content = _packed(body, endpoint.model)
        return _completion(sdk.post(_PATH, cast_to=Response, content=content, options=options))

    asked = _responses(sdk, endpoint.model) if endpoint.provider == RESPONSES else send
    made: Instructor = _instructor(sdk, repeating(asked), endpoint.provider)
    return made


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
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - loaded by now

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    is_azure = endpoint.provider == "azure_openai"
    kind: Any = openai.AsyncAzureOpenAI if is_azure else openai.AsyncOpenAI
    sdk = kind(
        timeout=timeout,
        max_retries=TRANSPORT_RETRIES,
        http_client=async_http_client(timeout),
        **_where(endpoint),
    )

    async def send(body: dict[str, Any]) -> Any:
        content = _packed(body, endpoint.model)
        options: Any = {"max_retries": 0}
        response = await sdk.post(_PATH, cast_to=Response, content=content, options=options)
        _teach(limiter, response)
        return _completion(response)

    is_responses = endpoint.provider == RESPONSES
    asked = _responses(sdk, endpoint.model) if is_responses else send
    create = repeating_async(asked, limiter, teaches=not is_responses)
    made: AsyncInstructor = _instructor(sdk, create, endpoint.provider)
    return made


# An SDK's client is of one of four kinds, and instructor's of two.
def _instructor(sdk: Any, create: Callable[..., Any], provider: str) -> Any:
    import instructor  # noqa: PLC0415 - loads its runtime

    mode = instructor.Mode[OPENAI_HOSTS[provider].mode]
    kind: Any = instructor.Instructor
    if inspect.iscoroutinefunction(create):
        kind = instructor.AsyncInstructor
    return kind(client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode)


def _responses(sdk: Any, model: str) -> Callable[[dict[str, Any]], Any]:
    """Return what asks OpenAI's other interface; awaited where the client is async."""
    responses = sdk.with_options(max_retries=0).responses
    return lambda body: responses.create(**_with_input({"model": model, **body}))


def _with_input(body: dict[str, Any]) -> dict[str, Any]:
    """Call the messages what this interface calls them."""
    messages = body.pop("messages", None)
    return body if messages is None else {**body, "input": messages}


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
