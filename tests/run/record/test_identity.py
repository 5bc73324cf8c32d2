"""A run is what it graded: a stored outcome stands for the row, the grader and the judge it had."""

import json
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals import Sample, TwoStepFaithfulness, evaluate, merge
from rag_evals.analysis import agreement, compare
from rag_evals.cli.main import app
from rag_evals.errors import ConfigurationError, DataError, RagEvalsError
from rag_evals.run import load_run
from rag_evals.run.record.store import read_manifest
from rag_evals.testing import JudgeRequest, Reply, Script, ScriptedJudge
from rag_evals.verify import LLMVerifier
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
Row = dict[str, Any]
OUT = Path("out")
GOOD = {"statements": [statement()]}


def row(number: int, **changes: Any) -> Row:
    """Make a row with every field that a prompt can show."""
    return {
        "id": f"row-{number}",
        "question": "Where?",
        "answer": f"Tower {number} stands in Paris.",
        "context": [{"text": f"Tower {number} stands in Paris.", "source": "guide"}],
        "reference": "In Paris.",
        "language": "en",
        **changes,
    }


def by_file(rows: Iterable[Row]) -> dict[str, Any]:
    """Grade a file, always the same."""
    Path("d.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    return numbers(evaluate("d.jsonl", out=OUT, progress=False).summary())


def by_iterable(rows: Iterable[Row]) -> dict[str, Any]:
    """Grade rows from anywhere."""
    return numbers(evaluate(iter(list(rows)), out=OUT, progress=False).summary())


def by_command(rows: Iterable[Row]) -> dict[str, Any]:
    """Grade a file from the command line."""
    Path("d.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    ended = CliRunner().invoke(app, ["grade", "d.jsonl", "--out", str(OUT), "--json", "-q"])
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.stdout)
    graded = told["graders"]["faithfulness"]
    return {
        "mean": graded["mean"], "scored": graded["scored"],
        "changed": told["changed"], "left_out": told["left_out"],
    }  # fmt: skip


def numbers(summary: Any) -> dict[str, Any]:
    """Take what the three ways have in common."""
    graded = summary.graders["faithfulness"]
    return {
        "mean": graded.mean(), "scored": graded.scored,
        "changed": summary.changed, "left_out": summary.left_out,
    }  # fmt: skip


WAYS = [by_file, by_iterable, by_command]
WRONG = "Tower 1 stands in Rome."


@pytest.mark.parametrize("grade", WAYS)
def test_an_answer_that_changed_is_graded_again(grade: Callable[..., Any]) -> None:
    """Yesterday's score of the same id is not today's; the folder says the same as the run."""
    assert grade([row(n) for n in range(4)])["mean"] == 1.0
    told = grade([row(0), row(1, answer=WRONG), row(2), row(3)])

    assert told == {"mean": 0.75, "scored": 4, "changed": 1, "left_out": 0}
    stored = load_run(OUT)
    assert [o.score for o in stored.outcomes] == [1.0, 0.0, 1.0, 1.0]
    assert stored.samples["row-1"].answer == WRONG
    assert grade([row(0), row(1, answer=WRONG), row(2), row(3)])["changed"] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Since when?"},
        {"answer": WRONG},
        {"context": ["Tower 0 stands in Paris."]},
        {"context": [{"text": "Tower 0 stands in Paris.", "source": "blog"}]},
        {"context": [{"text": "Tower 0 stands in Paris.", "source": "guide"}, "More."]},
        {"reference": "Rome."},
        {"language": "ru"},
        {"language": None},
    ],
)
@pytest.mark.parametrize("grade", [by_file, by_iterable])
def test_all_that_a_prompt_may_show_is_content(grade: Callable[..., Any], change: Row) -> None:
    """Question, answer, texts, metadata, reference and language."""
    grade([row(0), row(1)])

    assert grade([row(0, **change), row(1)])["changed"] == 1


@pytest.mark.parametrize("grade", WAYS)
def test_a_row_that_the_data_has_no_more_is_not_counted(grade: Callable[..., Any]) -> None:
    """Run and folder leave it out, and say so; when it comes back it is not graded again."""
    grade([row(0), row(1, answer=WRONG), row(2)])
    told = grade([row(0), row(2), row(3)])

    assert told == {"mean": 1.0, "scored": 3, "changed": 0, "left_out": 1}
    stored = load_run(OUT)
    assert set(stored.samples) == {"row-0", "row-2", "row-3"}
    assert numbers(stored.summary()) == told
    assert "1 row is not counted" in str(stored.summary())
    before = len(Path("out/results.jsonl").read_bytes().splitlines())
    assert grade([row(0), row(1, answer=WRONG), row(2), row(3)])["mean"] == 0.75
    assert len(Path("out/results.jsonl").read_bytes().splitlines()) == before
    assert load_run(OUT).summary().left_out == 0


