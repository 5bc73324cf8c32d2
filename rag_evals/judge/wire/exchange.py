"""Reads replies, and finds their faults, token counts and JSON.

Local models put JSON in a code fence, after their reasoning or between sentences, or send "0"
instead of 0. These replies are accepted if they are unambiguous; anything else is a fault.
"""

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from json import JSONDecodeError
from typing import Any, TypeVar, get_args, get_origin

import jiter
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
"""The source of the current call's address, such as a variable, for messages."""

OTHER_FORMS = ("json_object", "text")
"""Response formats for hosts that ignored the schema; the prompt then contains the schema."""

M = TypeVar("M", bound=BaseModel)
_NO_USAGE = Usage()


@dataclass(slots=True, eq=False)
class Exchange:
    """A call in progress, and its replies so far.

    Attributes:
        mode: The client's mode, in instructor's terms.
        reasks: Number of additional attempts after an invalid reply.
        key: The endpoint's key, which must not appear in messages.
        has_other_form: True if the call can also be made with another response format.
        fault: A fault in the last reply that a re-ask cannot fix.
        is_repeated: True if the last two replies have the same fault.
        missed_schema: True if the reply did not match the schema, and another format is available.
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
    usage: Usage = _NO_USAGE
    answered_by: dict[str, None] = field(default_factory=dict)
    is_repeated: bool = False
    missed_schema: bool = False
    _is_answered: bool = False
    _reply: Any = None

    def count_reply(self, response: Any, *, again: bool) -> None:
        used = usage_of(response)
        if again:
            used = replace(used, reasks=1)
        self.usage = used if self.usage is _NO_USAGE else self.usage + used
        if (model := answering_model(response)) is not None:
            self.answered_by[model] = None

    def take_response(self, response: Any) -> None:
        """Count a reply before it is validated, and detect faults such as refusals."""
        self.count_reply(response, again=self.mode in OTHER_FORMS or self.usage.calls > 0)
        self._is_answered = True
        self._reply = response
        self.fault = fault_of(response)
        message = message_of(response)
        if self.fault is not None or message is None:
            return
        if self.mode == "TOOLS":
            complete_tool_call(message)
        elif self.mode in ("JSON_SCHEMA", *OTHER_FORMS):
            complete_text(message)

    def may_ask_again(self, error: BaseException) -> bool:
        """True if the judge replied and a re-ask may help."""
        if isinstance(error, JSONDecodeError) and not self._is_answered:
            # The client could not parse the body.
            self.fault = no_reply(error.doc)
        self._is_answered = False
        # The judge was told about this fault and repeated it.
        self.is_repeated, self.last_fault = str(error) == self.last_fault, str(error)
        may_change = self.has_other_form and self.fault is None
        has_message = bool(_get(self._reply, "choices"))
        self.missed_schema = may_change and has_message and _is_of_form(error)
        return self.fault is None and not self.is_repeated and not self.missed_schema

    def in_words(self) -> list[Message]:
        """Return the messages for a re-ask with the schema in the prompt."""
        message = message_of(self._reply)
        said = _get(message, "content") or next(filter(None, _arguments_in(message)), "{}")
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

    @property
    def is_last_attempt(self) -> bool:
        return self.usage.reasks >= self.reasks

    def check_one_call(self) -> None:
        """Raise `ResponseParsingError` if tool calls differ: only the first would be read."""
        calls = _get(message_of(self._reply), "tool_calls") or ()
        different = {_get(_get(call, "function"), "arguments") for call in calls}
        if len(different) > 1:
            from instructor.core.exceptions import ResponseParsingError  # noqa: PLC0415 - as above

            raise ResponseParsingError(
                f"{len(different)} different tool calls; make exactly one that holds everything",
                mode=self.mode,
                raw_response=None,
            )

    def count_request(self) -> bool:
        """Count an HTTP request; return True if it is a retry."""
        self.requests += 1
        # Each reply needs one request; any further request is a retry.
        is_retry = self.requests > self.usage.calls + self.usage.retries + 1
        if is_retry:
            self.usage = replace(self.usage, retries=self.usage.retries + 1)
        return is_retry


def _is_of_form(error: BaseException) -> bool:
    """True if the reply does not match the schema; ignores values rejected by validators."""
    if not isinstance(error, ValidationError):
        return True
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return any(fault["type"] != "value_error" for fault in faults)


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
"""The call in progress in this thread or task."""


def answering_model(completion: object) -> str | None:
    """Return the model and system fingerprint stated in a reply, or None.

    For `gpt-4o-mini`, OpenAI states the exact model, such as `gpt-4o-mini-2024-07-18`.
    """
    named = [
        follow(completion, (name,)) for name in ("model", "model_version", "system_fingerprint")
    ]
    shown = [shortened(said, 200) for said in named if isinstance(said, str) and said.strip()]
    return " ".join(shown) or None


def _get(source: Any, name: str, default: object = None) -> Any:
    """Return a field of a JSON object or of an SDK's object."""
    return source.get(name, default) if isinstance(source, dict) else getattr(source, name, default)


