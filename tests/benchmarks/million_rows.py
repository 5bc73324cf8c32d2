"""Grade a large Parquet file with the embedded judge: rows a second, and the memory on the way.

python -m tests.benchmarks.million_rows [ROWS] [--cli]

Without `--cli` it calls `stream`, with it `rag-evals grade`. The memory is that of the process that
runs, asked for ten times, and its peak.
"""

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rag_evals.dataset import required_module

_BATCH_ROWS = 10_000
_STREETS = 97


def write_parquet(path: Path, count: int) -> None:
    """Write rows that all differ, half of them with a wrong street."""
    arrow = required_module("pyarrow", "data", "write the rows")
    parquet = required_module("pyarrow.parquet", "data", "write the rows")
    texts = arrow.string()
    schema = arrow.schema(
        [("id", texts), ("question", texts), ("answer", texts), ("context", arrow.list_(texts))]
    )
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, count, _BATCH_ROWS):
            rows = [_row(number) for number in range(start, min(start + _BATCH_ROWS, count))]
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))


def _row(number: int) -> dict[str, object]:
    street = number % _STREETS
    claimed = street if number % 2 else street + 1
    return {
        "id": f"row-{number}",
        "question": f"Where does house {number} stand?",
        "answer": f"House {number} stands in street {claimed}.",
        "context": [f"House {number} stands in street {street}.", "It is old."],
    }


def resident_mb(process: int | str = "self") -> float:
    """Return the memory that a process holds now."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def graded_by_python(path: Path, count: int) -> None:
    """Stream the outcomes, and print the memory ten times."""
    from rag_evals import stream
    from rag_evals.run import Progress

    def report(progress: Progress) -> None:
        if progress.done % max(count // 10, 1) == 0:
            print(
                f"{progress.done:>9} rows {resident_mb():7.1f} MB {progress.rate:7.0f} rows/s",
                flush=True,
            )

    for _ in stream(path, client="embedded", out="out", progress=report):
        pass


def graded_by_command(path: Path, count: int) -> None:
    """Run `rag-evals grade` as a process of its own, and print its memory while it runs."""
    command = [sys.executable, "-m", "rag_evals", "grade", str(path), "--judge", "embedded"]
    command += ["--quiet", "--out", "out"]
    with subprocess.Popen(command) as process:
        results, printed = Path("out/results.jsonl"), 0
        while process.poll() is None:
            time.sleep(0.2)
            written = _lines(results)
            if written // max(count // 10, 1) > printed:
                printed = written // max(count // 10, 1)
                print(f"{written:>9} rows {resident_mb(process.pid):7.1f} MB", flush=True)


class _LineCounter:
    def __init__(self) -> None:
        self.lines = self.read = 0

    def __call__(self, path: Path) -> int:
        if path.exists():
            with path.open("rb") as file:
                file.seek(self.read)
                while block := file.read(1 << 20):
                    self.read += len(block)
                    self.lines += block.count(b"\n")
        return self.lines


_lines: Callable[[Path], int] = _LineCounter()


def main() -> None:
    """Write the rows and grade them in one of the two ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--cli", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        path = Path("rows.parquet")
        # A process of its own: what writing takes is not what grading takes.
        writer = multiprocessing.get_context("spawn").Process(
            target=write_parquet, args=(path, asked.rows)
        )
        writer.start()
        writer.join()
        print(f"{path.stat().st_size / 1e6:.1f} MB of Parquet", flush=True)
        began, before = time.monotonic(), _cpu_seconds()
        (graded_by_command if asked.cli else graded_by_python)(path, asked.rows)
        seconds, used = time.monotonic() - began, _cpu_seconds() - before
        who = resource.RUSAGE_CHILDREN if asked.cli else resource.RUSAGE_SELF
        peak = resource.getrusage(who).ru_maxrss / 1000
        print(
            f"{asked.rows} rows in {seconds:.0f} s, {asked.rows / seconds:.0f} rows/s; "
            f"{1e6 * used / asked.rows:.0f} us of CPU a row; peak {peak:.1f} MB"
        )


def _cpu_seconds() -> float:
    """Return the CPU of this process and of those that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
