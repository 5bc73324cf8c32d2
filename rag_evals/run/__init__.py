"""How is a data set graded and kept? Plan, run, outcomes, store and summary."""

from rag_evals import lazy_names

NAMES = {
    "engine.batch_table": (
        "open_batches",
        "parts_under_way",
    ),
    "engine.batches": (
        "BatchSteps",
        "aexecute_batches",
        "check_batch_judges",
        "ask_states",
        "batch_words",
        "pending_in",
    ),
    "engine.evaluate": (
        "aexecute",
        "evaluate",
        "execute",
        "run_until_signal",
    ),
    "engine.session": (
        "GradingSession",
        "SessionOpener",
        "open_session",
    ),
    "engine.table_grader": ("TableGrader",),
    "plan.estimate": ("estimate",),
    "plan.gate": (
        "DEFAULT_MIN_SCORED",
        "Gate",
        "GateAt",
        "GateDecision",
        "GraderDecision",
        "Missed",
    ),
    "plan.options": (
        "DEFAULT_ERROR",
        "OPTIONS",
        "RunOptions",
        "Sampling",
        "parse_share",
        "refuse_sampling",
        "require_counts",
        "require_gate",
        "require_share",
    ),
    "plan.plan": (
        "Graders",
        "Plan",
        "default_folders",
        "folders_of",
        "make_plan",
    ),
    "plan.progress": (
        "Progress",
        "Report",
        "reporting",
    ),
    "plan.sampling": (
        "plan_draw",
        "SampledMean",
    ),
    "read.merging": ("merge",),
    "read.glance": ("RunGlance", "ScoreCount"),
    "read.run": (
        "Run",
        "load_run",
    ),
    "record.store": ("read_manifest",),
    "record.outcome": (
        "Outcome",
        "findings_in",
        "outcome_schema",
        "reason_of",
        "score_of",
    ),
    "record.facts": ("NOT_CLUSTERED", "SIZES", "Size"),
    "record.reading": ("Record", "facts_in"),
    "record.extras": ("label_files", "labels_by_finding", "read_replies"),
    "record.samples": ("StoredSample",),
    "record.summary": (
        "GraderSummary",
        "RepeatNumbers",
        "Summary",
        "clusters_words",
        "counted_words",
        "reason_words",
        "size_interval_words",
        "size_words",
        "stage_numbers",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
