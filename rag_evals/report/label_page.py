"""The labelling page, which shows one statement and its passages at a time."""

import math
import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from rag_evals.core import Finding, fingerprint
from rag_evals.embedded.evidence import find_passages, quoted_passages
from rag_evals.errors import ConfigurationError
from rag_evals.report.html_page import packed, rendered, run_name
from rag_evals.report.tables import View
from rag_evals.run import Record, Run, StoredSample, findings_in
from rag_evals.verify import Confidence

_SECONDS_A_DECISION = 15
_CLIPS = 20
# Added to each row's error rate, so that every row can be drawn and no weight gets too large.
_SPREAD = 0.02


class RowToLabel(NamedTuple):
    """One outcome drawn for labelling.

    Attributes:
        decisions: Number of verdicts to check.
        weight: Number of the run's rows that this one represents; None if all were equally likely.
        texts: Statements to ask about; empty means all.
    """

    sample_id: str
    grader: str
    decisions: int = 1
    weight: float | None = None
    texts: tuple[str, ...] = ()


Focus = Literal["all", "uncertain"]
"""Whether to draw all rows with equal probability, or rows with uncertain verdicts more often."""


def rows_to_label(
    run: Run, decisions: int, *, focus: Focus = "all", seed: int = 0
) -> list[RowToLabel]:
    """Draw outcomes to label, spread evenly over graders and scores.

    Rows are shuffled, sorted by grader and score, and every k-th row is drawn from a random start
    (systematic sampling). Rows are equally likely to be drawn, so corrections are valid, and low,
    medium and high scores are drawn in proportion. With the focus "uncertain", a row's chance of
    being drawn grows with the probability that its verdicts are wrong, which narrows a corrected
    score's interval most. The row's weight is the inverse of that chance.

    The drawn rows have at most `decisions` verdicts, unless a single row has more. Outcomes without
    a verdict are skipped; the drawn outcomes are returned in the order of the data.
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
    shares, weighs = [1.0] * len(rows), focus == "uncertain"
    if weighs:
        doubts = _doubts(run)
        shares = [doubts[row[2], row[0]] for row in mixed]
    else:
        mixed.sort(key=itemgetter(0, 1))
    start, total = rng.random(), sum(row[3] for row in rows)
    count = len(rows) if total <= decisions else max(1, round(decisions * len(rows) / total))
    drawn = _every_kth(shares, count, start)
    while len(drawn) > 1 and sum(mixed[place][3] for place in drawn) > decisions:
        drawn = _every_kth(shares, len(drawn) - 1, start)
    chosen = {(mixed[n][2], mixed[n][0]): w if weighs else None for n, w in drawn.items()}
    return [
        RowToLabel(sample_id, grader, asked, chosen[sample_id, grader])
        for grader, _, sample_id, asked in rows
        if (sample_id, grader) in chosen
    ]


def _every_kth(shares: Sequence[float], count: int, start: float) -> dict[int, float]:
    """Draw indices with probabilities proportional to `shares`, and map each to its weight."""
    # Limit each share to one step to avoid drawing an index twice.
    for _ in range(_CLIPS):
        step = sum(shares) / count
        shares = [min(one, step) for one in shares]
    ends, step = list(accumulate(shares)), sum(shares) / count
    last = len(shares) - 1
    drawn = [min(bisect_right(ends, (start + n) * step), last) for n in range(count)]
    return {place: max(1.0, step / shares[place]) for place in drawn}


def _doubts(run: Run) -> dict[tuple[str, str], float]:
    """Estimate how much labelling each outcome would change a corrected score."""
    doubts, confidences = {}, run.confidences()
    for record in run.records:
        known = confidences.get(record["grader"], {})
        chunks, asked = run.chunks(record["sample_id"]), record.get("attempts") or 0
        wrong = (_wrong(one, known, chunks, asked) for _, one, _ in _decided(record))
        there = [one for one in wrong if one is not None]
        if there:
            wrong_share = _SPREAD + sum(there) / len(there)
            doubts[record["sample_id"], record["grader"]] = math.sqrt(wrong_share)
    if not doubts:
        raise ConfigurationError(
            "the run does not record how certain its verdicts are (none has a support between 0 "
            "and 1), so uncertain rows cannot be drawn more often; omit --focus"
        )
    mean = sum(doubts.values()) / len(doubts)
    return defaultdict(lambda: mean, doubts)


def _wrong(
    finding: Finding, known: Mapping[str, Confidence], chunks: Sequence[str], attempts: int
) -> float | None:
    """Return the probability that a verdict is wrong; None if unknown."""
    tuned = known.get(finding.decided_by or "")
    sure = None if tuned is None else tuned.of(finding, chunks, attempts)
    if sure is None and finding.support is not None:
        sure = finding.support if finding.verdict else 1 - finding.support
    return None if sure in (None, 0.0, 1.0) else 1 - sure


def _decided(record: Record, texts: Sequence[str] = ()) -> list[tuple[int, Finding, str | None]]:
    """Return each finding to check, with its index and its turn's question."""
    decided: list[tuple[int, Finding, str | None]] = []
    asked = None
    for place, one in enumerate(findings_in(record)):
        asked = one.reasoning if one.about == "turn" else asked
        if one.verdict is not None:
            decided.append((place, one, asked))
    return [one for one in decided if one[1].text in texts] or decided


def label_html(
    run: Run,
    drawn: Sequence[RowToLabel],
    view: View,
    *,
    shown: bool = False,
    save: str | None = None,
    is_second: bool = False,
) -> str:
    say = view.say
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
                *(say.text(one.text), row.weight),
            ]
            for place, one, asked in _decided(record, row.texts)
        ]
    table = {
        "language": view.language,
        "phrases": say.section("deciding"),
        "key": fingerprint(run.identity, run.manifest.get("created"))[:16],
        "decisions": decisions,
        "chunks": chunks,
        "shown": shown,
        "save": save,
        "second": is_second,
    }
    minutes = max(1, round(len(decisions) * _SECONDS_A_DECISION / 60))
    amount = say("label.amount", count=len(decisions), minutes=minutes)
    return rendered(
        ("label.html.jinja", "label.js"),
        view,
        title=say("label.title", run=run_name(run, say)),
        rows=packed(table),
        amount=amount,
        saves=save is not None,
    )


def _places(finding: Finding, chunks: Sequence[str]) -> list[Any]:
    """Return the passages nearest to a statement, then the judge's quotes."""
    if finding.about == "chunk":
        return []
    asked = replace(finding, quotes=(), chunk_ids=(), verdict=None)
    return [*find_passages(asked, chunks), *quoted_passages(finding, chunks)]
