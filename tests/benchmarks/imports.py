"""What importing costs in CPU time, beyond a bare interpreter and the libraries it needs.

    python -m tests.benchmarks.imports

Goal on a quiet 2-core machine: 0.25 s for each of the two lines.
"""

import subprocess
import sys

LIBRARIES = "import pydantic.main, jinja2, yaml"
HELP = (
    "import sys; sys.argv = ['rag-evals', '--help']\n"
    "from rag_evals.cli.main import run\n"
    "try: run()\nexcept SystemExit: pass"
)
CODE = {
    "bare": "",
    "libraries": LIBRARIES,
    "import": "from rag_evals import Faithfulness",
    "help": HELP,
}


def cpu_seconds(code: str) -> float:
    """Return the CPU seconds that a fresh interpreter needs to run code."""
    measure = "import resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\n{measure}"], capture_output=True, text=True, check=True
    )
    return float(ended.stdout.splitlines()[-1])


def main() -> None:
    """Print the least of five turns for each piece of code, taken in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in CODE}
    for _ in range(5):
        for name, code in CODE.items():
            seconds[name].append(cpu_seconds(code))
    bare = min(seconds.pop("bare"))
    for name, turns in seconds.items():
        print(f"{name:<10} {min(turns) - bare:.3f} s")


if __name__ == "__main__":
    main()
