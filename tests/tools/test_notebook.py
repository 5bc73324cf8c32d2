"""The notebook of the docs is run in a real kernel, and so is a run that takes a while."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Watches what a kernel sends while a cell runs, as a front end does.
WATCH = '''
import nbformat
from nbclient import NotebookClient

class Watching(NotebookClient):
    def process_message(self, message, cell, place):
        if message["msg_type"] in ("display_data", "update_display_data"):
            print(repr(message["content"]["data"].get("text/html")))
        return super().process_message(message, cell, place)

code = """
import time
from rag_evals import evaluate
rows = [{"answer": f"It is {n}.", "context": ["It is 1."]} for n in range(3)]
def slowly(progress):
    for row in rows:
        yield row
        time.sleep(0.25)
evaluate(rows[:2], client="embedded", progress=False)
run = evaluate(slowly(None), client="embedded", concurrency=1)
"""
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
Watching(book, timeout=120, kernel_name="python3").execute()
'''


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python from the root of the repository."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_notebook_of_the_docs_shows_what_it_prints() -> None:
    """Every cell runs, and every output is the one that the page has."""
    ended = run_python("-m", "tools.notebook", "--check")

    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_notebook_shows_progress_and_takes_it_away() -> None:
    """A bar appears by itself when a run takes a while; at the end it is empty."""
    ended = run_python("-c", WATCH)
    shown = ended.stdout.splitlines()

    assert "<progress" in shown[0], ended.stdout + ended.stderr
    assert "graded " in shown[0]
    assert shown[-1] == "''"
