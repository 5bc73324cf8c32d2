"""What does a program that reads docs need first? `llms.txt`: each page with one sentence.

The form is that of llmstxt.org: a title, a summary, and lists of links by section of the menu.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_SECTION = re.compile(r"  - (.+):")
_PAGE = re.compile(r"      - (.+): (\S+)\.md")
_SUMMARY = (
    "RAG evaluation in Python: which statements of an answer do the retrieved passages support? "
    "Finds hallucinations, shows the evidence, and computes scores in code."
)


def llms_text(settings: str, docs: Path) -> str:
    """Return the text of `llms.txt`.

    Args:
        settings: The text of `mkdocs.yml`, whose menu names pages and sections.
        docs: The folder of the pages.
    """
    lines = ["# rag_evals", "", f"> {_SUMMARY}"]
    for line in settings.partition("\nnav:\n")[2].partition("\n\n")[0].splitlines():
        if section := _SECTION.fullmatch(line):
            lines += ["", f"## {section[1]}", ""]
        elif page := _PAGE.fullmatch(line):
            said = next(_sentences(docs / f"{page[2]}.md"), "")
            lines.append(f"- [{page[1]}]({_address(page[2])}): {said}")
    return "\n".join([*lines, ""])


def _address(page: str) -> str:
    """Return where the site has a page, seen from `llms.txt`."""
    folder = re.sub(r"(?:^|/)index$", "", page)
    return f"{folder}/" if folder else "./"


def _sentences(page: Path) -> Iterator[str]:
    """Yield the first sentence of each paragraph, without markup."""
    for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
        if re.match(r"[^\W\d]|\*\*|`(?!``)", paragraph):
            # A few bold words with a full stop are a heading.
            text = re.sub(r"^\*\*[^*]+\.\*\*\s*", "", paragraph)
            plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text).replace("**", "")
            yield re.split(r"(?<=[.?!])\s", " ".join(plain.split()))[0].rstrip(":")
