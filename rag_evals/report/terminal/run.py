"""How is a run shown in a terminal? The rows to look at, then the numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from rag_evals.core import Finding
from rag_evals.dataset import CheckedFile
from rag_evals.report.terminal.screen import cell, echo, echo_json, screen
from rag_evals.run import GraderSummary, Outcome, Run

_MAX_CELL_CHARS = 300


def show_run(run: Run, *, rows: int | None, count: Mapping[str, float] | None = None) -> None:
    """Print the table of rows, one line of numbers for each grader, and where the run is kept.

    Args:
        run: What to show.
        rows: The most rows to show, those with the lowest scores; None shows all, in order.
        count: Numbers for reasons of rows without a score.
    """
    shown = run.outcomes if rows is None else _worst(run.outcomes, rows)
    screen().print(_table(shown, several_graders=len(run.summary().graders) > 1))
    left_out = len(run.outcomes) - len(shown)
    if left_out:
        echo(f"{left_out} more; the lowest scores are shown")
    echo(run.summary().lines(count))
    if run.summary().account():
        echo(run.summary().account())
    if run.folder is not None:
        echo(f"run folder: {run.folder}")


def show_json(run: Run, *, count: Mapping[str, float] | None = None) -> None:
    """Print the numbers as one JSON object, for other programs; `count` as for `show_run`."""
    summary = run.summary()
    graders = {
        name: {
            "mean": of_grader.mean(count),
            "worst_mean": of_grader.worst_mean(count),
            "interval": _ends(of_grader, count),
            **of_grader.spread(count),
            "bands": of_grader.bands(),
            "scored": of_grader.scored,
            "total": of_grader.total,
            "not_scorable": dict(of_grader.not_scorable),
            "failed": dict(of_grader.failed),
            "warnings": of_grader.warnings,
            "drift": dict(of_grader.drift),
            "tallies": of_grader.tallies,
        }
        for name, of_grader in summary.graders.items()
    }
    numbers = {
        "judge": summary.judge,
        "graders": graders,
        "usage": asdict(summary.usage),
        "cost_usd": summary.cost_usd,
        "changed": summary.changed,
        "left_out": summary.left_out,
        "folder": None if run.folder is None else str(run.folder),
    }
    echo_json(json.dumps(numbers, ensure_ascii=False))
    for note in summary.notes():
        echo(note, err=True)


def _ends(of_grader: GraderSummary, count: Mapping[str, float] | None) -> list[float] | None:
    interval = of_grader.interval(count_as=count)
    return None if interval is None else [round(interval.low, 4), round(interval.high, 4)]


def announce_columns(checked: CheckedFile, data: str) -> None:
    """Say on standard error which column each field was taken from, and how the file was read."""
    columns = ", ".join(f"{field}={column}" for field, column in checked.taken.items())
    presets = f" ({', '.join(checked.presets)})" if checked.presets else ""
    echo(f"{data}: columns{presets} {columns}", err=True)
    for note in checked.notes:
        echo(f"{data}: {note}", err=True)


def _worst(outcomes: Sequence[Outcome], rows: int) -> list[Outcome]:
    """Choose failed rows first, then the lowest scores, then what is not scorable."""

    def rank(outcome: Outcome) -> tuple[int, float, int]:
        kind = {"failed": 0, "scored": 1, "not_scorable": 2}[outcome.status]
        return kind, outcome.score or 0.0, outcome.index

    return sorted(outcomes, key=rank)[:rows]


def _table(outcomes: Sequence[Outcome], *, several_graders: bool) -> Table:
    table = Table(header_style="bold", expand=False)
    table.add_column("row", overflow="fold")
    if several_graders:
        table.add_column("grader", overflow="fold")
    table.add_column("score", justify="right")
    table.add_column("counts against", overflow="fold", ratio=3)
    table.add_column("chunks", overflow="fold")
    for outcome in outcomes:
        cells = [
            cell(outcome.sample_id, max_chars=_MAX_CELL_CHARS),
            _score(outcome),
            cell(_findings(outcome), max_chars=_MAX_CELL_CHARS),
            _chunks(outcome),
        ]
        if several_graders:
            cells.insert(1, cell(outcome.grader))
        table.add_row(*cells)
    return table


def _score(outcome: Outcome) -> Text:
    if outcome.score is None:
        return cell(outcome.status.replace("_", " "), style="yellow" if outcome.reason else "red")
    return cell(f"{outcome.score:.2f}", style="green" if outcome.score == 1 else "")


def _findings(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{outcome.error.type}: {outcome.error.message}"
    if outcome.reason is not None:
        return outcome.reason
    return "\n".join(_finding(one) for one in outcome.findings if one.counts_against)


def _finding(finding: Finding) -> str:
    why = f" ({finding.reasoning})" if finding.reasoning else ""
    quotes = "".join(f" | chunk {q.chunk_id}: “{q.text}”" for q in finding.quotes)
    return f"{finding.label}: {finding.text}{why}{quotes}"


def _chunks(outcome: Outcome) -> Text:
    ids = {i for one in outcome.findings if one.verdict for i in one.chunk_ids}
    return cell(", ".join(map(str, sorted(ids))))
