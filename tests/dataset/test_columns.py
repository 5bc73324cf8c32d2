"""Fields are found by name, path, function, or the usual names; doubt is an error."""

from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals import ColumnMap, Sample, evaluate
from rag_evals.dataset.columns import (
    USUAL_NAMES,
    Cells,
    NumberedSample,
    check_header,
    in_windows,
)
from rag_evals.errors import ConfigurationError, DataError, MissingColumnError

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


FIELDS: dict[str, tuple[str, ...]] = {
    "question": (
        *("question", "user_input", "query", "input", "вопрос"),
        *("request", "inputs", "attributes.input.value", "запрос"),
    ),
    "answer": (
        *("answer", "response", "output", "prediction", "actual_output", "ответ"),
        *("result", "replies", "predictions", "outputs", "attributes.output.value"),
    ),
    "context": (
        *("retrieval_context", "context", "contexts", "retrieved_contexts", "documents"),
        *("passages", "source_documents", "source_nodes", "контекст", "источники"),
        *("retrieved_context", "attributes.retrieval.documents"),
        *("контексты", "фрагменты", "документы"),
    ),
    "reference": (
        *("reference", "ground_truth", "expected_output", "expected_answer"),
        *("expected", "golden", "эталон"),
        *("ground_truths", "reference_answer", "reference_outputs", "expected_response"),
        *("targets", "ground_truth_output", "эталонный ответ", "правильный ответ"),
    ),
    "id": ("id", "sample_id", "uid", "record_id", "context.span_id"),
    "language": ("language", "lang", "язык"),
    "relevant_ids": ("relevant_ids",),
    "turns": ("messages", "turns"),
}
"""Every name that is known of itself; the usual ones come first."""


@pytest.mark.parametrize("field", FIELDS)
def test_every_known_name_of_a_field_is_found(field: str) -> None:
    """In letters of any size, with blanks around it or a mark in front."""
    assert FIELDS.keys() == USUAL_NAMES.keys()
    for name in FIELDS[field]:
        for written in (name, name.upper(), f" {name.title()} ", f"\ufeff{name}"):
            assert ColumnMap().taken({written: "v", "note": "n"}) == {field: written}
    assert ColumnMap().taken({f"{FIELDS[field][0]} 2": "v"}) == {}


@pytest.mark.parametrize("field", ["question", "answer", "context", "reference", "id"])
def test_a_usual_name_goes_before_the_name_of_another_tool(field: str) -> None:
    """So that a row of both has no doubt; two of the same kind are in doubt."""
    usual, others = USUAL_NAMES[field], FIELDS[field][len(USUAL_NAMES[field]) :]
    for other in others:
        assert ColumnMap().taken({other: "o", usual[-1]: "u"}) == {field: usual[-1]}
    for first, second in ((usual[1], usual[2]), others[:2]):
        with pytest.raises(
            DataError, match=f"could both be '{field}'; specify one, as in {field}="
        ):
            ColumnMap().taken({first: "a", second: "b"})
    three = {name: "a" for name in USUAL_NAMES[field] if name != "context"} | {others[0]: "o"}
    with pytest.raises(DataError, match=rf"^'{usual[0]}' and '.*' and '.*' could both be"):
        ColumnMap().taken(three)


def test_a_context_beside_what_was_retrieved_is_a_column_of_its_own() -> None:
    """It is the ideal context, so that it can be asked for by name."""
    row = {"retrieval_context": ["r"], "context": ["i"], "answer": "a"}

    assert ColumnMap().taken(row)["context"] == "retrieval_context"
    assert ColumnMap().others(row) == {"context": ["i"]}
    assert ColumnMap(context="context").sample(row).context[0].text == "i"


def test_a_number_that_is_expected_leaves_the_name_to_others() -> None:
    """A truth is a number too; a text beside a reference is in doubt."""
    for score in (0.5, 1, True):
        row = {"expected": score, "golden": "g", "answer": "a"}
        assert ColumnMap().taken(row) == {"answer": "answer", "reference": "golden"}
        assert ColumnMap().others(row) == {"expected": score}
    with pytest.raises(DataError, match="'expected' and 'golden' could both be 'reference'"):
        ColumnMap().taken({"expected": "e", "golden": "g"})


TALK = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


def test_a_conversation_needs_no_field_of_one_answer() -> None:
    """Neither question, answer nor context; a reference it still needs."""
    every = frozenset({"question", "answer", "context"})
    for columns, row in (
        (ColumnMap(), {"messages": TALK}),
        (ColumnMap(), {"turns": TALK}),
        (ColumnMap(turns="log.talk"), {"log": {"talk": TALK}}),
        (ColumnMap(turns=lambda row: row["own"]), {"own": TALK}),
    ):
        (turn,) = columns.sample(row, every).turns
        assert (turn.question, turn.answer) == ("q", "a")
        with pytest.raises(MissingColumnError, match="no column for 'reference'"):
            columns.sample(row, every | {"reference"})


