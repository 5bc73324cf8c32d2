"""What several commands share: options of gates and draws, files to write, exits, config files."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from rag_evals import ContextEvaluation, FaithfulnessResult
from rag_evals.cli.commands.grade import _check_dry_run
from rag_evals.cli.commands.judge import _numbers, _percent, _second_looks
from rag_evals.cli.commands.prompts import _arriving, _row_from, _shown_fields
from rag_evals.cli.commands.report import _parse_pairs, comparison_json
from rag_evals.cli.shared.config import Config, _value, find_config
from rag_evals.cli.shared.exits import _last_words, exit_code_of, without_debug
from rag_evals.cli.shared.gates import (
    Batches,
    Draws,
    GateResult,
    Gates,
    _read,
    _reason_and_score,
    _written,
    check_error,
)
from rag_evals.cli.shared.graders import Chosen, TunedBy, _find_graders, _source_hash
from rag_evals.cli.shared.options import LabelOptions, Output, RowFile, grading_language
from rag_evals.cli.shared.runs import (
    Outputs,
    _remove_earlier,
    append_step_summary,
    check_group_column,
    require_suffix,
)
from rag_evals.core import Sample, phrases
from rag_evals.dataset import DataFile
from rag_evals.errors import (
    ConfigurationError,
    DataError,
    GradingError,
    MissingColumnError,
    TooManyFailuresError,
)
from rag_evals.report.tables import View
from rag_evals.run import Run
from tests.analysis.runs import record, scores_run, statements_run

SAY = phrases("en")
GOOD = scores_run([1.0] * 40)
MIXED = scores_run([0.5, 1.0, None, None])


def ended(result: GateResult) -> tuple[int, tuple[str, ...]]:
    """Return the exit code of a gate and its lines."""
    return result.code, result.lines


def test_a_gate_asks_only_for_what_its_options_say() -> None:
    """None without an option; each of three makes one; what is counted is no gate."""
    assert not Gates()
    assert not Gates(count=[("empty_context", 0.0)])
    assert Gates(gate=0.5)
    assert Gates(fail_under=0.0)
    assert Gates(min_scored=0.0)
    assert (Gates().least_scored, Gates(min_scored=0.0).least_scored) == (0.9, 0.0)
    assert Gates().counts == {}
    assert Gates(count=[("a", 0.5), ("b", 1.0), ("a", 0.25)]).counts == {"a": 0.25, "b": 1.0}


def test_a_gate_ends_with_its_code_and_lines() -> None:
    """0 if passed, 1 if missed, 3 without any score, 4 if not decided; the first fault counts."""
    warned = SAY("gate.mean_warning")
    passed = ("gate passed: fail-under 0.7, min-scored 0.5",)

    assert ended(Gates().result(GOOD, SAY)) == (0, ())
    assert ended(Gates(fail_under=0.7, min_scored=0.5).result(MIXED, SAY)) == (0, (warned, *passed))
    at_mean = Gates(fail_under=0.7, at="mean", min_scored=0.5)
    assert ended(at_mean.result(MIXED, SAY)) == (0, passed)
    code, lines = ended(Gates(fail_under=0.8, min_scored=0.6, at="mean").result(MIXED, SAY))
    assert (code, len(lines)) == (1, 2)
    code, lines = ended(Gates(gate=0.5).result(GOOD, SAY))
    assert (code, len(lines)) == (0, 1)
    assert Gates(gate=0.5).result(scores_run([0.25] * 60), SAY).code == 1
    assert Gates(gate=0.9, error=0.01).result(scores_run([1.0, 0.9]), SAY).code == 4
    # A missed rule ends it before the gate is decided; a share of rows alone is a part of --gate.
    both = Gates(gate=0.5, fail_under=1.0, at="mean").result(scores_run([0.9] * 60), SAY)
    assert (both.code, len(both.lines)) == (1, 1)
    assert len(Gates(gate=0.5, fail_under=0.5, at="mean").result(GOOD, SAY).lines) == 2
    assert len(Gates(gate=0.5, min_scored=0.5).result(GOOD, SAY).lines) == 1
    none = Gates().result(scores_run([None, None]), SAY)
    assert (none.code, len(none.lines)) == (3, 1)
    counted = Gates(count=[("empty_context", 0.0)]).result(scores_run([None, None]), SAY)
    assert ended(counted) == (0, ())


def test_every_option_of_a_gate_changes_what_it_says() -> None:
    """The chance of an error, the least share of rows with a score, and what is counted as one."""
    perfect, half = scores_run([1.0] * 20), scores_run([1.0] * 40 + [None] * 40)
    zero, one = [("empty_context", 0.0)], [("empty_context", 1.0)]

    for error, code in ((None, 4), (0.05, 4), (0.2, 0), (0.4, 0)):
        assert Gates(gate=0.8, error=error).result(perfect, SAY).code == code
    for least, code in ((None, 1), (0.6, 1), (0.5, 0), (0.0, 0)):
        assert Gates(gate=0.5, min_scored=least).result(half, SAY).code == code
    for count, code in ((None, 0), (zero, 4), (one, 0)):
        assert Gates(gate=0.5, min_scored=0.1, count=count).result(half, SAY).code == code
        rules = Gates(fail_under=0.6, at="mean", min_scored=0.5, count=count)
        assert rules.result(half, SAY).code == (1 if count is zero else 0)
    assert Gates(fail_under=0.9, at="lower").result(perfect, SAY).code == 1
    assert Gates(fail_under=0.9, at="mean").result(perfect, SAY).code == 0


def test_a_run_without_scores_says_why() -> None:
    """Rows that cannot be scored and those that failed, with their reasons."""
    error = {"type": "JudgeError", "message": "m"}
    failed = {**record(1, "b", None), "status": "failed", "reason": None, "error": error}
    (line,) = Gates().result(Run([record(0, "a", None), failed]), SAY).lines

    assert "faithfulness scored none of its 2 rows" in line
    assert "1 empty_context" in line
    assert "1 JudgeError" in line


def test_rows_that_are_pending_leave_a_gate_undecided() -> None:
    """Whatever the others say; without a gate they are no fault."""
    pending = Run(GOOD.records, manifest={"format": 2, "pending": 3})
    assert pending.summary().pending == 3
    assert Gates().result(pending, SAY).code == 0
    assert Gates(fail_under=0.1).result(pending, SAY).code == 4
    assert Gates(gate=0.1).decision(pending, None) is None
    assert Gates(gate=0.1).decision(GOOD, None) is not None
    assert Gates().decision(GOOD, None) is None


def test_a_later_gate_is_added_to_one_that_passed() -> None:
    """The first fault ends it, and its lines stay alone."""
    passed, failed, last = (
        GateResult((name,), code) for name, code in zip("abc", (0, 1, 4), strict=True)
    )

    assert ended(passed.then(failed)) == (1, ("a", "b"))
    assert ended(failed.then(last)) == (1, ("b",))
    assert ended(passed.then(GateResult()).then(last)) == (4, ("a", "c"))
    assert ended(GateResult().then(passed)) == (0, ("a",))


def test_a_gate_is_told_and_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A run without scores is an error, said as one; a gate that passed ends nothing."""
    GateResult(("fine",), 0).exit()
    for code in (1, 3, 4):
        with pytest.raises(typer.Exit) as stop:
            GateResult(("one", "two"), code).exit()
        assert stop.value.exit_code == code
    GateResult().exit()

    said = capsys.readouterr()
    assert said.err.splitlines() == ["fine", "one", "two", "one", "Error: two", "one", "two"]
    assert said.out == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [("empty_context=0.5", ("empty_context", 0.5)), (" empty_answer =1", ("empty_answer", 1.0))],
)
def test_a_reason_is_counted_as_its_score(text: str, found: tuple[str, float]) -> None:
    """Blanks around the reason are left out."""
    assert _reason_and_score(text) == found


