"""Where do deepeval scripts find test cases? In `test_case`."""

from rag_evals.compat.deepeval.cases import LLMTestCase, SingleTurnParams
from rag_evals.compat.deepeval.cases import SingleTurnParams as LLMTestCaseParams
from rag_evals.compat.spelling import refusing

__all__ = ["LLMTestCase", "LLMTestCaseParams", "SingleTurnParams"]

__getattr__ = refusing(
    __name__,
    "deepeval",
    __all__,
    {
        "ConversationalTestCase": "grade each answer as an LLMTestCase of its own",
        "Turn": "grade each answer as an LLMTestCase of its own",
        "ToolCall": "it grades agents; keep deepeval for it",
        "MLLMImage": "only texts are graded; keep deepeval for it",
    },
)
