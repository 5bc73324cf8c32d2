"""`rag-evals doctor` without a classifier's libraries: yes/no checkers, and what it refuses."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals.testing import JudgeRequest, Reply, Script, ScriptedJudge
from tests.conftest import Command

Start = Callable[[Script], ScriptedJudge]

BESPOKE = "yes-no:openai/Bespoke-MiniCheck-7B"


def as_published(request: JudgeRequest) -> Reply:
    """Give the scores of the makers' own demonstration."""
    yes = 0.984 if "preparing" in str(request.messages) else 0.011
    return Reply("Yes", logprobs=[{"Yes": math.log(yes), "No": math.log(1 - yes)}])


def test_a_checker_that_gives_its_makers_scores(scripted: Start, command: Command) -> None:
    """Both pairs are the same, and the command ends with 0."""
    scripted(as_published)
    ended = command("doctor", BESPOKE)

    assert ended.code == 0
    assert "2 of 2 as published (tolerance 0.02)" in ended.out


def test_a_checker_that_does_not(scripted: Start, command: Command, tmp_path: Path) -> None:
    """One that turns yes and no around differs, with the published scores and with one's own."""
    scripted(Reply("No", logprobs=[{"No": math.log(0.9), "Yes": math.log(0.1)}]))
    own = tmp_path / "scores.jsonl"
    own.write_text('{"premise": "a", "hypothesis": "b", "support": 0.3}\n', encoding="utf-8")
    ended = command("doctor", BESPOKE)
    with_own = command("doctor", BESPOKE, "--golden", str(own))

    assert (ended.code, with_own.code) == (1, 1)
    assert "0 of 2 as published" in ended.out
    assert "0.300" in with_own.out
    assert command("doctor", BESPOKE, "--golden", str(own), "--tolerance", "0.3").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["embedded"], "doctor checks classifiers and yes/no checkers, and 'embedded' is neither"),
        (["openai/gpt-4o-mini"], "'openai/gpt-4o-mini' is neither; expected 'hf:MODEL' or"),
        (["hf:a/b"], "classifiers need transformers and torch; run: pip install 'rag-evals[hf]'"),
        (["hf:a/b?form=mini"], "no form 'mini'; did you mean"),
        ([BESPOKE, "--golden", "none.jsonl"], "does not exist"),
        ([BESPOKE, "--golden", "bad.jsonl"], "line 1: support: Field required; a golden pair has"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], says: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With exit code 2."""
    monkeypatch.setitem(sys.modules, "torch", None)
    Path("bad.jsonl").write_text('{"premise": "a", "hypothesis": "b"}\n', encoding="utf-8")
    ended = command("doctor", *words)

    assert ended.code == 2
    assert says in ended.err
    assert ended.err.count("\n") == 1
