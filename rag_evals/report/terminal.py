"""Shows a run in a terminal: the lowest-scoring rows, then the metrics."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from typing import Any

from pydantic_core import to_jsonable_python
from rich.table import Table
from rich.text import Text

from rag_evals.core import Finding, Phrases, findings_lines, phrases
from rag_evals.dataset import CheckedFile
from rag_evals.embedded import evidence_words
from rag_evals.embedded.evidence import find_passages
from rag_evals.errors import ConfigurationError
from rag_evals.report.screen import cell, echo, echo_json, show_table, show_text
from rag_evals.report.tables import View, grader_numbers
from rag_evals.run import GateDecision, GraderSummary, Outcome, Run, StoredSample, findings_in
from rag_evals.run.record.extras import read_replies
from rag_evals.run.record.summary import stage_numbers
from rag_evals.stats import Interval
from rag_evals.text.screen import printable

_MAX_CELL_CHARS = 300
_ROWS_SHOWN = 20


def show_run(
    run: Run,
    *,
    rows: int = _ROWS_SHOWN,
    count: Mapping[str, float] | None = None,
    cluster: str | None = None,
    language: str = "en",
) -> None:
    say, summary, shown = phrases(language), run.summary(cluster=cluster), run.lowest(rows)
    show_table(_table(run, shown, say, several_graders=len(summary.graders) > 1))
    left_out = sum(each.total for each in summary.graders.values()) - len(shown)
    if left_out:
        echo(say("terminal.more", count=left_out))
    echo(summary.lines(count, say=say))
    if account := summary.account(say=say):
        echo(account)
    if run.folder is not None:
        echo(say("terminal.folder", folder=run.folder))


def show_json(
    run: Run,
    *,
    count: Mapping[str, float] | None = None,
    view: View | None = None,
    gate: GateDecision | None = None,
) -> None:
    """Print the metrics as one JSON object, and notes to standard error."""
    view = view or View()
    summary = run.summary(cluster=view.cluster)
    graders = {name: _grader_json(one, count) for name, one in summary.graders.items()}
    for each in grader_numbers(run, view) if view.by is not None else ():
        graders[each.counted.grader]["groups"] = each.groups
    for one in () if gate is None else gate.graders:
        tested = {} if one.test is None else asdict(one.test)
        graders[one.grader]["gate"] = tested | {"verdict": one.verdict}
    numbers = {
        "judge": summary.judge,
        "graders": graders,
        "usage": summary.usage,
        "cost_usd": summary.cost_usd,
        "changed": summary.changed,
        "left_out": summary.left_out,
        "pending": summary.pending,
        "folder": run.folder,
        "stages": stage_numbers(summary.stages, summary.shifts or {}),
        "notes": (notes := summary.notes()),
    }
    echo_json(json.dumps(to_jsonable_python(numbers), ensure_ascii=False))
    for note in notes:
        echo(note, err=True)


def _grader_json(one: GraderSummary, count: Mapping[str, float] | None) -> dict[str, Any]:
    interval = one.interval(count_as=count)
    clusters = one.clusters(count)
    return {
        "mean": one.mean(count),
        "worst_mean": one.worst_mean(count),
        "interval": interval and [round(interval.low, 4), round(interval.high, 4)],
        "clusters": clusters and {"by": clusters.by, "units": clusters.units},
        "sizes": {name: _rounded(mean) for name, mean in one.sizes().items()},
        **one.spread(count),
        "bands": one.bands(),
        "scored": one.scored,
        "total": one.total,
        "not_scorable": one.not_scorable,
        "failed": one.failed,
        "warnings": one.warnings,
        "drift": one.drift,
        "tallies": one.tallies,
        "further_scores": {name: _rounded(mean) for name, mean in one.further_means().items()},
        "repeats": one.repeats.numbers(),
    }


def show_row(
    run: Run, sample_id: str, *, prompt: bool = False, reply: bool = False, language: str = "en"
) -> None:
    say, records = phrases(language), run.row_records(sample_id)
    sample = run.samples.get(sample_id) or StoredSample(sample_id)
    found = [(record, findings_in(record)) for record in records]
    echo(sample_id)
    for name, text in (("question", sample.question), ("reference", sample.reference)):
        if text:
            echo(f"{say.named('fields', name)}: {text}")
    if sample.answer:
        show_text(_answer(sample.answer, [one for _, several in found for one in several], say))
    for record, findings in found:
        echo(
            f"\n{say.named('graders', record['grader'])}: {Outcome.from_record(record).words(say)}"
        )
        for finding, line in zip(findings, findings_lines(findings, say), strict=True):
            echo(line)
            for words in evidence_words(finding, sample.chunks, say):
                echo(f"   {words}")
    if prompt or reply:
        _show_replies(run, sample_id, [record["grader"] for record in records], prompt, reply)


def row_json(run: Run, sample_id: str) -> dict[str, Any]:
    records = run.row_records(sample_id)
    sample = run.samples.get(sample_id) or StoredSample(sample_id)
    gradings = [
        {name: record[name] for name in ("grader", "status", "score", "reason", "error")}
        | {
            "findings": [
                asdict(one) | {"passages": [asdict(at) for at in find_passages(one, sample.chunks)]}
                for one in findings_in(record)
            ]
        }
        for record in records
    ]
    replies = [] if run.folder is None else list(read_replies(run.folder, sample_id))
    shown = {"question": sample.question, "answer": sample.answer, "context": sample.chunks}
    return {"sample_id": sample_id, **shown, "gradings": gradings, "replies": replies}


def _answer(answer: str, findings: Sequence[Finding], say: Phrases) -> Text:
    """Return an answer with its statements coloured; red overrides green."""
    shown = [(f"{say.named('fields', 'answer')}: ", "")]
    colours = [""] * len(answer)
    for finding in sorted(findings, key=lambda one: one.counts_against):
        start, end = finding.start, finding.end
        if start is None or end is None:
            start = answer.find(finding.text) if finding.text else -1
            end = start + len(finding.text)
        if finding.about == "statement" and finding.verdict is not None and start >= 0:
            colours[start:end] = ["green" if finding.verdict else "red"] * (end - start)
    for colour, signs in groupby(zip(colours, answer, strict=False), key=itemgetter(0)):
        shown.append(("".join(sign for _, sign in signs), colour))
    return Text.assemble(*((printable(text), colour) for text, colour in shown))


def _show_replies(run: Run, sample_id: str, graders: list[str], prompt: bool, reply: bool) -> None:
    kept = [] if run.folder is None else list(read_replies(run.folder, sample_id))
    if not kept and reply:
        raise ConfigurationError(
            "the run did not keep the judge's replies for this row; grade with --keep-replies"
        )
    for one in kept:
        echo(f"\n--- {one['grader']}")
        for message in one["messages"] if prompt else ():
            echo(f"[{message['role']}]\n{message['content']}")
        if reply:
            echo(json.dumps(one["reply"], ensure_ascii=False, indent=2))
    # Without stored replies, show the part of the prompt that all rows share.
    prompts: Mapping[str, str] = {} if kept else run.manifest.get("prompts", {})
    for grader in graders:
        if text := prompts.get(grader):
            echo(f"\n--- {grader}\n{text}")


def _rounded(mean: Interval) -> list[float]:
    return [round(number, 4) for number in (mean.estimate, mean.low, mean.high)]


def announce_columns(checked: CheckedFile, data: str, *, language: str = "en") -> None:
    say = phrases(language)
    columns = ", ".join(
        f"{say.named('fields', field)}={column}" for field, column in checked.taken.items()
    )
    echo(say("terminal.columns", data=data, columns=columns), err=True)


def _table(run: Run, outcomes: Sequence[Outcome], say: Phrases, *, several_graders: bool) -> Table:
    table = Table(header_style="bold", expand=False)
    table.add_column(say("terminal.row"), overflow="fold")
    if several_graders:
        table.add_column(say("terminal.grader"), overflow="fold")
    table.add_column(say("terminal.score"), justify="right")
    table.add_column(say("terminal.against"), overflow="fold", ratio=3)
    table.add_column(say("terminal.chunks"), overflow="fold")
    for outcome in outcomes:
        ids = {place for one in outcome.findings if one.verdict for place in one.chunk_ids}
        cells = [
            cell(outcome.sample_id, max_chars=_MAX_CELL_CHARS),
            _score(outcome, say),
            cell(_findings(outcome, run.chunks(outcome.sample_id), say), max_chars=_MAX_CELL_CHARS),
            cell(", ".join(map(str, sorted(ids)))),
        ]
        if several_graders:
            cells.insert(1, cell(say.named("graders", outcome.grader)))
        table.add_row(*cells)
    return table


def _score(outcome: Outcome, say: Phrases) -> Text:
    if outcome.score is None:
        status = say.named("statuses", outcome.status)
        return cell(status, style="yellow" if outcome.reason else "red")
    shown = say(
        "terminal.score_cell", score=say.number(outcome.score), percent=say.percent(outcome.score)
    )
    return cell(shown, style="green" if outcome.score == 1 else "")


def _findings(outcome: Outcome, chunks: Sequence[str], say: Phrases) -> str:
    if outcome.error is not None:
        return f"{outcome.error.type}: {outcome.error.message}"
    if outcome.reason is not None:
        return say.named("reasons", outcome.reason)
    lines = []
    for one in (finding for finding in outcome.findings if finding.counts_against):
        why = f" ({one.reasoning})" if one.reasoning else ""
        found = "".join(f" | {line}" for line in evidence_words(one, chunks, say))
        lines.append(f"{say.label(one.label)}: {say.text(one.text)}{why}{found}")
    return "\n".join(lines)
