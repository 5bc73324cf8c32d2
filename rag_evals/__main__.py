"""Run the command line as `python -m rag_evals`."""

from rag_evals.cli.main import run

if __name__ == "__main__":
    run()
