"""Run `docs/notebook.ipynb` in a real kernel, and write its outputs and the page that shows them.

`python -m tools.notebook` rewrites both; with `--check` nothing is written, and the exit code is 1
where an output differs.
"""

import os
import re
import sys
import tempfile
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient import NotebookClient

# Half of its functions have no types.
nbformat: Any = import_module("nbformat")

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOK = DOCS / "notebook.ipynb"
PAGE = DOCS / "notebook.md"
_SECONDS = 300


def executed() -> Any:
    """Run every cell from an empty folder, and return the notebook with its outputs."""
    book = nbformat.read(NOTEBOOK, as_version=4)
    for name in [name for name in os.environ if name.startswith("RAG_EVALS_")]:
        del os.environ[name]
    # Debugging of frozen modules is nothing to warn of here.
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAG_EVALS_CACHE_DIR"] = folder
        NotebookClient(
            book, timeout=_SECONDS, resources={"metadata": {"path": folder}}, kernel_name="python3"
        ).execute()
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [_plain(output) for output in cell.outputs if not _is_empty(output)]
    book.metadata = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
    return book


def page_of(book: Any) -> str:
    """Write a notebook as a page: code in fences, HTML outputs as they are."""
    parts: list[str] = []
    for cell in book.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else _fence("python", cell.source))
        parts += map(_shown, cell.get("outputs", ()))
    return "\n\n".join(parts) + "\n"


def write(book: Any) -> None:
    """Write the notebook and the page."""
    nbformat.write(book, NOTEBOOK)
    PAGE.write_text(page_of(book), encoding="utf-8")


def _plain(output: Any) -> Any:
    if "execution_count" in output:
        output["execution_count"] = None
    output.get("metadata", {}).clear()
    return output


def _is_empty(output: Any) -> bool:
    """Return True for a progress bar that was cleared."""
    data = output.get("data", {})
    return "" in (data.get("text/html"), data.get("text/plain"))


def _shown(output: Any) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        html = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.S)
        # A head without text names nothing: the corner above the rows' numbers is a plain cell.
        html = html.replace("<th></th>", "<td></td>")
        # A blank line would end the block of HTML in a page of Markdown.
        html = re.sub(r"<pre.*?</pre>", lambda pre: pre[0].replace("\n", "&#10;"), html, flags=re.S)
        return '<div class="notebook-output">\n' + re.sub(r"\n\s*", "", html) + "\n</div>"
    text = output.get("text", data.get("text/plain", ""))
    return f'<div class="notebook-output"><pre>{escape(text.rstrip())}</pre></div>'


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def main(arguments: list[str]) -> int:
    """Rewrite the notebook and its page, or say whether they are as they would be written."""
    before = nbformat.read(NOTEBOOK, as_version=4)
    book = executed()
    if "--check" not in arguments:
        write(book)
        return 0
    same = before == book and page_of(book) == PAGE.read_text(encoding="utf-8")
    if not same:
        print("docs/notebook.ipynb or its page is stale; run: python -m tools.notebook")
        print(page_of(book))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
