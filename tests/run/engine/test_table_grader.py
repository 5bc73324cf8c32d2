"""Other engines grade Arrow tables in processes of their own, with one object."""

import asyncio
import importlib.util
import inspect
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag_evals import evaluate, merge, open_session
from rag_evals.errors import ConfigurationError, MissingExtraError
from rag_evals.integrations.ray import grade_dataset
from rag_evals.run import TableGrader, outcome_schema
from rag_evals.testing import Script, ScriptedJudge
from tests.late import Late

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet
else:
    pa, parquet = Late("pyarrow"), Late("pyarrow.parquet")

Start = Callable[[Script], ScriptedJudge]
ROWS: list[dict[str, Any]] = [
    {"id": f"r{n}", "answer": f"Tower {n} is {n} metres tall.", "context": ["Tower 3 is 3 metres."]}
    for n in range(6)
]
ROWS.append({"id": "r6", "answer": None, "context": ["Nothing."]})
embedded = partial(open_session, "faithfulness", "embedded")


def test_a_table_gets_the_outcomes_of_a_run() -> None:
    """One row for each sample, in order, with the columns of outcomes and those to keep."""
    grader = TableGrader(embedded, keep=("id",))

    graded = grader(pa.Table.from_pylist(ROWS))
    grader.close()

    run = evaluate(ROWS, client="embedded")
    assert graded.schema.names == [*outcome_schema().names, "id"]
    assert graded["id"].to_pylist() == graded["sample_id"].to_pylist()
    assert graded["score"].to_pylist() == [outcome.score for outcome in run]
    assert graded["status"].to_pylist()[-1] == "not_scorable"


def test_several_graders_give_several_rows(scripted: Start) -> None:
    """Each sample has a row for each grader, beside each other."""
    judge = scripted(None)
    sessions = partial(
        open_session, ["faithfulness", "answer_relevance"], f"openai/m@{judge.base_url}"
    )
    rows = [{**row, "question": "How tall?"} for row in ROWS[:2]]

    graded = TableGrader(sessions)(pa.Table.from_pylist(rows))

    assert graded["sample_id"].to_pylist() == ["r0", "r0", "r1", "r1"]
    assert len(set(graded["grader"].to_pylist())) == 2


def test_it_travels_before_and_after_it_has_graded() -> None:
    """Pickled, it is its settings; the copy opens a session of its own."""
    grader = TableGrader(embedded, keep=("id",))
    table = pa.Table.from_pylist(ROWS[:2])
    before = pickle.loads(pickle.dumps(grader))(table)
    grader(table)

    after = pickle.loads(pickle.dumps(grader))

    assert repr(grader) == "TableGrader(open)"
    assert repr(after) == "TableGrader(not yet used)"
    timeless = [name for name in before.schema.names if name != "seconds"]
    assert after(table).select(timeless) == before.select(timeless)


def test_single_rows_are_awaited_and_share_the_session() -> None:
    """Engines that await rows have many under way in one session."""
    grader = TableGrader(embedded)

    async def all_rows() -> list[Any]:
        return list(await asyncio.gather(*map(grader.grade_row, ROWS)))

    graded = asyncio.run(all_rows())
    grader.close()

    assert [row["sample_id"] for (row,) in graded] == [row["id"] for row in ROWS]


def test_closed_it_opens_again_with_the_next_table() -> None:
    """Closing twice does nothing, and frees nothing that is needed later."""
    grader = TableGrader(embedded)
    grader.close()
    grader(pa.Table.from_pylist(ROWS[:1]))
    grader.close()
    grader.close()

    assert grader(pa.Table.from_pylist(ROWS[:1])).num_rows == 1


def test_an_empty_table_has_the_same_columns() -> None:
    """Engines hand over empty blocks, and want the schema of the others."""
    grader = TableGrader(embedded, keep=("id",))

    graded = grader(pa.Table.from_pylist(ROWS).slice(0, 0))

    assert graded.num_rows == 0
    assert graded.schema.names[-1] == "id"


def test_columns_that_cannot_be_kept_are_named() -> None:
    """A column of outcomes, and one that is not there."""
    with pytest.raises(
        ConfigurationError, match="keep contains 'score', which is an outcome column"
    ):
        TableGrader(embedded, keep=("score",))
    with pytest.raises(ConfigurationError, match="no column 'key'; it has id, answer, context"):
        TableGrader(embedded, keep=("key",))(pa.Table.from_pylist(ROWS))


def test_ray_takes_what_a_session_takes() -> None:
    """No option of a session is missing where a cluster grades."""
    of_session = inspect.signature(open_session).parameters

    assert set(of_session) <= set(inspect.signature(grade_dataset).parameters)


def test_a_folder_of_parquet_files_is_one_run(tmp_path: Path) -> None:
    """Engines write many files and marks beside them; merge takes the folder."""
    grader, folder = TableGrader(embedded), tmp_path / "graded"
    folder.mkdir()
    for place in range(3):
        table = pa.Table.from_pylist(ROWS[2 * place : 2 * place + 2])
        parquet.write_table(grader(table), folder / f"part-{place}.parquet")
    (folder / "_SUCCESS.crc").touch()

    run = merge([folder], tmp_path / "run")

    assert [outcome.sample_id for outcome in run] == [f"r{n}" for n in range(6)]


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_error_names_the_command() -> None:
    """Ray is an extra."""
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-evals\[ray\]'"):
        grade_dataset(None)
