# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.stats.agreement import auroc_interval as auroc_interval
from rag_evals.stats.agreement import best_threshold as best_threshold
from rag_evals.stats.agreement import calibration_error as calibration_error
from rag_evals.stats.agreement import krippendorff_interval as krippendorff_interval
from rag_evals.stats.agreement import measure_agreement as measure_agreement
from rag_evals.stats.bands import DEFAULT_BANDS as DEFAULT_BANDS
from rag_evals.stats.bands import Band as Band
from rag_evals.stats.bands import band_of as band_of
from rag_evals.stats.bands import build_bands as build_bands
from rag_evals.stats.bands import count_bands as count_bands
from rag_evals.stats.bands import majority as majority
from rag_evals.stats.bands import summarize_groups as summarize_groups
from rag_evals.stats.betting import GateTest as GateTest
from rag_evals.stats.betting import SequentialGate as SequentialGate
from rag_evals.stats.betting import gate_test as gate_test
from rag_evals.stats.corrected import CorrectedMean as CorrectedMean
from rag_evals.stats.corrected import prediction_powered_mean as prediction_powered_mean
from rag_evals.stats.intervals import Clusters as Clusters
from rag_evals.stats.intervals import Interval as Interval
from rag_evals.stats.intervals import count_interval as count_interval
from rag_evals.stats.intervals import find_clusters as find_clusters
from rag_evals.stats.intervals import mean_interval as mean_interval
from rag_evals.stats.paired import compare_paired as compare_paired
from rag_evals.stats.paired import holm_adjusted as holm_adjusted
from rag_evals.stats.ranks import average_precision as average_precision
from rag_evals.stats.ranks import hit_at as hit_at
from rag_evals.stats.ranks import ndcg_at as ndcg_at
from rag_evals.stats.ranks import reciprocal_rank as reciprocal_rank
from rag_evals.stats.tuned import LEFT_OPEN as LEFT_OPEN
from rag_evals.stats.tuned import SureSide as SureSide
from rag_evals.stats.tuned import error_bound as error_bound
from rag_evals.stats.tuned import fit_logistic as fit_logistic
from rag_evals.stats.tuned import fit_support_map as fit_support_map
from rag_evals.stats.tuned import independent_rows as independent_rows
from rag_evals.stats.tuned import sure_side as sure_side

__all__: list[str]
