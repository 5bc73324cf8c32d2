"""What was decided before? Answers of judges and verdicts of verifiers, kept in one SQLite file."""

from rag_evals.cache.database import Database, count_rows, default_path, remove, size_of

__all__ = ["Database", "count_rows", "default_path", "remove", "size_of"]
