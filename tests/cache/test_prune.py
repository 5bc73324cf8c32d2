"""Old entries go, by age, by model and by size; the others stay."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rag_evals import TwoStepFaithfulness, evaluate
from rag_evals.cache import StatementCache, count_rows, default_path, models_in
from rag_evals.cache.statements import StatementKey
from rag_evals.core import Claim, Verdict
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL, Command

Start = Callable[[Script], ScriptedJudge]
VERDICT = Verdict(1.0, True, (0,), "r" * 500, decided_by="embedded")


def counts() -> tuple[int, int]:
    """Return how many answers and verdicts the cache file holds."""
    return count_rows(default_path(), "calls"), count_rows(default_path(), "verdicts")


def test_entries_of_a_model_are_deleted(scripted: Start, command: Command) -> None:
    """Answers and verdicts of the model that is named go; it may be named without its provider."""
    scripted(None)
    for model in ("one", "two"):
        evaluate([EIFFEL], [TwoStepFaithfulness], f"openai/{model}", cache=True, progress=False)
    assert counts() == (4, 4)
    assert {"one", "two"} <= set(models_in(default_path()))

    assert "2 answers, 2 verdicts" in command("cache", "--clear", "--model", "one").out
    assert counts() == (2, 2)
    ended = command("cache", "--clear", "--model", "three")
    assert "0 answers, 0 verdicts" in ended.out
    assert "the cache has entries of: " in ended.out
    assert "two" in ended.out


def test_entries_older_than_an_age_are_deleted(scripted: Start, command: Command) -> None:
    """`--older-than 30d` keeps what was made since."""
    scripted(None)
    evaluate([EIFFEL], [TwoStepFaithfulness], "openai/m", cache=True, progress=False)
    with closing(sqlite3.connect(default_path())) as file, file:
        file.execute("UPDATE verdicts SET created = ?", (time.time() - 31 * 86400,))

    assert "0 answers, 0 verdicts" in command("cache", "--clear", "--older-than", "5w").out
    assert "0 answers, 2 verdicts" in command("cache", "--clear", "--older-than", "30d").out
    assert counts() == (2, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--older-than", "30d"], "--older-than and --model do nothing without --clear"),
        (["--clear", "--older-than", "soon"], "--older-than is 'soon'; expected hours, days or"),
        (["--clear", "--older-than", "30"], "such as 12h, 30d or 4w"),
    ],
)
def test_a_wrong_wish_deletes_nothing(command: Command, options: list[str], message: str) -> None:
    """Exit code 2, and what would be right."""
    ended = command("cache", *options)

    assert ended.code == 2
    assert message in " ".join(ended.err.split())


def test_without_a_cache_nothing_is_made(command: Command) -> None:
    """No file comes into being by deleting from it."""
    assert "0 answers, 0 verdicts" in command("cache", "--clear", "--model", "m").out
    assert not default_path().exists()


def test_a_full_cache_forgets_its_oldest_entries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`RAG_EVALS_CACHE_MAX_MB` bounds the file; what is new is always there."""
    monkeypatch.setenv("RAG_EVALS_CACHE_MAX_MB", "0.2")
    path = tmp_path / "cache.sqlite3"
    cache = StatementCache(path)
    keys = [StatementKey.of(Claim(f"Statement {number}.")) for number in range(400)]
    for first in range(0, 400, 20):
        cache.store("g", dict.fromkeys(keys[first : first + 20], VERDICT))
        assert None not in cache.look_up("g", keys[first : first + 20])

    assert cache.look_up("g", keys[:20]) == [None] * 20
    assert 50 < cache.count() < 400
    cache.close()
    assert path.stat().st_size < 300_000
