"""What do the scores of a run say, and how far can they be trusted?

Pure functions on numbers, in the standard library only: intervals, bands, groups, paired
comparison, agreement with people, and correction of a judge's bias. See docs/statistics.md.

All of them refuse an empty list and a number out of its range (`InvalidScoresError`), lists that
must be aligned and are not (`UnpairedScoresError`), and a confidence, an error or a count that is
none (`ConfigurationError`); their docstrings name what else they refuse.
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
    "betting": (
        "GateTest",
        "SequentialGate",
        "gate_test",
    ),
    "corrected": ("CorrectedMean", "prediction_powered_mean"),
    "intervals": ("Clusters", "Interval", "count_interval", "find_clusters", "mean_interval"),
    "paired": (
        "compare_paired",
        "holm_adjusted",
    ),
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
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
