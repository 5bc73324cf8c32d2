"""How does a deepeval script grade? `evaluate` and `assert_test` with deepeval's arguments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evals.compat.deepeval.cases import LLMTestCase
from rag_evals.compat.deepeval.metric import DeepEvalMetric
from rag_evals.compat.spelling import check_arguments, refused
from rag_evals.errors import ConfigurationError
from rag_evals.report.terminal.screen import echo
from rag_evals.run import DEFAULT_CONCURRENCY, Outcome, Run
from rag_evals.run import evaluate as our_evaluate

_IDLE = frozenset(
    {"hyperparameters", "identifier", "cache_config", "error_config", "official", "run_async"}
)


@dataclass(frozen=True, slots=True)
class AsyncConfig:
    """Tasks at a time, as deepeval names them."""

    run_async: bool = True
    throttle_value: float = 0
    max_concurrent: int = DEFAULT_CONCURRENCY


@dataclass(frozen=True, slots=True)
class DisplayConfig:
    """What is printed, as deepeval names it."""

    show_indicator: bool = True
    print_results: bool = True
    verbose_mode: bool | None = None


@dataclass(frozen=True, slots=True)
class MetricData:
    """What one metric found in one test case.

    Attributes:
        name: Of the metric.
        threshold: Least score that passes.
        success: Whether it passed.
        score: None where it has none.
        reason: Why, in lines.
        strict_mode: As the metric has it.
        evaluation_model: Who judged.
        error: Why there is no score.
        evaluation_cost: List price in US dollars, where it is known.
        outcome: Our own record of it.
    """

    name: str
    threshold: float | None
    success: bool
    score: float | None
    reason: str | None
    strict_mode: bool
    evaluation_model: str
    error: str | None
    evaluation_cost: float | None
    outcome: Outcome

    def words(self) -> str:
        """Say it in a line, as deepeval does when a test fails."""
        return (
            f"{self.name} (score: {self.score}, threshold: {self.threshold}, "
            f"strict: {self.strict_mode}, error: {self.error}, "
            f"reason: {(self.reason or 'None').replace(chr(10), ' | ')})"
        )


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What all metrics found in one test case.

    Attributes:
        name: Of the test case.
        success: Whether it passed every metric.
        metrics_data: One for each metric, in their order.
        input: The question.
        actual_output: The answer.
        expected_output: The reference.
        retrieval_context: The chunks.
        index: Place in the data, from 0.
    """

    name: str
    success: bool
    metrics_data: list[MetricData]
    input: str
    actual_output: str | None
    expected_output: str | None
    retrieval_context: list[Any] | None
    index: int


@dataclass(frozen=True, slots=True)
class DeepEvalResult:
    """What `evaluate` found, with deepeval's attributes.

    Attributes:
        test_results: One for each test case.
        runs: The runs themselves, one for each metric: rows, reasons, cost.
        confident_link: None: nothing is uploaded.
        test_run_id: None, as above.
    """

    test_results: list[CaseResult]
    runs: list[Run] = field(default_factory=list)
    confident_link: None = None
    test_run_id: None = None

    def __str__(self) -> str:
        """Say which test cases passed, and what each metric found."""
        lines = []
        for case in self.test_results:
            lines.append(f"{'passed' if case.success else 'FAILED'}  {case.name}")
            lines += [f"    {found.words()}" for found in case.metrics_data]
        passed = sum(case.success for case in self.test_results)
        return "\n".join([*lines, f"{passed} of {len(self.test_results)} test cases passed"])


