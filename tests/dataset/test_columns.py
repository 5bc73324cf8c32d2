"""Fields are found by name, path, function, or the usual names; doubt is an error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals import ColumnMap, evaluate
from rag_evals.dataset.columns import USUAL_NAMES, Cells
from rag_evals.errors import DataError, MissingColumnError

NEEDED = frozenset({"answer", "context"})


@pytest.mark.parametrize("answer", USUAL_NAMES["answer"])
@pytest.mark.parametrize("context", USUAL_NAMES["context"])
def test_usual_names_are_recognised(answer: str, context: str) -> None:
    """Rows of other tools need no mapping."""
    sample = ColumnMap().sample({answer: "a", context: ["c"]}, NEEDED)

    assert sample.answer == "a"
    assert sample.context[0].text == "c"


def test_rows_of_other_tools_are_recognised() -> None:
    """ragas, LangChain, mlflow, and deepeval, whose `context` is not what was retrieved."""
    ragas = {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r"}
    deepeval = {"Input": "q", "actual_output": "a", "expected_output": "r", "context": ["ideal"]}
    langchain = {"query": "q", "result": "a", "source_documents": ["c"], "ground_truth": "r"}
    mlflow = {"request": "q", "response": "a", "retrieved_context": ["c"], "targets": "r"}
    for row in (ragas, langchain, mlflow, deepeval | {"retrieval_context": ["c"]}):
        sample = ColumnMap().sample(row, NEEDED)

        assert (sample.question, sample.answer, sample.reference) == ("q", "a", "r")
        assert [chunk.text for chunk in sample.context] == ["c"]


def test_an_expected_score_is_not_a_reference() -> None:
    """A number in `expected` is the score of the row; text is the correct answer."""
    for value, reference in ((0.8, None), (1, None), ("In Paris.", "In Paris.")):
        row = {"answer": "a", "context": "c", "expected": value}
        assert ColumnMap().sample(row, NEEDED).reference == reference


def test_two_candidates_are_an_error_that_names_both() -> None:
    """Which of two columns is meant is not guessed."""
    row = {"answer": "a", "response": "b", "context": "c"}
    with pytest.raises(DataError, match="'answer' and 'response' could both be 'answer'"):
        ColumnMap().sample(row, NEEDED)

    assert ColumnMap(answer="response").sample(row, NEEDED).answer == "b"


def test_messages_beside_a_named_answer_are_not_turns() -> None:
    """Whoever names the column of the answer has it graded, and not the conversation."""
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "old"}]
    row = {"messages": talk, "meta": {"final": "new"}, "context": ["c"]}
    sample = ColumnMap(answer="meta.final").sample(row, NEEDED)

    assert (sample.answer, sample.turns) == ("new", ())
    assert ColumnMap().sample(row, NEEDED).turns[0].answer == "old"


def test_a_path_leads_into_a_column() -> None:
    """Dots go down, numbers index lists, and a real key with dots wins."""
    row: dict[str, Any] = {
        "prediction": {"contexts": ["c"], "messages": [{"text": "first"}]},
        "prediction.contexts": ["real key"],
        "a": {"b.c": {"d": "deep"}},
    }
    columns = ColumnMap(
        answer="prediction.messages.0.text", context="prediction.contexts", question="a.b.c.d"
    )
    sample = columns.sample(row, NEEDED)

    assert sample.answer == "first"
    assert sample.context[0].text == "real key"
    assert sample.question == "deep"
    for path in ("prediction.messages.1.text", "prediction.messages.first", "a.b.c.d.e"):
        with pytest.raises(MissingColumnError, match=f"'{path}'"):
            ColumnMap(answer=path, context="prediction.contexts").sample(row, NEEDED)


def test_a_function_of_the_row_is_a_source() -> None:
    """In Python a column may be computed."""
    columns = ColumnMap(
        answer=lambda row: "\n\n".join(row["out"]["messages"]), context=lambda _: ["c"]
    )

    assert columns.sample({"out": {"messages": ["a", "b"]}}, NEEDED).answer == "a\n\nb"
    assert columns.taken({"out": {}}) == {"answer": "a function", "context": "a function"}


def test_a_function_that_raises_is_a_data_error() -> None:
    """The message has the field, the type and the text of what was raised."""
    with pytest.raises(DataError, match="function for 'answer' raised KeyError: 'out'"):
        ColumnMap(answer=lambda row: row["out"]).sample({}, NEEDED)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (ColumnMap(), r"no column for 'answer' \(one of 'answer', .*the row has 'text', 'context'"),
        (ColumnMap(answer="reply"), "no column 'reply' for 'answer'; the row has 'text'"),
        (ColumnMap(answer="text.deep"), "no column 'text.deep' for 'answer'"),
    ],
)
def test_a_missing_column_lists_what_is_there(columns: ColumnMap, message: str) -> None:
    """The error shows the columns found, so that the right one can be named."""
    with pytest.raises(MissingColumnError, match=message):
        columns.sample({"text": "a", "context": "c"}, NEEDED)


def test_an_empty_value_is_not_a_missing_column() -> None:
    """A null answer is for the grader to call not scorable."""
    assert ColumnMap().sample({"answer": None, "context": []}, NEEDED).answer is None


def test_an_id_may_be_a_number() -> None:
    """Ids from spreadsheets are numbers; they are kept as text, also of a row with a fault."""
    assert ColumnMap().sample({"id": 7, "answer": "a"}).id == "7"
    assert ColumnMap().sample({"id": 7.0, "answer": "a"}).id == "7"
    assert [ColumnMap().id_in({"id": own}) for own in (7, 7.0, 7.5, " ")] == ["7", "7", None, None]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["answer"], "'answer' is not FIELD=SOURCE; fields are question, answer"),
        (["anwser=x"], "'anwser=x' is not FIELD=SOURCE"),
        (["answer="], "is not FIELD=SOURCE"),
        (["answer=a", "answer=b"], "'answer' is given twice: 'a' and 'b'"),
    ],
)
def test_a_wrong_pair_is_explained(pairs: list[str], message: str) -> None:
    """The command line's pairs are checked before any file is read."""
    with pytest.raises(DataError, match=message):
        ColumnMap.parse(pairs)


