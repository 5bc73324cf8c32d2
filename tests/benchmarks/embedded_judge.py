"""How stable and how fast is the embedded judge on real rows?

python -m tests.benchmarks.embedded_judge DATA_DIR

Prints the share of 510 drawn rows for which each property holds, the time of an answer of five
sentences against five chunks of 150 words, and time and memory of long contexts. The folder holds
labelled rows as for the training command.
"""

import argparse
import random
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

from rag_evals.embedded import EmbeddedVerifier
from tools.train_embedded.cases import verify_answer
from tools.train_embedded.rows import Labelled, read_statements

_ROWS = 510
_SOURCES = ("wice_claim", "lfqa", "expertqa", "summedits", "factscore", "cliff")
_ALLOWED_CHANGE = 0.02


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    statements = read_statements(parser.parse_args().data)
    for name, share in properties(statements).items():
        print(f"{name:<44}{100 * share:6.1f} %")
    words = [
        word
        for item in statements["wice_claim"]
        for chunk in item.chunks
        for word in chunk.split(" ")
    ]
    sentences = [item.text for item in statements["wice_claim"]]
    median, worst = answer_seconds(words, sentences)
    print(
        f"5 sentences, 5 chunks of 150 words: median {1000 * median:.1f} ms, p90 {1000 * worst:.1f}"
    )
    for count in (50_000, 100_000, 200_000):
        seconds, megabytes = long_context(words, sentences, count)
        print(f"{count} words, 5 statements: {seconds:.2f} s, peak {megabytes:.0f} MB")


def properties(statements: dict[str, list[Labelled]]) -> dict[str, float]:
    """Return, for each property, the share of drawn rows for which it holds."""
    draw = random.Random(1)
    rows = [
        item
        for source in _SOURCES
        for item in draw.sample(statements[source], min(_ROWS // 6, len(statements[source])))
    ]
    foreign = [item.chunks[0] for item in draw.sample(statements["begin"], 200)]
    foreign += [item.chunks[0] for item in draw.sample(statements["factcheck_gpt"], 200)]
    held = {
        "the statement as a chunk never lowers support": 0,
        "the order of chunks changes nothing": 0,
        "an unrelated chunk changes at most 0.02": 0,
        "removing the cited chunk never raises support": 0,
    }
    names = list(held)
    for item in rows:
        chunks = list(item.chunks)
        alone = _support(item.text, chunks)
        shuffled = draw.sample(chunks, len(chunks))
        held[names[0]] += _support(item.text, [*chunks, item.text]) >= alone - 1e-9
        held[names[1]] += abs(_support(item.text, shuffled) - alone) < 1e-9
        other = _support(item.text, [*chunks, draw.choice(foreign)])
        held[names[2]] += abs(other - alone) <= _ALLOWED_CHANGE
        held[names[3]] += _without_cited(item.text, chunks) <= alone + 1e-9
    return {name: count / len(rows) for name, count in held.items()}


def answer_seconds(words: Sequence[str], sentences: Sequence[str]) -> tuple[float, float]:
    """Return median and 90th percentile of the CPU time of one answer, chunks never seen before."""
    draw = random.Random(0)
    EmbeddedVerifier().verify(["warm up"], ["warm up"])
    seconds = []
    for _ in range(200):
        starts = [draw.randrange(len(words) - 150) for _ in range(5)]
        chunks = [" ".join(words[start : start + 150]) for start in starts]
        answer = " ".join(draw.sample(sentences, 5))
        began = time.process_time()
        verify_answer(EmbeddedVerifier(), answer, chunks)
        seconds.append(time.process_time() - began)
    seconds.sort()
    return seconds[100], seconds[180]


def long_context(words: Sequence[str], sentences: Sequence[str], count: int) -> tuple[float, float]:
    """Return CPU seconds and peak megabytes of five statements against one chunk of many words."""
    repeated = list(words) * (count // len(words) + 1)
    chunk = " ".join(repeated[:count])
    began = time.process_time()
    EmbeddedVerifier().verify(sentences[:5], [chunk])
    seconds = time.process_time() - began
    tracemalloc.start()
    EmbeddedVerifier().verify(sentences[:1], [chunk])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / 1e6


def _support(statement: str, chunks: Sequence[str]) -> float:
    return EmbeddedVerifier().verify([statement], chunks)[0].support


def _without_cited(statement: str, chunks: Sequence[str]) -> float:
    (verdict,) = EmbeddedVerifier().verify([statement], chunks)
    cited = [*verdict.chunk_ids, *(evidence.chunk_id for evidence in verdict.evidence)]
    if not cited:
        return 0.0
    return _support(statement, [c for i, c in enumerate(chunks) if i != cited[0]])


if __name__ == "__main__":
    main()
