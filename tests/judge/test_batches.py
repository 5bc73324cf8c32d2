"""Batches are made once and read as their host tells them, whatever the host leaves out."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from json import dumps
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest

from rag_evals.core import JudgeCall, JudgeReply, Meter, Usage, fingerprint
from rag_evals.errors import (
    ConfigurationError,
    JudgeOutputError,
    JudgeRejectedError,
    JudgeRequestError,
    JudgeUnavailableError,
    PendingError,
    RagEvalsError,
)
from rag_evals.judge.batches import (
    BatchApi,
    BatchHost,
    BatchReplay,
    BatchResult,
    BatchState,
    _message_state,
    _state,
)
from rag_evals.judge.wire.ask import AskOptions
from rag_evals.response_models import FaithfulnessResult
from tests.scripted import BatchEnd, ScriptedJudge


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
        (
            batch("in_progress", errors=Made(data=[*"abcab"])),
            BatchState("b", "in_progress", 5, 3, (), "a; b; c"),
        ),
        (
            batch("in_progress", errors=Made(data=[*"abcdea"])),
            BatchState("b", "in_progress", 5, 3, (), "a; b; c (and 2 more)"),
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


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("timeout_error", 504),
        ("overloaded_error", 529),
        ("another_error", 500),
    ],
)
def test_an_error_of_anthropic_has_the_status_of_its_documentation(kind: str, status: int) -> None:
    """It decides whether the request is sent again."""
    result = {"type": "errored", "error": {"error": {"type": kind, "message": "no"}}}
    found = BatchResult.read(dumps({"custom_id": "k", "result": result}).encode())

    assert found == BatchResult("k", None, status, dumps(result["error"]))


@pytest.mark.parametrize("line", [b"", b"[]", b'{"custom_id": 7}', b'{"id": "k"}', b'"custom_id"'])
def test_what_is_no_line_of_results_is_none(line: bytes) -> None:
    """An empty line, an empty page, a key that no request had."""
    assert BatchResult.read(line) is None


def test_a_page_of_a_proxy_is_no_batch() -> None:
    """It has no id, and came with the status of a reply."""
    with pytest.raises(JudgeUnavailableError, match="neither a file nor a batch: '<html>'") as seen:
        _state("<html>")
    assert seen.value.status == 200


MB = 10**6


@pytest.mark.parametrize(
    ("spec", "host"),
    [
        ("openai/m", (0.5, 50_000, 200 * MB, "/v1/chat/completions", False)),
        ("openai/m@https://h/v1", (0.5, 50_000, 200 * MB, "/v1/chat/completions", False)),
        ("azure/m", (0.5, 50_000, 200 * MB, "/chat/completions", False)),
        ("groq/m", (0.5, 50_000, 100 * MB, "/v1/chat/completions", False)),
        ("anthropic/m", (0.5, 100_000, 256 * MB, "", False)),
        ("vllm/m", (1.0, 50_000, 200 * MB, "/v1/chat/completions", True)),
    ],
)
def test_hosts_have_limits_and_a_price_of_their_own(spec: str, host: tuple[Any, ...]) -> None:
    """Half the list price, except on a machine of the user's own."""
    assert BatchHost.of(spec) == host
    assert BatchHost.share_of(spec) == host[0]
    assert BatchHost.share_of("xai/m") == 1.0


def test_a_line_of_a_file_is_a_whole_request_without_spaces() -> None:
    """To a path, where the file is for several; letters are not written as numbers."""
    chat, alone = BatchHost.of("azure/m"), BatchHost.of("anthropic/m")

    assert chat.line("k", {"a": "é"}).decode() == (
        '{"custom_id":"k","method":"POST","url":"/chat/completions","body":{"a":"é"}}\n'
    )
    assert alone.line("k", {"a": "é"}).decode() == '{"custom_id":"k","params":{"a":"é"}}\n'


class Pieces:
    """What an SDK returns for a file: its bytes as they arrive."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    def __enter__(self) -> "Pieces":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def iter_bytes(self) -> Iterator[bytes]:
        """Return them one by one."""
        return iter(self._pieces)


def test_lines_are_put_together_from_pieces(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they are cut."""
    batches, _ = api
    monkeypatch.setattr(batches, "_results", lambda *_: Pieces(b"a", b"b\nc\nd", b"", b"e\n", b"f"))

    assert list(batches.lines("b", "f")) == [b"ab", b"c", b"de", b"f"]


