"""Replies and exceptions of every provider's shape say the same to us: tokens, stops, faults."""

import json
from types import SimpleNamespace as Made
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from rag_evals import errors
from rag_evals.core import JudgeCall, Meter, Usage
from rag_evals.judge.pace.retry import read_fault
from rag_evals.judge.wire.exchange import (
    Exchange,
    answering_model,
    complete_text,
    complete_tool_call,
    early_stop,
    fault_of,
    follow,
    json_in,
    packed,
    usage_of,
)
from rag_evals.judge.wire.sending import refuse_redirect, translate

_USAGE: dict[str, Any] = {
    "OpenAI": Made(usage=Made(prompt_tokens=10, completion_tokens=2)),
    "Responses": Made(usage=Made(input_tokens=10, output_tokens=2)),
    "Anthropic, partly cached": Made(
        usage=Made(
            input_tokens=3,
            output_tokens=2,
            cache_read_input_tokens=5,
            cache_creation_input_tokens=2,
        )
    ),
    "Gemini, with thoughts": Made(
        usage_metadata=Made(prompt_token_count=10, candidates_token_count=1, thoughts_token_count=1)
    ),
    "Bedrock": {"usage": {"inputTokens": 10, "outputTokens": 2}},
    "Cohere": Made(usage=Made(tokens=Made(input_tokens=10.0, output_tokens=2.0))),
    "LiteLLM over Anthropic": Made(
        usage=Made(prompt_tokens=10, completion_tokens=2, cache_read_input_tokens=5)
    ),
}


@pytest.mark.parametrize("name", _USAGE)
def test_tokens_are_read_from_every_reply(name: str) -> None:
    """Ten tokens sent and two received are that, whatever the provider calls them."""
    usage = usage_of(_USAGE[name])
    assert (usage.prompt_tokens, usage.completion_tokens, usage.uncounted) == (10, 2, 0)


def test_unknown_tokens_are_unknown() -> None:
    """A reply without counts is one whose cost nobody knows, not one of no tokens."""
    assert usage_of(Made()) == Usage(calls=1, uncounted=1)


@pytest.mark.parametrize(
    ("counts", "sent", "received", "cached"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, 10, 2, 0),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
            *(10, 2, 4),
        ),
        (
            {
                "input_tokens": 10,
                "output_tokens": 2,
                "input_tokens_details": {"cached_tokens": 4},
            },
            *(10, 2, 4),
        ),
        (
            {
                "input_tokens": 3,
                "output_tokens": 2,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 4,
            },
            *(12, 2, 5),
        ),
        (
            {
                "prompt_token_count": 10,
                "candidates_token_count": 2,
                "thoughts_token_count": 3,
                "cached_content_token_count": 4,
            },
            *(10, 5, 4),
        ),
        (
            {
                "inputTokens": 3,
                "outputTokens": 2,
                "cacheReadInputTokens": 5,
                "cacheWriteInputTokens": 4,
            },
            *(12, 2, 5),
        ),
        (
            {
                "prompt_tokens": 12,
                "completion_tokens": 2,
                "input_tokens": 3,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 4,
            },
            *(12, 2, 5),
        ),
        ({"tokens": {"input_tokens": 10.0, "output_tokens": 2.0}}, 10, 2, 0),
        ({"prompt_tokens": None, "input_tokens": 10, "output_tokens": 2}, 10, 2, 0),
        ({"prompt_tokens": -1, "input_tokens": 10}, 10, 0, 0),
        ({"prompt_tokens": 0, "completion_tokens": 0}, 0, 0, 0),
        ({"prompt_tokens": 10}, 10, 0, 0),
        ({"completion_tokens": 2}, 0, 2, 0),
        ({"prompt_tokens": 2**53 - 1, "completion_tokens": 2**53}, 2**53 - 1, 0, 0),
    ],
)
def test_each_kind_of_tokens_is_counted_once(
    counts: dict[str, Any], sent: int, received: int, cached: int
) -> None:
    """Cached tokens are among those sent, thoughts among those received; one count is enough."""
    expected = Usage(calls=1, prompt_tokens=sent, completion_tokens=received, cached_tokens=cached)
    assert usage_of({"usage": counts}) == expected
    assert usage_of({"usage": {}, "usage_metadata": counts}) == expected
    assert usage_of({"usage": counts, "usage_metadata": {"prompt_tokens": 99}}) == expected