def test_the_error_of_a_gate_needs_the_gate() -> None:
    """0.05 unless it is said."""
    assert check_error(None, None) == check_error(0.5, None) == 0.05
    assert check_error(0.5, 0.2) == 0.2
    with pytest.raises(ConfigurationError, match=r"--error 0\.2 does nothing without --gate"):
        check_error(None, 0.2)
    with pytest.raises(ConfigurationError, match="expected a number above 0 and at most"):
        check_error(0.5, 0.0)


def test_rows_are_drawn_in_one_way_only() -> None:
    """At random until a gate is decided, or so many, or for so much money."""
    gates = Gates(gate=0.8, error=0.1, count=[("empty_context", 0.0)])

    assert Draws().sampling(gates) is None
    early = Draws(stop_early=True).sampling(gates)
    assert early is not None
    assert (early.gate, early.error, early.count) == (0.8, 0.1, {"empty_context": 0.0})
    plain = Draws(stop_early=True).sampling(Gates(gate=0.8))
    assert plain is not None
    assert (plain.error, plain.count) == (None, None)
    sampled = Draws(sample=5).sampling(gates)
    assert sampled is not None
    assert (sampled.sample, sampled.budget, sampled.gate) == (5, None, None)
    paid = Draws(budget="5usd").sampling(Gates())
    assert paid is not None
    assert (paid.sample, paid.budget) == (None, "5usd")
    with pytest.raises(ConfigurationError, match="--stop-early does nothing without --gate"):
        Draws(stop_early=True).sampling(Gates(fail_under=0.5))
    for other, named in (({"sample": 5}, "--sample"), ({"budget": "5usd"}, "--budget")):
        with pytest.raises(
            ConfigurationError, match=f"--stop-early and {named} cannot be combined"
        ):
            Draws(stop_early=True, **other).sampling(gates)