def evaluate(
    test_cases: Iterable[LLMTestCase],
    metrics: Sequence[DeepEvalMetric] | None = None,
    *,
    async_config: AsyncConfig | None = None,
    display_config: DisplayConfig | None = None,
    **others: Any,
) -> DeepEvalResult:
    """Grade test cases with deepeval's arguments; `rag_evals.evaluate` is our own form.

    Args:
        test_cases: What is graded.
        metrics: Metrics of `rag_evals.compat.deepeval.metrics`.
        async_config: Tasks at a time.
        display_config: What is printed.
        others: Arguments that change nothing here.

    Raises:
        ConfigurationError: An argument or a metric has no counterpart; nothing was sent.
    """
    if others.get("metric_collection"):
        raise refused("evaluate(metric_collection=...)", "name metrics=; nothing is uploaded")
    given = {name: value for name, value in others.items() if value is not False}
    check_arguments("evaluate", given, idle=_IDLE)
    cases = _cases(test_cases)
    checked = _checked(metrics)
    concurrency = (async_config or AsyncConfig()).max_concurrent
    shown = display_config or DisplayConfig()
    result = _graded(cases, checked, concurrency, None if shown.show_indicator else False)
    if shown.print_results:
        echo(result)
    return result


def assert_test(
    test_case: LLMTestCase,
    metrics: Sequence[DeepEvalMetric] | None = None,
    run_async: bool = True,
    **others: Any,
) -> None:
    """Grade one test case, and fail where it does not pass every metric.

    Raises:
        AssertionError: It does not; the message has score, threshold and reason.
        ConfigurationError: An argument or a metric has no counterpart; nothing was sent.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    del run_async
    check_arguments("assert_test", others, idle=_IDLE)
    result = _graded(_cases([test_case]), _checked(metrics), 1, False)
    missed = [one for one in result.test_results[0].metrics_data if not one.success]
    if missed:
        raise AssertionError(f"Metrics: {', '.join(one.words() for one in missed)} failed.")


def _cases(given: Iterable[LLMTestCase]) -> list[LLMTestCase]:
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"test_cases is {given!r}; expected a list of LLMTestCase")
    cases = list(given)
    for case in cases:
        if not isinstance(case, LLMTestCase):
            raise ConfigurationError(
                f"{case!r} is no test case; expected an LLMTestCase of "
                "rag_evals.compat.deepeval.test_case"
            )
    return cases


def _checked(metrics: Sequence[DeepEvalMetric] | None) -> list[DeepEvalMetric]:
    if not metrics:
        raise ConfigurationError("no metrics= are given; such as metrics=[FaithfulnessMetric()]")
    if not isinstance(metrics, Iterable):
        raise ConfigurationError(
            f"metrics is {metrics!r}; expected a list, as in metrics=[FaithfulnessMetric()]"
        )
    for metric in metrics:
        if not isinstance(metric, DeepEvalMetric):
            raise ConfigurationError(
                f"metrics has {metric!r}; import metrics from rag_evals.compat.deepeval.metrics"
            )
    return list(metrics)


def _graded(
    cases: list[LLMTestCase],
    metrics: list[DeepEvalMetric],
    concurrency: int,
    progress: bool | None,
) -> DeepEvalResult:
    found: list[list[MetricData]] = [[] for _ in cases]
    runs = []
    for metric in metrics:
        judge = metric.judge
        run = our_evaluate(
            [metric.sample_of(case, place) for place, case in enumerate(cases)],
            metric.standing.made(),
            judge.client,
            model=judge.model,
            concurrency=concurrency,
            max_failures="100%",
            progress=progress,
        )
        runs.append(run)
        for outcome in run:
            found[outcome.index].append(_data(metric, outcome))
    results = [
        CaseResult(
            case.name or f"test_case_{place}",
            all(one.success for one in found[place]),
            found[place],
            case.input,
            case.actual_output,
            case.expected_output,
            case.retrieval_context,
            place,
        )
        for place, case in enumerate(cases)
    ]
    return DeepEvalResult(results, runs)


def _data(metric: DeepEvalMetric, outcome: Outcome) -> MetricData:
    if outcome.score is None:
        metric.take_error(outcome.words())
    else:
        metric.take(outcome.score, outcome.findings, outcome.cost_usd)
    return MetricData(
        metric.__name__,
        metric.threshold,
        bool(metric.success),
        metric.score,
        metric.reason,
        metric.strict_mode,
        metric.evaluation_model,
        metric.error,
        metric.evaluation_cost,
        outcome,
    )
