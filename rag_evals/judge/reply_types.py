"""Are the classes that an SDK reads replies with ready before threads use them?

openai and anthropic leave a class unbuilt until its first reply. Pydantic before 2.13 builds it in
place: a second thread that reads a reply meanwhile finds it half built, and a row ends with
"BaseModel cannot be instantiated directly".
"""

import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

from pydantic import BaseModel

_CHAT = ("openai.types.chat", "ChatCompletion")
_RESPONSES = ("openai.types.responses", "Response")
_MESSAGES = ("anthropic.types", "Message")

_lock = threading.Lock()
_built: set[type[BaseModel]] = set()


def build_reply_types(client: Any) -> None:
    """Build the classes of a sync client's replies, once; threads wait for the first that asks.

    Args:
        client: An instructor client. Nothing is done for an SDK that is neither openai nor
            anthropic: their classes are built with their modules.
    """
    sdk = type(getattr(client, "client", None)).__module__.partition(".")[0]
    if sdk == "anthropic":
        module, name = _MESSAGES
    elif sdk == "openai":
        module, name = _RESPONSES if "RESPONSES" in client.mode.name else _CHAT
    else:
        return
    reply = getattr(import_module(module), name)
    with _lock:
        _build(reply)


def _build(model: type[BaseModel]) -> None:
    if model in _built:
        return
    _built.add(model)
    model.model_rebuild()
    for field in model.model_fields.values():
        for part in _models_in(field.annotation):
            _build(part)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
