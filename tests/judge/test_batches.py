"""The state of a batch is read as its host tells it, whatever the host leaves out."""

from types import SimpleNamespace as Made
from typing import Any

import pytest

from rag_evals.errors import JudgeUnavailableError
from rag_evals.judge.batches import BatchState, _state


def batch(status: str, **more: Any) -> Any:
    """Return a batch as an SDK does."""
    own: dict[str, Any] = {
        "id": "b",
        "request_counts": Made(completed=3, failed=2, total=9),
        "output_file_id": "out",
        "error_file_id": None,
        "errors": None,
    }
    return Made(status=status, **own | more)


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (batch("in_progress"), BatchState("b", "in_progress", 5, 3)),
        (batch("IN_PROGRESS", request_counts=None), BatchState("b", "in_progress")),
        (batch("completed"), BatchState("b", "completed", 5, 3, ("out",))),
        (
            batch("COMPLETED", error_file_id="faults"),
            BatchState("b", "completed", 5, 3, ("out", "faults")),
        ),
        (
            batch("failed", output_file_id=None, errors=Made(data=[Made(message="no"), "no"])),
            BatchState("b", "failed", 5, 3, (), "no"),
        ),
    ],
)
def test_requests_that_failed_have_ended_without_a_reply(given: Any, state: BatchState) -> None:
    """Files are there once the batch has ended; the same fault is told once."""
    assert _state(given) == state


def test_a_page_of_a_proxy_is_no_batch() -> None:
    """It has no id, and came with the status of a reply."""
    with pytest.raises(JudgeUnavailableError, match="neither a file nor a batch: '<html>'") as seen:
        _state("<html>")
    assert seen.value.status == 200
