"""Go on with a run whose rows have nearly all ended: how long, and in how much memory?

python -m tests.benchmarks.resume [ROWS] [--cli] [--left N] [--without-index]

The run folder is written without grading: the outcome of one row of each kind is written for all
rows of that kind, and the last rows have none. Told apart are the reading of the data, the opening
of the folder, and the rest of the run.
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
                if store.is_due:
                    store.commit()
        assert isinstance(plan.data, FileData)
        assert plan.data.kept_check is not None
        store.keep_check(plan.data.kept_check)


def resumed_by_python(path: Path, folder: Path) -> None:
    """Call what the command calls, and tell the parts apart."""
    from rag_evals.run.engine.loop import runner_of
    from rag_evals.run.plan.plan import folders_of, make_plan

    async def work() -> None:
        began = time.monotonic()
        plan = make_plan(path, "faithfulness", "embedded", folders=folders_of(folder))
        print(f"data checked in {time.monotonic() - began:.1f} s, {resident_mb():.0f} MB")
        began = time.monotonic()
        opened = runner_of(plan, out=folder, progress=False)
        async with opened as runner:
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
    """Write a run and go on with it."""
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
        began = time.monotonic()
        if asked.cli:
            command = [sys.executable, "-m", "rag_evals", "grade", str(path), "--quiet"]
            with subprocess.Popen([*command, "--judge", "embedded", "--out", "out"]) as process:
                # Of this process alone: the writer was one of ours as well.
                _, _, spent = os.wait4(process.pid, 0)
                process.returncode = 0
        else:
            resumed_by_python(path, folder)
            spent = resource.getrusage(resource.RUSAGE_SELF)
        seconds, cpu = time.monotonic() - began, spent.ru_utime + spent.ru_stime
        peak = spent.ru_maxrss / 1000
        print(f"{asked.rows} rows in {seconds:.1f} s, {cpu:.1f} s of CPU; peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
