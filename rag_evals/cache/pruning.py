"""Which entries of a cache are no longer wanted? Deletes them by age and by model."""

from pathlib import Path

from rag_evals.cache.calls import open_calls
from rag_evals.cache.database import CALLS_TABLE, STATEMENTS_TABLE, Database
from rag_evals.cache.statements import open_statements

# Verdicts of versions that had another key; nothing reads them any more.
_OLD_TABLE = "statements"


def models_in(path: Path) -> list[str]:
    """Return the models that a cache file has entries of, sorted; empty without a file."""
    if not path.exists():
        return []
    models: set[str] = set()
    for table, database in _tables(path):
        models.update(line for stored in _stored(database, table) for line in stored.splitlines())
        database.close()
    return sorted(models)


def prune(path: Path, *, before: float | None = None, model: str | None = None) -> tuple[int, int]:
    """Delete entries, and give their room back.

    Args:
        path: The cache file.
        before: Only entries made before this time, in seconds since 1970; None takes any.
        model: Only entries of this model, with or without its provider; None takes any.

    Returns:
        How many answers of judges, and how many verdicts.
    """
    if not path.exists():
        return 0, 0
    deleted = []
    for table, database in _tables(path):
        chosen = [one for one in _stored(database, table) if model is None or _names(one, model)]
        statement = f"DELETE FROM {table} WHERE coalesce(model, '') = ? AND created < ?"
        end = float("inf") if before is None else before
        deleted.append(database.write(statement, [(one, end) for one in chosen]) if chosen else 0)
        database.write(f"DROP TABLE IF EXISTS {_OLD_TABLE}", [()])
        database.compact()
        database.close()
    answers, verdicts = deleted
    return answers, verdicts


def _tables(path: Path) -> list[tuple[str, Database]]:
    return [(CALLS_TABLE, open_calls(path)), (STATEMENTS_TABLE, open_statements(path))]


def _stored(database: Database, table: str) -> list[str]:
    """Return what the column `model` holds; answers of earlier versions name no model."""
    rows = database.read(f"SELECT DISTINCT coalesce(model, '') FROM {table}")
    return [str(row[0]) for row in rows]


def _names(stored: str, model: str) -> bool:
    wanted = {model, f"hf:{model}"}
    return any(line in wanted or line.endswith(f"/{model}") for line in stored.splitlines())
