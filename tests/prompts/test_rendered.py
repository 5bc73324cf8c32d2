"""What each shipped prompt sends for one sample, as a snapshot: a change is a visible diff."""

import os
from pathlib import Path

import pytest

from rag_evals.base import ContextEvaluation
from rag_evals.catalog import GRADERS
from rag_evals.prompt import shipped_names
from rag_evals.sample import Sample

SNAPSHOTS = Path(__file__).parent
SAMPLE = Sample(
    question="Where is the tower?",
    answer="It is in Paris. It was finished in 1889.",
    context=["The tower is in Paris.", "Finished: 1889 {{ not a variable }}"],
    reference="Paris, 1889.",
)


def rendered(grader: ContextEvaluation[object]) -> str:  # type: ignore[type-var]  # any result
    """Write the messages of a grader as one text."""
    return "".join(f"=== {m['role']} ===\n{m['content']}\n" for m in grader.messages(SAMPLE))


@pytest.mark.parametrize("name", GRADERS)
def test_a_shipped_prompt_sends_what_its_snapshot_says(name: str) -> None:
    """Set UPDATE_SNAPSHOTS=1 to write the snapshots anew after a wanted change."""
    path = SNAPSHOTS / f"{name}.txt"
    text = rendered(GRADERS[name])
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")


def test_every_shipped_prompt_is_used() -> None:
    """No prompt file lies about unused: each belongs to a grader or is the data block."""
    used = {grader._prompt.origin.removesuffix(".jinja") for grader in GRADERS.values()}

    assert used | {"chunk_template"} == set(shipped_names())
