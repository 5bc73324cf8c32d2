"""Where does each character of a changed text come from? A text with places in its source."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

Edit = tuple[int, int, str]
"""From where to where something else stands, and what."""


class Traced(NamedTuple):
    """A text made from another one.

    Attributes:
        text: The text as it is now.
        starts: For each of its characters, where it begins in the source.
        ends: Where it ends there.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def edited(self, edits: Iterable[Edit]) -> "Traced":
        """Return the text with some parts replaced; each new part stands for all of the old one.

        Args:
            edits: In order, not overlapping.
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
        """Return the text with every match replaced."""
        return self.edited((*found.span(), new(found)) for found in pattern.finditer(self.text))


def traced(text: str) -> Traced:
    """Return a text that is still its own source."""
    return Traced(text, list(range(len(text))), list(range(1, len(text) + 1)))
