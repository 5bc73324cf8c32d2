"""How does another engine grade its tables? With an object that grades one table after the other.

Engines such as Ray, Spark and Daft hand tables to processes of their own. The object travels there
as its settings alone, and opens its session with the first row that it sees.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evals.dataset import required_module
from rag_evals.errors import ConfigurationError
from rag_evals.run.engine.session import AsyncGradingSession, SessionOpener, SessionThread
from rag_evals.run.record.outcome import COLUMNS, outcome_schema


class TableGrader:
    """Grades Arrow tables of rows into Arrow tables of outcomes, for engines with workers.

    It keeps one session open in each process, with its connections, limits and cache, and may be
    pickled (by cloudpickle, where `sessions` is a lambda) before and after it has graded. Whatever
    is wrong with a row or a reply is in the row's outcome.

    Args:
        sessions: Opens a session, as in `lambda: open_session("faithfulness", "openai/…")`. It is
            called once in each process that grades.
        keep: Columns of the data that the outcomes carry along, such as the id under its own name.

    Attributes:
        sessions: As given.
        keep: As given.

    Raises:
        ConfigurationError: A column to keep has the name of a column of outcomes, `keep` is one
            text, or `sessions` is no function.
    """

    def __init__(self, sessions: Callable[[], SessionOpener], keep: Sequence[str] = ()) -> None:
        if not callable(sessions):
            raise ConfigurationError(
                f"sessions is {sessions!r}; expected a function that opens one, as in "
                "lambda: open_session('faithfulness', 'openai/MODEL')"
            )
        if isinstance(keep, str):
            raise ConfigurationError(f"keep is one text; expected a tuple, as in ({keep!r},)")
        taken = sorted(set(keep) & set(COLUMNS))
        if taken:
            raise ConfigurationError(
                f"the data's column {taken[0]!r} has the name of a column of outcomes, and cannot "
                "be carried along; rename it in the data"
            )
        self.sessions = sessions
        self.keep = tuple(keep)
        self._opening = threading.Lock()
        self._opened: SessionThread | None = None

    def __repr__(self) -> str:
        """One line: whether its session is open."""
        return f"TableGrader({'open' if self._opened else 'not yet used'})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the session where it is: it is a process's own."""
        return type(self), (self.sessions, self.keep)

    def __call__(self, table: Any) -> Any:
        """Grade a table.

        Args:
            table: A `pyarrow.Table` with a row for each sample.

        Returns:
            A `pyarrow.Table` with the columns of `Outcome.to_row`, and those to keep: a row for
            each sample and grader, in the order of the samples.

        Raises:
            ConfigurationError: The session cannot work, whatever the row; a column to keep is
                missing; or pyarrow is.
        """
        arrow = required_module("pyarrow", "data", "grade Arrow tables")
        missing = [name for name in self.keep if name not in table.column_names]
        if missing:
            raise ConfigurationError(
                f"the table has no column {missing[0]!r}; it has {', '.join(table.column_names)}"
            )
        rows = table.to_pylist()
        opened = self._open()
        graded = opened.loop.run(_all_graded(opened.session, rows))
        schema = outcome_schema()
        for name in self.keep:
            schema = schema.append(table.schema.field(name))
        flat = [
            each | {name: row[name] for name in self.keep}
            for row, flat_rows in zip(rows, graded, strict=True)
            for each in flat_rows
        ]
        return arrow.Table.from_pylist(flat, schema=schema)

    async def grade_row(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Grade one row, for engines that await each row by itself.

        Args:
            row: Column to value.

        Returns:
            One flat row of `Outcome.to_row` for each grader, with the columns to keep.

        Raises:
            ConfigurationError: The session cannot work, whatever the row.
        """
        opened = self._open()
        graded = await asyncio.wrap_future(opened.loop.begin(_graded(opened.session, row)))
        return [each | {name: row[name] for name in self.keep} for each in graded]

    def close(self) -> None:
        """Close the session and its connections; the next row opens another."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _open(self) -> SessionThread:
        with self._opening:
            if self._opened is None:
                opener = self.sessions()
                if not isinstance(opener, SessionOpener):
                    raise ConfigurationError(
                        f"sessions returned {opener!r}; expected what open_session returns"
                    )
                self._opened = SessionThread(opener)
            return self._opened


async def _all_graded(
    session: AsyncGradingSession, rows: Sequence[Mapping[str, Any]]
) -> list[list[dict[str, Any]]]:
    # The session lets in as many as may be graded at a time.
    return list(await asyncio.gather(*(_graded(session, row) for row in rows)))


async def _graded(session: AsyncGradingSession, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Grade a row, and return a flat row for each grader, with what was graded."""
    sample = session.read(row)
    return [outcome.to_row(sample) for outcome in await session.grade_all(sample)]
