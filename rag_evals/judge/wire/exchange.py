"""Replies: their faults, token counts and JSON.

Local models put JSON into a code fence, after their thoughts or between sentences, or send "0" for
0. This is read where it can mean only one thing; anything else is a fault.
"""

import copy
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from json import JSONDecodeError
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from rag_evals.core import JudgeCall, Message, Meter, Usage, check_chunk_ids, facts_for
from rag_evals.errors import (
    GradingError,
    JudgeOutputError,
    JudgeRefusedError,
    JudgeUnavailableError,
)
from rag_evals.text import shortened

OF_A_CLIENT = "base_url of the client"

address_name: ContextVar[str] = ContextVar("address_name", default=OF_A_CLIENT)
"""The source of the running call's address, such as a variable, for messages."""

OTHER_FORMS = ("json_object", "text")
"""Forms of a request to a host that did not keep to the schema; words then give the schema."""

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Exchange:
    """A running call and its replies so far.

    Attributes:
        mode: The client's mode, as instructor names it.
        reasks: Further attempts after an invalid reply.
        key: The endpoint's key, which no message may show.
        has_other_form: True if the call can be made in another form.
        fault: Fault of the last reply that no re-ask can fix.
        is_repeated: True if the last two replies have the same fault.
        missed_schema: True if the reply did not fit the schema, and the call has another form.
    """

    call: JudgeCall[Any]
    meter: Meter
    mode: str
    reasks: int
    key: str | None = None
    has_other_form: bool = False
    last_fault: str = ""
    fault: GradingError | None = None
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    answered_by: dict[str, None] = field(default_factory=dict)
    is_repeated: bool = False
    missed_schema: bool = False
    _is_answered: bool = False
    _reply: Any = None
    _ends_at: float | None = None

    def __post_init__(self) -> None:
        if (seconds := self.meter.seconds_left) is not None:
            self._ends_at = time.monotonic() + seconds

    def count_reply(self, response: Any, *, again: bool) -> None:
        used = usage_of(response)
        if again:
            used = replace(used, reasks=1)
        self.usage += used
        if (model := answering_model(response)) is not None:
            self.answered_by[model] = None

    def take_response(self, response: Any) -> None:
        """Count a reply before it is validated, and look for faults in its form."""
        self.count_reply(response, again=self.mode in OTHER_FORMS or self.usage.calls > 0)
        self._is_answered = True
        self._reply = response
        self.fault = fault_of(response)
        choices = getattr(response, "choices", None)
        if self.fault is not None or not choices:
            return
        message = choices[0].message
        if self.mode == "TOOLS":
            complete_tool_call(message)
        elif self.mode in ("JSON_SCHEMA", *OTHER_FORMS):
            complete_text(message)

    def may_ask_again(self, error: BaseException) -> bool:
        """True if the judge replied and asking again may help."""
        if isinstance(error, JSONDecodeError) and not self._is_answered:
            # The client itself could not read the body.
            self.fault = no_reply(error.doc)
        self._is_answered = False
        # The judge has read this fault, and repeated it.
        self.is_repeated, self.last_fault = self.repeats(error), str(error)
        may_change = self.has_other_form and self.fault is None
        has_message = bool(getattr(self._reply, "choices", None))
        self.missed_schema = may_change and has_message and _is_of_form(error)
        return self.fault is None and not self.is_repeated and not self.missed_schema

    def in_words(self) -> list[Message]:
        """Return the messages that ask again, with the schema in the prompt."""
        message = self._reply.choices[0].message
        said = getattr(message, "content", None) or next(filter(None, _arguments_in(message)), "{}")
        schema = json.dumps(self.call.reply_model.model_json_schema(), ensure_ascii=False)
        told = (
            f"Your reply was wrong:\n{self.last_fault}\n"
            f"Reply with one JSON object of this schema, and nothing else:\n{schema}"
        )
        return [
            *self.call.messages,
            {"role": "assistant", "content": str(said)},
            {"role": "user", "content": told},
        ]

    def repeats(self, error: BaseException) -> bool:
        return str(error) == self.last_fault

    @property
    def is_last_attempt(self) -> bool:
        return self.usage.reasks >= self.reasks

    def check_one_call(self) -> None:
        """Raise `ResponseParsingError` for different tool calls: only the first would be read."""
        choices = getattr(self._reply, "choices", None)
        calls = differing_calls(choices[0].message) if choices else 1
        if calls > 1:
            from instructor.core.exceptions import (  # noqa: PLC0415 - as above
                ResponseParsingError,
            )

            raise ResponseParsingError(
                f"{calls} different tool calls; make exactly one that holds everything",
                mode=self.mode,
                raw_response=None,
            )

    @property
    def seconds_left(self) -> float | None:
        """The row's remaining seconds; None without a limit."""
        return None if self._ends_at is None else self._ends_at - time.monotonic()

    def count_request(self) -> bool:
        """Count an HTTP request; return True for a retry."""
        self.requests += 1
        # Every reply, also to a re-ask, needs one request; any further one is a retry.
        is_retry = self.requests > self.usage.calls + self.usage.retries + 1
        if is_retry:
            self.usage = replace(self.usage, retries=self.usage.retries + 1)
        return is_retry


