"""A run folder of a later version is read: what this one does not know is passed over."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

ROWS = [
    {"id": "a", "answer": "It is in Paris. It opened in 1923.", "context": ["It is in Paris."]},
    {"id": "b", "answer": "It is in Rome.", "context": ["It is in Paris.", "It opened in 1889."]},
    {"id": "c", "answer": " ", "context": ["It is in Paris."]},
]
# Names to values of a user's own: a new name there is one more of them.
NAMES = (
    "usage",
    "tallies",
    "further_scores",
    "graders",
    "models",
    "columns",
    "settings",
    "stages",
    "identity",
)
NEW = {"kind": [1, {"x": None}]}


def of_next_version(value: Any, name: str = "") -> Any:
    """Return stored JSON with a new field at every depth."""
    if isinstance(value, list):
        return [of_next_version(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: of_next_version(one, key) for key, one in value.items()}
    return made if name in NAMES else {**made, "new_in_the_next_version": NEW}


@pytest.fixture
def later(command: Command) -> str:
    """Grade rows, and write the folder as a made-up next version would."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    assert command("grade", "rows.jsonl", "--out", "now", "--quiet").code == 0
    shutil.copytree("now", "later")
    for name in ("results.jsonl", "samples.jsonl", "manifest.json"):
        path = Path("later", name)
        lines = path.read_text().splitlines() if name.endswith("l") else [path.read_text()]
        path.write_text("".join(json.dumps(of_next_version(json.loads(x))) + "\n" for x in lines))
    Path("later", "index.sqlite").unlink()
    assert Path("later/results.jsonl").read_text().count("new_in_the_next_version") > 8
    return "later"


@pytest.mark.parametrize(
    "words",
    [
        "report later",
        "report later --out page.html",
        "report later --json",
        "compare now later",
        "compare later later",
        "export later --to rows.csv",
        "export later --to rows.jsonl --shape long",
        "merge later --out merged",
        "judge agreement later labels.jsonl",
        "judge correct later labels.jsonl",
        "judge label later --out label.html",
        "grade rows.jsonl --out later --quiet",
    ],
)
def test_every_command_reads_the_folder(command: Command, later: str, words: str) -> None:
    """As it reads one of its own: same exit code, same words."""
    rows = [{"sample_id": "a", "label": 0}, {"sample_id": "b", "label": 0}]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ended = command(*words.split())
    shutil.rmtree("merged", ignore_errors=True)
    own = command(*words.replace("later", "now").split())

    assert ended.code in (0, 2)
    assert (ended.code, ended.err.replace(later, "now")) == (own.code, own.err)
