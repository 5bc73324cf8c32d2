"""What do the scores of a run say, and how far can they be trusted?

Pure functions on numbers, in the standard library only: intervals, bands, groups, paired
comparison, agreement with people, and correction of a judge's bias. See docs/statistics.md.
"""

from rag_evals.stats.agreement import (
    Agreement,
    Confusion,
    balanced_accuracy_interval,
    cohen_kappa,
    count_confusion,
    kappa_interval,
    measure_agreement,
)
from rag_evals.stats.annotators import krippendorff_alpha, krippendorff_interval
from rag_evals.stats.bands import DEFAULT_BANDS, Band, band_of, build_bands, count_bands
from rag_evals.stats.betting import (
    GateTest,
    GateVerdict,
    SequentialGate,
    drawn_interval,
    gate_test,
    of_differences,
)
from rag_evals.stats.bootstrap import bootstrap_interval
from rag_evals.stats.bounded_error import Side, SureSide, row_likeness, sure_side
from rag_evals.stats.clusters import MeanError, mean_error
from rag_evals.stats.groups import GroupScores, summarize_groups
from rag_evals.stats.intervals import (
    Interval,
    clopper_pearson_interval,
    mean_interval,
    wilson_interval,
)
from rag_evals.stats.paired import (
    PairedComparison,
    PairedVerdict,
    compare_paired,
    largest_changes,
    minimum_detectable_difference,
)
from rag_evals.stats.prediction_powered import CorrectedMean, prediction_powered_mean
from rag_evals.stats.repeats import majority, within_variance
from rag_evals.stats.rogan_gladen import CorrectedRate, rogan_gladen_rate
from rag_evals.stats.sampled_difference import SampledDifference, sampled_difference
from rag_evals.stats.significance import (
    PassFailTest,
    SignificanceTest,
    holm_adjusted,
    mcnemar_exact,
    sign_flip_test,
)
from rag_evals.stats.spread import spread_of
from rag_evals.stats.support_maps import (
    IsotonicMap,
    PlattMap,
    SupportMap,
    fit_isotonic,
    fit_platt,
    fit_support_map,
)
from rag_evals.stats.thresholds import (
    Calibration,
    CalibrationBin,
    ThresholdPoint,
    auroc,
    auroc_interval,
    best_threshold,
    calibration_error,
    threshold_curve,
)

__all__ = [
    "DEFAULT_BANDS",
    "Agreement",
    "Band",
    "Calibration",
    "CalibrationBin",
    "Confusion",
    "CorrectedMean",
    "CorrectedRate",
    "GateTest",
    "GateVerdict",
    "GroupScores",
    "Interval",
    "IsotonicMap",
    "MeanError",
    "PairedComparison",
    "PairedVerdict",
    "PassFailTest",
    "PlattMap",
    "SampledDifference",
    "SequentialGate",
    "Side",
    "SignificanceTest",
    "SupportMap",
    "SureSide",
    "ThresholdPoint",
    "auroc",
    "auroc_interval",
    "balanced_accuracy_interval",
    "band_of",
    "best_threshold",
    "bootstrap_interval",
    "build_bands",
    "calibration_error",
    "clopper_pearson_interval",
    "cohen_kappa",
    "compare_paired",
    "count_bands",
    "count_confusion",
    "drawn_interval",
    "fit_isotonic",
    "fit_platt",
    "fit_support_map",
    "gate_test",
    "holm_adjusted",
    "kappa_interval",
    "krippendorff_alpha",
    "krippendorff_interval",
    "largest_changes",
    "majority",
    "mcnemar_exact",
    "mean_error",
    "mean_interval",
    "measure_agreement",
    "minimum_detectable_difference",
    "of_differences",
    "prediction_powered_mean",
    "rogan_gladen_rate",
    "row_likeness",
    "sampled_difference",
    "sign_flip_test",
    "spread_of",
    "summarize_groups",
    "sure_side",
    "threshold_curve",
    "wilson_interval",
    "within_variance",
]