def _is_of_form(error: BaseException) -> bool:
    """True if the reply does not fit the schema; a value that code rejects does fit."""
    if not isinstance(error, ValidationError):
        return True
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return any(fault["type"] != "value_error" for fault in faults)


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
"""The running call of this thread or task."""


_LONGEST_NAME = 200


def answering_model(completion: object) -> str | None:
    """Return the model and system fingerprint that a reply names, or None.

    It differs from the requested one: OpenAI answers `gpt-4o-mini` as `gpt-4o-mini-2024-07-18`.
    """
    model = _text_at(completion, "model") or _text_at(completion, "model_version")
    if model is None:
        return None
    system = _text_at(completion, "system_fingerprint")
    return model if system is None else f"{model} {system}"


def _text_at(completion: Any, name: str) -> str | None:
    said = _at(completion, (name,))
    return _shown_name(said) if isinstance(said, str) and said.strip() else None


# A million replies say the same.
@lru_cache(maxsize=100)
def _shown_name(name: str) -> str:
    return shortened(name, _LONGEST_NAME)


# Replies of SDKs that need not be installed have no types here.
def _at(source: Any, path: Sequence[str | int]) -> Any:
    """Follow a path into objects, dictionaries and lists; None if it ends early."""
    for name in path:
        if isinstance(source, dict):
            source = source.get(name)
        elif isinstance(name, int):
            source = source[name] if isinstance(source, list) and len(source) > name else None
        else:
            source = getattr(source, name, None)
        if source is None:
            return None
    return source


def _paths(*written: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split(".")) for path in written)


# The field of each provider; a dot leads into an object or a dictionary.
_SENT = _paths(
    "usage.prompt_tokens",  # OpenAI and compatible hosts; LiteLLM
    "usage.input_tokens",  # Anthropic; OpenAI's Responses
    "usage_metadata.prompt_token_count",  # Gemini
    "usage.inputTokens",  # Bedrock
    "usage.tokens.input_tokens",  # Cohere
)
_RECEIVED = _paths(
    "usage.completion_tokens",
    "usage.output_tokens",
    "usage_metadata.candidates_token_count",
    "usage.outputTokens",
    "usage.tokens.output_tokens",
)
_CACHED = _paths(
    "usage.prompt_tokens_details.cached_tokens",
    "usage.input_tokens_details.cached_tokens",
    "usage.cache_read_input_tokens",
    "usage_metadata.cached_content_token_count",
    "usage.cacheReadInputTokens",
)
# Tokens sent that the provider does not count as its input.
_SENT_BESIDE = _paths(
    "usage.cache_read_input_tokens",
    "usage.cache_creation_input_tokens",
    "usage.cacheReadInputTokens",
    "usage.cacheWriteInputTokens",
)
# No reply has so many tokens. Infinity and NaN are not below it either.
_NO_COUNT = 2**53
_THOUGHTS = ("usage_metadata", "thoughts_token_count")


