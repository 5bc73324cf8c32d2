"""`rag-evals graders`: list what can be graded."""

from rich.table import Column, Table

from rag_evals.catalog import GRADERS
from rag_evals.report.terminal.screen import screen
from rag_evals.verify import EMBEDDED_GRADERS


def graders() -> None:
    """List the graders: what they measure, what a row must have, and which run without a model.

    [bold]Example[/bold]

      rag-evals graders
    """
    name_column = Column("grader", no_wrap=True)
    table = Table(name_column, "what it measures", "needs", "embedded judge", header_style="bold")
    for name, grader in GRADERS.items():
        local = "yes" if name in EMBEDDED_GRADERS else "no"
        table.add_row(name, grader.description, ", ".join(grader.requires), local)
    screen().print(table)
