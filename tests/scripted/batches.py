"""How do providers take batches? Files and batches of a scripted judge.

A batch is worked off when it is created: each line of its file is one request to the judge's
script, and counts among `ScriptedJudge.requests`. `BatchEnd` says what goes wrong with it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any, Literal
from urllib.parse import parse_qs

from rag_evals.testing import HttpError, Raw, Reply, Reset, Wire
from rag_evals.testing.scripted import Answer

Lost = Literal["upload", "create", "content"]
BatchStep = Literal["upload", "create", "poll", "content"]
PATH = re.compile(r"/(files|batches)(?:/([\w-]+))?(?:/(content|results))?/?$")
NOT_FOUND = HttpError(404, "no such file or batch")


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """How one batch ends.

    Attributes:
        status: `completed`, `expired`, `cancelled` or `failed`; the last works off no line.
        lines: So many lines are worked off before it ends; None works off all.
        polls: So often it says `in_progress` when it is asked for.
        lost: The request whose reply never arrives, once, though the server carried it out.
        message: What a batch that failed says.
        instead: Answers that are given first, by step, in order; nothing is carried out for them.
        spoil: Changes the lines of its results before they are sent.
    """

    status: Literal["completed", "expired", "cancelled", "failed"] = "completed"
    lines: int | None = None
    polls: int = 0
    lost: Lost | None = None
    message: str = "scripted failure"
    instead: Mapping[BatchStep, Sequence[Answer]] = field(default_factory=dict)
    spoil: Callable[[bytes], bytes] | None = None


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

    _url = "/v1/chat/completions"

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
        self._used: dict[tuple[int, BatchStep], int] = {}

    def get(self, path: str) -> Answer:
        """Answer a GET: lists, a batch, the content of a file."""
        found = PATH.search(path.partition("?")[0])
        if found is None:
            return HttpError(404, f"no such path: {path}")
        kind, name, content = found.groups()
        if name is None:
            shown = self.batches.values() if kind == "batches" else map(self._file, self.files)
            return self._list(list(shown)[::-1])
        known = self.batches if kind == "batches" else self.files
        if name not in known:
            return NOT_FOUND
        if content:
            return self._content(name)
        if kind == "files":
            return Raw(self._file(name))
        return self._instead("poll", name) or Raw(self._polled(name))

    def post(self, path: str, headers: Mapping[str, str], content: bytes) -> Answer:
        """Answer a POST: a new file, or a new batch."""
        found = PATH.search(path.partition("?")[0])
        assert found is not None, "the server looked for one"
        step: BatchStep = "upload" if found.group(1) == "files" else "create"
        if instead := self._instead(step):
            return instead
        lost = step == "create" and self._loses(step)
        answer = self._posted(found, headers, content)
        return Reset() if lost or (step == "upload" and self._loses(step)) else answer

    def _posted(self, found: re.Match[str], headers: Mapping[str, str], content: bytes) -> Answer:
        if found.group(1) == "files":
            name = f"file-{len(self.files)}"
            self.files[name] = _uploaded(headers["content-type"], content)
            return Raw(self._file(name))
        asked = json.loads(content)
        if asked.get("input_file_id") not in self.files:
            return HttpError(400, f"no file {asked.get('input_file_id')!r}")
        return Raw(self._worked_off(asked))

    def _list(self, newest: Sequence[Mapping[str, Any]]) -> Answer:
        return Raw({"object": "list", "data": newest, "has_more": False})

    def _content(self, name: str) -> Answer:
        if instead := self._instead("content", name):
            return instead
        if self._loses("content"):
            return Reset()
        content = self.files[name][1]
        spoil = self._end_of(name).spoil
        return Raw(spoil(content) if spoil else content)

    def _end_of(self, name: str | None) -> BatchEnd:
        """Return how a batch ends: one that is known, that of a file of results, or the next."""
        number = len(self.batches)
        for place, batch in enumerate(self.batches.values()):
            if name and name in (
                batch["id"],
                batch.get("output_file_id"),
                batch.get("error_file_id"),
            ):
                number = place
        return self._ends[number] if number < len(self._ends) else BatchEnd()

    def _instead(self, step: BatchStep, name: str | None = None) -> Answer | None:
        """Return what is answered before the step is carried out, if anything is left of it."""
        end = self._end_of(name)
        answers = end.instead.get(step, ())
        used = self._used.setdefault((id(end), step), 0)
        if used >= len(answers):
            return None
        self._used[id(end), step] += 1
        return answers[used]

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

    def _goes_on(self, name: str) -> bool:
        """Count a question, and say whether the batch has not ended yet."""
        goes_on = self._polls[name] > 0
        self._polls[name] -= goes_on
        return goes_on

    def _polled(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        if not self._goes_on(name):
            return batch
        hidden = {"status": "in_progress", "output_file_id": None, "error_file_id": None}
        return {**batch, **hidden}

    def _worked_off(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        end, name = self._end_of(None), f"batch_{len(self.batches)}"
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]][1].splitlines()]
        good, bad = self._results(lines, end)
        batch = {
            "id": name,
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
        self._polls[name] = end.polls
        self.batches[name] = batch
        return batch

    def _results(
        self, lines: Sequence[Mapping[str, Any]], end: BatchEnd
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Work off the lines of a batch, and return replies and errors."""
        most = 0 if end.status == "failed" else end.lines
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for place, line in enumerate(lines):
            if most is None or place < most:
                self._add(line, good, bad)
            elif end.status == "expired":
                bad.append(self._expired(line["custom_id"]))
        return good, bad

    def _add(
        self, line: Mapping[str, Any], good: list[dict[str, Any]], bad: list[dict[str, Any]]
    ) -> None:
        """Work off one line; what would hang or break a connection leaves no trace of it."""
        body = line.get("body") or line["params"]
        answer = self._answer(line.get("url") or self._url, body)
        if isinstance(answer, str | Mapping):
            answer = Reply(answer)
        if isinstance(answer, Reply):
            good.append(self._reply(line["custom_id"], self._wire.reply(answer, body)))
        elif isinstance(answer, HttpError):
            bad.append(self._error(line["custom_id"], answer))

    def _reply(self, custom_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return _result(custom_id, 200, body)

    def _error(self, custom_id: str, error: HttpError) -> dict[str, Any]:
        return _result(custom_id, error.status, self._wire.error(error))

    def _expired(self, custom_id: str) -> dict[str, Any]:
        said = "This request could not be executed before the completion window expired."
        error = {"code": "batch_expired", "message": said}
        return {"id": "scripted", "custom_id": custom_id, "response": None, "error": error}

    def _kept(self, results: Sequence[Mapping[str, Any]]) -> str | None:
        if not results:
            return None
        name = f"file-{len(self.files)}"
        # In an order of their own, and with any letters, as providers write them.
        lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in reversed(results))
        self.files[name] = (f"{name}.jsonl", "".join(lines).encode())
        return name


