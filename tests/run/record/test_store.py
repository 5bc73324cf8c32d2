"""A run folder survives any end, goes on where it stopped, and takes no other run."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, TwoStepFaithfulness, evaluate
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run import load_run
from rag_evals.run.record.store import RunStore, read_manifest
from rag_evals.testing import JudgeRequest, Script, ScriptedJudge
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
OUT = Path("out")


@pytest.fixture
def data() -> str:
    """Write ten rows to a file."""
    lines = [
        json.dumps({"id": f"row-{n}", "answer": f"Answer {n}.", "context": ["c"]})
        for n in range(10)
    ]
    Path("d.jsonl").write_text("\n".join(lines) + "\n")
    return "d.jsonl"


def test_a_finished_run_asks_nothing_again(scripted: Start, data: str) -> None:
    """The same command reads what is there; results come back whole."""
    judge = scripted(GOOD)
    first = evaluate(data, client="openai/m", out=OUT)
    second = evaluate(data, client="openai/m", out=OUT)

    assert len(judge.requests) == 10
    assert second.outcomes == first.outcomes
    assert str(second.summary()) == str(first.summary())


def test_failed_rows_are_tried_again_and_scored_ones_are_not(scripted: Start, data: str) -> None:
    """Only what failed is paid for a second time; the last line of a row wins."""
    fail = True

    def script(request: JudgeRequest) -> Any:
        return "{" if fail and "7" in str(request.answer) else GOOD

    judge = scripted(script)
    assert evaluate(data, client="openai/m", out=OUT).summary().failed == 1
    before, fail = len(judge.requests), False
    run = evaluate(data, client="openai/m", out=OUT)

    assert len(judge.requests) == before + 1
    assert run.summary().failed == 0
    assert [o.index for o in run.outcomes] == list(range(10))


def test_a_torn_last_line_is_graded_again(scripted: Start, data: str) -> None:
    """Half a line is cut off; nothing before it is lost."""
    judge = scripted(GOOD)
    evaluate(data, client="openai/m", out=OUT)
    results = OUT / "results.jsonl"
    whole = results.read_bytes()
    results.write_bytes(whole[:-20])
    run = evaluate(data, client="openai/m", out=OUT)

    assert len(judge.requests) == 11
    assert len(run.outcomes) == 10
    assert len(results.read_bytes().splitlines()) == 10


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"client": "openai/other"}, "judge was 'openai/m' and is now 'openai/other'"),
        ({"graders": ["chunk_precision"]}, "graders were faithfulness and are now chunk_precision"),
        ({"limit": 5}, "limit was None and is now 5"),
    ],
)
def test_another_run_is_refused_with_the_setting(
    scripted: Start, data: str, change: dict[str, Any], setting: str
) -> None:
    """A folder goes on with the same run only, and says what differs."""
    scripted(GOOD)
    path = Path(data)
    path.write_text(path.read_text().replace('"answer"', '"question": "q", "answer"'))
    evaluate(data, client="openai/m", out=OUT)

    options: dict[str, Any] = {"client": "openai/m", "out": OUT} | change
    with pytest.raises(ConfigurationError, match="has a different run: .*") as caught:
        evaluate(data, **options)
    assert setting in str(caught.value)


def test_only_the_grader_that_changed_is_named(data: str) -> None:
    """Of two graders in the folder, the one with another verifier."""
    evaluate(data, [Faithfulness, TwoStepFaithfulness], "embedded", out=OUT)
    changed = TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier(threshold=0.1))
    with pytest.raises(ConfigurationError, match="a setting of faithfulness_two_step changed"):
        evaluate(data, [Faithfulness, changed], "embedded", out=OUT)


def test_what_a_run_waits_for_is_known_until_it_is_finished(data: str) -> None:
    """A command that goes on with it and stops early leaves the number as it was."""
    evaluate(data, client="embedded", out=OUT)
    manifest = read_manifest(OUT)
    with RunStore(OUT, manifest) as store:
        store.wait(6)
    with RunStore(OUT, manifest):
        pass

    assert read_manifest(OUT)["pending"] == 6
    with RunStore(OUT, manifest) as store:
        store.finish()
    assert "pending" not in read_manifest(OUT)


def test_another_file_is_another_run(data: str) -> None:
    """Neither its rows nor its name are what they were; the same rows may have another name."""
    evaluate(data, out=OUT)
    other = Path("other.jsonl")
    other.write_text(Path(data).read_text())
    assert evaluate(other, out=OUT).graded == 0

    Path("third.jsonl").write_text(other.read_text().replace("Answer 3", "Answer three"))
    with pytest.raises(ConfigurationError, match="file was 'other.jsonl' and is now 'third.jsonl'"):
        evaluate("third.jsonl", out=OUT)


def test_a_folder_is_held_by_one_run_at_a_time(data: str) -> None:
    """The second is refused; when the first is done, it may go on."""
    evaluate(data, out=OUT)
    with (
        RunStore(OUT, read_manifest(OUT)),
        pytest.raises(ConfigurationError, match="is in use by another run"),
    ):
        evaluate(data, out=OUT)

    assert len(evaluate(data, out=OUT).outcomes) == 10


def test_files_are_private_and_tell_what_they_are(data: str) -> None:
    """Mode 0600; the manifest has versions, hashes and columns, and no key."""
    evaluate(data, out=OUT)
    manifest = read_manifest(OUT)

    for name in ("manifest.json", "results.jsonl"):
        assert stat.S_IMODE((OUT / name).stat().st_mode) == 0o600
    assert manifest["rows"] == 10
    assert manifest["identity"]["judge"] == "embedded"
    assert manifest["columns"] == {"answer": "answer", "context": "context", "id": "id"}
    assert {outcome.sample_id for outcome in load_run(OUT)} == {f"row-{n}" for n in range(10)}


def results_without_manifest() -> None:
    """Leave a folder of results that nobody explains."""
    OUT.mkdir()
    (OUT / "results.jsonl").write_text("{}\n")


def a_file_in_the_way() -> None:
    """Put a file where the folder should be."""
    OUT.write_text("")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [(results_without_manifest, "but no manifest.json"), (a_file_in_the_way, "cannot be used")],
)
def test_a_folder_that_holds_no_run_is_refused(
    data: str, spoil: Callable[[], None], message: str
) -> None:
    """What is there is not overwritten."""
    spoil()

    with pytest.raises(ConfigurationError, match=message):
        evaluate(data, out=OUT)


def test_a_broken_manifest_or_line_is_named(data: str) -> None:
    """A damaged file is an error with its place."""
    evaluate(data, out=OUT)
    lines = (OUT / "results.jsonl").read_bytes().splitlines(keepends=True)
    (OUT / "results.jsonl").write_bytes(b"".join([lines[0], b"{oops\n", *lines[2:]]))
    with pytest.raises(DataError, match=r"results.jsonl', line 2"):
        evaluate(data, out=OUT)

    (OUT / "manifest.json").write_text("[]")
    with pytest.raises(DataError, match="is not the manifest of a run"):
        evaluate(data, out=OUT)