def test_data_without_rows_leaves_every_row_out() -> None:
    """All that was graded is gone: the run and its folder count it."""
    evaluate([row(n) for n in range(3)], out=OUT)
    run = evaluate([], out=OUT)

    assert (run.summary().left_out, run.graded, run.outcomes) == (3, 0, [])
    assert load_run(OUT).summary().left_out == 3


def test_a_row_that_changed_back_needs_no_call(scripted: Start) -> None:
    """What was graded once is known, also when something else was graded since."""
    judge = scripted(GOOD)
    for text in ("One.", "Two.", "One."):
        evaluate([Sample(id="a", answer=text, context=["c"])], client="openai/m", out=OUT)

    assert len(judge.requests) == 2
    (stored,) = load_run(OUT).samples.values()
    assert stored.answer == "One."
    assert len(load_run(OUT).outcomes) == 1


def test_a_row_that_could_not_be_read_is_forgotten_when_it_can(scripted: Start) -> None:
    """Its failure stands for no row of the data any more; the folder counts what the run counts."""
    scripted(GOOD)
    for answer in (7, "Right.", 7):
        rows = [row(0), {"id": "b", "answer": answer, "context": ["c"]}]
        run = evaluate(rows, client="openai/m", out=OUT)
        # What is said of changed rows is said by the run that graded them again.
        stored = str(load_run(OUT).summary()).splitlines()
        assert [line for line in str(run.summary()).splitlines() if "changed" not in line] == stored
    assert run.summary().failed == 1


def test_a_run_that_was_killed_shows_no_old_score_for_a_new_answer() -> None:
    """The sample is written first: until it is graded, the row has no outcome."""
    by_iterable([row(0), row(1)])
    lines = Path("out/results.jsonl").read_bytes().splitlines(keepends=True)
    by_iterable([row(0, answer=WRONG), row(1)])
    Path("out/results.jsonl").write_bytes(b"".join(lines))

    stored = load_run(OUT)
    assert [o.sample_id for o in stored.outcomes] == ["row-1"]
    assert stored.left_out == 1


def test_labels_are_those_of_the_data_as_it_is_now() -> None:
    """A label that changed beside the same answer is read without grading anything again."""
    labelled = [row(0, label=1), row(1, label=1, answer=WRONG), row(2, label=1)]
    by_iterable(labelled)
    before = agreement(OUT).tables[0].agreement
    labelled[1]["label"] = 0
    told = by_iterable(labelled)
    after = agreement(OUT).tables[0].agreement

    assert told["changed"] == 0
    assert before.raw_agreement.estimate == pytest.approx(2 / 3)
    assert after.raw_agreement.estimate == 1.0


def test_another_address_is_another_judge(scripted: Start) -> None:
    """The same model name elsewhere is not gone on with."""
    address = scripted(GOOD).base_url
    evaluate([row(0)], client="openai/m", out=OUT)
    scripted(GOOD)

    with pytest.raises(ConfigurationError, match=f"address was '{address}' and is now 'http"):
        evaluate([row(0)], client="openai/m", out=OUT)


@pytest.mark.parametrize(
    ("written", "message"),
    [(1, "its format is 1, this version writes 2"), (9, "has format 9, written by a newer")],
)
def test_another_format_is_not_gone_on_with(written: int, message: str) -> None:
    """An older folder can be read, a newer one cannot; neither is written to."""
    by_iterable([row(0)])
    manifest = read_manifest(OUT) | {"format": written}
    (OUT / "manifest.json").write_text(json.dumps(manifest))

    with pytest.raises(RagEvalsError, match=message):
        by_iterable([row(0)])
    assert json.loads((OUT / "manifest.json").read_text()) == manifest
    if written == 1:
        assert len(load_run(OUT).outcomes) == 1


