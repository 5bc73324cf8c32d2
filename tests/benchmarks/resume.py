"""CPU and memory to resume a run of which nearly all rows are graded, and to read it.

python -m tests.benchmarks.resume [ROWS] [--cli] [--left N] [--without-index]

The run folder is written without grading: the outcome of one row of each kind is written for all
rows of that kind, and the last rows have none. `--cli` measures commands: it resumes the run, gives
the same command again, then with a gate, and writes the report.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.benchmarks.million_rows import resident_mb, write_parquet


def write_run(path: Path, folder: Path, count: int, left: int) -> None:
    """Write the data and a run of it in which the last rows have no outcome."""
    from rag_evals import evaluate
    from rag_evals.dataset import FileData
    from rag_evals.run.engine.earlier import EarlierOutcomes
    from rag_evals.run.plan.plan import make_plan
    from rag_evals.run.record.store import RunStore

    write_parquet(path, count)
    plan = make_plan(path, "faithfulness", "embedded")
    first = evaluate(path, client="embedded", limit=2, progress=False).outcomes
    with RunStore(folder, plan.manifest()) as store:
        earlier = EarlierOutcomes(plan, store)
        for row in plan.data:
            if row.position < count - left:
                earlier.keep(row)
                like = first[row.position % 2]
                outcome = replace(
                    like,
                    index=row.position,
                    sample_id=row.name,
                    sample_fingerprint=row.fingerprint,
                )
                store.append(outcome)
                if store.index.is_due:
                    store.commit()
        assert isinstance(plan.data, FileData)
        assert plan.data.kept_check is not None
        store.keep_check(plan.data.kept_check)


def resumed_by_python(path: Path, folder: Path) -> None:
    """Resume as the command does, and print the time of each part."""
    from rag_evals.run.engine.evaluate import runner_of
    from rag_evals.run.plan.plan import folders_of, make_plan

    async def work() -> None:
        began = time.monotonic()
        plan = make_plan(path, "faithfulness", "embedded", folders=folders_of(folder))
        print(f"data checked in {time.monotonic() - began:.1f} s, {resident_mb():.0f} MB")
        began = time.monotonic()
        async with runner_of(plan.into(folder, progress=False)) as runner:
            print(f"folder opened in {time.monotonic() - began:.1f} s, {resident_mb():.0f} MB")
            began = time.monotonic()
            async for _ in runner.outcomes():
                pass
            run = runner.finished()
        print(f"rows gone through in {time.monotonic() - began:.1f} s, {resident_mb():.0f} MB")
        began = time.monotonic()
        print(run.summary())
        print(f"graded: {run.graded}; numbers found in {time.monotonic() - began:.1f} s")

    asyncio.run(work())


def main() -> None:
    """Write a run and resume it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--cli", action="store_true")
    parser.add_argument("--left", type=int, default=10)
    parser.add_argument("--without-index", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        path, folder = Path("rows.parquet"), Path("out")
        # A process of its own: what writing takes is not what going on takes.
        writer = multiprocessing.get_context("spawn").Process(
            target=write_run,
            args=(path, folder, asked.rows, asked.left),
        )
        writer.start()
        writer.join()
        if asked.without_index:
            (folder / "index.sqlite").unlink()
        if not asked.cli:
            resumed_by_python(path, folder)
            print_spent("all", resource.getrusage(resource.RUSAGE_SELF))
            return
        grade = ["grade", str(path), "--quiet", "--judge", "embedded", "--out", "out"]
        for words in (grade, grade, [*grade, "--gate", "0.4"], ["report", "out"]):
            command = [sys.executable, "-m", "rag_evals", *words]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                # Of this process alone: the writer is a child too.
                _, _, spent = os.wait4(process.pid, 0)
                process.returncode = 0
            print_spent(" ".join(words), spent)


def print_spent(what: str, spent: resource.struct_rusage) -> None:
    """Print CPU seconds and peak memory."""
    cpu, peak = spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1000
    print(f"{cpu:.1f} s of CPU, peak {peak:.0f} MB: {what}")


if __name__ == "__main__":
    main()
