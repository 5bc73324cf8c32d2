"""What does `grade` leave for a build? A JUnit file, and warnings on GitHub's page."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError
from rag_evals.report import build_warnings, junit_xml
from rag_evals.report.screen import echo
from rag_evals.run import Run, parse_share

ON_GITHUB = "GITHUB_ACTIONS"
_PANEL = "For a build"
_ANYTHING_WRONG = 1.0

JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Write a JUnit file, with a test case for each row.",
        rich_help_panel=_PANEL,
    ),
]

RowUnder = Annotated[
    str | None,
    typer.Option(
        "--row-under",
        metavar="SCORE",
        help="Rows that score less are failures in the JUnit file, and warnings on GitHub. "
        "Default: 1, whatever has anything against it.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True, slots=True)
class BuildOutputs:
    """What a build is to get.

    Attributes:
        junit: The JUnit file, or None.
        under: Scores under this are failures and warnings.
        count: Numbers for reasons of rows without a score.
        warns: Whether this is a build of GitHub, which shows warnings.
    """

    junit: Path | None
    under: float
    count: Mapping[str, float]
    warns: bool

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return self.junit is not None or self.warns

    def leave(self, run: Run, say: Phrases, *, on_stderr: bool) -> None:
        """Write the file and print the warnings.

        Args:
            run: A finished run that was kept.
            say: The reader's language.
            on_stderr: Whether standard output holds JSON that must stay alone.
        """
        if run.summary().pending:
            # A build that shows them would take a part for the whole.
            echo(say("terminal.build_waits"), err=True)
            return
        if self.junit is not None:
            _write(self.junit, junit_xml(run, self.under, self.count))
            echo(say("terminal.junit", path=self.junit), err=on_stderr)
        # GitHub reads commands from both streams.
        for line in build_warnings(run, self.under) if self.warns else ():
            echo(line, err=True)


def asked_of_build(
    junit: Path | None,
    row_under: str | None,
    count: Mapping[str, float],
    data: str,
    *,
    dry_run: bool,
) -> BuildOutputs:
    """Check the options of a build before any row is paid for.

    Raises:
        ConfigurationError: A file cannot be written there, `--row-under` is no share, or it would
            do nothing; a dry run has no numbers to leave.
    """
    warns = os.environ.get(ON_GITHUB) == "true"
    if row_under is not None and junit is None and not warns:
        raise ConfigurationError(f"--row-under {row_under} does nothing without --junit")
    if junit is not None:
        _check_file(junit, data, dry_run=dry_run)
    try:
        under = _ANYTHING_WRONG if row_under is None else parse_share(row_under)
    except ConfigurationError as error:
        raise ConfigurationError(f"--row-under {error}") from None
    return BuildOutputs(junit, under, count, warns)


def _check_file(junit: Path, data: str, *, dry_run: bool) -> None:
    if dry_run:
        raise ConfigurationError(
            "--dry-run grades nothing, so it cannot be used with --junit; leave one of them out"
        )
    if junit.is_dir() or not junit.parent.is_dir():
        raise ConfigurationError(
            f"--junit {str(junit)!r} cannot be written; expected a file in a folder that exists"
        )
    if os.path.realpath(junit) == os.path.realpath(data):
        raise ConfigurationError(
            f"--junit {str(junit)!r} would be written over the data; name another file"
        )


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