def message_of(response: Any) -> Any:
    """Return the message in a reply; None if it contains no choices."""
    choices = _get(response, "choices")
    return _get(choices[0], "message") if choices else None


def follow(source: Any, path: Sequence[str | int]) -> Any:
    """Follow a path into objects, dictionaries and lists; return None if part of it is missing."""
    for name in path:
        if isinstance(name, int):
            source = source[name] if isinstance(source, list) and len(source) > name else None
        else:
            source = _get(source, name)
        if source is None:
            return None
    return source


def _paths(names: str) -> list[list[str]]:
    return [name.split(".") for name in names.split()]


# Field names of OpenAI and LiteLLM, Anthropic and Responses, Gemini, Bedrock, and Cohere.
_SENT = _paths("prompt_tokens input_tokens prompt_token_count inputTokens tokens.input_tokens")
_RECEIVED = _paths(
    "completion_tokens output_tokens candidates_token_count outputTokens tokens.output_tokens"
)
_CACHED = _paths(
    "prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens "
    "cache_read_input_tokens cached_content_token_count cacheReadInputTokens"
)
# Prompt tokens that are not included in the counts above.
_SENT_BESIDE = _paths(
    "cache_read_input_tokens cache_creation_input_tokens cacheReadInputTokens cacheWriteInputTokens"
)
# Also rejects infinity and NaN.
_NO_COUNT = 2**53


def usage_of(completion: object) -> Usage:
    counts = follow(completion, ("usage",)) or follow(completion, ("usage_metadata",))
    sent, received = _first(counts, _SENT), _first(counts, _RECEIVED)
    thoughts = _count(counts, ("thoughts_token_count",)) or 0
    # LiteLLM reports Anthropic's counts and an OpenAI-like sum that already includes them.
    is_sum = _count(counts, _SENT[0]) is not None
    beside = 0 if is_sum else sum(_count(counts, path) or 0 for path in _SENT_BESIDE)
    return Usage(
        calls=1,
        prompt_tokens=(sent or 0) + beside,
        completion_tokens=(received or 0) + thoughts,
        cached_tokens=_first(counts, _CACHED) or 0,
        uncounted=int(sent is None and received is None),
    )


def _first(counts: object, paths: Sequence[Sequence[str]]) -> int | None:
    for path in paths:
        if (count := _count(counts, path)) is not None:
            return count
    return None


def _count(counts: object, path: Sequence[str]) -> int | None:
    found = follow(counts, path)
    # Cohere sends counts as floats.
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return int(found) if is_number and 0 <= found < _NO_COUNT else None


_SHOWN_CHARS = 80
_ELSEWHERE = object()


def fault_of(response: object) -> GradingError | None:
    """Return a fault that can be detected before the reply's content is parsed, or None."""
    if (missing := missing_message(response)) is not None:
        return missing
    choices: Any = _get(response, "choices")
    if choices is None:
        return early_stop(response)
    choice, message = choices[0], _get(choices[0], "message")
    if said := _words(_get(choice, "error")):
        return _router_error(said)
    # LiteLLM puts refusals into "provider_specific_fields".
    kept = _get(message, "provider_specific_fields") or {}
    refusal = _join_parts(message) or _get(message, "refusal") or kept.get("refusal")
    if refusal:
        return JudgeRefusedError(f"the judge refused: {refusal}")
    if _get(choice, "finish_reason") == "content_filter":
        return JudgeRefusedError("the endpoint's content filter stopped the reply")
    return early_stop(response) or _unreadable(message)


