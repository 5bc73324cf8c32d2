"""How do our own clients send requests? With the official SDK, over aiohttp, with our retries.

Async ones travel on aiohttp: its pool costs the same at any concurrency, where httpx scans all its
connections for each request. Posting a body skips the SDK's walk over every message. Proxies and
the time-out of one try are the SDK's; retries are ours, because only we know the whole run.
"""

import inspect
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from rag_evals.judge.chat import ChatReply, read_reply
from rag_evals.judge.post import DirectPost, Posted
from rag_evals.judge.providers import OPENAI_HOSTS, Endpoint
from rag_evals.judge.replies import missing_message
from rag_evals.judge.request_retries import TRANSPORT_RETRIES
from rag_evals.judge.sending import repeating, repeating_async, seconds_for_one_try
from rag_evals.judge.wire import async_http_client, http_client

if TYPE_CHECKING:
    from instructor import AsyncInstructor, Instructor

    from rag_evals.judge.direct import Post
    from rag_evals.judge.limits import RequestLimiter

T = TypeVar("T")
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
        response = sdk.post(_PATH, cast_to=Response, content=content, options=options)
        return _completion(response.content)

    asked = _responses(sdk, endpoint.model) if endpoint.provider == RESPONSES else send
    made: Instructor = _instructor(sdk, repeating(asked), endpoint.provider)
    return made


def build_async_openai(
    endpoint: Endpoint, *, reply_seconds: float, limiter: "RequestLimiter | None"
) -> "tuple[AsyncInstructor, Post | None]":
    """Make an async instructor client for an OpenAI-compatible host, and what posts without it.

    Args:
        endpoint: Where it is, and the model to ask where a call names none.
        reply_seconds: Time-out of one try.
        limiter: What each request passes and each response teaches; None for a single grading.

    Returns:
        The client, and what sends a request body past it; None for OpenAI's other interface.

    Raises:
        openai.OpenAIError: There is no key.
    """
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - loaded by now

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    is_azure = endpoint.provider == "azure_openai"
    kind: Any = openai.AsyncAzureOpenAI if is_azure else openai.AsyncOpenAI
    http: Any = async_http_client(timeout)
    sdk = kind(timeout=timeout, max_retries=TRANSPORT_RETRIES, http_client=http, **_where(endpoint))
    options: Any = {"max_retries": 0}

    async def by_sdk(content: bytes) -> Posted:
        response = await sdk.post(_PATH, cast_to=Response, content=content, options=options)
        return Posted(response.status_code, response.headers.raw, response.content)

    async def send(body: dict[str, Any]) -> Any:
        posted = await by_sdk(_packed(body, endpoint.model))
        _teach(limiter, posted)
        return _completion(posted.content)

    async def send_past(body: dict[str, Any]) -> ChatReply:
        content = _packed(body, endpoint.model)
        posted = await direct.post(content) or await by_sdk(content)
        _teach(limiter, posted)
        return usable(read_reply(posted.content))

    direct = DirectPost(sdk, _PATH, connect_seconds=CONNECT_SECONDS, reply_seconds=reply_seconds)
    http.closes_with(direct.close)
    is_responses = endpoint.provider == RESPONSES
    asked = _responses(sdk, endpoint.model) if is_responses else send
    create = repeating_async(asked, limiter, teaches=not is_responses)
    made: AsyncInstructor = _instructor(sdk, create, endpoint.provider)
    past = None if is_responses else repeating_async(send_past, limiter, teaches=True)
    return made, past


def client_for_files(endpoint: Endpoint) -> Any:
    """Make the SDK's client for what is no chat: files and batches; its endpoint has a key."""
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    where = _where(endpoint)
    kind: Any = openai.OpenAI
    if endpoint.provider == "azure_openai":
        kind = openai.AzureOpenAI
        # Files belong to no deployment.
        del where["azure_deployment"]
    return kind(max_retries=TRANSPORT_RETRIES, **where)


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


def _teach(limiter: "RequestLimiter | None", posted: Posted) -> None:
    if limiter is not None:
        limiter.after_response(posted.status, _limit_headers(posted.headers))


def _limit_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Pick the headers that a limiter reads; looking each up by name would decode all of them."""
    lowered = ((name.lower(), value) for name, value in raw)
    return {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in lowered
        if name.startswith((b"x-ratelimit-", b"retry-after"))
    }


def _completion(content: bytes) -> Any:
    """Read the body of a reply, as the SDK does.

    Raises:
        JudgeUnavailableError: It is none, whatever its status says.
    """
    from openai.types.chat import ChatCompletion  # noqa: PLC0415 - loaded by now

    completion: Any
    try:
        completion = ChatCompletion.model_validate_json(content)
    except ValidationError:
        # Some hosts leave fields out; the SDK's own way takes what is there.
        completion = ChatCompletion.construct(**read_reply(content))
    return usable(completion)


def usable(reply: T) -> T:
    """Return a reply that a judge has given.

    Raises:
        JudgeUnavailableError: It is none.
    """
    if (missing := missing_message(reply)) is not None:
        raise missing
    return reply
