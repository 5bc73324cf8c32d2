"""How does a provider take batches? Files and batches of a scripted judge, on OpenAI's wire.

A batch is worked off when it is created: each line of its file is one request to the judge's
script, and counts among `ScriptedJudge.requests`. `BatchEnd` says what goes wrong with it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from typing import Any, Literal

from rag_evals.testing.answers import Answer, HttpError, Raw, Reply, Reset
from rag_evals.testing.wires import Wire

Lost = Literal["upload", "create", "content"]
_PATH = re.compile(r"/(files|batches)(?:/([\w-]+))?(?:/(content|upload))?/?$")
_NOT_FOUND = HttpError(404, "no such file or batch")


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """How one batch ends.

    Attributes:
        status: `completed`, `expired`, `cancelled` or `failed`; the last works off no line.
        lines: So many lines are worked off before it ends; None works off all.
        polls: So often it says `in_progress` when it is asked for.
        lost: The request whose reply never arrives, once, though the server carried it out.
        message: What a batch that failed says.
    """

    status: Literal["completed", "expired", "cancelled", "failed"] = "completed"
    lines: int | None = None
    polls: int = 0
    lost: Lost | None = None
    message: str = "scripted failure"


class BatchDesk:
    """Keeps the files and batches of one scripted judge.

    Args:
        wire: Wraps replies and errors.
        ends: How the batches end, in the order in which they are created; the rest complete.
        answer: Answers one line, given its URL and body.

    Attributes:
        files: Name and content of each file, by its id.
        batches: As they are shown, by their ids.
        lost: Whose reply was lost, such as `create 0`, with the number of the batch.
    """

    def __init__(
        self,
        wire: Wire,
        ends: Sequence[BatchEnd],
        answer: Callable[[str, Mapping[str, Any]], Answer],
    ) -> None:
        self._wire = wire
        self._ends = ends
        self._answer = answer
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._polls: dict[str, int] = {}
        self.lost: list[str] = []

    def get(self, path: str) -> Answer:
        """Answer a GET: lists, a batch, the content of a file."""
        found = _PATH.search(path.partition("?")[0])
        if found is None:
            return HttpError(404, f"no such path: {path}")
        kind, name, content = found.groups()
        if name is None:
            shown = self.batches.values() if kind == "batches" else map(self._file, self.files)
            newest = list(shown)[::-1]
            return Raw({"object": "list", "data": newest, "has_more": False})
        if kind == "batches" and name in self.batches:
            return Raw(self._polled(name))
        if kind == "files" and name in self.files:
            if content and self._loses("content"):
                return Reset()
            return Raw(self.files[name][1] if content else self._file(name))
        return _NOT_FOUND

    def post(self, path: str, headers: Mapping[str, str], content: bytes) -> Answer:
        """Answer a POST: a new file, or a new batch."""
        found = _PATH.search(path.partition("?")[0])
        assert found is not None, "the server looked for one"
        if found.group(1) == "files":
            name = f"file-{len(self.files)}"
            self.files[name] = _uploaded(headers["content-type"], content)
            return Reset() if self._loses("upload") else Raw(self._file(name))
        asked = json.loads(content)
        if asked.get("input_file_id") not in self.files:
            return HttpError(400, f"no file {asked.get('input_file_id')!r}")
        lost = self._loses("create")
        batch = self._worked_off(asked)
        return Reset() if lost else Raw(batch)

    def _loses(self, what: Lost) -> bool:
        """Say whether the reply to this is lost: each only once."""
        created = len(self.batches)
        number = created - 1 if what == "content" else created
        lost = number < len(self._ends) and self._ends[number].lost == what
        if not lost or f"{what} {number}" in self.lost:
            return False
        self.lost.append(f"{what} {number}")
        return True

    def _file(self, name: str) -> dict[str, Any]:
        filename, content = self.files[name]
        described = {"object": "file", "bytes": len(content), "filename": filename}
        return {"id": name, **described, "purpose": "batch", "created_at": 0, "status": "processed"}

    def _polled(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        if self._polls[name] <= 0:
            return batch
        self._polls[name] -= 1
        hidden = {"status": "in_progress", "output_file_id": None, "error_file_id": None}
        return {**batch, **hidden}

    def _worked_off(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        number = len(self.batches)
        end = self._ends[number] if number < len(self._ends) else BatchEnd()
        lines = self.files[asked["input_file_id"]][1].splitlines()
        most = 0 if end.status == "failed" else end.lines
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for place, line in enumerate(map(json.loads, lines)):
            if most is None or place < most:
                self._add(line, good, bad)
            elif end.status == "expired":
                bad.append(_expired(line["custom_id"]))
        batch = {
            "id": f"batch_{number}",
            "object": "batch",
            "created_at": 0,
            **{name: asked.get(name) for name in ("input_file_id", "endpoint", "metadata")},
            "completion_window": "24h",
            "status": end.status,
            "output_file_id": self._kept(good),
            "error_file_id": self._kept(bad),
            "request_counts": {"total": len(lines), "completed": len(good), "failed": len(bad)},
        }
        if end.status == "failed":
            batch["errors"] = {"object": "list", "data": [{"message": end.message}]}
        self.batches[f"batch_{number}"] = batch
        self._polls[f"batch_{number}"] = end.polls
        return batch

    def _add(
        self, line: Mapping[str, Any], good: list[dict[str, Any]], bad: list[dict[str, Any]]
    ) -> None:
        """Work off one line; what would hang or break a connection leaves no trace of it."""
        answer = self._answer(line["url"], line["body"])
        if isinstance(answer, str | Mapping):
            answer = Reply(answer)
        if isinstance(answer, Reply):
            good.append(_result(line["custom_id"], 200, self._wire.reply(answer, line["body"])))
        elif isinstance(answer, HttpError):
            bad.append(_result(line["custom_id"], answer.status, self._wire.error(answer)))

    def _kept(self, results: Sequence[Mapping[str, Any]]) -> str | None:
        if not results:
            return None
        name = f"file-{len(self.files)}"
        # In an order of their own, as providers write them.
        content = "".join(json.dumps(one) + "\n" for one in reversed(results))
        self.files[name] = (f"{name}.jsonl", content.encode())
        return name


def is_for_batches(path: str) -> bool:
    """Say whether a path is one of files or batches."""
    return _PATH.search(path.partition("?")[0]) is not None


def _result(custom_id: str, status: int, body: Mapping[str, Any]) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "scripted", "body": body}
    return {"id": "scripted", "custom_id": custom_id, "response": response, "error": None}


def _expired(custom_id: str) -> dict[str, Any]:
    said = "This request could not be executed before the completion window expired."
    error = {"code": "batch_expired", "message": said}
    return {"id": "scripted", "custom_id": custom_id, "response": None, "error": error}


def _uploaded(content_type: str, content: bytes) -> tuple[str, bytes]:
    """Read the name and the content of the one file in a form."""
    head = f"content-type: {content_type}\r\n\r\n".encode()
    parts: Iterator[Any] = iter(message_from_bytes(head + content).get_payload())
    file = next(part for part in parts if part.get_filename())
    return str(file.get_filename()), file.get_payload(decode=True)
