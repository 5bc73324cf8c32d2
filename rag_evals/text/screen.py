"""How is data shown safely on a terminal? Without characters that the terminal would obey."""

import re
import unicodedata

REPLACEMENT = "�"
"""What stands for each character that is not shown."""

# Control and format characters, halves of pairs, line separators: escape sequences, text that runs
# backwards, text that nobody sees.
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Line ends and tabs; the joiners of emoji and of Persian; the hyphen that shows only at a line end.
_KEPT = frozenset("\n\t\u200c\u200d\u00ad")
# A Windows line end, which stays (any other carriage return would go back over what is shown), or
# a character to look at.
_SUSPECT = re.compile(r"\r\n|[^\w \n\t!-~]")
_MAX_LINE_CHARS = 1000
_END_CHARS = 300


def is_obeyed(character: str) -> bool:
    """Say whether a terminal does something with a character beside showing it."""
    return character not in _KEPT and unicodedata.category(character) in _OBEYED


def printable(text: str) -> str:
    """Return a text as a screen may show it: nothing in it moves, colours, hides or reverses.

    Args:
        text: Anything, such as a cell of the data or the reply of an endpoint.
    """
    if text.isprintable():
        return text
    return _SUSPECT.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    suspect = found.group()
    return REPLACEMENT if len(suspect) == 1 and is_obeyed(suspect) else suspect


def one_line(text: str) -> str:
    """Return a message as one line of at most 1,000 characters; what a long one loses is inside."""
    line = re.sub(r"\s*\n\s*", " ", printable(text)).strip()
    if len(line) <= _MAX_LINE_CHARS:
        return line
    # What would be right stands at the end of a message.
    return f"{line[: _MAX_LINE_CHARS - _END_CHARS - 3]} … {line[-_END_CHARS:]}"