@pytest.mark.parametrize("count", [True, "10", -1, float("nan"), float("inf"), 2**53, [10], None])
def test_a_count_that_is_none_is_unknown(count: Any) -> None:
    """Then nobody knows what the reply cost."""
    counts = {"prompt_tokens": count, "completion_tokens": count}
    assert usage_of({"usage": counts}) == Usage(calls=1, uncounted=1)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ({"model": "m-1", "system_fingerprint": "fp"}, "m-1 fp"),
        ({"model": " ", "model_version": "g-2", "system_fingerprint": None}, "g-2"),
        (Made(model="m-1", model_version="g-2", system_fingerprint="fp"), "m-1 g-2 fp"),
        ({"model": 7}, None),
        ({}, None),
        ({"model": "m" * 300}, "m" * 199 + "…"),
    ],
)
def test_who_replied_is_said_by_model_and_fingerprint(reply: Any, named: str | None) -> None:
    """In this order, and no longer than anybody reads."""
    assert answering_model(reply) == named


def _reply(tokens: int = 1, model: str = "m", **message: Any) -> dict[str, Any]:
    message = {"content": "{}"} | message
    counts = {"prompt_tokens": tokens, "completion_tokens": tokens}
    choice = {"message": message, "finish_reason": "stop"}
    return {"model": model, "choices": [choice], "usage": counts}


def _exchange(mode: str = "JSON_SCHEMA", **more: Any) -> Exchange:
    return Exchange(JudgeCall((), BaseModel), Meter(), mode, 2, **more)


@pytest.mark.parametrize(("mode", "first"), [("TOOLS", 0), ("JSON_SCHEMA", 0), ("json_object", 1)])
def test_replies_after_the_first_are_asked_again(mode: str, first: int) -> None:
    """In another form than the client's own the first is one too; all are added up."""
    exchange = _exchange(mode)
    seen = []
    for number, model in enumerate("bab", 1):
        exchange.take_response(_reply(number, model))
        seen.append((exchange.usage.reasks, exchange.is_last_attempt))

    again = range(first, first + 3)
    assert seen == [(reasks, reasks >= 2) for reasks in again]
    assert exchange.usage == Usage(calls=3, prompt_tokens=6, completion_tokens=6, reasks=first + 2)
    assert list(exchange.answered_by) == ["b", "a"]


def test_requests_beyond_one_for_each_reply_are_retries() -> None:
    """Whichever of several replies they were sent for."""
    exchange = _exchange()
    seen = [exchange.count_request(), exchange.count_request(), exchange.count_request()]
    exchange.take_response(_reply())
    seen += [exchange.count_request(), exchange.count_request()]
    exchange.take_response(_reply())
    seen += [exchange.count_request()]

    assert seen == [False, True, True, False, True, False]
    assert (exchange.usage.calls, exchange.usage.retries, exchange.requests) == (2, 3, 6)


class _Odd(BaseModel):
    """A reply of one number."""

    number: int


def _wrong(text: str) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        _Odd.model_validate_json(text)
    return caught.value


def _refused(text: str) -> ValidationError:
    line: Any = {"type": "value_error", "input": text, "ctx": {"error": ValueError(text)}}
    return ValidationError.from_exception_data("m", [line])


NO_INT, NOTHING = _wrong('{"number": "x"}'), _wrong("{}")


@pytest.mark.parametrize(
    ("fault", "has_other_form", "reply", "again", "missed"),
    [
        (NO_INT, False, _reply(), True, False),
        (NO_INT, True, _reply(), False, True),
        (ValueError("no tool call"), True, _reply(), False, True),
        (_refused("odd"), True, _reply(), True, False),
        (NO_INT, True, {"choices": []}, False, False),
        (NO_INT, True, {"stop_reason": "end_turn"}, True, False),
        (NO_INT, True, _reply(refusal="No."), False, False),
        (NO_INT, False, _reply(refusal="No."), False, False),
    ],
)
def test_what_a_wrong_reply_leads_to(
    fault: Exception, has_other_form: bool, reply: Any, again: bool, missed: bool
) -> None:
    """A re-ask, or another form if the host ignored the schema, or an end."""
    exchange = _exchange(has_other_form=has_other_form)
    exchange.take_response(reply)

    assert exchange.may_ask_again(fault) is again
    assert (exchange.missed_schema, exchange.is_repeated) == (missed, False)
    assert exchange.last_fault == str(fault)


