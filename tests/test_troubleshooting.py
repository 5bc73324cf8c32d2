"""The page of errors quotes the package: no text on it is older than the code."""

import ast
import re
from functools import cache

import pytest

from tests.sources import ROOT, SOURCES, nodes_of

PAGE = ROOT / "docs" / "troubleshooting.md"
QUOTED = re.findall(r"^\| `(.+?)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
GAP = "…"
"""Stands for a value, on the page and in a text that is taken from the code."""


@cache
def texts() -> frozenset[str]:
    """Return every text in the code and the phrases, with a gap where a value goes."""
    phrases = (ROOT / "rag_evals/_data/phrases/en.json").read_text(encoding="utf-8")
    found = {re.sub(r"\{.*?\}", GAP, line) for line in phrases.splitlines()}
    for path in SOURCES:
        for node in nodes_of(path):
            if isinstance(node, ast.JoinedStr):
                found.add("".join(_part(one) for one in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return frozenset(found)


def _part(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else GAP


@pytest.mark.parametrize("quoted", QUOTED)
def test_an_error_on_the_page_is_in_the_code(quoted: str) -> None:
    """Its words stand in one text, in their order."""
    parts = quoted.split(GAP)
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    longest = max(parts, key=len)

    assert any(longest in text and pattern.search(text) for text in texts())


def test_every_failure_of_an_endpoint_is_on_the_page() -> None:
    """Each error that a reply can become has a line that says what to do."""
    path = ROOT / "rag_evals" / "judge" / "wire" / "exchange.py"
    quoted = [re.compile(".*".join(map(re.escape, one.split(GAP))), re.DOTALL) for one in QUOTED]
    missing = []
    for call in nodes_of(path):
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("Error"):
            continue
        text = call.args[0] if call.args else None
        if isinstance(text, ast.JoinedStr) and isinstance(text.values[0], ast.Constant):
            said = "".join(_part(one) for one in text.values)
        elif isinstance(text, ast.Constant):
            said = str(text.value)
        else:
            continue
        if not any(one.search(said) for one in quoted):
            missing.append(said)
    assert not missing
    assert len(QUOTED) > 40
