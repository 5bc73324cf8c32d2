"""How is a data set graded and kept? Plan, run, outcomes, store and summary."""

from rag_evals.run.outcome import ErrorRecord, Outcome, Status
from rag_evals.run.plan import Plan, make_plan
from rag_evals.run.progress import Progress, Report
from rag_evals.run.runner import Run, aevaluate, aexecute, evaluate, execute
from rag_evals.run.summary import GraderSummary, Summary

__all__ = [
    "ErrorRecord",
    "GraderSummary",
    "Outcome",
    "Plan",
    "Progress",
    "Report",
    "Run",
    "Status",
    "Summary",
    "aevaluate",
    "aexecute",
    "evaluate",
    "execute",
    "make_plan",
]