def test_the_same_fault_in_a_row_ends_the_attempts() -> None:
    """Twice, but not with another in between."""
    exchange = _exchange()
    seen = []
    for fault in (NO_INT, NOTHING, NO_INT, NO_INT):
        exchange.take_response(_reply())
        seen.append((exchange.may_ask_again(fault), exchange.is_repeated))

    assert seen == [(True, False)] * 3 + [(False, True)]


def test_a_body_that_no_client_could_read_is_no_reply() -> None:
    """Unless a reply has arrived since the last fault: then it is the judge's own JSON."""
    unreadable = json.JSONDecodeError("Expecting value", "<html>", 0)
    exchange = _exchange()
    exchange.take_response(_reply())
    assert exchange.may_ask_again(unreadable)
    assert not exchange.may_ask_again(unreadable)
    assert isinstance(exchange.fault, errors.JudgeUnavailableError)
    assert "an HTML page" in str(exchange.fault)


@pytest.mark.parametrize(
    ("choice", "kind", "said"),
    [
        ({"error": {"code": 7, "message": "sank"}}, "Output", "reply: sank"),
        ({"message": {"content": "{}"}, "error": {"message": "sank"}}, "Output", "reply: sank"),
        ({"message": {"content": "{}"}, "error": {"code": 7}}, "Output", "reply: 7"),
        ({"message": {"content": "{}", "refusal": "No."}}, "Refused", "refused: No."),
        (
            {"message": {"content": "{}", "provider_specific_fields": {"refusal": "No."}}},
            *("Refused", "refused: No."),
        ),
        ({"message": {"content": [{"refusal": "No."}]}}, "Refused", "refused: No."),
        (
            {"message": {"content": "{}"}, "finish_reason": "content_filter"},
            *("Refused", "content filter stopped"),
        ),
        ({"message": {"content": "{}"}, "finish_reason": "length"}, "Output", "cut off"),
        ({"message": {"content": ""}}, "Output", "the reply is empty"),
        ({"message": {"content": " "}}, "Output", "the reply is empty"),
        ({"message": {"content": "", "reasoning": "Hm."}}, "Output", "only its reasoning"),
        ({"message": {"content": "", "reasoning_content": "Hm."}}, "Output", "only its reasoning"),
        ({"message": {"content": [{"text": ""}]}}, "Output", "the reply is empty"),
        ({"message": {"content": [{"text": "I'm sorry"}, {"text": "."}]}}, "Refused", "sorry."),
    ],
)
def test_a_choice_that_is_no_reply_is_told(choice: Any, kind: str, said: str) -> None:
    """An error of a router, a refusal in any place, or nothing."""
    found = fault_of({"choices": [{"finish_reason": "stop", **choice}]})

    assert type(found) is getattr(errors, f"Judge{kind}Error")
    assert said in str(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (b'So: {"a": {"b": 1}}.', '{"a": {"b": 1}}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('<think>{"b": 2}</think>{"a": 1}', '{"a": 1}'),
        ('<think>{"b": 2}</think>none', None),
        ('<think>{"b": 2}', '{"b": 2}'),
        ('{"a": 1} {"b": 2}', None),
        ('{"a": 1} }', None),
        ('"b": 1} {"a": 1}', None),
        ('[1] {"a": 1}', None),
        ('{"a": 1', None),
        ('{"a": 1} [2]', '{"a": 1}'),
        ('[{"a": 1}, {"a": 2}]', '[{"a": 1}, {"a": 2}]'),
        ("```json\n[1]\n```", "[1]"),
        ("See [1].", None),
        ("7", None),
        ("", None),
    ],
)
def test_only_one_object_or_list_is_found_in_a_text(text: str | bytes, found: str | None) -> None:
    """After the reasoning; what could mean two things is not read."""
    assert json_in(text) == found


