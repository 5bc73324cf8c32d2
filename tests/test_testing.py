"""The scripted judge does what its script says, in both modes, for us and for users."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from rag_evals.testing import HttpError, JudgeRequest, Reply, ScriptedJudge, Stall
from rag_evals.testing.scripted import fill_by_words

SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"enum": ["no", "yes"]},
        "kind": {"const": "k"},
        "count": {"type": "integer", "minimum": 2},
        "share": {"type": "number"},
        "ok": {"type": "boolean"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
        "rest": {"type": "array"},
    },
    "$defs": {"Part": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


def ask(judge: ScriptedJudge, body: dict[str, Any], path: str = "/chat/completions") -> Any:
    """Send a request without any client."""
    request = urllib.request.Request(
        judge.base_url + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "X-Test": "1"},
    )
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.loads(response.read())


def by_schema(schema: dict[str, Any], text: str = "Judge.") -> dict[str, Any]:
    """Make a body that asks for JSON by schema."""
    return {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        "response_format": {"json_schema": {"schema": schema}},
    }


def test_without_a_script_any_schema_is_filled() -> None:
    """Each type of a schema gets the first value that it allows."""
    with ScriptedJudge() as judge:
        content = json.loads(ask(judge, by_schema(SCHEMA))["choices"][0]["message"]["content"])

    assert content == {
        "label": "no",
        "kind": "k",
        "count": 2,
        "share": 0,
        "ok": True,
        "note": "scripted",
        "parts": [{"name": "scripted"}],
        "rest": [],
    }


def test_requests_are_recorded_as_they_came() -> None:
    """Path, headers, body, and the parts of the standard data block."""
    text = (
        "<examples>\n<question>\nold\n</question>\n</examples>\n"
        '<question>\nnew\n</question>\n<chunk id="0">\nc0\n</chunk>\n<answer>\na\n</answer>'
    )
    with ScriptedJudge() as judge:
        ask(judge, by_schema(SCHEMA, text))
    (request,) = judge.requests

    assert request.path == "/v1/chat/completions"
    assert request.headers["x-test"] == "1"
    assert (request.question, request.answer, request.chunks) == ("new", "a", ["c0"])
    assert not request.is_reask


def test_a_list_is_used_up_in_order() -> None:
    """One request more than the script has answers is an error that says so."""
    with ScriptedJudge([Reply("one"), {"two": 2}]) as judge:
        body = by_schema(SCHEMA)
        assert ask(judge, body)["choices"][0]["message"]["content"] == "one"
        assert ask(judge, body)["choices"][0]["message"]["content"] == '{"two": 2}'
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(judge, body)

    assert "the script's 2 answers have all been used" in caught.value.read().decode()


def test_an_error_has_its_status_headers_and_words() -> None:
    """What a provider would send is sent."""
    with (
        ScriptedJudge(HttpError(429, "slow down", {"retry-after": "7"}, code="c")) as judge,
        pytest.raises(urllib.error.HTTPError) as caught,
    ):
        ask(judge, {})

    assert caught.value.code == 429
    assert caught.value.headers["retry-after"] == "7"
    assert json.loads(caught.value.read())["error"]["code"] == "c"


def test_no_schema_and_another_path_are_refused() -> None:
    """The default script needs a schema to fill; only chat requests are answered."""
    with ScriptedJudge() as judge:
        with pytest.raises(urllib.error.HTTPError, match="400"):
            ask(judge, {"messages": []})
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(judge.base_url + "/models", timeout=5)


def test_it_ends_at_once_while_a_request_stalls() -> None:
    """A test does not wait for a stall that nobody waits for."""
    import threading
    import time

    judge = ScriptedJudge(Stall(3600))
    with judge:
        thread = threading.Thread(target=lambda: _quietly(judge))
        thread.start()
        while not judge.requests:
            time.sleep(0.005)
    thread.join()

    assert not thread.is_alive()


def _quietly(judge: ScriptedJudge) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - any kind of broken connection will do
        ask(judge, {})


def test_outside_a_with_block_there_is_no_address() -> None:
    """The error says how it is meant to be used."""
    with pytest.raises(RuntimeError, match="use it in a `with` block"):
        _ = ScriptedJudge().base_url


def test_statements_are_filled_by_words() -> None:
    """The default script supports a sentence when most of its words stand in one chunk."""
    body = by_schema({"type": "object", "properties": {"statements": {"type": "array"}}})
    body["messages"][0]["content"] = (
        '<chunk id="0">\nThe tower stands in Paris.\n</chunk>\n'
        "<answer>\nThe tower stands in Paris. Bananas fly.\n</answer>"
    )
    filled = fill_by_words(JudgeRequest(0, "/", {}, body))

    assert isinstance(filled, dict)
    assert [s["is_supported"] for s in filled["statements"]] == [True, False]
    assert filled["statements"][0]["supporting_chunk_ids"] == [0]