def packed(body: dict[str, Any], model: str) -> bytes:
    body |= body.pop("extra_body", {})
    body.setdefault("model", model)
    return to_json(body)


def missing_message(response: object) -> GradingError | None:
    """Return the fault of a reply with status 200 but without a message.

    None if the reply contains a message, or if the provider puts messages elsewhere.
    """
    if response is None or isinstance(response, str | bytes):
        return no_reply(response or "")
    choices = _get(response, "choices", _ELSEWHERE)
    if choices is _ELSEWHERE:
        return None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if _get(choice, "message") is not None:
        return None
    if choice is not None and (said := _words(_get(choice, "error"))):
        return _router_error(said)
    said = None if choice is not None else _words(_get(response, "error"))
    return _unusable(f"an error: {said}" if said else "no choices")


def _words(error: Any) -> Any:
    return (error.get("message") or error.get("code")) if isinstance(error, dict) else error


def _router_error(said: str) -> JudgeOutputError:
    return JudgeOutputError(f"received an error instead of a reply: {said}")


def no_reply(body: str | bytes) -> JudgeUnavailableError:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    start = " ".join(text[: 4 * _SHOWN_CHARS].split())
    if not start:
        return _unusable("an empty body")
    kind = "an HTML page" if start.startswith("<") else "no model reply"
    return _unusable(f"{kind}: {shortened(start, _SHOWN_CHARS)!r}")


def _unusable(what: str) -> JudgeUnavailableError:
    error = JudgeUnavailableError(
        f"the endpoint answered with status 200 and {what}; check the address "
        f"({address_name.get()})"
    )
    error.status = 200
    return error


def _join_parts(message: Any) -> str | None:
    """Join a message's text parts into its content; return any refusal in them."""
    parts = _get(message, "content")
    if not isinstance(parts, list):
        return None
    found = [part for part in parts if isinstance(part, dict)]
    _set(message, "content", "".join(str(part["text"]) for part in found if part.get("text")))
    return next((str(part["refusal"]) for part in found if part.get("refusal")), None)


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
    """Return a fault if the reply is empty or is a refusal in plain text."""
    calls = _arguments_in(message)
    text = _get(message, "content")
    said = text.strip() if isinstance(text, str) else ""
    if any(calls) or (text and not isinstance(text, str)):
        return None
    if not said:
        thought = any(_get(message, name) for name in ("reasoning", "reasoning_content"))
        return JudgeOutputError(
            "the reply is empty, because the model wrote only its reasoning; allow more output "
            "tokens, or lower the reasoning effort"
            if thought
            else "the reply is empty"
        )
    if "{" not in said and "[" not in said and _REFUSALS.match(said):
        return JudgeRefusedError(f"the judge refused: {shortened(said, 2 * _SHOWN_CHARS)}")
    return None


def _arguments_in(message: Any) -> list[Any]:
    called = [_get(call, "function") for call in _get(message, "tool_calls") or ()]
    called.append(_get(message, "function_call"))
    return [_get(one, "arguments") for one in called if one is not None]


