"""Chunks and answers are read in every form in which libraries hand them over."""

from types import SimpleNamespace as Thing
from typing import Any

import pytest

from rag_evals import Sample
from rag_evals.errors import DataError

NODE = Thing(text="n", metadata={"page": 1}, node_id="n1")
CHUNKS: dict[str, tuple[Any, list[tuple[str, dict[str, Any]]]]] = {
    "texts": (["a", "b"], [("a", {}), ("b", {})]),
    "LangChain": ([Thing(page_content="a", metadata={"p": 1})], [("a", {"p": 1})]),
    "LangChain, with scores": (
        [(Thing(page_content="a", metadata={}), 0.3)],
        [("a", {"score": 0.3})],
    ),
    "LlamaIndex": (
        [Thing(node=NODE, score=0.5, text="n", metadata=NODE.metadata)],
        [("n", {"score": 0.5, "page": 1, "id": "n1"})],
    ),
    "Haystack": (
        [Thing(content="a", meta={"p": 1}, score=0.2, id="7", embedding=[0.1])],
        [("a", {"score": 0.2, "id": "7", "p": 1})],
    ),
    "passage": ([{"passage": "a", "rank": 2}], [("a", {"rank": 2})]),
    "metadata": (
        [{"text": "a", "metadata": {"p": 1}, "_score": 2.0}],
        [("a", {"score": 2.0, "p": 1})],
    ),
    "meta": ([{"content": "a", "meta": {"p": 1}}], [("a", {"p": 1})]),
    "no score": ([{"text": "a", "score": float("nan")}], [("a", {})]),
    "node": (
        [{"node": {"text": "a", "metadata": {"p": 1}}, "score": 0.2}],
        [("a", {"score": 0.2, "p": 1})],
    ),
    "pairs": ([("a", 0.9), ["b", 0.8]], [("a", {"score": 0.9}), ("b", {"score": 0.8})]),
    "Chroma": (
        {
            "ids": [["1", "2"]],
            "documents": [["a", "b"]],
            "metadatas": [[{"k": 1}, None]],
            "distances": [[0.1, 0.2]],
            "embeddings": None,
        },
        [("a", {"id": "1", "distance": 0.1, "k": 1}), ("b", {"id": "2", "distance": 0.2})],
    ),
    "Chroma, get": ({"ids": ["1"], "documents": ["a"], "metadatas": None}, [("a", {"id": "1"})]),
    "Chroma, get, nothing found": ({"ids": [], "documents": [], "metadatas": []}, []),
    "Elasticsearch": (
        {"hits": {"hits": [{"_id": "x", "_score": 2.5, "_source": {"content": "a", "t": "b"}}]}},
        [("a", {"id": "x", "score": 2.5, "t": "b"})],
    ),
    "Elasticsearch's client": (
        Thing(body={"hits": {"hits": [{"_source": {"text": "a"}}]}}),
        [("a", {})],
    ),
    "JSON": ('["a", {"text": "b", "score": 1}]', [("a", {}), ("b", {"score": 1})]),
    "Python": ("['a', \"b's\"]", [("a", {}), ("b's", {})]),
    "Python mappings": ("[{'text': 'a', 'n': None}]", [("a", {"n": None})]),
    "pairs as text": ("[('a', 0.9), ('b', 0.1)]", [("a", {"score": 0.9}), ("b", {"score": 0.1})]),
    "ids of its own": ({"text": "a", "ids": [1]}, [("a", {"ids": [1]})]),
    "documents of its own": ({"text": "a", "documents": ["b"]}, [("a", {"documents": ["b"]})]),
    "hits of its own": ({"text": "a", "hits": {"hits": 3}}, [("a", {"hits": {"hits": 3}})]),
    "Chroma, nothing found": ({"ids": [[]], "documents": [[]], "metadatas": [[]]}, []),
    "an empty list": ("[]", []),
    "a footnote": ("[1] a", [("[1] a", {})]),
    "a number in brackets": ("[2024]", [("[2024]", {})]),
    "broken": ("['a'", [("['a'", {})]),
}

ANSWERS: dict[str, Any] = {
    "text": "It is so.",
    "AIMessage": Thing(content="It is so.", type="ai"),
    "parts": Thing(content=[{"type": "text", "text": "It is "}, {"type": "text", "text": "so."}]),
    "thinking": {
        "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "It is so."}]
    },
    "LlamaIndex": Thing(response="It is so.", source_nodes=[]),
    "ChatCompletion": Thing(choices=[Thing(message=Thing(content="It is so."))]),
    "ChatCompletion as JSON": {
        "choices": [{"message": {"role": "assistant", "content": "It is so."}}]
    },
    "AgentRunResult": Thing(output="It is so."),
    "Response": Thing(output_text="It is so.", output=[1, 2]),
    "Haystack": Thing(data="It is so.", query="?"),
    "replies": ["It is so."],
    "a list of one message": [Thing(content="It is so.", type="ai")],
    "Response as JSON": {
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "It is so."}]},
        ],
        "text": {"format": {"type": "text"}},
    },
    "the same text twice": {"answer": "It is so.", "content": "It is so."},
}

