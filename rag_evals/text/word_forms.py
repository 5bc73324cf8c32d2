"""What are the words of a text, which of them carry meaning, and which are names?

A word becomes a `Word`: its surface, a key under which inflected forms meet ("wrote", "written" and
"writes"; "Москве" and "Москва"), and its kind. Rules and small tables only: English and Russian.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from rag_evals.text.lexicon import groups_in, lines_in, named_groups_in, words_in

T = TypeVar("T")
Kind = Literal["stop", "word", "number", "unit"]

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(
    r"(?:[^\W\d_]\.){2,}"
    r"|\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)"
    # "1,2,3" is a list of three, "1,200,000" and "3,5" are numbers.
    r"|\d{1,2}(?=(?:,\d{1,2}(?!\d)){2})|(?<=\d,)\d{1,2}(?![.\d]\d)"
    r"|\d+(?:[.,]\d+)*"
    # The endings with which Japanese denies; 少ない is "few", 危ない "dangerous".
    r"|(?<![少危])(?:ませんでした|ません|なかった|ない|なく)"
    rf"|[{_CJK}]"
    rf"|[^\W\d_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)*"
    r"|[%‰$€£¥₽°]"
)
# The same for a text of ASCII letters: twice as fast.
_ASCII_TOKEN = re.compile(
    r"(?:[A-Za-z]\.){2,}|[A-Za-z]+(?:'[A-Za-z]+)*|\d{1,3}(?: \d{3})+(?!\d)"
    r"|\d{1,2}(?=(?:,\d{1,2}(?!\d)){2})|(?<=\d,)\d{1,2}(?![.\d]\d)|\d+(?:[.,]\d+)*|[%$]"
)
# Not the pronoun "us"; the only word of which the capitals tell the key.
_COUNTRY = "US"

_LONGEST_WORD = 48
# Five letters did better on Russian pairs than four, six, seven or all that the endings leave.
_RUSSIAN_STEM = 5
_STOP_WORDS = frozenset(words_in("stop_words_english") + words_in("stop_words_russian"))
# Longest first; the alphabet decides between equals, so that every process cuts the same one.
_RUSSIAN_ENDINGS = sorted(words_in("endings_russian"), key=lambda ending: (-len(ending), ending))
_CANONICAL: dict[str, str] = {}
for _key_of_forms, *_forms in map(str.split, lines_in("forms")):
    for _form in _forms:
        _CANONICAL.setdefault(_form, _key_of_forms)
# Entries of a table: a few megabytes, and most words of a language.
_MOST_KNOWN = 1 << 15

_DERIVED = ("ness", "ment", "ion", "ive")
_VOWEL = re.compile("[aeiouy]")
_UNITS_OF_SIGN = {
    "%": "percent", "‰": "permille", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen",
    "₽": "rub", "°": "degre",
}  # fmt: skip

# What a word does to a statement, a bit each.
DENIES, DENIES_SOFTLY, QUANTIFIES, WEAKENS, INSISTS, DENIES_ABROAD = 1, 2, 4, 8, 16, 32
# What denies in another language than English and Russian may be a name in these: "Mai", "Ani".

QUANTIFIERS = {form: group for group, forms in named_groups_in("quantifiers") for form in forms}
"""The group of each word of quantity: "every" is of the group "all"."""


def _masks() -> dict[str, int]:
    masks: dict[str, int] = {}
    abroad = [form for _, listed in named_groups_in("denies_languages") for form in listed]
    for mark, forms in (
        (DENIES, words_in("denies")),
        (DENIES_SOFTLY, words_in("denies_softly")),
        (QUANTIFIES, list(QUANTIFIERS)),
        (WEAKENS, words_in("weakens")),
        (INSISTS, words_in("insists")),
        (DENIES_ABROAD, abroad),
    ):
        for form in forms:
            masks[form] = masks.get(form, 0) | mark
    return masks


MARKS = _masks()
"""The marks of each word that has any, added up."""


@dataclass(slots=True)
class Word:
    """One word of a text.

    Attributes:
        surface: As it is written.
        key: Under which inflected forms meet.
        kind: Function words ("stop") and unit signs apart from words and numbers.
        is_capital: It begins with a capital letter.
        low: The surface in lower case, with straight apostrophes and without "ё".
        marks: What it does to a statement, a mask of `DENIES` and its like; 0 for most words.
    """

    surface: str
    key: str
    kind: Kind
    is_capital: bool
    low: str
    marks: int


def words(text: str) -> list[Word]:
    """Split a text into words, numbers and unit signs, in order.

    Punctuation is left out, hyphenated words come as their parts.
    """
    # Dictionaries that fill themselves are looked up in C, and most words were seen before.
    found = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    return list(map(_WORDS.__getitem__, found))


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, in order; unit signs are left out."""
    return [word.low for word in words(text) if word.kind != "unit"]


