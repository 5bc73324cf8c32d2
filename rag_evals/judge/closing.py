"""How is a client closed? Each SDK has another way, and none may spoil work that is done."""

import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

_log = logging.getLogger(__name__)


# Clients of SDKs that may not be installed have no type here.
async def close_client(client: Any) -> None:
    """Close a client's connections; that this fails can cost nothing that was graded."""
    for close in _closers_of(getattr(client, "client", None)):
        try:
            ended = close()
            if inspect.isawaitable(ended):
                await ended
        except Exception as error:  # noqa: BLE001 - the work is done, and nobody can mend it
            _log.debug("closing %s failed: %r", client, error)


def _closers_of(sdk: Any) -> Iterator[Callable[[], Any]]:
    """Find what closes a provider's client: each SDK has another place for it."""
    # Gemini's client has an async half; Cohere's and Mistral's keep an HTTP client.
    places = (
        (sdk, "close"),
        (getattr(sdk, "aio", None), "aclose"),
        (_inside(sdk, "_client_wrapper.httpx_client.httpx_client"), "aclose"),
        (_inside(sdk, "sdk_configuration.client"), "close"),
        (_inside(sdk, "sdk_configuration.async_client"), "aclose"),
    )
    for owner, name in places:
        close = getattr(owner, name, None)
        if callable(close):
            yield close


def _inside(source: Any, path: str) -> Any:
    for name in path.split("."):
        source = getattr(source, name, None)
    return source
