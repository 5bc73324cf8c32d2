"""What would most users do next? One line at the end of a command, where a person reads it."""

import shlex

from rag_evals.core import phrases
from rag_evals.report.screen import echo


def offer_next(
    *words: object, quiet: bool, json_output: bool = False, language: str = "en"
) -> None:
    """Say on standard error which command comes next.

    Args:
        words: The command behind `rag-evals`; what a shell would take apart is quoted.
        quiet: Whether `--quiet` was given: then nothing is said.
        json_output: Whether `--json` was given: then nothing is said either.
        language: Of the reader: "en" or "ru".
    """
    if not (quiet or json_output):
        command = shlex.join(["rag-evals", *map(str, words)])
        echo(phrases(language)("terminal.next", command=command), err=True)