@pytest.mark.parametrize(
    ("judge", "key", "message"),
    [
        ("openai/m", None, "no API key"),
        ("opnai/m", "k", "no provider 'opnai'; did you mean 'openai'"),
        ("gpt-4o-mini", "k", "is neither 'embedded' nor PROVIDER/MODEL"),
        ("embeded", "k", "is neither 'embedded' nor PROVIDER/MODEL"),
        ("embedded@nonsense", "k", "nonsense"),
        ("embedded>opnai/m", "k", "no provider 'opnai'"),
        ("embedded>openai/m", None, "no API key"),
        ("anthropic/claude", "k", "pip install anthropic"),
        ("hf:nobody/nothing", "k", "pip install"),
    ],
)
def test_a_judge_that_cannot_work_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, judge: str, key: str | None, message: str
) -> None:
    """What is wrong with the judge is found before a folder is made that refuses the right one."""
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    Path("d.jsonl").write_text(json.dumps(row(0)) + "\n")
    for command in (["grade", "d.jsonl", "--out", "out"], ["grade", "d.jsonl"]):
        ended = CliRunner().invoke(app, [*command, "--judge", judge])
        assert isinstance(ended.exception, RagEvalsError)
        assert message in str(ended.exception)
    ended = CliRunner().invoke(app, ["grade", "d.jsonl", "--out", "out", "--verifier", judge,
                                     "--grader", "faithfulness_two_step"])  # fmt: skip
    assert ended.exit_code != 0

    assert [path.name for path in Path.cwd().iterdir()] == ["d.jsonl"]


class Changing:
    """A judge that changes the data file while the third row is graded."""

    def __init__(self, change: Callable[[Path], None]) -> None:
        self.change: Callable[[Path], None] | None = change
        self.asked = 0

    def __call__(self, _: JudgeRequest) -> Row:
        self.asked += 1
        if self.asked == 3 and self.change is not None:
            self.change(Path("d.jsonl"))
        return GOOD


def truncate(path: Path) -> None:
    """Lose the rows behind the first 300."""
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:300]))


def tear(path: Path) -> None:
    """Lose the end of the last row."""
    path.write_bytes(path.read_bytes()[:-20])


def append(path: Path) -> None:
    """Write on."""
    with path.open("a") as file:
        file.writelines(json.dumps(row(n)) + "\n" for n in range(600, 607))


def rewrite(path: Path) -> None:
    """Change answers in place, with as many bytes."""
    path.write_text(path.read_text().replace("in Paris.", "in Milan."))


@pytest.mark.parametrize("change", [truncate, append, rewrite])
@pytest.mark.slow
def test_data_that_changes_while_it_is_read_is_not_a_finished_run(
    scripted: Start, change: Callable[[Path], None]
) -> None:
    """The exit code is 2, and the folder does not pass for complete."""
    scripted(Changing(change))
    Path("d.jsonl").write_text("".join(json.dumps(row(n)) + "\n" for n in range(600)))

    with pytest.raises(DataError, match="changed while it was being read; run the command again"):
        evaluate("d.jsonl", client="openai/m", out=OUT, concurrency=1)
    assert read_manifest(OUT)["finished"] is None
    assert "not finished" in str(load_run(OUT).summary())


@pytest.mark.parametrize(
    "command",
    [
        ["report", "out", "--format", "md"],
        ["compare", "out", "out"],
        ["judge", "agreement", "out"],
        ["judge", "label", "out"],
    ],
)
def test_every_command_says_what_its_numbers_leave_out(command: list[str]) -> None:
    """Rows of earlier data, and a run that did not end, are told on standard error."""
    by_iterable([row(n, label=1) for n in range(4)])
    by_iterable([row(n, label=1) for n in range(3)])
    manifest = read_manifest(OUT)
    Path("out/manifest.json").write_text(json.dumps(manifest | {"finished": None}))
    ended = CliRunner().invoke(app, command)

    assert ended.exit_code == 0, ended.output
    assert "out: 1 row is not counted" in ended.stderr
    assert "out: not finished: rows may be missing" in ended.stderr
    # A report is a document of its own, whose reader sees no standard error.
    assert ("not counted" in ended.stdout) is (command[0] == "report")


def test_data_that_is_torn_while_it_is_read_is_told_apart(scripted: Start) -> None:
    """A line that was whole and is broken now is no mistake in the data."""
    scripted(Changing(tear))
    Path("d.jsonl").write_text("".join(json.dumps(row(n)) + "\n" for n in range(600)))

    with pytest.raises(
        DataError, match=r"line 600: .*valid when it was checked, so it has changed"
    ):
        evaluate("d.jsonl", client="openai/m", out=OUT, concurrency=1)
    assert read_manifest(OUT)["finished"] is None