def stem(word: str) -> str:
    """Return the key under which the forms of a word in any case meet.

    It is in lower case, has at most 48 characters, and is not always a word of the language.
    """
    return _WORDS[word].key


def is_stop_word(low: str) -> bool:
    """Say whether a word in lower case is one of grammar, such as "the", "of" or "не"."""
    return low in _STOP_WORDS


def is_name_at(sentence: list[Word], position: int) -> bool:
    """Tell whether the word at a position of its sentence looks like a part of a name.

    The first word of a sentence counts only when its capital means something: a capital inside
    the word, or a capital on the word after it.
    """
    word = sentence[position]
    if not word.is_capital or word.kind != "word":
        return False
    if position:
        return True
    if not word.surface[1:].islower() and len(word.surface) > 1:
        return True
    following = sentence[1] if len(sentence) > 1 else None
    return following is not None and following.is_capital and following.kind == "word"


@lru_cache(maxsize=1)
def synonyms() -> dict[str, frozenset[str]]:
    """Return, by key, the keys of words that often say the same; most keys have none."""
    table: dict[str, set[str]] = {}
    for group in groups_in("synonyms_english", "synonyms_russian"):
        keys = {stem(word) for word in group}
        for key in keys:
            table.setdefault(key, set()).update(keys)
    return {key: frozenset(others - {key}) for key, others in table.items()}


class _Words(dict[str, Word]):
    """Words as they are read, kept; emptied when full, so that it never grows without bound."""

    def __missing__(self, token: str) -> Word:
        made = _analyse(token)
        # What is long is not kept: the table must not hold megabytes.
        if len(token) <= _LONGEST_WORD:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[token] = made
        return made


def _analyse(token: str) -> Word:
    # Keys of very long tokens are cut.
    token = token[:_LONGEST_WORD]
    if token.isascii() and token.isalpha() and token != _COUNTRY:
        # As below, for nearly all words of an English text.
        low = token.lower()
        kind: Kind = "stop" if low in _STOP_WORDS else "word"
        return Word(token, _plain_key(low), kind, token[0].isupper(), low, MARKS.get(low, 0))
    first = token[0]
    if first.isdecimal():
        return Word(token, token, "number", False, token, 0)
    if first in _UNITS_OF_SIGN:
        return Word(token, _UNITS_OF_SIGN[first], "unit", False, token, 0)
    plain = token
    if not token.isascii():
        plain = unicodedata.normalize("NFKC", token).replace("’", "'")
    plain = plain.replace(".", "")
    if plain == _COUNTRY:
        return Word(token, "usa", "word", True, "us", 0)  # the country, not the pronoun
    low = plain.lower().replace("ё", "е")
    kind = "stop" if low in _STOP_WORDS else "word"
    return Word(token, _key(low), kind, first.isupper(), low, MARKS.get(low, 0))


_WORDS = _Words()


def _plain_key(low: str) -> str:
    key = _CANONICAL.get(low)
    if key is None:
        key = _english(low)
        key = _CANONICAL.get(key, key)
    return key


def _key(low: str) -> str:
    canonical = _CANONICAL.get(low)
    if canonical is not None:
        return canonical
    if low.endswith(("'s", "s'")):
        low = low[:-2] if low.endswith("'s") else low[:-1]
        canonical = _CANONICAL.get(low)
        if canonical is not None:
            return canonical
    if not low:
        return "'"
    if not low.isascii() and not "а" <= low[0] <= "я":
        # "Alemanía" and "Alemania": accents are often left out.
        # An accent by itself, such as a half-width sound mark of Japanese, is its own key.
        low = _unaccented(low) or low
    key = _english(low) if low.isascii() else _russian(low) if "а" <= low[0] <= "я" else low
    return _CANONICAL.get(key, key)


def _unaccented(low: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", low) if not unicodedata.combining(c))


def _english(low: str) -> str:
    if len(low) <= 3:
        return low
    # The last letter tells which rules to try: every new word of a run comes through here.
    word = _strip_plural(low) if low[-1] == "s" else low
    if word[-1] in "dg":
        word = _strip_verb_ending(word)
    if word[-1] in "ystne":
        word = _strip_derivation(word)
    if word.endswith("y") and len(word) > 3 and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    elif word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _strip_verb_ending(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if len(rest) < 3 or not _VOWEL.search(rest) or rest.endswith("e"):
                return word
            if rest[-1] == rest[-2] and rest[-1] not in "lsz":
                return rest[:-1]
            return rest
    return word


def _strip_derivation(word: str) -> str:
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    for ending in _DERIVED if word.endswith(_DERIVED) else ():
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _russian(low: str) -> str:
    word = low
    if word.endswith(("ся", "сь")) and len(word) > 5:
        word = word[:-2]
    for ending in _RUSSIAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:_RUSSIAN_STEM]