KEYS = st.text(st.sampled_from("ab."), min_size=1, max_size=4)


@given(row=st.dictionaries(KEYS, st.text("xyz", max_size=3)), key=KEYS)
def test_a_key_that_is_there_always_wins(row: dict[str, str], key: str) -> None:
    """Whatever dots a key holds, naming it in full finds it."""
    row[key] = "found"

    assert ColumnMap(answer=key).sample(row).answer == "found"


@given(st.dictionaries(KEYS, st.text("xyz", max_size=3), min_size=1), st.lists(KEYS, max_size=3))
def test_nested_keys_are_found_by_their_path(inner: dict[str, str], outer: list[str]) -> None:
    """A value below any chain of keys is found by joining the keys with dots."""
    key = next(iter(inner))
    row: dict[str, Any] = {key: inner[key]}
    for name in reversed(outer):
        row = {name: row}

    assert ColumnMap(answer=".".join([*outer, key])).sample(row).answer == inner[key]


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "NULL", "null", " None\n", "<NA>"])
def test_words_for_nothing_are_empty_cells(word: str) -> None:
    """What pandas, Python and SQL write for no value is no answer, no context and no question."""
    row = {"question": word, "answer": word, "context": word, "reference": word, "topic": word}
    sample = ColumnMap().sample(row)

    assert (sample.question, sample.answer, sample.reference, sample.context) == (None,) * 3 + ((),)
    assert ColumnMap().sample({"answer": "none", "context": f"{word} of it"}).answer == "none"
    assert ColumnMap().sample({"answer": f"Ask {word}."}).answer == f"Ask {word}."


def test_words_for_nothing_are_counted_as_not_scorable() -> None:
    """None of them is graded; a column of the user's own keeps its word."""
    words = ("NaN", "None", "NULL", "null")
    it = "It is in Paris."
    rows = [{"question": f"{word}?", "answer": word, "context": [it], "t": word} for word in words]
    run = evaluate([*rows, {"answer": it, "context": "None"}, {"answer": it, "context": [it]}])

    said = "1.00 over 1 scored of 6 (5 not scorable: 4 empty_answer, 1 empty_context)"
    assert said in str(run.summary())
    assert {one.columns["t"] for one in run.samples.values() if "t" in one.columns} == set(words)


@pytest.mark.parametrize(
    ("number", "text"), [(1234567.25, "1234567.25"), (1987.0, "1987"), (0.1 + 0.2, "0.3")]
)
def test_a_number_of_a_table_is_the_text_that_it_shows(number: float, text: str) -> None:
    """No digit is lost, and none appears that nobody wrote."""
    assert ColumnMap().sample(Cells(answer=number, context="c")).answer == text
