"""The commands that say how far a run can be trusted: compare, agreement, correct."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals import evaluate
from rag_evals.cli.main import app
from rag_evals.errors import ConfigurationError
from tests.labelled import write_labelled_files

CONTEXT = ["The tower stands in Paris, France.", "It was completed in 1889."]
RIGHT, WRONG = "The tower stands in Paris.", "Purple bananas grow on distant moons."


def call(*arguments: str) -> Any:
    """Run a command as a user would."""
    return CliRunner().invoke(app, list(arguments))


def rows(right: int, total: int) -> list[dict[str, Any]]:
    """Return rows of which the first are supported; each says so in `label`."""
    return [
        {
            "id": f"r{n}",
            "answer": RIGHT if n < right else WRONG,
            "context": CONTEXT,
            "label": int(n < right),
            "topic": "even" if n % 2 == 0 else "odd",
        }
        for n in range(total)
    ]


@pytest.fixture
def runs() -> None:
    """Keep a good run and a bad one."""
    evaluate(rows(18, 20), out="good")
    evaluate(rows(6, 20), out="bad")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("good", "bad"), 0),
        (("good", "bad", "--fail-if-worse", "0"), 1),
        (("--fail-if-worse", "0", "good", "bad"), 1),
        (("good", "bad", "--fail-if-worse", "0.1"), 1),
        (("good", "bad", "--fail-if-worse", "0.9"), 0),
        (("bad", "good", "--fail-if-worse", "0"), 0),
        (("good", "good", "--fail-if-worse", "0"), 0),
        (("good", "bad", "--fail-if-worse", "2"), 2),
    ],
)
def test_ci_fails_only_when_the_interval_says_worse(
    runs: None, arguments: tuple[str, ...], code: int
) -> None:
    """Exit 1 needs the whole interval below the margin; the margin may be left out."""
    assert call("compare", *arguments).exit_code == code


def test_compare_says_what_it_found(runs: None) -> None:
    """Text for people, with groups; JSON with the verdict for programs."""
    text = call("compare", "good", "bad", "--by", "topic").output
    numbers = json.loads(call("compare", "good", "bad", "--by", "topic", "--json").output)

    assert "faithfulness: the candidate is worse" in text
    assert "  even: -0.600" in text
    assert numbers["graders"][0]["verdict"] == "worse"
    assert [group["group"] for group in numbers["graders"][0]["groups"]] == ["even", "odd"]


def test_agreement_takes_labels_from_the_data(runs: None) -> None:
    """Without a file the column `label` is used; --json has the same numbers."""
    text = call("judge", "agreement", "good").output
    numbers = json.loads(call("judge", "agreement", "good", "label", "--json").output)

    assert "faithfulness, 20 labelled rows, right if the score is at least 1" in text
    assert numbers["tables"][0]["agreement"]["confusion"]["true_positives"] == 18


def test_correct_says_when_nothing_is_left_to_correct(runs: None) -> None:
    """All rows labelled: the labels' mean; --json has it too."""
    assert "every row has a label" in call("judge", "correct", "good").output
    numbers = json.loads(call("judge", "correct", "good", "--json").output)
    assert numbers["corrections"][0]["labels_only"]["estimate"] == 0.9


def test_data_unlike_the_labels_end_the_command_where_tuned_is_required(tmp_path: Path) -> None:
    """Exit 1 and one line; without the option it is a note. Old files cannot be compared."""
    write_labelled_files(tmp_path)
    labelled, tuned = str(tmp_path / "labelled.jsonl"), tmp_path / "judge.json"
    bad = "\n".join(json.dumps(row | {"question": None}) for row in rows(0, 60))
    (tmp_path / "other.jsonl").write_text(bad)
    call("grade", labelled, "--out", "labelled")
    call("judge", "tune", "labelled", "-o", str(tuned))
    options = ("--tuned", str(tuned), "--require-tuned")
    alike = call("grade", labelled, *options, "--out", "alike")
    note = call("grade", str(tmp_path / "other.jsonl"), *options[:2], "--json", "--out", "note")
    unlike = call("grade", str(tmp_path / "other.jsonl"), *options, "--out", "unlike")
    old = json.loads(tuned.read_text())
    del old["spread"], old["worth"]
    tuned.write_text(json.dumps(old))
    blind = call("grade", labelled, *options, "--out", "blind")

    assert (alike.exit_code, note.exit_code, unlike.exit_code) == (0, 0, 1)
    assert "look like" not in alike.output
    (stage,) = json.loads(note.stdout)["stages"]["faithfulness"]
    assert stage["tuned"]["shift"]["is_foreign"] is True
    assert "gate missed: --require-tuned: these data do not look like the labels" in unlike.stderr
    assert isinstance(blind.exception, ConfigurationError)
    assert "does not contain the support values of its labels" in str(blind.exception)