def test_messages_beside_an_answer_are_a_column_of_their_own() -> None:
    """Found by its usual name or the name of a tool, or named; unless the turns are named."""
    for columns, answer in (
        (ColumnMap(), "answer"),
        (ColumnMap(), "result"),
        (ColumnMap(answer="final"), "final"),
    ):
        row = {"messages": TALK, answer: "a", "context": "c"}
        sample = columns.sample(row, NEEDED)

        assert (sample.answer, sample.turns) == ("a", ())
        assert columns.others(row) == {"messages": TALK}
        with pytest.raises(MissingColumnError, match="no column for 'context'"):
            columns.sample({"messages": TALK, answer: "a"}, NEEDED)
    named = ColumnMap(turns="messages")
    assert named.taken({"messages": TALK, "answer": "a"}) == {
        "answer": "answer",
        "turns": "messages",
    }


def test_the_other_columns_are_those_that_no_field_has() -> None:
    """The ids of relevant chunks stay one; what a table writes for nothing is None."""
    row = {
        "Answer": "a",
        "contexts": ["c"],
        "uid": "x",
        "relevant_ids": ["1"],
        "meta": {"q": "q"},
        "word": "None",
        "nan": float("nan"),
        "inf": float("inf"),
        "zero": 0,
        "empty": "",
    }
    kept = {name: row[name] for name in ("relevant_ids", "meta", "word", "inf", "zero", "empty")}

    assert ColumnMap().others(row) == kept | {"nan": None}
    assert ColumnMap(question="meta.q", answer="word").others(row) == (
        {name: value for name, value in kept.items() if name != "word"}
        | {"nan": None, "Answer": "a"}
    )
    assert "meta" not in ColumnMap(question="meta").others(row)


def test_a_map_tells_its_sources() -> None:
    """Of a function its name; of a field without a source nothing."""

    def own(_: Mapping[str, Any]) -> str:
        return "a"

    class Source:
        def __call__(self, _: Mapping[str, Any]) -> str:
            return "b"

    columns = ColumnMap(answer=own, context="meta.c", reference=Source(), turns=str)

    assert columns.described() == {
        "answer": "test_a_map_tells_its_sources.<locals>.own",
        "context": "meta.c",
        "reference": "function",
        "turns": "str",
    }
    assert ColumnMap().described() == {}
    assert columns.taken({}) == {
        "answer": "a function",
        "context": "meta.c",
        "reference": "a function",
        "turns": "a function",
    }
    for field in USUAL_NAMES:
        sources: dict[str, Any] = {field: own}
        assert ColumnMap(**sources).has_functions
        sources[field] = "own"
        assert not ColumnMap(**sources).has_functions


def test_a_map_is_made_of_a_mapping_or_of_pairs() -> None:
    """A map stays what it is; a source is a text with something in it, or a function."""
    columns = ColumnMap(answer="a")

    assert ColumnMap.of(columns) is columns
    assert ColumnMap.of(None) == ColumnMap.of({}) == ColumnMap.parse([]) == ColumnMap()
    assert ColumnMap.of({"answer": "a"}) == ColumnMap.parse(["answer=a"]) == columns
    assert ColumnMap.of(MappingProxyType({"id": "i", "turns": "t"})) == ColumnMap(id="i", turns="t")
    assert ColumnMap.parse(["answer=a=b", "id=x.y"]) == ColumnMap(answer="a=b", id="x.y")
    wrong: dict[Any, str] = {
        "answer": "columns is 'answer'; expected a mapping",
        3: "columns is 3; expected a mapping",
        ("anwser", "a"): "columns has an unknown field 'anwser'",
        ("answer", ""): "the source of 'answer' is ''; expected a column",
        ("answer", None): "the source of 'answer' is None; expected a column",
        ("answer", 3): "the source of 'answer' is 3; expected a column",
    }
    for what, message in wrong.items():
        with pytest.raises(ConfigurationError, match=message):
            ColumnMap.of(dict([what]) if isinstance(what, tuple) else what)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", 1),
        ("a.b.c", 2),
        ("a.c", 3),
        ("list.0", 4),
        ("list.1.x", 5),
        ("list.01.x", 5),
        ("list.2", None),
        ("list.-1", None),
        ("list.²", None),
        ("list.0000000001", None),
        ("list.000000001.x", 5),
        ("text.0", None),
        ("a", {"b": 0, "b.c": 9, "c": 3}),
        ("deep.x.y.z", 6),
        ("nothing", None),
        ("", 7),
        ("7", None),
    ],
)
def test_a_path_takes_the_longest_key_that_leads_on(path: str, found: Any) -> None:
    """A shorter key is tried where the longer one leads nowhere; numbers count from 0."""
    row: dict[str, Any] = {
        "a": {"b": 0, "b.c": 9, "c": 3},
        "a.b": 1,
        "a.b.c": 2,
        "list": [4, {"x": 5}],
        "text": "text",
        "deep.x": {"y": 0},
        "deep": {"x": {"y": {"z": 6}}},
        "": 7,
    }
    columns = ColumnMap(id=path)
    if found is None:
        assert columns.id_in(row) is None
        with pytest.raises(
            MissingColumnError, match=f"no column '{path}' for 'id'; the row has 'a'"
        ):
            columns.sample(row)
    else:
        assert columns._value(row, {}, "id", frozenset()) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, True),
        (7, "7"),
        (-7, "-7"),
        (7.0, "7"),
        (-0.5, "-0.5"),
        (123456789012345.0, "123456789012345"),
        (12345678901234567890, "12345678901234567890"),
        (1e300, "1e+300"),
        (1 / 3, "0.333333333333333"),
        (Fraction(1, 4), "0.25"),
        ("7.0", "7.0"),
        (None, None),
        ([7], [7]),
    ],
)
def test_a_number_of_a_table_is_text(value: object, text: object) -> None:
    """With 15 digits where it has a fraction, whole otherwise; a truth is none."""
    assert Cells().text(value) == text
    for no_number in (float("inf"), float("-inf")):
        assert Cells().text(no_number) == no_number


