"""What does a call look like on OpenAI's chat wire? Its body, its reply, and how it is asked again.

The same bytes that instructor sends, without its layers: a test compares the two for every call.
Nothing here sends anything, so that whatever carries calls uses it: a client, or a file of a batch.
"""

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from rag_evals.core import JudgeCall, TextReply
from rag_evals.judge.replies import no_reply
from rag_evals.judge.schema import prepared, strict_response_format

TOOLS = "TOOLS"
JSON_SCHEMA = "JSON_SCHEMA"

# In the order in which instructor writes them again.
_OF_A_TOOL_CALL = ("id", "function", "type")
_OF_A_FUNCTION = ("arguments", "name")


class ChatReply(dict[str, Any]):
    """An object in a reply; its fields can be read as attributes, as those of an SDK's reply."""

    def __getattr__(self, name: str) -> Any:
        """Return a field.

        Raises:
            AttributeError: It has none of that name.
        """
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def request_body(
    call: JudgeCall[Any], *, mode: str, strict: bool, model: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the request of a call.

    Args:
        call: What is asked.
        mode: `JSON_SCHEMA` or `TOOLS`.
        strict: Send the strict form of the schema, for hosts known to take it.
        model: Who is asked.
        settings: Such as `temperature`, in the words of the wire.
    """
    messages = [dict(message) for message in call.messages]
    body = {"messages": messages, **settings, "model": model}
    if call.reply_model is TextReply:
        return body
    asked: Any = prepared(call.reply_model, schema_only=True)  # type: ignore[arg-type]  # mypy: a class is hashable
    if mode == TOOLS:
        function = asked.openai_schema
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": function["name"]}}
        return body
    plain = {"name": asked.__name__, "schema": asked.model_json_schema()}
    closed = strict_response_format(call.reply_model) if strict else None  # type: ignore[arg-type]  # as above
    body["response_format"] = closed or {"type": "json_schema", "json_schema": plain}
    return body


def read_reply(content: bytes) -> ChatReply:
    """Read the body of a reply with status 200.

    Raises:
        JudgeUnavailableError: It is no object of JSON.
    """
    try:
        found = from_json(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise no_reply(content)
    reply: ChatReply = _with_attributes(found)
    reply.setdefault("choices", None)
    return reply


def answer_in(reply: ChatReply, mode: str) -> str:
    """Return the text in a reply that fills the response model.

    Raises:
        ResponseParsingError: There is none; it is asked again with these words.
        AssertionError: The model declined.
    """
    message = reply.choices[0].message
    if mode != TOOLS:
        return message.get("content") or ""
    if message.get("refusal") is not None:
        raise AssertionError(f"Unable to generate a response due to {message.refusal}")
    calls = message.get("tool_calls") or []
    called = calls[0].function if calls else message.get("function_call")
    if called is None:
        raise _unreadable("No tool calls or function call found in response", reply)
    arguments = called.get("arguments")
    if arguments is None:
        raise _unreadable("Tool call arguments missing in response", reply)
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def reask(mode: str, reply: ChatReply, fault: Exception) -> list[dict[str, Any]]:
    """Word what follows a reply that is not what was asked for: the reply itself, and its fault.

    Args:
        mode: As for `request_body`.
        reply: What came.
        fault: What is wrong with it; its words are sent.

    Returns:
        Messages to put behind those of the request.
    """
    message = reply.choices[0].message
    said = _said(message)
    if mode != TOOLS:
        wrong = f"Correct your JSON ONLY RESPONSE, based on the following errors:\n{fault}"
        return [said, {"role": "user", "content": wrong}]
    wrong = f"Validation Error found:\n{fault}\nRecall the function correctly, fix the errors"
    calls = message.get("tool_calls") or []
    return [
        said,
        *(
            {
                "role": "tool",
                "tool_call_id": call.get("id"),
                "name": call.function.get("name"),
                "content": wrong,
            }
            for call in calls
        ),
        *([] if calls else [{"role": "user", "content": wrong}]),
    ]


def _said(message: ChatReply) -> dict[str, Any]:
    """Write a message of the model as one of a request."""
    said = {"role": message.get("role", "assistant"), "content": message.get("content") or ""}
    if message.get("tool_calls") is not None:
        said["tool_calls"] = [
            _ordered(call | {"function": _ordered(call.function, _OF_A_FUNCTION)}, _OF_A_TOOL_CALL)
            for call in message.tool_calls
        ]
    if message.get("function_call") is not None:
        said["content"] += json.dumps(_ordered(message.function_call, _OF_A_FUNCTION))
    return said


def _ordered(fields: Mapping[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in first if name in fields} | dict(fields)


def _with_attributes(value: Any) -> Any:
    # Parsed JSON has no other containers; a call for each text and number would be felt in a run.
    if type(value) is dict:
        return ChatReply(
            {
                name: _with_attributes(inner) if type(inner) in (dict, list) else inner
                for name, inner in value.items()
            }
        )
    return [_with_attributes(inner) for inner in value] if type(value) is list else value


def _unreadable(what: str, reply: ChatReply) -> Exception:
    from instructor.core.exceptions import (  # noqa: PLC0415 - loads instructor's runtime
        ResponseParsingError,
    )

    return ResponseParsingError(what, mode=TOOLS, raw_response=reply)
