"""A scripted judge that speaks as any provider does: for the tests of this project."""

from rag_evals.testing import HttpError, Raw, Reply, Reset, Stall
from rag_evals.testing.scripted import Answer
from tests.scripted.batches import BatchEnd
from tests.scripted.server import (
    EVERY_SENTENCE,
    JudgeRequest,
    Script,
    ScriptedJudge,
    fill_by_words,
)

__all__ = [
    "EVERY_SENTENCE",
    "Answer",
    "BatchEnd",
    "HttpError",
    "JudgeRequest",
    "Raw",
    "Reply",
    "Reset",
    "Script",
    "ScriptedJudge",
    "Stall",
    "fill_by_words",
]
