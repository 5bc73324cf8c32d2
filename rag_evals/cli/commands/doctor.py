"""`rag-evals doctor`: is a classifier asked here as its makers ask it?"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rag_evals.analysis import DEFAULT_TOLERANCE, Checkup, check_up, read_golden
from rag_evals.cli.shared.complete import judges
from rag_evals.cli.shared.exits import GATE_MISSED
from rag_evals.cli.shared.options import JsonForTable
from rag_evals.report.terminal.screen import cell, echo, echo_json, show_table


def doctor(
    judge: Annotated[
        str,
        typer.Argument(
            metavar="JUDGE",
            help="hf:MODEL, such as hf:vectara/hallucination_evaluation_model or "
            "hf:./folder?form=minicheck, or yes-no:PROVIDER/MODEL.",
            autocompletion=judges,
        ),
    ],
    golden: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own scores: rows with premise, hypothesis, support and perhaps question. "
            "Default: those that the makers published.",
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, max=1, help="How far a score may be from the published one.")
    ] = DEFAULT_TOLERANCE,
    json_output: JsonForTable = False,
) -> None:
    """Check a classifier: what it is, how it is asked, and whether it gives its makers' scores.

    Ends with exit code 1 when a score or a label differs: these are other weights, or they are
    asked in another way than their makers do.

    [bold]Example[/bold]

      rag-evals doctor yes-no:openai/bespokelabs/Bespoke-MiniCheck-7B
    """
    checkup = check_up(
        judge,
        golden=None if golden is None else read_golden(golden),
        tolerance=tolerance,
    )
    if json_output:
        described = {**asdict(checkup), "passed": checkup.passed}
        echo_json(json.dumps(described, ensure_ascii=False))
    else:
        _show(checkup)
    if not checkup.passed:
        raise typer.Exit(GATE_MISSED)


def _show(checkup: Checkup) -> None:
    for name, value in checkup.facts.items():
        echo(f"{name}: {value}")
    if not checkup.pairs:
        echo("no scores are published for this model; --golden FILE compares with your own")
        return
    table = Table("statement", header_style="bold")
    for title in ("published", "here", ""):
        table.add_column(title, justify="right")
    for pair in checkup.pairs:
        published = _label(is_supported=pair.expected_label)
        if pair.expected is not None:
            published = f"{pair.expected:.3f}"
        table.add_row(
            cell(pair.hypothesis, max_chars=60),
            published,
            f"{pair.support:.3f} {_label(is_supported=pair.is_supported)}",
            "differs" if pair.differs else "same",
        )
    show_table(table)
    different = sum(pair.differs for pair in checkup.pairs)
    echo(
        f"{len(checkup.pairs) - different} of {len(checkup.pairs)} as published (tolerance "
        f"{checkup.tolerance:g}); read together, scores change by {checkup.batch_difference:.2g}"
    )
    if not checkup.passed:
        echo("these are other weights than the published ones, or they are asked in another way")


def _label(*, is_supported: bool) -> str:
    return "supported" if is_supported else "not supported"
