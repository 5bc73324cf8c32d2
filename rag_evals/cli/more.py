"""What else does a finished run give? Groups, the HTML report, and the summary of a build step."""

import os

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_evals.cli.step_summary import VARIABLE, append_step_summary
from rag_evals.errors import MissingColumnError
from rag_evals.report import View, grader_numbers, group_cells, report_html, write_private
from rag_evals.run import Plan, Run, StoredRun, load_run

_WIDTH_OF_A_PIPE = 120


def check_group_column(plan: Plan, by: str | None) -> None:
    """Refuse a column to group by that no row has, before any row is paid for.

    Raises:
        MissingColumnError: The message lists the columns.
    """
    if by is None or plan.checked is None or by == "language":
        return
    # What is graded is kept as the sample; groups are made of the columns beside it.
    columns = set(plan.checked.columns) - set(plan.checked.taken.values())
    if by not in columns and by.split(".")[0] not in columns:
        raise MissingColumnError(
            f"no column {by!r} to group by; beside what is graded the data has "
            f"{', '.join(sorted(columns)) or 'none'}"
        )


def show_more(run: Run, *, by: str | None, report: bool, on_stderr: bool) -> None:
    """Show groups, write the report and add to the summary of a build step, as far as asked for.

    Args:
        run: A finished run that was kept.
        by: Column to show groups by, or None.
        report: Whether to write `report.html` into its folder.
        on_stderr: Whether standard output holds JSON that must stay alone.
    """
    if not (by or report or os.environ.get(VARIABLE)):
        return
    stored, view = load_run(run), View(by)
    if by is not None:
        show_groups(stored, view, on_stderr=on_stderr)
    append_step_summary(stored, view)
    if report and stored.folder is not None:
        path = write_private(stored.folder / "report.html", report_html(stored, view=view))
        typer.echo(f"report: {path}", err=on_stderr)


def show_groups(run: StoredRun, view: View, *, on_stderr: bool) -> None:
    """Print one table of groups for each grader."""
    console = Console(stderr=on_stderr)
    if not console.is_terminal:
        console = Console(stderr=on_stderr, width=_WIDTH_OF_A_PIPE)
    for numbers in grader_numbers(run, view):
        names = (str(view.by), "score", "95 %", "scored", "not scored")
        table = Table(*names, title=f"{numbers.grader} by {view.by}", header_style="bold")
        for group in numbers.groups:
            table.add_row(*(Text(cell) for cell in group_cells(group)))
        console.print(table)
