"""Properties of the embedded judge, on drawn rows of the contexts written for the minimal pairs."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.decide import compare_with
from rag_evals.embedded.model import features, load
from rag_evals.embedded.passage import read_chunk
from rag_evals.embedded.verifier import SHIPPED_WEIGHTS
from tests.embedded.test_pairs import PAIRS

_ROWS = 120
_LEAST_SHARE = 0.99


class Row(NamedTuple):
    """A statement, six chunks of which one speaks of it, and a chunk about something else."""

    statement: str
    chunks: list[str]
    foreign: str


def drawn_rows() -> Iterator[Row]:
    """Draw rows, always the same ones."""
    draw = random.Random(7)
    for _ in range(_ROWS):
        pair = draw.choice(PAIRS)
        others = [p["context"] for p in PAIRS if p["language"] == pair["language"]]
        others = draw.sample([context for context in others if context != pair["context"]], 6)
        statement = pair[draw.choice(["supported", "unsupported"])]
        chunks = [pair["context"], *others[:5]]
        draw.shuffle(chunks)
        yield Row(statement, chunks, others[5])


ROWS = list(drawn_rows())


def support(statement: str, chunks: list[str]) -> float:
    """Return the support of one statement."""
    return EmbeddedVerifier().verify([statement], chunks)[0].support


def test_adding_the_statement_never_lowers_support() -> None:
    """A chunk that is the statement itself can only help."""
    for row in ROWS:
        alone = support(row.statement, row.chunks)
        assert support(row.statement, [*row.chunks, row.statement]) >= alone - 1e-9, row


def test_the_order_of_chunks_changes_nothing() -> None:
    """The same chunks in any order give the same support, and cite the same texts."""
    for row in ROWS:
        turned = row.chunks[::-1]
        one, other = (
            EmbeddedVerifier().verify([row.statement], c)[0] for c in (row.chunks, turned)
        )

        assert abs(one.support - other.support) < 1e-9, row
        assert {row.chunks[i] for i in one.chunk_ids} == {turned[i] for i in other.chunk_ids}, row


def test_an_unrelated_chunk_changes_nothing() -> None:
    """A chunk about something else moves support by at most 0.02."""
    held = [
        abs(support(row.statement, [*row.chunks, row.foreign]) - support(row.statement, row.chunks))
        <= 0.02
        for row in ROWS
    ]

    assert sum(held) / len(held) >= _LEAST_SHARE


def test_removing_the_cited_chunk_does_not_raise_support() -> None:
    """Without its evidence a statement is supported less, or as little as before."""
    held = []
    for row in ROWS:
        (verdict,) = EmbeddedVerifier().verify([row.statement], row.chunks)
        cited = {evidence.chunk_id for evidence in verdict.evidence[:1]}
        rest = [chunk for i, chunk in enumerate(row.chunks) if i not in cited]
        held.append(support(row.statement, rest) <= verdict.support + 1e-9)

    assert sum(held) / len(held) >= _LEAST_SHARE


@pytest.mark.slow
def test_every_process_gives_the_same_bits() -> None:
    """A support does not depend on the order in which a process keeps its sets."""
    program = (
        "from rag_evals.embedded import EmbeddedVerifier\n"
        "from tests.embedded.test_pairs import PAIRS\n"
        "texts = [pair[side] for pair in PAIRS for side in ('supported', 'unsupported')]\n"
        "print(EmbeddedVerifier().verify(texts, [' '.join(p['context'] for p in PAIRS[:40])]))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }

    assert len(printed) == 1


def test_sentences_left_out_change_no_verdict() -> None:
    """Support and citations are those of all sentences, though not all are read to the end."""
    model = load(SHIPPED_WEIGHTS)
    for row in ROWS:
        chunks = [*row.chunks, row.foreign, f"{row.statement} {row.foreign}"]
        read = [read_chunk(chunk) for chunk in chunks]
        found = list(compare_with(model, row.statement, read))
        supports = [model.support(features(compared)) for compared in found]
        (verdict,) = EmbeddedVerifier().verify([row.statement], chunks)
        assert verdict.support == max([model.support(()), *supports])
        if verdict.is_supported:
            near = 0.8 * max(supports)
            ids = {c.evidence.chunk_id for c, s in zip(found, supports, strict=True) if s >= near}
            assert ids <= set(verdict.chunk_ids)
