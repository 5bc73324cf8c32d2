"""Rows of other tools need no mapping, and the run says whose columns it took."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import ColumnMap, evaluate, load_run
from rag_evals.dataset.columns import PRESETS
from rag_evals.errors import ConfigurationError, DataError

Q, A, C, R = "Where is the tower?", "It stands in Paris.", "The tower stands in Paris.", "In Paris."
OTHER = ["Nothing of it."]

ROWS: dict[str, list[dict[str, Any]]] = {
    "deepeval": [
        {"input": Q, "actual_output": A, "retrieval_context": [C], "expected_output": R},
        {"input": Q, "actual_output": A, "retrieval_context": [C], "context": OTHER},
    ],
    "ragas": [
        {"user_input": Q, "response": A, "retrieved_contexts": [C], "reference": R},
        {"user_input": Q, "response": A, "retrieved_contexts": [C], "reference_contexts": OTHER},
    ],
    "ragas-0.1": [{"question": Q, "answer": A, "contexts": [C], "ground_truths": [R]}],
    "haystack": [
        {"query": Q, "replies": [A], "documents": [{"content": C, "meta": {"page": 1}}]},
        {"query": Q, "data": A, "documents": [{"content": C, "score": 0.5}]},
    ],
    "llamaindex": [
        {"query": Q, "response": {"response": A}, "source_nodes": [{"node": {"text": C}}]},
        {"query": Q, "response": A, "contexts": [C], "passing": True},
    ],
    "langchain": [
        {"query": Q, "result": A, "source_documents": [{"page_content": C, "metadata": {}}]},
        {"input": Q, "answer": A, "context": [{"page_content": C}]},
    ],
    "phoenix": [
        {
            "attributes.input.value": Q,
            "attributes.output.value": A,
            "attributes.retrieval.documents": [{"document.content": C, "document.score": 0.4}],
            "context.span_id": "s1",
        }
    ],
    "trulens": [{"record_id": "r1", "input": Q, "output": A, "contexts": [C]}],
    "openevals": [{"inputs": Q, "outputs": A, "context": [C], "reference_outputs": R}],
    "mlflow": [
        {
            "inputs": {"question": Q},
            "outputs": {"response": A, "retrieved_context": [{"content": C, "doc_uri": "u"}]},
            "expectations": {"expected_response": R},
        },
        {"request": Q, "response": A, "retrieved_context": [{"content": C}]},
    ],
    "otel": [
        {
            "gen_ai.input.messages": [
                {"role": "user", "parts": [{"type": "text", "content": Q}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "result": C}]},
            ],
            "gen_ai.output.messages": [
                {"role": "assistant", "parts": [{"type": "text", "content": A}]}
            ],
        }
    ],
    "langsmith": [
        {
            "inputs": {"question": Q},
            "outputs": {"answer": A, "documents": [C]},
            "reference_outputs": {"answer": R},
        },
        {"inputs.question": Q, "outputs.answer": A, "outputs.documents": [C]},
    ],
    "russian": [
        {"Вопрос": Q, "Ответ": A, "Контекст": [C], "Эталон": R},
        {" ОТВЕТ ": A, "источники": C},
    ],
}


@pytest.mark.parametrize("name", [preset.name for preset in PRESETS])
def test_a_tool_is_recognised_by_its_columns(name: str) -> None:
    """Without a flag, and with one; the summary names it."""
    for row in ROWS[name]:
        for columns in (None, name):
            run = evaluate([row], client="embedded", columns=columns)
            sample = ColumnMap.of(columns).sample(row, frozenset({"answer", "context"}))

            answer = sample.turns[-1].answer if sample.turns else sample.answer
            assert (answer, [chunk.text for chunk in sample.context]) == (A, [C])
            assert sample.question in (Q, None)
            assert sample.reference in (R, None)
            assert run.outcomes[0].score == 1.0
            assert str(run.summary()).startswith(f"judge: embedded; columns as {name} names them")


def test_a_stored_run_says_whose_columns_it_took() -> None:
    """The manifest keeps it for files."""
    Path("d.jsonl").write_text('{"input": "q", "actual_output": "a", "retrieval_context": ["a"]}')
    evaluate("d.jsonl", client="embedded", out="out")

    assert load_run("out").manifest["presets"] == ["deepeval"]
    assert "columns as deepeval names them" in str(load_run("out").summary())


def test_upper_and_lower_case_are_the_same() -> None:
    """As a spreadsheet has them."""
    sample = ColumnMap().sample({"Question": Q, "ANSWER": A, "Context": C})

    assert (sample.question, sample.answer) == (Q, A)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"user_input": Q, "response": A, "answer": A, "retrieved_contexts": [C]},
            "'response' and",
        ),
        ({"Answer": A, "answer": A, "context": C}, "'Answer' and 'answer' could both be 'answer'"),
        ({"input": Q, "actual_output": A, "retrieval_context": C, "answer": A}, "could both be"),
    ],
)
def test_doubt_is_an_error(row: dict[str, Any], message: str) -> None:
    """A column that the tool does not have may be what is meant."""
    with pytest.raises(DataError, match=message):
        ColumnMap().sample(row)


@pytest.mark.parametrize(
    "make", [lambda: ColumnMap(preset="ragaz"), lambda: evaluate([], columns="ragaz")]
)
def test_an_unknown_preset_lists_the_known(make: Callable[[], object]) -> None:
    """Before anything is read."""
    with pytest.raises(ConfigurationError, match="preset 'ragaz' is unknown; expected one of deep"):
        make()


def test_phoenix_evals_are_read_where_they_are_named() -> None:
    """Their `reference` is the context, which no column shows: it has to be said."""
    row = {"input": Q, "output": A, "reference": C}

    assert ColumnMap(preset="phoenix").sample(row).context[0].text == C
    assert ColumnMap().sample(row).reference == C
