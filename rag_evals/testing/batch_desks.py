"""How does Anthropic take batches? Its batches of a scripted judge."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from rag_evals.testing.answers import Answer, HttpError, Raw
from rag_evals.testing.batches import BatchDesk

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
