"""Renders a run as one HTML file: a template, a style sheet, a script and the rows.

All data is escaped by the template, or inserted as text by the script. The content security policy
allows only this script and style sheet, identified by their hashes.
"""

import base64
import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rag_evals.analysis import Comparison, RunInput
from rag_evals.core import EvidencePassage, Finding, Phrases, private_file
from rag_evals.core.finding import CONTRADICTED
from rag_evals.embedded.evidence import find_passages, quoted_passages
from rag_evals.errors import ConfigurationError, NotInRunError
from rag_evals.report.tables import (
    GraderNumbers,
    View,
    asset,
    grader_numbers,
    group_cells,
    numbers_words,
    template,
)
from rag_evals.run import GraderSummary, Record, Run, StoredSample, findings_in, load_run, reason_of
from rag_evals.run.record.extras import labels_by_finding, read_replies
from rag_evals.stats import DEFAULT_BANDS, Band, band_of
from rag_evals.stats.intervals import equal_values
from rag_evals.text import split_sentences

SAMPLES_IN_BLOCK = 100
MOST_ROWS = 20_000
"""Maximum number of outcomes on a page; more may exceed a browser's memory."""
MOST_SEARCHED = 200
"""Number of outcomes whose nearest passages are highlighted; finding them takes 2 ms each."""
_BINS = 10
_MOST_COLUMNS = 12
_READ_FOR_COLUMNS = 100
_MOST_CELL_CHARS = 80
# gzip's level 6 takes 50 % longer and makes the page only a tenth smaller.
_LEVEL = 5


def report_html(
    run: RunInput,
    *,
    view: View | None = None,
    only: Iterable[str] | None = None,
    links: Sequence[tuple[str, str]] = (),
    note: str = "",
) -> str:
    """Return a run's HTML report.

    Args:
        run: A run folder, or a run in memory.
        view: Groups, clusters and bands.
        only: Ids of the rows to show; by default, the `MOST_ROWS` lowest-scoring outcomes. The
            metrics at the top always cover the whole run.
        links: Texts and URLs of links to other pages.
        note: A sentence that states which rows the page shows.

    Raises:
        DataError: The folder does not contain a run, or a column is not in the data.
    """
    stored, view = load_run(run), view or View()
    return _page(
        _PageData([stored], [run_name(stored, view.say)], view, only),
        left_out=_left_out([stored], view.say) if only is None else note,
        links=links,
        title=view.say("page.title", run=run_name(stored, view.say)),
        cards=grader_numbers(stored, view),
        about=_about(stored, view.say),
        facts=[_facts(stored, view.say)],
        view=view,
    )


