"""Marks such as [1] are read, and belong to the sentence before them."""

import pytest

from rag_evals.text import citations_of, split_sentences, without_citations


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is tall [1].", [1]),
        ("It is tall.[2][3]", [2, 3]),
        ("It is tall [1, 3–5].", [1, 3, 4, 5]),
        ("它很高【2】。", [2]),
        ("It is tall [1] and old [1].", [1]),
        ("See [1](https://example.com) and [note] and a[i].", []),
        ("In [1889] it was built.", []),
    ],
)
def test_marks_are_read(text: str, numbers: list[int]) -> None:
    """Lists and ranges count each number; links and other brackets are no citations."""
    assert citations_of(text) == numbers


def test_marks_can_be_taken_out() -> None:
    """The sentence without its marks reads as it was written."""
    assert without_citations("It is tall [1], they say.[2]") == "It is tall, they say."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is so.[1] Two is not. [2] Three.", ["One is so.[1]", "Two is not. [2]", "Three."]),
        ("Это так [1]. А это нет.[2, 3] Всё.", ["Это так [1].", "А это нет.[2, 3]", "Всё."]),
        ("它很高。【1】它很老。", ["它很高。【1】", "它很老。"]),
        ("See [1](x). Then [2](y).", ["See [1](x).", "Then [2](y)."]),
    ],
)
def test_a_mark_behind_the_stop_belongs_to_its_sentence(text: str, sentences: list[str]) -> None:
    """The next sentence does not begin with the citation of the one before."""
    assert [span.text for span in split_sentences(text)] == sentences
