"""May two statements share a verdict at all? What must be in both exactly as written.

Vectors are alike for "rose by 12 %" and "rose by 21 %", and a verifier that counts words takes
"The dog bit the man." for "The man bit the dog.". So numbers with their units, signs, names,
negations and small words are compared here, letter by letter.
"""

import re

from rag_evals.core import fingerprint
from rag_evals.text import DENIES, DENIES_SOFTLY, plain_form
from rag_evals.text.word_forms import MARKS, NUMBER_WORDS, is_stop_word

# A piece between spaces, with the signs around it: "(12%," → "(", "12%", ",".
_PIECE = re.compile(r"^([^\w]*)(.*?)([^\w]*)$", re.DOTALL)
_SHORT = (
    (re.compile(r"\b(c)an't\b", re.IGNORECASE), r"\1annot"),
    (re.compile(r"\b(w)on't\b", re.IGNORECASE), r"\1ill not"),
    (
        re.compile(
            r"\b(is|are|was|were|do|does|did|has|have|had|could|would|should|must|need)n't\b",
            re.IGNORECASE,
        ),
        r"\1 not",
    ),
)
_VERSION = 1


def written_out(text: str) -> str:
    """Return the plain form of a statement with "isn't" and the like written out."""
    plain = plain_form(text)
    for short, long in _SHORT:
        plain = short.sub(long, plain)
    return plain


def frame_of(text: str) -> str:
    """Return a hash of what two statements that share a verdict must both have as written.

    Numbers with what is next to them, signs, words with a capital letter and small words, all
    in their order, and the number of negations.
    """
    pieces = [_parts(piece) for piece in written_out(text).split(" ")]
    frame: list[str] = []
    for place, (before, word, after) in enumerate(pieces):
        beside = place > 0 and _counts(pieces[place - 1][1])
        fixed = beside or _is_fixed(word)
        frame.extend(part for part in (before, word if fixed else "", after) if part)
    denies = DENIES | DENIES_SOFTLY
    negations = sum(bool(MARKS.get(word.lower(), 0) & denies) for _, word, _ in pieces)
    return fingerprint(_VERSION, frame, negations)[:32]


def _parts(piece: str) -> tuple[str, str, str]:
    found = _PIECE.match(piece)
    assert found is not None, "the pattern matches any text"
    return found[1], found[2], found[3]


def _counts(word: str) -> bool:
    return any(letter.isdigit() for letter in word) or word.lower() in NUMBER_WORDS


def _is_fixed(word: str) -> bool:
    """Say whether a word must be the same: all but plain words of content."""
    low = word.lower()
    return word != low or _counts(low) or is_stop_word(low) or not word.isalpha() or low in MARKS
