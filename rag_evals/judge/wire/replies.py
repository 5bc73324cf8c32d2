"""Is a response with status 200 a reply? It may be a proxy's page, an error, or empty.

And where is the JSON in a text? Local models put it into a code fence, after their thoughts, or
between words. It is read when only one object can be meant; else the judge is asked again. Or the
reply stopped early: each provider has its own place and its own word for it.
"""

import json
from typing import Any

from rag_evals.errors import (
    GradingError,
    JudgeOutputError,
    JudgeRefusedError,
    JudgeUnavailableError,
)
from rag_evals.judge.wire.failures import address_name

_OK = 200
_SHOWN_CHARS = 80
_THOUGHTS_END = "</think>"
_MOST_CALLS = 1
_ELSEWHERE = object()


def fault_of(response: object) -> GradingError | None:
    """Say what is wrong with a client's reply object, before it is read.

    Returns:
        None where it holds a message that did not stop early.
    """
    if (missing := missing_message(response)) is not None:
        return missing
    choices: Any = getattr(response, "choices", None)
    if choices is None:
        return early_stop(response)
    message = choices[0].message
    # LiteLLM keeps it with what it calls the provider's own fields.
    kept = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or kept.get("refusal")
    if refusal:
        return JudgeRefusedError(f"the judge refused: {refusal}")
    if getattr(choices[0], "finish_reason", None) == "content_filter":
        return JudgeRefusedError("the endpoint's content filter stopped the reply")
    return early_stop(response)


def missing_message(response: object) -> JudgeUnavailableError | None:
    """Say why a client's reply object holds no message, though its status was 200.

    Returns:
        None where it holds one, or is of a provider that keeps it elsewhere.
    """
    if response is None or isinstance(response, str | bytes):
        return no_reply(response or "")
    choices: Any = getattr(response, "choices", _ELSEWHERE)
    if choices is _ELSEWHERE:
        return None
    if not isinstance(choices, list) or not choices:
        return _no_choices(getattr(response, "error", None))
    if getattr(choices[0], "message", None) is None:
        return _no_choices(getattr(choices[0], "error", None))
    return None


def no_reply(body: str | bytes) -> JudgeUnavailableError:
    """Name a body that is no reply: what it is, and how it begins."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    start = " ".join(text[: 4 * _SHOWN_CHARS].split())
    if not start:
        return _unusable("nothing in it")
    kind = "an HTML page" if start.startswith("<") else "no reply of a model"
    shown = start if len(start) <= _SHOWN_CHARS else start[: _SHOWN_CHARS - 1] + "…"
    return _unusable(f"{kind} in it: {shown!r}")


def _no_choices(error: Any) -> JudgeUnavailableError:
    said = error.get("message") if isinstance(error, dict) else error
    return _unusable(f"an error in it: {said}" if said else "no choices in it")


def _unusable(what: str) -> JudgeUnavailableError:
    error = JudgeUnavailableError(
        f"the endpoint answered with status 200 and {what}; check the address "
        f"({address_name.get()})"
    )
    error.status = _OK
    return error


def one_object(text: str | bytes) -> str | None:
    """Find the JSON object in a text that holds exactly one, and no other brace.

    Args:
        text: What a model wrote; thoughts that end with `</think>` are left out.

    Returns:
        The object as it stands there; None where there is none, or more than one could be meant.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    before, end, after = text.partition(_THOUGHTS_END)
    said = after if end else before
    start = said.find("{")
    # A list around the object, or a piece of a broken one, is not the object that was asked for.
    if start < 0 or "[" in said[:start] or "}" in said[:start]:
        return None
    try:
        _, length = json.JSONDecoder().raw_decode(said[start:])
    except (ValueError, RecursionError):
        return None
    rest = said[start + length :]
    return None if "{" in rest or "}" in rest else said[start : start + length]


def complete_tool_call(message: Any) -> None:
    """Put the one JSON object of a message's text where a tool call was asked for and none came.

    Servers without tools answer with text, whatever `tool_choice` says.
    """
    text = getattr(message, "content", None)
    if getattr(message, "tool_calls", None) or getattr(message, "function_call", None):
        return
    found = one_object(text) if isinstance(text, str) else None
    if found is not None and isinstance(message, dict):
        message["function_call"] = type(message)(arguments=found, name="")
    elif found is not None:
        from openai.types.chat.chat_completion_message import (  # noqa: PLC0415 - 1.4 s of CPU
            FunctionCall,
        )

        message.function_call = FunctionCall(name="", arguments=found)


def differing_calls(message: Any) -> int:
    """Count the different tool calls of a message; instructor reads the first and no other."""
    calls = getattr(message, "tool_calls", None) or ()
    if len(calls) <= _MOST_CALLS:
        return len(calls)
    return len({getattr(call.function, "arguments", None) for call in calls})


_TOO_LONG = frozenset("length max_tokens max_output_tokens model_context_window_exceeded".split())
_REFUSED = frozenset(
    "refusal content_filter content_filtered guardrail_intervened error_toxic safety "
    "prohibited_content blocklist recitation spii".split()
)
_PLACES = (
    ("choices", 0, "finish_reason"),  # OpenAI, and those who speak as it does; Mistral
    ("stop_reason",),  # Anthropic
    ("stopReason",),  # Bedrock
    ("candidates", 0, "finish_reason"),  # Gemini
    ("prompt_feedback", "block_reason"),
    ("incomplete_details", "reason"),  # OpenAI's Responses
    ("finish_reason",),  # Cohere
)


# Replies of SDKs that may not be installed have no type here.
def early_stop(response: Any) -> GradingError | None:
    """Say why a reply stopped before its end; None where it did not."""
    for place in _PLACES:
        # Most places are of other providers; this is asked for every reply.
        if isinstance(response, dict) and place[0] not in response:
            continue
        word = _word(response, place)
        if word in _TOO_LONG:
            return JudgeOutputError(
                "the reply was cut off at the token limit; allow more output tokens"
            )
        if word in _REFUSED or (word and place[0] == "prompt_feedback"):
            return JudgeRefusedError(f"the provider stopped the reply: {word}")
    said = _refusal(response)
    return None if said is None else JudgeRefusedError(f"the judge refused: {said}")


def _word(source: Any, place: tuple[str | int, ...]) -> str:
    for name in place:
        if isinstance(name, int):
            source = source[name] if isinstance(source, list) and len(source) > name else None
        else:
            source = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        if source is None:
            return ""
    word = getattr(source, "value", source)
    return word.lower() if isinstance(word, str) else ""


def _refusal(response: Any) -> str | None:
    """Find the words of a refusal in the parts of a reply of OpenAI's Responses."""
    output = getattr(response, "output", None)
    for item in output if isinstance(output, list) else ():
        for part in getattr(item, "content", None) or ():
            if isinstance(getattr(part, "refusal", None), str):
                return str(part.refusal)
    return None
