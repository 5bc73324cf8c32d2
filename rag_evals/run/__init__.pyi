# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.run.engine.evaluate import evaluate as evaluate
from rag_evals.run.engine.evaluate import execute as execute
from rag_evals.run.engine.session import GradingSession as GradingSession
from rag_evals.run.engine.session import TableGrader as TableGrader
from rag_evals.run.engine.session import open_session as open_session
from rag_evals.run.plan.gate import DEFAULT_MIN_SCORED as DEFAULT_MIN_SCORED
from rag_evals.run.plan.gate import Gate as Gate
from rag_evals.run.plan.gate import GateAt as GateAt
from rag_evals.run.plan.gate import GateDecision as GateDecision
from rag_evals.run.plan.gate import Missed as Missed
from rag_evals.run.plan.options import DEFAULT_ERROR as DEFAULT_ERROR
from rag_evals.run.plan.options import OPTIONS as OPTIONS
from rag_evals.run.plan.options import RunOptions as RunOptions
from rag_evals.run.plan.options import Sampling as Sampling
from rag_evals.run.plan.options import require_counts as require_counts
from rag_evals.run.plan.options import require_gate as require_gate
from rag_evals.run.plan.options import require_share as require_share
from rag_evals.run.plan.plan import Graders as Graders
from rag_evals.run.plan.plan import make_plan as make_plan
from rag_evals.run.plan.progress import Progress as Progress
from rag_evals.run.read.merging import merge as merge
from rag_evals.run.read.run import Run as Run
from rag_evals.run.read.run import load_run as load_run
from rag_evals.run.record.extras import label_files as label_files
from rag_evals.run.record.facts import NOT_CLUSTERED as NOT_CLUSTERED
from rag_evals.run.record.outcome import Outcome as Outcome
from rag_evals.run.record.outcome import Record as Record
from rag_evals.run.record.outcome import findings_in as findings_in
from rag_evals.run.record.outcome import outcome_schema as outcome_schema
from rag_evals.run.record.outcome import reason_of as reason_of
from rag_evals.run.record.outcome import score_of as score_of
from rag_evals.run.record.samples import StoredSample as StoredSample
from rag_evals.run.record.summary import GraderSummary as GraderSummary
from rag_evals.run.record.summary import Summary as Summary
from rag_evals.run.record.summary import reason_words as reason_words

__all__: list[str]
