"""A run resumes from its index, and ends as it would without one; the index fits the log."""

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from rag_evals import Outcome, Run, evaluate, load_run
from rag_evals.cli.main import app
from rag_evals.errors import DataError
from rag_evals.run import RunOptions, execute
from rag_evals.run.engine.earlier import EarlierOutcomes
from rag_evals.run.plan.plan import make_plan
from rag_evals.run.record.index import RunIndex
from rag_evals.run.record.store import RunStore
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import fill_by_words

Start = Callable[[Script], ScriptedJudge]
OUT, DATA = Path("out"), Path("d.jsonl")
INDEX = OUT / "index.sqlite"
LOOKUPS = "SELECT name FROM sqlite_master WHERE name LIKE '%_row' ORDER BY name"
ROWS = 12


def write_rows(count: int = ROWS, **changed: str) -> None:
    """Write rows, every third wrong; `row_3="..."` is another answer."""
    lines = []
    for number in range(count):
        told = f"Tower {number} stands in {'Rome' if number % 3 == 0 else 'Paris'}."
        answer = changed.get(f"row_{number}", told)
        context = [f"Tower {number} stands in Paris."]
        fields = {"id": f"row-{number}", "question": "Where is it?", "answer": answer}
        lines.append(json.dumps({**fields, "context": context}))
    DATA.write_text("\n".join(lines))


def graded(**options: Any) -> Run:
    """Grade the file, or go on with it, as large files are graded."""
    options = {"client": "embedded", **options}
    progress, on_outcome = (options.pop(name, None) for name in ("progress", "on_outcome"))
    client, graders = options.pop("client"), options.pop("graders", "faithfulness")
    # The rest are options of the run, which a test names as it likes.
    chosen = cast("RunOptions", options)
    plan = make_plan(DATA, graders, client, folders=[OUT], options=chosen)
    return execute(plan.into(OUT, progress=progress or False), on_outcome)


def numbers(run: Run) -> tuple[Any, ...]:
    """Return all that a summary says, without its time."""
    summary = run.summary()
    return str(summary), summary.usage, summary.cost_usd, summary.left_out, summary.changed


def lines_of(name: str) -> Counter[str]:
    """Count the lines of each row in a file of the run."""
    lines = (OUT / name).read_text().splitlines()
    return Counter(json.loads(line)["sample_id"] for line in lines)


def knows() -> bool:
    """Say whether the next start resumes without looking rows up."""
    plan = make_plan(DATA, "faithfulness", "embedded", folders=[OUT])
    with RunStore(OUT, plan.manifest()) as store:
        return EarlierOutcomes(plan, store).rows() is not None


def stopped_after(count: int, **options: Any) -> None:
    """Grade some rows, and leave as Ctrl-C does."""
    seen: list[Outcome] = []

    def stop(outcome: Outcome) -> None:
        seen.append(outcome)
        if len(seen) == count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(on_outcome=stop, **options)


def test_a_finished_run_is_shown_again_as_it_was() -> None:
    """Nothing is graded, and every number and time is what it was without the index too."""
    write_rows()
    whole, manifest = numbers(graded()), (OUT / "manifest.json").read_text()
    again = graded()

    assert (again.graded, numbers(again)) == (0, whole)
    assert (OUT / "manifest.json").read_text() == manifest
    assert knows()
    again = graded()
    assert (again.graded, numbers(again)) == (0, whole)
    INDEX.unlink()
    slow = graded()
    assert (slow.graded, numbers(slow)) == (0, whole)
    assert knows()


def test_a_run_that_was_stopped_goes_on_where_it_was() -> None:
    """What ended is not graded again, each sample is kept once, and the numbers are the same."""
    write_rows()
    whole = numbers(graded())
    shutil.rmtree(OUT)
    stopped_after(5, concurrency=1)

    assert knows()
    rest = graded()
    assert rest.graded < ROWS - 4
    assert numbers(rest) == whole
    assert set(lines_of("results.jsonl").values()) == set(lines_of("samples.jsonl").values()) == {1}
    assert len(lines_of("results.jsonl")) == ROWS


