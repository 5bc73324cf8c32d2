"""`rag-evals show`: one row on the terminal, with the evidence, the prompt and the reply."""

import json
from pathlib import Path

from rag_evals.report.screen import cell
from tests.cli.test_builds import ASKED, StartJudge, judged
from tests.conftest import EIFFEL, Command


def write(rows: list[dict[str, object]]) -> None:
    """Write the data."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def test_a_row_is_shown_with_its_evidence(command: Command, scripted: StartJudge) -> None:
    """Answer, each verdict with its reason, the passage and what differs; in Russian too."""
    write([{**EIFFEL, "id": "eiffel"}])
    scripted(judged)
    command("grade", "rows.jsonl", "-q", "-o", "run", *ASKED)
    shown = command("show", "run", "eiffel")

    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == "eiffel"
    assert "faithfulness: scored 0.50" in lines
    place = next(
        n for n, line in enumerate(lines) if line.startswith("-  It was completed in 1923.")
    )
    assert lines[place].endswith("[not supported]  Chunk 0 says so.")
    assert lines[place + 1 : place + 3] == [
        "   nearest chunk 1: It was completed in 1889.",
        "   differs: '1923' is not in any chunk; chunk 1 says '1889'",
    ]
    russian = command("show", "run", "eiffel", "--language", "ru").out
    assert "отличие: '1923' is not" in russian
    told = json.loads(command("show", "run", "eiffel", "--json").out)
    (grading,) = told["gradings"]
    assert [one["passages"][0]["chunk_id"] for one in grading["findings"]] == [0, 1]
    assert told["replies"] == []


def test_prompt_and_reply_are_kept_when_asked(command: Command, scripted: StartJudge) -> None:
    """Of every grading, also those whose reply came from the cache; only their owner reads them."""
    write([{**EIFFEL, "id": "eiffel"}, {**EIFFEL, "id": "other", "answer": "It is in Paris."}])
    asked = scripted(judged)
    judge = ASKED[:2]
    for folder in ("run", "again"):
        command("grade", "rows.jsonl", "-q", "-o", folder, *judge, "--keep-replies", "--restart")
        assert len(asked.requests) == 2
        kept = [json.loads(line) for line in Path(folder, "replies.jsonl").read_text().splitlines()]
        assert sorted(one["sample_id"] for one in kept) == ["eiffel", "other"]
        assert {one["grader"] for one in kept} == {"faithfulness"}
        assert Path(folder, "replies.jsonl").stat().st_mode & 0o777 == 0o600
        shown = command("show", folder, "eiffel", "--prompt", "--reply").out
        assert "[system]" in shown
        assert EIFFEL["context"][1] in shown
        assert '"Chunk 0 says so."' in shown
        assert "It is in Paris." not in shown
    with Path("run", "replies.jsonl").open("a") as file:
        file.write('{"sample_id": "eiffel", "gra')
    assert command("show", "run", "eiffel", "--prompt", "--reply").out == shown


def test_what_was_not_kept_is_said(command: Command, scripted: StartJudge) -> None:
    """The instructions are known of every run; a reply is not, nor is a row that is not there."""
    write([{**EIFFEL, "id": "eiffel"}])
    scripted(judged)
    command("grade", "rows.jsonl", "-q", "-o", "run", *ASKED)

    assert not Path("run", "replies.jsonl").exists()
    assert "What you know does not count" in command("show", "run", "eiffel", "--prompt").out
    missing = command("show", "run", "eiffel", "--reply")
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert "--keep-replies" in missing.err
    assert "no row 'none' in the run" in command("show", "run", "none").err


def test_nothing_in_a_row_moves_the_terminal(command: Command) -> None:
    """Escapes in every field are shown as signs."""
    bad = "It is \x1b[31mred\x1b[0m.\x07"
    write([{"id": bad, "question": bad, "answer": bad, "context": [bad]}])
    command("grade", "rows.jsonl", "-q", "-o", "run", "--judge", "embedded")
    shown = command("show", "run", bad)

    assert shown.code == 0
    assert "\x1b" not in shown.out
    assert "\x07" not in shown.out
    assert str(cell(bad)) in shown.out
