"""Are two statements the same words, written by other hands? One form without typography.

Nothing here knows a language: letters, numbers, case, commas and the order of words stay.
"""

import re
import unicodedata

from rag_evals.text.citations import without_final_citations

# A soft hyphen, a zero-width space, a word joiner and a byte-order mark are not seen.
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_SIGNS = str.maketrans(
    dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("\u2010\u2011", "-")
)
# "**Paris**", "*Paris*": a sign that opens a word and one that closes a word; "2 * 3 * 4" has none.
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1(?![\w*])")
# "It is tall." but not "It is tall..."
_STOP = re.compile(r"(?<![.\s])\s*[.。]$")
_DASH = re.compile(r"(?<=[^\W\d]) [-–—] (?=[^\W\d])")
_PERCENT = re.compile(r"(?<=\d) (?=%)")


def plain_form(text: str) -> str:
    """Return a text without what its writer's keyboard or Markdown added.

    Two texts of one form are the same statement: Unicode in its composed form, straight quotes, one
    space between words, none before `%`, one kind of dash between words, and no citation marks at
    the end, asterisks of emphasis or final stop.

    Args:
        text: One statement.
    """
    plain = unicodedata.normalize("NFC", text).translate(_UNSEEN).translate(_SIGNS)
    plain = " ".join(_EMPHASIS.sub(r"\2", without_final_citations(plain)).split())
    return _STOP.sub("", _PERCENT.sub("", _DASH.sub(" — ", plain)))
