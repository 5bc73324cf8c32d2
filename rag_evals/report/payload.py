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

from rag_evals.quality import reason_of
from rag_evals.run import Record, StoredRun, StoredSample
from rag_evals.text import split_sentences

SAMPLES_IN_BLOCK = 100
# Above 6, gzip takes three times as long for two parts in a hundred.
_LEVEL = 6

Keep = Iterable[tuple[str, str]] | None
"""The (sample id, grader) pairs to show; None shows all."""


class Payload:
    """The rows of one run, or of two side by side.

    Attributes:
        rows: The block of rows.
        chunks: The blocks of chunks.
    """

    def __init__(
        self, runs: Sequence[StoredRun], settings: Mapping[str, Any], keep: Keep = None
    ) -> None:
        self._runs = runs
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

    def _side(self, run: StoredRun, record: Record) -> list[Any]:
        sample = run.samples.get(record["sample_id"])
        error: Mapping[str, Any] = record.get("error") or {}
        items = items_of(record)
        place = self._place(sample or StoredSample(record["sample_id"]))
        if sample is not None and sample.answer and any(item[5] for item in items):
            self._samples[place][5] = [
                [span.start, span.end] for span in split_sentences(sample.answer)
            ]
        return [
            place,
            record["status"],
            record["score"],
            reason_of(record),
            error.get("message"),
            items,
            list(record.get("warnings", ())),
            round(record.get("seconds", 0.0), 3),
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


def items_of(record: Record) -> list[list[Any]]:
    """List what a result says, in the form that the page reads.

    Returns:
        For each statement, chunk or aspect: text, verdict (`s` supported, `n` not, `c`
        contradicted, `o` no verdict of this kind), reasoning, ids of the cited chunks, quotes as
        (chunk id, start, end, text), and numbers of the answer's sentences.
    """
    result: Mapping[str, Any] = record.get("result") or {}
    if isinstance(statements := result.get("statements"), list):
        return [_statement(entry) for entry in statements if isinstance(entry, Mapping)]
    if isinstance(chunks := result.get("graded_chunks"), list):
        return [
            [
                f"chunk {entry.get('id_chunk')}",
                "s" if entry.get("score") else "n",
                entry.get("reasoning"),
                [entry.get("id_chunk")],
                [],
                [],
            ]
            for entry in chunks
            if isinstance(entry, Mapping)
        ]
    return [_aspect(name, value) for name, value in result.items()]


def _statement(entry: Mapping[str, Any]) -> list[Any]:
    verdict = "s" if entry.get("is_supported") else "n"
    if entry.get("verdict") == "contradicted":
        verdict = "c"
    quotes = [
        [quote.get("chunk_id"), quote.get("start"), quote.get("end"), quote.get("text")]
        for quote in entry.get("quotes") or ()
        if isinstance(quote, Mapping)
    ]
    return [
        entry.get("statement"),
        verdict,
        entry.get("reasoning"),
        list(entry.get("supporting_chunk_ids") or ()),
        quotes,
        list(entry.get("sentence_ids") or ()),
    ]


def _aspect(name: str, value: object) -> list[Any]:
    words = name.replace("_", " ")
    if isinstance(value, Mapping) and "label" in value:
        return [f"{words}: {value['label']}", "o", value.get("reasoning"), [], [], []]
    return [f"{words}: {value}", "o", None, [], [], []]


def _packed(value: object) -> str:
    # A fixed time in the header: the same run gives the same page, byte for byte.
    return base64.b64encode(gzip.compress(to_json(value), _LEVEL, mtime=0)).decode("ascii")
