"""Minimal pairs: a context, a statement it supports, and one that a small change made false."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from rag_evals.embedded import EmbeddedVerifier

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "minimal_pairs.jsonl")
    .read_text(encoding="utf-8")
    .split("\n")
    if line
]
# Share of pairs in which both statements are decided right. What the judge cannot see has a low
# floor, and stands in the model card.
FLOORS = {
    "number": 0.9, "date": 0.9, "unit": 0.9, "name": 0.9, "negation": 0.9, "antonym": 0.9,
    "direction": 0.9, "quantifier": 0.9, "argument order": 0.8, "hedge": 0.9, "added detail": 0.5,
    "paraphrase": 0.9,
}  # fmt: skip


@pytest.mark.parametrize("kind", FLOORS)
def test_minimal_pairs_are_decided(kind: str) -> None:
    """Each kind of change is decided right at least as often as its floor, and ranked right."""
    pairs = [pair for pair in PAIRS if pair["kind"] == kind]
    right = ranked = 0
    for pair in pairs:
        good, bad = EmbeddedVerifier().verify(
            [pair["supported"], pair["unsupported"]], [pair["context"]]
        )
        right += good.is_supported and not bad.is_supported
        ranked += good.support > bad.support

    assert len(pairs) >= 10
    assert right / len(pairs) >= FLOORS[kind]
    assert ranked / len(pairs) >= 0.9


def test_pairs_cover_both_languages() -> None:
    """There are at least 120 pairs; every kind has English and Russian ones."""
    languages = defaultdict(set)
    for pair in PAIRS:
        languages[pair["kind"]].add(pair["language"])

    assert len(PAIRS) >= 120
    assert set(languages) == set(FLOORS)
    assert all(found == {"en", "ru"} for found in languages.values())
