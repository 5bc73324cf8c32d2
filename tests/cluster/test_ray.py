"""Rows on a Ray cluster: every row once, whoever dies.

CI runs this folder in an environment of its own; elsewhere it is skipped: needs the extra `ray`.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, evaluate, merge, tune
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.testing import JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import fill_by_words
from tests.labelled import labelled_rows

ray: Any = pytest.importorskip("ray", reason="Ray is not installed")
arrow: Any = pytest.importorskip("pyarrow")

from pyarrow import parquet  # noqa: E402 - only where there is Ray

from rag_evals.integrations.ray import grade_dataset  # noqa: E402

Start = Callable[[Script], ScriptedJudge]
# Libraries of others warn as they like.
pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 300
BLOCK = 25
ACTORS = 2
# Each actor grades one block at a time.
GRADED_TWICE = ACTORS * BLOCK
# Ends a test that would wait for ever; no test passes or fails by it.
PATIENCE = 300


def sample(number: int) -> dict[str, Any]:
    """Make a row; every seventh is supported."""
    return {
        "id": f"row-{number:05}",
        "answer": f"Tower {number} is {number % 7} metres tall.",
        "contexts": [f"Tower {number} is 3 metres tall."],
    }


def write_rows(folder: Path, count: int = ROWS) -> Path:
    """Write rows to five Parquet files."""
    folder.mkdir()
    for part in range(5):
        rows = [sample(number) for number in range(part, count, 5)]
        parquet.write_table(arrow.Table.from_pylist(rows), folder / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Start Ray on this machine, with eight logical CPUs."""
    # Workers have the environment that Ray was started with.
    os.environ |= {"OPENAI_API_KEY": "any", "RAY_AUTH_MODE": "disabled"}
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def ids_in(folder: Path) -> Counter[str]:
    """Count the ids of all graded rows."""
    return Counter(parquet.read_table(folder, columns=["sample_id"])["sample_id"].to_pylist())


def once(count: int = ROWS) -> Counter[str]:
    """Return every id once."""
    return Counter(sample(number)["id"] for number in range(count))


class Holding:
    """A script that answers by words, and those from request `first` on only after `release`.

    Attributes:
        reached: Set with request `last`: all from `first` to it are open, and stay so.
        release: Set by the test.
    """

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.reached, self.release = threading.Event(), threading.Event()

    def __call__(self, request: JudgeRequest) -> Any:
        """Answer a request, when its time has come."""
        if request.number >= self.last:
            self.reached.set()
        if request.number >= self.first:
            self.release.wait(PATIENCE)
        return fill_by_words(request)


