"""What is a ragas metric here? A name of ragas', a grader of ours, and a judge."""

import math
from typing import Any, ClassVar

from rag_evals.base import ContextEvaluation
from rag_evals.compat.counterparts import Counterpart, ranked_precision, reason_in
from rag_evals.compat.judges import JudgeChoice, judge_of
from rag_evals.compat.ragas.samples import SingleTurnSample
from rag_evals.compat.spelling import check_arguments, refused, say
from rag_evals.core import findings_of
from rag_evals.errors import NotScorableError
from rag_evals.response_models import PassFailResult

_IDLE = frozenset({"embeddings", "max_retries"})


class RagasScore(float):
    """A score with ragas' attributes: `value` is the score itself, `reason` says why in lines."""

    reason: str

    def __new__(cls, value: float, reason: str) -> "RagasScore":
        """Make a float that knows why."""
        made = super().__new__(cls, value)
        made.reason = reason
        return made

    @property
    def value(self) -> float:
        """The score as a plain float."""
        return float(self)


class RagasMetric:
    """Base of the metrics.

    Attributes:
        name: What results call it.
        llm: Who judges, as the script gave it; None leaves it to `evaluate`.
    """

    counterpart: ClassVar[Counterpart]

    def __init__(self, llm: Any = None, *, name: str | None = None, **others: Any) -> None:
        """Take what ragas takes.

        Raises:
            ConfigurationError: An argument has no counterpart.
        """
        called = type(self).__name__.removeprefix("Ragas")
        check_arguments(called, others, idle=_IDLE)
        self.llm = llm
        self.name = name or self.standing.key

    @property
    def standing(self) -> Counterpart:
        """What stands for the metric."""
        return self.counterpart

    def __repr__(self) -> str:
        """One line: ragas' name, and our grader."""
        return f"{type(self).__name__.removeprefix('Ragas')}({self.standing.spelled()})"

    def single_turn_score(self, sample: SingleTurnSample, callbacks: None = None) -> float:
        """Grade one sample; NaN where it has nothing to grade."""
        del callbacks
        judge = self._judge()
        try:
            result = self.standing.made().grade(
                sample.ours(0), client=judge.client, model=judge.model
            )
        except NotScorableError as error:
            return _without_score(error)
        return self._read(result)

    async def single_turn_ascore(
        self, sample: SingleTurnSample, callbacks: None = None, timeout: float | None = None
    ) -> float:
        """Grade one sample in the running event loop; as `single_turn_score` otherwise."""
        del callbacks, timeout
        judge = self._judge()
        try:
            result = await self.standing.made().agrade(
                sample.ours(0), client=judge.client, model=judge.model
            )
        except NotScorableError as error:
            return _without_score(error)
        return self._read(result)

    def score(self, sample: dict[str, Any] | None = None, **fields: Any) -> float:
        """Grade one sample that is given as a mapping or as keywords."""
        return self.single_turn_score(SingleTurnSample(**(sample or {}), **fields))

    async def ascore(self, sample: dict[str, Any] | None = None, **fields: Any) -> float:
        """Grade one sample in the running event loop; as `score` otherwise."""
        return await self.single_turn_ascore(SingleTurnSample(**(sample or {}), **fields))

    def _judge(self) -> JudgeChoice:
        judge = judge_of(self.llm, "llm")
        standing = self.standing
        say(
            f"{self.name} is rag_evals.evaluate([sample], {standing.spelled()}, "
            f"{judge.spelled()}){standing.differing()}"
        )
        return judge

    def _read(self, result: Any) -> float:
        reason = getattr(result, "not_scorable", None)
        if reason is not None:
            return _without_score(NotScorableError(reason))
        findings = findings_of(result)
        return RagasScore(self.standing.read(result.score, findings), reason_in(findings))


def _without_score(error: NotScorableError) -> float:
    say(f"nothing to grade ({error.reason}); ragas has NaN here, rag_evals an outcome with reason")
    return RagasScore(math.nan, f"not scorable: {error.reason}")


class RagasFaithfulness(RagasMetric):
    """The share of the answer's statements that the context supports."""

    counterpart = Counterpart("faithfulness", "faithfulness")


class RagasFaithfulnesswithHHEM(RagasMetric):
    """Faithfulness whose statements a classifier decides."""

    counterpart = Counterpart("faithfulness_with_hhem", "faithfulness_hhem")


_RANKED = (
    "chunks are relevant to the question, and the reference is not read; "
    "the score weighs ranks as ragas does"
)


class RagasContextPrecision(RagasMetric):
    """Whether relevant chunks come first."""

    counterpart = Counterpart("context_precision", "chunk_precision", _RANKED, ranked_precision)


class RagasPrecisionWithReference(RagasContextPrecision):
    """As `ContextPrecision`, under its longer name."""

    counterpart = Counterpart(
        "llm_context_precision_with_reference", "chunk_precision", _RANKED, ranked_precision
    )


class RagasPrecisionWithoutReference(RagasContextPrecision):
    """As `ContextPrecision`, under its longer name."""

    counterpart = Counterpart(
        "llm_context_precision_without_reference", "chunk_precision", _RANKED, ranked_precision
    )


class RagasContextUtilization(RagasContextPrecision):
    """As `ContextPrecision`, under its other name."""

    counterpart = Counterpart("context_utilization", "chunk_precision", _RANKED, ranked_precision)


class RagasContextRecall(RagasMetric):
    """The share of the reference's statements that the context covers."""

    counterpart = Counterpart("context_recall", "context_recall")


class RagasResponseRelevancy(RagasMetric):
    """Whether the answer addresses the question."""

    counterpart = Counterpart(
        "answer_relevancy",
        "answer_relevance",
        "a judge rates three aspects, and no embeddings are compared",
    )


class RagasAspectCritic(RagasMetric):
    """Whether the answer passes a rule of the user's own words."""

    def __init__(
        self,
        name: str,
        definition: str,
        llm: Any = None,
        *,
        strictness: int = 1,
        **others: Any,
    ) -> None:
        """Make a grader of the definition.

        Args:
            name: What results call it.
            definition: The rule.
            llm: Who judges.
            strictness: Only 1; several replies to one row are `repeat=` of `evaluate`.
            others: What has no counterpart.

        Raises:
            ConfigurationError: An argument has no counterpart.
        """
        if strictness != 1:
            raise refused(
                f"AspectCritic(strictness={strictness!r})",
                f"use rag_evals.evaluate(..., repeat={strictness!r})",
            )
        own = ContextEvaluation(
            prompt=f"{{% raw %}}{definition}{{% endraw %}}",
            response_model=PassFailResult,
            name=name,
        )
        self._standing = Counterpart(name, own)
        super().__init__(llm, name=name, **others)

    @property
    def standing(self) -> Counterpart:
        """What stands for the metric."""
        return self._standing
