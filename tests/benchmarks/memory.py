"""Grade 100,000 rows with the embedded judge and print the memory as the run goes on.

python -m tests.benchmarks.memory [ROWS]
"""

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

from rag_evals import stream
from rag_evals.run import Progress


def resident_mb() -> float:
    """Return the memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def write_rows(path: Path, count: int) -> None:
    """Write rows that all differ."""
    with path.open("w") as file:
        for number in range(count):
            row = {
                "id": f"row-{number}",
                "answer": f"House {number} stands in street {number % 97}.",
                "context": [f"House {number} stands in street {number % 97}.", "It is old."],
            }
            file.write(json.dumps(row) + "\n")


def main() -> None:
    """Run the benchmark."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_rows(Path("rows.jsonl"), count)

        def report(progress: Progress) -> None:
            if progress.done % (count // 10) == 0:
                print(f"{progress.done:>8} rows  {resident_mb():6.1f} MB  {progress.rate:.0f}/s")

        for _ in stream("rows.jsonl", client="embedded", out="out", progress=report):
            pass
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.1f} MB")


if __name__ == "__main__":
    main()
