"""How are clients for OpenAI-compatible hosts made? With the official SDK, its own retries off.

Async ones travel on aiohttp: its pool costs the same at any concurrency, where httpx scans all its
connections for each request. Proxies and the time-out of one try are the SDK's; retries are ours,
because only we know the whole run.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rag_evals.judge.clients.strings import OPENAI_HOSTS, Endpoint
from rag_evals.judge.wire.direct import (
    CHAT_PATH,
    CONNECT_SECONDS,
    DirectPost,
    Post,
    packed,
    read_reply,
    usable,
)
from rag_evals.judge.wire.http import async_http_client, http_client
from rag_evals.judge.wire.sending import repeating, repeating_async, seconds_for_one_try

if TYPE_CHECKING:
    from rag_evals.judge.pace.limits import RequestLimiter

RESPONSES = "openai-responses"
AZURE_API_VERSION = "2024-10-21"
"""The oldest one that takes schemas of replies; `OPENAI_API_VERSION` names another."""


def build_openai(endpoint: Endpoint, *, reply_seconds: float) -> Any:
    """Make a sync instructor client for an OpenAI-compatible host.

    Args:
        endpoint: Where it is, and the model to ask where a call names none.
        reply_seconds: Time-out of one try.

    Raises:
        openai.OpenAIError: There is no key.
    """
    import openai  # noqa: PLC0415 - 1.4 s of CPU
    from httpx2 import Response  # noqa: PLC0415 - loaded by now

    sdk = _sdk(endpoint, reply_seconds, asynchronous=False)

    def send(body: dict[str, Any]) -> Any:
        one_try = openai.Timeout(seconds_for_one_try(reply_seconds), connect=CONNECT_SECONDS)
        content = packed(body, endpoint.model)
        options = {"timeout": one_try}
        return _completion(
            sdk.post(CHAT_PATH, cast_to=Response, content=content, options=options).content
        )

    asked = _responses(sdk, endpoint.model) if endpoint.provider == RESPONSES else send
    return _patched(sdk, repeating(asked), endpoint.provider, asynchronous=False)


def build_async_openai(
    endpoint: Endpoint, *, reply_seconds: float, limiter: "RequestLimiter | None"
) -> tuple[Any, Post | None]:
    """Make an async instructor client for an OpenAI-compatible host, and what posts without it.

    Args:
        endpoint: As for `build_openai`, which raises as this does.
        reply_seconds: As above.
        limiter: What each request passes and each response teaches; None for a single grading.

    Returns:
        The client, which names address, mode and key; and what sends a request body past it: None
        for OpenAI's other interface, which the client asks.
    """
    import instructor  # noqa: PLC0415 - loads its runtime

    sdk = _sdk(endpoint, reply_seconds, asynchronous=True)
    if endpoint.provider == RESPONSES:
        create = repeating_async(_responses(sdk, endpoint.model), limiter)
        return _patched(sdk, create, endpoint.provider, asynchronous=True), None
    direct = DirectPost(sdk, reply_seconds=reply_seconds, model=endpoint.model, limiter=limiter)
    sdk._client.closes_with(direct.close)
    post = repeating_async(direct.send, limiter, teaches=True)
    mode = instructor.Mode[OPENAI_HOSTS[endpoint.provider].mode]
    return instructor.AsyncInstructor(client=sdk, create=post, mode=mode), post


def client_for_files(endpoint: Endpoint) -> Any:
    """Make the SDK's client for what is no chat: files and batches; its endpoint has a key."""
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    where = _where(endpoint)
    kind: Any = openai.OpenAI
    if endpoint.provider == "azure_openai":
        kind = openai.AzureOpenAI
        # Files belong to no deployment.
        del where["azure_deployment"]
    return kind(max_retries=0, **where)


# An SDK's client is of one of four kinds, and instructor's of two.
def _sdk(endpoint: Endpoint, reply_seconds: float, *, asynchronous: bool) -> Any:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    timeout = openai.Timeout(reply_seconds, connect=CONNECT_SECONDS)
    http: Any = async_http_client(timeout) if asynchronous else http_client(timeout)
    name = "AzureOpenAI" if endpoint.provider == "azure_openai" else "OpenAI"
    kind: Any = getattr(openai, f"Async{name}" if asynchronous else name)
    return kind(timeout=timeout, max_retries=0, http_client=http, **_where(endpoint))


def _patched(sdk: Any, create: Callable[..., Any], provider: str, *, asynchronous: bool) -> Any:
    import instructor  # noqa: PLC0415 - loads its runtime

    mode = instructor.Mode[OPENAI_HOSTS[provider].mode]
    kind: Any = instructor.AsyncInstructor if asynchronous else instructor.Instructor
    return kind(client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode)


def _responses(sdk: Any, model: str) -> Callable[[dict[str, Any]], Any]:
    """Return what asks OpenAI's other interface; awaited where the client is async."""
    return partial(_ask_responses, sdk.responses, model)


def _ask_responses(responses: Any, model: str, body: dict[str, Any]) -> Any:
    asked = {"model": model, **body}
    # What this interface calls the messages.
    messages = asked.pop("messages", None)
    return responses.create(**asked if messages is None else {**asked, "input": messages})


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