def test_a_batch_needs_all_rows_and_data_that_can_be_read_again() -> None:
    """Waiting needs a batch."""
    context: Any = SimpleNamespace(params={"data": "d.jsonl", "out": Path("run")})
    assert Batches().executor(context, None) is None
    assert Batches(batch=True).executor(context, None) is not None
    with pytest.raises(ConfigurationError, match="--wait does nothing without --batch"):
        Batches(wait=True).executor(context, None)
    with pytest.raises(ConfigurationError, match="--batch sends all rows at once"):
        Batches(batch=True).executor(context, Draws(sample=3).sampling(Gates()))
    context.params["data"] = "-"
    with pytest.raises(ConfigurationError, match="standard input can be read only once"):
        Batches(batch=True).executor(context, None)
    stored = json.dumps(
        {"out": Path("a/b"), "n": 1, "more": {"path": "x", "y": 1}}, default=_written
    )
    assert json.loads(stored, object_hook=_read) == {
        "out": Path("a/b"),
        "n": 1,
        "more": {"path": "x", "y": 1},
    }


def test_options_of_data_and_labels_are_passed_on() -> None:
    """Each in its place."""
    options = RowFile(["answer=a", "id=b"], "S", "cp1251", ";")

    assert options.file("d.csv") == DataFile("d.csv", sheet="S", encoding="cp1251", delimiter=";")
    assert options.columns().described() == {"answer": "a", "id": "b"}
    assert RowFile().columns().described() == {}
    assert LabelOptions(["l"], "g", "c").arguments() == {
        "labels": ["l"],
        "grader": "g",
        "column": "c",
    }
    assert LabelOptions().arguments() == {"labels": [], "grader": None, "column": "label"}