def test_no_more_than_the_newest_thousand_are_looked_at(api: Any) -> None:
    """An account may hold many more."""
    batches, _ = api
    asked: list[dict[str, Any]] = []

    def listed(**given: Any) -> Iterator[int]:
        asked.append(given)
        return iter(range(2000))

    assert [*batches._newest(Made(list=listed), limit=100)] == list(range(1000))
    assert asked == [{"limit": 100}]


@pytest.mark.parametrize("spec", ["xai/m", "decisions:openai/m"])
def test_a_judge_without_batches_is_refused(spec: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigurationError, match="does not support batches"):
        BatchHost.of(spec)


def _file(name: str, *keys: str) -> Path:
    body = {"model": "m", "messages": [{"role": "user", "content": "Judge."}]}
    path = Path(name)
    path.write_bytes(b"".join(BatchHost.of("openai/m").line(key, body) for key in keys))
    return path


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Open the batches of a scripted judge of OpenAI's kind."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with ScriptedJudge({"statements": []}, batches=[BatchEnd(polls=1)]) as judge:
        monkeypatch.setenv("OPENAI_BASE_URL", judge.base_url)
        opened = BatchApi.open("openai/m")
        yield opened, judge.desk
        opened.close()


def test_a_file_and_its_batch_are_found_again_and_no_other(api: Any) -> None:
    """Whatever else the account holds: a file by its name, a batch by its file."""
    batches, desk = api
    one, other = _file("one.jsonl", "a", "b"), _file("other.jsonl", "c")
    first = batches.upload(one, "one", again=False)
    assert batches.create(one, first, "one", again=False).name == "batch_0"
    second = batches.upload(other, "other", again=True)
    assert second != first
    made = batches.create(other, second, "other", again=True)
    assert made.name == "batch_1"

    for path, name, file, batch in (
        (one, "one", first, "batch_0"),
        (other, "other", second, "batch_1"),
    ):
        assert batches.upload(path, name, again=True) == file
        assert batches.create(path, file, name, again=True).name == batch
    assert len(desk.batches) == 2
    told = [
        {name: batch[name] for name in ("input_file_id", "endpoint", "metadata")}
        for batch in desk.batches.values()
    ]
    url = "/v1/chat/completions"
    assert told == [
        {"input_file_id": first, "endpoint": url, "metadata": {"rag_evals": "one"}},
        {"input_file_id": second, "endpoint": url, "metadata": {"rag_evals": "other"}},
    ]
    assert batches.upload(one, "one", again=False) != first


def test_the_lines_of_results_are_those_of_the_file(api: Any) -> None:
    """Each once and whole, also where the last one has no end; then there are no more."""
    batches, desk = api
    path = _file("one.jsonl", "a", "b", "c")
    file = batches.upload(path, "one", again=False)
    batch = batches.create(path, file, "one", again=False)
    assert batches.state("batch_0").results == ()
    ended = batches.state("batch_0")
    assert (ended.status, ended.ended, ended.replied) == ("completed", 3, 3)
    assert batch.results == ended.results
    (results,) = ended.results
    name, content = desk.files[results]
    for kept, lines in ((content, 3), (content.rstrip(b"\n"), 3), (b"", 0)):
        desk.files[results] = (name, kept)
        assert list(batches.lines("batch_0", results)) == content.splitlines()[:lines]


class Arrived:
    """The results that batches have brought so far, for keys of requests."""

    def __init__(self, *, paid: bool = True) -> None:
        self.found: BatchResult | None = None
        self.keys: list[str] = []
        self.asked_of: list[str] = []
        self._paid = paid

    def attempt(self, key: str) -> BatchResult | None:
        """Note the key."""
        self.keys.append(key)
        return self.found

    def is_paid_here(self, key: str) -> bool:
        """Note the key."""
        self.asked_of.append(key)
        return self._paid

    def note(self, missing: PendingError) -> None:
        """Take what is missing."""


CALL = JudgeCall(
    ({"role": "user", "content": "Judge."},), FaithfulnessResult, {"chunk_count": 0}, model="m"
)


def replayed(
    arrived: Arrived, call: JudgeCall[Any] = CALL, spec: str = "openai/m", reasks: int = 0
) -> Any:
    """Return a call's reply or its error, and how it was charged."""
    meter, replay = Meter(), BatchReplay(spec, arrived)

    async def ask() -> JudgeReply:
        async with replay.own_judge(None, AskOptions(reasks=reasks)) as host:
            return await replay.ask(host, call, meter)

    try:
        return asyncio.run(ask()), meter
    except RagEvalsError as error:
        return error, meter


