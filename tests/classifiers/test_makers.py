"""Classifiers as their makers ask them: forms, joined chunks, weights, numbers, no hub."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals.cache import StatementCache, cached
from rag_evals.core import Claim, Meter, Verdict
from rag_evals.errors import ConfigurationError
from rag_evals.grading.grader import drive
from rag_evals.verify import ClassifierVerifier
from tests.classifiers.models import (
    CHUNKS,
    STATEMENTS,
    hhem,
    pair,
    torch,
    transformers,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of others warn as they like


def test_claims_that_need_two_chunks_get_them_joined(tmp_path: Path) -> None:
    """Where no chunk alone supports a claim, the best pieces are read as one text."""
    model = pair(tmp_path, "bert")
    chunks = [*CHUNKS, "a mat . " * 3]
    by_join = {
        join: ClassifierVerifier(model, join=join, threshold=0.99).verify(STATEMENTS, chunks)
        for join in ("never", "unsupported", "always")
    }
    as_one = ClassifierVerifier(model, join="never").verify(STATEMENTS, ["\n".join(chunks)])

    assert [v.windows for v in by_join["never"]] == [3, 3, 3]
    assert [v.windows for v in by_join["unsupported"]] == [4, 4, 4]
    assert [v.support for v in by_join["always"]] == pytest.approx([v.support for v in as_one])
    for alone, more in zip(by_join["never"], by_join["unsupported"], strict=True):
        assert more.support >= alone.support


def test_joined_chunks_name_the_ones_that_carry(tmp_path: Path) -> None:
    """A supported claim names the chunks that support it alone, best first, else all of them."""
    model = pair(tmp_path, "bert")
    alone = ClassifierVerifier(model, join="never", threshold=0.0)
    supports = [alone.verify(STATEMENTS[:1], [chunk])[0].support for chunk in CHUNKS]
    (joined,) = ClassifierVerifier(model, join="always").verify(STATEMENTS[:1], CHUNKS)
    limit = joined.support
    (verdict,) = ClassifierVerifier(model, join="always", threshold=limit).verify(
        STATEMENTS[:1], CHUNKS
    )
    enough = [number for number in (0, 1) if supports[number] >= limit]
    ranked = sorted((0, 1), key=lambda number: -supports[number])

    assert verdict.is_supported
    assert verdict.windows == 3
    assert list(verdict.chunk_ids) == [n for n in ranked if n in enough or not enough]


def test_another_training_in_the_same_folder_is_another_model(tmp_path: Path) -> None:
    """Neither the cache nor this process takes the old weights for the new ones."""
    model = pair(tmp_path, "bert")
    checker = ClassifierVerifier(model)
    cache = StatementCache()
    before = decided(checker, cache)
    first = checker.fingerprint()
    assert [v.from_cache for v in decided(checker, cache)] == [True] * 3
    trained = transformers.AutoModelForSequenceClassification.from_pretrained(model)
    with torch.no_grad():
        trained.classifier.bias.add_(torch.tensor([3.0, 0.0, 0.0]))
    trained.save_pretrained(model)
    after = decided(checker, cache)

    assert checker.fingerprint() != first
    assert [v.from_cache for v in after] == [False] * 3
    assert [v.support for v in after] != pytest.approx([v.support for v in before])


def decided(checker: ClassifierVerifier, cache: StatementCache) -> list[Verdict]:
    """Ask through a cache."""
    claims = [Claim(text) for text in STATEMENTS]
    return drive(cached(checker, cache).flow(claims, CHUNKS), None, Meter())


def test_hhem_needs_no_hub(tmp_path: Path) -> None:
    """Its folder with a tokenizer is enough; without one the error says what to put there."""
    model = Path(hhem(tmp_path / "hhem"))
    expected = ClassifierVerifier(str(model)).verify(STATEMENTS, CHUNKS)
    described = json.loads((model / "config.json").read_text(encoding="utf-8"))
    described["foundation"] = "google/flan-t5-base"
    (model / "config.json").write_text(json.dumps(described), encoding="utf-8")
    alone = ClassifierVerifier(str(model), local_files_only=True)
    with pytest.raises(ConfigurationError, match="tokenizer of 'google/flan-t5-base'.*put that mo"):
        alone.verify(STATEMENTS, CHUNKS)
    for file in (model / "base").glob("tokenizer*"):
        shutil.copy(file, model)
    found = alone.verify(STATEMENTS, CHUNKS)

    assert [v.support for v in found] == pytest.approx([v.support for v in expected], abs=1e-5)


@pytest.mark.parametrize("make", [pair, hhem])
def test_half_precision(make: Callable[[Path], str], tmp_path: Path) -> None:
    """`dtype=bfloat16` computes with it, gives nearly the same, and is another fingerprint."""
    model = make(tmp_path)
    whole, half = (ClassifierVerifier(model, dtype=name) for name in ("float32", "bfloat16"))
    expected = whole.verify(STATEMENTS, CHUNKS)
    found = half.verify(STATEMENTS, CHUNKS)

    assert half.load().adapter._model.dtype == torch.bfloat16
    assert whole.load().adapter._model.dtype == torch.float32
    assert [v.support for v in found] == pytest.approx([v.support for v in expected], abs=0.1)
    assert whole.fingerprint() != half.fingerprint()


@pytest.mark.parametrize(
    ("make", "name", "join"),
    [
        (hhem, "hallucination_evaluation_model", "always"),
        (pair, "nli-deberta-v3-base", "unsupported"),
    ],
)
def test_a_copy_is_asked_as_its_makers_do(
    make: Callable[[Path], str], name: str, join: str, tmp_path: Path
) -> None:
    """A copy in a folder of the model's name is asked as its makers ask it."""
    folder = tmp_path / name
    folder.mkdir()

    assert ClassifierVerifier(make(folder)).load().adapter.join == join
