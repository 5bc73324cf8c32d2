"""Words that have no good use in this project's English, and what to write instead.

    python -m tools.words    exit with 1 and a line for each of them

It reads pages, and comments, docstrings and messages of the package and the tools; names are free.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
INSTEAD = {
    r"anew": "again",
    r"thereof": "of it",
    r"therein": "in it",
    r"beside": "next to, besides",
    r"is no more": "no longer exists",
    r"whatever cannot": "anything that cannot",
    r"dear(?:er|est)? (?:judge|model|verifier|one)": "expensive judge",
    r"free judge": "cheap judge, embedded judge",
    r"(?:run|command|job|script)s? go(?:es)? on": "continues, resumes",
    r"stands? beside": "is next to",
    r"claims? that leans?": "context-dependent claim",
    r"labeled|labeling": "labelled, labelling",
    r"recogni[z](?:e|es|ed|ing)": "recognise",
    r"behaviors?": "behaviour",
}
"""Patterns of whole words, and what STYLE says to write."""

_WORDS = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)
_PROSE = (tokenize.COMMENT, tokenize.STRING)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page, or of the comments and texts of a module, with their numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        # From Python 3.12 on, the text of an f-string is a token of its own kind.
        if token.type in _PROSE or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield from enumerate(token.string.splitlines(), start=token.start[0])


def found(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each word: file, line, word, what to write."""
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    modules = [*sorted((root / "rag_evals").rglob("*.py")), *sorted((root / "tools").glob("*.py"))]
    for path in [*pages, *modules]:
        for number, line in prose(path) if path.name != "words.py" else ():
            for word in _WORDS.findall(line):
                better = next(INSTEAD[one] for one in INSTEAD if re.fullmatch(one, word, re.I))
                yield f"{path.relative_to(root)}:{number}: {word!r}: write {better}"


def main() -> int:
    """Print; return the exit code."""
    lines = list(found())
    for line in lines:
        print(line, file=sys.stderr)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
