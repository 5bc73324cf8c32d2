"""A run folder can be read on its own: outcomes, samples and the data's other columns."""

import gc
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rag_evals
from rag_evals import Faithfulness, FaithfulnessResult, Sample, evaluate
from rag_evals.core import Usage
from rag_evals.core.finding import Finding
from rag_evals.errors import DataError
from rag_evals.report.tables import report_markdown
from rag_evals.run import Outcome, Run, load_run
from rag_evals.run.record.facts import RowFacts
from rag_evals.run.record.index import RunIndex
from rag_evals.run.record.outcome import ErrorRecord, StoredResult
from tests.analysis.runs import record
from tests.conftest import EIFFEL

ROWS: list[dict[str, Any]] = [
    {"id": "eiffel", **EIFFEL, "topic": "towers", "meta": {"votes": 3}},
    {
        "id": "paris",
        "question": "Where?",
        "answer": "It is in Paris.",
        "context": [{"text": "It is in Paris.", "title": "Guide"}],
        "topic": None,
        "labels": [1],
    },
    {"id": "empty", "question": "q", "answer": "It is in Paris.", "context": []},
]


def test_an_iterable_can_be_read_back_with_its_samples() -> None:
    """The folder alone gives scores, results, question, answer, chunks and other columns."""
    run = evaluate((dict(row) for row in ROWS), out="kept")
    stored = load_run("kept")

    assert [(o.sample_id, o.score, o.reason) for o in stored.outcomes] == [
        (o.sample_id, o.score, o.reason) for o in run.outcomes
    ]
    assert isinstance(stored.outcomes[0].result, FaithfulnessResult)
    assert stored.samples["eiffel"].answer == EIFFEL["answer"]
    assert stored.samples["eiffel"].chunks == tuple(EIFFEL["context"])
    assert stored.samples["paris"].metadata[0] == {"title": "Guide"}
    assert stored.samples["eiffel"].columns == {"topic": "towers", "meta": {"votes": 3}}
    assert str(stored.summary()) == str(run.summary())


@pytest.mark.parametrize("folder", ["kept", None])
def test_a_run_and_its_summary_can_be_pickled(folder: str | None) -> None:
    """After their numbers were read too, from a folder and from memory."""
    run = evaluate((dict(row) for row in ROWS), out=folder)
    for one in [run, load_run(folder)] if folder else [run]:
        said, rows = str(one.summary()), [record["sample_id"] for record in one.records]
        copy = pickle.loads(pickle.dumps(one))
        assert str(copy.summary()) == str(pickle.loads(pickle.dumps(one.summary()))) == said
        assert [record["sample_id"] for record in copy.records] == rows


def test_a_fresh_run_answers_as_the_one_that_is_read() -> None:
    """There is one class of runs: what `evaluate` returns has samples, columns and manifest too."""
    fresh = evaluate((dict(row) for row in ROWS), out="kept")
    stored = load_run("kept")

    assert load_run(fresh) is fresh
    assert rag_evals.Run is type(fresh) is type(stored)
    assert fresh.outcomes == stored.outcomes
    assert fresh.of(Faithfulness) == stored.of(Faithfulness)
    assert [*fresh.records] == [*stored.records]
    assert fresh.graders == stored.graders == ["faithfulness"]
    assert (fresh.samples, fresh.manifest) == (stored.samples, stored.manifest)
    assert fresh.column("topic") == stored.column("topic")
    assert str(fresh.summary()) == str(stored.summary())
    assert (fresh.folder, fresh.graded, stored.graded) == (stored.folder, 3, 0)
    assert evaluate(ROWS).column("topic") == stored.column("topic")
    with pytest.raises(
        DataError, match="no column 'place' in the data; it has labels, meta, topic"
    ):
        evaluate(ROWS).column("place")


