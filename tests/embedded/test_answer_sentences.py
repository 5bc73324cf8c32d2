"""Preparation, measured: which sentences of answers claim something, on sentences labelled by hand.

`python -m tests.embedded.test_answer_sentences` prints the confusion, and each sentence read wrong.
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import pytest

from rag_evals.embedded import prepare_answer

LABELLED = Path(__file__).parents[1] / "data" / "answer_sentences.tsv"
CLAIMS = ("world", "absent")
# By the sentence: rules were read off the first part only.
PARTS = ("chosen on", "kept apart")


class Read(NamedTuple):
    """One labelled sentence, and what preparation made of it (None: it claims something)."""

    part: str
    label: str
    text: str
    no_claim: str | None


def labelled_answers() -> list[list[tuple[str, str]]]:
    """Return for each answer the pairs of label and sentence; "+" joins with a space."""
    blocks: list[list[tuple[str, str]]] = [[]]
    for line in LABELLED.read_text(encoding="utf-8").split("\n"):
        if line.startswith("#"):
            continue
        if line:
            label, text = line.split("\t")
            blocks[-1].append((label, text))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def read_answers() -> list[Read]:
    """Prepare every labelled answer and give each of its sentences its label."""
    found = []
    for block in labelled_answers():
        answer = ""
        starts: list[tuple[int, str]] = []
        for label, text in block:
            if answer:
                answer += " " if label.startswith("+") else "\n"
            starts.append((len(answer), label.removeprefix("+")))
            answer += text
        for one in prepare_answer(answer):
            label = next(label for start, label in reversed(starts) if start <= one.start)
            part = PARTS[crc32(one.text.encode()) % 2]
            found.append(Read(part, label, one.text, one.no_claim))
    return found


def shares(found: list[Read]) -> dict[str, float]:
    """Return precision and recall of the claims, and of what is passed over."""
    counts = Counter((one.label in CLAIMS, one.no_claim is None) for one in found)
    kept, passed = counts[True, True], counts[False, False]
    lost, taken = counts[True, False], counts[False, True]
    return {
        "precision of claims": kept / (kept + taken),
        "recall of claims": kept / (kept + lost),
        "precision of passing over": passed / (passed + lost),
        "recall of passing over": passed / (passed + taken),
    }


def wrong_by_kind(found: list[Read]) -> str:
    """Say for each label how many sentences were read wrong, and which."""
    lines = []
    for label, total in Counter(one.label for one in found).items():
        wrong = [
            one
            for one in found
            if one.label == label and (one.no_claim is None) != (label in CLAIMS)
        ]
        lines.append(f"{label}: {len(wrong)} of {total} wrong")
        lines += [f"    {one.no_claim or 'claim'}: {one.text}" for one in wrong]
    return "\n".join(lines)


READ = read_answers()


@pytest.mark.parametrize("part", PARTS)
def test_claims_are_told_from_talk(part: str) -> None:
    """Precision is at least 0.95, recall 0.90, of claims and of what is passed over alike."""
    found = [one for one in READ if one.part == part]
    measured = shares(found)

    assert all(
        share >= (0.95 if name.startswith("precision") else 0.9) for name, share in measured.items()
    ), f"{measured}\n{wrong_by_kind(found)}"


def test_the_labelled_set_holds_every_kind_in_both_languages() -> None:
    """At least 400 sentences; a kind that is missing could not fail."""
    kinds = Counter(
        (one.label, "ru" if any("а" <= c <= "я" for c in one.text.lower()) else "en")
        for one in READ
    )

    assert len(READ) >= 400
    for label in ("world", "absent", "sources", "talk", "step", "list", "question", "references"):
        assert kinds[label, "en"] >= 4
        assert kinds[label, "ru"] >= 2


if __name__ == "__main__":
    for each in PARTS:
        chosen = [one for one in READ if one.part == each]
        print(f"{each}: {len(chosen)} sentences, {shares(chosen)}\n{wrong_by_kind(chosen)}\n")
