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


def filled(text: str, properties: dict[str, Any], system: str = "") -> dict[str, Any]:
    """Fill a schema with these properties from a prompt."""
    body = by_schema({"type": "object", "properties": properties}, text)
    body["messages"].insert(0, {"role": "system", "content": system})
    found = fill_by_words(JudgeRequest(0, "/", {}, body))
    assert isinstance(found, dict)
    return dict(found)


LISTED = {"type": "array"}
DATA = """<question>
Where is the tower?
</question>
<chunk id="0">
Bananas are yellow. Apples are red.
</chunk>
<chunk id="1">
The old tower stands in Paris. It is tall.
</chunk>
<answer>
<s0>The tower stands in Paris.</s0>
<s1>Cows fly to the Moon.</s1>
<s2>Is it so?</s2>
</answer>"""


def test_each_sentence_has_a_verdict_of_its_own() -> None:
    """By the words of one chunk, more than half of them; a question claims nothing."""
    one = {"type": "object"}
    found = filled(DATA, {"s0": one, "s1": one, "s2": one})

    assert found == {
        "s0": {
            "reasoning": "100% of the words are in one chunk",
            "verdict": {"supported_by": [1]},
        },
        "s1": {
            "reasoning": "20% of the words are in one chunk",
            "verdict": {"not_supported_because": "not_in_context"},
        },
        "s2": {"claims_nothing": "It is a question."},
    }


def test_lists_are_filled_with_what_the_data_has() -> None:
    """Statements of the sentences, chunks by their share of the answer, the closest sentence."""
    names = ("statements", "graded_chunks", "labels", "chunks", "no_claim_sentences", "checks")
    found = filled(DATA, dict.fromkeys(names, LISTED), "Rules:\n- clear: say so\n- short: be so\n")

    assert [one["statement"] for one in found["statements"]] == [
        *("The tower stands in Paris.", "Cows fly to the Moon.", "Is it so?")
    ]
    assert [one["sentence_ids"] for one in found["statements"]] == [[0], [1], [2]]
    assert [one["supporting_chunk_ids"] for one in found["statements"]] == [[1], [], [1]]
    assert found["statements"][0]["evidence"] == [
        {"chunk_id": 1, "quote": "The old tower stands in Paris."}
    ]
    assert [one["verdict"] for one in found["statements"]] == [
        *("supported", "not_in_context", "supported")
    ]
    assert found["graded_chunks"] == [{"id_chunk": 0}, {"id_chunk": 1}]
    assert found["labels"] == [{"chunk_id": 0}, {"chunk_id": 1}]
    assert found["chunks"] == [
        {"chunk_id": 0, "is_used": False},
        {"chunk_id": 1, "is_used": True},
    ]
    assert found["no_claim_sentences"] == []
    assert found["checks"] == [{"criterion": "clear"}, {"criterion": "short"}]


def test_statements_and_citations_are_decided_by_their_chunks() -> None:
    """A citation by its one chunk, a statement by the best of all."""
    statements = """<statement id="0">
The tower stands in Paris.
</statement>
<statement id="1">
sentence 0, chunk 0
</statement>
<statement id="2">
sentence 0, chunk 1
</statement>"""
    found = filled(f"{DATA}\n{statements}", {"verdicts": LISTED, "citations": LISTED})

    assert [(one["statement_id"], one["is_supported"]) for one in found["verdicts"]] == [
        *((0, True), (1, False), (2, False))
    ]
    assert [(one["citation_id"], one["is_supported"]) for one in found["citations"]] == [
        *((1, False), (2, True))
    ]
    assert found["citations"][1]["reasoning"] == "100% of the words are in the chunk"


