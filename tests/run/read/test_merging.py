"""Parts of a run, graded in several places and kept as folders or as tables, become one run."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals import (
    Faithfulness,
    Outcome,
    Sample,
    Sampling,
    compare,
    evaluate,
    load_run,
    merge,
    open_session,
)
from rag_evals.base import ContextEvaluation
from rag_evals.cli.main import app
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.prompt import Prompt
from rag_evals.run import TableGrader, outcome_schema
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.outcome import record_of_row, short_fingerprint
from rag_evals.score_faithfulness import FaithfulnessResult
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}
OWN, OTHER = (
    ContextEvaluation(Prompt.shipped("score_faithfulness"), FaithfulnessResult, model=model)
    for model in ("gpt-x", "gpt-y")
)
ROWS: list[Any] = [
    {"id": f"row-{n}", "answer": f"Tower {n} is in {place}.", "context": ["Tower 1 is in Paris."]}
    for n, place in enumerate(["Rome", "Paris", "Oslo", "Paris", "Bonn"])
] + [{"id": "row-5", "answer": "", "context": ["c"]}, {"id": "row-6", "answer": 7, "context": []}]


def told(outcomes: Any) -> list[Any]:
    """Return what must be the same however rows were graded."""
    return [(o.index, o.sample_id, o.status, o.score, o.reason, o.findings) for o in outcomes]


def test_folders_become_one_run() -> None:
    """Outcomes, results and samples are those of one run over all rows; compare takes both."""
    whole = evaluate(ROWS, client="embedded", out="whole")
    evaluate(ROWS[:3], client="embedded", out="a")
    evaluate(ROWS[3:], client="embedded", out="b")
    merged = merge(["a", "b"], "merged")

    assert told(merged) == told(whole)
    assert merged.samples.keys() == load_run("whole").samples.keys()
    assert merged.notes() == []
    assert [g.grader for g in compare("whole", "merged").graders] == ["faithfulness"]


def test_a_row_that_one_folder_graded_again_is_in_one_part() -> None:
    """Its log has both outcomes, but it is no grading that several parts have."""
    evaluate(ROWS[:2], client="embedded", out="a")
    evaluate([ROWS[0] | {"answer": "Tower 1 is in Paris."}, ROWS[1]], client="embedded", out="a")
    merged = merge(["a"], "merged")

    assert len(Path("a/results.jsonl").read_text().splitlines()) == 3
    assert [outcome.score for outcome in merged] == [1.0, 1.0]
    assert merged.notes() == []


@pytest.mark.parametrize("parts", [["a", "b.jsonl"], ["b.jsonl", "a"]])
def test_a_folder_says_more_of_a_run_than_a_file(parts: list[str]) -> None:
    """Whichever comes first, the merged run knows its judge, settings and graders from it."""
    one = evaluate(ROWS[:3], client="embedded", out="a")
    other = evaluate(ROWS[3:], client="embedded")
    lines = [json.dumps(outcome.to_row(), default=str) for outcome in other.outcomes]
    Path("b.jsonl").write_text("\n".join(lines))
    identity = merge(parts, "merged").manifest["identity"]

    same = ("judge", "address", "graders", "models", "settings", "columns")
    assert {name: identity[name] for name in same} == {name: one.identity[name] for name in same}


def test_an_unfinished_part_is_said() -> None:
    """The whole is finished only when all parts are."""
    evaluate(ROWS[:2], client="embedded", out="a")
    evaluate(ROWS[2:4], client="embedded", out="b")
    manifest = json.loads(Path("a/manifest.json").read_text())
    Path("a/manifest.json").write_text(json.dumps(manifest | {"finished": None}))
    for number, parts in enumerate((["a"], ["a", "b"], ["b", "a"])):
        assert merge(parts, f"merged-{number}").notes()[0].startswith("not finished")


def test_a_merged_run_names_all_versions_and_the_last() -> None:
    """In the order of the parts, each once; a part of an older version has only one."""
    for folder, of_folder, known in (
        ("a", ROWS[:2], {"versions": ["0.7.0", "0.9.0"], "rag_evals": "0.9.0"}),
        ("b", ROWS[2:4], {"versions": ["0.9.0", "0.8.0"], "rag_evals": "0.8.0"}),
    ):
        evaluate(of_folder, client="embedded", out=folder)
        path = Path(folder, "manifest.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | known))
    manifest = merge(["a", "b"], "merged").manifest

    assert manifest["versions"] == ["0.7.0", "0.9.0", "0.8.0"]
    assert manifest["rag_evals"] == "0.8.0"
    # `path` is the manifest of the last part.
    older = json.loads(path.read_text()) | {"rag_evals": "0.1.0"}
    del older["versions"]
    path.write_text(json.dumps(older))
    assert merge(["a", "b"], "older").manifest["versions"] == ["0.7.0", "0.9.0", "0.1.0"]


def test_parquet_of_rows_becomes_a_run() -> None:
    """What another engine kept of `to_row` is a run again: results and findings too."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with open_session(Faithfulness, "embedded") as session:
        outcomes = [session.grade(row) for row in ROWS]
    for number, half in enumerate((outcomes[:4], outcomes[4:])):
        table = arrow.Table.from_pylist([o.to_row() for o in half], schema=outcome_schema())
        parquet.write_table(table, f"part-{number}.parquet")
    # The session counts its rows; a part begins where the one before it ends.
    merged = merge(["part-0.parquet"], "merged")

    assert told(merged) == told(outcomes[:4])
    assert (merged.notes(), merged.manifest["finished"] is None) == ([], False)
    assert [o.result for o in merged] == [o.result for o in outcomes[:4]]
    assert [o.error for o in merge(["part-1.parquet"], "second")][-1] == outcomes[-1].error