@pytest.mark.parametrize(
    ("rows", "code"),
    [(None, "en"), ("ru", "ru"), ("RU_ru", "ru"), ("en-GB", "en"), ("de", "en"), ("", "en")],
)
def test_the_language_of_the_output_is_that_of_the_rows(
    rows: str | None, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the reader has said another one."""
    assert grading_language(rows) == code
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "ru")
    assert grading_language(rows) == "ru"


def test_the_next_command_is_offered_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Not with --quiet, not with --json; the result is text or JSON."""
    for output in (Output(), Output(quiet=True), Output(json_output=True)):
        output.result({"a": [1]}, "text")
        output.offer_next("report", Path("a b"))
    said = capsys.readouterr()

    assert said.out.splitlines() == ["text", "text", '{"a":[1]}']
    assert len(said.err.splitlines()) == 1
    assert "rag-evals report 'a b'" in said.err


def outputs(out: str | None = None, **more: Any) -> Outputs:
    """Return options of what to write."""
    return Outputs(out=None if out is None else Path(out), **more)


def test_out_is_a_table_by_its_suffix_unless_it_is_a_folder() -> None:
    """Else it is the run folder."""
    Path("folder.csv").mkdir()
    for name in ("a.csv", "a.CSV", "a.xlsx", "a.html", "a.htm", "a.jsonl", "a.parquet"):
        assert (outputs(name).table, outputs(name).folder) == (Path(name), None)
    for name in ("run", "run.v1", "folder.csv"):
        assert (outputs(name).table, outputs(name).folder) == (None, Path(name))
        outputs(name).check("d.jsonl")
    assert (outputs().table, outputs().folder) == (None, None)
    for name in ("a.json", "a.md", "a.TXT", "a.tsv", "a.arrow"):
        with pytest.raises(ConfigurationError, match="is the name of a file; expected a folder"):
            outputs(name).check("d.jsonl")


def test_no_file_is_written_over_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where it cannot be; a limit for rows needs something that shows it."""
    Path("d.csv").touch()
    Path("e.csv").touch()
    outputs("e.csv", junit=Path("out.xml")).check("d.csv")
    outputs("d.csv").check("http://x")
    with pytest.raises(ConfigurationError, match="--out 'd.csv' would overwrite the data"):
        outputs("d.csv").check("d.csv")
    with pytest.raises(ConfigurationError, match="--junit 'd.csv' would overwrite the data"):
        outputs(junit=Path("d.csv")).check("d.csv")
    for wrong in (Path("no/out.xml"), Path()):
        with pytest.raises(ConfigurationError, match="cannot be written; expected a file in an"):
            outputs(junit=wrong).check("d.csv")
    with pytest.raises(ConfigurationError, match=r"--row-under 0\.5 does nothing without --junit"):
        outputs(row_under=0.5).check("d.csv")
    outputs(row_under=0.5, junit=Path("out.xml")).check("d.csv")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    outputs(row_under=0.5).check("d.csv")


def test_only_a_junit_file_of_ours_is_removed() -> None:
    """Another file stays, whatever it holds."""
    head = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="{}">\n'
    Path("ours.xml").write_text(head.format("rag-evals"))
    Path("theirs.xml").write_text(head.format("pytest"))
    Path("empty.xml").touch()
    for name in ("ours.xml", "theirs.xml", "empty.xml", "none.xml"):
        assert _remove_earlier(Path(name)) == Path(name)

    assert not Path("ours.xml").exists()
    assert Path("theirs.xml").exists()
    assert Path("empty.xml").exists()
    assert _remove_earlier(None) is None


def test_a_suffix_tells_the_format() -> None:
    """Pipes and devices have none."""
    for fine in (None, "a.html", "a.HTM", "/dev/stdout"):
        require_suffix(None if fine is None else Path(fine), ".html", ".htm")
    with pytest.raises(
        ConfigurationError, match=r"'a\.md' has the wrong suffix; expected \.html or"
    ):
        require_suffix(Path("a.md"), ".html", ".htm")


def test_rows_are_grouped_by_columns_that_are_not_graded() -> None:
    """Or by a path into one of them, or by a field that a run keeps."""
    checked = SimpleNamespace(
        columns=frozenset({"answer", "topic", "meta"}), taken={"answer": "answer"}
    )
    plan: Any = SimpleNamespace(checked=checked)
    for fine in (None, "topic", "meta.x", "question"):
        check_group_column(plan, fine)
    for wrong in ("answer", "nothing", "nothing.x"):
        with pytest.raises(MissingColumnError, match="to cluster by; .* columns are meta, topic$"):
            check_group_column(plan, wrong, "cluster")
    check_group_column(SimpleNamespace(checked=None), "nothing")  # type: ignore[arg-type]


@pytest.mark.parametrize("before", [0, 999_000, 999_960, 1_000_000])
def test_a_summary_of_a_build_has_at_most_a_million_bytes(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit is cut after a whole line, and this is said where there is room."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "s.md")
    Path("s.md").write_bytes(b"x" * before)
    scores = {f"r{number}": number / 40 for number in range(40)}
    run = scores_run(scores, columns={name: {"t": name * 20} for name in scores})
    append_step_summary(run, View(by="t"), GateResult(("one",), 4))
    written = Path("s.md").read_bytes()[before:].decode()

    assert len(written) + before <= 1_000_000
    assert ("The rest does not fit here" in written) is (before == 999_000)
    assert written == "" or written.endswith("\n")
    assert before or written.startswith("### rag-evals: Scores: not decided\n\n- one\n\n")
    if before == 999_000:
        assert written.endswith("|\n\n*The rest does not fit here; it is in the run folder.*\n")


@pytest.mark.parametrize(
    ("lines", "code", "head"),
    [
        (("one", "two"), 0, "Scores: passed\n\n- one\n- two\n"),
        (("one",), 1, "Scores: failed\n\n- one\n"),
        (("one",), 3, "Scores: failed\n\n- one\n"),
        (("one",), 4, "Scores: not decided\n\n- one\n"),
        ((), 0, "Scores\n\n| grader"),
    ],
)
def test_a_summary_of_a_build_begins_with_its_verdict(
    lines: tuple[str, ...], code: int, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a gate there is none; outside of a build nothing is written."""
    append_step_summary(GOOD, View(), GateResult(lines, code))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "s.md")
    append_step_summary(GOOD, View(), GateResult(lines, code))

    text = Path("s.md").read_text(encoding="utf-8")
    assert text.startswith(f"### rag-evals: {head}")
    assert text.count("### ") == 1


