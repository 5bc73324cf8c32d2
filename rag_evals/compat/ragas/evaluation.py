"""How does a ragas script grade? `evaluate` with ragas' arguments, over our own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

from rag_evals.compat.judges import JudgeChoice, judge_of
from rag_evals.compat.ragas.metric import RagasMetric
from rag_evals.compat.ragas.metrics import (
    answer_relevancy,
    context_precision,
    context_recall,
    faithfulness,
)
from rag_evals.compat.ragas.samples import RagasDataset, dataset_of, table_of
from rag_evals.compat.spelling import check_arguments, refused, say
from rag_evals.errors import ConfigurationError
from rag_evals.run import DEFAULT_CONCURRENCY, Run
from rag_evals.run import aevaluate as our_aevaluate
from rag_evals.run import evaluate as our_evaluate

_IDLE = frozenset({"embeddings", "experiment_name", "batch_size", "token_usage_parser"})


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Time-outs and tasks at a time, as ragas names them."""

    timeout: int = 180
    max_retries: int = 10
    max_wait: int = 60
    max_workers: int = DEFAULT_CONCURRENCY
    seed: int = 42


class RagasResult:
    """What `evaluate` found, with ragas' attributes.

    Attributes:
        scores: One mapping a row, from a metric's name to its score; NaN where there is none, as
            ragas has it. Why there is none stands in `runs`.
        dataset: What was graded.
        runs: The runs themselves, one for each judge that was asked: rows, reasons, cost.
    """

    def __init__(
        self, scores: list[dict[str, float]], dataset: RagasDataset, runs: Sequence[Run]
    ) -> None:
        self.scores = scores
        self.dataset = dataset
        self.runs = list(runs)

    def __getitem__(self, metric: str) -> list[float]:
        """Return the scores of a metric, row by row."""
        return [row[metric] for row in self.scores]

    def means(self) -> dict[str, float]:
        """Return the mean of each metric over the rows that have a score; NaN where none has."""
        names = self.scores[0] if self.scores else {}
        found = {name: [s for s in self[name] if not math.isnan(s)] for name in names}
        return {name: fmean(scores) if scores else math.nan for name, scores in found.items()}

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`: ragas' columns, and one for each metric."""
        rows = zip(self.dataset.to_list(), self.scores, strict=True)
        return table_of([{**row, **scores} for row, scores in rows])

    def __repr__(self) -> str:
        """One line, as ragas has it: the mean of each metric."""
        return "{" + ", ".join(f"{name!r}: {mean:.4f}" for name, mean in self.means().items()) + "}"

    def _repr_html_(self) -> str:
        return "".join(run._repr_html_() for run in self.runs)


def evaluate(
    dataset: Any,
    metrics: Sequence[RagasMetric] | None = None,
    llm: Any = None,
    *,
    run_config: RunConfig | None = None,
    raise_exceptions: bool = False,
    column_map: Mapping[str, str] | None = None,
    show_progress: bool = True,
    **others: Any,
) -> RagasResult:
    """Grade a data set with ragas' arguments; `rag_evals.evaluate` is our own form.

    Args:
        dataset: An `EvaluationDataset`, a Hugging Face one, a table, or a list of mappings.
        metrics: Metrics of `rag_evals.compat.ragas.metrics`; None takes ragas' four.
        llm: Who judges: a judge string, a model's name, a client, or a wrapped chat model.
        run_config: Time-outs and tasks at a time.
        raise_exceptions: True ends with an error where a row failed.
        column_map: Columns of the data by ragas' names.
        show_progress: False shows none.
        others: `embeddings` and other arguments that change nothing here.

    Raises:
        ConfigurationError: An argument or a metric has no counterpart; nothing was sent.
        TooManyFailuresError: A row failed, and `raise_exceptions` is set.
    """
    work = _Work(dataset, metrics, llm, column_map, others)
    options = _options(run_config, raise_exceptions, show_progress)
    return work.result([our_evaluate(**call, **options) for call in work.calls()])


async def aevaluate(
    dataset: Any,
    metrics: Sequence[RagasMetric] | None = None,
    llm: Any = None,
    *,
    run_config: RunConfig | None = None,
    raise_exceptions: bool = False,
    column_map: Mapping[str, str] | None = None,
    show_progress: bool = True,
    **others: Any,
) -> RagasResult:
    """Grade a data set in the running event loop; as `evaluate` otherwise."""
    work = _Work(dataset, metrics, llm, column_map, others)
    options = _options(run_config, raise_exceptions, show_progress)
    return work.result([await our_aevaluate(**call, **options) for call in work.calls()])


def _options(config: RunConfig | None, raises: bool, shows: bool) -> dict[str, Any]:
    given = RunConfig() if config is None else config
    return {
        "concurrency": given.max_workers,
        "timeout": given.timeout,
        "max_wait": given.max_wait,
        "max_failures": 0 if raises else "100%",
        "progress": None if shows else False,
    }


class _Work:
    """The runs that a call of `evaluate` comes to: one for each judge."""

    def __init__(
        self,
        dataset: Any,
        metrics: Sequence[RagasMetric] | None,
        llm: Any,
        column_map: Mapping[str, str] | None,
        others: Mapping[str, Any],
    ) -> None:
        _check(others)
        if metrics is None:
            metrics = [answer_relevancy, context_precision, faithfulness, context_recall]
        self._metrics = list(metrics)
        for metric in self._metrics:
            if not isinstance(metric, RagasMetric):
                raise ConfigurationError(
                    f"metrics has {metric!r}; import metrics from rag_evals.compat.ragas.metrics"
                )
        self._dataset = dataset_of(dataset, column_map)
        self._judges = self._chosen(llm)

    def _chosen(self, llm: Any) -> list[tuple[JudgeChoice, list[RagasMetric]]]:
        groups: list[tuple[Any, list[RagasMetric]]] = []
        for metric in self._metrics:
            given = llm if metric.llm is None else metric.llm
            group = next((group for one, group in groups if one is given or one == given), None)
            if group is None:
                groups.append((given, [metric]))
            else:
                group.append(metric)
        return [(judge_of(given, "llm"), group) for given, group in groups]

    def calls(self) -> list[dict[str, Any]]:
        """Return the arguments of each run, and say how it is spelled."""
        rows = [sample.ours(place) for place, sample in enumerate(self._dataset)]
        made = []
        for judge, metrics in self._judges:
            standing = {metric.standing.spelled(): metric.standing for metric in metrics}
            differing = "".join(
                f"; {metric.name}: {metric.standing.differs}"
                for metric in metrics
                if metric.standing.differs
            )
            say(
                f"evaluate(dataset, metrics) is rag_evals.evaluate(rows, "
                f"[{', '.join(standing)}], {judge.spelled()}){differing}"
            )
            graders = [one.made() for one in standing.values()]
            made.append(
                {"data": rows, "graders": graders, "client": judge.client, "model": judge.model}
            )
        return made

    def result(self, runs: Sequence[Run]) -> RagasResult:
        """Read our runs as ragas' scores."""
        scores: list[dict[str, float]] = [{} for _ in self._dataset]
        for run, (_, metrics) in zip(runs, self._judges, strict=True):
            by_grader = {metric: metric.standing.made().name for metric in metrics}
            for outcome, metric in product(run, metrics):
                if by_grader[metric] == outcome.grader:
                    read, score = metric.standing.read, outcome.score
                    scores[outcome.index][metric.name] = (
                        math.nan if score is None else read(score, outcome.findings)
                    )
            missing = sum(outcome.score is None for outcome in run)
            if missing:
                say(f"{missing} of {len(run)} gradings have no score: NaN here; why: result.runs")
        return RagasResult(scores, self._dataset, runs)


def _check(others: Mapping[str, Any]) -> None:
    if others.get("callbacks"):
        raise refused("evaluate(callbacks=...)", "use rag_evals.evaluate(..., on_outcome=...)")
    if others.get("return_executor"):
        raise refused("evaluate(return_executor=True)", "use rag_evals.stream, which ends any time")
    known = {name: value for name, value in others.items() if value not in (None, False, [])}
    check_arguments("evaluate", known, idle=_IDLE)