def test_a_run_knows_which_samples_it_has() -> None:
    """In memory and in its folder, also when asked for something else than an id."""
    for run in (evaluate(ROWS, out="kept"), load_run("kept")):
        assert [name in run.samples for name in ("eiffel", "rome", 7, None)] == [True, *[False] * 3]
        with pytest.raises(KeyError):
            run.samples["rome"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("question", {"a": "where is it?", "b": "where is it?", "c": None}),
        ("language", {"a": "en", "b": None, "c": None}),
        ("context", {"a": "c\nd", "b": "c\nd", "c": None}),
        ("topic", {"a": "1", "b": None, "c": "x"}),
        ("meta.page", {"a": "3", "b": None, "c": None}),
    ],
)
def test_a_column_may_be_a_field_of_the_sample(column: str, values: dict[str, str | None]) -> None:
    """Questions that differ in spaces and case are one, and contexts that differ in order."""
    rows = [
        {"id": "a", "question": "Where is it?", "context": ["c", "d"], "language": "en"}
        | {"answer": "A.", "topic": 1, "meta": {"page": 3}},
        {"id": "b", "question": " where  IS it?", "context": ["d", "c"], "answer": "A.", "meta": 1},
        {"id": "c", "context": [], "answer": "A.", "topic": "x"},
    ]
    evaluate(rows, out="kept")

    assert load_run("kept").column(column) == values


def test_a_file_keeps_the_columns_that_no_field_takes(tmp_path: Path) -> None:
    """What is left of each row is there to group by; the data file may be gone."""
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    evaluate(path, out="kept")
    path.unlink()

    assert load_run("kept").column("topic") == {"eiffel": "towers", "paris": None, "empty": None}
    assert load_run("kept").column("meta.votes")["eiffel"] == "3"


@pytest.mark.parametrize(
    ("column", "message"),
    [("theme", "no column 'theme' in the data; it has labels, meta, topic"), ("labels", "a list")],
)
def test_a_column_that_cannot_group_is_an_error(column: str, message: str) -> None:
    """The message lists the columns, or says why this one cannot."""
    evaluate(ROWS, out="kept")

    with pytest.raises(DataError, match=message):
        load_run("kept").column(column)


def test_going_on_writes_no_sample_twice() -> None:
    """A second run of the same folder adds only rows that were not there; a torn line is mended."""
    evaluate(ROWS[:1], out="kept")
    with Path("kept/samples.jsonl").open("a") as file:
        file.write('{"sample_id": "par')
    evaluate(ROWS, out="kept")
    lines = Path("kept/samples.jsonl").read_text().splitlines()

    assert [json.loads(line)["sample_id"] for line in lines] == ["eiffel", "paris", "empty"]
    assert Path("kept/samples.jsonl").stat().st_mode & 0o777 == 0o600


def test_beginning_anew_sets_the_samples_aside_too() -> None:
    """A restarted run does not show what an earlier one graded."""
    evaluate(ROWS, out="kept")
    evaluate(ROWS[1:], out="kept", restart=True)

    assert set(load_run("kept").samples) == {"paris", "empty"}
    assert Path("kept/before-1/samples.jsonl").exists()


def test_odd_values_in_other_columns_do_not_stop_a_run() -> None:
    """Dates, bytes and broken characters in columns that nobody grades are kept as text."""
    odd = {"answer": "It is.", "context": ["It is."], "when": Path("x"), "half": "\ud800"}
    evaluate([odd], out="kept")
    (sample,) = load_run("kept").samples.values()

    assert sample.columns == {"when": "x", "half": "?"}


def test_a_run_in_memory_is_taken_as_it_is() -> None:
    """Without a folder there are outcomes and samples; a `Sample` has no other columns."""
    run = evaluate([Sample(id="a", answer="It is in Paris.", context=["It is in Paris."])])
    stored = load_run(run)

    assert [record["score"] for record in stored.records] == [1.0]
    assert (stored.folder, stored.identity, list(stored.samples)) == (None, {}, ["a"])


def test_the_last_line_of_a_row_wins_and_order_is_that_of_the_data() -> None:
    """A row that was graded again counts once, in its place."""
    run = evaluate(ROWS, out="kept")
    lines = Path("kept/results.jsonl").read_text().splitlines(keepends=True)
    Path("kept/results.jsonl").write_text("".join([*reversed(lines), lines[0]]))

    assert [o.key for o in load_run("kept").outcomes] == [o.key for o in run.outcomes]


def test_records_are_counted_from_both_ends() -> None:
    """As in a list: in memory and from a folder, with an error behind either end."""
    for run in (evaluate(ROWS), evaluate(ROWS, out="kept"), load_run("kept")):
        ids = [run.records[place]["sample_id"] for place in (0, 1, 2, -1, -2, -3)]
        assert ids == ["eiffel", "paris", "empty", "empty", "paris", "eiffel"]
        assert [one["sample_id"] for one in run.records[-2:]] == ["paris", "empty"]
        for place in (3, -4):
            with pytest.raises(IndexError):
                run.records[place]


