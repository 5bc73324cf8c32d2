"""Which numbers does a run have of which not all rows were graded alike? Those of its design."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rag_evals.run.draw import DrawnRows
from rag_evals.run.sampled import SampledMean, Spending
from rag_evals.run.summary import Summary

_StoredOutcomes = Sequence[Mapping[str, Any]]


class _FreeRun(Protocol):
    @property
    def judge(self) -> str | None: ...

    def of_grader(self, grader: str) -> _StoredOutcomes: ...


def choose_designs(
    summary: Summary,
    of_grader: Callable[[str], _StoredOutcomes],
    stopped: Mapping[str, Any] | None,
    free: _FreeRun | None,
    spending: Mapping[str, Any] | None = None,
) -> None:
    """Let a summary say what the rows that were graded show of all rows.

    Args:
        summary: The numbers of a run.
        of_grader: Returns its outcomes of a grader.
        stopped: What the manifest says of an early stop; None where there was none.
        free: The free judge's run of every row; None where there is none.
        spending: What the manifest says of a budget; None where there was none.
    """
    spent = None if spending is None else Spending(**spending)
    for name, numbers in summary.graders.items():
        if stopped is not None:
            numbers.design = DrawnRows.of(of_grader(name), stopped["rows"], stopped["of"])
        elif free is not None:
            dear, every = of_grader(name), free.of_grader(name)
            judges = summary.judge or "the judge", free.judge or "the free judge"
            # A budget may have paid for all rows.
            if len(dear) < len(every):
                numbers.design = SampledMean(dear, every, *judges, spent)
