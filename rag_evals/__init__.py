"""Grade RAG answers: which statements do the sources support, and how certain is that?

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

Names load on first use, so importing the package is fast.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__version__ = "0.2.0"

NAMES = {
    "analysis": ("agreement", "compare"),
    "analysis.agreement": ("correct",),
    "analysis.tuning": ("tune",),
    "base": ("ContextEvaluation", "base"),
    "core": ("Chunk", "Result", "Sample"),
    "dataset": ("ColumnMap",),
    "errors": ("errors",),
    "grading": ("Grader",),
    "report.html_page": ("write_report",),
    "response_models": ("FaithfulnessResult", "StatementEvaluation"),
    "run": (
        "Outcome",
        "Run",
        "Sampling",
        "evaluate",
        "load_run",
        "merge",
        "open_session",
    ),
    "run.engine.evaluate": ("aevaluate", "astream", "stream"),
    "score_abstention": ("Abstention",),
    "score_citations": ("CitationFaithfulness",),
    "score_correctness": ("AnswerCorrectness",),
    "score_faithfulness": ("Faithfulness",),
    "score_faithfulness_audited": ("AuditedFaithfulness",),
    "score_faithfulness_two_step": ("TwoStepFaithfulness",),
    "score_precision": ("ChunkPrecision",),
    "score_recall": ("ContextRecall",),
    "score_relevance": ("AnswerRelevance",),
    "score_utility": ("ChunkUtility",),
    "testing": ("testing",),
    "verify.guarding": ("guard", "guard_stream", "guard_sync"),
}
"""The public names, grouped by the module that defines them; subpackages are public too."""


def lazy_names(
    door: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Create `__getattr__`, `__dir__` and `__all__` for a package that loads lazily (PEP 562).

    From the same table, `python -m tools.generate` writes the `__init__.pyi` for type checkers.
    """
    homes = {name: f"{door}.{inner}" for inner, own in names.items() for name in own}

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        module = import_module(home)
        value = module if home == f"{door}.{name}" else getattr(module, name)
        setattr(sys.modules[door], name, value)
        return value

    return load, lambda: sorted(homes), sorted(homes)


__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
