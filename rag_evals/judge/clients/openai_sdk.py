"""How are clients for OpenAI-compatible hosts made? With the official SDK, its own retries off.

Async ones travel on aiohttp: its pool costs the same at any concurrency, where httpx scans all its
connections for each request. Proxies and the time-out of one try are the SDK's; retries are ours,
because only we know the whole run.
"""

import os
from functools import partial
from typing import Any

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
from rag_evals.judge.wire.sending import ClientUse

RESPONSES = "openai-responses"
AZURE_API_VERSION = "2024-10-21"
"""The oldest one that takes schemas of replies; `OPENAI_API_VERSION` names another."""


def build_openai(endpoint: Endpoint, use: ClientUse) -> tuple[Any, Post | None]:
    """Make an instructor client for an OpenAI-compatible host, and what posts without it.

    Args:
        endpoint: Where it is, and the model to ask where a call names none.
        use: How it is used.

    Returns:
        The client; and what sends a request body past it, of an async client: then the client
        only names address, mode and key. None where the client asks: a sync one, and OpenAI's
        other interface.

    Raises:
        openai.OpenAIError: There is no key.
    """
    import instructor  # noqa: PLC0415 - loads its runtime

    sdk = _sdk(endpoint, use)
    mode = instructor.Mode[OPENAI_HOSTS[endpoint.provider].mode]
    kind: Any = instructor.AsyncInstructor if use.asynchronous else instructor.Instructor
    if use.asynchronous and endpoint.provider != RESPONSES:
        direct = DirectPost(
            sdk, reply_seconds=use.seconds, model=endpoint.model, limiter=use.limiter
        )
        sdk._client.closes_with(direct.close)
        post = use.repeating(direct.send, teaches=True)
        return kind(client=sdk, create=post, mode=mode), post
    ask = _ask_responses if endpoint.provider == RESPONSES else _ask_chat
    create = use.repeating(partial(ask, sdk, endpoint.model, use))
    return kind(client=sdk, create=instructor.patch(create=create, mode=mode), mode=mode), None


def _ask_chat(sdk: Any, model: str, use: ClientUse, body: dict[str, Any]) -> Any:
    from httpx2 import Response, Timeout  # noqa: PLC0415 - loaded by now

    content, one_try = packed(body, model), Timeout(use.one_try(), connect=CONNECT_SECONDS)
    options = {"timeout": one_try}
    reply = sdk.post(CHAT_PATH, cast_to=Response, content=content, options=options)
    return _completion(reply.content)


def _ask_responses(sdk: Any, model: str, use: ClientUse, body: dict[str, Any]) -> Any:
    """Ask OpenAI's other interface; awaited where the client is async."""
    asked = {"model": model, **body}
    # What this interface calls the messages.
    messages = asked.pop("messages", None)
    return sdk.responses.create(**asked if messages is None else {**asked, "input": messages})


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


# An SDK's client is of one of four kinds.
def _sdk(endpoint: Endpoint, use: ClientUse) -> Any:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    timeout = openai.Timeout(use.seconds, connect=CONNECT_SECONDS)
    http: Any = async_http_client(timeout) if use.asynchronous else http_client(timeout)
    name = "AzureOpenAI" if endpoint.provider == "azure_openai" else "OpenAI"
    kind: Any = getattr(openai, f"Async{name}" if use.asynchronous else name)
    return kind(timeout=timeout, max_retries=0, http_client=http, **_where(endpoint))


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