def test_the_config_file_next_to_the_work_counts() -> None:
    """Its own file before the table of a project, a project without the table not at all."""
    inner = Path("a/b").absolute()
    inner.mkdir(parents=True)
    assert find_config(inner) is None
    Path("rag-evals.toml").write_text("limit = 1")
    Path("a/pyproject.toml").write_text("[tool.other]\nlimit = 2")
    found = find_config(inner)
    assert found is not None
    assert (found.values, found.name) == ({"limit": 1}, "rag-evals.toml")
    Path("a/pyproject.toml").write_text("[tool.rag-evals]\nlimit = 2")
    found = find_config(inner)
    assert found is not None
    assert (found.values, found.name) == ({"limit": 2}, "a/pyproject.toml [tool.rag-evals]")
    (inner / "rag-evals.toml").write_text("limit = 3")
    found = find_config(inner)
    assert found is not None
    assert (found.values, found.name) == ({"limit": 3}, "a/b/rag-evals.toml")
    Path("a/pyproject.toml").write_text("[tool.rag-evals]")
    assert find_config(inner.parent) == Config(inner.parent / "pyproject.toml", {})


def test_a_value_of_a_config_file_is_what_the_command_line_would_have() -> None:
    """A path begins at the file's folder; one value of several is a list, a table is pairs."""
    config = Config(Path("sub/rag-evals.toml").absolute(), {})

    def value(name: str, given: Any, *, multiple: bool = False) -> Any:
        return _value(config, SimpleNamespace(name=name, multiple=multiple), given)

    assert value("data", "d.jsonl") == "sub/d.jsonl"
    assert value("data", "-") == "-"
    assert value("data", "hf://x/y") == "hf://x/y"
    assert value("tuned", ["a.json", "/b.json"], multiple=True)[0] == "sub/a.json"
    assert value("judge", "d.jsonl") == "d.jsonl"
    assert value("limit", 3) == 3
    assert value("grader", "faithfulness", multiple=True) == ["faithfulness"]
    assert value("column", {"answer": "a", "id": "b"}, multiple=True) == ["answer=a", "id=b"]


