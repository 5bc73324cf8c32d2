"""What was decided before? Replies of judges and verdicts of verifiers, in one SQLite file."""

from rag_evals import lazy_names

NAMES = {
    "semantic": ("SemanticCache",),
    "statements": ("StatementCache", "cached", "configured_cache"),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
