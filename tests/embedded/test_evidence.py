"""Every finding on a statement can be checked at a passage, whoever graded it."""

import json
from pathlib import Path

import pytest

from rag_evals import evaluate
from rag_evals.core import Finding
from rag_evals.core.finding import Quote
from rag_evals.embedded import evidence_words
from rag_evals.embedded.decide import cited_chunks
from rag_evals.embedded.evidence import find_passages
from rag_evals.testing import ScriptedJudge

ROWS = [
    json.loads(line)
    for line in Path("tests/data/fresh_cases.jsonl").read_text(encoding="utf-8").splitlines()[:60]
]
CHUNKS = ["The tower stands in Paris. It has three floors.", "It was completed in 1889."]


def finding(text: str, verdict: bool, **fields: object) -> Finding:
    """Return a finding on a statement."""
    return Finding(text, verdict, "label", about="statement", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grader", "judge"),
    [
        ("faithfulness", "embedded"),
        ("faithfulness", None),
        ("faithfulness_two_step", None),
        ("faithfulness_audited", None),
        ("context_recall", None),
    ],
)
def test_findings_of_every_grader_have_a_passage(grader: str, judge: str | None) -> None:
    """Over 60 rows at least 95 in 100 have one, and each is in its chunk word for word."""
    rows = [{**row, "reference": row["answer"]} for row in ROWS]
    with ScriptedJudge() as scripted:
        client = judge or f"openai/any@{scripted.base_url}"
        run = evaluate(rows, grader, client, progress=False, cache=False)
    found = [
        (row, find_passages(one, row["context"]))
        for row, outcome in zip(rows, run.outcomes, strict=True)
        for one in outcome.findings
    ]
    marked = [passages for _, passages in found if passages]

    assert len(found) >= 60
    assert len(marked) >= 0.95 * len(found)
    for row, passages in found:
        for one in passages:
            assert row["context"][one.chunk_id][one.start : one.end] == one.text


def test_what_differs_is_said_of_an_unsupported_statement() -> None:
    """The nearest sentence of all chunks, and the word that it has instead."""
    wrong = finding("It was completed in 1923.", False)
    (passage,) = find_passages(wrong, CHUNKS)

    assert (passage.chunk_id, passage.text, passage.is_nearest) == (1, CHUNKS[1], True)
    assert passage.differs == "'1923' is not in any chunk; chunk 1 says '1889'"
    assert evidence_words(wrong, CHUNKS) == [
        "nearest chunk 1: It was completed in 1889.",
        "differs: '1923' is not in any chunk; chunk 1 says '1889'",
    ]
    assert evidence_words(finding(wrong.text, False, reasoning=passage.differs), CHUNKS) == [
        "nearest chunk 1: It was completed in 1889."
    ]


def test_quotes_of_the_judge_come_first() -> None:
    """At their offsets, else where the words are; one that no chunk has is left out."""
    quotes = (Quote(0, 4, 9, "tower"), Quote(0, None, None, "Paris"), Quote(9, 0, 2, "no"))
    passages = find_passages(finding("It is in Paris.", True, quotes=quotes), CHUNKS)

    assert [(one.start, one.text, one.is_nearest) for one in passages] == [
        (4, "tower", False), (20, "Paris", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("readings", "cited"),
    [
        ([((1, 2), 0.5)], (1, 2)),
        ([((3,), 0.5), ((1, 2), 0.4)], (3, 1)),
        ([((3,), 0.5), ((1,), 0.399)], (3,)),
        ([((1,), 0.4), ((3,), 0.5), ((3, 4), 0.5)], (3, 1)),
        ([((3,), 0.5), ((), 0.5)], (3,)),
        ([((), 0.5), ((3,), 0.5)], (3,)),
    ],
)
def test_chunks_that_say_it_nearly_as_well_are_cited_too(
    readings: list[tuple[tuple[int, ...], float]], cited: tuple[int, ...]
) -> None:
    """After those of the best reading: the first chunk of each with four fifths of its support."""
    assert cited_chunks(readings) == cited


def test_a_supported_statement_is_looked_for_in_its_chunks() -> None:
    """The best sentence of the chunk that the judge cites, though another has more of its words."""
    chunks = [*CHUNKS, "The tower stands in Paris and it has many floors."]
    (passage,) = find_passages(finding("It has three floors.", True, chunk_ids=(0,)), chunks)

    assert (passage.chunk_id, passage.text) == (0, "It has three floors.")
    assert passage.differs == ""


def test_no_word_in_common_still_has_a_place_to_look() -> None:
    """What looks most alike is shown, and that nothing is shared is said."""
    (passage,) = find_passages(finding("Snow fell yesterday.", False), CHUNKS)

    assert passage.is_nearest
    assert "no chunk shares a content word" in passage.differs


def test_nothing_to_look_at_is_nothing_found() -> None:
    """No chunks, only spaces, ids of no chunk, or a finding about no statement."""
    wrong = finding("It was completed in 1923.", False, chunk_ids=(7,))

    assert find_passages(wrong, []) == ()
    assert find_passages(wrong, [" ", ""]) == ()
    assert find_passages(wrong, CHUNKS)[0].chunk_id == 1
    assert find_passages(Finding("the answer", False, "no"), CHUNKS) == ()