def usage_of(completion: object) -> Usage:
    """Return the token counts of any provider's reply."""
    sent, received = _first(completion, _SENT), _first(completion, _RECEIVED)
    thoughts = _count(completion, _THOUGHTS) or 0
    # LiteLLM repeats Anthropic's counts next to an OpenAI-like sum that includes them.
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


def _count(completion: object, path: tuple[str, ...]) -> int | None:
    found = _at(completion, path)
    # Cohere counts in floats.
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return int(found) if is_number and 0 <= found < _NO_COUNT else None


_OK = 200
_SHOWN_CHARS = 80
_THOUGHTS_END = "</think>"
_ELSEWHERE = object()


def fault_of(response: object) -> GradingError | None:
    """Return the fault of a reply that shows before its content is parsed, or None."""
    if (missing := missing_message(response)) is not None:
        return missing
    choices: Any = getattr(response, "choices", None)
    if choices is None:
        return early_stop(response)
    message = choices[0].message
    if (failed := _error_in(choices[0])) is not None:
        return failed
    # LiteLLM keeps it in "provider_specific_fields".
    kept = getattr(message, "provider_specific_fields", None) or {}
    refusal = _join_parts(message) or getattr(message, "refusal", None) or kept.get("refusal")
    if refusal:
        return JudgeRefusedError(f"the judge refused: {refusal}")
    if getattr(choices[0], "finish_reason", None) == "content_filter":
        return JudgeRefusedError("the endpoint's content filter stopped the reply")
    return early_stop(response) or _unreadable(message)


def packed(body: dict[str, Any], model: str) -> bytes:
    body |= body.pop("extra_body", {})
    body.setdefault("model", model)
    return to_json(body)


def usable(reply: T) -> T:
    if (missing := missing_message(reply)) is not None:
        raise missing
    return reply


def missing_message(response: object) -> GradingError | None:
    """Return why a reply with status 200 has no message.

    None if it has one, or comes from a provider that keeps it elsewhere.
    """
    if response is None or isinstance(response, str | bytes):
        return no_reply(response or "")
    choices: Any = getattr(response, "choices", _ELSEWHERE)
    if choices is _ELSEWHERE:
        return None
    if not isinstance(choices, list) or not choices:
        return _no_choices(getattr(response, "error", None))
    if getattr(choices[0], "message", None) is None:
        return _error_in(choices[0]) or _no_choices(None)
    return None


def no_reply(body: str | bytes) -> JudgeUnavailableError:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    start = " ".join(text[: 4 * _SHOWN_CHARS].split())
    if not start:
        return _unusable("nothing in it")
    kind = "an HTML page" if start.startswith("<") else "no reply of a model"
    shown = start if len(start) <= _SHOWN_CHARS else start[: _SHOWN_CHARS - 1] + "…"
    return _unusable(f"{kind} in it: {shown!r}")


def _no_choices(error: Any) -> JudgeUnavailableError:
    said = _words(error)
    return _unusable(f"an error in it: {said}" if said else "no choices in it")


def _words(error: Any) -> Any:
    return (error.get("message") or error.get("code")) if isinstance(error, dict) else error


def _error_in(choice: Any) -> JudgeOutputError | None:
    """Return the error that a router reports for the model behind it, if any."""
    said = _words(getattr(choice, "error", None))
    return JudgeOutputError(f"an error came instead of a reply: {said}") if said else None


