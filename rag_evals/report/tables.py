"""How do other programs and pages get the numbers? Markdown, JSON and CSV of a run."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from pydantic_core import to_json

from rag_evals.analysis import (
    Comparison,
    RunInput,
    detectable_words,
    difference_words,
    interval_words,
    p_words,
    verdict_words,
)
from rag_evals.core import Finding
from rag_evals.report.numbers import GraderNumbers, View, grader_numbers, usage_of
from rag_evals.run import Run, band_label, findings_in, load_run, reason_of, safe_cell
from rag_evals.stats import GroupScores

_WORST_ROWS = 10
_MAX_CELL_CHARS = 200
_CSV_HEADER = (
    "sample_id", "grader", "status", "score", "band", "why", "yes", "no", "findings",
    "ranking_score",
)  # fmt: skip


def report_markdown(run: RunInput, *, view: View | None = None) -> str:
    """Write the numbers of a run as Markdown: graders, groups, and the rows that need a look.

    Args:
        run: A run folder, or a run in memory.
        view: Groups, clusters and bands; None takes the defaults.
    """
    stored, view = load_run(run), view or View()
    numbers = grader_numbers(stored, view)
    lines = [*_grader_table(numbers), *_group_tables(numbers, view), *_worst_rows(stored)]
    lines += [line for note in stored.notes() for line in ("", _escaped(note))]
    return "\n".join(lines) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """Write a comparison as Markdown."""
    lines = [
        "| grader | baseline | candidate | difference | p | verdict | rows |",
        "|---|---|---|---|---|---|---|",
    ]
    for grader in comparison.graders:
        lines.append(
            _row(
                grader.grader,
                interval_words(grader.baseline),
                interval_words(grader.candidate),
                difference_words(grader.paired),
                p_words(grader, len(comparison.graders)),
                verdict_words(grader),
                grader.paired.samples,
            )
        )
        if grader.verdict == "not distinguishable":
            lines += [
                "",
                f"Minimum detectable effect: {_escaped(detectable_words(grader.paired))}.",
                "",
            ]
    lines += [f"- {_escaped(warning)}" for warning in comparison.warnings]
    return "\n".join(lines) + "\n"


def report_json(run: RunInput, *, view: View | None = None) -> str:
    """Write the numbers of a run as one JSON object.

    Args:
        run: A run folder, or a run in memory.
        view: Groups, clusters and bands; None takes the defaults.
    """
    stored, view = load_run(run), view or View()
    graders = [
        {
            "grader": numbers.grader,
            "mean": numbers.mean,
            "worst_mean": numbers.worst_mean,
            "scored": len(numbers.scores),
            "total": numbers.total,
            "unscored": numbers.unscored,
            "bands": numbers.bands,
            "warnings": numbers.warnings,
            "groups": numbers.groups,
        }
        for numbers in grader_numbers(stored, view)
    ]
    told = {
        "graders": graders,
        "notes": stored.notes(),
        "usage": usage_of(stored),
        "identity": stored.identity,
    }
    return to_json(told, indent=2).decode() + "\n"


def report_csv(run: RunInput, *, view: View | None = None) -> str:
    """Write one line for each outcome, for a spreadsheet; no cell is a formula.

    Args:
        run: A run folder, or a run in memory.
        view: Bands, and a column to show beside; None takes the defaults.
    """
    stored, view = load_run(run), view or View()
    groups = None if view.by is None else stored.column(view.by)
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow([*_CSV_HEADER, *([] if view.by is None else [safe_cell(view.by)])])
    for record in stored.records:
        score, found = record["score"], findings_in(record)
        cells = [
            record["sample_id"],
            record["grader"],
            record["status"],
            score,
            None if score is None else band_label(score, view.bands, view.language),
            reason_of(record),
            sum(finding.verdict is True for finding in found),
            sum(finding.verdict is False for finding in found),
            _listed(found),
            record.get("ranking_score"),
        ]
        if groups is not None:
            cells.append(groups.get(record["sample_id"]))
        writer.writerow([safe_cell(cell) for cell in cells])
    return target.getvalue()


def _grader_table(numbers: Sequence[GraderNumbers]) -> Iterator[str]:
    yield "| grader | score | 95 % interval | scored | not scored | bands |"
    yield "|---|---|---|---|---|---|"
    for each in numbers:
        mean, worst = each.mean, each.worst_mean
        failed_as_zero = "" if worst is None else f"; {worst:.3f} with failed rows as 0"
        yield _row(
            each.grader,
            "no score"
            if mean is None
            else f"{mean.estimate:.3f} ({mean.estimate:.1%}{failed_as_zero})",
            "" if mean is None else f"{mean.low:.3f} to {mean.high:.3f}",
            f"{len(each.scores)} of {each.total}",
            ", ".join(f"{count} {reason}" for reason, count in each.unscored.items()),
            ", ".join(f"{count} {label}" for label, count in each.bands.items()),
        )


def _group_tables(numbers: Sequence[GraderNumbers], view: View) -> Iterator[str]:
    for each in numbers:
        if each.groups:
            yield ""
            yield f"{_escaped(each.grader)} by {_escaped(view.by)}:"
            yield ""
            yield "| group | score | 95 % interval | scored | not scored |"
            yield "|---|---|---|---|---|"
            yield from (_row(*group_cells(group)) for group in each.groups)


def group_cells(group: GroupScores) -> list[str]:
    """Return one line of a table of groups: name, score, interval, scored, not scored."""
    mean = group.mean
    return [
        "(none)" if group.group is None else group.group,
        "no score" if mean is None else f"{mean.estimate:.3f}",
        "" if mean is None else f"{mean.low:.3f} to {mean.high:.3f}",
        f"{group.scored} of {group.rows}",
        ", ".join(f"{count} {reason}" for reason, count in group.unscored.items()),
    ]


def _worst_rows(run: Run) -> Iterator[str]:
    low = sorted(
        (r for r in run.records if r["score"] is not None and r["score"] < 1),
        key=lambda record: record["score"],
    )
    failed = [record for record in run.records if record["status"] == "failed"]
    if not low and not failed:
        return
    yield ""
    yield "| row | grader | score | counts against |"
    yield "|---|---|---|---|"
    for record in [*failed, *low][:_WORST_ROWS]:
        score = record["score"]
        faults = _listed(one for one in findings_in(record) if one.counts_against)
        shown = reason_of(record) if score is None else f"{score:.2f}"
        yield _row(record["sample_id"], record["grader"], shown, faults)


def _listed(findings: Iterable[Finding]) -> str:
    return "; ".join(f"{finding.label}: {finding.text}" for finding in findings)


def _row(*cells: object) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(value: object) -> str:
    """Write text so that Markdown shows it and obeys none of it."""
    text = " ".join(str(value).split())
    if len(text) > _MAX_CELL_CHARS:
        text = text[: _MAX_CELL_CHARS - 1] + "…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A mention or a link in data must not reach anybody from a build page.
    text = re.sub(r"([\\`*_{}\[\]|~!#])", r"\\\1", text)
    return text.replace("@", "@\u200b").replace("://", ":\u200b//")
