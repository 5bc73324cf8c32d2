"""How is a decision model asked? On either of two wires, with every answer checked.

`asking.py` sends, with the limits and retries of any judge; `wires.py` knows the two bodies.
"""

from rag_evals.judge.decisions.asking import AsyncDecisionJudge, DecisionJudge
from rag_evals.judge.decisions.hosts import (
    MOST_LEVELS,
    HostLimits,
    decision_limits,
    is_decision_model,
)

__all__ = [
    "MOST_LEVELS",
    "AsyncDecisionJudge",
    "DecisionJudge",
    "HostLimits",
    "decision_limits",
    "is_decision_model",
]
