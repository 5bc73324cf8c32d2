"""`rag-evals compare`: compare two runs row by row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import from_json, to_json

from rag_evals.analysis import Comparison
from rag_evals.analysis import compare as compare_runs
from rag_evals.analysis.comparing import pair_graders
from rag_evals.cli.shared.gates import (
    Counts,
    GateError,
    GateResult,
    MinScored,
    check_error,
    gate_option,
)
from rag_evals.cli.shared.options import (
    By,
    Cluster,
    Output,
    ReaderLanguage,
    flat,
    out_file,
)
from rag_evals.cli.shared.runs import append_step_summary, open_run
from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError
from rag_evals.report import comparison_html
from rag_evals.report.html_page import write_private
from rag_evals.report.screen import echo, echo_json
from rag_evals.report.tables import View
from rag_evals.run import DEFAULT_MIN_SCORED, GateDecision


@flat
def compare(
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="Run folder.")],
    candidate: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CANDIDATE]",
            help="Run folder of the candidate. If omitted, --pair compares two graders of one run.",
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BASELINE=CANDIDATE",
            help="Compare graders with different names, and no others. Repeatable.",
        ),
    ] = None,
    by: By = None,
    cluster: Cluster = None,
    fail_if_worse: Annotated[
        float | None,
        gate_option(
            metavar="MARGIN",
            min=0,
            max=1,
            help="Exit with 1 if the entire interval of the difference is below -MARGIN.",
        ),
    ] = None,
    allow_shorter: Annotated[
        bool,
        gate_option(
            "--allow-shorter",
            help="Allow shorter answers. By default, --fail-if-worse and --gate also fail if the "
            "number of supported statements per row falls by a larger share than MARGIN.",
        ),
    ] = False,
    gate: Annotated[
        float | None,
        gate_option(
            metavar="MARGIN",
            help="Test whether the candidate's score is lower by at most this: passed, failed "
            "(exit code 1) or not decided (4), with the number of rows needed.",
        ),
    ] = None,
    error: GateError = None,
    min_scored: MinScored = None,
    count: Counts = None,
    out: Annotated[
        Path | None, out_file(help="Also write a page with both runs side by side.")
    ] = None,
    language: ReaderLanguage = "en",
    *,
    output: Output,
) -> None:
    """Compare two runs row by row: the difference, its interval, and whether chance explains it.

    Rows are paired by id. The first run is the baseline, the second the candidate.

    [bold]Examples[/bold]

      rag-evals compare runs/before runs/after
      rag-evals compare runs/before runs/after --by topic
      rag-evals compare runs/before runs/after -o compared.html
      rag-evals compare runs/before runs/after --fail-if-worse 0.02
      rag-evals compare runs/before runs/after --gate 0.02
      rag-evals compare runs/both --pair faithfulness=faithfulness_two_step
      rag-evals compare runs/before runs/both --pair faithfulness=faithfulness_two_step
    """
    view = View(language=language)
    say = view.say
    asked = check_error(gate, error)
    share = DEFAULT_MIN_SCORED if min_scored is None else min_scored
    if allow_shorter and fail_if_worse is None and gate is None:
        raise ConfigurationError("--allow-shorter does nothing without --fail-if-worse or --gate")
    first = open_run(baseline)
    second = first if candidate is None else open_run(candidate)
    first, second = pair_graders(first, second, _parse_pairs(pair or []))
    compared = compare_runs(
        first,
        None if second is first else second,
        count=dict(count or ()),
        by=by,
        cluster=cluster,
        gate=gate,
        error=asked,
    )
    if output.json_output:
        echo_json(comparison_json(compared))
    else:
        echo(compared.lines(say))
    asks = fail_if_worse is not None or min_scored is not None
    result = _check_gates(compared, asks, (fail_if_worse, share, allow_shorter), say)
    append_step_summary(compared, view, result)
    if out is not None:
        path = write_private(out, comparison_html(compared, first, second, view=view))
        echo(say("terminal.report", path=path), err=output.json_output)
    elif candidate is not None:
        page = ("-o", "compared.html")
        output.offer_next("compare", baseline, candidate, *page, language=view.language)
    result.exit()


def _check_gates(
    compared: Comparison, asks: bool, asked: tuple[float | None, float, bool], say: Phrases
) -> GateResult:
    margin, share, shorter = asked
    result = GateResult()
    if asks:
        missed = compared.missed(margin=margin, min_scored=share, allow_shorter=shorter)
        worse = "" if margin is None else f"fail-if-worse {margin:g}, "
        result = GateResult.missed(missed, f"{worse}min-scored {share:.4g}", say)
        if compared.pending:
            result = GateResult.decided(GateDecision((), compared.pending), say)
    decision = compared.decision(min_scored=share, allow_shorter=shorter)
    return result if decision is None else result.then(GateResult.decided(decision, say))


def _parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        old, _, new = (part.strip() for part in text.partition("="))
        if not old or not new:
            raise ConfigurationError(
                f"pair {text!r} is not BASELINE=CANDIDATE, two grader names such as strict=mild"
            )
        if pairs.get(old, new) != new:
            raise ConfigurationError(f"{old!r} is paired with both {pairs[old]!r} and {new!r}")
        pairs[old] = new
    return pairs


def comparison_json(compared: Comparison) -> str:
    numbers = from_json(to_json(compared))
    del numbers["differences"]
    numbers["warnings"] = compared.notes()
    for written, grader in zip(numbers["graders"], compared.graders, strict=True):
        written["verdict"] = grader.verdict
        written["says_less"] = grader.says_less()
        written["rows_needed"] = grader.paired.rows_needed
        for written_group, group in zip(written["groups"], grader.groups, strict=True):
            written_group["verdict"] = group.verdict
    return to_json(numbers).decode()
