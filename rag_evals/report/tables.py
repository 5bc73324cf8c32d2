"""How do other programs and pages get the numbers? Markdown, JSON and CSV of a run."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
from rag_evals.core import Finding, Phrases
from rag_evals.report.failures import worst_records
from rag_evals.report.numbers import GraderNumbers, View, grader_numbers, usage_of
from rag_evals.run import Record, Run, band_label, findings_in, load_run, reason_of, safe_cell
from rag_evals.stats import GroupScores, Interval

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
    lines = [*_grader_table(numbers, view), *_group_tables(numbers, view)]
    lines += _worst_rows(stored, view)
    lines += [line for note in stored.notes(say=view.say) for line in ("", _escaped(note))]
    return "\n".join(lines) + "\n"


def comparison_markdown(comparison: Comparison, *, view: View | None = None) -> str:
    """Write a comparison as Markdown.

    Args:
        comparison: What `compare` found.
        view: The reader's language; None takes English.
    """
    say = (view or View()).say
    names = (
        *("table.grader", "compare.name_of_baseline", "compare.name_of_candidate"),
        *("compare.difference", "table.p", "compare.verdict", "compare.rows"),
    )
    lines = [markdown_row(*map(say, names)), "|---|---|---|---|---|---|---|"]
    for grader in comparison.graders:
        lines.append(
            markdown_row(
                say.named("graders", grader.grader),
                interval_words(grader.baseline, say=say),
                interval_words(grader.candidate, say=say),
                difference_words(grader.paired, say),
                p_words(grader, len(comparison.graders), say),
                verdict_words(grader, say),
                grader.paired.samples,
            )
        )
        if grader.verdict == "not distinguishable":
            least = say("table.detectable", words=detectable_words(grader.paired, say))
            lines += ["", _escaped(least), ""]
    lines += [f"- {_escaped(note)}" for note in comparison.notes(say=say)]
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
            "repeats": numbers.repeats.numbers(),
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
    say = view.say
    header = [say(f"csv.{name}") for name in _CSV_HEADER]
    writer.writerow([*header, *([] if view.by is None else [safe_cell(view.by)])])
    for record in stored.records:
        score, found = record["score"], findings_in(record)
        cells = [
            record["sample_id"],
            say.named("graders", record["grader"]),
            say.named("outcomes", record["status"]),
            score,
            None if score is None else band_label(score, view.bands, view.language),
            _why(record, say),
            sum(finding.verdict is True for finding in found),
            sum(finding.verdict is False for finding in found),
            _listed(found, say),
            record.get("ranking_score"),
        ]
        if groups is not None:
            cells.append(groups.get(record["sample_id"]))
        writer.writerow([safe_cell(cell) for cell in cells])
    return target.getvalue()


def _grader_table(numbers: Sequence[GraderNumbers], view: View) -> Iterator[str]:
    say = view.say
    names = ("grader", "score", "interval", "scored", "not_scored", "bands")
    yield markdown_row(*(say(f"table.{name}") for name in names))
    yield "|---|---|---|---|---|---|"
    for each in numbers:
        mean, worst = each.mean, each.worst_mean
        failed_as_zero = "" if worst is None else say("table.worst", mean=view.number(worst))
        yield markdown_row(
            say.named("graders", each.grader),
            say("page.no_score")
            if mean is None
            else say(
                "table.mean",
                mean=view.number(mean.estimate),
                percent=f"{say.number(mean.estimate * 100, 1)}%",
                worst=failed_as_zero,
            ),
            _range(mean, view),
            say("table.of", part=len(each.scores), whole=each.total),
            _unscored(each.unscored, say),
            ", ".join(
                say("table.count", count=count, name=label) for label, count in each.bands.items()
            ),
        )


def _group_tables(numbers: Sequence[GraderNumbers], view: View) -> Iterator[str]:
    say = view.say
    for each in numbers:
        if each.groups:
            names = ("group", "score", "interval", "scored", "not_scored")
            grader = _escaped(say.named("graders", each.grader))
            yield ""
            yield say("table.by", grader=grader, column=_escaped(view.by))
            yield ""
            yield markdown_row(*(say(f"table.{name}") for name in names))
            yield "|---|---|---|---|---|"
            yield from (markdown_row(*group_cells(group, view)) for group in each.groups)


def group_cells(group: GroupScores, view: View) -> list[str]:
    """Return one line of a table of groups: name, score, interval, scored, not scored."""
    mean, say = group.mean, view.say
    return [
        say("table.no_group") if group.group is None else group.group,
        say("page.no_score") if mean is None else view.number(mean.estimate),
        _range(mean, view),
        say("table.of", part=group.scored, whole=group.rows),
        _unscored(group.unscored, say),
    ]


def _range(mean: Interval | None, view: View) -> str:
    if mean is None:
        return ""
    return view.say("table.range", low=view.number(mean.low), high=view.number(mean.high))


def _unscored(counts: Mapping[str, int], say: Phrases) -> str:
    return ", ".join(
        say("table.count", count=count, name=say.named("reasons", reason))
        for reason, count in counts.items()
    )


def _why(record: Record, say: Phrases) -> str | None:
    reason = reason_of(record)
    return None if reason is None else say.named("reasons", reason)


def _worst_rows(run: Run, view: View) -> Iterator[str]:
    say = view.say
    worst = worst_records(run)
    if not worst:
        return
    yield ""
    yield markdown_row(*(say(f"table.{name}") for name in ("row", "grader", "score", "against")))
    yield "|---|---|---|---|"
    for record in worst[:_WORST_ROWS]:
        score = record["score"]
        faults = _listed((one for one in findings_in(record) if one.counts_against), say)
        shown = (
            _why(record, say)
            if score is None
            else say("terminal.score_cell", score=say.number(score), percent=say.percent(score))
        )
        yield markdown_row(
            record["sample_id"], say.named("graders", record["grader"]), shown, faults
        )


def _listed(findings: Iterable[Finding], say: Phrases) -> str:
    return "; ".join(f"{say.label(one.label)}: {say.text(one.text)}" for one in findings)


def markdown_row(*cells: object) -> str:
    """Write one line of a table; no cell is obeyed as Markdown."""
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