def test_many_new_lines_leave_the_same_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own indexes are dropped while thousands of lines come, and are there at the end."""
    write_rows()
    whole = numbers(graded())
    shutil.rmtree(OUT)
    stopped_after(5, concurrency=1)
    dropped: list[int] = []

    def count(_: Outcome) -> None:
        with sqlite3.connect(INDEX) as index:
            dropped.append(not index.execute(LOOKUPS).fetchall())
        index.close()

    monkeypatch.setattr("rag_evals.run.record.index._MOST_ADDED", 2)
    monkeypatch.setattr("rag_evals.run.record.index._COMMIT_ROWS", 1)
    rest = graded(on_outcome=count, concurrency=1)

    assert numbers(rest) == whole
    assert dropped[-1]
    with sqlite3.connect(INDEX) as index:
        assert index.execute(LOOKUPS).fetchall() == [("outcome_row",), ("sample_row",)]
    index.close()


@pytest.mark.parametrize("seen_by", ["progress", "on_outcome"])
def test_a_kill_at_any_moment_loses_nothing(seen_by: str) -> None:
    """The folder is copied after each outcome, as a kill would leave it; each copy goes on."""
    write_rows()
    whole = numbers(graded())
    shutil.rmtree(OUT)
    stopped_after(3, concurrency=2)
    copies: list[Path] = []

    def copied(_: object) -> None:
        copies.append(Path(f"killed-{len(copies)}"))
        shutil.copytree(OUT, copies[-1])

    graded(concurrency=2, **{seen_by: copied})
    for copy in copies:
        shutil.rmtree(OUT)
        copy.rename(OUT)
        ended = lines_of("results.jsonl").total()
        on = graded()

        assert on.graded == ROWS - ended
        assert numbers(on) == whole
        assert set(lines_of("results.jsonl").values()) == {1}
        # Rows that the kill left in doubt were looked up once; later starts skip them.
        assert noted("doubted") is None


def noted(name: str) -> str | None:
    """Return a note in the index of the run."""
    with closing(sqlite3.connect(OUT / "index.sqlite")) as index:
        found = index.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
    value: str | None = found[0]
    return value


def test_a_place_that_a_killed_start_gave_is_not_believed() -> None:
    """It read the file while another order stood there: the row in that place is still graded."""
    write_rows()
    whole = numbers(graded())
    lines = [json.loads(line) for line in (OUT / "results.jsonl").read_text().splitlines()]
    shutil.rmtree(OUT)
    stopped_after(3, concurrency=1)
    left = [line for line in lines if line["sample_id"] not in lines_of("results.jsonl")]
    with (OUT / "results.jsonl").open("a") as log:
        log.write(json.dumps(left[1] | {"index": left[0]["index"]}) + "\n")

    on = graded()
    assert on.graded == len(left) - 1
    assert numbers(on) == whole
    assert lines_of("results.jsonl") == {line["sample_id"]: 1 for line in lines}


def test_a_place_that_was_not_believed_once_is_not_believed_later(scripted: Start) -> None:
    """The row that stands there failed meanwhile, so that it alone is graded again."""
    broken: str | None = None

    def some(request: JudgeRequest) -> Any:
        fails = broken is not None and broken in str(request.body)
        return HttpError(500) if fails else fill_by_words(request)

    scripted(some)
    options = {"client": "openai/m", "cache": False, "concurrency": 1}
    write_rows()
    graded(**options)
    lines = [json.loads(line) for line in (OUT / "results.jsonl").read_text().splitlines()]
    shutil.rmtree(OUT)
    stopped_after(3, **options)
    done = lines_of("results.jsonl")
    first, second, *_ = [line for line in lines if line["sample_id"] not in done]
    with (OUT / "results.jsonl").open("a") as log:
        log.write(json.dumps(second | {"index": first["index"]}) + "\n")
    broken = f"Tower {first['index']} stands"
    assert graded(**options).summary().failed == 1
    broken = None

    assert graded(**options).graded == 1
    assert {outcome.status for outcome in load_run(OUT)} == {"scored"}


@pytest.mark.slow
def test_a_kill_after_thousands_of_rows_finds_an_index() -> None:
    """It is written during the run; the lines after it are read from the log."""
    lines = [json.dumps({"id": f"r{n}", "answer": "", "context": ["c"]}) for n in range(2100)]
    DATA.write_text("\n".join(lines))
    copied: list[int] = []

    def copy(_: Outcome) -> None:
        copied.append(1)
        if len(copied) == 2050:
            shutil.copytree(OUT, "killed")

    whole = numbers(graded(on_outcome=copy))
    shutil.rmtree(OUT)
    Path("killed").rename(OUT)

    with sqlite3.connect(INDEX) as index:
        assert index.execute("SELECT COUNT(*) FROM outcome").fetchone()[0] >= 2000
    index.close()
    # Only what came after the index is looked up: of a million rows that would take minutes.
    plan = make_plan(DATA, "faithfulness", "embedded", folders=[OUT])
    with RunStore(OUT, plan.manifest()) as store:
        earlier = EarlierOutcomes(plan, store)
        assert earlier.done >= 2000
        assert (
            sum(
                earlier.take(row, "faithfulness", results=False) is not None
                for row in earlier.rows() or ()
            )
            == lines_of("results.jsonl").total() - earlier.done
        )
    on = graded()
    assert on.graded <= 50
    assert numbers(on) == whole


def torn(path: Path) -> None:
    """Cut a file in half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    """Change one byte in the middle, and nothing that a listing of the folder shows."""
    content, stat = bytearray(path.read_bytes()), path.stat()
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def raised(path: Path) -> None:
    """Give every row the full score, as SQLite itself would write it."""
    with sqlite3.connect(path) as index:
        index.execute("UPDATE outcome SET score = 1.0")
    index.close()


