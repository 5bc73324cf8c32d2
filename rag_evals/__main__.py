"""Entry point for the command line and for `python -m rag_evals`."""

import os
import sys

# By shell convention, the exit code is 128 plus the signal number.
_INTERRUPTED = 130


def run() -> None:
    # Arrow's default memory pool would allocate 16 MB as soon as a Parquet file is opened.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from rag_evals.cli.main import run as run_command  # noqa: PLC0415 - the import takes most of a second

        run_command()
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted by SIGINT\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