def test_a_run_in_progress_can_be_read_by_any_thread() -> None:
    """What is finished so far, though another holds the folder; nothing in it is written."""
    seen: list[Run] = []
    with ThreadPoolExecutor(1) as other:

        def read(_: object) -> None:
            before = {path.name: path.read_bytes() for path in Path("kept").iterdir()}
            seen.append(other.submit(load_run, "kept").result())
            assert {path.name: path.read_bytes() for path in Path("kept").iterdir()} == before

        evaluate(ROWS, out="kept", on_outcome=read, concurrency=1)

    assert [[one["sample_id"] for one in run.records][:1] for run in seen] == [["eiffel"]] * 3
    assert len(seen[-1].records) == 3
    assert "not finished" in str(seen[0].summary())


def test_results_of_unknown_models_keep_their_fields() -> None:
    """A class that is not there any more leaves fields, score, findings and warnings as stored."""
    line = {
        "index": 0, "sample_id": "a", "grader": "faithfulness", "status": "scored", "score": 1.0,
        "result": {"tone": "kind"}, "result_type": "deleted_module:ToneResult", "usage": {},
        "findings": [{"text": "the tone", "verdict": True, "label": "kind"}], "warnings": ["odd"],
        "tallies": {"kind words": [1, 2]},
    }  # fmt: skip
    (outcome,) = Run([line]).outcomes
    result = outcome.result

    assert type(result) is StoredResult
    assert result.model_dump() == {"tone": "kind"}
    assert (result.score, result.not_scorable, result.warnings) == (1.0, None, ["odd"])
    assert result.findings == outcome.findings == (Finding("the tone", True, "kind"),)
    assert result.tallies == {"kind words": (1, 2)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("samples.jsonl", "[]\n", r"samples.jsonl', line 1"),
        ("results.jsonl", '{"a": 1}\n', r"results.jsonl', line 1: index: "),
        ("manifest.json", "{}", "is not the manifest"),
    ],
)
def test_a_broken_folder_is_one_clear_error(name: str, text: str, message: str) -> None:
    """The message names the file, and the line where there is one."""
    evaluate(ROWS, out="kept")
    Path("kept", name).write_text(text)

    with pytest.raises(DataError, match=message):
        load_run("kept")


def test_records_are_equal_only_with_all_their_fields() -> None:
    """A statement of one row was edited: its score and all that an index has are what they were."""
    for folder in ("kept", "edited"):
        evaluate(ROWS, client="embedded", out=folder)
    results = Path("edited/results.jsonl")
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    (edited,) = [line for line in lines if line["sample_id"] == "paris"]
    edited["result"]["statements"][0]["statement"] = "It was in Paris."
    timed = [json.loads(line) for line in Path("kept/results.jsonl").read_text().splitlines()]
    for line, before in zip(lines, timed, strict=True):
        line.update({name: before[name] for name in before if name != "result"})
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    pairs = zip(load_run("kept").records, load_run("edited").records, strict=True)

    assert [one == other for one, other in pairs] == [True, False, True]


def test_a_notebook_shows_a_run_as_a_small_table() -> None:
    """Score, interval, counts and bands; names are escaped."""
    run = evaluate(ROWS, out="ke&pt")

    for shown in (run._repr_html_(), load_run(run)._repr_html_()):
        assert "<td>0.750</td>" in shown
        assert "1 high, 0 good, 1 medium, 0 low" in shown
        assert "ke&amp;pt" in shown