def thinned(path: Path) -> None:
    """Take rows out of the index that the log has."""
    with sqlite3.connect(path) as index:
        index.execute("DELETE FROM outcome WHERE place > 0")
    index.close()


def of_another_version(path: Path) -> None:
    """Leave a database with other tables."""
    path.unlink()
    with sqlite3.connect(path) as index:
        index.executescript("CREATE TABLE outcome (a); PRAGMA user_version = 99;")
    index.close()


@pytest.mark.parametrize(
    "damage", [Path.unlink, torn, flipped, raised, thinned, of_another_version]
)
def test_an_index_that_does_not_fit_the_log_is_built_again(
    damage: Callable[[Path], object],
) -> None:
    """No number changes, nothing is graded again, whoever reads it first."""
    write_rows()
    whole = numbers(graded())
    damage(INDEX)

    assert str(load_run(OUT).summary()) == whole[0]
    damage(INDEX)
    again = graded()
    assert (again.graded, numbers(again)) == (0, whole)
    assert knows()


def test_a_change_of_any_number_or_text_in_an_index_is_noticed() -> None:
    """Each column of both tables counts, in one row of many."""
    write_rows()
    whole = numbers(graded())
    with sqlite3.connect(INDEX) as index:
        columns = [
            (table, name, kind)
            for table in ("outcome", "sample")
            for _, name, kind, *_ in index.execute(f"PRAGMA table_info({table})").fetchall()
            if name != "more"
        ]
        stored = {
            (table, name): index.execute(f"SELECT {name} FROM {table} ORDER BY place").fetchall()
            for table, name, _ in columns
        }
    index.close()
    for table, name, kind in columns:
        one = "? || 'x'" if kind == "TEXT" else "COALESCE(?, 0) + 0.125"
        one = "COALESCE(?, 0) - 1" if kind == "INTEGER" else one
        with sqlite3.connect(INDEX) as index:
            row = f"(SELECT place FROM {table} ORDER BY place LIMIT 1 OFFSET 5)"
            index.execute(
                f"UPDATE {table} SET {name} = {one.replace('?', name)} WHERE place = {row}"
            )
        index.close()
        assert numbers(load_run(OUT)) == whole, (table, name)
        with sqlite3.connect(INDEX) as index:
            changed = index.execute(f"SELECT {name} FROM {table} ORDER BY place").fetchall()
        index.close()
        assert changed == stored[table, name], (table, name)


