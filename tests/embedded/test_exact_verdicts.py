"""Claims and sources of a sentence or two, each with its verdict, support, reason and evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evals.core import Claim
from rag_evals.embedded import EmbeddedVerifier

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "verdicts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
KEYS = ("claim", "question", "before")


def claim_of(case: dict[str, Any]) -> str | Claim:
    """Return the claim of a case, with its question and what stands before it, if any."""
    text, question, before = (case.get(name) for name in KEYS)
    return Claim(text or "", text, before, question) if question or before else text or ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["claim"])[:30])
def test_a_claim_has_its_verdict_support_reason_and_evidence(case: dict[str, Any]) -> None:
    """Each case shows one rule; all of them were read, and are right."""
    (verdict,) = EmbeddedVerifier().verify([claim_of(case)], case["chunks"])

    assert verdict.is_supported is case["supported"], verdict.reason
    assert verdict.support == pytest.approx(case["support"], abs=1e-3)
    assert verdict.reason == case["reason"]
    assert [*verdict.chunk_ids] == case["cited"]
    assert [[one.chunk_id, one.start, one.end] for one in verdict.evidence] == case["evidence"]
    assert verdict.doubt == case.get("doubt")


def test_the_cases_are_of_both_languages_and_both_verdicts() -> None:
    """Enough of each, so that no rule is known in one of them only."""
    russian = [case for case in CASES if not case["claim"].isascii()]

    assert len(CASES) > 150
    assert len(russian) > 25
    for some in (CASES, russian):
        assert 0.3 < sum(case["supported"] for case in some) / len(some) < 0.7


def test_claims_of_one_call_are_decided_as_alone() -> None:
    """Nothing that one of them has shown is believed of another."""
    chunks = ["The Eiffel Tower stands in Paris.", "It was completed in 1889."]
    claims = ["The Eiffel Tower stands in Paris.", "It was completed in 1923.", "Bananas grow."]
    judge = EmbeddedVerifier()

    assert judge.verify(claims, chunks) == [judge.verify([one], chunks)[0] for one in claims]
    assert judge.verify([], chunks) == []
