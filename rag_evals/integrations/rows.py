"""How do all tools of this room grade a row, and say why? In one way, for all files."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from rag_evals.core import findings_lines
from rag_evals.errors import GradingError, MissingExtraError, NotScorableError
from rag_evals.judge import Client
from rag_evals.run import Graders, GradingSession, Outcome, Run, open_session


class ToolGrader:
    """Grades rows one by one for as long as a program runs, in one session.

    Attributes:
        name: What results are called.
    """

    def __init__(self, grader: Graders = "faithfulness", client: Client = None) -> None:
        """Check grader and judge; nothing is sent.

        Args:
            grader: One grader, or the name of a shipped one.
            client: As for `rag_evals.evaluate`.

        Raises:
            ConfigurationError: They cannot work.
        """
        self._opener = open_session(grader, client)
        # Its thread is a daemon: it ends with the program.
        self._session: GradingSession = self._opener.__enter__()
        self.name = self._session.graders[0]

    def grade(self, row: object) -> Outcome:
        """Grade a row as `rag_evals.evaluate` reads it, from any thread."""
        return self._session.grade(row)

    def score(self, row: object) -> Outcome:
        """Grade a row that must have a score.

        Raises:
            NotScorableError: It has nothing to grade.
            GradingError: It could not be graded.
        """
        outcome = self.grade(row)
        if outcome.reason is not None:
            raise NotScorableError(outcome.reason)
        if outcome.error is not None:
            raise GradingError(outcome.words())
        return outcome


def tool(name: str) -> Any:
    """Import a module of the tool that a file of this room serves.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise MissingExtraError(
            f"{error.name} is not installed, which {name} needs: pip install {package}"
        ) from error


def explanation(outcome: Outcome) -> str:
    """Say why an outcome is what it is, in lines: its findings, or how it ended."""
    return "\n".join(line.strip() for line in findings_lines(outcome.findings)) or outcome.words()


def marked(run: Run, column: str) -> Iterator[tuple[Outcome, str]]:
    """Yield outcomes with what a column of their rows holds, such as the id of a trace.

    Args:
        run: What was graded.
        column: Rows that lack it are left out.

    Raises:
        DataError: No row has it.
    """
    ids = run.column(column)
    for outcome in run:
        found = ids.get(outcome.sample_id)
        if found is not None:
            yield outcome, found
