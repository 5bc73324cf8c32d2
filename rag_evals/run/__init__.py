"""How is a data set graded and kept? Plan, run, outcomes, store and summary."""

from rag_evals.run.asked_draw import plan_draw
from rag_evals.run.batch_table import BatchTable, has_batches, open_batches, parts_under_way
from rag_evals.run.batches import (
    BatchSteps,
    aexecute_batches,
    ask_states,
    batch_words,
    pending_in,
)
from rag_evals.run.collector import collector_paused
from rag_evals.run.counting import counted_words, reason_words, worst_mean
from rag_evals.run.decision import GateDecision, GraderDecision
from rag_evals.run.design import Design
from rag_evals.run.draw import until_decided
from rag_evals.run.estimate import Estimate, estimate
from rag_evals.run.export import safe_cell
from rag_evals.run.gate import (
    DEFAULT_MIN_SCORED,
    Gate,
    GateAt,
    Missed,
    missed_coverage,
    missed_loss,
    missed_pending,
)
from rag_evals.run.interrupt import run_until_signal
from rag_evals.run.merging import merge
from rag_evals.run.opening import SessionOpener, open_session
from rag_evals.run.outcome import ErrorRecord, Outcome, Status, findings_in, reason_of, score_of
from rag_evals.run.outcome_rows import outcome_schema
from rag_evals.run.plan import Graders, Plan, default_folders, make_plan
from rag_evals.run.plots import plot_calibration, plot_differences
from rag_evals.run.progress import Progress, Report, reporting
from rag_evals.run.record.reading import Record
from rag_evals.run.repeats import RepeatNumbers
from rag_evals.run.results import StoredResult
from rag_evals.run.run import Run, load_run
from rag_evals.run.runner import aevaluate, aexecute, evaluate, execute
from rag_evals.run.sampled import (
    FEWEST_SAMPLED,
    SampledMean,
    guesses,
    is_worth_it,
    rows_for_budget,
    sample_of,
)
from rag_evals.run.samples import StoredSample
from rag_evals.run.session import AsyncGradingSession, GradingSession, session_of
from rag_evals.run.settings import (
    DEFAULT_CONCURRENCY,
    DEFAULT_ERROR,
    DEFAULT_MAX_FAILURES,
    OPTIONS,
    Option,
    RunOptions,
    Sampling,
    parse_share,
    refuse_sampling,
    require_counts,
    require_gate,
    require_share,
)
from rag_evals.run.stages import stage_numbers
from rag_evals.run.stream import astream, stream
from rag_evals.run.summary import GraderSummary, Summary
from rag_evals.run.table_grader import TableGrader
from rag_evals.run.tables import Shape, band_label

__all__ = [
    "DEFAULT_CONCURRENCY",
    "DEFAULT_ERROR",
    "DEFAULT_MAX_FAILURES",
    "DEFAULT_MIN_SCORED",
    "FEWEST_SAMPLED",
    "OPTIONS",
    "AsyncGradingSession",
    "BatchSteps",
    "BatchTable",
    "Design",
    "ErrorRecord",
    "Estimate",
    "Gate",
    "GateAt",
    "GateDecision",
    "GraderDecision",
    "GraderSummary",
    "Graders",
    "GradingSession",
    "Missed",
    "Option",
    "Outcome",
    "Plan",
    "Progress",
    "Record",
    "RepeatNumbers",
    "Report",
    "Run",
    "RunOptions",
    "SampledMean",
    "Sampling",
    "SessionOpener",
    "Shape",
    "Status",
    "StoredResult",
    "StoredSample",
    "Summary",
    "TableGrader",
    "aevaluate",
    "aexecute",
    "aexecute_batches",
    "ask_states",
    "astream",
    "band_label",
    "batch_words",
    "collector_paused",
    "counted_words",
    "default_folders",
    "estimate",
    "evaluate",
    "execute",
    "findings_in",
    "guesses",
    "has_batches",
    "is_worth_it",
    "load_run",
    "make_plan",
    "merge",
    "missed_coverage",
    "missed_loss",
    "missed_pending",
    "open_batches",
    "open_session",
    "outcome_schema",
    "parse_share",
    "parts_under_way",
    "pending_in",
    "plan_draw",
    "plot_calibration",
    "plot_differences",
    "reason_of",
    "reason_words",
    "refuse_sampling",
    "reporting",
    "require_counts",
    "require_gate",
    "require_share",
    "rows_for_budget",
    "run_until_signal",
    "safe_cell",
    "sample_of",
    "score_of",
    "session_of",
    "stage_numbers",
    "stream",
    "until_decided",
    "worst_mean",
]
