"""What is known of a running call, and of each of its replies? Faults, tokens, and who answered.

Instructor's validators and the transport find the call in `current_exchange`. A response with
status 200 may be no reply: a proxy's page, an error, or empty; or it stopped early, for which each
provider has its own place and its own word. Local models put their JSON into a code fence, after
their thoughts, or between words: it is read when only one object can be meant.
"""

import json
import time
from contextvars import ContextVar
from dataclasses import replace
from json import JSONDecodeError
from typing import Any

from rag_evals.core import JudgeCall, Usage
from rag_evals.errors import (
    GradingError,
    JudgeOutputError,
    JudgeRefusedError,
    JudgeUnavailableError,
)
from rag_evals.judge.wire.failures import address_name
from rag_evals.text import shortened

_NOTHING = Usage()


class Exchange:
    """One call while it is being made: what was sent, and what came back so far.

    Attributes:
        call: What is asked.
        fault: What makes the last reply none that could be asked again, or None.
        requests: HTTP requests that were sent, where the transport is watched.
        usage: Sum over the replies so far; each is counted once, where instructor accumulates.
        answered_by: Models that the replies so far say they are from.
    """

    def __init__(
        self, call: JudgeCall[Any], *, mode: str, seconds: float | None, reasks: int
    ) -> None:
        self.call = call
        self._reasks = reasks
        self.fault: GradingError | None = None
        self.requests = 0
        self._is_answered = False
        self._calls_made = 1
        self._mode = mode
        self._ends_at = None if seconds is None else time.monotonic() + seconds
        self.usage = _NOTHING
        self.answered_by: dict[str, None] = {}

    def count_reply(self, response: Any, *, again: bool) -> None:
        """Count the tokens of one reply, and note which model says that it answered."""
        used = usage_of(response)
        if again:
            used = replace(used, reasks=1)
        self.usage = used if self.usage == _NOTHING else self.usage + used
        if (model := answering_model(response)) is not None:
            self.answered_by[model] = None

    def take_response(self, response: Any) -> None:
        """Take one reply before it is validated: its usage, and the faults of its form."""
        self.count_reply(response, again=self.usage.calls > 0)
        self._is_answered = True
        self.fault = fault_of(response)
        choices = getattr(response, "choices", None)
        if self.fault is not None or not choices:
            return
        if self._mode == "TOOLS":
            complete_tool_call(choices[0].message)
        self._calls_made = differing_calls(choices[0].message)

    def may_ask_again(self, error: BaseException) -> bool:
        """Say whether the judge can do better: what it sent was a reply."""
        if isinstance(error, JSONDecodeError) and not self._is_answered:
            # The client itself could not read the body.
            self.fault = no_reply(error.doc)
        self._is_answered = False
        return self.fault is None

    @property
    def is_last_attempt(self) -> bool:
        """True for a reply after which nothing is asked again."""
        return self.usage.reasks >= self._reasks

    def check_one_call(self) -> None:
        """Refuse a reply whose parts contradict each other: instructor would read the first.

        Raises:
            ResponseParsingError: It is asked again with these words.
        """
        if self._calls_made > 1:
            from instructor.core.exceptions import (  # noqa: PLC0415 - as above
                ResponseParsingError,
            )

            raise ResponseParsingError(
                f"{self._calls_made} different tool calls; make exactly one that holds everything",
                mode=self._mode,
                raw_response=None,
            )

    @property
    def seconds_left(self) -> float | None:
        """The row's remaining seconds; None without a limit."""
        return None if self._ends_at is None else self._ends_at - time.monotonic()

    def count_request(self) -> bool:
        """Count one HTTP request; True when it repeats one that failed."""
        self.requests += 1
        # Every reply, a re-ask among them, needs one request; what is more was sent again.
        is_retry = self.requests > self.usage.calls + self.usage.retries + 1
        if is_retry:
            self.usage = replace(self.usage, retries=self.usage.retries + 1)
        return is_retry


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
"""The exchange whose reply is being validated, in this thread or task."""


_LONGEST_NAME = 200


def answering_model(completion: object) -> str | None:
    """Return the model that a reply says it is from; None where it does not say.

    Providers move a name such as `gpt-4o-mini` to another model, and their replies name the new one
    (OpenAI `gpt-4o-mini-2024-07-18`). With it the fingerprint of the provider's system, if any.
    """
    model = _text_at(completion, "model") or _text_at(completion, "model_version")
    if model is None:
        return None
    system = _text_at(completion, "system_fingerprint")
    return model if system is None else f"{model} {system}"


def _text_at(completion: Any, name: str) -> str | None:
    said = completion.get(name) if isinstance(completion, dict) else getattr(completion, name, None)
    return shortened(said, _LONGEST_NAME) if isinstance(said, str) and said.strip() else None


def _paths(*written: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split(".")) for path in written)


# What each provider calls it; a dot leads into an object or a dictionary.
_SENT = _paths(
    "usage.prompt_tokens",  # OpenAI, and those who speak as it does; Mistral; LiteLLM
    "usage.input_tokens",  # Anthropic; OpenAI's Responses
    "usage_metadata.prompt_token_count",  # Gemini
    "usage.inputTokens",  # Bedrock
    "usage.tokens.input_tokens",  # Cohere
    "meta.tokens.input_tokens",  # Cohere's first interface
)
_RECEIVED = _paths(
    "usage.completion_tokens",
    "usage.output_tokens",
    "usage_metadata.candidates_token_count",
    "usage.outputTokens",
    "usage.tokens.output_tokens",
    "meta.tokens.output_tokens",
)
_CACHED = _paths(
    "usage.prompt_tokens_details.cached_tokens",
    "usage.input_tokens_details.cached_tokens",
    "usage.cache_read_input_tokens",
    "usage_metadata.cached_content_token_count",
    "usage.cacheReadInputTokens",
)
# Sent as well, and not within what the provider calls its input.
_SENT_BESIDE = _paths(
    "usage.cache_read_input_tokens",
    "usage.cache_creation_input_tokens",
    "usage.cacheReadInputTokens",
    "usage.cacheWriteInputTokens",
)
# No reply has so many tokens; infinity is above it, and what is no number is not below it.
_NO_COUNT = 2**53
_THOUGHTS = ("usage_metadata", "thoughts_token_count")


def usage_of(completion: object) -> Usage:
    """Read the tokens of a provider's reply, an object or a dictionary."""
    sent, received = _first(completion, _SENT), _first(completion, _RECEIVED)
    thoughts = _count(completion, _THOUGHTS) or 0
    # LiteLLM repeats Anthropic's counts beside an OpenAI-like sum that holds them.
    is_sum = _count(completion, _SENT[0]) is not None
    beside = 0 if is_sum else sum(_count(completion, path) or 0 for path in _SENT_BESIDE)
    return Usage(
        calls=1,
        prompt_tokens=(sent or 0) + beside,
        completion_tokens=(received or 0) + thoughts,
        cached_tokens=_first(completion, _CACHED) or 0,
        uncounted=int(sent is None and received is None),
    )


def _first(completion: object, paths: tuple[tuple[str, ...], ...]) -> int | None:
    found = (_count(completion, path) for path in paths)
    return next((count for count in found if count is not None), None)


# Replies of SDKs that may not be installed have no type here.
def _count(source: Any, path: tuple[str, ...]) -> int | None:
    for name in path:
        source = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        if source is None:
            return None
    # Cohere counts in floats. A count below zero, or without an end, is none.
    is_number = isinstance(source, int | float) and not isinstance(source, bool)
    return int(source) if is_number and 0 <= source < _NO_COUNT else None


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
