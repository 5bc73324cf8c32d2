"""How does Together take batches? As OpenAI does, but for how a file arrives and what is told.

A file goes to an address that the host names, which costs nothing and may be done again. Read from
its library, `together` 3.1: the shapes of its replies are in no other one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag_evals.errors import JudgeUnavailableError
from rag_evals.judge.batches.api import NEWEST, BatchApi
from rag_evals.judge.batches.results import ENDED, BatchState
from rag_evals.judge.providers import OPENAI_HOSTS, Endpoint
from rag_evals.judge.sdks import no_key
from rag_evals.judge.transport import client_for_files

_FORM = {"Content-Type": "multipart/form-data"}
_FOUND, _CONFLICT = 302, 409
_SECONDS = 600.0


class TogetherBatches(BatchApi):
    """The batches of Together."""

    def __init__(self, spec: str, endpoint: Endpoint) -> None:
        if endpoint.key is None:
            raise no_key(OPENAI_HOSTS[endpoint.provider].key_variable)
        sdk = client_for_files(endpoint)
        super().__init__(spec, sdk, key=endpoint.key, address_name=endpoint.address_name)

    def _upload(self, path: Path, name: str) -> str:
        described = {"purpose": "batch-api", "file_name": f"{name}.jsonl", "file_type": "jsonl"}
        options: Any = {"headers": _FORM, "follow_redirects": False}
        try:
            told = self._posted("/files", described, options)
        except Exception as error:
            # What leads elsewhere is an error to the library.
            if (told := getattr(error, "response", None)) is None:
                raise
        if told.status_code == _CONFLICT:
            return str(told.json()["file_id"])
        place, file = told.headers.get("location"), told.headers.get("x-together-file-id")
        if told.status_code != _FOUND or not place or not file:
            told.raise_for_status()
            raise JudgeUnavailableError(
                f"the endpoint names no place for a file (HTTP {told.status_code})"
            )
        _put(place, path)
        self._posted(f"/files/{file}/preprocess", None, {})
        return str(file)

    def _find_file(self, name: str) -> str | None:
        """Find none: one that is listed may be empty, and sending it again costs nothing."""

    def _create(self, path: Path, file_id: str, name: str) -> BatchState:
        asked = {
            "input_file_id": file_id,
            "endpoint": self.host.url,
            "completion_window": "24h",
        }
        return _state(self._posted("/batches", asked, {"max_retries": 0}).json()["job"])

    def _find_batch(self, path: Path, file_id: str) -> BatchState | None:
        jobs = self._got("/batches")
        newest = sorted(jobs, key=lambda job: str(job.get("created_at")), reverse=True)[:NEWEST]
        mine = (_state(job) for job in newest if job.get("input_file_id") == file_id)
        return next((state for state in mine if state.status != "failed"), None)

    def _retrieve(self, batch: str) -> BatchState:
        return _state(self._got(f"/batches/{batch}"))

    def _lines(self, batch: str, file: str) -> Iterator[bytes]:
        with self._sdk.files.with_streaming_response.content(file) as response:
            yield from self._cut(response)

    def _posted(self, path: str, body: Mapping[str, str] | None, options: Any) -> Any:
        import httpx2  # noqa: PLC0415 - loaded by now

        return self._sdk.post(path, cast_to=httpx2.Response, body=body, options=options)

    def _got(self, path: str) -> Any:
        import httpx2  # noqa: PLC0415 - loaded by now

        return self._sdk.get(path, cast_to=httpx2.Response).json()


def _put(place: str, path: Path) -> None:
    """Send a file to an address that needs no key, and gets none."""
    import httpx2  # noqa: PLC0415 - loaded by now

    size = {"Content-Length": str(path.stat().st_size)}
    with path.open("rb") as file, httpx2.Client(timeout=_SECONDS) as http:
        http.put(place, content=file, headers=size).raise_for_status()


def _state(job: Mapping[str, Any]) -> BatchState:
    status = str(job.get("status")).lower()
    files = (job.get("output_file_id"), job.get("error_file_id"))
    return BatchState(
        str(job["id"]),
        status,
        # It tells a percentage alone.
        None,
        None,
        tuple(file for file in files if file) if status in ENDED else (),
        str(job.get("error") or ""),
    )
