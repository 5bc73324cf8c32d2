"""What was decided before? Replies of judges and verdicts of verifiers, in one SQLite file."""

from rag_evals import lazy_names

NAMES = {
    "calls": ("CallCache",),
    "configured": ("check_cache_variables", "configured_cache"),
    "database": (
        "Database",
        "count_entries",
        "default_path",
        "remove",
        "size_of",
    ),
    "semantic": ("Embedder", "SemanticCache"),
    "statements": ("StatementCache", "cached"),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
