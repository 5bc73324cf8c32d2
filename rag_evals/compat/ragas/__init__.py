"""How does a ragas script run here? With `rag_evals.compat.ragas` for `ragas`."""

from rag_evals.compat.ragas import llms, metrics
from rag_evals.compat.ragas.evaluation import RagasResult as EvaluationResult
from rag_evals.compat.ragas.evaluation import RunConfig, aevaluate, evaluate
from rag_evals.compat.ragas.samples import RagasDataset as EvaluationDataset
from rag_evals.compat.ragas.samples import SingleTurnSample
from rag_evals.compat.spelling import refusing

__all__ = [
    "EvaluationDataset",
    "EvaluationResult",
    "RunConfig",
    "SingleTurnSample",
    "aevaluate",
    "evaluate",
    "llms",
    "metrics",
]

__getattr__ = refusing(
    __name__,
    "ragas",
    __all__,
    {
        "MultiTurnSample": "grade each answer as a row of its own",
        "Dataset": "use EvaluationDataset, or a file with rag_evals.evaluate(path)",
        "Experiment": "a run folder keeps a run: rag_evals.evaluate(..., out=folder)",
        "DiskCacheBackend": "use rag_evals.evaluate(..., cache=True)",
    },
)