def _join_parts(message: Any) -> str | None:
    """Join a message's text parts into its content; return a refusal in them, if any."""
    parts = getattr(message, "content", None)
    if not isinstance(parts, list):
        return None
    found = [part for part in parts if isinstance(part, dict)]
    _put(message, "content", "".join(str(part["text"]) for part in found if part.get("text")))
    return next((str(part["refusal"]) for part in found if part.get("refusal")), None)


def _put(message: Any, name: str, value: Any) -> None:
    # Our own replies are dictionaries.
    if isinstance(message, dict):
        message[name] = value
    else:
        setattr(message, name, value)


_REFUSALS = re.compile(
    r"(?:(?:i['\u2019]?m|i am) (?:very |so |truly )?sorry|sorry|my apologies|i apologi[sz]e"
    r"|(?:unfortunately,? )?i(?: am|['\u2019]m) (?:not able|unable)"
    r"|(?:unfortunately,? )?i (?:can['\u2019]t|cannot|can not|won['\u2019]t|will not|must decline)"
    r"|as an ai"
    # Russian: "Sorry", "I cannot", "Unfortunately, I".
    r"|(?:\u043a \u0441\u043e\u0436\u0430\u043b\u0435\u043d\u0438\u044e,? )?"
    r"\u044f \u043d\u0435 (?:\u043c\u043e\u0433\u0443|\u0431\u0443\u0434\u0443)"
    r"|(?:\u0438\u0437\u0432\u0438\u043d\u0438|\u043f\u0440\u043e\u0441\u0442\u0438)\u0442\u0435)\b",
    re.IGNORECASE,
)


def _unreadable(message: Any) -> GradingError | None:
    """Return the fault of an empty reply, or of a refusal in plain words."""
    calls = _arguments_in(message)
    text = getattr(message, "content", None)
    said = text.strip() if isinstance(text, str) else ""
    if any(calls) or (text and not isinstance(text, str)):
        return None
    if not said:
        thought = any(getattr(message, name, None) for name in ("reasoning", "reasoning_content"))
        return JudgeOutputError(
            "the reply is empty, the model only wrote thoughts; allow more output tokens, or "
            "ask it to think less"
            if thought
            else "the reply is empty"
        )
    if "{" not in said and "[" not in said and _REFUSALS.match(said):
        return JudgeRefusedError(f"the judge refused: {shortened(said, 2 * _SHOWN_CHARS)}")
    return None


def _arguments_in(message: Any) -> list[Any]:
    called = [
        getattr(call, "function", None) for call in getattr(message, "tool_calls", None) or ()
    ]
    called.append(getattr(message, "function_call", None))
    return [getattr(one, "arguments", None) for one in called if one is not None]


def _unusable(what: str) -> JudgeUnavailableError:
    error = JudgeUnavailableError(
        f"the endpoint answered with status 200 and {what}; check the address "
        f"({address_name.get()})"
    )
    error.status = _OK
    return error


def one_object(text: str | bytes) -> str | None:
    """Return the only JSON object in a text; None if more than one could be meant."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    before, end, after = text.partition(_THOUGHTS_END)
    said = after if end else before
    start = said.find("{")
    # Not an object in a list, or a piece of a broken one.
    if start < 0 or "[" in said[:start] or "}" in said[:start]:
        return None
    try:
        _, length = json.JSONDecoder().raw_decode(said[start:])
    except (ValueError, RecursionError):
        return None
    rest = said[start + length :]
    return None if "{" in rest or "}" in rest else said[start : start + length]


def one_list(text: str) -> str | None:
    """Return the JSON list of a text that otherwise has only thoughts and a code fence."""
    before, end, after = text.partition(_THOUGHTS_END)
    said = (after if end else before).strip().removeprefix("```json").strip("`").strip()
    try:
        return said if isinstance(json.loads(said), list) else None
    except (ValueError, RecursionError):
        return None


def complete_text(message: Any) -> None:
    """Move the arguments of a single tool call to the content, if there is none."""
    arguments = _arguments_in(message)
    text = getattr(message, "content", None)
    if not text and len(arguments) == 1 and isinstance(arguments[0], str):
        _put(message, "content", arguments[0])


def complete_tool_call(message: Any) -> None:
    """Turn JSON in the text into a tool call; servers without tools reply with text."""
    text = getattr(message, "content", None)
    if getattr(message, "tool_calls", None) or getattr(message, "function_call", None):
        return
    found = (one_object(text) or one_list(text)) if isinstance(text, str) else None
    if found is not None and isinstance(message, dict):
        message["function_call"] = type(message)(arguments=found, name="")
    elif found is not None:
        from openai.types.chat.chat_completion_message import (  # noqa: PLC0415 - 1.4 s of CPU
            FunctionCall,
        )

        message.function_call = FunctionCall(name="", arguments=found)


def differing_calls(message: Any) -> int:
    """Count a message's different tool calls; instructor reads only the first."""
    calls = getattr(message, "tool_calls", None) or ()
    return len({getattr(call.function, "arguments", None) for call in calls})