def test_what_a_body_is_given_beside_its_fields() -> None:
    """Its extra fields come before its own, and its own model before that of the judge."""
    body = {"model": "own", "seed": 1, "extra_body": {"seed": 2, "top_k": 3}}
    assert json.loads(packed(body, "usual")) == {"model": "own", "seed": 2, "top_k": 3}
    assert json.loads(packed({"seed": 1}, "usual")) == {"model": "usual", "seed": 1}
    extra = {"extra_body": {"model": "extra"}}
    assert json.loads(packed(extra, "usual")) == {"model": "extra"}


def test_parts_of_a_message_are_joined() -> None:
    """Only those of text; a message that is whole is left as it is."""
    message: dict[str, Any] = {
        "content": [{"text": '{"a":'}, {"type": "image"}, "x", {"text": " 1}"}]
    }
    assert fault_of({"choices": [{"message": message}]}) is None
    assert message["content"] == '{"a": 1}'


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Made(choices=[Made(finish_reason="length")]), errors.JudgeOutputError),
        (Made(stop_reason="max_tokens"), errors.JudgeOutputError),
        (Made(stop_reason="refusal"), errors.JudgeRefusedError),
        ({"stopReason": "guardrail_intervened"}, errors.JudgeRefusedError),
        (Made(candidates=[Made(finish_reason=Made(value="MAX_TOKENS"))]), errors.JudgeOutputError),
        (Made(candidates=[Made(finish_reason="SAFETY")]), errors.JudgeRefusedError),
        (
            Made(candidates=None, prompt_feedback=Made(block_reason="OTHER")),
            errors.JudgeRefusedError,
        ),
        (Made(incomplete_details=Made(reason="max_output_tokens")), errors.JudgeOutputError),
        (Made(output=[Made(content=[Made(refusal="I won't.")])]), errors.JudgeRefusedError),
        ({"output": [{"content": [{"refusal": "I won't."}]}]}, errors.JudgeRefusedError),
        (Made(finish_reason="MAX_TOKENS"), errors.JudgeOutputError),
        (Made(stop_reason="tool_use"), None),
        ({"stopReason": "end_turn"}, None),
    ],
)
def test_a_reply_that_stopped_early_is_told(reply: Any, kind: type[Exception] | None) -> None:
    """Each provider has its own word for the token limit and for a refusal."""
    found = early_stop(reply)
    assert found is None if kind is None else isinstance(found, kind)


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (None, "an empty body"),
        (b" ", "an empty body"),
        ("out of order", "no model reply: 'out of order'"),
        (b"<html>", "an HTML page: '<html>'"),
        (Made(choices=[]), "no choices"),
        (Made(choices=None, error={"code": "busy"}), "an error: busy"),
        (Made(choices=[Made(message=None)], error="beside"), "no choices"),
    ],
)
def test_what_is_no_reply_at_all_is_told(response: Any, said: str) -> None:
    """It may be one the next time, unlike an error in place of the choice."""
    found = fault_of(response)

    assert isinstance(found, errors.JudgeUnavailableError)
    assert f"status 200 and {said}; check the address" in str(found)
    assert found.status == 200
    assert type(fault_of(Made(choices=[Made(error="sank")]))) is errors.JudgeOutputError
    assert fault_of(Made(content="elsewhere")) is None


def _called(*arguments: str) -> list[Any]:
    return [Made(function=Made(arguments=one)) for one in arguments]


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (Made(content="{}", tool_calls=_called('{"a": 1}')), "{}"),
        (Made(content=None, tool_calls=_called('{"a": 1}')), '{"a": 1}'),
        (Made(content="", function_call=Made(arguments='{"a": 1}')), '{"a": 1}'),
        (Made(content=None, tool_calls=_called('{"a": 1}', '{"a": 2}')), None),
        (Made(content=None, tool_calls=None), None),
    ],
)
def test_the_only_tool_call_stands_in_for_missing_content(
    message: Any, content: str | None
) -> None:
    """Content that is there counts, and of two calls neither is picked."""
    complete_text(message)

    assert message.content == content


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        (Made(content='So: {"a": 1}', tool_calls=None), '{"a": 1}'),
        (Made(content="words", tool_calls=None), None),
        (Made(content=None, tool_calls=None), None),
        (Made(content='{"a": 1}', tool_calls=_called("{}")), None),
    ],
)
def test_json_in_the_text_stands_in_for_a_missing_tool_call(
    message: Any, arguments: str | None
) -> None:
    """Servers without tools reply so; a call that was made is left as it is."""
    complete_tool_call(message)
    made = getattr(message, "function_call", None)

    assert (made and made.arguments) == arguments


