"""Grade a data set and store the results: plan, run, outcomes, store and summary."""

from rag_evals import lazy_names

NAMES = {
    "engine.evaluate": (
        "evaluate",
        "execute",
    ),
    "engine.session": (
        "GradingSession",
        "TableGrader",
        "open_session",
    ),
    "plan.gate": (
        "DEFAULT_MIN_SCORED",
        "Gate",
        "GateAt",
        "GateDecision",
        "Missed",
    ),
    "plan.options": (
        "DEFAULT_ERROR",
        "OPTIONS",
        "RunOptions",
        "Sampling",
        "require_counts",
        "require_gate",
        "require_share",
    ),
    "plan.plan": (
        "Graders",
        "make_plan",
    ),
    "plan.progress": ("Progress",),
    "read.merging": ("merge",),
    "read.run": (
        "Run",
        "load_run",
    ),
    "record.outcome": (
        "Outcome",
        "Record",
        "findings_in",
        "outcome_schema",
        "reason_of",
        "score_of",
    ),
    "record.facts": ("NOT_CLUSTERED",),
    "record.extras": ("label_files",),
    "record.samples": ("StoredSample",),
    "record.summary": (
        "GraderSummary",
        "Summary",
        "reason_words",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
