"""What do the scores of a run say, and how far can they be trusted?

Pure functions on numbers, in the standard library only: intervals, bands, groups, paired
comparison, agreement with people, and correction of a judge's bias. See docs/statistics.md.

All of them refuse an empty list and a number out of its range (`InvalidScoresError`), lists that
must be aligned and are not (`UnpairedScoresError`), and a confidence, an error or a count that is
none (`ConfigurationError`); their docstrings name what they refuse besides.
"""

from rag_evals import lazy_names

NAMES = {
    "agreement": (
        "Agreement",
        "ThresholdPoint",
        "auroc_interval",
        "best_threshold",
        "calibration_error",
        "krippendorff_interval",
        "measure_agreement",
        "threshold_curve",
    ),
    "bands": (
        "DEFAULT_BANDS",
        "Band",
        "GroupScores",
        "band_of",
        "build_bands",
        "count_bands",
        "majority",
        "spread_of",
        "summarize_groups",
    ),
    "betting": (
        "GateTest",
        "GateVerdict",
        "SequentialGate",
        "drawn_interval",
        "gate_test",
    ),
    "corrected": ("CorrectedMean", "prediction_powered_mean"),
    "intervals": ("Clusters", "Interval", "count_interval", "find_clusters", "mean_interval"),
    "paired": (
        "PairedComparison",
        "PairedVerdict",
        "compare_paired",
        "count_difference",
        "holm_adjusted",
    ),
    "ranks": ("average_precision", "hit_at", "ndcg_at", "recall_at", "reciprocal_rank"),
    "tuned": (
        "LEFT_OPEN",
        "SupportMap",
        "SupportShift",
        "SureSide",
        "error_bound",
        "fit_logistic",
        "fit_support_map",
        "independent_rows",
        "log_odds",
        "probability",
        "support_shift",
        "sure_side",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
