"""How long does the guardrail take for an answer?

python -m tests.benchmarks.guard_latency

Prints median, p99 and longest wall time of 2,000 answers of five sentences against five chunks of
100 and of 150 words, none seen before: in this thread, awaited, and for the first sentence of a
stream from the moment at which it has ended. On a busy machine only the CPU time, also printed,
means anything. The words are those of the project's pages.
"""

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rag_evals import guard, guard_stream, guard_sync

_ANSWERS = 2000
_CHUNKS = 5
_PAGES = Path(__file__).parents[2] / "docs"

Row = tuple[str, list[str]]


def main() -> None:
    """Measure and print."""
    sentences = [
        sentence
        for page in sorted(_PAGES.rglob("*.md"))
        for sentence in re.findall(r"[A-Z][^.`|\n<>#*]{40,140}\.", page.read_text("utf-8"))
    ]
    guard_sync("Warm up.", ["Warm up."])
    for words in (100, 150):
        draw = random.Random(words)
        rows = [_row(sentences, words, draw) for _ in range(_ANSWERS)]
        print(f"5 sentences, {_CHUNKS} chunks of {words} words, {len(rows)} answers")
        walls, cpus = zip(*(_seconds(*row) for row in rows), strict=True)
        _print("guard_sync", walls)
        _print("guard_sync, CPU", cpus)
        again = [_row(sentences, words, draw) for _ in range(_ANSWERS)]
        _print("await guard", asyncio.run(_awaited(again)))
        streams = [_row(sentences, words, draw) for _ in range(_ANSWERS // 4)]
        _print("first sentence", asyncio.run(_first_sentences(streams)))


def _row(sentences: list[str], words: int, draw: random.Random) -> Row:
    chunks = []
    for _ in range(_CHUNKS):
        chunk: list[str] = []
        while len(chunk) < words:
            chunk += draw.choice(sentences).split()
        chunks.append(" ".join(chunk[:words]))
    said = [draw.choice(re.findall(r"[A-Z][^.]*\.", chunk) or [chunk]) for chunk in chunks]
    return " ".join(said), chunks


def _seconds(answer: str, chunks: list[str]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.thread_time()
    guard_sync(answer, chunks)
    return time.perf_counter() - wall, time.thread_time() - cpu


async def _awaited(rows: list[Row]) -> list[float]:
    found = []
    for answer, chunks in rows:
        began = time.perf_counter()
        await guard(answer, chunks)
        found.append(time.perf_counter() - began)
    return found


async def _first_sentences(rows: list[Row]) -> list[float]:
    return [await _first_sentence(*row) for row in rows]


async def _first_sentence(answer: str, chunks: list[str]) -> float:
    given = 0.0

    async def tokens() -> AsyncIterator[str]:
        nonlocal given
        for word in answer.split():
            given = time.perf_counter()
            yield f"{word} "

    async for _ in guard_stream(tokens(), chunks):
        return time.perf_counter() - given
    return 0.0


def _print(name: str, seconds: Sequence[float]) -> None:
    ranked = sorted(1000 * each for each in seconds)
    p99 = ranked[int(0.99 * len(ranked))]
    middle = ranked[len(ranked) // 2]
    print(f"  {name:<16}median {middle:5.1f} ms, p99 {p99:5.1f} ms, longest {ranked[-1]:5.1f} ms")


if __name__ == "__main__":
    main()
