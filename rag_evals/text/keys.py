"""Under which keys do the words of a plain sentence meet?

Most sentences of a chunk are only looked up, never compared. Their keys are all that is needed, and
a piece of text without white space has the same keys in nearly every sentence. A sentence is plain
where that holds for all of its pieces.
"""

from itertools import chain
from typing import TypeVar

from rag_evals.text.numbers import (
    AFTER_NUMBERS,
    is_number_word,
    may_hold_date,
    normalise_numbers,
)
from rag_evals.text.word_forms import (
    COUNTRY,
    MARKS_AROUND,
    MOST_KNOWN,
    is_stop_word,
    may_hold_spaced_number,
    plain_stem,
    words_of_pieces,
)

T = TypeVar("T")

_LONGEST_PIECE = 48
_MOST_WORDS = 2
# Among the keys of a piece, what it does to its sentence; no word has such a key.
_NOT_PLAIN, _IS_NUMBER, _AFTER_NUMBERS = "\n", "\n#", "\n>"


def plain_keys(text: str, value: T, *, most_words: int) -> dict[str, T] | None:
    """Return the keys of all words of a sentence but those of grammar, in order.

    Args:
        text: One sentence.
        value: What each key gets.
        most_words: What is longer is not plain.

    Returns:
        None for a sentence that is not plain: its words have to be read together.
    """
    pieces = text.split()
    if _MOST_WORDS * len(pieces) > most_words:
        return None
    # All of it runs in C.
    keys = dict.fromkeys(chain.from_iterable(map(_KEYS.__getitem__, pieces)), value)
    if _NOT_PLAIN in keys:
        return None
    if _IS_NUMBER in keys:
        # "5 m" and "10 000" are read together.
        if _AFTER_NUMBERS in keys or may_hold_spaced_number(text):
            return None
        del keys[_IS_NUMBER]
    keys.pop(_AFTER_NUMBERS, None)
    return keys


class _Keys(dict[str, tuple[str, ...]]):
    """Keys by piece; emptied when full, like the words."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        bare = piece.strip(MARKS_AROUND)
        if not (bare.isascii() and bare.isalpha()):
            keys = _keys_of(piece)
        elif bare == piece:
            keys = _keys_of_word(piece)
        else:
            keys = self[bare]
        if len(piece) <= _LONGEST_PIECE:
            if len(self) >= MOST_KNOWN:
                self.clear()
            self[piece] = keys
        return keys


_KEYS = _Keys()


def _keys_of_word(token: str) -> tuple[str, ...]:
    """Return what `_keys_of` does, for a word of ASCII letters; nearly all new pieces are such."""
    low = token.lower()
    if is_number_word(low):
        return (_NOT_PLAIN,)
    if is_stop_word(low) and token != COUNTRY:
        return (_AFTER_NUMBERS,) if low in AFTER_NUMBERS else ()
    key = plain_stem(token)
    return (_AFTER_NUMBERS, key) if low in AFTER_NUMBERS else (key,)


def _keys_of(piece: str) -> tuple[str, ...]:
    found = words_of_pieces(piece)
    if len(found) > _MOST_WORDS or any(is_number_word(word.low) for word in found):
        return (_NOT_PLAIN,)
    keys = [word.key for word in normalise_numbers(found) if word.kind != "stop"]
    numbers = [place for place, word in enumerate(found) if word.kind == "number"]
    after = [place for place, word in enumerate(found) if word.low in AFTER_NUMBERS]
    if numbers:
        is_read_alone = len(numbers) == 1 and not after and not may_hold_date(piece)
        return (_IS_NUMBER, *keys) if is_read_alone else (_NOT_PLAIN,)
    return (_AFTER_NUMBERS, *keys) if after else tuple(keys)
