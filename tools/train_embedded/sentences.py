"""Figures of `prepare_answer` on answer sentences labelled by hand.

`python -m tools.train_embedded.sentences` prints them, and each sentence read wrong.
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from rag_evals.embedded import prepare_answer

LABELLED = Path(__file__).parents[2] / "tests" / "data" / "answer_sentences.tsv"
CLAIMS = ("world", "absent")
MEANINGS = {
    "absent": "claims that the sources leave something out",
    "code": "code",
    "heading": "heading",
    "list": "head of a list",
    "question": "question",
    "references": "entry in a list of references",
    "sources": "only speaks of the sources",
    "step": "head of a step",
    "table": "head of a table",
    "talk": "talk",
    "world": "claims something",
}
# By the sentence: rules were read off the first part only.
PARTS = ("chosen on", "kept apart")


class Read(NamedTuple):
    """One labelled sentence, and its reason to claim nothing (None: it claims something)."""

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
    """Return precision and recall for claims, and for sentences that claim nothing."""
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
    lines = []
    for label, total in Counter(one.label for one in found).items():
        wrong = wrong_of(found, label)
        lines.append(f"{label}: {len(wrong)} of {total} wrong")
        lines += [f"    {one.no_claim or 'claim'}: {one.text}" for one in wrong]
    return "\n".join(lines)


def wrong_of(found: list[Read], label: str) -> list[Read]:
    is_claim = label in CLAIMS
    return [one for one in found if one.label == label and (one.no_claim is None) != is_claim]


def table(found: list[Read]) -> str:
    lines = ["| what the sentence does | sentences | read wrong |", "| --- | --- | --- |"]
    for label, total in sorted(Counter(one.label for one in found).items()):
        lines.append(f"| {MEANINGS[label]} | {total} | {len(wrong_of(found, label))} |")
    lines += ["", "| measured on | precision | recall |", "| --- | --- | --- |"]
    for part in PARTS:
        measured = shares([one for one in found if one.part == part])
        for kind in ("claims", "passing over"):
            cells = [f"{measured[f'{name} of {kind}']:.3f}" for name in ("precision", "recall")]
            lines.append(f"| {kind}, part {part} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"{table(read_answers())}\n\n{wrong_by_kind(read_answers())}")