_TOO_LONG = frozenset("length max_tokens max_output_tokens model_context_window_exceeded".split())
_REFUSED = frozenset(
    "refusal content_filter content_filtered guardrail_intervened error_toxic safety "
    "prohibited_content blocklist recitation spii".split()
)
_PLACES = (
    ("choices", 0, "finish_reason"),  # OpenAI and compatible hosts
    ("stop_reason",),  # Anthropic
    ("stopReason",),  # Bedrock
    ("candidates", 0, "finish_reason"),  # Gemini
    ("prompt_feedback", "block_reason"),
    ("incomplete_details", "reason"),  # OpenAI's Responses
    ("finish_reason",),  # Cohere
)


# Replies of SDKs that need not be installed have no types here.
def early_stop(response: Any) -> GradingError | None:
    """Return why a reply stopped before its end; None if it did not."""
    for place in _PLACES:
        # Most places belong to other providers; this runs for every reply.
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


def _word(response: Any, place: tuple[str | int, ...]) -> str:
    found = _at(response, place)
    word = getattr(found, "value", found)
    return word.lower() if isinstance(word, str) else ""


def _refusal(response: Any) -> str | None:
    """Return a refusal in the parts of a reply of OpenAI's Responses API."""
    output = getattr(response, "output", None)
    for item in output if isinstance(output, list) else ():
        for part in getattr(item, "content", None) or ():
            if isinstance(getattr(part, "refusal", None), str):
                return str(part.refusal)
    return None


# Replies by sentence have a model for each number of sentences and of chunks.
_MOST_MODELS = 1024


class Parsed:
    """Carries a plain instance through instructor, which would mark or wrap a model."""

    # instructor sets `_raw_response` on replies of Gemini, Vertex and Grok.
    __slots__ = ("_raw_response", "value")

    def __init__(self, value: BaseModel) -> None:
        self.value = value


@lru_cache(maxsize=_MOST_MODELS)
def prepared(model: type[BaseModel], *, schema_only: bool, mode: str = "") -> type[BaseModel]:
    """Return the class to give instructor instead of `model`, made once for each model.

    instructor makes a new class and schema on every call, and walks through all nested models to
    find async validators. With `schema_only` it gets none of them; only OpenAI's handlers allow
    that.
    """
    from instructor import OpenAISchema  # noqa: PLC0415 - loads openai, 1.4 s

    # The name of the reply, which models of this package leave out of nested schemas.
    schema = model.model_json_schema()
    if mode != "JSON_SCHEMA":
        schema = {**schema, "title": model.__name__}
    bases = (OpenAISchema,) if schema_only else (model, OpenAISchema)

    class Prepared(*bases):  # type: ignore[misc]  # the bases are values
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            # instructor edits what it gets.
            return copy.copy(schema)

        @classmethod
        def model_validate_json(cls, json_data: Any, **options: Any) -> Any:
            return _read(partial(_from_text, model, json_data), options)

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> Any:
            return _read(partial(validated, model, obj), options)

    Prepared.__name__ = Prepared.__qualname__ = model.__name__
    Prepared.__doc__ = model.__doc__
    made: type[BaseModel] = Prepared
    return made


