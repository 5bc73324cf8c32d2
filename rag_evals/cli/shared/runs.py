"""Executing and opening runs, and writing their outputs: tables, pages and files for CI builds."""

import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from rag_evals.analysis import Comparison
from rag_evals.cli.shared.exits import DONE, NOT_DECIDED
from rag_evals.cli.shared.gates import GateResult, share
from rag_evals.cli.shared.options import By, Cluster, OutFolderOrTable, Output
from rag_evals.core import Phrases
from rag_evals.dataset.readers import READERS
from rag_evals.errors import ConfigurationError, MissingColumnError, RunInterruptedError
from rag_evals.report import report_html
from rag_evals.report.failures import build_warnings, junit_xml
from rag_evals.report.html_page import write_private
from rag_evals.report.screen import cell, echo, show_table
from rag_evals.report.tables import (
    View,
    comparison_markdown,
    grader_numbers,
    group_cells,
    markdown_text,
    report_markdown,
)
from rag_evals.run import Run, load_run
from rag_evals.run.engine.evaluate import run_until_signal
from rag_evals.run.plan.plan import Plan
from rag_evals.run.record.samples import GROUPING_FIELDS

_build_option = partial(typer.Option, rich_help_panel="For a build")
_ANYTHING_WRONG = 1.0
_ON_GITHUB = "GITHUB_ACTIONS"
_SUMMARY = "GITHUB_STEP_SUMMARY"
# GitHub discards a step summary larger than 1 MiB.
_MOST_BYTES = 1_000_000


def run_or_exit(work: Coroutine[Any, Any, Run], folder: Path) -> Run:
    try:
        return run_until_signal(work)
    except RunInterruptedError as error:
        echo(
            f"{error}; finished rows are stored in {folder}. Run the same command to continue.",
            err=True,
        )
        # By shell convention, the exit code is 128 plus the signal number.
        raise typer.Exit(128 + error.signal_number) from None


def open_run(folder: Path) -> Run:
    """Open a run, and print its notes to standard error."""
    stored = load_run(folder)
    for note in stored.notes():
        echo(f"{folder}: {note}", err=True)
    return stored


HTML = (".html", ".htm")
"""Suffixes of pages."""


def require_suffix(out: Path | None, *expected: str) -> None:
    """Reject a file whose suffix suggests a different format; devices and pipes have no suffix."""
    if out is not None and out.suffix and out.suffix.lower() not in expected:
        raise ConfigurationError(
            f"--out {str(out)!r} has the wrong suffix; expected {' or '.join(expected)}"
        )


_TABLES = frozenset({*HTML, ".csv", ".jsonl", ".parquet", ".xlsx"})
_NO_FOLDERS = frozenset(READERS) | {".md", ".pdf", ".txt", ".xls", ".xml", ".xslx"}
_JUNIT_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="rag-evals">'


def _remove_earlier(junit: Path | None) -> Path | None:
    """Remove an earlier build's file, which would be misleading if this build failed.

    Only a file written by `--junit` is removed, in case the option points to the data by mistake.
    """
    if junit is not None and junit.is_file():
        with junit.open("rb") as file:
            is_ours = file.read(len(_JUNIT_HEAD)) == _JUNIT_HEAD.encode()
        if is_ours:
            junit.unlink()
    return junit