def test_graders_are_found_by_name_and_have_their_language() -> None:
    """Faithfulness without a name; a list in one word is refused."""
    assert [one.name for one in _find_graders([], None)] == ["faithfulness"]
    names = ["chunk_precision", "answer_relevance"]
    assert [one.name for one in _find_graders(names, None)] == names
    for wrong in (["a,b"], ["faithfulness", "x,y"]):
        with pytest.raises(typer.BadParameter, match="is not one grader; repeat --grader"):
            _find_graders(wrong, None)
    for several in (names, ["my:own"]):
        with pytest.raises(typer.BadParameter, match="a prompt file defines one grader"):
            _find_graders(several, Path("p.jinja"))
    with pytest.raises(typer.BadParameter, match="has more than one prompt"):
        _find_graders(["faithfulness_two_step"], Path("p.jinja"))
    with pytest.raises(ConfigurationError, match="accepts one grader; use --grader only once"):
        Chosen(grader=names).grader_and_judge()


def test_the_default_judge_is_the_one_that_nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option or the environment may name one."""
    assert Chosen().is_default_judge
    assert not Chosen(judge="embedded").is_default_judge
    assert not Chosen(verifier="embedded").is_default_judge
    assert Chosen().graders_and_judge()[1] == "embedded"
    assert Chosen(judge="openai/m").graders_and_judge()[1] == "openai/m"
    monkeypatch.setenv("RAG_EVALS_JUDGE", "openai/x")
    assert not Chosen().is_default_judge
    assert Chosen().graders_and_judge()[1] == "openai/x"


def test_code_of_this_package_is_no_source_of_a_grader() -> None:
    """Only files of the user are hashed."""
    grader = ContextEvaluation(prompt="Judge.", response_model=FaithfulnessResult)

    assert _source_hash("rag_evals.catalog", grader) is None
    assert _source_hash("tests.conftest", grader) not in (None, _source_hash("tests.late", grader))


def stage(name: str, **more: Any) -> dict[str, Any]:
    """Return a stage of a cascade."""
    return {"name": name, "tuned": None, "has_support": True} | more


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([stage("e", tuned={"spread": [1]})], None),
        ([stage("e", tuned={"spread": [1]}), stage("j", has_support=False)], None),
        ([stage("e"), stage("f")], "--require-tuned: 'e', 'f' was not tuned with labels"),
        ([stage("e", tuned={"spread": [1]}), stage("f")], "--require-tuned: 'f' was not tuned"),
        ([], "the judge of 'g' was not tuned with labels"),
        ([stage("e", tuned={"spread": []})], "the tuned file of 'e' does not contain"),
    ],
)
def test_every_stage_with_a_support_must_be_tuned(stages: list[Any], said: str | None) -> None:
    """Where this is asked for."""
    plan: Any = SimpleNamespace(graders=[SimpleNamespace(stages=stages, name="g")])
    TunedBy().check(plan)
    if said is None:
        TunedBy(require_tuned=True).check(plan)
    else:
        with pytest.raises(ConfigurationError, match=said):
            TunedBy(require_tuned=True).check(plan)
    assert ended(TunedBy(require_tuned=True).result(GOOD, SAY)) == (0, ())


def test_the_last_words_of_an_error_have_its_code() -> None:
    """2 for what the user can change, 3 for too many failures, 70 for a bug."""
    missing = FileNotFoundError(2, "No such file", "a.txt")
    for error, words, code in (
        (DataError("d"), "d", 2),
        (GradingError("g"), "GradingError: g", 2),
        (TooManyFailuresError("t"), "TooManyFailuresError: t", 3),
        (missing, "'a.txt': No such file", 2),
        (OSError("odd"), "odd", 2),
        (MemoryError(), "out of memory; grade fewer or shorter rows at a time", 2),
    ):
        said, found = _last_words(error)
        assert found == code
        assert said in (words, words.rpartition(": ")[2])
    said, code = _last_words(ValueError("x" * 400))
    assert code == 70
    assert said.count("x") == 287
    said, _ = _last_words(KeyError())
    assert said.startswith("this is a bug in rag_evals: KeyError; run again with --debug")


def test_a_command_ends_with_its_number() -> None:
    """Anything else is 0."""
    results: list[object] = [None, 0, 1, 4, "text", [1]]
    found = [exit_code_of(partial(next, iter([one]))) for one in results]
    assert found == [0, 0, 1, 4, 0, 0]
    assert without_debug(["a", "--debug", "--", "--debug"]) == (["a", "--", "--debug"], True)
    assert without_debug(["a", "--", "--debug"]) == (["a", "--", "--debug"], False)
    assert without_debug(["--debug", "a", "--debug"]) == (["a"], True)


def test_an_estimate_grades_nothing() -> None:
    """So that no option that needs a grading goes with it."""
    free: Any = {"restart": False}
    _check_dry_run(True, Gates(), outputs(), free)
    _check_dry_run(False, Gates(gate=0.5), outputs(by="t"), {"restart": True})
    cases: list[tuple[Gates, Outputs, Any, str]] = [
        (Gates(gate=0.5), outputs(), free, "a gate"),
        (Gates(), outputs(by="t"), free, "--by"),
        (Gates(), outputs(report=True), free, "--report"),
        (Gates(), outputs(junit=Path("x")), free, "--junit"),
        (Gates(), outputs(), {"restart": True}, "--restart"),
        (Gates(fail_under=0.1), outputs(by="t"), free, "a gate, --by"),
    ]
    for gates, out, options, named in cases:
        with pytest.raises(ConfigurationError, match=f"combined with {named}; omit one of them"):
            _check_dry_run(True, gates, out, options)


def test_pairs_of_graders_are_read() -> None:
    """A grader has one partner; the same pair twice is that pair."""
    assert _parse_pairs([]) == {}
    assert _parse_pairs(["a=b", " c = d ", "a=b"]) == {"a": "b", "c": "d"}
    for wrong in ("a", "a=", "=b", " = "):
        with pytest.raises(ConfigurationError, match="is not BASELINE=CANDIDATE"):
            _parse_pairs([wrong])
    with pytest.raises(ConfigurationError, match="'a' is paired with both 'b' and 'c'"):
        _parse_pairs(["a=b", "a=c"])


def test_a_comparison_in_json_has_its_verdicts() -> None:
    """Of each grader and each group; the differences of the rows are left out."""
    from rag_evals.analysis import compare

    one = scores_run([0.5, 0.25, 1.0], columns={f"r{n}": {"t": n % 2} for n in range(3)})
    two = scores_run([1.0, 0.5, 1.0], columns={f"r{n}": {"t": n % 2} for n in range(3)})
    compared = compare(one, two, by="t")
    told = json.loads(comparison_json(compared))
    (grader,) = compared.graders

    assert "differences" not in told
    assert told["warnings"] == compared.notes()
    (written,) = told["graders"]
    assert written["verdict"] == grader.verdict
    assert written["rows_needed"] == grader.paired.rows_needed
    assert [one["verdict"] for one in written["groups"]] == [one.verdict for one in grader.groups]
    assert len(written["groups"]) == 2


@pytest.mark.parametrize(("count", "asked", "most"), [(20, 4, 50), (21, 5, 50), (20, 3, 3)])
def test_a_fifth_of_the_suspicious_labels_is_looked_at_again(
    count: int, asked: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most suspicious first, at most as many as were asked for; rows keep their texts."""
    listed = [SimpleNamespace(sample_id=f"r{n // 2}", text=f"t{n}") for n in range(count)]
    monkeypatch.setattr("rag_evals.cli.commands.judge.suspicious_labels", lambda _: listed)
    rows = _second_looks(statements_run({"r0": [("t.", True)]}), most)

    assert sum(row.decisions for row in rows) == asked
    assert [text for row in rows for text in row.texts] == [f"t{n}" for n in range(asked)]
    assert all(row.decisions == len(row.texts) for row in rows)
    assert {row.grader for row in rows} == {"faithfulness"}