def json_in(text: str | bytes) -> str | None:
    """Return the only JSON object or list in a text; None if it is ambiguous."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    before, end, after = said.partition("</think>")
    said = after if end else before
    return _one_object(said) or _one_list(said)


def _one_object(said: str) -> str | None:
    start = said.find("{")
    # Reject objects within lists, and fragments of broken objects.
    if start < 0 or "[" in said[:start] or "}" in said[:start]:
        return None
    try:
        _, length = json.JSONDecoder().raw_decode(said[start:])
    except (ValueError, RecursionError):
        return None
    rest = said[start + length :]
    return None if "{" in rest or "}" in rest else said[start : start + length]


def _one_list(said: str) -> str | None:
    said = said.strip().removeprefix("```json").strip("`").strip()
    try:
        return said if isinstance(json.loads(said), list) else None
    except (ValueError, RecursionError):
        return None


def complete_text(message: Any) -> None:
    """If a message has no content, use the arguments of its only tool call."""
    arguments = _arguments_in(message)
    if not _get(message, "content") and len(arguments) == 1:
        _set(message, "content", arguments[0])


def complete_tool_call(message: Any) -> None:
    """Turn JSON in the text into a tool call; servers without tool support reply with text."""
    text = _get(message, "content")
    has_call = _get(message, "tool_calls") or _get(message, "function_call")
    found = json_in(text) if isinstance(text, str) and not has_call else None
    if found is None:
        return
    make: Any = dict
    if not isinstance(message, dict):
        from openai.types.chat import chat_completion_message  # noqa: PLC0415 - slow import

        make = chat_completion_message.FunctionCall
    _set(message, "function_call", make(arguments=found, name=""))


def _set(message: Any, name: str, value: Any) -> None:
    if isinstance(message, dict):
        message[name] = value
    else:
        setattr(message, name, value)


_TOO_LONG = frozenset("length max_tokens max_output_tokens model_context_window_exceeded".split())
_REFUSED = frozenset(
    "refusal content_filter content_filtered guardrail_intervened error_toxic safety "
    "prohibited_content blocklist recitation spii".split()
)
_STOP_REASONS = (
    ("choices", 0, "finish_reason"),  # OpenAI and compatible hosts
    ("stop_reason",),  # Anthropic
    ("stopReason",),  # Bedrock
    ("candidates", 0, "finish_reason"),  # Gemini
    ("prompt_feedback", "block_reason"),
    ("incomplete_details", "reason"),  # OpenAI's Responses
    ("finish_reason",),  # Cohere
)


def early_stop(response: Any) -> GradingError | None:
    for path in _STOP_REASONS:
        # Fast path, because most entries are for other providers.
        if isinstance(response, dict) and path[0] not in response:
            continue
        found = follow(response, path)
        said = getattr(found, "value", found)
        word = said.lower() if isinstance(said, str) else ""
        if word in _TOO_LONG:
            return JudgeOutputError(
                "the reply was cut off at the token limit; allow more output tokens"
            )
        if word in _REFUSED or (word and path[0] == "prompt_feedback"):
            return JudgeRefusedError(f"the provider stopped the reply: {word}")
    # In OpenAI's Responses API, refusals are parts of the output.
    output = _get(response, "output")
    for item in output if isinstance(output, list) else ():
        for part in _get(item, "content") or ():
            if isinstance(refusal := _get(part, "refusal"), str):
                return JudgeRefusedError(f"the judge refused: {refusal}")
    return None


# There is one reply model per combination of sentence count and chunk count.
_MOST_MODELS = 1024


class Parsed:
    """Carries a reply through instructor, which would modify or wrap a model instance."""

    # instructor sets `_raw_response` on replies from Gemini, Vertex and Grok.
    __slots__ = ("_raw_response", "value")

    def __init__(self, value: BaseModel) -> None:
        self.value = value


@lru_cache(maxsize=_MOST_MODELS)
def prepared(model: type[BaseModel], *, schema_only: bool, mode: str = "") -> type[BaseModel]:
    """Return the class to pass to instructor in place of `model`; it is created only once.

    For a plain model, instructor creates a new class and schema on every call, and searches all
    nested models for async validators. With `schema_only`, the class has no fields to search; only
    OpenAI's handlers allow that.
    """
    from instructor import OpenAISchema  # noqa: PLC0415 - loads openai, 1.4 s

    # This package's models do not define titles.
    schema = model.model_json_schema()
    if mode != "JSON_SCHEMA":
        schema = {**schema, "title": model.__name__}
    bases = (OpenAISchema,) if schema_only else (model, OpenAISchema)

    class Prepared(*bases):  # type: ignore[misc]  # the bases are values
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            # instructor modifies the returned schema.
            return copy.copy(schema)

        @classmethod
        def model_validate_json(cls, json_data: Any, **options: Any) -> Any:
            return _read(model, json_data, options)

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> Any:
            return _read(model, to_json(obj, fallback=str), options)

    Prepared.__name__ = Prepared.__qualname__ = model.__name__
    Prepared.__doc__ = model.__doc__
    made: type[BaseModel] = Prepared
    return made


def _read(model: type[BaseModel], text: str | bytes, options: dict[str, Any]) -> Parsed:
    exchange = current_exchange.get()
    if exchange is None:
        return Parsed(validated(model, text, options))
    exchange.check_one_call()
    facts = exchange.call.facts
    options["context"] = facts_for(facts, is_last=exchange.is_last_attempt)
    try:
        return Parsed(validated(model, text, options))
    except ValidationError as error:
        # A repeated fault also makes this the last attempt.
        if str(error) == exchange.last_fault:
            options["context"] = facts_for(facts, is_last=True)
            with suppress(ValidationError):
                return Parsed(validated(model, text, options))
        raise


@lru_cache(maxsize=_MOST_MODELS)
def strict_response_format(model: type[BaseModel]) -> dict[str, Any] | None:
    """Return the strict `response_format`; None if the model cannot be expressed in it."""
    from openai import pydantic_function_tool  # noqa: PLC0415 - slow import

    try:
        schema = pydantic_function_tool(model)["function"]["parameters"]
    except RecursionError:
        # OpenAI's library recurses endlessly if a recursive model's reference has a description.
        return None
    if not _is_closed(schema):
        return None
    described = {"name": model.__name__, "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def _is_closed(node: Any) -> bool:
    if isinstance(node, list):
        return all(map(_is_closed, node))
    if not isinstance(node, dict):
        return True
    is_open = node.get("additionalProperties") is not False or "properties" not in node
    return not (node.get("type") == "object" and is_open) and all(map(_is_closed, node.values()))


# A float cannot represent more digits exactly.
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,7})\.\d{1,7}", re.ASCII)
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
# Some models return the schema itself, with values in place of the property definitions.
_SCHEMA_WORDS = frozenset(
    "$defs additionalProperties description properties required title type".split()
)


def validated(model: type[M], text: str | bytes, options: Mapping[str, Any]) -> M:
    """Validate a reply's JSON, unwrapping it and fixing types if this is unambiguous."""

    def validate(said: str | bytes) -> M:
        reply = model.model_validate_json(said, **options)
        check_chunk_ids(reply, options.get("context"))
        _refuse_two_values(model, said)
        return reply

    while True:
        fault = None
        try:
            reply = validate(text)
            # A model without required fields also accepts an object that wraps the reply.
            if reply.model_fields_set:
                return reply
        except ValidationError as error:
            fault = error
        try:
            parsed = from_json(text)
        except ValueError:
            parsed, found = None, json_in(text)
            if found is not None and found != text:
                text = found
                continue
        inner = _unwrapped(model, parsed)
        if inner is parsed:
            break
        text = to_json(inner)
    if fault is None:
        return reply
    if not _mend(parsed, fault):
        raise fault
    return validate(to_json(parsed))


