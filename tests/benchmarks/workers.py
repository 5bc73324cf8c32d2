"""How many rows a second do two workers grade with the embedded judge, beside one process?

python -m tests.benchmarks.workers [ROWS] [--workers N] [--rounds N] [--short]

Each way grades the same file in turn, as a process of its own. Printed are rows a second from the
first outcome to the last and of the whole run, CPU a row of all its processes, and the load of the
machine: on a busy machine the rows a second mean nothing, and the CPU a row little.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic_core import to_json

_WORDS = (
    "house tower river bridge street garden museum council builder stone winter summer record "
    "price report station harbour market school engine window letter village painter doctor"
).split()
_CHUNKS, _CHUNK_WORDS, _SENTENCES = 5, 60, 3


class Measured(NamedTuple):
    """One run.

    Attributes:
        rate: Rows a second from the first outcome to the last.
        whole_rate: Rows a second of the whole run, with reading, checking and starting.
        cpu_us: CPU of all its processes, in microseconds a row.
    """

    rate: float
    whole_rate: float
    cpu_us: float


def write_rows(path: Path, count: int, *, short: bool) -> None:
    """Write rows that all differ: chunks, and an answer of sentences from them or about others."""
    draw = random.Random(0)
    with path.open("wb") as file:
        for number in range(count):
            chunks = [_chunk(draw, 1 if short else _CHUNK_WORDS // 10) for _ in range(_CHUNKS)]
            told = [draw.choice(chunks).split(". ")[0].rstrip(".") for _ in range(_SENTENCES)]
            answer = ". ".join(told[:1] if short else told) + "."
            row = {"id": f"row-{number}", "answer": answer, "context": chunks[: 2 if short else 5]}
            file.write(to_json(row) + b"\n")


def _chunk(draw: random.Random, sentences: int) -> str:
    return " ".join(
        f"The {draw.choice(_WORDS)} of the {draw.choice(_WORDS)} has {draw.randint(2, 900)} "
        f"{draw.choice(_WORDS)}s since {draw.randint(1800, 2020)}."
        for _ in range(sentences)
    )


def measured(path: Path, workers: int) -> Measured:
    """Grade in a process of its own."""
    words = [sys.executable, "-m", "tests.benchmarks.workers", "--grade", str(path)]
    ended = subprocess.run(
        [*words, "--workers", str(workers)], capture_output=True, text=True, check=True
    )
    return Measured(*map(float, ended.stdout.split()))


def grade(path: Path, workers: int) -> Measured:
    """Grade here, and say how fast."""
    from rag_evals import Progress, evaluate

    seen: list[tuple[float, int]] = []

    def note(progress: Progress) -> None:
        seen.append((time.monotonic(), progress.done))

    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        evaluate(path, client="embedded", workers=workers, keep=False, out=folder, progress=note)
        seconds = time.monotonic() - began
    (first, _), (last, rows) = seen[0], seen[-1]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    return Measured((rows - 1) / (last - first), rows / seconds, 1e6 * cpu / rows)


def main() -> None:
    """Compare the two ways in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--short", action="store_true", help="one sentence, two short chunks")
    parser.add_argument("--grade", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.grade is not None:
        print(*grade(asked.grade, asked.workers))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        write_rows(path, asked.rows, short=asked.short)
        found: dict[int, list[Measured]] = {1: [], asked.workers: []}
        for _ in range(asked.rounds):
            for workers, of_workers in found.items():
                of_workers.append(one := measured(path, workers))
                print(f"{workers} {_shown(one)}; load {os.getloadavg()[0]:.1f}", flush=True)
    alone, together = (_median(each) for each in found.values())
    print(
        f"{asked.workers} workers: {together.rate / alone.rate:.2f} x the rows a second of one "
        f"process, {together.whole_rate / alone.whole_rate:.2f} x over the whole run, "
        f"{together.cpu_us / alone.cpu_us:.2f} x the CPU a row"
    )


def _shown(one: Measured) -> str:
    return f"{one.rate:.0f} rows/s, {one.whole_rate:.0f} over all, {one.cpu_us:.0f} us of CPU a row"


def _median(rounds: Sequence[Measured]) -> Measured:
    return Measured(*(statistics.median(each) for each in zip(*rounds, strict=True)))


if __name__ == "__main__":
    main()
