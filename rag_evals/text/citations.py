"""Which sources does a sentence cite? Marks such as `[1]`, `[2, 3]`, `[4-6]` and `【7】`."""

import re

# "It is tall [1, 3-5], see [2](address)." → "1, 3-5"; the link is no mark.
_MARK = re.compile(r"[\[【]\s*(\d{1,3}(?:\s*[,;–—-]\s*\d{1,3})*)\s*[\]】](?!\()")
# "1, 3-5" → ("1", "") and ("3", "5").
_RANGE = re.compile(r"(\d{1,3})(?:\s*[–—-]\s*(\d{1,3}))?")


def citations_of(text: str) -> list[int]:
    """Return the numbers that a text cites, in order, each once.

    Args:
        text: A sentence; `[1](address)` is a link and cites nothing.
    """
    numbers: dict[int, None] = {}
    for mark in _MARK.finditer(text):
        for first, last in _RANGE.findall(mark.group(1)):
            numbers.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(numbers)


def without_citations(text: str) -> str:
    """Return the text without its marks, and without the white space before them."""
    return re.sub(rf"\s*{_MARK.pattern}", "", text).strip()