def test_a_path_is_followed_as_far_as_it_goes() -> None:
    """Through objects, dictionaries and lists; a part that is missing is None."""
    source = {"a": [Made(b={"c": 7})], "none": []}

    assert follow(source, ("a", 0, "b", "c")) == 7
    for path in (("a", 1), ("none", 0), ("a", 0, "x"), ("x", "y"), ("a", 0, "b", "c", 0)):
        assert follow(source, path) is None


@pytest.mark.parametrize(
    "message",
    [
        Made(content=None, tool_calls=_called("{}")),
        Made(content=None, tool_calls=None, function_call=Made(arguments="{}")),
    ],
)
def test_a_reply_in_a_tool_call_is_not_empty(message: Any) -> None:
    """Neither in today's form, nor in that of before."""
    assert fault_of(Made(choices=[Made(message=message, finish_reason="stop")])) is None


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("Unfortunately, I cannot help.", True),
        ("I am unable to judge this.", True),
        ("As an AI, I have no view.", True),
        ("Извините, это нельзя.", True),
        ("К сожалению, я не могу ответить.", True),
        ("The answer says: I cannot swim.", False),
        ("Sorry: {}", False),
        ("I cannot find more than []", False),
        ("Sorrow is a film.", False),
    ],
)
def test_a_refusal_in_words_is_told_from_a_reply(said: str, is_refused: bool) -> None:
    """It begins with the refusal and holds no JSON."""
    found = fault_of(Made(choices=[Made(message=Made(content=said), finish_reason="stop")]))

    assert isinstance(found, errors.JudgeRefusedError) is is_refused
    assert is_refused or found is None


def _raised(name: str, bases: tuple[type, ...] = (Exception,), **attributes: Any) -> Exception:
    """Make an exception as an SDK does: its class's name and its attributes are what is read."""
    error: Exception = type(name, bases, {})("as text")
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def _aws(status: int, code: str, message: str, **headers: str) -> Exception:
    reply = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }
    return _raised("ClientError", response=reply)


_GOOGLE_429 = {
    "error": {
        "message": "Quota exceeded",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}],
    }
}
_FAULTS: list[tuple[str, Exception, type[Exception], str]] = [
    ("google 401", _raised("ClientError", code=401, status="UNAUTHENTICATED", message="No."),
     errors.JudgeRejectedError, "rejects the key.*HTTP 401: No"),
    ("google bad key", _raised("ClientError", code=400, message="API key not valid."),
     errors.JudgeRejectedError, "rejects the key"),
    ("google 429", _raised("ClientError", code=429, details=_GOOGLE_429),
     errors.JudgeUnavailableError, "HTTP 429: Quota exceeded"),
    ("mistral 401", _raised("SDKError", status_code=401, body='{"message": "Unauthorized"}'),
     errors.JudgeRejectedError, "HTTP 401: Unauthorized"),
    ("mistral model", _raised("SDKError", status_code=400, body='{"message": "Invalid model: x"}'),
     errors.JudgeRejectedError, "does not recognise this model"),
    ("cohere 500", _raised("ApiError", status_code=500, body={"message": "Oops"}),
     errors.JudgeUnavailableError, "HTTP 500: Oops"),
    ("bedrock 403", _aws(403, "AccessDeniedException", "No access"),
     errors.JudgeRejectedError, "HTTP 403: No access"),
    ("bedrock model", _aws(400, "ValidationException", "The provided model identifier is invalid."),
     errors.JudgeRejectedError, "does not recognise this model"),
    ("bedrock 429", _aws(429, "ThrottlingException", "Slow down", **{"retry-after": "7"}),
     errors.JudgeUnavailableError, "HTTP 429: Slow down"),
    ("bedrock no key", _raised("NoCredentialsError"), errors.JudgeRejectedError, "no valid cred"),
    ("httpx time-out", _raised("ReadTimeout", (type("TimeoutException", (Exception,), {}),)),
     errors.JudgeUnavailableError, "no reply within the timeout"),
    ("httpx refused", _raised("ConnectError", (type("TransportError", (Exception,), {}),)),
     errors.JudgeUnreachableError, "no connection"),
    ("boto refused",
     _raised("EndpointConnectionError", (type("HTTPClientError", (Exception,), {}),)),
     errors.JudgeUnreachableError, "no connection"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "error", "kind", "words"), _FAULTS)
