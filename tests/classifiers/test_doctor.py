"""`rag-evals doctor` on tiny structures: what is checked, what differs, how it ends."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals.analysis import check_up
from rag_evals.verify import ClassifierVerifier
from rag_evals.verify.classifier import GOLDEN
from tests.classifiers.models import hhem, lettuce, minicheck, minicheck_pair, pair
from tests.conftest import Command

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of others warn as they like


@pytest.mark.parametrize(
    ("make", "name", "form", "label", "pairs"),
    [
        (hhem, "hallucination_evaluation_model", "hhem", "class 1 at the first token", 7),
        (minicheck, "MiniCheck-Flan-T5-Large", "minicheck-t5", "the word 1 against 0", 2),
        (minicheck_pair, "MiniCheck-RoBERTa-Large", "minicheck", "LABEL_1", 2),
        (lettuce, "lettucedect-base-modernbert-en-v1", "lettucedetect-v1", "supported", 1),
        (lettuce, "lettucedect-v2-mmbert-base", "lettucedetect-v2", "supported", 1),
        (pair, "nli-deberta-v3-base", "pair", "entailment", 2),
    ],
)
def test_random_weights_are_no_published_ones(
    make: Callable[[Path], str], name: str, form: str, label: str, pairs: int, tmp_path: Path
) -> None:
    """The structure of each known model is asked in its form, and its scores differ."""
    folder = tmp_path / name
    folder.mkdir()
    checkup = check_up(f"hf:{make(folder)}", tolerance=0.001)

    assert (checkup.facts["form"], checkup.facts["label"]) == (form, label)
    assert len(checkup.pairs) == pairs
    assert checkup.batch_difference < 1e-4
    if any(pair.expected is not None for pair in checkup.pairs):
        assert not checkup.passed
    assert len(checkup.facts["weights"]) == 64


def test_it_ends_with_1_where_scores_differ(tmp_path: Path, command: Command) -> None:
    """It prints what the model is, every pair, and what a difference means."""
    folder = tmp_path / "hhem"
    folder.mkdir()
    ended = command("doctor", f"hf:{hhem(folder)}")

    assert ended.code == 1
    for words in ("form: hhem", "chunks joined: always", "dtype: float32", "published", "0.897"):
        assert words in ended.out
    assert "of 7 as published (tolerance 0.02)" in ended.out
    assert "these are other weights than the published ones, or they are asked in" in ended.out


def test_scores_of_your_own(tmp_path: Path, command: Command) -> None:
    """`--golden` compares with a file; the same model gives the same scores, and code 0."""
    model = pair(tmp_path / "mine", "bert")
    claims = [one.hypothesis for one in GOLDEN["nli"]]
    verdicts = ClassifierVerifier(model).verify(claims, ["A man is eating pizza"])
    rows = [
        {"premise": "A man is eating pizza", "hypothesis": claim, "support": verdict.support}
        for claim, verdict in zip(claims, verdicts, strict=True)
    ]
    scores = tmp_path / "scores.jsonl"
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    unknown = command("doctor", f"hf:{model}")
    same = command("doctor", f"hf:{model}", "--golden", str(scores), "--json")
    nowhere = command("doctor", "hf:./nowhere")

    assert unknown.code == 0
    assert "no scores are published for this model; --golden FILE" in unknown.out
    assert same.code == 0
    assert json.loads(same.out)["passed"]
    assert [one["differs"] for one in json.loads(same.out)["pairs"]] == [False, False]
    assert nowhere.code == 2
    assert nowhere.err.startswith("Error: classifier './nowhere' cannot be loaded: ")
