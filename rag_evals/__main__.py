"""Run the command line; also as `python -m rag_evals`. The command itself is loaded here."""

import os
import sys

# As shells have it: 128 and the number of the signal.
_INTERRUPTED = 130


def run() -> None:
    """Load the command line and run it; Ctrl-C while it loads ends in one line as well."""
    # The pool that Arrow takes else holds 16 MB from the first row of a Parquet file on.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from rag_evals.cli.main import run as run_command  # noqa: PLC0415 - most of a second

        run_command()
    except KeyboardInterrupt:
        sys.stderr.write("Error: ended by SIGINT\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