def test_every_field_of_an_outcome_is_in_its_row() -> None:
    """A new field of `Outcome` needs a column, and the schema has every column."""
    pytest.importorskip("pyarrow")
    facts = RowFacts(1, 2, 3, 4, 5)
    row = Outcome(0, "a", "faithfulness", "scored", 1.0, facts=facts).to_row()
    fields = set(Outcome.__dataclass_fields__) - {"error", "usage", "facts"}

    assert fields <= set(row)
    assert list(row) == outcome_schema().names
    assert record_of_row(row, "here")["facts"] == asdict(facts)


def test_parts_of_different_runs_are_refused() -> None:
    """Graders, prompts, judges and rows that do not fit are named."""
    evaluate(ROWS[:1], client="embedded", out="a")
    evaluate(ROWS[1:2], "faithfulness_two_step", client="embedded", out="other")
    evaluate(ROWS[1:2], client="embedded@strict", out="strict")
    evaluate([ROWS[0] | {"answer": "Another."}], client="embedded", out="row")
    cases: list[tuple[list[str], type[Exception], str]] = [
        ([], ConfigurationError, "no parts to merge"),
        (["a", "other"], ConfigurationError, "'a' and 'other' have different graders: faithful"),
        (["a", "strict"], ConfigurationError, "in judge: 'embedded' and 'embedded@strict'"),
        (["a", "row"], DataError, "'row' and an earlier part have different rows with the id"),
        (["a", "missing"], DataError, "'missing' does not exist"),
    ]
    for number, (parts, kind, message) in enumerate(cases):
        with pytest.raises(kind, match=message):
            merge(parts, f"merged-{number}")
    with pytest.raises(ConfigurationError, match="'a' is not empty"):
        merge(["row"], "a")


def test_a_part_whose_rows_were_drawn_is_refused() -> None:
    """Its numbers are of rows that were not graded, and would be lost; nothing is written."""
    rows = [
        {"answer": f"Tower {n} is here.", "context": [f"Tower {n} is here."]} for n in range(60)
    ]
    evaluate(rows, client="embedded", out="stopped", sampling=Sampling(gate=0.7))
    evaluate(ROWS, client="embedded", out="sampled")
    manifest = json.loads(Path("sampled/manifest.json").read_text())
    manifest["identity"]["sample"] = {"rows": 7, "of": 70, "probability": 0.1, "seed": 0}
    Path("sampled/manifest.json").write_text(json.dumps(manifest))

    for part, how in (("stopped", "stopped early"), ("sampled", "a random sample")):
        with pytest.raises(ConfigurationError, match=f"'{part}' graded .*{how}"):
            merge([part], "merged")
    assert not Path("merged").exists()


