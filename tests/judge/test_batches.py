"""The state of a batch is read as its host tells it, whatever the host leaves out."""

from json import dumps
from types import SimpleNamespace as Made
from typing import Any

import pytest

from rag_evals.errors import JudgeUnavailableError
from rag_evals.judge.batches import BatchResult, BatchState, _message_state, _state


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


@pytest.mark.parametrize(
    ("given", "state"),
    [("in_progress", ("in_progress", ())), ("ended", ("completed", ("b",)))],
)
def test_a_batch_of_anthropic_has_results_once_it_has_ended(
    given: str, state: tuple[str, tuple[str, ...]]
) -> None:
    """Requests that were cancelled or came too late have no result."""
    counts = Made(processing=1, succeeded=3, errored=2, canceled=4, expired=5)
    found = _message_state(Made(id="b", processing_status=given, request_counts=counts))

    assert found == BatchState("b", state[0], 5, 3, state[1])


NONE = "the batch contains no reply to this request"
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


@pytest.mark.parametrize(
    ("line", "result"),
    [
        # OpenAI
        ({"response": {"status_code": 200, "body": {"a": "é"}}}, ('{"a": "é"}', None, "")),
        (
            {"response": {"status_code": 200, "body": {}}, "error": {"message": "x"}},
            ("{}", None, ""),
        ),
        ({"response": {"status_code": 200, "body": None}}, (None, 200, '{"error": null}')),
        ({"response": {"status_code": 400, "body": {"b": 1}}}, (None, 400, '{"b": 1}')),
        ({"response": {"status_code": 500}, "error": "x"}, (None, 500, '{"error": "x"}')),
        ({"response": None, "error": {"message": "it expired"}}, (None, None, "it expired")),
        ({"response": None, "error": "it expired"}, (None, None, "it expired")),
        ({"response": None, "error": {"code": 7}}, (None, None, NONE)),
        ({}, (None, None, NONE)),
        # Anthropic
        ({"result": {"type": "succeeded", "message": {"c": 1}}}, ('{"c": 1}', None, "")),
        ({"result": {"type": "succeeded"}}, (None, None, f"{NONE}: it is succeeded")),
        ({"result": {"type": "expired"}}, (None, None, f"{NONE}: it is expired")),
        ({"result": {"type": "canceled", "message": {}}}, (None, None, f"{NONE}: it is canceled")),
        ({"result": {"type": "errored", "error": OVERLOADED}}, (None, 529, dumps(OVERLOADED))),
        (
            {"result": {"type": "errored", "error": {"error": {"type": "new"}}}},
            (None, 500, '{"error": {"type": "new"}}'),
        ),
        ({"result": {"type": "errored"}}, (None, None, f"{NONE}: it is errored")),
        ({"result": {"type": "expired", "error": OVERLOADED}}, (None, None, f"{NONE}: it is exp")),
    ],
)
def test_a_line_of_results_is_a_reply_an_error_or_neither(line: Any, result: Any) -> None:
    """A reply has no fault, an error the status that a client would see, the rest a reason."""
    found = BatchResult.read(dumps({"custom_id": "k", **line}).encode())
    assert found is not None

    assert (found.key, found.reply, found.status, found.number) == ("k", *result[:2], 1)
    assert found.fault.startswith(result[2])
    assert bool(found.fault) is bool(result[2])


@pytest.mark.parametrize("line", [b"", b"[]", b'{"custom_id": 7}', b'{"id": "k"}', b'"custom_id"'])
def test_what_is_no_line_of_results_is_none(line: bytes) -> None:
    """An empty line, an empty page, a key that no request had."""
    assert BatchResult.read(line) is None


def test_a_page_of_a_proxy_is_no_batch() -> None:
    """It has no id, and came with the status of a reply."""
    with pytest.raises(JudgeUnavailableError, match="neither a file nor a batch: '<html>'") as seen:
        _state("<html>")
    assert seen.value.status == 200
