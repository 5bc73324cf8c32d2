"""No fact hides where only titles, notes and remarks about the sources are looked for."""

import pytest

from rag_evals.embedded import EmbeddedVerifier
from tools.train_embedded.cases import verify_answer

PARIS = "The Eiffel Tower stands in Paris. Paris is the capital of France."
PARIS_RU = "Эйфелева башня стоит в Париже. Париж — столица Франции."
HOTEL = "The hotel has 12 rooms."


def decided(answer: str, chunk: str) -> list[bool]:
    """Return whether each claim of an answer is supported."""
    found = verify_answer(EmbeddedVerifier(), answer, [chunk])
    return [verdict.is_supported for _, verdict in found]


@pytest.mark.parametrize(
    ("answer", "chunk", "is_true"),
    [
        ("The passages do not mention Paris.", PARIS, False),
        ("Paris is not mentioned in the context.", PARIS, False),
        ("None of the sources mention France.", PARIS, False),
        ("The documents contain no information about France.", PARIS, False),
        ("The passages do not mention Italy or Germany.", PARIS, True),
        ("The passages never mention Berlin.", PARIS, True),
        ("The passages never mention Paris.", PARIS, False),
        ("No information is given on when the tower was completed.", PARIS, True),
        ("В источниках не упоминается Париж.", PARIS_RU, False),
        ("В документах отсутствуют сведения о Франции.", PARIS_RU, False),
        ("О Берлине в тексте ничего не говорится.", PARIS_RU, True),
        ("О Париже в тексте ничего не говорится.", PARIS_RU, False),
    ],
)
def test_a_name_is_left_out_where_no_chunk_has_it(answer: str, chunk: str, is_true: bool) -> None:
    """To mention a name, a chunk need say no more than the name."""
    assert decided(answer, chunk) == [is_true]


@pytest.mark.parametrize(
    "answer",
    [
        "Although the text does not mention the owner, the hotel burned down in 2003.",
        "The document does not specify the exact date but it was in May 1999.",
        "Sorry, the hotel burned down in 2003.",
        "Sorry, we are closed on Monday.",
        "Unfortunately, I cannot refund orders after 3 days.",
        "Источники:\n1. Отель сгорел в 2003 году.",
        "**No**",
    ],
)
def test_an_invented_fact_is_judged(answer: str) -> None:
    """Beside what the sources leave out, behind a polite word, as a source, in bold."""
    assert decided(answer, HOTEL) == [False]


@pytest.mark.parametrize(
    "line",
    [
        "**The hotel has 99 rooms**",
        "### The hotel has 99 rooms",
        "```\nThe hotel has 99 rooms.\n```",
    ],
)
def test_a_sentence_set_as_a_title_or_code_is_judged(line: str) -> None:
    """A subject and a verb make a claim, whatever its letters."""
    assert decided(f"{line}\n\n{HOTEL}", HOTEL) == [False, True]


@pytest.mark.parametrize(
    "answer",
    [
        "**The hotel has 12 rooms**",
        "## How it works\n\nThe hotel has 12 rooms.",
        "The hotel has 12 rooms[^1]\n\n[^1]: guide.pdf",
        "The hotel has 12 rooms [Source: guide.pdf].",
        "The hotel has 12 rooms (see [guide](http://x.com/a)).",
        "The hotel has 12 rooms (Source: guide.pdf).",
        "The hotel has 12 rooms.<sup>1</sup>",
        "The hotel has 12 rooms.\nИсточник: guide.pdf",
        '{"answer": "The hotel has 12 rooms.", "confidence": 0.9, "sources": [1]}',
        "The hotel has 12 rooms.\n\n```\nRooms for all\n```",
        "The hotel has 12 rooms.\n\n```\nThe hotel has rooms = 99\n```",
    ],
)
def test_notes_and_by_products_are_no_claims(answer: str) -> None:
    """Only what the answer says of the world is decided."""
    assert decided(answer, HOTEL) == [True]