@pytest.mark.parametrize(
    ("question", "answer", "answerable", "abstained"),
    [
        ("Where is the tower?", "In Paris.", "yes", "no"),
        ("Why do cows sing songs?", "I don't know.", "no", "yes"),
        ("Where?", "Этого я не знаю.", "no", "yes"),
        ("Where?", "Not sure at all", "no", "yes"),
    ],
)
def test_an_answer_may_be_missing(
    question: str, answer: str, answerable: str, abstained: str
) -> None:
    """A question has an answer if more than 0.3 of its words are in one chunk."""
    text = f"<question>\n{question}\n</question>\n<chunk>\nThe tower is old.\n</chunk>\n"
    text += f"<answer>\n{answer}\n</answer>"
    found = filled(text, {"answerable": {"type": "object"}, "abstained": {"type": "object"}})

    assert (found["answerable"]["label"], found["abstained"]["label"]) == (answerable, abstained)


def test_items_have_only_the_fields_that_the_schema_has() -> None:
    """Others are left out, further ones have the first value that is allowed."""
    item = {"type": "object", "properties": {"statement": {"type": "string"}, "n": {"const": 3}}}
    found = filled(DATA, {"statements": {"type": "array", "items": item}})

    assert found["statements"][0] == {"statement": "The tower stands in Paris.", "n": 3}
    whole = filled("<answer>\nOne is so. Two: 3.5 is it! Да…\n</answer>", {"statements": LISTED})
    assert [one["statement"] for one in whole["statements"]] == [
        *("One is so.", "Two: 3.5 is it!", "Да…")
    ]


def test_a_reply_counts_its_tokens_and_names_its_model() -> None:
    """100 and 20 unless the script says others; a refusal has no content."""
    with ScriptedJudge([
        {"a": 1},
        Reply("x", "length", None, 7, 3, "other", "fp"),
        Reply("x", refusal="no"),
    ]) as judge:  # fmt: skip
        plain, other, refused = (ask(judge, by_schema(SCHEMA)) for _ in range(3))

    assert plain["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    assert (plain["model"], "system_fingerprint" in plain) == ("m", False)
    assert other["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert (other["model"], other["system_fingerprint"]) == ("other", "fp")
    assert [one["choices"][0]["finish_reason"] for one in (plain, other)] == ["stop", "length"]
    message = refused["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, "no")
    assert plain["id"] != other["id"]


def test_a_list_is_used_up_for_each_path_by_itself() -> None:
    """Requests are numbered in the order in which they came."""
    with ScriptedJudge(["one", "two"]) as judge:
        found = [ask(judge, by_schema(SCHEMA), path) for path in ("/a", "/b", "/a")]

    said = [one["choices"][0]["message"]["content"] for one in found]
    assert said == ["one", "one", "two"]
    assert [one.number for one in judge.requests] == [0, 1, 2]
    assert judge.connections == 3


def test_a_request_is_split_into_its_parts() -> None:
    """The first user message is the data; a reply in the messages makes it a re-ask."""
    messages = [
        {"role": "system", "content": "Be strict."},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": DATA},
        {"role": "user", "content": "<answer>\nother\n</answer>"},
    ]
    request = JudgeRequest(0, "/", {}, {"messages": messages})

    assert request.instructions == "Be strict.\nBe brief."
    assert request.data == DATA
    assert request.sentences == ["The tower stands in Paris.", "Cows fly to the Moon.", "Is it so?"]
    assert request.answer == "The tower stands in Paris.\nCows fly to the Moon.\nIs it so?"
    assert (request.reference, request.schema, request.is_reask) == (None, {}, False)
    for role in ("assistant", "tool"):
        again = {"messages": [*messages, {"role": role, "content": "x"}]}
        assert JudgeRequest(0, "/", {}, again).is_reask
    tool = {"function": {"name": "f", "parameters": {"type": "object"}}}
    assert JudgeRequest(0, "/", {}, {"tools": [tool]}).schema == {"type": "object"}
    in_words = {"role": "user", "content": 'Reply as\n{"properties": {"a": 1}}'}
    assert JudgeRequest(0, "/", {}, {"messages": [in_words]}).schema == {"properties": {"a": 1}}
    assert (
        JudgeRequest(0, "/", {}, {"messages": [{"role": "user", "content": "\n{}"}]}).schema == {}
    )
