"""Statistics: pure functions on numbers that use only the standard library.

Intervals, bands, groups, paired comparison, agreement with people, and correction of a judge's
bias. See docs/statistics.md.

Labels, verdicts, scores (0 to 1), clusters and weights are lists with one entry per row, in the
same order. A confidence is an interval's coverage, as a fraction.

All functions reject empty lists and out-of-range numbers (`InvalidScoresError`), lists of different
lengths (`UnpairedScoresError`), and an invalid confidence, error or count (`ConfigurationError`).
"""

from rag_evals import lazy_names

NAMES = {
    "agreement": (
        "auroc_interval",
        "best_threshold",
        "calibration_error",
        "krippendorff_interval",
        "measure_agreement",
    ),
    "bands": (
        "DEFAULT_BANDS",
        "Band",
        "band_of",
        "build_bands",
        "count_bands",
        "majority",
        "summarize_groups",
    ),
    "betting": ("GateTest", "SequentialGate", "gate_test"),
    "corrected": ("CorrectedMean", "prediction_powered_mean"),
    "intervals": ("Clusters", "Interval", "count_interval", "find_clusters", "mean_interval"),
    "paired": ("compare_paired", "holm_adjusted"),
    "ranks": ("average_precision", "hit_at", "ndcg_at", "reciprocal_rank"),
    "tuned": (
        "LEFT_OPEN",
        "SureSide",
        "error_bound",
        "fit_logistic",
        "fit_support_map",
        "independent_rows",
        "sure_side",
    ),
}
"""The public names of this package, by module."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