def test_the_command_merges_too() -> None:
    """It prints the numbers of the whole, and ends with 2 where parts do not fit."""
    evaluate(ROWS[:3], client="embedded", out="a")
    evaluate(ROWS[3:], client="embedded", out="b")
    ended = CliRunner().invoke(app, ["merge", "a", "b", "--out", "merged"])

    assert ended.exit_code == 0
    assert "over 5 scored of 7" in ended.output
    assert "run folder: merged" in ended.output


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_exported_table_is_no_part(kind: str) -> None:
    """It has a row for each sample, and says where its outcomes are."""
    evaluate(ROWS[:2], client="embedded", out="run").write(f"table.{kind}")
    with pytest.raises(
        DataError, match="a table from `rag-evals export` cannot be merged, but its"
    ):
        merge([f"table.{kind}"], "merged")
    assert not Path("merged").exists()


MISTAKES: dict[str, tuple[Any, Any, str]] = {
    "one path": ("run", "out", r"parts is one path, 'run'; expected a list, as in \['run'\]"),
    "a Path": (Path("run"), "out", "parts is one path, 'run'; expected a list"),
    "a number": ([5], "out", "5 is not a path of a run folder or a file"),
    "nothing": ([None], "out", "None is not a path"),
    "no folder": (["run"], "", "'' is not a path"),
    "a number to write": (["run"], 5, "5 is not a path"),
    "runs in a folder": (["."], "../out", "'.' contains run folders; list each of them: bare, run"),
    "without a manifest": (["bare"], "out", "'bare' is a run folder without its manifest.json"),
    "broken JSON": (["broken.jsonl"], "out", "'broken.jsonl', line 1: result is not JSON: "),
    "no rows": (["empty.parquet"], "out", "'empty.parquet' has no rows"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(name: str) -> None:
    """Whatever is given in place of parts, and wherever the run should go."""
    parts, out, said = MISTAKES[name]
    run = evaluate(ROWS[:1], client="embedded", out="run")
    Path("bare").mkdir()
    Path("bare/results.jsonl").write_bytes(Path("run/results.jsonl").read_bytes())
    if name == "runs in a folder":
        Path("bare/manifest.json").write_text("{}")
    Path("broken.jsonl").write_text(json.dumps({**run.outcomes[0].to_row(), "result": "{broken"}))
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(outcome_schema().empty_table(), "empty.parquet")
    with pytest.raises((ConfigurationError, DataError), match=said) as caught:
        merge(parts, out)
    assert "\n" not in str(caught.value)
    assert not Path("out").exists()
    assert len(load_run("run")) == 1


def test_blocks_without_rows_are_passed_over() -> None:
    """Engines write them; the others become the run."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [o.to_row() for o in evaluate(ROWS[:3], client="embedded")]
    parquet.write_table(arrow.Table.from_pylist(rows, schema=outcome_schema()), "full.parquet")
    parquet.write_table(outcome_schema().empty_table(), "empty.parquet")

    assert len(merge(["empty.parquet", "full.parquet"], "merged")) == 3


def parquet_of(outcomes: Any, path: str) -> str:
    """Write outcomes as another engine would."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [outcome.to_row() for outcome in outcomes]
    parquet.write_table(arrow.Table.from_pylist(rows, schema=outcome_schema()), path)
    return path


def test_every_outcome_says_who_judged(scripted: Start) -> None:
    """Judge, model that answered, settings and grader: in the outcome, its row, log and Parquet."""
    address = scripted(GOOD).base_url
    run = evaluate(
        ROWS[:3], client="openai/m", out="a", settings={"temperature": 0.5}, concurrency=1
    )
    path = parquet_of(run.outcomes, "a.parquet")

    logged = [json.loads(line) for line in Path("a/results.jsonl").read_text().splitlines()]
    written = [Outcome.from_record(record) for record in logged]
    settings = {"temperature": 0.5, "address": address}
    for outcome in [*written, *merge([path], "merged"), *load_run("a"), *run]:
        assert (outcome.judge, outcome.settings) == ("openai/m", settings)
        assert outcome.answered_by == ("m",)
        assert outcome.grader_fingerprint == short_fingerprint(Faithfulness.fingerprint())
    row = run.outcomes[0].to_row()
    assert (row["judge"], json.loads(row["settings"])) == ("openai/m", settings)
    assert evaluate(ROWS[:1], client="embedded").outcomes[0].settings is None


@pytest.mark.parametrize("form", ["parts", "one file", "folder and file"])
@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"client": "openai/a"}, {"client": "openai/b"}, "judge: 'openai/a' and 'openai/b'"),
        ({"settings": {"seed": 1}}, {"settings": {"seed": 2}}, "settings: .*1.* and .*2.*"),
        ({}, {"client": "embedded"}, "judge: 'openai/m' and 'embedded'"),
        ({"graders": OWN}, {"graders": OTHER}, "models: .*'gpt-x'.* and .*'gpt-y'.*"),
    ],
)
def test_outcomes_of_two_judges_are_no_run(
    scripted: Start, form: str, before: dict[str, Any], now: dict[str, Any], said: str
) -> None:
    """Parts, and rows in one file, that different judges graded are refused with both names."""
    scripted(GOOD)
    one, other = (
        evaluate(rows, **{"client": "openai/m", **who}, out=out)
        for rows, who, out in ((ROWS[:2], before, "one"), (ROWS[2:5], now, "other"))
    )
    parts = {
        "parts": lambda: [parquet_of(one, "1.parquet"), parquet_of(other, "2.parquet")],
        "one file": lambda: [parquet_of([*one, *other], "both.parquet")],
        "folder and file": lambda: ["one", parquet_of(other, "2.parquet")],
    }[form]()
    with pytest.raises(ConfigurationError, match=f"differ in {said}; merge parts of one run"):
        merge(parts, "merged")
    assert not Path("merged").exists()