@pytest.mark.parametrize("name", [".data-check.json"])
@pytest.mark.parametrize("damage", [Path.unlink, torn, flipped, lambda path: path.write_text("{}")])
def test_a_damaged_check_of_the_data_is_passed_over(
    name: str, damage: Callable[[Path], object]
) -> None:
    """All lines are read then, nothing is graded again, and the next start is quick again."""
    write_rows()
    whole = numbers(graded())
    damage(OUT / name)
    again = graded()

    assert (again.graded, numbers(again)) == (0, whole)
    assert knows()


def test_an_edited_outcome_counts_as_edited() -> None:
    """A score that was changed by hand, a line that was taken out, and one that was broken."""
    write_rows()
    graded()
    results = OUT / "results.jsonl"
    lines = results.read_text().splitlines(keepends=True)
    before = results.stat()
    results.write_text("".join(lines).replace('"score":1.0', '"score":0.5', 1))
    os.utime(results, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert min(graded().summary().graders["faithfulness"].scores) == 0.0
    assert 0.5 in list(graded().summary().graders["faithfulness"].scores)
    results.write_text("".join(lines[1:]))
    assert graded().graded == 1
    results.write_text("".join(["{}\n", *lines[1:]]))
    with pytest.raises(DataError, match="line 1"):
        graded()


def test_an_appended_outcome_of_a_row_that_ended_counts() -> None:
    """The last line of a key wins, though the index has the row already."""
    write_rows()
    graded()
    with (OUT / "results.jsonl").open("r+") as file:
        line = next(line for line in file.readlines() if '"score":1.0' in line)
        file.write(line.replace('"score":1.0', '"score":0.5'))

    assert sorted(graded().summary().graders["faithfulness"].scores)[4] == 0.5


def test_an_appended_outcome_of_another_grader_version_replaces_the_first() -> None:
    """A row and a grader's name are the key; an outcome of a changed prompt is no second row."""
    write_rows()
    graded()
    with (OUT / "results.jsonl").open("r+") as file:
        line = next(line for line in file.readlines() if '"score":1.0' in line)
        fields = {**json.loads(line), "score": 0.5, "grader_fingerprint": "0" * 16}
        file.write(json.dumps(fields) + "\n")

    scores = sorted(load_run(OUT).summary().graders["faithfulness"].scores)
    assert (len(scores), scores[4]) == (ROWS, 0.5)
    assert len(load_run(OUT).lowest(2 * ROWS)) == ROWS


def test_samples_that_were_taken_out_are_written_again() -> None:
    """A report needs them."""
    write_rows()
    graded()
    samples = OUT / "samples.jsonl"
    kept = samples.read_text()
    samples.write_text("".join(kept.splitlines(keepends=True)[1:]))
    graded()

    assert sorted(samples.read_text().splitlines()) == sorted(kept.splitlines())


def test_an_edited_row_is_graded_again() -> None:
    """Also where size and time of the file are what they were."""
    write_rows()
    graded()
    before = DATA.stat()
    write_rows(row_4="Tower 4 stands in Turin.")
    write_rows(row_4="Tower 4 stands in Perth.")
    os.utime(DATA, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert DATA.stat().st_size == before.st_size
    again = graded()

    assert (again.graded, again.summary().changed) == (1, 1)
    assert knows()
    assert (graded().graded, graded().summary().changed) == (0, 0)
    # The earlier outcome of the row is still in the log, and counts no more.
    assert graded().summary().graders["faithfulness"].total == ROWS


def test_a_row_that_cannot_be_read_any_more_keeps_no_older_text() -> None:
    """A report shows no answer beside its failure; a row that was never readable has no line."""
    good = {"id": "a", "answer": "It is in Paris.", "context": ["It is in Paris."]}
    never = {"id": "b", "answer": 7, "context": []}
    assert evaluate([good, never], out=OUT).scores == [1.0, None]
    hurt = evaluate([good | {"answer": 7}, never], out=OUT, max_failures="100%")

    assert [outcome.status for outcome in hurt] == ["failed", "failed"]
    assert lines_of("samples.jsonl") == {"a": 2}
    assert load_run(OUT).samples["a"].answer is None


def test_a_row_that_is_gone_stays_gone() -> None:
    """What the data has no more is counted the same at every start."""
    write_rows()
    graded()
    write_rows(ROWS - 2)
    told = [numbers(graded()) for _ in range(3)]

    assert told[0] == told[1] == told[2]
    assert graded().summary().left_out == 2
    assert knows()


def test_a_row_of_two_graders_is_left_out_once() -> None:
    """Both outcomes of a row that is gone are in the log: it is one row."""
    write_rows()
    graders = ["faithfulness", "faithfulness_two_step"]
    graded(graders=graders)
    write_rows(ROWS - 1)

    assert graded(graders=graders).summary().left_out == 1
    assert load_run(OUT).summary().left_out == 1


def test_a_row_that_was_never_graded_is_not_left_out() -> None:
    """A start that was killed had stored two rows, which are gone before they got an outcome."""
    write_rows()
    graded()
    log = OUT / "results.jsonl"
    gone = {f"row-{number}" for number in range(ROWS - 2, ROWS)}
    # Rows end in any order.
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if json.loads(line)["sample_id"] not in gone))
    write_rows(ROWS - 2)

    assert graded().summary().left_out == 0
    assert load_run(OUT).summary().left_out == 0


