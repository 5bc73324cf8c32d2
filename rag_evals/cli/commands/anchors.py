"""`rag-evals anchors`: keep rows of a run, to see later whether its judge drifts."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.opened import opened_run
from rag_evals.cli.shared.options import Json, RunFolder
from rag_evals.report.terminal.screen import echo, echo_json
from rag_evals.run import DEFAULT_ANCHORS, keep_anchors


def anchors(
    run: RunFolder,
    rows: Annotated[
        int, typer.Option("-n", "--rows", help="How many rows to keep, at least 10.")
    ] = DEFAULT_ANCHORS,
    seed: Annotated[int, typer.Option(help="Same seed, same rows.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Where to keep them. Default: beside the run, its name with -anchors.",
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Keep random rows of a run with their verdicts; `grade --anchors` grades them again.

    Then McNemar's test says whether the judge still says what it said, and a model that changed
    behind its name is said first.

    [bold]Examples[/bold]

      rag-evals anchors runs/embedded -n 30
      rag-evals grade answers.jsonl --anchors runs/embedded-anchors
    """
    kept = keep_anchors(opened_run(run), out, n=rows, seed=seed)
    if json_output:
        numbers = {"folder": str(kept.folder), "rows": len(kept.samples)}
        echo_json(json.dumps(numbers, ensure_ascii=False))
        return
    echo(f"anchors: {len(kept.samples)} rows kept in {kept.folder}; give --anchors {kept.folder}")