def test_a_request_is_known_by_all_that_can_change_its_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its body, its host and its number among equal ones; a row's facts are no part of it."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    arrived = Arrived()
    others = [
        (CALL, "openai/m"),
        (replace(CALL, facts={"chunk_count": 2}), "openai/m"),
        (replace(CALL, sample_index=1), "openai/m"),
        (replace(CALL, settings={"seed": 1}), "openai/m"),
        (replace(CALL, model="n"), "openai/m"),
        (replace(CALL, messages=(*CALL.messages, *CALL.messages)), "openai/m"),
        (CALL, "openai/m@http://h/v1"),
        (CALL, "openai/m@http://i/v1"),
    ]
    for call, spec in others:
        error, meter = replayed(arrived, call, spec)
        assert isinstance(error, PendingError)
        assert (error.endpoint, error.key) == (spec, arrived.keys[-1])
        assert error.body is not None
        assert error.body["model"] == call.model
        assert meter.total == Usage()

        if call is CALL and spec == "openai/m":
            # A run that was begun by an earlier version is gone on with.
            host = "openai https://api.openai.com/v1"
            assert error.key == fingerprint(1, host, error.body, 0)

    assert arrived.keys[0] == arrived.keys[1]
    assert len(set(arrived.keys)) == len(others) - 1
    assert arrived.asked_of == arrived.keys


GOOD = dumps(
    {
        "model": "m-1",
        "choices": [{"message": {"content": '{"statements": []}'}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
)
SANK = dumps({"choices": [{"error": {"message": "sank"}}]})
BUSY = dumps({"error": {"message": "busy"}})


@pytest.mark.parametrize(
    ("result", "ends"),
    [
        (BatchResult("k", GOOD, None, ""), None),
        (BatchResult("k", GOOD, None, "", 5), None),
        (BatchResult("k", BUSY, None, ""), PendingError),
        (BatchResult("k", BUSY, None, "", 4), PendingError),
        (BatchResult("k", BUSY, None, "", 5), JudgeUnavailableError),
        (BatchResult("k", SANK, None, ""), JudgeOutputError),
        (BatchResult("k", None, 500, BUSY, 4), PendingError),
        (BatchResult("k", None, 500, BUSY, 5), JudgeUnavailableError),
        (BatchResult("k", None, 429, BUSY), PendingError),
        (BatchResult("k", None, 400, BUSY), JudgeRequestError),
        (BatchResult("k", None, 401, BUSY), JudgeRejectedError),
        (BatchResult("k", None, None, "it expired", 4), PendingError),
        (BatchResult("k", None, None, "it expired", 5), JudgeUnavailableError),
    ],
)
def test_what_a_client_would_send_again_is_waited_for_as_often(
    result: BatchResult, ends: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five times in all; then the last fault is the row's, as it would be without batches."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    arrived = Arrived()
    arrived.found = result
    found, meter = replayed(arrived)

    if ends is None:
        assert found.usage == Usage(calls=1, prompt_tokens=7, completion_tokens=3)
        assert meter.by_judge == {(None, "m"): found.usage}
        assert list(meter.answered_by) == ["m-1"]
    else:
        assert type(found) is ends
        assert ("no reply after 5 batches: it expired" in str(found)) is (
            result.fault == "it expired" and result.number == 5
        )


def test_a_reply_that_another_grading_pays_is_a_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the judge that gave it, and with its name."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    arrived = Arrived(paid=False)
    arrived.found = BatchResult("k", GOOD, None, "")
    _, meter = replayed(arrived, replace(CALL, endpoint="openai/m"))

    assert meter.by_judge == {("openai/m", "m"): Usage(cache_hits=1)}
    assert list(meter.answered_by) == ["m-1"]


def test_a_call_is_paid_where_its_first_request_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it had to be asked again; what asked nothing costs nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    arrived = Arrived()
    wrong = {"message": {"content": "{"}, "finish_reason": "stop"}
    arrived.found = BatchResult("k", dumps({"model": "m-1", "choices": [wrong]}), None, "")
    error, meter = replayed(arrived, reasks=1)

    assert isinstance(error, JudgeOutputError)
    assert len(set(arrived.keys)) == 2
    assert arrived.asked_of == arrived.keys[:1]
    assert (meter.total.calls, meter.total.reasks) == (2, 1)

    class Silent:
        async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
            raise JudgeRequestError("nothing was sent")

    idle, silent = Meter(), Arrived(paid=False)
    with pytest.raises(JudgeRequestError):
        asyncio.run(BatchReplay("openai/m", silent).ask(Silent(), CALL, idle))
    assert (idle.total, silent.asked_of) == (Usage(), [])
