"""What does a reader see of a text? Its words, without the signs of Markdown, HTML and print.

A word that is struck out stays in its signs: it is not what the text says.
"""

import html
import re
from collections.abc import Iterator

from rag_evals.text.citations import citation_marks
from rag_evals.text.traced import Edit, Traced

_ATTRIBUTES = r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+)))*\s*/?"
_IN_LINE = "a|abbr|b|bdi|bdo|big|cite|code|dfn|em|font|i|ins|kbd|mark|q|samp|small|span|strong|sub|sup|time|tt|u|var|wbr"  # noqa: E501 - one list
_BLOCKS = "address|article|aside|blockquote|body|br|caption|center|col|colgroup|dd|details|div|dl|dt|figcaption|figure|footer|h[1-6]|head|header|hr|html|img|li|main|nav|ol|p|pre|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul"  # noqa: E501 - one list
# Where what nobody sees begins, and what ends it.
_HIDDEN = re.compile(r"<(?:!--|(?:script|style)(?=[\s>]))", re.IGNORECASE)
_HIDDEN_ENDS = {
    begin: re.compile(end, re.IGNORECASE)
    for begin, end in (("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>"))
}
# "<sup>2</sup>", "<sup><a href='#2'>[2]</a></sup>"
_RAISED = re.compile(
    r"<(?P<tag>sup|sub)\b[^<>]*>\s*(?:<a\b[^<>]*>)?\s*(?P<open>\[?)(?P<digits>\d{1,3})\]?\s*"
    r"(?:</a>)?\s*</(?P=tag)\s*>",
    re.IGNORECASE,
)
_TAG = re.compile(rf"</?(?:(?P<line>{_IN_LINE})|(?:{_BLOCKS})){_ATTRIBUTES}>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});")
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

# "## ", "> ", "- " in front of a line; "- 5" may be a number below zero.
_LINE_SIGNS = re.compile(
    r"^[ \t]*(?:(?:>[ \t]?)+|#{1,6}[ \t]+|[*•◦▪][ \t]+|[-+–—][ \t]+(?![\d \t]))+", re.MULTILINE
)
# "|---|:-:|", "-----", "=====", "***"
_RULE = re.compile(r"^(?=[^\n]*(?:--|={3}|\*{3}|_{3}))[ \t|:+=*_-]+$", re.MULTILINE)
# "[text](address)", "![text](address)", "[text][key]", "[[Page|text]]", "<https://address>"
_LINK = re.compile(
    r"!?\[(?P<text>[^\[\]\n]*)\](?:\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)|\[[^\[\]\n]*\])"
    r"|\[\[(?:[^\[\]|\n]*\|)?(?P<page>[^\[\]|\n]+)\]\]"
    r"|<(?P<address>https?://[^\s<>]+)>"
)
_ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
# A run of signs with a word on one side only: "**bold**", "_it_", "`code`"; not "2*3", "a_b".
_EMPHASIS = re.compile(
    r"(?<![\w*_`\\])(?P<sign>\*{1,3}|_{1,3}|`{1,3})(?=[^\s*_`])"
    r"|(?<=[^\s*_`\\])(?:\*{1,3}|_{1,3}|`{1,3})(?![\w*_`])"
    r"|(?<!\\)\*\*"
)
_BARS = re.compile(r"\|[\s|]*")
# "infor-\nmation"; a soft hyphen at a line end is one, too.
_HYPHEN = re.compile(r"(?<=[^\W_])(?P<hyphen>[-‐\u00ad])[ \t]*\r?\n[ \t]*(?=[^\W_])")


def without_markup(text: Traced) -> tuple[Traced, ...]:
    """Return what a reader sees of a text.

    Returns:
        One or two readings: with hyphens at line ends taken out, and with all of them kept.
    """
    text = text.edited(_hidden(text.text))
    text = text.replaced(_RAISED, _raised)
    text = text.replaced(_TAG, lambda found: "" if found["line"] else "|")
    text = text.replaced(_ENTITY, lambda found: html.unescape(found.group()))
    text = text.replaced(_RULE, lambda _: "")
    text = text.replaced(_LINE_SIGNS, lambda _: "")
    # Marks before links: "[1](address)" is a mark.
    text = text.edited(_marks(text.text))
    text = text.edited(_links(text.text))
    text = text.replaced(_EMPHASIS, lambda _: "")
    text = text.replaced(_ESCAPED, lambda _: "")
    text = text.edited(_bars(text.text))
    joined = text.replaced(_HYPHEN, _join)
    kept = text.replaced(_HYPHEN, _keep)
    return (joined,) if joined.text == kept.text else (joined, kept)


def _hidden(text: str) -> Iterator[Edit]:
    """Take out comments, scripts and styles; what never ends stays."""
    done = 0
    for found in _HIDDEN.finditer(text):
        if found.start() < done:
            continue
        end = _HIDDEN_ENDS[found.group().lower()].search(text, found.end())
        if end is None:
            return
        done = end.end()
        yield found.start(), done, " "


def _raised(found: re.Match[str]) -> str:
    if found["open"]:
        return f"[{found['digits']}]"
    table = _SUPERSCRIPT if found["tag"].lower() == "sup" else _SUBSCRIPT
    return found["digits"].translate(table)


def _marks(text: str) -> Iterator[Edit]:
    """Take out marks of sources, and the white space before them."""
    done = 0
    for mark in citation_marks(text):
        yield done + len(text[done : mark.start].rstrip()), mark.end, ""
        done = mark.end


def _links(text: str) -> Iterator[Edit]:
    for found in _LINK.finditer(text):
        start, end = found.span(found.lastgroup or 0)
        yield found.start(), start, ""
        yield end, found.end(), ""


def _bars(text: str) -> Iterator[Edit]:
    """Make borders of cells spaces; between two numbers they stay: "1 | 000" is not "1 000"."""
    done = 0
    for found in _BARS.finditer(text):
        end = found.end()
        start, done = done + len(text[done : found.start()].rstrip()), end
        between = text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()
        yield start, end, "|" if between else " "


def _join(found: re.Match[str]) -> str:
    """Take the hyphen out between small letters; a name or a number keeps its own."""
    before, behind = found.string[found.start() - 1], found.string[found.end()]
    soft = found["hyphen"] == "\u00ad"
    return "" if soft or (before.isalpha() and behind.islower()) else "-"


def _keep(found: re.Match[str]) -> str:
    return "" if found["hyphen"] == "\u00ad" else "-"