def test_every_exception_becomes_one_of_ours(
    name: str, error: Exception, kind: type[Exception], words: str
) -> None:
    """Status, code and words are found wherever the SDK keeps them."""
    found = translate(error, attempts=1)
    assert type(found) is kind, name
    with pytest.raises(kind, match=words):
        raise found


class _Pair(BaseModel):
    first: int
    second: int
    third: int


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "first: Field required (and 2 more)"),
        ('{"first": 1}', "second: Field required (and 1 more)"),
        ('{"first": 1, "second": 1}', "third: Field required"),
        ('{"first": "x SECRET", "second": 1, "third": 1}', "first: Input should be a valid integer"
         ", unable to parse string as an integer"),
        ("[]", "reply: Input should be an object"),
    ],
)  # fmt: skip
def test_a_wrong_reply_is_told_by_its_first_fault(text: str, said: str) -> None:
    """With its place and how many more there are, but without what the judge wrote."""
    with pytest.raises(ValidationError) as caught:
        _Pair.model_validate_json(text)

    told = str(translate(caught.value, attempts=3))
    again = str(translate(caught.value, attempts=2, repeated=True))
    assert told == f"invalid after 3 attempts: {said}"
    assert again == f"invalid after 2 attempts, the last two with the same fault: {said}"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (json.JSONDecodeError("Expecting value", "words", 0), errors.JudgeOutputError,
         "invalid after 1 attempts: Expecting value: line 1 column 1 (char 0)"),
        (TypeError("missing 1 required argument: 'model'"), errors.ConfigurationError,
         "no model given"),
        (TypeError("missing 1 required argument: 'messages'"), errors.GradingError,
         "TypeError: missing 1 required argument: 'messages'"),
        (ValueError("no 'model'"), errors.GradingError, "ValueError: no 'model'"),
        (AssertionError("Unable to generate a response"), errors.JudgeRefusedError,
         "the judge refused: Unable"),
        (AssertionError("two calls"), errors.JudgeOutputError,
         "the reply is not what was asked for: two calls"),
        (errors.GradingError(), errors.GradingError, ""),
        (errors.GradingError(7), errors.GradingError, "7"),
        (RecursionError("deep"), errors.JudgeUnavailableError, "JSON of too many levels"),
    ],
)  # fmt: skip
def test_what_no_endpoint_said_is_told_too(
    error: Exception, kind: type[Exception], said: str
) -> None:
    """A reply that cannot be read, and a call that lacks something."""
    found = translate(error, attempts=1)

    assert type(found) is kind
    assert said in str(found)


def test_a_long_message_is_cut_to_300_characters() -> None:
    """And put on one line; one of 300 is told whole."""
    long, fits = ("so it is\n" * 100, "x" * 300)
    cut, whole = (
        str(translate(_raised("A", message=said), attempts=1)).removeprefix("A: ")
        for said in (long, fits)
    )

    assert (len(cut), cut[-1], whole) == (300, "…", fits)
    assert "\n" not in cut


