"""One figure for one judge: the pages that speak of the embedded judge's accuracy agree."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_every_figure_of_the_overview_stands_in_the_model_card() -> None:
    """A row of judge-quality repeats a row of the card: same number of rows, same accuracy."""
    card = (DOCS / "embedded-judge.md").read_text(encoding="utf-8")
    page = (DOCS / "judge-quality.md").read_text(encoding="utf-8")
    _, _, overview = page.partition("## How accurate the embedded judge is")
    rows = re.findall(r"(?m)^\| [^|]+ \| \w+ \| ?(\d*) \| ([\d.]+) \|$", overview)

    assert len(rows) == 10
    for count, accuracy in rows:
        lines = [line for line in card.split("\n") if accuracy in line]
        assert any(not count or f"| {count} |" in line for line in lines), (count, accuracy)


def test_development_and_held_out_are_told_apart() -> None:
    """The card says what each word means, and the figure on held-out RAG answers."""
    card = " ".join((DOCS / "embedded-judge.md").read_text(encoding="utf-8").split())

    assert "held-out rows are rows that nobody read" in card
    assert "71.8" in card