@dataclass(frozen=True)
class Outputs(Output):
    by: By = None
    cluster: Cluster = None
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html to the run folder.")
    ] = False
    junit: Annotated[
        Path | None,
        _build_option(
            metavar="FILE",
            # Eager: the callback must run before any other option can be rejected.
            is_eager=True,
            callback=_remove_earlier,
            help="Write a JUnit file with a test case for each row.",
        ),
    ] = None
    row_under: Annotated[
        float | None,
        _build_option(
            parser=share,
            metavar="SCORE",
            help="Rows with a lower score are failures in the JUnit file and warnings on GitHub. "
            "Default: 1, which includes every row with a problem.",
        ),
    ] = None
    out: OutFolderOrTable = None

    @property
    def table(self) -> Path | None:
        """The file specified by `--out`; None if it is a folder."""
        out = self.out
        is_table = out is not None and out.suffix.lower() in _TABLES and not out.is_dir()
        return out if is_table else None

    @property
    def folder(self) -> Path | None:
        return None if self.table is not None else self.out

    def check(self, data: str) -> None:
        if self.row_under is not None and self.junit is None and not _warns():
            raise ConfigurationError(f"--row-under {self.row_under:g} does nothing without --junit")
        if self.junit is not None and (self.junit.is_dir() or not self.junit.parent.is_dir()):
            raise ConfigurationError(
                f"--junit {str(self.junit)!r} cannot be written; expected a file in an existing "
                "folder"
            )
        folder = self.folder
        if folder is not None and folder.suffix.lower() in _NO_FOLDERS and not folder.is_dir():
            raise ConfigurationError(
                f"--out {str(folder)!r} is the name of a file; expected a folder, or a file that "
                f"ends in {', '.join(sorted(_TABLES))}. `rag-evals export RUN --to FILE` and "
                "`rag-evals report RUN` also write files"
            )
        for option, file in (("--junit", self.junit), ("--out", self.table)):
            if file is not None and file.exists() and Path(data).exists() and file.samefile(data):
                raise ConfigurationError(
                    f"{option} {str(file)!r} would overwrite the data; choose another file"
                )

    def show_more(
        self, run: Run, view: View, count: Mapping[str, float], result: GateResult
    ) -> None:
        asked = (view.by, self.report, self.junit, self.table, _warns(), os.environ.get(_SUMMARY))
        if any(asked):
            self._show_stored(load_run(run), view, count, result)
        following = ("judge", "label") if self.report else ("report",)
        self.offer_next(*following, run.folder, language=view.language)

    def _show_stored(
        self, stored: Run, view: View, count: Mapping[str, float], result: GateResult
    ) -> None:
        if view.by is not None:
            # With --json, standard output must contain nothing but JSON.
            _show_groups(stored, view, on_stderr=self.json_output)
        if self.report and stored.folder is not None:
            self._write(stored.folder / "report.html", stored, view)
        if self.table is not None:
            self._write(self.table, stored, view)
        if self.junit is not None or _warns():
            self._leave_for_build(stored, view.say, count)
        append_step_summary(stored, view, result)

    def _write(self, path: Path, stored: Run, view: View) -> None:
        if path.suffix.lower() in HTML:
            kind, written = "report", write_private(path, report_html(stored, view=view))
        else:
            kind, written = "table", stored.write(path, language=view.language)
        echo(view.say(f"terminal.{kind}", path=written), err=self.json_output)

    def _leave_for_build(self, run: Run, say: Phrases, count: Mapping[str, float]) -> None:
        if run.summary().pending:
            # Otherwise, a build would present the finished rows as the complete run.
            echo(say("terminal.build_waits"), err=True)
            return
        under = _ANYTHING_WRONG if self.row_under is None else self.row_under
        if self.junit is not None:
            with self.junit.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in junit_xml(run, under, count))
            echo(say("terminal.junit", path=self.junit), err=self.json_output)
        # GitHub reads workflow commands from standard output and standard error.
        for line in build_warnings(run, under) if _warns() else ():
            echo(line, err=True)


def _warns() -> bool:
    return os.environ.get(_ON_GITHUB) == "true"


def check_group_column(plan: Plan, by: str | None, use: str = "group") -> None:
    if by is None or plan.checked is None or by in GROUPING_FIELDS:
        return
    # Graded fields are stored with the sample; only the other columns can form groups.
    columns = set(plan.checked.columns) - set(plan.checked.taken.values())
    if by not in columns and by.split(".")[0] not in columns:
        raise MissingColumnError(
            f"no column {by!r} to {use} by; the data's other columns are "
            f"{', '.join(sorted(columns)) or 'none'}"
        )


def _show_groups(run: Run, view: View, *, on_stderr: bool) -> None:
    for numbers in grader_numbers(run, view):
        names = (view.say(f"table.{name}") for name in ("score", "95", "scored", "not_scored"))
        grader = view.say.named("graders", numbers.counted.grader)
        title = cell(view.say("terminal.by", grader=grader, column=view.by))
        table = Table(Column(cell(view.by)), *names, title=title, header_style="bold")
        for group in numbers.groups:
            table.add_row(*map(cell, group_cells(group, view)))
        show_table(table, err=on_stderr)


def append_step_summary(
    shown: Run | Comparison, view: View | None = None, result: GateResult | None = None
) -> None:
    """Append to the GitHub Actions step summary; outside GitHub Actions, do nothing."""
    target = os.environ.get(_SUMMARY)
    if not target:
        return
    say = (view or View()).say
    if isinstance(shown, Run):
        title, text = say("table.scores"), report_markdown(shown, view=view)
    else:
        title, text = say("table.comparison"), comparison_markdown(shown, view=view)
    if result is not None and result.lines:
        verdict = "passed" if result.code == DONE else "failed"
        verdict = "not decided" if result.code == NOT_DECIDED else verdict
        title += f": {say.named('verdicts', verdict)}"
        text = "".join(f"- {markdown_text(line)}\n" for line in result.lines) + f"\n{text}"
    try:
        with Path(target).open("ab") as file:
            written = f"### rag-evals: {title}\n\n{text}\n".encode()
            room = max(0, _MOST_BYTES - file.tell())
            if len(written) > room:
                cut = f"\n*{say('table.cut')}*\n".encode()
                kept = written[: max(0, room - len(cut))]
                written = kept[: kept.rfind(b"\n") + 1] + cut if room > len(cut) else b""
            file.write(written)
    except OSError as error:
        raise ConfigurationError(
            f"{_SUMMARY}={target!r} cannot be written: {error.strerror}"
        ) from error
