"""The embedded verifier: offline, bounded, and right on simple cases in two languages."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.errors import ConfigurationError
from rag_evals.verify import EmbeddedVerifier, from_string

CHUNKS = [
    "The Eiffel Tower stands in Paris. It was completed in 1889.",
    "Collins never landed on the Moon.",
    "Глубина озера Байкал составляет 1642 метра.",
]


@pytest.mark.parametrize(
    ("statement", "supported", "chunk_ids"),
    [
        ("The Eiffel Tower is in Paris.", True, (0,)),
        ("The tower was completed in 1889.", True, (0,)),
        ("The tower was completed in 1923.", False, ()),
        ("The Eiffel Tower stands in Berlin.", False, ()),
        ("Collins landed on the Moon.", False, ()),
        ("Collins did not land on the Moon.", True, (1,)),
        ("Глубина Байкала 1642 метра.", True, (2,)),
        ("Глубина Байкала 2642 метра.", False, ()),
        ("Bananas grow on trees.", False, ()),
    ],
)
def test_plain_cases_come_out_right(
    statement: str, supported: bool, chunk_ids: tuple[int, ...]
) -> None:
    """Paraphrase, wrong number, wrong name, denial: the verdict and the chunk that shows it."""
    (verdict,) = EmbeddedVerifier().verify([statement], CHUNKS)

    assert (verdict.is_supported, verdict.chunk_ids) == (supported, chunk_ids)
    assert 0 <= verdict.support <= 1
    assert verdict.reason


def test_evidence_quotes_the_chunk() -> None:
    """The sentence that was read as evidence is given with its offsets."""
    (verdict,) = EmbeddedVerifier().verify(["It was completed in 1889."], CHUNKS)
    evidence = verdict.evidence[0]

    assert evidence.text == "It was completed in 1889."
    assert CHUNKS[evidence.chunk_id][evidence.start : evidence.end] == evidence.text


def test_an_answer_is_decided_sentence_by_sentence() -> None:
    """Sentences that claim nothing are passed over."""
    answer = "Here is what I found:\nThe tower is in Paris. Is that all? It was built in 1923."
    pairs = EmbeddedVerifier().verify_answer(answer, CHUNKS, question="Where is the tower?")

    assert [verdict.is_supported for _, verdict in pairs] == [True, False]


def test_the_threshold_is_a_setting_and_part_of_the_fingerprint() -> None:
    """A stricter verifier is another verifier."""
    statement = ["The Eiffel Tower in Paris is made of old iron bars."]
    lenient, strict = EmbeddedVerifier(threshold=0.1), EmbeddedVerifier(threshold=1.0)

    assert lenient.verify(statement, CHUNKS)[0].is_supported
    assert not strict.verify(statement, CHUNKS)[0].is_supported
    assert lenient.fingerprint() != strict.fingerprint()
    with pytest.raises(
        ConfigurationError, match=r"threshold is 1.5; expected a number from 0 to 1"
    ):
        EmbeddedVerifier(threshold=1.5)


@given(st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_any_text_gets_one_verdict_each(statements: list[str], chunks: list[str]) -> None:
    """No text raises, and no statement is lost."""
    verdicts = EmbeddedVerifier().verify(statements, chunks)

    assert len(verdicts) == len(statements)
    assert all(0 <= verdict.support <= 1 for verdict in verdicts)


def test_a_strange_text_takes_bounded_time() -> None:
    """A megabyte in one word, NULs and digits are no trap."""
    began = time.process_time()
    EmbeddedVerifier().verify(["x" * 1_000_000, "\0", "1" * 10_000, ""], ["x" * 1_000_000, "1 2 3"])

    assert time.process_time() - began < 5


def test_the_judge_string_names_it() -> None:
    """`embedded` is a verifier; anything else is for an endpoint."""
    assert isinstance(from_string("embedded"), EmbeddedVerifier)
    assert from_string("openai/gpt-4o-mini") is None
