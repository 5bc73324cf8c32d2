"""Labelled statements, to learn from or only to measure on."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.train_embedded.cases import claims_of

# Licences that bar these from shipped weights are listed in the data's own README.
EVALUATION_ONLY = frozenset(
    ("lfqa", "factscore", "cliff", "alexa", "snli", "topicalchat", "ragtruth_qa")
)
LICENCES = {
    "expertqa": "MIT",
    "factcheck_gpt": "Apache-2.0",
    "summedits": "Apache-2.0",
    "wice_claim": "ODC-BY, text CC BY-SA",
    "wice_tokens": "ODC-BY, text CC BY-SA",
    "begin": "CC BY 4.0 (WoW, CMU-DoG)",
    "mnli": "mixed open licences",
    "scitail": "Apache-2.0",
    "terra_ru": "MIT",
    "lfqa": "none stated",
    "factscore": "by way of CC BY-NC 4.0",
    "cliff": "none stated",
    "alexa": "CC BY-SA 4.0",
    "snli": "CC BY-SA 4.0",
    "topicalchat": "CDLA-Sharing 1.0",
    "ragtruth_qa": "by way of CC BY-NC 4.0",
}
_SOURCES = {
    "factcheck-gpt": "factcheck_gpt",
    "wice-claim": "wice_claim",
    "wice-tokens": "wice_tokens",
    "begin-wow": "begin",
    "begin-cmu": "begin",
    "begin-tc": "topicalchat",
    "nli-mnli": "mnli",
    "nli-snli": "snli",
    "nli-scitail": "scitail",
    "terra-ru": "terra_ru",
    "ragtruth-qa": "ragtruth_qa",
    "alexa-dialogue": "alexa",
    "cliff-xsum": "cliff",
    "cliff-cnndm": "cliff",
}
# Whole answers whose unsupported words are marked: each sentence that claims something is one.
MARKED_ANSWERS = frozenset(("ragtruth_qa",))
"""They are measured by the judge as it ships: it also looks up what they say is left out."""

SINGLE_CLAIMS = frozenset(
    "expertqa factcheck_gpt mnli scitail snli terra_ru wice_claim wice_tokens".split()
)
"""Sources whose rows are single claims or pairs of sentences, no answers."""

_MOST_ROWS = 5000


@dataclass(frozen=True, slots=True)
class Labelled:
    """One statement with its chunks and a person's label (1 supported, 0 not)."""

    source: str
    row_id: str
    text: str
    label: int
    chunks: tuple[str, ...]
    question: str | None
    gold_chunks: tuple[int, ...]
    language: str


def read_statements(folder: Path) -> dict[str, list[Labelled]]:
    """Read the labelled statements of a folder, by source in alphabetical order."""
    return {
        source: [item for row in rows for item in _statements(source, row)]
        for source, rows in read_rows(folder).items()
    }


def read_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the rows of a folder's `*.jsonl` and `*.jsonl.gz`, by source in alphabetical order.

    Of a large source only the 5,000 rows with the lowest hash of their id are read.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")]):
        for row in _rows(path):
            name = str(row.get("dataset") or path.name.split(".")[0])
            rows.setdefault(_SOURCES.get(name, name), []).append(row)
    return {source: _sampled(rows[source]) for source in sorted(rows)}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    # Not splitlines(): a JSON string may hold other line separators.
    for line in text.split("\n"):
        if line.strip():
            yield json.loads(line)


def _sampled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(rows) <= _MOST_ROWS:
        return rows
    return sorted(rows, key=lambda row: hashlib.sha256(str(row["id"]).encode()).digest())[
        :_MOST_ROWS
    ]


def _statements(source: str, row: dict[str, Any]) -> Iterator[Labelled]:
    whole = {"text": row["answer"], "label": row["label"]}
    marked = list(_marked_sentences(row)) if source in MARKED_ANSWERS else []
    for item in row.get("statements") or marked or [whole]:
        yield Labelled(
            source=source,
            row_id=str(row["id"]),
            text=item["text"],
            label=int(item["label"]),
            chunks=tuple(row["context"]),
            question=row.get("question"),
            gold_chunks=tuple(item.get("gold_chunks") or ()),
            language=row.get("language", "en"),
        )


def _marked_sentences(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for sentence in claims_of(row["answer"]):
        is_marked = any(
            span["start"] < sentence.end and span["end"] > sentence.start for span in row["spans"]
        )
        yield {"text": sentence.claim, "label": int(not is_marked)}
