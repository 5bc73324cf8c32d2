"""What else does a finished run give? Groups, the HTML report, and the summary of a build step."""

import os

from rich.table import Column, Table

from rag_evals.cli.shared.builds import BuildOutputs
from rag_evals.cli.shared.next_step import offer_next
from rag_evals.cli.shared.step_summary import VARIABLE, append_step_summary
from rag_evals.errors import MissingColumnError
from rag_evals.report import View, grader_numbers, group_cells, report_html, write_private
from rag_evals.report.screen import cell, echo, show_table
from rag_evals.run import Plan, Run, load_run


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
            f"no column {by!r} to group by; the data's other columns are "
            f"{', '.join(sorted(columns)) or 'none'}"
        )


def show_more(
    run: Run, view: View, build: BuildOutputs, *, report: bool, quiet: bool, json_output: bool
) -> None:
    """Show groups, write the report, add to the summary of a build step, and offer what is next.

    Args:
        run: A finished run that was kept.
        view: Column to show groups by, and the language.
        build: What else a build is to get.
        report: Whether to write `report.html` into its folder.
        quiet: Whether no next command is offered.
        json_output: Whether standard output holds JSON that must stay alone.
    """
    if view.by or report or build or os.environ.get(VARIABLE):
        _show_stored(load_run(run), view, build, report=report, on_stderr=json_output)
    following = ("judge", "label") if report else ("report",)
    offer_next(*following, run.folder, quiet=quiet, json_output=json_output, language=view.language)


def _show_stored(
    stored: Run, view: View, build: BuildOutputs, *, report: bool, on_stderr: bool
) -> None:
    if view.by is not None:
        show_groups(stored, view, on_stderr=on_stderr)
    build.leave(stored, view.say, on_stderr=on_stderr)
    append_step_summary(stored, view)
    if report and stored.folder is not None:
        path = write_private(stored.folder / "report.html", report_html(stored, view=view))
        echo(view.say("terminal.report", path=path), err=on_stderr)


def show_groups(run: Run, view: View, *, on_stderr: bool) -> None:
    """Print one table of groups for each grader."""
    for numbers in grader_numbers(run, view):
        names = (view.say(f"table.{name}") for name in ("score", "95", "scored", "not_scored"))
        grader = view.say.named("graders", numbers.grader)
        title = cell(view.say("terminal.by", grader=grader, column=view.by))
        table = Table(Column(cell(view.by)), *names, title=title, header_style="bold")
        for group in numbers.groups:
            table.add_row(*map(cell, group_cells(group, view)))
        show_table(table, err=on_stderr)
