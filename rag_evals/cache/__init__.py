"""What was decided before? Answers of judges and verdicts of verifiers, kept in one SQLite file."""

from rag_evals.cache.calls import CALLS_TABLE, CachedJudge, open_calls
from rag_evals.cache.database import Database, count_rows, default_path, remove, size_of

__all__ = [
    "CALLS_TABLE",
    "CachedJudge",
    "Database",
    "count_rows",
    "default_path",
    "open_calls",
    "remove",
    "size_of",
]
