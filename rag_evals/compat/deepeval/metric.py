"""What is a deepeval metric here? A grader of ours with a threshold, and what it last found."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from rag_evals.base import ContextEvaluation
from rag_evals.compat.counterparts import (
    Counterpart,
    plain_score,
    ranked_precision,
    reason_in,
)
from rag_evals.compat.deepeval.cases import LLMTestCase, SingleTurnParams
from rag_evals.compat.judges import JudgeChoice, judge_of
from rag_evals.compat.spelling import check_arguments, say
from rag_evals.core import Finding, Sample, SampleField, findings_of, require_fraction
from rag_evals.errors import ConfigurationError, NotScorableError
from rag_evals.response_models import RatingResult

_IDLE = frozenset(
    {
        "async_mode",
        "verbose_mode",
        "flaky",
        "truths_extraction_limit",
        "penalize_ambiguous_claims",
        "top_logprobs",
    }
)


class DeepEvalMetric:
    """Base of the metrics.

    Attributes:
        threshold: Least score that passes.
        score: Of the last test case; None before the first, and where it has none.
        reason: Why, in lines; None where the metric was told to give none.
        success: Whether the last one passed; None before the first.
        error: Why the last one has no score; None where it has one.
        evaluation_model: Who judges.
        evaluation_cost: List price of the last one in US dollars, where it is known.
    """

    counterpart: ClassVar[Counterpart]
    title: ClassVar[str]

    score: float | None = None
    reason: str | None = None
    success: bool | None = None
    error: str | None = None
    evaluation_cost: float | None = None

    def __init__(
        self,
        threshold: float | None = 0.5,
        model: Any = None,
        *,
        include_reason: bool = True,
        strict_mode: bool = False,
        **others: Any,
    ) -> None:
        """Take what deepeval takes.

        Raises:
            ConfigurationError: An argument has no counterpart, or the threshold is no number from
                0 to 1.
        """
        given = {name: value for name, value in others.items() if value is not False}
        check_arguments(type(self).__qualname__, given, idle=_IDLE)
        self.threshold = 1.0 if strict_mode else require_fraction("threshold", threshold)
        self.include_reason = include_reason
        self.strict_mode = strict_mode
        self.model = model
        self._judge: JudgeChoice | None = None

    @property
    def standing(self) -> Counterpart:
        """What stands for the metric."""
        return self.counterpart

    @property
    def __name__(self) -> str:
        """What results call it."""
        return self.title

    @property
    def evaluation_model(self) -> str:
        """Who judges, as we spell it."""
        return self.judge.spelled().strip("'")

    @property
    def judge(self) -> JudgeChoice:
        """Who judges; said once for each metric."""
        if self._judge is None:
            self._judge = judge_of(self.model, "model")
            self._say(self._judge)
        return self._judge

    def _say(self, judge: JudgeChoice) -> None:
        standing = self.standing
        say(
            f"{type(self).__qualname__} is rag_evals.evaluate(rows, {standing.spelled()}, "
            f"{judge.spelled()}){standing.differing()}"
        )

    def __repr__(self) -> str:
        """One line: deepeval's name, the threshold, and our grader."""
        return f"{type(self).__qualname__}({self.standing.spelled()}, threshold={self.threshold})"

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Grade one test case.

        Raises:
            NotScorableError: A field that the metric needs is empty.
            GradingError: No valid reply.
        """
        self._clear()
        judge = self.judge
        result = self.standing.made().grade(
            self.sample_of(test_case), client=judge.client, model=judge.model
        )
        return self._take_result(result)

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Grade one test case in the running event loop; as `measure` otherwise."""
        self._clear()
        judge = self.judge
        result = await self.standing.made().agrade(
            self.sample_of(test_case), client=judge.client, model=judge.model
        )
        return self._take_result(result)

    def is_successful(self) -> bool:
        """Whether the last test case passed."""
        return bool(self.success)

    def sample_of(self, test_case: LLMTestCase, place: int = 0) -> Sample:
        """Return the sample that is graded."""
        return test_case.ours(place)

    def take(self, score: float, findings: Sequence[Finding], cost_usd: float | None) -> float:
        """Keep what was found in a test case, and return its score."""
        self._clear()
        found = self.standing.read(score, findings)
        self.success = self.threshold is None or found >= self.threshold
        self.score = 0.0 if self.strict_mode and not self.success else found
        self.reason = reason_in(findings) if self.include_reason else None
        self.evaluation_cost = cost_usd
        return self.score

    def take_error(self, error: str) -> None:
        """Keep why a test case has no score; it does not pass."""
        self._clear()
        self.success, self.error = False, error

    def _clear(self) -> None:
        self.score = self.reason = self.success = self.error = self.evaluation_cost = None

    def _take_result(self, result: BaseModel) -> float:
        reason = getattr(result, "not_scorable", None)
        if reason is not None:
            self.take_error(reason)
            raise NotScorableError(reason)
        # Every grader's result has a score; pydantic's class does not know.
        return self.take(result.score, findings_of(result), None)  # type: ignore[attr-defined]


