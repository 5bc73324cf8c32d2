"""Rows of a run, graded again with every run: a judge that drifts is said, and why."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals import check_anchors, compare, keep_anchors, load_run
from rag_evals.errors import ConfigurationError
from rag_evals.testing import JudgeRequest, Reply, Script, ScriptedJudge
from tests.conftest import Command, statement

Start = Callable[[Script], ScriptedJudge]
Ask = Callable[..., str]


def rows_file(rows: int = 60) -> str:
    """Write rows of which each names a tower of its own, in two languages."""
    lines = [
        {
            "id": f"r{n}",
            "answer": f"Tower {n} is in Paris." if n % 2 else f"Башня {n} стоит в Париже.",
            "context": [{"text": f"Tower {n} is in Paris.", "page": n}, "Башни стоят в Париже."],
            "topic": "ab"[n % 2],
        }
        for n in range(rows)
    ]
    Path("d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return "d.jsonl"


def judging(wrong_from: int, model: str | None = None, system: str | None = None) -> Script:
    """Answer that towers below a number are supported."""

    def answer(request: JudgeRequest) -> Reply:
        text = str(request.answer)
        supported = int(text.split()[1]) < wrong_from
        found = {"statements": [statement(text, supported=supported)]}
        return Reply(found, model=model, system_fingerprint=system)

    return answer


@pytest.fixture
def grade(command: Command) -> Ask:
    """Grade the file into a folder with an OpenAI-like judge, and return what was said."""

    def ask(out: str, *options: str, code: int = 0) -> str:
        ended = command(
            "grade", "d.jsonl", "--judge", "openai/m", "--quiet", "--out", out, *options
        )
        assert ended.code == code, ended.err
        return ended.err

    return ask


@pytest.fixture
def anchors(command: Command, scripted: Start, grade: Ask) -> str:
    """Keep 40 anchors of a run of 60 rows, the first 50 supported."""
    rows_file()
    scripted(judging(50, "m-2026-01"))
    grade("first")
    ended = command("anchors", "first", "-n", "40")
    assert ended.out == "anchors: 40 rows kept in first-anchors; give --anchors first-anchors\n"
    return "first-anchors"


def test_anchors_are_a_run_of_random_rows(anchors: str) -> None:
    """They keep rows, verdicts and columns; the same seed takes the same rows, another others."""
    whole, kept = load_run("first"), load_run(anchors)
    again = keep_anchors("first", "again", n=40)
    other = keep_anchors(whole, "other", n=40, seed=1)
    scores = {record["sample_id"]: record["score"] for record in whole.records}

    assert len(kept) == 40
    assert all(record["score"] == scores[record["sample_id"]] for record in kept.records)
    assert all(kept.samples[row] == whole.samples[row] for row in kept.samples)
    assert list(again.samples) == list(kept.samples) != list(other.samples)
    assert kept.manifest["anchors"] == {"run": "first", "rows": 40, "seed": 0}
    assert kept.notes() == []


def test_a_steady_judge_shows_no_drift(anchors: str, scripted: Start, grade: Ask) -> None:
    """Anchors are asked anew, past the cache; the rows that the run knows are not."""
    judge = scripted(judging(50, "m-2026-01"))
    said = grade("second", "--anchors", anchors)

    assert len(judge.requests) == 100
    assert "anchors: faithfulness: of 40 anchors 0 passed then and not now, 0 pass only" in said
    assert "no drift is shown" in said
    assert "another model" not in said
    assert len(load_run("second")) == 60
    assert len(load_run("second/anchors")) == 40
    grade("second", "--anchors", anchors)
    assert len(judge.requests) == 100


def test_a_moved_name_is_said_first(anchors: str, scripted: Start, grade: Ask) -> None:
    """The first line names the model of then and of now, the second McNemar's test."""
    scripted(judging(20, "m-2026-09"))
    said = grade("second", "--anchors", anchors, "--no-cache").splitlines()
    first, second = (line for line in said[:3] if "address" not in line)

    assert first == (
        "anchors: another model answers behind the name of the judge 'openai/m': 'm-2026-01' then, "
        "'m-2026-09' now"
    )
    assert "the judge drifted" in second
    assert "McNemar" in second
    # `compare` says it too, before anything else.
    assert compare("first", "second").warnings[0] == first.removeprefix("anchors: ")


