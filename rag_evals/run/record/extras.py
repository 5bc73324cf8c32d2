"""What a run folder keeps besides its log: replies of the judge, and labels of people.

`replies.jsonl` is there where the run was asked to keep it; `labels.jsonl` and files that begin so
are what people say, as the page to label exports it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from rag_evals.core import JudgeCall, JudgeReply
from rag_evals.judge.session import ReplyStore
from rag_evals.run.record.lines import PRIVATE

REPLIES = "replies.jsonl"


class ReplyLog:
    """Writes each reply of a judge into the run folder; finds and keeps as the store behind it.

    Args:
        folder: Of the run; made by it before the first reply comes.
        grading: Returns sample id and grader of the grading that asks.
        store: Keeps replies across runs; None where nothing does.
    """

    def __init__(
        self, folder: Path, grading: Callable[[], tuple[str, str]], store: ReplyStore | None
    ) -> None:
        self._path = folder / REPLIES
        self._grading = grading
        self._store = store

    def find(self, call: JudgeCall[Any]) -> JudgeReply | None:
        """Return the reply of the store, and write it down."""
        found = None if self._store is None else self._store.find(call)
        if found is not None:
            self._write(call, found)
        return found

    def keep(self, call: JudgeCall[Any], reply: JudgeReply) -> None:
        """Write a reply down, and keep it in the store."""
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
        # One call writes a whole line: a run that is killed leaves at most a torn last one.
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
        try:
            os.write(file, to_json(line) + b"\n")
        finally:
            os.close(file)


def read_replies(folder: Path, sample_id: str | None = None) -> Iterator[Mapping[str, Any]]:
    """Yield what was sent and replied for a row, or for all; nothing where none was kept."""
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
    """Return the files of labels in a run folder, in the order of their names."""
    return [] if folder is None else sorted(folder.glob("labels*.jsonl"))


LabelLines = Mapping[tuple[str, str, int], Sequence[Mapping[str, Any]]]
"""Lines of labels by row, grader and place of the finding."""


def labels_by_finding(folder: Path | None) -> LabelLines:
    """Return the labels of people for each finding, in the labels files of a run folder."""
    found: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for line in _label_lines(folder):
        key = (str(line.get("sample_id")), str(line.get("grader")), line["statement"])
        found.setdefault(key, []).append(line)
    return found


def _label_lines(folder: Path | None) -> Iterator[Mapping[str, Any]]:
    """Yield the labels of findings; other lines are passed over."""
    for path in label_files(folder):
        for line in path.read_bytes().splitlines():
            with suppress(ValueError):
                found = from_json(line)
                if isinstance(found, dict) and isinstance(found.get("statement"), int):
                    yield {"annotator": path.stem.partition("-")[2] or None, **found}