class FaithfulnessMetric(DeepEvalMetric):
    """The share of the answer's statements that the retrieved chunks support."""

    title = "Faithfulness"
    counterpart = Counterpart(
        "Faithfulness",
        "faithfulness",
        "a statement that no chunk supports counts against the score, "
        "as with penalize_ambiguous_claims=True",
    )


class AnswerRelevancyMetric(DeepEvalMetric):
    """Whether the answer addresses the question."""

    title = "Answer Relevancy"
    counterpart = Counterpart(
        "Answer Relevancy",
        "answer_relevance",
        "a judge rates three aspects of the answer, not each of its statements",
    )


class ContextualPrecisionMetric(DeepEvalMetric):
    """Whether relevant chunks come first."""

    title = "Contextual Precision"
    counterpart = Counterpart(
        "Contextual Precision",
        "chunk_precision",
        "chunks are relevant to the question, and the expected output is not read; "
        "the score weighs ranks as deepeval does",
        ranked_precision,
    )


class ContextualRelevancyMetric(DeepEvalMetric):
    """The share of the retrieved chunks that are relevant to the question."""

    title = "Contextual Relevancy"
    counterpart = Counterpart(
        "Contextual Relevancy",
        "chunk_precision",
        "chunks are counted, not statements in them",
        plain_score,
    )


class ContextualRecallMetric(DeepEvalMetric):
    """The share of the expected output's statements that the chunks cover."""

    title = "Contextual Recall"
    counterpart = Counterpart("Contextual Recall", "context_recall")


_FIELDS: dict[str, SampleField] = {
    "input": "question",
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": "context",
    "context": "context",
}


class GEval(DeepEvalMetric):
    """How good the answer is by a rule of the user's own words, in five steps."""

    def __init__(
        self,
        name: str,
        evaluation_params: Sequence[SingleTurnParams] | None = None,
        criteria: str | None = None,
        evaluation_steps: Sequence[str] | None = None,
        model: Any = None,
        threshold: float | None = 0.5,
        **others: Any,
    ) -> None:
        """Make a grader of the criteria or the steps.

        Args:
            name: What results call it.
            evaluation_params: Fields that the judge reads; None shows all.
            criteria: The rule.
            evaluation_steps: The rule in steps, instead of `criteria`.
            model: Who judges.
            threshold: Least score that passes.
            others: As for the other metrics.

        Raises:
            ConfigurationError: There is no rule, or an argument has no counterpart.
        """
        rule = criteria or "\n".join(evaluation_steps or ())
        if not rule:
            raise ConfigurationError(f"GEval({name!r}) has no criteria= and no evaluation_steps=")
        super().__init__(threshold, model, **others)
        self.name = name
        given = evaluation_params or list(SingleTurnParams)
        self._fields = {_FIELDS[str(param.value)] for param in given}
        own = ContextEvaluation(
            prompt=f"{{% raw %}}{rule}{{% endraw %}}", response_model=RatingResult, name=name
        )
        self._standing = Counterpart(
            f"{name} [GEval]", own, "a judge rates in five steps, not by token probabilities"
        )

    @property
    def standing(self) -> Counterpart:
        """What stands for the metric."""
        return self._standing

    @property
    def __name__(self) -> str:
        """What results call it."""
        return self._standing.key

    def sample_of(self, test_case: LLMTestCase, place: int = 0) -> Sample:
        """Return the sample that is graded, with the fields that the judge is to read."""
        whole = test_case.ours(place)
        if whole.context == () and test_case.context:
            whole = LLMTestCase(
                **{**test_case.model_dump(), "retrieval_context": test_case.context}
            ).ours(place)
        shown = {name: getattr(whole, name) for name in self._fields}
        return Sample(**shown, id=whole.id)