def is_for_batches(path: str) -> bool:
    """Say whether a path is one of files or batches."""
    return PATH.search(path.partition("?")[0]) is not None


def _result(custom_id: str, status: int, body: Mapping[str, Any]) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "scripted", "body": body}
    return {"id": "scripted", "custom_id": custom_id, "response": response, "error": None}


def _uploaded(content_type: str, content: bytes) -> tuple[str, bytes]:
    """Read the name and the content of the one file in a form."""
    head = f"content-type: {content_type}\r\n\r\n".encode()
    parts: Iterator[Any] = iter(message_from_bytes(head + content).get_payload())
    file = next(part for part in parts if part.get_filename())
    return str(file.get_filename()), file.get_payload(decode=True)


_WORDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


class AnthropicDesk(BatchDesk):
    """All requests come in one message, and all results are at one address."""

    _url = "/v1/messages"

    def get(self, path: str) -> Answer:
        """Answer a GET; a page of a list may be asked for."""
        answer = super().get(path)
        asked = parse_qs(path.partition("?")[2])
        if isinstance(answer, Raw) and isinstance(answer.body, dict) and "data" in answer.body:
            data = answer.body["data"][: int(asked.get("limit", ["20"])[0])]
            return Raw({**answer.body, "data": data})
        return answer

    def _posted(self, found: re.Match[str], headers: Mapping[str, str], content: bytes) -> Answer:
        requests = json.loads(content)["requests"]
        name, end = f"batch_{len(self.batches)}", self._end_of(None)
        good, bad = self._results(requests, end)
        self.files[name] = ("", b"".join(json.dumps(one).encode() + b"\n" for one in good + bad))
        expired = sum(one["result"]["type"] == "expired" for one in bad)
        canceled = len(requests) - len(good) - len(bad)
        errored = len(bad) - expired
        self._polls[name] = end.polls
        self.batches[name] = {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended",
            "created_at": "2026-11-22T00:00:00Z",
            "expires_at": "2026-11-23T00:00:00Z",
            "results_url": f"http://{headers['host']}/v1/messages/batches/{name}/results",
            "request_counts": {
                "processing": 0,
                "succeeded": len(good),
                "errored": errored,
                "expired": expired,
                "canceled": canceled,
            },
        }
        return Raw(self._polled(name) if end.polls else self.batches[name])

    def _list(self, newest: Sequence[Mapping[str, Any]]) -> Answer:
        shown = [self._shown(one) for one in newest]
        return Raw({"data": shown, "has_more": False, "first_id": None, "last_id": None})

    def _polled(self, name: str) -> dict[str, Any]:
        batch = dict(self._shown(self.batches[name]))
        self._goes_on(name)
        return batch

    def _shown(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._polls[batch["id"]] <= 0:
            return batch
        counts = dict.fromkeys(batch["request_counts"], 0)
        counts["processing"] = sum(batch["request_counts"].values())
        hidden = {"processing_status": "in_progress", "results_url": None}
        return {**batch, **hidden, "request_counts": counts}

    def _reply(self, custom_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"custom_id": custom_id, "result": {"type": "succeeded", "message": body}}

    def _error(self, custom_id: str, error: HttpError) -> dict[str, Any]:
        inner = {"type": _WORDS.get(error.status, "api_error"), "message": error.message}
        said = {"type": "error", "error": inner}
        return {"custom_id": custom_id, "result": {"type": "errored", "error": said}}

    def _expired(self, custom_id: str) -> dict[str, Any]:
        return {"custom_id": custom_id, "result": {"type": "expired"}}


DESKS: Mapping[str, type[BatchDesk]] = {"anthropic": AnthropicDesk}
"""Whose batches are not as OpenAI's; by the dialect of the scripted judge."""