def trial(name: str, *, won: bool = False, error: str | None = None, counts: bool = True) -> Any:
    """Return a trial of an attack."""
    attack = SimpleNamespace(id=name)
    return SimpleNamespace(attack=attack, won=won, error=error, counts=counts)


def test_attacks_are_counted_by_how_they_ended() -> None:
    """Won, failed, or without room for a better grade; rates with and without hardening."""
    trials = [
        trial("a", won=True),
        trial("b", error="JudgeError", counts=False),
        trial("c", counts=False),
        trial("d"),
    ]
    report: Any = SimpleNamespace(
        grader="g",
        of=lambda hardened: trials if hardened else [],
        success_rate=lambda hardened: 0.25 if hardened else 0.75,
    )

    assert _numbers(report) == {
        "grader": "g",
        "attacks": 4,
        "success_rate": {"hardened": 0.25, "not_hardened": 0.75},
        "won": ["a"],
        "failed": {"b": "JudgeError"},
        "no_room": ["c"],
    }
    assert [_percent(rate) for rate in (None, 0.0, 0.256, 1.0)] == ["-", "0%", "26%", "100%"]


def test_fields_that_arrive_whole_are_told_apart_from_others() -> None:
    """A field is cut if one of its chunks is."""
    shares: Mapping[str, bool | None] = {
        "answer": True,
        "context, chunk 0": True,
        "context, chunk 1": False,
        "question": None,
    }

    assert _shown_fields(shares) == {
        "arrives whole": "answer",
        "does not": "context, question",
    }
    assert _shown_fields({"answer": True}) == {"arrives whole": "answer", "does not": "-"}
    assert _shown_fields({}) == {"arrives whole": "-", "does not": "-"}
    sample = Sample(question="Q?", answer="A.", context=["one", "two"])
    found = _arriving(sample, ({"role": "user", "content": "A. one two"},), ("answer",))
    assert next(iter(found)) == "answer"
    assert set(found) == {"question", "answer", "context, chunk 0", "context, chunk 1"}
    assert (found["answer"], bool(found["question"])) == (True, False)


def test_the_longest_row_that_can_be_graded_is_shown() -> None:
    """Question, answer, reference and chunks count; of equal rows the first one."""
    (grader,) = _find_graders(["faithfulness"], None)
    rows = [
        {"answer": "x" * 5, "context": ["y" * 5]},
        {"answer": "x" * 5, "context": ["y" * 3, "z" * 3], "question": "q"},
        {"answer": "x" * 5, "context": ["y" * 7]},
        {"answer": "x" * 900, "context": []},
        {"answer": "x" * 4, "context": ["y"], "reference": "r" * 7},
    ]
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sample, place = _row_from(Path("d.jsonl"), grader)  # type: ignore[arg-type]

    assert place == "line 2 of 'd.jsonl', the longest row"
    assert sample.question == "q"
    assert _row_from(None, grader)[1].startswith("the built-in row")  # type: ignore[arg-type]