def test_the_address_of_a_client_of_ones_own_counts_too(
    scripted: Start, client_of: Callable[..., Any]
) -> None:
    """Also where no environment variable names it; and a comparison tells the two addresses."""
    for folder in ("one", "two"):
        evaluate([row(0)], client=client_of(scripted(GOOD)), model="m", out=folder)
    with pytest.raises(ConfigurationError, match="address was"):
        evaluate([row(0)], client=client_of(scripted(GOOD)), model="m", out="one")

    assert any("the judge's address differs" in w for w in compare("one", "two").notes())


def test_a_finished_run_says_when(scripted: Start) -> None:
    """The manifest names the end, and loses it while the run goes on again."""
    ends: list[str | None] = []

    def source() -> Iterator[Row]:
        yield row(0)
        ends.append(read_manifest(OUT)["finished"])

    scripted(GOOD)
    for _ in range(2):
        evaluate(source(), client="openai/m", out=OUT)
        assert read_manifest(OUT)["finished"] is not None
    assert ends == [None, None]


def test_a_model_that_is_swapped_within_a_run_is_said(scripted: Start) -> None:
    """One line names both models and their rows: in the run, in its folder, and without one."""
    asked = 0

    def script(request: JudgeRequest) -> Reply:
        nonlocal asked
        asked += 1
        return Reply(GOOD, model="m-old" if asked % 6 in {1, 2} else "m-new")

    scripted(script)
    said = "several models answered for one judge (rows: 'm-new' 4, 'm-old' 2)"
    rows = [row(n) for n in range(6)]
    for run in (
        evaluate(rows, client="openai/m", out=OUT, concurrency=1),
        load_run(OUT),
        evaluate(rows, client="openai/m", out=OUT),
        evaluate(rows, client="openai/m", concurrency=1),
    ):
        assert str(run.summary()).count(said) == 1
    assert said in " ".join(load_run(OUT).notes())
    assert asked == 12
    assert "several models" not in str(evaluate(rows[:1], client="openai/m").summary())


def test_a_verifier_that_is_another_model_is_no_swap(scripted: Start) -> None:
    """A grader that asks two judges a row, or the second one now and then, is as it was made."""
    scripted(None)
    grader = TwoStepFaithfulness.with_verifier(LLMVerifier(model="other"))
    run = evaluate([row(n) for n in range(3)], grader, client="openai/m", out=OUT)

    assert {outcome.answered_by for outcome in run} == {("m", "other")}
    assert "several models" not in str(run.summary())


def test_another_version_that_continues_a_folder_is_said(scripted: Start) -> None:
    """One line names the versions; a start that grades nothing is none of them."""
    scripted(GOOD)
    rows = [row(n) for n in range(3)]
    evaluate(rows[:2], client="openai/m", out=OUT)
    manifest = read_manifest(OUT) | {"rag_evals": "0.9.0", "versions": ["0.9.0"]}
    (OUT / "manifest.json").write_text(json.dumps(manifest))

    first = evaluate(rows[:2], client="openai/m", out=OUT)
    assert "several versions" not in str(first.summary())
    now = evaluate(rows, client="openai/m", out=OUT)
    said = f"graded by several versions of rag_evals: 0.9.0, {version('rag-evals')}"
    for run in (now, load_run(OUT), merge([OUT], "merged")):
        assert str(run.summary()).count(said) == 1
    assert said in " ".join(load_run(OUT).notes())


def test_a_row_that_two_graders_graded_is_left_out_once() -> None:
    """Also when it came back changed, and only one of them has graded it since."""
    graders = ["faithfulness", "faithfulness_two_step"]
    evaluate([row(n) for n in range(4)], graders, out=OUT)
    changed = [row(0, answer=WRONG), row(1)]
    run = evaluate(changed, graders, out=OUT, concurrency=1)
    assert (run.summary().left_out, run.summary().changed, run.graded) == (2, 1, 2)
    assert load_run(OUT).left_out == 2

    log = OUT / "results.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:-1]))
    stored = load_run(OUT)
    assert len(lines) == 10
    assert [(one["sample_id"], one["grader"], one["score"]) for one in stored.records] == [
        ("row-0", json.loads(lines[8])["grader"], 0.0),
        *(("row-1", grader, 1.0) for grader in graders),
    ]
    assert stored.left_out == 3
