"""A sample checks its fields and numbers its chunks."""

import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.core import Chunk, Sample
from rag_evals.core.sample import transcript
from rag_evals.errors import DataError


@dataclass
class Document:
    """What LangChain users have."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    "context",
    [
        ["Paris"],
        ({"text": "Paris"},),
        [{"page_content": "Paris"}],
        [{"content": "Paris"}],
        [Document("Paris")],
        [Chunk(7, "Paris")],
        "Paris",
        {"text": "Paris"},
    ],
)
def test_a_context_may_come_in_any_usual_shape(context: Any) -> None:
    """Texts, mappings and objects with a text all become chunks, numbered from 0."""
    assert [(c.id, c.text) for c in Sample(context=context).context] == [(0, "Paris")]


def test_metadata_comes_along() -> None:
    """What stands beside the text of a chunk is kept for prompts."""
    sample = Sample(context=[{"text": "a", "page": 3}, Document("b", {"page": 4})])

    assert [c.metadata for c in sample.context] == [{"page": 3}, {"page": 4}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answer": 3}, "answer is 3 (int); expected text"),
        ({"answer": float("nan")}, "answer is nan (float); expected text"),
        ({"context": 3}, "context is 3 (int); expected text or a list of texts"),
        (
            {"context": ["a", 3]},
            "context[1] is 3 (int); expected text, or an object with a field 'text'",
        ),
        ({"context": [{"body": "a"}]}, "context[0] is {'body': 'a'} (dict); expected text"),
        ({"context": [{"text": 1}]}, "context[0].text is 1 (int); expected text"),
        ({"question": "a\ud800"}, "question has a lone surrogate '\\ud800' at character 1"),
    ],
)
def test_a_field_that_is_no_text_is_named(fields: dict[str, Any], message: str) -> None:
    """The error has the place, the value and what would be right."""
    with pytest.raises(DataError) as caught:
        Sample(**fields)

    assert message in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.text(max_size=5)))
def test_equal_content_has_one_hash(answer: str, context: list[str]) -> None:
    """The hash depends on the content alone, and survives pickling."""
    sample = Sample(answer=answer, context=context, id="a")
    copy = pickle.loads(pickle.dumps(sample))

    assert copy == sample
    assert copy.content_hash() == Sample(answer=answer, context=context, id="b").content_hash()
    assert Sample(answer=answer + "x", context=context).content_hash() != sample.content_hash()


def test_a_row_is_another_one_where_any_field_that_is_graded_changes() -> None:
    """Its name is that of its texts; its fingerprint counts language and metadata too."""
    own: dict[str, Any] = {
        "question": "q", "answer": "a", "context": ["c", "d"], "reference": "r",
        "relevant_ids": ["1"], "language": "en",
    }  # fmt: skip
    texts: list[dict[str, Any]] = [
        {"question": "Q"},
        {"question": None},
        {"answer": "A"},
        {"context": ["d", "c"]},
        {"context": ["c"]},
        {"reference": "R"},
        {"relevant_ids": None},
        {"relevant_ids": ["2"]},
        {"relevant_ids": []},
    ]
    beside: list[dict[str, Any]] = [
        {"language": "ru"},
        {"language": None},
        {"context": [{"text": "c", "page": 1}, "d"]},
        {"context": ["c", {"text": "d", "page": 1}]},
        {"context": ["c", {"text": "d", "page": 2}]},
    ]
    rows = [Sample(**own | changed) for changed in ({}, *texts, *beside)]
    names = [one.content_hash() for one in rows]

    assert len(set(names[:10])) == 10
    assert names[10:] == names[:1] * 5
    assert len({one.fingerprint() for one in rows}) == 15
    assert Sample(**own, id="x").fingerprint() == rows[0].fingerprint()
    assert {len(one.fingerprint()) for one in rows} | {len(name) for name in names} == {16}
    plain = Sample(answer="a", context=["c"])
    assert plain.fingerprint() != plain.content_hash()


def test_metadata_that_holds_itself_is_one_clear_error() -> None:
    """It could not be told apart from any other."""
    own: dict[str, Any] = {}
    own["own"] = own
    with pytest.raises(DataError, match="the metadata of a chunk cannot be written as JSON"):
        Sample(context=[{"text": "c", "more": own}]).fingerprint()


TALK: list[dict[str, Any]] = [
    {"question": "Where is the tower? I am Ann.", "answer": "In Paris.", "context": ["p", "q"]},
    {"question": "And how old is it?", "answer": "Very old.", "context": ["r", "p"]},
    {"question": "Who painted the bridge?\n\nTell me.", "answer": "Bob did.", "context": []},
    {"question": "When did he do that?", "answer": "In May.", "context": ["s"]},
]


def test_a_turn_is_a_row_of_its_own() -> None:
    """With the questions that it refers back to, and what the user said until then."""
    sample = Sample(turns=TALK, language="en", context=["shared"])
    rows = [sample.turn_sample(number, ["told"] if number else []) for number in range(4)]

    assert [one.question for one in rows] == [
        "Where is the tower? I am Ann.",
        "Where is the tower? I am Ann.\nAnd how old is it?",
        "Who painted the bridge?\n\nTell me.",
        "Who painted the bridge?\n\nTell me.\nWhen did he do that?",
    ]
    assert [[chunk.text for chunk in one.context] for one in rows] == [
        ["shared", "p", "q", "I am Ann."],
        ["shared", "r", "p", "I am Ann.", "told"],
        ["shared", "I am Ann.", "Tell me.", "told"],
        ["shared", "s", "I am Ann.", "Tell me.", "told"],
    ]
    assert [(one.answer, one.language, one.turns) for one in rows] == [
        (turn["answer"], "en", ()) for turn in TALK
    ]
    assert sample.question == rows[3].question


def test_a_conversation_is_a_text_and_its_sources() -> None:
    """Questions are quoted, replies are not; each source says in which turns it was there."""
    sample = Sample(turns=TALK)
    text, starts = transcript(sample.turns)

    assert text == sample.answer
    assert text == (
        "> Where is the tower? I am Ann.\n\nIn Paris.\n\n> And how old is it?\n\nVery old.\n\n"
        "> Who painted the bridge?\n>\n> Tell me.\n\nBob did.\n\n> When did he do that?\n\nIn May."
    )
    assert [text[start:].partition("\n")[0] for start in starts] == [
        *("In Paris.", "Very old.", "Bob did.", "In May.")
    ]
    assert [(chunk.id, chunk.text, chunk.metadata) for chunk in sample.context] == [
        (0, "I am Ann.", {"turn": "1", "said_by": "user"}),
        (1, "p", {"turn": "1, 2"}),
        (2, "q", {"turn": "1"}),
        (3, "r", {"turn": "2"}),
        (4, "Tell me.", {"turn": "3", "said_by": "user"}),
        (5, "s", {"turn": "4"}),
    ]
    alone = Sample(turns=[("assistant", "Hello."), ("user", "Hi."), ("assistant", "So?")])
    assert transcript(alone.turns) == ("Hello.\n\n> Hi.\n\nSo?", [0, 15])
    assert [turn.question for turn in alone.turns] == [None, "Hi."]
    assert [sample.turns[n].said for n in range(4)] == ["I am Ann.", "", "Tell me.", ""]
    odd = Sample(turns=[{"question": "Q", "answer": "A", "context": [{"text": "c", "turn": "9"}]}])
    assert odd.context[1].metadata == {"turn": "9"}
    twice = Sample(turns=[{"question": "Who?", "answer": "A", "context": ["c", "c"]}])
    assert [chunk.metadata for chunk in twice.context] == [{"turn": "1"}]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (None, None),
        ("a", ("a",)),
        (7, ("7",)),
        ([7, "a"], ("7", "a")),
        ('["a", 7]', ("a", "7")),
        ("['a', 'b']", ("a", "b")),
        ("[]", ()),
        ("[a]", ("[a]",)),
        ((), ()),
    ],
)
def test_relevant_ids_are_texts(given: Any, ids: Any) -> None:
    """One, several, or a list that was written as text."""
    assert Sample(answer="a", relevant_ids=given).relevant_ids == ids
    wrongs: list[Any] = [True, [True], [1.5], [None], 1.5]
    for wrong in wrongs:
        with pytest.raises(DataError, match="relevant_ids contains .*; expected text or whole num"):
            Sample(answer="a", relevant_ids=wrong)


@pytest.mark.parametrize(
    ("given", "metadata"),
    [
        ({"text": "t", "id": "x", "score": 0.5, "page": 1}, {"id": "x", "score": 0.5, "page": 1}),
        ({"text": "t", "_id": "x", "_score": 2}, {"id": "x", "score": 2}),
        ({"text": "t", "metadata": {"page": 1}, "page": 2}, {"page": 1}),
        ({"text": "t", "meta": {"a": 1}, "metadata": {"a": 2, "b": 3}}, {"a": 1, "b": 3}),
        ({"text": "t", "metadata": "words"}, {"metadata": "words"}),
        ({"text": "t", "score": float("nan"), "n": None}, {"n": None}),
        (("t", 0.5), {"score": 0.5}),
        ({"document": {"text": "t", "page": 1}, "score": 0.5}, {"score": 0.5, "page": 1}),
        ({"_source": {"text": "t"}, "_id": "x", "_index": "i"}, {"_index": "i", "id": "x"}),
    ],
)
def test_whatever_stands_beside_a_text_is_metadata(given: Any, metadata: dict[str, Any]) -> None:
    """Under one name for the score and one for the id; what the chunk says itself comes first."""
    (chunk,) = Sample(context=[given]).context

    assert chunk.text == "t"
    assert chunk.metadata == metadata


class Methodical:
    """A message whose content is a method."""

    text = "t"

    def content(self) -> str:
        return "no"


def test_a_method_is_no_text_and_a_part_without_one_is_an_error() -> None:
    """The next field that has one counts; parts are not left out of an answer."""
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]

    assert Sample(answer=Methodical()).answer == "t"
    assert Sample(answer=parts).answer == "ab"
    with pytest.raises(DataError, match="answer is "):
        Sample(answer=[*parts, {"type": "text"}])


@pytest.mark.parametrize(
    ("context", "texts"),
    [
        ("['a', 'b']", ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ('[{"text": "a"}]', ["a"]),
        ("[('a', 0.5)]", ["a"]),
        ("[]", []),
        (" [] ", []),
        ("[1, 'a']", ["[1, 'a']"]),
        ("[2024, 2025]", ["[2024, 2025]"]),
        ("['a'", ["['a'"]),
        ("[a](b)", ["[a](b)"]),
        ("", [""]),
    ],
)
def test_a_list_that_was_written_as_text_is_a_list(context: str, texts: list[str]) -> None:
    """Any other text in brackets is a text."""
    assert [chunk.text for chunk in Sample(context=context).context] == texts


def test_an_answer_beside_its_turns_is_the_last_reply() -> None:
    """The question is not asked twice, and sources beside it are those of each turn."""
    turns = [("user", "Who?"), ("assistant", "Ann."), ("user", "Where is the tower?")]
    same, other = (
        Sample(turns=turns, question=question, answer="In Paris.", context=["c"])
        for question in ("Where is the tower?", "Why?")
    )

    assert [(turn.question, turn.answer) for turn in same.turns] == [
        ("Who?", "Ann."),
        ("Where is the tower?", "In Paris."),
    ]
    assert other.turns[1].question == "Where is the tower?\n\nWhy?"
    assert [[chunk.text for chunk in turn.context] for turn in same.turns] == [["c"], ["c"]]
    assert [(chunk.text, chunk.metadata) for chunk in same.context] == [("c", {"turn": "1, 2"})]
    waiting = Sample(turns=turns[2:], context=["c"])
    assert (waiting.turns, waiting.question, waiting.answer) == ((), "Where is the tower?", None)
    assert [chunk.text for chunk in waiting.context] == ["c"]
