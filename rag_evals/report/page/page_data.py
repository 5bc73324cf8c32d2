"""What does the page carry? Rows and chunks as compressed blocks, which the page opens itself.

A block is JSON, gzip'ed and written in base64. Rows are in one block, so that they can be sorted
and searched; chunks are in blocks of 100 samples, opened with the row that needs them.
"""

import base64
import gzip
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic_core import to_json

from rag_evals.core import CONTRADICTED, Finding, Phrases
from rag_evals.run import Record, Run, StoredSample, findings_in, reason_of
from rag_evals.text import split_sentences

SAMPLES_IN_BLOCK = 100
# Above 6, gzip takes three times as long for two parts in a hundred.
_LEVEL = 6

Keep = Iterable[tuple[str, str]] | None
"""The (sample id, grader) pairs to show; None shows all."""


class PageData:
    """The rows of one run, or of two side by side.

    Attributes:
        rows: The block of rows.
        chunks: The blocks of chunks.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        settings: Mapping[str, Any],
        say: Phrases,
        keep: Keep = None,
    ) -> None:
        self._runs = runs
        self._say = say
        self._samples: list[list[Any]] = []
        self._chunks: list[list[list[str]]] = []
        self._places: dict[str, list[tuple[StoredSample, int]]] = {}
        graders = list(dict.fromkeys(name for run in runs for name in run.graders))
        kept = None if keep is None else set(keep)
        sides: dict[tuple[str, str], list[list[Any] | None]] = {}
        for number, run in enumerate(runs):
            for record in run.records:
                key = (record["sample_id"], record["grader"])
                if kept is None or key in kept:
                    sides.setdefault(key, [None] * len(runs))[number] = self._side(run, record)
        table = {
            **settings,
            "graders": graders,
            "inBlock": SAMPLES_IN_BLOCK,
            "rows": [[graders.index(grader), both] for (_, grader), both in sides.items()],
            "samples": self._samples,
        }
        starts = range(0, len(self._chunks), SAMPLES_IN_BLOCK)
        # zlib lets go of the interpreter's lock, so that every core compresses.
        with ThreadPoolExecutor(thread_name_prefix="rag-evals") as pool:
            rows = pool.submit(_packed, table)
            blocks = (self._chunks[start : start + SAMPLES_IN_BLOCK] for start in starts)
            self.chunks = list(pool.map(_packed, blocks))
            self.rows = rows.result()

    def _side(self, run: Run, record: Record) -> list[Any]:
        sample = run.samples.get(record["sample_id"])
        error: Mapping[str, Any] = record.get("error") or {}
        found = findings_in(record)
        place = self._place(sample or StoredSample(record["sample_id"]))
        if sample is not None and sample.answer and any(one.sentence_ids for one in found):
            self._samples[place][5] = [
                [span.start, span.end] for span in split_sentences(sample.answer)
            ]
        return [
            place,
            record["status"],
            record["score"],
            reason_of(record),
            error.get("message"),
            [_item(finding, self._say) for finding in found],
            list(record.get("warnings", ())),
            round(record.get("seconds", 0.0), 3),
            list(record.get("repeats") or ()),
        ]

    def _place(self, sample: StoredSample) -> int:
        """Return where the sample stands; two runs share one when their samples are the same."""
        there = self._places.setdefault(sample.sample_id, [])
        for known, place in there:
            if known is sample or known == sample:
                return place
        there.append((sample, len(self._samples)))
        count = len(sample.chunks)
        self._samples.append(
            [sample.sample_id, sample.question, sample.answer, sample.reference, count, None]
        )
        self._chunks.append(
            [
                [text, "; ".join(f"{n}: {value}" for n, value in about.items()) if about else ""]
                for text, about in zip(sample.chunks, sample.metadata, strict=True)
            ]
        )
        return len(self._samples) - 1


def _item(finding: Finding, say: Phrases) -> list[Any]:
    """Write a finding in the form that the page reads; `page.js` names the places."""
    return [
        finding.text,
        _verdict(finding),
        say.label(finding.label),
        finding.reasoning,
        finding.chunk_ids,
        [[quote.chunk_id, quote.start, quote.end, quote.text] for quote in finding.quotes],
        finding.sentence_ids,
        _origin(finding, say),
        finding.about == "statement",
        say.text(finding.text),
    ]


def _verdict(finding: Finding) -> str:
    """Return `s` for a yes, `n` for a no, `c` for contradicted, `o` for neither."""
    if finding.verdict is None:
        return "o"
    if finding.verdict:
        return "s"
    return "c" if finding.label == CONTRADICTED else "n"


def _origin(finding: Finding, say: Phrases) -> str:
    """Say how sure a verdict is and who decided it, as far as that is known."""
    parts = []
    if finding.support is not None:
        parts.append(say("page.support", support=say.number(finding.support)))
    if finding.decided_by is not None:
        parts.append(say("items.decided_by", name=finding.decided_by))
    return ", ".join(parts)


def _packed(value: object) -> str:
    # A fixed time in the header: the same run gives the same page, byte for byte.
    return base64.b64encode(gzip.compress(to_json(value), _LEVEL, mtime=0)).decode("ascii")
