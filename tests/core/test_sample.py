"""A sample checks its fields and numbers its chunks."""

import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.core import Chunk, Sample
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
