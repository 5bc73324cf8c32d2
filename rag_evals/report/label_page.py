"""A page of its own to label: one statement and its passages at a time, for people who only read.

It needs no network: labels go into a file, or to the server that `rag-evals view` is.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

from rag_evals.core import Finding, fingerprint
from rag_evals.embedded.evidence import find_passages, quoted_passages
from rag_evals.report.html_page import packed, rendered, run_name
from rag_evals.report.tables import View
from rag_evals.run import Record, Run, StoredSample, findings_in

_SECONDS_A_DECISION = 15


class RowToLabel(NamedTuple):
    """One outcome that was drawn.

    Attributes:
        sample_id: The row.
        grader: Whose verdicts people decide on.
        decisions: Verdicts that people decide on.
    """

    sample_id: str
    grader: str
    decisions: int = 1


@dataclass(frozen=True, slots=True)
class Labelling:
    """How a page to label works.

    Attributes:
        shown: Whether the judge's verdict is in sight before the decision.
        save: Where labels are posted to; None where the page keeps them for a file.
    """

    shown: bool = False
    save: str | None = None


def rows_to_label(run: Run, decisions: int, *, seed: int = 0) -> list[RowToLabel]:
    """Draw outcomes to label, each with the same chance, spread evenly over graders and scores.

    Rows are shuffled, sorted by grader and score, and every k-th one is taken from a random start
    (systematic sampling): each row has the same chance, so corrections hold, and low, middle and
    high scores are there in their shares.

    Args:
        run: The run; outcomes without a verdict cannot be labelled and are left out.
        decisions: How many verdicts people decide on, at most; one row is always drawn.
        seed: Same seed, same rows.

    Returns:
        In the order of the data.
    """
    rows = [
        (record["grader"], record["score"], record["sample_id"], asked)
        for record in run.records
        if record["score"] is not None and (asked := len(_decided(record)))
    ]
    if not rows:
        return []
    rng = random.Random(seed)
    mixed = rng.sample(rows, len(rows))
    mixed.sort(key=itemgetter(0, 1))
    start, total = rng.random(), sum(row[3] for row in rows)
    count = len(rows) if total <= decisions else max(1, round(decisions * len(rows) / total))
    drawn = _every_kth(mixed, count, start)
    while len(drawn) > 1 and sum(row[3] for row in drawn) > decisions:
        drawn = _every_kth(mixed, len(drawn) - 1, start)
    chosen = {(sample_id, grader) for grader, _, sample_id, _ in drawn}
    return [
        RowToLabel(sample_id, grader, asked)
        for grader, _, sample_id, asked in rows
        if (sample_id, grader) in chosen
    ]


def _every_kth(rows: Sequence[Any], count: int, start: float) -> list[Any]:
    step = len(rows) / count
    return [rows[min(int((start + n) * step), len(rows) - 1)] for n in range(count)]


def _decided(record: Record) -> list[tuple[int, Finding, str | None]]:
    """Return the findings that people can decide on, with their places and the turn's question."""
    decided: list[tuple[int, Finding, str | None]] = []
    asked = None
    for place, one in enumerate(findings_in(record)):
        asked = one.reasoning if one.about == "turn" else asked
        if one.verdict is not None:
            decided.append((place, one, asked))
    return decided


def label_html(
    run: Run, drawn: Sequence[RowToLabel], view: View, how: Labelling | None = None
) -> str:
    """Make the page that asks people about rows.

    Args:
        run: The run that they are of.
        drawn: As `rows_to_label` draws them.
        view: The reader's language.
        how: What is shown first, and where labels go.
    """
    how, say = how or Labelling(), view.say
    chunks: list[Sequence[str]] = []
    decisions: list[list[Any]] = []
    for row in drawn:
        sample = run.samples.get(row.sample_id) or StoredSample(row.sample_id)
        chunks.append(sample.chunks)
        (record,) = (one for one in run.row_records(row.sample_id) if one["grader"] == row.grader)
        decisions += [
            [
                *(row.sample_id, row.grader, place, one.text, one.verdict, say.label(one.label)),
                *(one.about, asked or sample.question, sample.answer, len(chunks) - 1),
                [[at.chunk_id, at.start, at.end] for at in _places(one, sample.chunks)],
                say.text(one.text),
            ]
            for place, one, asked in _decided(record)
        ]
    table = {
        "language": view.language,
        "phrases": say.section("deciding"),
        "key": fingerprint(run.identity, run.manifest.get("created"))[:16],
        "decisions": decisions,
        "chunks": chunks,
        "shown": how.shown,
        "save": how.save,
    }
    minutes = max(1, round(len(decisions) * _SECONDS_A_DECISION / 60))
    amount = say("label.amount", count=len(decisions), minutes=minutes)
    return rendered(
        ("label.html.jinja", "label.js"),
        view,
        title=say("label.title", run=run_name(run, say)),
        rows=packed(table),
        amount=amount,
        saves=how.save is not None,
    )


def _places(finding: Finding, chunks: Sequence[str]) -> list[Any]:
    """Return where to read: the same whatever the judge says, then what it quotes."""
    if finding.about == "chunk":
        return []
    asked = replace(finding, quotes=(), chunk_ids=(), verdict=None)
    return [*find_passages(asked, chunks), *quoted_passages(finding, chunks)]
