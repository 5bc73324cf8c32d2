"""What tests of audited faithfulness share: claims, a good reply, and a grade of the tower."""

import copy
from typing import Any

from rag_evals import AuditedFaithfulness
from rag_evals.score_faithfulness_audited import AuditedFaithfulnessResult
from rag_evals.testing import ScriptedJudge
from tests.conftest import EIFFEL


def claim(
    number: int, text: str, verdict: str = "supported", *quotes: tuple[int, str]
) -> dict[str, Any]:
    """Return one claim as a judge would send it."""
    return {
        "sentence_ids": [number],
        "statement": text,
        "reasoning": "So says the chunk.",
        "evidence": [{"chunk_id": chunk_id, "quote": quote} for chunk_id, quote in quotes],
        "verdict": verdict,
    }


PARIS = claim(
    0, "The Eiffel Tower stands in Paris.", "supported", (0, "Eiffel Tower stands in Paris")
)
WRONG_YEAR = claim(
    1,
    "The Eiffel Tower was completed in 1923.",
    "contradicted",
    (1, "It was completed in 1889."),
)
GOOD: dict[str, Any] = {"statements": [PARIS, WRONG_YEAR], "no_claim_sentences": []}


def changed(place: str, value: Any) -> dict[str, Any]:
    """Return the good reply with one part of it changed."""
    reply = copy.deepcopy(GOOD)
    part: Any = reply
    *path, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    for step in path:
        part = part[step]
    part[last] = value
    return reply


def grade(judge: ScriptedJudge, grader: Any = AuditedFaithfulness) -> AuditedFaithfulnessResult:
    """Grade the Eiffel Tower row."""
    result = grader.grade(**EIFFEL, client="openai/gpt-4o-mini")
    assert isinstance(result, AuditedFaithfulnessResult)
    return result
