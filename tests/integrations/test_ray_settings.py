"""What is checked before anything is graded on Ray's cluster: rates, folders, the judge."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals.errors import ConfigurationError
from rag_evals.integrations import ray as on_ray
from rag_evals.integrations.ray import _address, _require_same_judge, grade_dataset


def opener(**identity: Any) -> Any:
    """Return a session with this identity."""
    base = {"judge": "a", "address": None, "models": ["m"], "settings": {}, "graders": {"g": "1"}}
    return SimpleNamespace(plan=SimpleNamespace(identity=base | identity | {"file": "d"}))


def test_an_address_is_absolute_or_a_url() -> None:
    """Workers run in folders of their own."""
    assert _address("kept") == str(Path("kept").absolute())
    assert _address(Path("/x/y")) == "/x/y"
    assert _address("s3://x/y") == "s3://x/y"
    for wrong in ("", 7, None):
        with pytest.raises(ConfigurationError, match="expected a folder, as in 'graded-ids'"):
            _address(wrong)  # type: ignore[arg-type]


def test_a_checkpoint_belongs_to_its_judge() -> None:
    """Once it has ids of rows; before that another judge may begin it."""
    pytest.importorskip("pyarrow")
    folder = _address("kept")
    _require_same_judge(folder, opener())
    note = Path("kept.judge.json")
    assert json.loads(note.read_text()) == {
        "judge": "a",
        "address": None,
        "models": ["m"],
        "settings": {},
        "graders": {"g": "1"},
    }
    _require_same_judge(f"{folder}/", opener(judge="b"))
    assert json.loads(note.read_text())["judge"] == "b"
    Path("kept/part").mkdir(parents=True)
    _require_same_judge(folder, opener(judge="c"))
    Path("kept/part/ids.csv").touch()
    _require_same_judge(folder, opener(judge="c"))
    for other in (
        {"judge": "d"},
        {"judge": "c", "models": ["n"]},
        {"judge": "c", "settings": {"seed": 1}},
        {"judge": "c", "graders": {"g": "2"}},
        {"judge": "c", "address": "http://x"},
    ):
        with pytest.raises(ConfigurationError, match="belongs to another run"):
            _require_same_judge(folder, opener(**other))
    assert json.loads(note.read_text())["judge"] == "c"


def test_rates_are_shared_by_the_actors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its part of the concurrency, at least one, and of the calls and tokens a minute."""
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(on_ray, "_graded", lambda *given: seen.append(given))
    options: list[dict[str, Any]] = []
    dataset: Any = "data"
    cases: list[tuple[Any, int, str | None]] = [
        ({}, 2, None),
        ({"concurrency": 10, "rpm": 90, "tpm": 300}, 3, "id"),
        ({"concurrency": 2}, 5, None),
    ]
    for given, actors, id_column in cases:
        grade_dataset(
            dataset, client="openai/m", actors=actors, id_column=id_column, block_rows=7, **given
        )
        _, _, grader, told, checkpoint, rows = seen[-1]
        assert (told, checkpoint, rows) == (actors, None, 7)
        assert grader.keep == (() if id_column is None else ("id",))
        options.append(grader.sessions.keywords)

    assert [one["concurrency"] for one in options] == [16, 3, 1]
    assert (options[1]["rpm"], options[1]["tpm"]) == (30, 100)
    assert options[1]["columns"].id == "id"
    assert "rpm" not in options[0]
    with pytest.raises(ConfigurationError, match="checkpoint needs id_column"):
        grade_dataset(dataset, client="openai/m", checkpoint="kept")
    with pytest.raises(ConfigurationError, match="one grader at a time, not 2"):
        grade_dataset(
            dataset,
            ["faithfulness", "answer_relevance"],
            "openai/m",
            checkpoint="kept",
            id_column="id",
        )
    with pytest.raises(ConfigurationError, match="actors is 0"):
        grade_dataset(dataset, client="openai/m", actors=0)
