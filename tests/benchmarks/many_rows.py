"""What does a row cost in each way to grade many rows: time, CPU, memory, money?

python -m tests.benchmarks.many_rows [ROWS] [--way NAME]... [--python RAY_PYTHON]

The rows are those of `million_rows`; the model is the scripted one, a process of its own whose CPU
does not count. CPU is that of all processes of a way, memory the most that they held together. Ray
needs a Python in which `rag-evals[ray]` is installed.
"""

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from rag_evals.run import load_run
from rag_evals.testing import ScriptedJudge
from tests.benchmarks.million_rows import write_parquet

_GRADE = [sys.executable, "-m", "rag_evals", "grade", "rows.parquet", "--quiet", "--no-cache"]
_MODEL = ["--judge", "openai/gpt-4o-mini"]
_WAYS = {
    "embedded, one process": [*_GRADE, "--judge", "embedded"],
    "model": [*_GRADE, *_MODEL, "--concurrency", "32"],
    "model, batch": [*_GRADE, *_MODEL, "--batch", "--wait"],
}
_RAY = """
import ray, sys
from rag_evals.integrations.ray import grade_dataset
ray.init(num_cpus=8, log_to_driver=False, include_dashboard=False)
rows = ray.data.read_parquet("rows.parquet")
graded = grade_dataset(rows, "faithfulness", "embedded", actors=2, id_column="id")
graded.write_parquet("graded")
"""


def serve(pipe: Connection) -> None:
    """Be the model until the pipe ends."""
    with ScriptedJudge() as judge:
        pipe.send(judge.base_url)
        try:
            pipe.recv()
        except EOFError:
            return


def held_mb(process: int) -> float:
    """Return what a process and all that it started hold now, shared pages counted in parts."""
    total = 0.0
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1000
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(map(held_mb, map(int, (task / "children").read_text().split())))
    except (OSError, ValueError):
        pass
    return total


def measured(command: list[str], rows: int) -> str:
    """Run one way, and say what a row has cost."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    most = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(0.2)
            most = max(most, held_mb(process.pid))
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (
        f"{rows / seconds:6.0f} rows/s {1000 * cpu / rows:6.2f} ms of CPU a row {most:6.0f} MB "
        f"(exit code {process.returncode})"
    )


def main() -> None:
    """Grade the same rows in every way, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=20_000)
    parser.add_argument("--way", action="append", choices=[*_WAYS, "ray"])
    parser.add_argument("--python", help="a Python with rag-evals[ray]")
    asked = parser.parse_args()
    here, there = multiprocessing.Pipe()
    judge = multiprocessing.get_context("spawn").Process(target=serve, args=(there,))
    judge.start()
    os.environ |= {"OPENAI_BASE_URL": here.recv(), "OPENAI_API_KEY": "none"}
    # The folder in which it was started, for processes that know no installed package.
    os.environ["PYTHONPATH"] = str(Path.cwd())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_parquet(Path("rows.parquet"), asked.rows)
        for way in asked.way or list(_WAYS):
            if way == "ray":
                print(f"{way:<24}{measured([asked.python, '-c', _RAY], asked.rows)}", flush=True)
                continue
            out = f"run-{way}"
            print(f"{way:<24}{measured([*_WAYS[way], '--out', out], asked.rows)}", end="")
            cost = load_run(out).summary().cost_usd
            price = "" if cost is None else f", ${1000 * cost / asked.rows:.4f} for 1,000 rows"
            print(price, flush=True)
    here.close()
    judge.terminate()


if __name__ == "__main__":
    main()