def test_the_collector_runs_again_after_a_run_was_read() -> None:
    """Also after an error, and only where it ran before."""
    evaluate(ROWS, out="kept")
    load_run("kept")
    assert gc.isenabled()
    with pytest.raises(DataError):
        load_run("nowhere")
    assert gc.isenabled()
    gc.disable()
    try:
        load_run("kept")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_run_of_an_earlier_version_says_so_where_findings_are_needed() -> None:
    """Scores and results can still be read; a report asks for the data to be graded again."""
    evaluate(ROWS, out="kept")
    path = Path("kept/results.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["findings"], line["result_type"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    stored = load_run("kept")

    assert stored.summary().graders["faithfulness"].mean() == 0.75
    result = stored.outcomes[0].result
    assert isinstance(result, StoredResult)
    assert (result.score, result.findings) == (0.5, ())
    with pytest.raises(DataError, match="row 'eiffel', grader 'faithfulness': the run was written"):
        report_markdown(stored)


@pytest.mark.parametrize(
    ("manifest", "is_unfinished", "pending"),
    [
        ({}, False, 0),
        ({"format": 1, "finished": None, "pending": 3}, False, 0),
        ({"format": 2, "finished": None, "pending": 3}, True, 3),
        ({"format": 2}, True, 0),
        ({"format": 2, "finished": "2026-11-29", "pending": 3}, False, 0),
    ],
)
def test_a_run_without_an_end_is_unfinished(
    manifest: dict[str, Any], is_unfinished: bool, pending: int
) -> None:
    """The first format knew no end; what a finished run once waited for has come."""
    run = Run([record(0, "a", 1.0)], manifest=manifest)

    assert (run.summary().unfinished, run.summary().pending) == (is_unfinished, pending)
    assert run.pending == pending


def test_a_manifest_says_who_graded_with_what() -> None:
    """Judge, verifiers, versions and overlaps are told as the manifest has them, or not at all."""
    stages = {"faithfulness": [{"name": "v", "has_support": True, "tuned": None}]}
    known = {"versions": ["1", "2"], "overlaps": 4, "stages": stages, "identity": {"judge": "j"}}
    told, silent = (Run([record(0, "a", 1.0)], manifest=one).summary() for one in (known, {}))

    assert (told.judge, told.stages, told.versions, told.overlaps) == ("j", stages, ("1", "2"), 4)
    assert (silent.judge, silent.stages, silent.versions, silent.overlaps) == (None, {}, (), 0)


def test_usage_is_that_of_the_latest_outcomes_with_a_tenth_of_a_second() -> None:
    """What a row cost before it was graded again was spent, but is no part of its outcome."""
    first, again, other = (
        record(n, f"r{n}", 1.0, usage={"calls": calls}, cost_usd=cost, seconds=seconds)
        for n, calls, cost, seconds in ((0, 5, 0.5, 9.0), (0, 1, 0.25, 1.234), (1, 2, None, 0.5))
    )
    run = Run([first, again, other])

    assert run.usage() == {"calls": 3, "cost_usd": 0.25, "seconds": 1.7}
    assert run.summary().usage.calls == 8
    assert run.summary().cost_usd == 0.75
    assert Run().usage() == {"seconds": 0.0}


def test_failed_rows_come_first_then_low_scores_then_rows_without_one() -> None:
    """Of equal scores the earlier row, and of one row the graders in their order."""
    failure: dict[str, Any] = {
        "status": "failed",
        "reason": None,
        "error": {"type": "E", "message": "m"},
    }
    ends: dict[tuple[str, str], float | None] = {
        ("r0", "b"): 0.5,
        ("r0", "a"): 0.5,
        ("r1", "a"): None,
        ("r2", "a"): None,
        ("r3", "a"): 0.0,
        ("r3", "b"): 1.0,
        ("r4", "a"): None,
    }
    run = Run(
        [
            record(int(name[1:]), name, score, grader=grader, **(failure if name in "r1r4" else {}))
            for (name, grader), score in ends.items()
        ],
        manifest={"identity": {"graders": {"a": "1", "b": "2"}}},
    )

    def shown(most: int, begin: int = 0) -> list[str]:
        return [f"{one['sample_id']}{one['grader']}" for one in run.lowest_records(most, begin)]

    assert shown(9) == ["r1a", "r4a", "r3a", "r0a", "r0b", "r3b", "r2a"]
    assert (shown(2), shown(3, 1)) == (["r1a", "r4a"], ["r4a", "r3a", "r0a"])
    assert [one.sample_id for one in run.lowest(3)] == ["r1", "r4", "r3"]
    rows = [(one.sample_id, one.status, one.score, one.reason) for one in run.scored_rows("a")]
    assert rows == [
        ("r0", "scored", 0.5, None),
        ("r1", "failed", None, "E"),
        ("r2", "not_scorable", None, "empty_context"),
        ("r3", "scored", 0.0, None),
        ("r4", "failed", None, "E"),
    ]
    assert run.graders == ["a", "b"]


def outcome(
    row: int, grader: str = "g", score: float | None = None, *, error: str = "", **more: Any
) -> Outcome:
    """Make an outcome: scored, failed with this message, or without statements."""
    known: dict[str, Any] = {"index": row, "sample_id": f"r{row}", "grader": grader, **more}
    if error:
        return Outcome(**known, status="failed", error=ErrorRecord(f"{error}Error", error))
    if score is None:
        return Outcome(**known, status="not_scorable", reason="no_statements")
    return Outcome(**known, status="scored", score=score)


def test_numbers_are_those_of_the_last_outcome_of_each_grading() -> None:
    """Of each grader and row; what the earlier ones cost was spent all the same."""
    lines = [
        outcome(0, error="first", usage=Usage(2), cost_usd=0.5, answered_by=("m f1",)),
        outcome(0, score=1.0, usage=Usage(1), attempts=3, answered_by=("n f2",), warnings=("w",)),
        outcome(1, error="second", usage=Usage(1), answered_by=("n f2", "k")),
        outcome(1, "h", error="third", cost_usd=0.25),
        outcome(2, "h", 0.5, answered_by=("n f3",)),
        outcome(2, answered_by=("n f2",)),
        outcome(3, answered_by=("n f4",)),
    ]
    run = Run(outcomes=lines)
    stored = Run([json.loads(one.to_line()) for one in lines])
    for summary in (run.summary(), stored.summary()):
        g, h = summary.graders["g"], summary.graders["h"]
        assert (list(g.scores), g.failed, g.not_scorable) == (
            *([1.0], {"secondError": 1}, {"no_statements": 2}),
        )
        assert (list(h.scores), h.failed, h.warned, g.warned) == (
            *([0.5], {"thirdError": 1}, {}, {"w": 1}),
        )
        assert (summary.failed, summary.first_failure) == (2, "second")
        assert (summary.usage.calls, summary.cost_usd) == (4, 0.75)
        assert summary.answered == {"g": {("n",): 3, ("k", "n"): 1}, "h": {("n",): 1}}
    assert run.answering() == {"n f2", "n f3", "n f4", "k"}
    assert [one["attempts"] for one in run.records] == [3, 1, 0, 0, 0, 0]
    assert [one["usage"]["calls"] for one in run.records] == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("lines", "is_answered"),
    [
        ([], False),
        ([outcome(0, score=1.0)], False),
        ([outcome(0, error="e", usage=Usage(2)), outcome(1, score=1.0)], False),
        ([outcome(0, score=1.0, usage=Usage(1)), outcome(0, error="e")], True),
        ([outcome(0, usage=Usage(1))], True),
    ],
)
def test_a_judge_has_answered_if_it_was_asked_for_a_row_that_did_not_fail(
    lines: list[Outcome], is_answered: bool
) -> None:
    """A row that needed no call and a reply that was of no use say nothing of its key."""
    assert RunIndex.in_memory(lines).spent().is_answered is is_answered


