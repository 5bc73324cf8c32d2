"""The model card says what its figures are of, and its figures are those of the shipped judge."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals.embedded.model import MEANINGS
from rag_evals.embedded.verifier import EmbeddedVerifier
from tools.train_embedded import card

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "embedded-judge.md").read_text(encoding="utf-8")


def test_development_and_held_out_are_told_apart() -> None:
    """The card says what each word means, and the figure on held-out RAG answers."""
    said = " ".join(PAGE.split())

    assert "held-out rows are rows that nobody read" in said
    assert "71.8" in said


def test_the_page_is_written_from_its_template() -> None:
    """The text between the figures stands in the page in the template's order."""
    template = card._PAGE.replace("{ablation}", card._ABLATION.replace("{dropped}", card._DROPPED))
    place = 0
    for text in re.split(r"(?<!{){\w+[^{}]*}(?!})", template):
        found = PAGE.find(text.format(), place)
        assert found >= 0, text
        place = found + len(text.format())


@pytest.mark.parametrize("table", [card._fresh, card._pairs, card._languages])
def test_the_figures_are_those_of_the_shipped_judge(
    table: Callable[[EmbeddedVerifier], str],
) -> None:
    """Fresh cases, pairs that differ in one detail, and languages are counted again."""
    assert table(EmbeddedVerifier()) in PAGE


def test_the_weights_are_those_of_the_shipped_judge() -> None:
    """The card names the file's hash, and lists each feature's weight."""
    document = (ROOT / "rag_evals" / "_data" / "embedded_weights.json").read_bytes()
    coefficients = json.loads(document)["coefficients"]

    assert hashlib.sha256(document).hexdigest()[:16] in PAGE
    for name, meaning in MEANINGS.items():
        assert f"| `{name}` | {coefficients[name]:+.2f} | {meaning} |" in PAGE