def wait_until(is_so: Callable[[], object]) -> None:
    """Look again and again until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def asking(judge: ScriptedJudge) -> list[int]:
    """Return the actors with a connection to a judge: others may be left of an earlier test."""
    port = int(judge.base_url.split(":")[2].split("/")[0])
    sockets = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[2].endswith(f":{port:04X}"):
            sockets.add(f"socket:[{words[9]}]")
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"TableGrader" in (process / "cmdline").read_bytes() and sockets & {
                str(file.readlink()) for file in (process / "fd").iterdir()
            }:
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("cluster")
def test_graded_on_ray_rows_have_the_scores_of_a_plain_run(tmp_path: Path) -> None:
    """The embedded judge on two actors; then Parquet, one run folder, and the same mean."""
    dataset = ray.data.read_parquet(str(write_rows(tmp_path / "rows")))
    graded = grade_dataset(dataset, "faithfulness", "embedded", id_column="id")
    graded.write_parquet(str(tmp_path / "graded"))

    run = merge([tmp_path / "graded"], tmp_path / "run")

    plain = evaluate([sample(number) for number in range(ROWS)], client="embedded")
    assert ids_in(tmp_path / "graded") == once()
    assert {o.sample_id: o.score for o in run} == {o.sample_id: o.score for o in plain}


@pytest.mark.usefixtures("cluster")
def test_bad_rows_are_outcomes(tmp_path: Path) -> None:
    """A row without an answer, or without chunks, has an outcome that says so."""
    rows = [sample(1), {**sample(2), "answer": None}, {**sample(3), "contexts": []}]
    graded = grade_dataset(ray.data.from_items(rows), "faithfulness", "embedded", id_column="id")

    found = {row["id"]: (row["sample_id"], row["status"]) for row in graded.take_all()}

    assert {own: status for own, (_, status) in found.items()} == {
        "row-00001": "scored",
        "row-00002": "not_scorable",
        "row-00003": "not_scorable",
    }
    assert all(own == sample_id for own, (sample_id, _) in found.items())


@pytest.mark.usefixtures("cluster")
def test_actors_that_die_lose_no_row(scripted: Start, tmp_path: Path) -> None:
    """SIGKILL: their blocks are graded again by others, and nothing is graded a third time."""
    # From a third of the rows on no call has ended when the actors die: each has a block to lose.
    script = Holding(ROWS // 3, ROWS // 3)
    judge = scripted(script)
    dataset = ray.data.read_parquet(str(write_rows(tmp_path / "rows")))
    graded = grade_dataset(
        dataset, "faithfulness", f"openai/m@{judge.base_url}", actors=ACTORS, block_rows=BLOCK
    )
    killer = threading.Thread(target=kill_actors, args=(judge, script))
    killer.start()
    graded.write_parquet(str(tmp_path / "graded"))
    killer.join()

    assert ids_in(tmp_path / "graded") == once()
    assert ROWS < len(judge.requests) <= ROWS + GRADED_TWICE


def kill_actors(judge: ScriptedJudge, script: Holding) -> None:
    """Kill all that ask, while what they ask is held; then let the judge answer."""
    script.reached.wait(PATIENCE)
    for process in asking(judge):
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: not asking(judge))
    script.release.set()


def test_killed_the_driver_goes_on_where_it_was(scripted: Start, tmp_path: Path) -> None:
    """SIGKILL of the script: started again, it grades what was not written, and pays no more."""
    script = Holding(ROWS // 2, ROWS // 2)
    judge = scripted(script)
    rows, out, kept = write_rows(tmp_path / "rows"), tmp_path / "graded", tmp_path / "kept"
    words = [sys.executable, str(Path(__file__).with_name("driver.py")), str(rows), str(out)]
    words += [str(kept), f"openai/m@{judge.base_url}"]
    environment = {**os.environ, "OPENAI_API_KEY": "any", "RAY_AUTH_MODE": "disabled"}
    first = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)
    script.reached.wait(PATIENCE)
    wait_until(lambda: list(kept.glob("**/*.parquet")))
    first.kill()
    first.wait()
    wait_until(lambda: not asking(judge))
    ended = parquet.read_table(kept).num_rows
    asked = len(judge.requests)
    script.release.set()

    again = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert again.returncode == 0, again.stderr[-2000:]
    assert ids_in(out) == once()
    assert 0 < ended < ROWS
    assert len(judge.requests) - asked == ROWS - ended
    assert len(merge([out], tmp_path / "run")) == ROWS


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "more actors than the cluster feeds": (
        {"actors": 25},
        r"25 actors need a cluster of 8.25 CPUs \(0.25 each, and 2 for reading and writing\); Ray "
        r"reports 8. Use fewer actors, or tell Ray to count more CPUs, as in "
        r"ray.init\(num_cpus=8\)",
    ),
    "no actor": ({"actors": 0}, "actors is 0; expected at least 1"),
    "a checkpoint without ids": (
        {"checkpoint": "kept"},
        "checkpoint needs id_column, the name of a column with unique ids, as in id_column='id'",
    ),
    "a checkpoint for two graders": (
        {
            "checkpoint": "kept",
            "id_column": "id",
            "graders": ["faithfulness", "abstention"],
            "client": "openai/m",
        },
        "checkpoint supports one grader at a time, not 2: Ray stores row ids, so a crash "
        "between two outcomes of a row would lose one; grade once per grader",
    ),
    "a client that stays here": (
        {"graders": Faithfulness, "client": threading.Lock()},
        "client",
    ),
    "an unknown grader": ({"graders": "faithfulnes"}, "faithfulnes"),
    "no place": ({"concurrency": 0}, "concurrency is 0; expected at least 1"),
    "no rate": ({"rpm": 0}, "rpm is 0; expected"),
    "a rate that is a word": ({"rpm": "many"}, "rpm is 'many'; expected"),
    "no row in a block": ({"block_rows": 0}, "block_rows is 0; expected at least 1"),
    "no grader": ({"graders": []}, "grader"),
    "no repetition": ({"repeat": 0}, "repeat is 0; expected at least 1"),
    "a tuning that is not there": (
        {"tuned": "judge.json"},
        "'judge.json' does not exist",
    ),
    "a tuning that is a number": ({"tuned": 5}, "tuned has 5; expected a file"),
    "no folder": ({"checkpoint": "", "id_column": "id"}, "checkpoint is ''; expected a folder"),
    "a list of rows": ({"dataset": [sample(1)]}, "dataset is list; expected a Ray data set"),
    "an id that is not there": ({"id_column": "key"}, "no column 'key'"),
    "data without answers": ({"columns": {"answer": "reply"}}, "no column 'reply'"),
    "a column that outcomes have": (
        {"id_column": "score"},
        "keep contains 'score', which is an outcome column",
    ),
}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_work_is_said_before_anything_is_graded(name: str) -> None:
    """One line from the driver, not a traceback from an actor."""
    options, message = WRONG[name]
    dataset = ray.data.from_items([sample(1)])

    with pytest.raises((ConfigurationError, DataError), match=message) as caught:
        grade_dataset(**{"dataset": dataset, "client": "embedded", **options})

    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("cluster")
def test_a_checkpoint_is_of_one_judge(scripted: Start, tmp_path: Path) -> None:
    """Started again with another model it is refused with both names; the same script goes on."""
    judge = scripted(None)
    rows = str(write_rows(tmp_path / "rows", 40))
    first, other = (f"openai/{model}@{judge.base_url}" for model in ("a", "b"))
    options: Any = {"id_column": "id", "checkpoint": tmp_path / "ids", "block_rows": 10}

    def write(client: str) -> None:
        graded = grade_dataset(ray.data.read_parquet(rows), "faithfulness", client, **options)
        graded.write_parquet(str(tmp_path / "graded"), mode="append")

    grade_dataset(ray.data.read_parquet(rows), "faithfulness", other, **options)
    write(first)
    with pytest.raises(ConfigurationError, match=f"ids' belongs to another .*{first}.*{other}"):
        write(other)
    write(first)

    assert ids_in(tmp_path / "graded") == once(40)
    assert len(judge.requests) == 40
    assert {o.judge for o in merge([tmp_path / "graded"], tmp_path / "run")} == {first}


@pytest.mark.usefixtures("cluster")
def test_a_tuned_judge_and_repetitions_travel(scripted: Start, tmp_path: Path) -> None:
    """Scores are those of a run with the same options; the file is read where the script runs."""
    rows = list(labelled_rows())
    file = tmp_path / "judge.json"
    tune(evaluate(rows, client="embedded")).write(file)
    options: Any = {"client": "embedded", "tuned": file}
    plain = evaluate(rows, **options)
    given = [{name: row[name] for name in ("id", "answer", "context")} for row in rows]
    graded = grade_dataset(ray.data.from_items(given), **options, id_column="id")
    judge = scripted(None)
    asked = f"openai/m@{judge.base_url}"
    twice = grade_dataset(ray.data.from_items(given[:5]), client=asked, repeat=2, id_column="id")

    # Actors on other machines have no such file.
    file.unlink()
    found = {row["id"]: row["score"] for row in graded.take_all()}

    assert found == {outcome.sample_id: outcome.score for outcome in plain}
    assert (twice.count(), len(judge.requests)) == (5, 10)


@pytest.mark.usefixtures("cluster")
def test_rates_and_places_are_those_of_all_actors(scripted: Start, tmp_path: Path) -> None:
    """`concurrency` counts over the cluster: two actors of four places never have nine calls."""
    script = Holding(0, 3)
    judge = scripted(script)
    dataset = ray.data.read_parquet(str(write_rows(tmp_path / "rows")))
    graded = grade_dataset(
        dataset, "faithfulness", f"openai/m@{judge.base_url}", concurrency=8, block_rows=BLOCK
    )

    def answer() -> None:
        script.reached.wait(PATIENCE)
        script.release.set()

    answering = threading.Thread(target=answer)
    answering.start()
    graded.write_parquet(str(tmp_path / "graded"))
    answering.join()

    assert ids_in(tmp_path / "graded") == once()
    assert 4 <= judge.max_in_flight <= 8
