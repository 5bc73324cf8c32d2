"""What do the scores of a run say, and how far can they be trusted?

Pure functions on numbers, in the standard library only: intervals, bands, groups, paired
comparison, agreement with people, and correction of a judge's bias. See docs/statistics.md.

All of them refuse an empty list and a number out of its range (`InvalidScoresError`), lists that
must be aligned and are not (`UnpairedScoresError`), and a confidence, an error or a count that is
none (`ConfigurationError`); their docstrings name what they refuse besides.
"""

from rag_evals.stats.agreement import (
    Agreement,
    Confusion,
    balanced_accuracy_interval,
    krippendorff_interval,
    measure_agreement,
)
from rag_evals.stats.bands import (
    DEFAULT_BANDS,
    Band,
    GroupScores,
    band_of,
    build_bands,
    count_bands,
    summarize_groups,
)
from rag_evals.stats.betting import (
    GateTest,
    GateVerdict,
    SequentialGate,
    drawn_interval,
    gate_test,
    of_differences,
)
from rag_evals.stats.corrected import (
    CorrectedMean,
    CorrectedRate,
    prediction_powered_mean,
    rogan_gladen_rate,
)
from rag_evals.stats.intervals import (
    Interval,
    mean_interval,
    wilson_interval,
)
from rag_evals.stats.paired import (
    PairedComparison,
    PairedVerdict,
    PassFailTest,
    SampledDifference,
    compare_paired,
    holm_adjusted,
    largest_changes,
    mcnemar_exact,
    sampled_difference,
)
from rag_evals.stats.spread import (
    majority,
    spread_of,
    within_variance,
)
from rag_evals.stats.thresholds import (
    ThresholdPoint,
    auroc_interval,
    best_threshold,
    calibration_error,
    threshold_curve,
)
from rag_evals.stats.tuned import (
    IsotonicMap,
    PlattMap,
    SupportMap,
    SureSide,
    fit_support_map,
    sure_side,
)

__all__ = [
    "DEFAULT_BANDS",
    "Agreement",
    "Band",
    "Confusion",
    "CorrectedMean",
    "CorrectedRate",
    "GateTest",
    "GateVerdict",
    "GroupScores",
    "Interval",
    "IsotonicMap",
    "PairedComparison",
    "PairedVerdict",
    "PassFailTest",
    "PlattMap",
    "SampledDifference",
    "SequentialGate",
    "SupportMap",
    "SureSide",
    "ThresholdPoint",
    "auroc_interval",
    "balanced_accuracy_interval",
    "band_of",
    "best_threshold",
    "build_bands",
    "calibration_error",
    "compare_paired",
    "count_bands",
    "drawn_interval",
    "fit_support_map",
    "gate_test",
    "holm_adjusted",
    "krippendorff_interval",
    "largest_changes",
    "majority",
    "mcnemar_exact",
    "mean_interval",
    "measure_agreement",
    "of_differences",
    "prediction_powered_mean",
    "rogan_gladen_rate",
    "sampled_difference",
    "spread_of",
    "summarize_groups",
    "sure_side",
    "threshold_curve",
    "wilson_interval",
    "within_variance",
]