def test_a_russian_reader_is_told_of_the_drift(
    anchors: str, scripted: Start, grade: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another model and a drifted judge, in the words of who reads; the prompts stay English."""
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "ru")
    scripted(judging(20, "m-2026-09"))
    said = grade("second", "--anchors", anchors, "--no-cache")

    assert "якоря: верность контексту: якорей 40, тогда прошли, а теперь нет" in said
    assert "судья изменился" in said
    assert "anchors:" not in said


def test_another_system_is_no_other_model(scripted: Start, grade: Ask) -> None:
    """Where the model keeps its name, a new fingerprint of the provider's system is said."""
    rows_file(30)
    scripted(judging(25, "m-2026-01", "fp_1"))
    grade("first")
    kept = keep_anchors("first", n=20)
    scripted(judging(25, "m-2026-01", "fp_2"))
    found = check_anchors(kept, client="openai/m")

    assert found.moved == (
        "the judge 'openai/m' answers from another system: fingerprint fp_1 then, fp_2 now"
    )
    assert found.drifted == []


def test_programs_read_what_anchors_say(anchors: str, command: Command, scripted: Start) -> None:
    """`--json` has the models, the rows that pass no more and the p-value."""
    scripted(judging(20, "m-2026-09"))
    asked = ("--judge", "openai/m", "--quiet", "--no-cache", "--json", "--anchors", anchors)
    told = json.loads(command("grade", "d.jsonl", *asked).out)["anchors"]
    found = told["graders"]["faithfulness"]

    assert told["rows"] == 40
    assert "'m-2026-09' now" in told["moved"]
    assert found["drifted"]
    assert found["passed_only_then"] > 10
    assert found["pass_only_now"] == 0
    assert found["p_value"] < 0.001


def test_drift_in_python(anchors: str, scripted: Start) -> None:
    """`check_anchors` grades and compares; a prompt or a judge that is another is no drift."""
    scripted(judging(20, "m-2026-01"))
    found = check_anchors(anchors, client="openai/m", out="checked")

    assert found.drifted == ["faithfulness"]
    assert found.moved is None
    assert len(load_run("checked")) == 40
    with pytest.raises(ConfigurationError, match="judge was 'openai/m' and is now 'embedded'"):
        check_anchors(anchors, client="embedded")
    with pytest.raises(ConfigurationError, match="temperature"):
        check_anchors(anchors, client="openai/m", options={"settings": {"temperature": 0.5}})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("anchors", "first", "-n", "0"), "n is 0; expected at least 1"),
        (("anchors", "first", "-n", "5"), "5 anchors show no drift"),
        (("anchors", "first", "-n", "61"), "61 anchors are more than the 60 rows of 'first'"),
        (("anchors", "nothing"), "'nothing' holds no run"),
        (("anchors", "first", "-n", "20"), "'first-anchors' is not empty"),
        (("anchors", "first", "--out", "d.jsonl"), "'d.jsonl'"),
        (("grade", "d.jsonl", "--anchors", "nothing"), "'nothing' holds no run"),
        (("grade", "d.jsonl", "--anchors", "first"), "'first' holds a run, not anchors"),
        (("grade", "d.jsonl", "--anchors", "first-anchors"), "were graded in another way"),
        (
            ("grade", "d.jsonl", "--anchors", "first-anchors", "--grader", "faithfulness_two_step"),
            "were graded in another way",
        ),
        (
            ("grade", "d.jsonl", "--anchors", "first-anchors", "--dry-run"),
            "cannot be used with --anchors",
        ),
    ],
)
def test_what_cannot_work_is_one_line(
    anchors: str, command: Command, words: tuple[str, ...], said: str
) -> None:
    """Each ends with exit code 2 before anything is asked."""
    ended = command(*words)

    assert ended.code == 2, ended.err
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("name", ["samples.jsonl", "results.jsonl"])
def test_anchors_that_lost_a_file_are_refused(anchors: str, command: Command, name: str) -> None:
    """Nothing is asked for rows, or against verdicts, that are not there."""
    Path(anchors, name).write_text("")
    ended = command("grade", "d.jsonl", "--judge", "openai/m", "--anchors", anchors)

    assert ended.code == 2
    assert "'first-anchors' has lost its rows or their verdicts" in ended.err


def test_anchors_that_fail_end_the_command(anchors: str, command: Command, scripted: Start) -> None:
    """A judge that writes no JSON is no drift: exit code 3, and the rows are not graded."""
    judge = scripted("no JSON")
    asked = ("--judge", "openai/m", "--quiet", "--no-cache", "--reasks", "0")
    ended = command("grade", "d.jsonl", *asked, "--anchors", anchors, "--out", "second")

    assert ended.code == 3
    assert "gradings failed" in ended.err
    assert len(judge.requests) <= 60
