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
from typing import Any

__version__ = "0.1.0"

HOMES = {
    "Abstention": "rag_evals.score_abstention",
    "AbstentionResult": "rag_evals.score_abstention",
    "AnswerRelevance": "rag_evals.score_relevance",
    "AnswerRelevanceResult": "rag_evals.score_relevance",
    "AuditedFaithfulness": "rag_evals.score_faithfulness_audited",
    "AuditedFaithfulnessResult": "rag_evals.response_models",
    "AuditedStatement": "rag_evals.response_models",
    "Chunk": "rag_evals.core",
    "ChunkPrecision": "rag_evals.score_precision",
    "ChunkPrecisionResult": "rag_evals.score_precision",
    "ChunkUtility": "rag_evals.score_utility",
    "ChunkUtilityResult": "rag_evals.score_utility",
    "CitationFaithfulness": "rag_evals.score_citations",
    "CitationFaithfulnessResult": "rag_evals.score_citations",
    "ColumnMap": "rag_evals.dataset",
    "ContextEvaluation": "rag_evals.base",
    "ContextRecall": "rag_evals.score_recall",
    "ContextRecallResult": "rag_evals.score_recall",
    "Faithfulness": "rag_evals.score_faithfulness",
    "FaithfulnessResult": "rag_evals.response_models",
    "Finding": "rag_evals.core",
    "Gate": "rag_evals.run",
    "Grader": "rag_evals.grading",
    "HHEMFaithfulness": "rag_evals.score_faithfulness_two_step",
    "Outcome": "rag_evals.run",
    "Progress": "rag_evals.run",
    "Quote": "rag_evals.core",
    "Result": "rag_evals.core",
    "Run": "rag_evals.run",
    "Sample": "rag_evals.core",
    "StatementEvaluation": "rag_evals.response_models",
    "StoredRun": "rag_evals.run",
    "Summary": "rag_evals.run",
    "TwoStepFaithfulness": "rag_evals.score_faithfulness_two_step",
    "aevaluate": "rag_evals.run",
    "agreement": "rag_evals.analysis",
    "base": "rag_evals",
    "calibrate": "rag_evals.analysis",
    "compare": "rag_evals.analysis",
    "correct": "rag_evals.analysis",
    "errors": "rag_evals",
    "evaluate": "rag_evals.run",
    "load_run": "rag_evals.run",
    "testing": "rag_evals",
    "write_report": "rag_evals.report",
}
"""Every public name and its room. `__init__.pyi`, for type checkers, is written from it."""

# Computed, so that no name stands twice.
__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name from its room when it is first used (PEP 562)."""
    home = HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rag_evals' has no attribute {name!r}")
    if home == __name__:
        return import_module(f"{home}.{name}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(HOMES)