def _read(read: Callable[[dict[str, Any]], BaseModel], options: dict[str, Any]) -> Parsed:
    exchange = current_exchange.get()
    if exchange is None:
        return Parsed(read(options))
    exchange.check_one_call()
    facts = exchange.call.facts
    context = facts_for(facts, is_last=exchange.is_last_attempt)
    try:
        return Parsed(read({**options, "context": context}))
    except ValidationError as error:
        # No further attempt follows, so what is allowed in the last one is allowed here.
        if exchange.repeats(error):
            with suppress(ValidationError):
                return Parsed(read({**options, "context": facts_for(facts, is_last=True)}))
        raise


def _from_text(model: type[M], text: str | bytes, options: Mapping[str, Any]) -> M:
    try:
        return validated_json(model, text, options)
    except ValidationError as error:
        said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        is_json = faults[0]["type"] != "json_invalid"
        if is_json or (found := one_object(said) or one_list(said)) is None:
            raise
    return validated_json(model, found, options)


@lru_cache(maxsize=_MOST_MODELS)
def strict_response_format(model: type[BaseModel]) -> dict[str, Any] | None:
    """Return the strict `response_format`; None for a model with an open dictionary."""
    schema: Any = model.model_json_schema()
    schema = _alone(schema, schema.get("$defs", {}), ())
    if not _close(schema):
        return None
    described = {"name": model.__name__, "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def _alone(node: Any, named: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    """Inline each reference that has other keywords, which OpenAI refuses.

    In a recursive definition, which `within` names, the reference stays and the keywords go.
    """
    if isinstance(node, list):
        return [_alone(element, named, within) for element in node]
    if not isinstance(node, dict):
        return node
    beside = dict(node)
    # Older versions of pydantic write a reference this way.
    if isinstance(parts := beside.get("allOf"), list) and len(parts) == 1:
        beside |= beside.pop("allOf")[0]
    reference = str(beside.get("$ref", ""))
    name = reference.rpartition("/")[2]
    if name in named and len(beside) > 1:
        del beside["$ref"]
        if name in within:
            return {"$ref": reference}
        beside, within = {**named[name], **beside}, (*within, name)
    return {key: _alone(value, named, within) for key, value in beside.items()}


def _close(node: Any) -> bool:
    """Require every property and forbid others at all levels; False if that is impossible."""
    if isinstance(node, list):
        return all(_close(element) for element in node)
    if not isinstance(node, dict):
        return True
    if node.get("type") == "object":
        if node.get("additionalProperties") not in (None, False) or "properties" not in node:
            return False
        node["additionalProperties"] = False
        node["required"] = list(node["properties"])
        for entry in node["properties"].values():
            entry.pop("default", None)
    return all(_close(value) for value in node.values())


# No more digits than a float keeps.
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,7})\.\d{1,7}", re.ASCII)
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
# Models repeat the schema with values instead of descriptions.
_SCHEMA_WORDS = frozenset(
    "$defs additionalProperties description properties required title type".split()
)


# Path to a value, and the value to put there.
_Mend = tuple[tuple[int | str, ...], int | float | bool]


def validated(model: type[M], reply: Any, options: Mapping[str, Any]) -> M:
    """Validate a reply that an SDK has parsed."""
    return validated_json(model, to_json(reply, fallback=str), options)


def validated_json(model: type[M], text: str | bytes, options: Mapping[str, Any]) -> M:
    """Validate a reply's JSON, after mending types that can mean only one thing."""

    def validate(said: str | bytes) -> M:
        reply = model.model_validate_json(said, **options)
        check_chunk_ids(reply, options.get("context"))
        _refuse_two_values(model, said)
        return reply

    while True:
        fault = None
        try:
            reply = validate(text)
            # A model without required fields accepts any object, also one around the reply.
            if reply.model_fields_set:
                return reply
        except ValidationError as error:
            fault = error
        try:
            parsed = from_json(text)
        except ValueError:
            parsed = None
        inner = _unwrapped(model, parsed)
        if inner is parsed:
            break
        text = to_json(inner)
    if fault is None:
        return reply
    if not (mends := _mends(fault)):
        raise fault
    return validate(to_json(_mended(parsed, mends)))


def _refuse_two_values(model: type[BaseModel], said: str | bytes) -> None:
    """Reject a name with two values, as a parser would silently take the last one."""

    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        for twice in (name for name, value in pairs if value != values[name]):
            error = ValueError(f"{twice} is given twice, with different values; give it once")
            raise ValidationError.from_exception_data(
                model.__name__,
                [{"type": "value_error", "loc": (twice,), "input": None, "ctx": {"error": error}}],
            )
        return values

    json.loads(said, object_pairs_hook=check)


def _unwrapped(model: type[BaseModel], reply: Any) -> Any:
    """Return what a wrapping around the reply holds; the reply itself without one.

    Models wrap a reply in its name, in a tool call, in its schema or in a list, or send only its
    list.
    """
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    needed = [name for name, field in fields.items() if field.is_required()]
    if isinstance(reply, list):
        only = reply[0] if len(reply) == 1 else None
        if isinstance(only, dict) and fields.keys() & only.keys() and only.keys() >= set(needed):
            return only
        # A model that is keyed by sentence also reads the list of statements.
        kinds = {name: fields[name].annotation for name in needed or fields}
        lists = [
            name
            for name, kind in kinds.items()
            if any(get_origin(one) is list for one in (kind, *get_args(kind)))
        ]
        return {lists[0]: reply} if len(lists) == 1 and len(needed) <= 1 else reply
    if not isinstance(reply, dict) or not fields.keys().isdisjoint(reply):
        return reply
    inner = reply.get("properties")
    if isinstance(inner, dict) and _SCHEMA_WORDS.issuperset(reply):
        return inner
    named = {_plain_name(str(name)): value for name, value in reply.items()}
    inner = named.get(_plain_name(model.__name__), reply) if len(reply) == 1 else reply
    if _plain_name(str(reply.get("name"))) == _plain_name(model.__name__):
        inner = reply.get("arguments", reply.get("parameters", reply))
    return inner if isinstance(inner, dict | list) else reply


def _plain_name(name: str) -> str:
    return name.replace("_", "").casefold()


def _mends(error: ValidationError) -> list[_Mend]:
    found: list[_Mend] = []
    for fault in error.errors(include_url=False, include_context=False):
        read = _READERS.get(fault["type"])
        value = None if read is None else read(fault["input"])
        if value is not None:
            found.append((fault["loc"], value))
    return found


def _mended(reply: Any, mends: list[_Mend]) -> Any:
    for path, value in mends:
        place = reply
        # A path may name a member of a union, which the reply does not have.
        with suppress(KeyError, IndexError, TypeError):
            for step in path[:-1]:
                place = place[step]
            _ = place[path[-1]]
            place[path[-1]] = value
    return reply


def _whole(given: object) -> int | None:
    if isinstance(given, str) and _WHOLE.fullmatch(given.strip()):
        return int(given)
    return int(given) if isinstance(given, float) and given.is_integer() else None


def _number(given: object) -> float | None:
    whole = _whole(given)
    if whole is None and isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        return float(given)
    return whole


def _truth(given: object) -> bool | None:
    return _TRUTHS.get(given.strip().lower()) if isinstance(given, str) else None


_READERS: Mapping[str, Callable[[object], int | float | bool | None]] = {
    "int_type": _whole,
    "literal_error": _whole,
    "float_type": _number,
    "bool_type": _truth,
}