@pytest.mark.parametrize("kind", ["folders", "Parquet"])
def test_a_paid_score_outlasts_a_later_failure(scripted: Start, kind: str) -> None:
    """A row that several parts have keeps its score; overlaps are counted, and all money is."""
    replies: dict[str, Any] = {}
    scripted(lambda request: replies[str(request.answer)])
    parts, spent = [], []
    for name, ends in {
        "a": [GOOD, GOOD, "{"],
        "b": ["{", "{", GOOD],
        "c": [GOOD, "{", "{"],
    }.items():
        replies |= {row["answer"]: end for row, end in zip(ROWS, ends, strict=False)}
        run = evaluate(
            ROWS[:3], client="openai/gpt-4o-mini", out=name, concurrency=1, max_failures=3
        )
        spent.append(run.summary())
        parts.append(name if kind == "folders" else parquet_of(run, f"{name}.parquet"))
    merged = merge(parts, "merged")

    assert [outcome.status for outcome in merged] == ["scored"] * 3
    assert merged.summary().usage.calls == sum(each.usage.calls for each in spent)
    assert merged.summary().cost_usd == pytest.approx(sum(each.cost_usd or 0 for each in spent))
    assert "3 gradings are in several parts" in str(merged.summary())
    assert "in several parts" not in str(merge(parts[:1], "one").summary())


def test_a_single_overlap_keeps_its_score(scripted: Start) -> None:
    """Two parts share one row: scored in the first and failed in the second, it stays scored."""
    replies: dict[str, Any] = {}
    scripted(lambda request: replies[str(request.answer)])
    for name, cut, ends in (("a", slice(0, 2), [GOOD, GOOD]), ("b", slice(1, 3), ["{", GOOD])):
        replies |= {row["answer"]: end for row, end in zip(ROWS[cut], ends, strict=True)}
        evaluate(ROWS[cut], client="openai/m", out=name, max_failures=3)
    merged = merge(["a", "b"], "merged")

    assert [outcome.status for outcome in merged] == ["scored"] * 3
    assert "1 grading is in several parts" in str(merged.summary())


def test_stored_and_merged_runs_show_judge_and_money(scripted: Start) -> None:
    """What the run itself says; a merged one says it of all parts, folders or Parquet."""
    scripted(GOOD)
    cut = (ROWS[:2], ROWS[2:5])
    parts = [
        evaluate(rows, client="openai/gpt-4o-mini", out=f"{place}")
        for place, rows in enumerate(cut)
    ]
    tables = [parquet_of(part, f"{place}.parquet") for place, part in enumerate(parts)]

    assert str(load_run("0").summary()) == str(parts[0].summary())
    money = sum(part.summary().cost_usd or 0 for part in parts)
    for merged in (merge(["0", "1"], "folders"), merge(tables, "tables")):
        said = str(merged)
        assert said.startswith("judge: openai/gpt-4o-mini\n")
        assert "spent: 5 calls, 500 tokens sent (0 cached), 100 received" in said
        assert f"${money:.4f}" in said
        assert "spent: 5 calls" in repr(merged.summary())