@pytest.mark.parametrize("hidden", ["failed", "graded again"])
def test_rows_that_do_not_count_hide_no_shared_question(hidden: str) -> None:
    """Two of ten rows share one: more than one in twenty, though forty lines have their own."""
    own = [RowFacts(question=100 + n) for n in range(40)]
    if hidden == "failed":
        lines = [outcome(10 + n, error="e", facts=facts) for n, facts in enumerate(own)]
    else:
        lines = [outcome(n % 10, score=0.0, facts=facts) for n, facts in enumerate(own)]
    questions = [1, 1, *range(2, 10)]
    lines += [outcome(n, score=1.0, facts=RowFacts(one)) for n, one in enumerate(questions)]
    found = Run(outcomes=lines).summary().graders["g"].clusters()

    assert found is not None
    assert (found.by, found.units, len(found.keys)) == ("question", 9, 10)


def test_samples_keep_the_order_of_the_data_when_a_row_changes() -> None:
    """The new line of a row stands in the place of its first."""
    rows = [{"id": f"r{n}", "answer": f"Tower {n} is tall.", "context": ["c"]} for n in range(3)]
    evaluate(rows, out="kept")
    evaluate([{**rows[0], "answer": "It is old."}, *rows[1:]], out="kept")
    stored = load_run("kept")

    assert list(stored.samples) == ["r0", "r1", "r2"]
    assert (stored.samples["r0"].answer, len(stored.samples)) == ("It is old.", 3)