@pytest.mark.parametrize(
    ("message", "window"),
    [
        ("This model's maximum context length is 8,192 tokens, not 9000.", 8192),
        ("The prompt exceeds the context window of 4096 tokens", 4096),
        ("the prompt is too long", None),
    ],
)
def test_a_window_is_read_from_the_message(message: str, window: int | None) -> None:
    """With or without commas; not every endpoint names it."""
    for status in (400, 413, 422):
        found = translate(_raised("A", status_code=status, message=message), attempts=1)

        assert type(found) is errors.JudgeRequestError
        assert "the prompt is longer than the judge's window" in str(found)
        assert found.window_tokens == window


@pytest.mark.parametrize(
    ("status", "location", "is_refused"),
    [(307, "/x", True), (307, None, False), (201, "/x", False), (304, "/x", False)],
)
def test_only_a_redirect_that_leads_somewhere_is_refused(
    status: int, location: str | None, is_refused: bool
) -> None:
    """What was made may have a place of its own, which nobody is sent to."""
    if is_refused:
        with pytest.raises(errors.JudgeRejectedError, match="http://a redirects to http://a/x;"):
            refuse_redirect("http://a/v1", status, location)
    else:
        refuse_redirect("http://a/v1", status, location)


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"message": "unknown model: x"}, "does not recognise this model"),
        ({"message": "bad", "param": "response_format.schema"}, "rejects this kind of request"),
        ({"message": "Invalid schema"}, "rejects this kind of request"),
    ],
)
def test_what_every_row_would_be_told_ends_a_run(status: int, details: Any, said: str) -> None:
    """Two statuses are in use for what is wrong with a request."""
    found = translate(_raised("A", status_code=status, **details), attempts=1)

    assert type(found) is errors.JudgeRejectedError
    assert said in str(found)


@pytest.mark.parametrize(
    ("cause", "kind", "said"),
    [
        (RuntimeError("boom"), errors.JudgeUnavailableError, "the connection was lost"),
        (RuntimeError("the client has been closed"), errors.ConfigurationError, "is closed"),
        (RuntimeError("Event loop is closed"), errors.EventLoopError, "in another event loop"),
        (OSError("the client has been closed"), errors.JudgeUnavailableError, "was lost"),
    ],
)
def test_what_lies_beneath_a_lost_connection_is_told(
    cause: Exception, kind: type[Exception], said: str
) -> None:
    """A client that the user closed, or moved to another loop, is the user's to mend."""
    error = _raised("APIConnectionError")
    error.__cause__ = cause
    found = translate(error, attempts=1)

    assert type(found) is kind
    assert said in str(found)


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((401, 403, 402, 404, 405, 410, 501, 301, 302, 303, 307, 308), errors.JudgeRejectedError),
        ((408, 409, 429, 500, 502, 503, 529), errors.JudgeUnavailableError),
        ((400, 406, 411, 413, 418, 422, 451, 499), errors.JudgeRequestError),
    ],
)
def test_a_status_says_whether_others_may_do_better(
    statuses: tuple[int, ...], kind: type[Exception]
) -> None:
    """All rows, this one later, or only this one; what may pass has its status and its wait."""
    found = [
        translate(_raised("A", status_code=one, headers={"Retry-After": "7"}), attempts=1)
        for one in statuses
    ]

    assert [type(one) for one in found] == [kind] * len(statuses)
    for status, one in zip(statuses, found, strict=True):
        assert f"HTTP {status}" in str(one)
        if isinstance(one, errors.JudgeUnavailableError):
            assert (one.status, one.retry_after_seconds) == (status, 7.0)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (_raised("A", body={"error": {"code": "c", "type": "t", "message": "m"}}), "c", "m"),
        (_raised("A", body={"error": {"code": "", "type": "t", "message": ""}}), "t", "as text"),
        (_raised("A", body={"error": {"code": 7, "status": "S", "detail": "d"}}), "S", "d"),
        (_raised("A", body={"error": "words"}), "", "words"),
        (_raised("A", body=b'{"message": "m", "type": "t"}'), "t", "m"),
        (_raised("A", body="no JSON", details={"code": "c"}), "c", "as text"),
        (_raised("A", body=[1], code="own", message="said"), "own", "said"),
        (_raised("A"), "", "as text"),
    ],
)
def test_code_and_message_are_found_in_any_body(error: Exception, code: str, message: str) -> None:
    """The first word of each that is there; a number is no code in words."""
    fault = read_fault(error)

    assert (fault.code, fault.message) == (code, message)