def _refuse_two_values(model: type[BaseModel], said: str | bytes) -> None:
    """Reject an object that repeats a name, because parsers silently keep only the last value."""
    raw = said if isinstance(said, bytes) else said.encode("utf-8", "surrogatepass")
    # Fast, but it also rejects a name that is repeated with the same value.
    with suppress(ValueError):
        jiter.from_json(raw, catch_duplicate_keys=True)
        return

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
    """Return the reply without a wrapper around it, or unchanged if there is none.

    Some models wrap a reply in its name, a tool call, its schema or a list. Others send only the
    list that the reply should contain.
    """
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    needed = [name for name, field in fields.items() if field.is_required()]
    if isinstance(reply, list):
        only = reply[0] if len(reply) == 1 else None
        if isinstance(only, dict) and fields.keys() & only.keys() and only.keys() >= set(needed):
            return only
        # Reply models keyed by sentence also accept a list of statements.
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


def _mend(reply: Any, error: ValidationError) -> bool:
    """Convert values of the wrong type if this is unambiguous; return True if any changed."""
    is_mended = False
    for fault in error.errors(include_url=False, include_context=False):
        read = _READERS.get(fault["type"])
        value = None if read is None else read(fault["input"])
        if value is None:
            continue
        place = reply
        # Paths may contain union members, which are not part of the reply.
        with suppress(KeyError, IndexError, TypeError):
            *path, last = fault["loc"]
            for step in path:
                place = place[step]
            _ = place[last]
            place[last] = value
            is_mended = True
    return is_mended


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