class Whole:
    """A whole number of another library, which shows itself in its own way."""

    def __int__(self) -> int:
        return 7


Integral.register(Whole)


def test_a_whole_number_of_any_library_is_one() -> None:
    """As an id and as a text; and a name of a column may be a number."""
    assert Cells().text(Whole()) == "7"
    assert ColumnMap().sample({"id": Whole()}).id == ColumnMap().id_in({"id": Whole()}) == "7"
    assert ColumnMap().sample({7: "x", "answer": "a"}).answer == "a"  # type: ignore[dict-item]


def test_an_id_is_a_text_or_a_whole_number() -> None:
    """Of a fault as of a good row; in a table half a number is its text."""
    for own, name in (("x", "x"), (7, "7"), (7.0, "7"), (True, "1"), (10**20, "1" + "0" * 20)):
        assert ColumnMap().sample({"id": own}).id == name
        assert ColumnMap().id_in({"id": own}) == name
    for fault in (7.5, " ", "", None, ["x"], float("nan"), float("inf")):
        assert ColumnMap().id_in({"id": fault}) is None
    assert ColumnMap().sample(Cells(id=7.5)).id == "7.5"
    assert ColumnMap(id="none").id_in({"id": "x"}) is None
    assert ColumnMap().id_in({"id": "x", "uid": "y"}) is None


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "NULL", "null", "<NA>", "NaT", " NaT "])
def test_a_word_for_nothing_is_no_value(word: str) -> None:
    """In the letters that tools use, with some blanks around it."""
    assert ColumnMap().sample({"id": word, "question": word, "reference": word}) == Sample()
    padded = word.strip().ljust(20)
    assert ColumnMap().sample({"answer": padded}).answer == padded
    assert ColumnMap().sample({"answer": padded[:19]}).answer is None


@pytest.mark.parametrize("word", ["none", "NONE", "NAN", "Null", "<na>", "nat", "null.", "-"])
def test_another_word_is_an_answer(word: str) -> None:
    """Letters in another size are what somebody wrote."""
    assert ColumnMap().sample({"answer": word}).answer == word


def test_a_header_with_a_name_twice_is_refused() -> None:
    """Sorted, each once; columns without a name are as many as they like."""
    check_header(["a", "", "", "A", None, None])
    with pytest.raises(DataError, match=r"^the table: the header contains 'a', 'b' twice$"):
        check_header(["b", "a", "b", "a", "c", "b"])
    with pytest.raises(DataError, match=r"^t\.csv: the header contains 7 twice$"):
        check_header([7, "7", 7], "t.csv")


def numbered(position: int, *chunks: str) -> NumberedSample:
    """Make a row with these chunks; without chunks one that has a fault."""
    sample = Sample(context=chunks) if chunks else DataError("a fault")
    return NumberedSample(position, None if position % 2 else "own", sample)


def test_rows_of_one_context_stand_together_within_a_window() -> None:
    """All chunks count, in their order; the next window of 256 rows begins anew."""
    rows = [
        *(numbered(0, "a", "b"), numbered(1, "a"), numbered(2), numbered(3, "b", "a")),
        *(numbered(4, "a", "b"), numbered(5, "a", "c"), numbered(6), numbered(7, "a")),
    ]
    assert [row.position for row in in_windows(iter(rows))] == [0, 4, 1, 7, 2, 6, 3, 5]

    many = [numbered(place, "xyz"[place % 3]) for place in range(600)]
    order = [row.position for row in in_windows(iter(many))]
    windows = [range(256), range(256, 512), range(512, 600)]
    assert order == [
        place
        for window in windows
        for first in window[:3]
        for place in range(first, window[-1] + 1, 3)
    ]


def test_a_row_without_an_id_is_named_by_its_position() -> None:
    """From 0, as rows are counted everywhere."""
    assert [numbered(place, "c").name for place in (0, 1, 7)] == ["own", "row-1", "row-7"]