_WAIT: dict[str, Any] = {"retry-after": 7}
_DELAYS = [7, {"@type": "help"}, {"retryDelay": 3}, {"retryDelay": "9s"}, {"retryDelay": "1s"}]


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        *((error, 7.0) for name, error, *_ in _FAULTS if "429" in name),
        (_raised("A", headers=_WAIT), 7.0),
        (_raised("A", response=Made(headers={"Retry-After": "7"})), 7.0),
        (_raised("A", response=Made(headers=_WAIT), headers={"retry-after": "8"}), 7.0),
        (_raised("A", response=Made(headers={}), litellm_response_headers=_WAIT), 7.0),
        (_raised("A", details={"error": {"details": _DELAYS}}), 9.0),
        (_raised("A", details={"error": {"details": _DELAYS}}, headers=_WAIT), 7.0),
        (_raised("A", details={"error": {"details": {"retryDelay": "9s"}}}), None),
        (_raised("A"), None),
    ],
    ids=repr,
)
def test_the_wait_that_is_asked_for_is_found(error: Exception, seconds: float | None) -> None:
    """In headers, wherever a library keeps them, and else in the body of Gemini's reply."""
    assert read_fault(error).wait_seconds == seconds


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (_raised("A", status_code=429, status=500, code=503), 429),
        (_raised("A", status_code=None, status=500, code=503), 500),
        (_raised("A", status="UNAVAILABLE", code=503), 503),
        (_raised("A", code="busy", response=Made(status_code=502)), 502),
        (_raised("A", response={"ResponseMetadata": {"HTTPStatusCode": 429}}), 429),
        (_raised("A", status_code=0, status=-1, code=503), 503),
        (_raised("A", status_code=0), None),
        (_raised("A", response={}), None),
        (_raised("A"), None),
    ],
    ids=repr,
)
def test_the_status_is_the_first_number_above_0(error: Exception, status: int | None) -> None:
    """Words, and numbers that stand for no reply, are no status."""
    assert read_fault(error).status == status


@pytest.mark.parametrize(
    ("error", "parameter"),
    [
        (_raised("A", param="seed", body={"param": "top_p"}), "seed"),
        (_raised("A", param=None, body={"error": {"param": "top_p"}}), "top_p"),
        (_raised("A", body={"error": {"param": None}}), ""),
        (_raised("A"), ""),
    ],
)
def test_the_parameter_that_is_refused_is_found(error: Exception, parameter: str) -> None:
    """On the exception or in the body; an endpoint that names none names nothing."""
    assert read_fault(error).parameter == parameter


def test_a_reply_that_says_time_is_up_is_a_reply() -> None:
    """An SDK may name a status of 504 as it names a connection without any: it was answered."""

    class GatewayTimeoutError(TimeoutError):
        """As SDKs name it."""

        status_code = 504

    answered, silent = read_fault(GatewayTimeoutError("late")), read_fault(TimeoutError("late"))

    assert (answered.status, answered.timed_out, answered.not_connected) == (504, False, False)
    assert (silent.status, silent.timed_out, silent.not_connected) == (None, True, True)


def _of_litellm(name: str, cause: Exception) -> Exception:
    """Make an exception of LiteLLM, which gives status 500 to what it did not expect."""
    kind = type(name, (Exception,), {"__module__": "litellm.exceptions", "status_code": 500})
    error: Exception = kind("as text")
    error.__cause__ = cause
    return error


def test_a_lost_connection_beneath_litellm_is_one() -> None:
    """LiteLLM says status 500 of what had none; any other cause is left beneath."""
    lost = ConnectionResetError("reset")
    twice = _of_litellm("InternalServerError", _of_litellm("OpenAIError", lost))
    answered = read_fault(_of_litellm("InternalServerError", ValueError("no")))

    for error in (_of_litellm("InternalServerError", lost), twice):
        fault = read_fault(error)
        assert (fault.status, fault.not_connected, fault.timed_out) == (None, True, False)
        assert error.__cause__ is lost
    assert (answered.status, answered.not_connected) == (500, False)
