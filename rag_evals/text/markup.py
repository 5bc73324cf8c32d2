"""Conversion to visible text, without Markdown, HTML and line-end hyphens.

Struck-through words keep their markup, because the text no longer states them.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rag_evals.text.citations import citation_marks, without_final_citations
from rag_evals.text.language import UNSEEN

_ATTRIBUTES = r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+)))*\s*/?"
_IN_LINE = "a|abbr|b|bdi|bdo|big|cite|code|dfn|em|font|i|ins|kbd|mark|q|samp|small|span|strong|sub|sup|time|tt|u|var|wbr"  # noqa: E501 - one list
_BLOCKS = "address|article|aside|blockquote|body|br|caption|center|col|colgroup|dd|details|div|dl|dt|figcaption|figure|footer|h[1-6]|head|header|hr|html|img|li|main|nav|ol|p|pre|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul"  # noqa: E501 - one list
# The start and end of invisible content.
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

# "## ", "> ", "- " at the start of a line; "- 5" may be a negative number.
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
# A run of marks with a word on one side only: "**bold**", "_it_", "`code`"; not "2*3", "a_b".
_EMPHASIS = re.compile(
    r"(?<![\w*_`\\])(?P<sign>\*{1,3}|_{1,3}|`{1,3})(?=[^\s*_`])"
    r"|(?<=[^\s*_`\\])(?:\*{1,3}|_{1,3}|`{1,3})(?![\w*_`])"
    r"|(?<!\\)\*\*"
)
_BARS = re.compile(r"\|[\s|]*")
# "infor-\nmation", also with a soft hyphen.
_HYPHEN = re.compile(r"(?<=[^\W_])(?P<hyphen>[-‐\u00ad])[ \t]*\r?\n[ \t]*(?=[^\W_])")

_SIGNS = str.maketrans(
    dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("\u2010\u2011", "-")
)
# "**Paris**", "*Paris*": marks that open and close a word; "2 * 3 * 4" has none.
_STARS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1(?![\w*])")
# "It is tall." but not "It is tall..."
_STOP = re.compile(r"(?<![.\s])\s*[.。]$")
_DASH = re.compile(r"(?<=[^\W\d]) [-–—] (?=[^\W\d])")
_PERCENT = re.compile(r"(?<=\d) (?=%)")

Edit = tuple[int, int, str]
"""The start and end of a part to replace, and its replacement."""


class Traced(NamedTuple):
    """A text, with the source offsets at which each of its characters starts and ends."""

    text: str
    starts: list[int]
    ends: list[int]

    def edited(self, edits: Iterable[Edit]) -> "Traced":
        """Return the text with some parts replaced; each new part maps to the entire old part.

        The edits must be in order and must not overlap.
        """
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for begin, end, new in edits:
            pieces += [self.text[done:begin], new]
            starts += self.starts[done:begin]
            ends += self.ends[done:begin]
            if new:
                starts += [self.starts[begin]] * len(new)
                ends += [self.ends[end - 1]] * len(new)
            done = end
        if not pieces:
            return self
        pieces.append(self.text[done:])
        return Traced("".join(pieces), starts + self.starts[done:], ends + self.ends[done:])

    def replaced(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> "Traced":
        return self.edited((*found.span(), new(found)) for found in pattern.finditer(self.text))


def traced(text: str) -> Traced:
    return Traced(text, list(range(len(text))), list(range(1, len(text) + 1)))


def without_markup(text: Traced) -> tuple[Traced, ...]:
    """Return the visible text without line-end hyphens and, if different, also with them."""
    text = text.edited(_hidden(text.text))
    text = text.replaced(_RAISED, _raised)
    text = text.replaced(_TAG, lambda found: "" if found["line"] else "|")
    text = text.replaced(_ENTITY, lambda found: html.unescape(found.group()))
    text = text.replaced(_RULE, lambda _: "")
    text = text.replaced(_LINE_SIGNS, lambda _: "")
    # Remove citation marks before links, because "[1](address)" is a mark.
    text = text.edited(_marks(text.text))
    text = text.edited(_links(text.text))
    text = text.replaced(_EMPHASIS, lambda _: "")
    text = text.replaced(_ESCAPED, lambda _: "")
    text = text.edited(_bars(text.text))
    joined = text.replaced(_HYPHEN, _join)
    kept = text.replaced(_HYPHEN, lambda found: "" if found["hyphen"] == "\u00ad" else "-")
    return (joined,) if joined.text == kept.text else (joined, kept)


def _hidden(text: str) -> Iterator[Edit]:
    """Yield edits that remove comments, scripts and styles, unless they are unclosed."""
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
    """Replace cell borders with spaces, except between two numbers: "1 | 000" is not "1 000"."""
    done = 0
    for found in _BARS.finditer(text):
        end = found.end()
        start, done = done + len(text[done : found.start()].rstrip()), end
        between = text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()
        yield start, end, "|" if between else " "


def _join(found: re.Match[str]) -> str:
    """Remove the hyphen between lowercase letters; names and numbers keep theirs."""
    before, behind = found.string[found.start() - 1], found.string[found.end()]
    soft = found["hyphen"] == "\u00ad"
    return "" if soft or (before.isalpha() and behind.islower()) else "-"


def plain_form(text: str) -> str:
    """Normalise typography: statements that differ only in typography have the same plain form.

    The result has composed Unicode, straight quotation marks, one kind of dash, single spaces, and
    no emphasis, final citation marks or final full stop. Nothing else changes.
    """
    plain = unicodedata.normalize("NFC", text).translate(UNSEEN).translate(_SIGNS)
    plain = " ".join(_STARS.sub(r"\2", without_final_citations(plain)).split())
    return _STOP.sub("", _PERCENT.sub("", _DASH.sub(" — ", plain)))
