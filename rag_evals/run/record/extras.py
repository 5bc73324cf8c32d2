"""Additional files in a run folder: logged judge replies and human labels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from rag_evals.core import JudgeCall, JudgeReply
from rag_evals.judge.session import ReplyStore
from rag_evals.run.record.lines import LineLog

REPLIES = "replies.jsonl"


class ReplyLog:
    """Wraps a reply store, and also logs every judge reply in the run folder.

    `grading` returns the current sample id and grader; `store` is None without a cache.
    """

    def __init__(
        self, folder: Path, grading: Callable[[], tuple[str, str]], store: ReplyStore | None
    ) -> None:
        self._path = folder / REPLIES
        self._grading = grading
        self._store = store

    def find(self, call: JudgeCall[Any]) -> JudgeReply | None:
        found = None if self._store is None else self._store.find(call)
        if found is not None:
            self._write(call, found)
        return found

    def keep(self, call: JudgeCall[Any], reply: JudgeReply) -> None:
        if self._store is not None:
            self._store.keep(call, reply)
        self._write(call, reply)

    def _write(self, call: JudgeCall[Any], reply: JudgeReply) -> None:
        sample_id, grader = self._grading()
        line = {
            "sample_id": sample_id,
            "grader": grader,
            "messages": call.messages,
            "reply": reply.parsed,
        }
        with LineLog(self._path) as log:
            log.append(to_json(line) + b"\n")


def read_replies(folder: Path, sample_id: str | None = None) -> Iterator[Mapping[str, Any]]:
    """Yield the logged messages and replies for one row, or for every row."""
    path = folder / REPLIES
    if not path.exists():
        return
    name = b"" if sample_id is None else to_json(sample_id)
    with path.open("rb") as file:
        for line in file:
            if name in line and line.endswith(b"\n"):
                kept: Mapping[str, Any] = from_json(line)
                if sample_id in (None, kept["sample_id"]):
                    yield kept


def label_files(folder: Path | None) -> list[Path]:
    """Return the label files of a run folder, sorted by name."""
    return [] if folder is None else sorted(folder.glob("labels*.jsonl"))


LabelLines = Mapping[tuple[str, str, int], Sequence[Mapping[str, Any]]]
"""Label lines by sample id, grader and index of the finding."""


def labels_by_finding(folder: Path | None) -> LabelLines:
    found: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for path in label_files(folder):
        annotator = path.stem.partition("-")[2] or None
        for written in path.read_bytes().splitlines():
            with suppress(ValueError):
                line = from_json(written)
                if isinstance(line, dict) and isinstance(line.get("statement"), int):
                    key = (str(line.get("sample_id")), str(line.get("grader")), line["statement"])
                    found.setdefault(key, []).append({"annotator": annotator, **line})
    return found
