"""Which text is meant? A question or an answer as text, whatever the library that made it wraps."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evals.errors import DataError
from rag_evals.text import lone_surrogate

_MOST_SHOWN = 60
_NAMES = ("content", "response", "output_text", "output", "answer", "result", "data", "text")


def required_text(value: object, place: str) -> str:
    """Return a text as it is.

    Args:
        value: What should be one.
        place: What the caller calls it; it opens the message.

    Raises:
        DataError: It is none, or holds a lone surrogate.
    """
    if not isinstance(value, str):
        raise DataError(f"{place} is {shown(value)}; expected text")
    offset = lone_surrogate(value)
    if offset is not None:
        raise DataError(
            f"{place} has a lone surrogate {value[offset]!a} at character {offset}; "
            "it cannot be sent as UTF-8"
        )
    return value


def text_of(value: object, place: str) -> str:
    """Return the text of a reply in the form of the library that made it.

    Texts, messages (`AIMessage`, `ChatMessage`, a mapping with `content`, one with a list of
    parts), LlamaIndex's `Response`, OpenAI's `ChatCompletion` and `Response`, pydantic-ai's
    `AgentRunResult`, Haystack's `GeneratedAnswer`, and a list of one of them.

    Args:
        value: What should have one.
        place: What the caller calls it; it opens the message.

    Raises:
        DataError: It has none, or more than one.
    """
    if isinstance(value, str):
        return required_text(value, place)
    found = _inner_text(value, levels=4)
    if found is None:
        raise DataError(f"{place} is {shown(value)}; expected text")
    return required_text(found, place)


def shown(value: object) -> str:
    """Name a value and its type in a message, shortened."""
    written = ascii(value)
    cut = written if len(written) <= _MOST_SHOWN else written[: _MOST_SHOWN - 3] + "..."
    return f"{cut} ({type(value).__name__})"


def field_of(thing: Any, name: str) -> Any:
    """Return a field of a mapping or an object of any library; None where it has none.

    Args:
        thing: The mapping or object.
        name: Key or attribute.
    """
    if isinstance(thing, Mapping):
        return thing.get(name)
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - a property may raise anything; then it has no text
        return None


def _inner_text(value: Any, *, levels: int) -> str | None:
    if isinstance(value, str):
        return value
    if value is None or levels == 0:
        return None
    if isinstance(value, Sequence):
        return _of_list(value, levels=levels)
    choices = field_of(value, "choices")
    if isinstance(choices, Sequence) and len(choices) == 1:
        message = field_of(choices[0], "message")
        if message is not None and field_of(message, "content") is None:
            return ""  # a message of tool calls only, which answers nothing
        return _inner_text(message, levels=levels - 1)
    for name in _NAMES:
        inner = field_of(value, name)
        if inner is not None and not callable(inner):
            return _inner_text(inner, levels=levels - 1)
    return None


def _of_list(values: Sequence[Any], *, levels: int) -> str | None:
    """Join the text parts of one message, or take the only reply of a list."""
    kinds = [field_of(one, "type") for one in values]
    if values and all(isinstance(kind, str) for kind in kinds):
        parts = [
            _inner_text(one, levels=levels - 1)
            for one, kind in zip(values, kinds, strict=True)
            if kind in ("text", "output_text")
        ]
        return None if None in parts else "".join(part for part in parts if part)
    return _inner_text(values[0], levels=levels - 1) if len(values) == 1 else None
