"""Grade RAG answers: which statements do their sources support, and how sure is that?

```python
from rag_evals import Faithfulness

result = Faithfulness.grade(
    question="Where is the Eiffel Tower?",
    answer="The Eiffel Tower stands in Paris.",
    context=["The Eiffel Tower stands in Paris, France."],
    client="embedded",
)
print(result.score)
#> 1.0
```

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_evals import base, errors, testing
    from rag_evals.audit import AuditedFaithfulnessResult, AuditedStatement
    from rag_evals.base import ContextEvaluation
    from rag_evals.dataset import ColumnMap
    from rag_evals.finding import Finding, Quote
    from rag_evals.grader import Grader
    from rag_evals.quality import agreement, calibrate, compare, correct
    from rag_evals.report import write_report
    from rag_evals.result import Result
    from rag_evals.run import (
        Gate,
        Outcome,
        Progress,
        Run,
        StoredRun,
        Summary,
        aevaluate,
        evaluate,
        load_run,
    )
    from rag_evals.sample import Chunk, Sample
    from rag_evals.score_abstention import Abstention, AbstentionResult
    from rag_evals.score_citations import CitationFaithfulness, CitationFaithfulnessResult
    from rag_evals.score_faithfulness import Faithfulness
    from rag_evals.score_faithfulness_audited import AuditedFaithfulness
    from rag_evals.score_faithfulness_two_step import HHEMFaithfulness, TwoStepFaithfulness
    from rag_evals.score_precision import ChunkPrecision, ChunkPrecisionResult
    from rag_evals.score_recall import ContextRecall, ContextRecallResult
    from rag_evals.score_relevance import AnswerRelevance, AnswerRelevanceResult
    from rag_evals.score_utility import ChunkUtility, ChunkUtilityResult
    from rag_evals.statements import FaithfulnessResult, StatementEvaluation

__version__ = "0.1.0"

_HOMES = {
    "Abstention": "score_abstention",
    "AbstentionResult": "score_abstention",
    "AnswerRelevance": "score_relevance",
    "AnswerRelevanceResult": "score_relevance",
    "AuditedFaithfulness": "score_faithfulness_audited",
    "AuditedFaithfulnessResult": "audit",
    "AuditedStatement": "audit",
    "Chunk": "sample",
    "ChunkPrecision": "score_precision",
    "ChunkPrecisionResult": "score_precision",
    "ChunkUtility": "score_utility",
    "ChunkUtilityResult": "score_utility",
    "CitationFaithfulness": "score_citations",
    "CitationFaithfulnessResult": "score_citations",
    "ColumnMap": "dataset",
    "ContextEvaluation": "base",
    "ContextRecall": "score_recall",
    "ContextRecallResult": "score_recall",
    "Faithfulness": "score_faithfulness",
    "FaithfulnessResult": "statements",
    "Finding": "finding",
    "Gate": "run",
    "Grader": "grader",
    "HHEMFaithfulness": "score_faithfulness_two_step",
    "Outcome": "run",
    "Progress": "run",
    "Quote": "finding",
    "Result": "result",
    "Run": "run",
    "Sample": "sample",
    "StatementEvaluation": "statements",
    "StoredRun": "run",
    "Summary": "run",
    "TwoStepFaithfulness": "score_faithfulness_two_step",
    "aevaluate": "run",
    "agreement": "quality",
    "calibrate": "quality",
    "compare": "quality",
    "correct": "quality",
    "evaluate": "run",
    "load_run": "run",
    "write_report": "report",
}
_MODULES = ("base", "errors", "testing")

__all__ = [
    "Abstention",
    "AbstentionResult",
    "AnswerRelevance",
    "AnswerRelevanceResult",
    "AuditedFaithfulness",
    "AuditedFaithfulnessResult",
    "AuditedStatement",
    "Chunk",
    "ChunkPrecision",
    "ChunkPrecisionResult",
    "ChunkUtility",
    "ChunkUtilityResult",
    "CitationFaithfulness",
    "CitationFaithfulnessResult",
    "ColumnMap",
    "ContextEvaluation",
    "ContextRecall",
    "ContextRecallResult",
    "Faithfulness",
    "FaithfulnessResult",
    "Finding",
    "Gate",
    "Grader",
    "HHEMFaithfulness",
    "Outcome",
    "Progress",
    "Quote",
    "Result",
    "Run",
    "Sample",
    "StatementEvaluation",
    "StoredRun",
    "Summary",
    "TwoStepFaithfulness",
    "aevaluate",
    "agreement",
    "base",
    "calibrate",
    "compare",
    "correct",
    "errors",
    "evaluate",
    "load_run",
    "testing",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first used (PEP 562)."""
    if name in _MODULES:
        return import_module(f"rag_evals.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals' has no attribute {name!r}")
    value = getattr(import_module(f"rag_evals.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