QUESTIONS: dict[str, Any] = {
    "text": "Is it?",
    "a message": {"role": "user", "content": "Is it?"},
    "parts": {"role": "user", "content": [{"type": "text", "text": "Is it?"}]},
    "HumanMessage": Thing(type="human", content="Is it?"),
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Is it?"}],
    "messages of LangChain": [Thing(type="human", content="Is it?"), Thing(type="ai", content="a")],
}

ROW = {"question": "q", "answer": "a", "context": ["c"]}
SEVERAL: dict[str, tuple[dict[str, Any], str]] = {
    "a row": ({"question": ROW}, "expected text or a message; for a row, use Sample"),
    "a row of a class": ({"question": Thing(**ROW)}, "for a row, use Sample"),
    "a row with content": (
        {"question": {"question": "q", "content": "c"}},
        "question has several texts, in 'question' and 'content'",
    ),
    "a reply": ({"question": {"response": "a"}}, "expected text or a message"),
    "two questions": ({"question": [{"role": "user", "content": "a"}] * 2}, "text or a message"),
    "two answers": (
        {"answer": {"answer": "a", "content": "b"}},
        "answer has several texts, in 'content' and 'answer'; pass the one you mean",
    ),
    "two answers of a class": ({"answer": Thing(answer="a", text="b")}, "answer has several texts"),
    "two references": ({"reference": {"result": "a", "text": "b"}}, "reference has several texts"),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_chunks_are_read_as_retrievers_give_them(name: str) -> None:
    """Text, metadata, and the retriever's own score and id."""
    given, expected = CHUNKS[name]

    assert [(c.text, dict(c.metadata)) for c in Sample(context=given).context] == expected


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_read_as_libraries_give_them(name: str) -> None:
    """Their text, and nothing else."""
    assert Sample(answer=ANSWERS[name]).answer == "It is so."


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_a_text_or_messages(name: str) -> None:
    """Of messages, the only one of a user."""
    assert Sample(question=QUESTIONS[name]).question == "Is it?"


@pytest.mark.parametrize("name", SEVERAL)
def test_which_of_several_texts_is_meant_is_not_guessed(name: str) -> None:
    """A row is no question, and an answer beside a content is none of the two."""
    fields, message = SEVERAL[name]

    with pytest.raises(DataError, match=message):
        Sample(**fields)


def test_an_object_that_holds_itself_has_no_text() -> None:
    """Texts are looked for a few levels down; what has none there is an error, not a search."""
    endless = Thing()
    endless.content = endless
    deep: Any = "a"
    for _ in range(9):
        deep = {"content": deep}

    circle: list[Any] = []
    circle.append(circle)

    for answer in (endless, deep, circle, {"content": circle}):
        with pytest.raises(DataError, match="expected text"):
            Sample(answer=answer)


def test_a_message_of_tool_calls_answers_nothing() -> None:
    """It is empty, not wrong."""
    assert Sample(answer={"choices": [{"message": {"content": None}}]}).answer == ""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"context": "['a'\n 'b']"}, "a printed numpy array, which has no commas"),
        ({"context": {"ids": [["1"], ["2"]], "documents": [["a"], ["b"]]}}, "results of 2 queries"),
        (
            {"context": [["a", "b"]]},
            r"context\[0\] is \['a', 'b'\] \(list\); expected text, or an object",
        ),
        ({"context": [{"text": 3}]}, r"context\[0\]\.text is 3 \(int\); expected text"),
        ({"answer": ["a", "b"]}, r"answer is \['a', 'b'\] \(list\); expected text"),
        ({"answer": []}, r"answer is \[\] \(list\); expected text"),
        ({"context": b""}, r"context is b'' \(bytes\); expected text or a list of texts"),
        ({"answer": {"choices": [{"finish_reason": "stop"}]}}, "answer is {'choices'"),
        ({"answer": {"choices": [{"message": {"content": "a"}}] * 2}}, "answer is {'choices'"),
    ],
)
def test_what_has_no_one_text_is_an_error(fields: dict[str, Any], message: str) -> None:
    """Which text is meant is not guessed."""
    with pytest.raises(DataError, match=message):
        Sample(**fields)
