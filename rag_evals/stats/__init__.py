"""Pure functions for statistics, which use only the standard library.

Intervals, bands, groups, paired comparison, agreement with people, and correction of a judge's
bias. See docs/statistics.md.

Labels, verdicts, scores (0 to 1), clusters and weights are lists with one entry per row, in the
same order. A confidence is an interval's coverage, as a fraction.

All functions reject empty lists and out-of-range numbers (`InvalidScoresError`), lists of different
lengths (`UnpairedScoresError`), and an invalid confidence, error or count (`ConfigurationError`).
"""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
