"""Ranking metrics for retrieval, computed from chunk ids without a judge."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field

from rag_evals.core import Finding, Flow, OptionalList, Result, Sample, SampleField, Verifier
from rag_evals.errors import NotScorableError
from rag_evals.grading import Grader
from rag_evals.stats import average_precision, hit_at, ndcg_at, reciprocal_rank
from rag_evals.stats.ranks import recall_at

__all__ = ["RanksGrader", "RetrievalRanks", "RetrievalRanksResult"]


class RetrievalRanksResult(Result):
    """The retrieved chunk ids, best first, and the relevant ids; `k` is the cutoff rank."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)

    ids: list[str]
    relevant_ids: list[str]
    k: int = 10
    oddities: OptionalList[str] = Field(default_factory=list)

    @property
    def relevant(self) -> list[bool]:
        """Whether each id in `ids` is relevant."""
        return [one in self.relevant_ids for one in self.ids]

    @property
    def missing(self) -> list[str]:
        return [one for one in self.relevant_ids if one not in self.ids]

    @property
    def score(self) -> float:
        """NDCG at k, 0 to 1."""
        return ndcg_at(self.relevant, self.k, len(self.relevant_ids)) or 0.0

    @property
    def further_scores(self) -> Mapping[str, float]:
        """Hit and recall at k, average precision and reciprocal rank, as in trec_eval."""
        found, total = self.relevant, len(self.relevant_ids)
        numbers = {
            "hit_at_k": hit_at(found, self.k, total),
            "recall_at_k": recall_at(found, self.k, total),
            "average_precision": average_precision(found, total),
            "reciprocal_rank": reciprocal_rank(found, total),
        }
        return {name: value for name, value in numbers.items() if value is not None}

    @property
    def findings(self) -> tuple[Finding, ...]:
        chunks = [
            Finding(f"chunk {one}", found, "relevant" if found else "not relevant", about="chunk")
            for one, found in zip(self.ids, self.relevant, strict=True)
        ]
        lost = [Finding(f"chunk {one}", False, "retrieval missed it") for one in self.missing]
        return (*chunks, *lost)

    @property
    def warnings(self) -> list[str]:
        return self.oddities


class RanksGrader(Grader[RetrievalRanksResult]):
    """Compares chunk ids with a sample's `relevant_ids`, without a judge.

    Args:
        k: Number of top chunks to consider, at least 1.
        name: Name in results.
    """

    shapes: ClassVar[tuple[str, ...]] = ("k",)
    description = "Did the search find the relevant chunks and rank them first?"
    requires: tuple[SampleField, ...] = ("context",)
    result_model = RetrievalRanksResult
    judge_rounds = 0

    def __init__(self, k: int = 10, *, name: str = "retrieval_ranks") -> None:
        ndcg_at([], k)  # rejects an invalid k
        self.k = k
        self.name = name

    def with_k(self, k: int) -> Self:
        ndcg_at([], k)
        return self._copy_with(k=k)

    def with_verifier(self, verifier: Verifier) -> Self:
        del verifier
        return self

    def flow(self, sample: Sample) -> Flow[RetrievalRanksResult]:
        """Compare the ids.

        Raises:
            NotScorableError: The sample has no relevant ids.
        """
        if not sample.relevant_ids:
            raise NotScorableError("no_relevant_ids")
        named = [chunk.metadata.get("id") for chunk in sample.context]
        has_ids = any(one is not None for one in named)
        ids = [str(n if one is None else one) for n, one in enumerate(named)]
        oddities = [
            f"duplicate {what} ids; only the first is used"
            for what, given in (("chunk", ids), ("relevant", list(sample.relevant_ids)))
            if len(set(given)) < len(given)
        ]
        if ids and not has_ids:
            oddities.append("the chunks have no ids, so their positions (from 0) are compared")
        yield from ()
        return RetrievalRanksResult(
            ids=list(dict.fromkeys(ids)),
            relevant_ids=list(dict.fromkeys(sample.relevant_ids)),
            k=self.k,
            oddities=oddities,
        )


RetrievalRanks = RanksGrader()
"""NDCG, hit, recall, average precision and reciprocal rank, from the ids of relevant chunks."""