def test_positions_in_a_file_that_changed_meanwhile_are_not_trusted() -> None:
    """Rows of two states of the file may be among those that ended."""
    write_rows()

    def edit(outcome: Outcome) -> None:
        DATA.write_text(DATA.read_text() + "\n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(on_outcome=edit)

    assert not knows()


def test_positions_in_a_file_that_was_another_meanwhile_are_not_trusted() -> None:
    """The bytes count, not size and time; that the file is now as it was says nothing."""
    write_rows()
    before, stat = DATA.read_bytes(), DATA.stat()

    def edit(outcome: Outcome) -> None:
        DATA.write_bytes(before.replace(b"Rome", b"Oslo"))
        os.utime(DATA, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(on_outcome=edit)
    DATA.write_bytes(before)

    assert not knows()


def test_a_file_that_changes_while_the_rest_is_graded_ends_the_run() -> None:
    """The rows that are passed over are not looked at, so the bytes are."""
    write_rows()
    stopped_after(5, concurrency=1)

    def edit(_: object) -> None:
        DATA.write_text(DATA.read_text() + "\n")

    with pytest.raises(DataError, match="changed while it was being read"):
        graded(progress=edit)


def test_failed_rows_are_graded_again(scripted: Start) -> None:
    """What they cost still counts, their samples are not kept twice, and two graders mix."""
    broken = True

    def some(request: JudgeRequest) -> Any:
        return (
            HttpError(500) if broken and "Tower 4" in str(request.body) else fill_by_words(request)
        )

    scripted(some)
    write_rows()
    options = {
        "client": "openai/m",
        "graders": ["faithfulness", "answer_relevance"],
        "cache": False,
    }
    first = graded(**options)
    assert first.summary().failed == 2
    broken = False
    second = graded(**options)
    assert second.graded == 2
    assert second.summary().usage.calls == first.summary().usage.calls + 2
    third = graded(**options)

    assert (third.graded, third.summary().failed) == (0, 0)
    assert numbers(third) == numbers(second)
    assert set(lines_of("samples.jsonl").values()) == {1}
    assert [len(load_run(OUT).outcomes)] == [2 * ROWS]


def test_a_row_that_one_grader_failed_is_not_done(scripted: Start) -> None:
    """What the other grader said of it is kept, and only the failed one is asked again."""
    broken = True

    def some(request: JudgeRequest) -> Any:
        fails = broken and "Tower 4" in str(request.body) and "topical_match" in str(request.body)
        return HttpError(500) if fails else fill_by_words(request)

    scripted(some)
    write_rows()
    options = {
        "client": "openai/m",
        "graders": ["faithfulness", "answer_relevance"],
        "cache": False,
    }
    assert graded(**options).summary().failed == 1
    broken = False
    second = graded(**options)

    assert (second.graded, second.summary().failed) == (1, 0)
    assert second.summary().graders["answer_relevance"].scored == ROWS


def test_a_failed_row_is_graded_again_though_rows_changed_places(scripted: Start) -> None:
    """Where it stands now, another row ended; the last row, which did not move, says nothing."""
    broken = True

    def some(request: JudgeRequest) -> Any:
        fails = broken and "Tower 1" in str(request.body)
        return HttpError(500) if fails else fill_by_words(request)

    scripted(some)
    write_rows(3)
    options = {"client": "openai/m", "cache": False, "concurrency": 1}
    graded(**options)
    first, second, third = DATA.read_text().splitlines()
    DATA.write_text("\n".join([second, first, third]))
    assert graded(**options).summary().failed == 1
    broken = False

    assert graded(**options).graded == 1
    assert {outcome.status for outcome in load_run(OUT)} == {"scored"}


def test_failed_rows_come_first_and_their_cost_counts(scripted: Start) -> None:
    """The row to look at first failed; the run has spent its cost too."""

    def reply(request: JudgeRequest) -> Any:
        good = fill_by_words(request)
        return "{" if "Tower 4" in str(request.body) else good

    scripted(reply)
    write_rows(row_1="")
    graded(client="openai/gpt-4o-mini", cache=False)
    lowest = load_run(OUT).lowest(ROWS)

    assert lowest[0].sample_id == "row-4"
    assert [outcome.status for outcome in lowest[:: ROWS - 1]] == ["failed", "not_scorable"]
    spent, (failed,) = RunIndex.read(OUT).spent(), [o for o in lowest if o.status == "failed"]
    assert spent.cost_usd == pytest.approx(sum(o.cost_usd or 0 for o in lowest))
    assert 0 < (failed.cost_usd or 0) < (spent.cost_usd or 0)


def test_usage_is_that_of_the_outcomes_that_count(scripted: Start) -> None:
    """A row that failed and was graded again is paid for twice, and has the usage of its score."""
    broken = True

    def reply(request: JudgeRequest) -> Any:
        return "{" if broken and "Tower 2" in str(request.body) else fill_by_words(request)

    scripted(reply)
    write_rows(3)
    options = {"client": "openai/gpt-4o-mini", "cache": False}
    graded(**options)
    broken = False
    graded(**options)
    run = load_run(OUT)

    assert run.usage()["calls"] == sum(outcome.usage.calls for outcome in run) == 3
    assert run.summary().usage.calls > 3


def test_the_command_shows_the_same_rows_again() -> None:
    """The table of the worst rows, and the folder that has its name from the data."""
    write_rows(30)
    words = ["grade", str(DATA), "--judge", "embedded", "--quiet"]
    first = CliRunner().invoke(app, words)
    second = CliRunner().invoke(app, words)

    assert first.exit_code == second.exit_code == 0
    assert second.stdout == first.stdout
    assert len(list(Path("runs").iterdir())) == 1


def test_a_function_in_the_columns_is_asked_again() -> None:
    """Its code may have changed, so the rows are read."""
    write_rows()
    columns = {"answer": lambda row: row["answer"]}
    graded(columns=columns)

    assert graded(columns=columns).graded == 0
