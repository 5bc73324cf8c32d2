"""How often does the guard of statements find planted faults, and fault what people wrote?

    python -m tests.benchmarks.guard DATA_DIR

`DATA_DIR` has labelled data: `factscore`, `lfqa` and `ragtruth_qa` as `.jsonl.gz`. The limits of
the guard were chosen on every other row of FActScore; what is printed are the other rows.
"""

import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rag_evals.grading.guarding import Guard, claiming_sentences
from rag_evals.response_models.statements import Stated
from rag_evals.text import split_sentences

PLANTED = 500
# Every other row of FActScore: 0 are those on which the limits were chosen.
PART = 1
UNVERIFIED = (
    "changed number",
    "changed name",
    "added negation",
    "lost negation",
    "of the context",
    "other words",
    "other language",
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
# Leads, questions, and sentences that speak only of the sources claim nothing.
_NO_CLAIM = re.compile(r"[:?]$|^(?:\W*\w+){0,4}$|passages|unable to answer", re.IGNORECASE)
_VERB = re.compile(r"\b(is|was|were|are|has|had|can|will|would)\b(?! not)")


class Row(NamedTuple):
    """An answer with its sentences, and the statements that people made of it."""

    guard: Guard
    statements: list[Stated]


def rows_of(folder: Path, name: str) -> Iterator[Row]:
    """Read one set; where it has no statements, the sentences are taken."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            answer = row["answer"]
            sentences = [span.text for span in split_sentences(answer)]
            guard = Guard(
                sentences, row["question"], row["context"], partial(claiming_sentences, answer)
            )
            if name != "factscore":
                said = [Stated(text, (n,)) for n, text in enumerate(sentences)]
                yield Row(guard, said)
            elif number % 2 == PART:
                yield Row(guard, list(_placed(guard, [one["text"] for one in row["statements"]])))


def _placed(guard: Guard, texts: Sequence[str]) -> Iterator[Stated]:
    for text in texts:
        place = guard.place(text)
        if place is not None:
            yield Stated(text, (place,))


def changed_number(row: Row, text: str, draw: random.Random) -> str | None:
    """Put another number in place of one."""
    found = _NUMBER.findall(text)
    if not found:
        return None
    old = draw.choice(found)
    return text.replace(old, str(int(old) + draw.randint(1, 9)), 1)


def changed_name(row: Row, text: str, draw: random.Random) -> str | None:
    """Put a name of the context in place of one."""
    own, others = _NAME.findall(text), _NAME.findall(" ".join(row.guard.chunks))
    known = " ".join(row.guard.sentences).casefold()
    others = [name for name in others if name.casefold() not in known]
    if not own or not others:
        return None
    return text.replace(draw.choice(own), draw.choice(others), 1)


def changed_negation(row: Row, text: str, draw: random.Random) -> str | None:
    """Deny the statement, or take its denial out."""
    if " not " in text:
        return text.replace(" not ", " ", 1)
    return _VERB.sub(r"\1 not", text, count=1) if _VERB.search(text) else None


def context_sentence(row: Row, text: str, draw: random.Random) -> str | None:
    """Put a sentence of the context in the statement's place."""
    known = " ".join(row.guard.sentences)
    found = [one.text for chunk in row.guard.chunks for one in split_sentences(chunk)]
    found = [one for one in found if one not in known and len(one.split()) > 5]
    return draw.choice(found) if found else None


CHANGES = {
    "numbers": changed_number,
    "negations": changed_negation,
    "names": changed_name,
    "context sentences": context_sentence,
}


def found_of(rows: Sequence[Row], kind: str) -> tuple[int, int]:
    """Plant faults of one kind, and count those that are found."""
    draw, found, planted = random.Random(kind), 0, 0
    order = [(row, n) for row in rows for n in range(len(row.statements))]
    draw.shuffle(order)
    for row, place in order:
        one = row.statements[place]
        if kind == "left out":
            (number,) = one.sentence_ids
            left = [s for s in row.statements if number not in s.sentence_ids]
            if _NO_CLAIM.search(row.guard.sentences[number]):
                continue
            faults = row.guard.faults(left, [number])
            hit = any(fault.sentence == number and fault.name == kind for fault in faults)
        else:
            text = CHANGES[kind](row, one.text, draw)
            if text is None or text == one.text:
                continue
            changed = [*row.statements[:place], Stated(text, one.sentence_ids)]
            faults = row.guard.faults(changed + row.statements[place + 1 :])
            hit = any(
                fault.statement == place or fault.sentence in one.sentence_ids
                for fault in faults
                if fault.name in UNVERIFIED
            )
        planted += 1
        found += hit
        if planted == PLANTED:
            break
    return found, planted


def main(folder: Path) -> None:
    """Print a line for each set and each kind of fault."""
    for name in ("factscore", "lfqa", "ragtruth_qa"):
        rows = list(rows_of(folder, name))
        total = sum(len(row.statements) for row in rows)
        faults = Counter(fault.name for row in rows for fault in row.guard.faults(row.statements))
        alarms = sum(faults[kind] for kind in UNVERIFIED)
        print(f"{name}: {alarms} of {total} statements ({alarms / total:.2%}); {dict(faults)}")
        for kind in (*CHANGES, "left out"):
            found, planted = found_of(rows, kind)
            print(f"  {kind}: {found} of {planted} found ({found / max(planted, 1):.1%})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