def comparison_html(
    comparison: Comparison,
    baseline: RunInput,
    candidate: RunInput,
    *,
    view: View | None = None,
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return an HTML page that shows two runs side by side.

    Args:
        comparison: The result of `compare`.
        baseline: The first run.
        candidate: The second run.
        view: Bands and language.
        links: As in `report_html`.
    """
    runs, view = [load_run(baseline), load_run(candidate)], view or View()
    say = view.say
    sides = [say("compare.name_of_baseline"), say("compare.name_of_candidate")]
    return _page(
        _PageData(runs, sides, view),
        left_out=_left_out(runs, say),
        links=links,
        title=say("compare.title", baseline=comparison.baseline, candidate=comparison.candidate),
        comparison=comparison,
        compared=[(one, one.words(len(comparison.graders), say)) for one in comparison.graders],
        facts=[_facts(run, view.say) for run in runs],
        view=view,
    )


def write_private(path: str | Path, text: str) -> Path:
    """Write a file that only its owner can read, because it contains user data."""
    path = Path(path)
    with private_file(path) as file:
        file.write(text.encode("utf-8"))
    return path


def write_report(
    run: RunInput,
    path: str | Path | None = None,
    *,
    by: str | None = None,
    cluster: str | None = None,
    bands: Sequence[Band] | None = None,
    language: str = "en",
) -> Path:
    """Write a run's report as one self-contained HTML file.

    Args:
        run: A run folder, or a run in memory.
        path: File to write; by default, `report.html` in the run folder.
        by: Data column to group rows by.
        cluster: Column shared by rows that are not independent.
        bands: Names and limits of the bands; by default, high, good, medium and low.
        language: Language of the page: "en" or "ru".

    Returns:
        The path of the report.

    Raises:
        DataError: The folder does not contain a run, or a column is not in the data.
        ConfigurationError: `path` is missing for a run in memory, or the file cannot be written.
    """
    stored = load_run(run)
    if path is None and stored.folder is None:
        raise ConfigurationError("a run in memory has no folder; give the path of the report")
    view = View(by, cluster, DEFAULT_BANDS if bands is None else bands, language)
    target = Path(path) if path is not None else (stored.folder or Path()) / "report.html"
    return write_private(target, report_html(stored, view=view))


class _PageData:
    def __init__(
        self,
        runs: Sequence[Run],
        sides: Sequence[str],
        view: View,
        keep: Iterable[str] | None = None,
    ) -> None:
        self._view, self._say = view, view.say
        self._samples: list[list[Any]] = []
        self._opened: list[list[Any]] = []
        self._places: dict[str, list[tuple[StoredSample, int]]] = {}
        self._graders = list(dict.fromkeys(name for run in runs for name in run.graders))
        if keep is None and max(len(run.records) for run in runs) > MOST_ROWS:
            chosen = (run.lowest_records(MOST_ROWS // len(runs)) for run in runs)
            keep = [one["sample_id"] for records in chosen for one in records]
        kept = None if keep is None else list(dict.fromkeys(keep))
        rows: dict[str, list[list[Any] | None]] = {}
        self._groups = {} if view.by is None else runs[0].column(view.by)
        self._columns = self._own_columns(runs, kept)
        for number, run in enumerate(runs):
            self._replies = _replies_by_row(run)
            self._labels = labels_by_finding(run.folder)
            # Highlight the nearest passages only in the lowest-scoring rows.
            searched = run.lowest_records(MOST_SEARCHED)
            self._searched = frozenset((one["sample_id"], one["grader"]) for one in searched)
            for record in run.records if kept is None else _records(run, kept):
                sample_id = record["sample_id"]
                sample = run.samples.get(sample_id) or StoredSample(sample_id)
                row = rows.setdefault(sample_id, [None] * len(runs))
                row[number] = side = row[number] or [self._place(sample), []]
                side[1].append(self._grading(record, sample, side[0]))
        table = {
            **_settings(view),
            "sides": sides,
            "graders": self._graders,
            "columns": self._columns,
            "inBlock": SAMPLES_IN_BLOCK,
            "rows": list(rows.values()),
            "samples": self._samples,
        }
        starts = range(0, len(self._opened), SAMPLES_IN_BLOCK)
        # zlib releases the GIL, so threads compress on all cores.
        with ThreadPoolExecutor(thread_name_prefix="rag-evals") as pool:
            first = pool.submit(packed, table)
            blocks = (self._opened[start : start + SAMPLES_IN_BLOCK] for start in starts)
            self.chunks = list(pool.map(packed, blocks))
            self.rows = first.result()

    def _own_columns(self, runs: Sequence[Run], kept: Sequence[str] | None) -> list[str]:
        first = [] if self._view.by is None else [self._view.by]
        ids = runs[0].samples if kept is None else kept
        some = (runs[0].samples.get(sample_id) for sample_id in islice(ids, _READ_FOR_COLUMNS))
        names = {name: None for sample in some if sample is not None for name in sample.columns}
        return list(dict.fromkeys([*first, *names]))[:_MOST_COLUMNS]

    def _grading(self, record: Record, sample: StoredSample, place: int) -> list[Any]:
        error: Mapping[str, Any] = record.get("error") or {}
        found = findings_in(record)
        is_searched = (record["sample_id"], record["grader"]) in self._searched
        locate = find_passages if is_searched else quoted_passages
        if sample.answer and any(one.sentence_ids for one in found):
            self._samples[place][5] = [
                [span.start, span.end] for span in split_sentences(sample.answer)
            ]
        return [
            self._graders.index(record["grader"]),
            record["status"],
            record["score"],
            reason_of(record),
            error.get("message"),
            [
                [*_item(finding, self._say, locate(finding, sample.chunks)), self._said(record, n)]
                for n, finding in enumerate(found)
            ],
            list(record.get("warnings", ())),
            round(record.get("seconds", 0.0), 3),
            list(record.get("repeats") or ()),
        ]

    def _said(self, record: Record, place: int) -> list[list[Any]]:
        """Return people's labels and notes for a finding."""
        lines = self._labels.get((record["sample_id"], record["grader"], place), ())
        return [[line.get("annotator"), line.get("label"), line.get("note")] for line in lines]

    def _place(self, sample: StoredSample) -> int:
        """Return the sample's index; identical samples in two runs share an index."""
        there = self._places.setdefault(sample.sample_id, [])
        for known, place in there:
            if known is sample or known == sample:
                return place
        there.append((sample, len(self._samples)))
        values = [self._column(sample, name) for name in self._columns]
        texts = [sample.sample_id, sample.question, sample.answer, sample.reference]
        self._samples.append([*texts, len(sample.chunks), None, values])
        chunks = [
            [text, "; ".join(f"{n}: {value}" for n, value in about.items()) if about else ""]
            for text, about in zip(sample.chunks, sample.metadata, strict=True)
        ]
        self._opened.append([chunks, self._replies.get(sample.sample_id, ())])
        return len(self._samples) - 1

    def _column(self, sample: StoredSample, name: str) -> str | None:
        if name == self._view.by:
            return self._groups.get(sample.sample_id)
        value = sample.columns.get(name)
        return None if value is None else str(value)[:_MOST_CELL_CHARS]


def _records(run: Run, ids: Iterable[str]) -> Iterator[Record]:
    """Yield the outcomes of the given rows; in a comparison, a run may lack some of them."""
    for sample_id in ids:
        with suppress(NotInRunError):
            yield from run.row_records(sample_id)


def _replies_by_row(run: Run) -> Mapping[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for one in () if run.folder is None else read_replies(run.folder):
        sent = "\n\n".join(f"[{each['role']}]\n{each['content']}" for each in one["messages"])
        reply = to_json(one["reply"], indent=2).decode()
        found.setdefault(one["sample_id"], []).append([one["grader"], sent, reply])
    return found


def _left_out(runs: Sequence[Run], say: Phrases) -> str:
    total = max(len(run.records) for run in runs)
    return "" if total <= MOST_ROWS else say("page.left_out", shown=MOST_ROWS, total=total)


def rendered(files: tuple[str, str | None], view: View, **values: Any) -> str:
    page, own = files
    style = asset("page.css")
    lines = "" if own is None else asset("shared.js") + asset(own)
    script = f'"use strict";\n(() => {{\n{lines}}})();\n'
    connects = "connect-src 'self'; " if values.get("saves") else ""
    return str(
        template(page).render(
            style=style,
            script=script,
            view=view,
            say=view.say,
            policy=(
                f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
                f"img-src data:; {connects}base-uri 'none'; "
                f"form-action {chr(39)}{'self' if values.get('posts') else 'none'}{chr(39)}"
            ),
            **values,
        )
    )


def _page(page_data: _PageData, view: View, **values: Any) -> str:
    return rendered(
        ("page.html.jinja", "page.js"),
        view,
        rows=page_data.rows,
        chunks=page_data.chunks,
        cells=group_cells,
        lines=numbers_words,
        bars=_bars,
        band_meanings=_band_meanings(view, values.get("cards", ())),
        **values,
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _bars(counted: GraderSummary, view: View) -> list[dict[str, Any]]:
    """Count rows in ten score ranges; the last includes 1.0."""
    counts = [0] * _BINS
    for score, times in equal_values(counted.scores):
        counts[min(int(score * _BINS + 1e-9), _BINS - 1)] += times
    bars, order = [], [band.name for band in view.bands]
    for place, count in enumerate(counts):
        low, high = place / _BINS, (place + 1) / _BINS
        ends = {"low": view.number(low, 1), "high": view.number(high, 1)}
        bars.append(
            {
                "count": count,
                "words": view.say("page.bar", count=count, **ends),
                "narrow": {"grader": counted.grader, "low": low, "high": high},
                "band": min(order.index(band_of(low, bands=view.bands).name), 3),
                # Even a bar for one row among thousands must be visible.
                "share": max(count / max(counts), 0.025) if count else 0,
            }
        )
    return bars


def _settings(view: View) -> dict[str, Any]:
    return {
        "language": view.language,
        "bands": [
            [
                *(band.label(view.language), band.lower, band.meaning(view.language)),
                *(band.about, band.plain.get(view.language, band.name)),
            ]
            for band in view.bands
        ],
        "phrases": view.say.section("script"),
        "reasons": view.say.section("reasons"),
        "titles": view.say.section("graders"),
    }


def _band_meanings(view: View, cards: Sequence[GraderNumbers]) -> list[tuple[str, str]]:
    """Return descriptions of the bands that have the same meaning for every grader."""
    upper, meanings = 1.0, []
    for band in view.bands:
        if not all(band.is_of(card.counted.grader) for card in cards):
            continue
        if (meaning := band.meaning(view.language)) is not None:
            low, high = f"{band.lower * 100:g}", f"{upper * 100:g}"
            said = view.say("page.meaning", low=low, high=high, meaning=meaning)
            meanings.append((band.label(view.language), said))
        upper = band.lower
    return meanings


def _facts(run: Run, say: Phrases) -> dict[str, Any]:
    facts: dict[str, Any] = {"run": run_name(run, say)}
    if notes := run.notes(say=say):
        facts["note"] = "; ".join(notes)
    for name in ("created", "finished", "rag_evals", "rows"):
        if run.manifest.get(name) is not None:
            facts["version" if name == "rag_evals" else name] = run.manifest[name]
    for name, value in run.identity.items():
        for inner, text in value.items() if isinstance(value, dict) else [(None, value)]:
            if text not in (None, "", [], {}):
                facts[f"{name}: {inner}" if inner else name] = text
    for grader, prompt in run.manifest.get("prompts", {}).items():
        facts[f"prompt: {grader}"] = prompt
    facts["spent"] = ", ".join(
        f"{value:,g} {say.named('usage', name)}" for name, value in run.usage().items()
    )
    parts = [(*name.partition(": "), value) for name, value in facts.items()]
    return {
        f"{say.named('facts', kind)}{colon}{say.named('graders', inner)}": value
        for kind, colon, inner, value in parts
    }


def run_name(run: Run, say: Phrases) -> str:
    return say("page.in_memory") if run.folder is None else run.folder.name or str(run.folder)


def _about(run: Run, say: Phrases) -> list[str]:
    identity, manifest = run.identity, run.manifest
    file = identity.get("file")
    times = [manifest.get("created"), manifest.get("finished")]
    day = str(times[0] or "")[:16].replace("T", " ")
    told = [file, run.judge and say("summary.judge", judge=run.judge), day and f"{day} UTC"]
    if all(times):
        began, ended = (datetime.fromisoformat(str(one)) for one in times)
        told.append(say("page.took", seconds=say.number((ended - began).total_seconds(), 1)))
    return [str(one) for one in told if one]


def _item(finding: Finding, say: Phrases, found: Sequence[EvidencePassage]) -> list[Any]:
    """Convert a finding to the list that `page.js` reads."""
    # c: contradicted, n: not supported, s: supported, o: no verdict.
    verdict = "c" if finding.label == CONTRADICTED else "n"
    if finding.verdict is not False:
        verdict = "s" if finding.verdict else "o"
    origin = []
    if finding.support is not None:
        origin.append(say("page.support", support=say.number(finding.support)))
    if finding.decided_by is not None:
        origin.append(say("items.decided_by", name=finding.decided_by))
    return [
        finding.text,
        verdict,
        say.label(finding.label),
        finding.reasoning,
        finding.chunk_ids,
        [[one.chunk_id, one.start, one.end, one.is_nearest] for one in found],
        finding.sentence_ids,
        ", ".join(origin),
        finding.about == "statement",
        say.text(finding.text),
        next((one.differs for one in found), ""),
    ]


def packed(value: object) -> str:
    """Encode a block of page data as gzipped JSON in base64."""
    # A fixed time in the gzip header makes pages of the same run byte-for-byte identical.
    return base64.b64encode(gzip.compress(to_json(value), _LEVEL, mtime=0)).decode("ascii")