def test_samples_survive_parquet() -> None:
    """A merged table of outcomes has what was graded, labels among it, as a run folder has."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    rows = [row | {"label": 1, "question": "Where?"} for row in ROWS[:5]]
    rows[0]["context"] = [{"text": "Tower 1 is in Paris.", "source": "guide"}]
    grader = TableGrader(partial(open_session, [Faithfulness, "faithfulness_two_step"], "embedded"))
    parquet.write_table(grader(arrow.Table.from_pylist(rows[1:])), "rows.parquet")
    with open_session(Faithfulness, "embedded") as session:
        sample = Sample(**ROWS[0])
        one = session.grade(sample).to_row(sample)
    Path("one.jsonl").write_text(json.dumps(one))
    grader.close()
    plain = evaluate(rows[1:], client="embedded", out="plain")

    merged = merge(["rows.parquet"], "merged")
    assert merged.samples == plain.samples
    assert merged.column("label") == {f"row-{n}": "1" for n in range(1, 5)}
    assert merge(["one.jsonl"], "single").samples["row-0"].answer == ROWS[0]["answer"]
    Path("one.jsonl").write_text(json.dumps(one | {"sample": "{}"}))
    with pytest.raises(DataError, match="'one.jsonl', line 1: sample: "):
        merge(["one.jsonl"], "broken")
    assert not Path("broken").exists()


def test_a_grading_that_one_file_holds_twice_keeps_its_score(tmp_path: Path) -> None:
    """A later failure does not replace it, and the repetition is counted."""
    row = {"sample_id": "a", "grader": "faithfulness", "index": 0, "sample_fingerprint": "f"}
    scored = {**row, "status": "scored", "score": 1.0}
    failed = {**row, "status": "failed", "score": None, "error_type": "E", "error_message": "m"}
    part = tmp_path / "part.jsonl"
    part.write_text("".join(f"{json.dumps(one)}\n" for one in (scored, failed)))
    summary = merge([part], tmp_path / "out").summary()

    assert (summary.graders["faithfulness"].scores.tolist(), summary.overlaps) == ([1.0], 1)


def part_of(path: Path, **fingerprints: str) -> Path:
    """Write outcomes of rows with these fingerprints."""
    fixed = {"grader": "faithfulness", "status": "scored", "score": 1.0}
    lines = [
        {"sample_id": name, "index": n, "sample_fingerprint": one, **fixed}
        for n, (name, one) in enumerate(fingerprints.items())
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_a_row_that_differs_from_any_earlier_part_is_refused(tmp_path: Path) -> None:
    """Not only from the one before; a grading of any earlier part is an overlap, counted once."""
    first, second = part_of(tmp_path / "1.jsonl", a="f"), part_of(tmp_path / "2.jsonl", b="g")
    same, other = (part_of(tmp_path / f"{name}.jsonl", a=name, c="h") for name in "fx")
    merged = merge([first, second, same, same], tmp_path / "out")

    assert merged.summary().overlaps == 2
    assert [(one.index, one.sample_id) for one in merged] == [(1, "b"), (4, "a"), (5, "c")]
    with pytest.raises(
        DataError, match=r"'.*x.jsonl' and an earlier part have different rows.*'a'"
    ):
        merge([first, second, other], tmp_path / "other")


def test_a_part_of_the_first_format_is_finished() -> None:
    """It could not say so."""
    evaluate(ROWS[:2], client="embedded", out="a")
    path = Path("a/manifest.json")
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"format": 1, "finished": None}))

    assert merge(["a"], "merged").notes() == []


def test_a_grading_of_a_part_that_is_not_the_one_before_keeps_its_score(tmp_path: Path) -> None:
    """The first of three parts has scored what the last failed to grade."""
    first, second = part_of(tmp_path / "1.jsonl", a="f"), part_of(tmp_path / "2.jsonl", b="g")
    failed = {"status": "failed", "score": None, "error_type": "E", "error_message": "m"}
    last = part_of(tmp_path / "3.jsonl", a="f")
    last.write_text(json.dumps(json.loads(last.read_text()) | failed) + "\n")
    summary = merge([first, second, last], tmp_path / "out").summary()

    assert summary.overlaps == 1
    assert summary.graders["faithfulness"].scores.tolist() == [1.0, 1.0]
    assert summary.failed == 0
