"""The words in a text: normalised forms, content words, names, numbers and units.

A word's key is shared by its inflected forms ("wrote", "written" and "writes"), and by different
spellings of numbers, dates and units: "12 %", "twelve percent" and "двенадцать процентов"; "March
5, 2019" and "2019-03-05". The rules and tables cover English and Russian.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Literal, TypeVar

from rag_evals.text.lexicon import group_of_words, groups_in, lines_in, named_groups_in, words_in

T = TypeVar("T")
Kind = Literal["stop", "word", "number", "unit"]

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(
    r"(?:[^\W\d_]\.){2,}"
    r"|\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)"
    # "1,2,3" is a list of three numbers; "1,200,000" and "3,5" are single numbers.
    r"|\d{1,2}(?=(?:,\d{1,2}(?!\d)){2})|(?<=\d,)\d{1,2}(?![.\d]\d)"
    r"|\d+(?:[.,]\d+)*"
    # Japanese negative endings; 少ない means "few", and 危ない "dangerous".
    r"|(?<![少危])(?:ませんでした|ません|なかった|ない|なく)"
    rf"|[{_CJK}]"
    rf"|[^\W\d_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)*"
    r"|[%‰$€£¥₽°]"
)
# "1 000": the only token that contains a space.
_SPACED_NUMBER = re.compile("\\d[ \u00a0\u202f]\\d{3}(?!\\d)")
# The country, not the pronoun "us"; no other word's key depends on case.
_COUNTRY = "US"

_LONGEST_WORD = 48
# On Russian test pairs, five letters did better than four, six, seven or no limit.
_RUSSIAN_STEM = 5
_STOP_WORDS = frozenset(words_in("stop_words_english") + words_in("stop_words_russian"))
# Sorted, so that every process removes the same ending.
_RUSSIAN_ENDINGS = sorted(words_in("endings_russian"), key=lambda ending: (-len(ending), ending))
_CANONICAL: dict[str, str] = {}
for _key_of_forms, *_forms in map(str.split, lines_in("forms")):
    for _form in _forms:
        _CANONICAL.setdefault(_form, _key_of_forms)
# Punctuation that is never part of a word.
_BESIDE_WORDS = ",.;:()[]!?\"'“”«»"
# Maximum number of cached words: a few megabytes, enough for most words in a language.
_MOST_KNOWN = 1 << 15

_VERBAL, _DERIVED = ("ing", "ed"), ("ness", "ment", "ion", "ive")
_VOWEL = re.compile("[aeiouy]")
_UNITS_OF_SIGN = {
    "%": "percent", "‰": "permille", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen",
    "₽": "rub", "°": "degre",
}  # fmt: skip

# Effects of a word on a statement, one bit each.
DENIES, DENIES_SOFTLY, QUANTIFIES, WEAKENS, INSISTS, DENIES_ABROAD = 1, 2, 4, 8, 16, 32
# Words that, together with their neighbours, may form a number or a date.
_FIGURE = 64
_WITH_FIGURE = frozenset(range(_FIGURE, 2 * _FIGURE))
_MARKS_OF = attrgetter("marks")
# Negations in other languages have a separate bit: "Mai" or "Ani" may be names in English.

QUANTIFIERS = group_of_words("quantifiers")
"""The group of each quantifier, such as "all" for "every"."""


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
"""The marks of each word, combined with bitwise OR; most words have none."""


@dataclass(slots=True, eq=False)
class Word:
    """A word in a text.

    Attributes:
        surface: The word as written.
        key: The key shared by its inflected forms.
        kind: "stop" for a function word, "unit" for a unit sign, otherwise "word" or "number".
        is_capital: True if it begins with a capital letter.
        low: The surface in lowercase, with straight apostrophes and without "ё".
        marks: Its effects on a statement, as a bit mask of flags such as `DENIES`; often 0.
    """

    surface: str
    key: str
    kind: Kind
    is_capital: bool
    low: str
    marks: int


def words(text: str) -> list[Word]:
    """Split a text into words, numbers and unit signs.

    Punctuation is left out, and hyphenated words are split.
    """
    return list(map(_WORDS.__getitem__, _TOKEN.findall(text)))


def read_words(text: str) -> list[Word]:
    """Split a text into words, and normalise dates and numbers.

    "2.5 million" becomes one word, but "two and a half million" remains several words. "two hundred
    and five people, 1,500 seats, in May" has the keys 205, person, 1500, seat, in, month5.
    """
    # Looking up whole pieces is three times as fast as the regular expression.
    sequence = list(chain.from_iterable(map(_PIECES.__getitem__, text.split())))
    if _WITH_FIGURE.isdisjoint(map(_MARKS_OF, sequence)):
        return sequence
    if _SPACED_NUMBER.search(text):
        sequence = _read_tokens(text)
    return _normalise_numbers(sequence)


def words_of(text: str) -> list[str]:
    """Return the words and numbers in a text, in lowercase and without unit signs."""
    return [word.low for word in words(text) if word.kind != "unit"]


def stem(word: str) -> str:
    """Return the key shared by the forms of a word.

    The key is in lowercase, has at most 48 characters, and need not be a real word.
    """
    return _WORDS[word].key


def is_stop_word(low: str) -> bool:
    return low in _STOP_WORDS


def is_name_at(sentence: list[Word], position: int) -> bool:
    """True if the word at a position in a sentence looks like part of a name.

    A sentence's first word qualifies only if it contains another capital letter or the next word is
    capitalised.
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
    table: dict[str, set[str]] = {}
    for group in groups_in("synonyms_english", "synonyms_russian"):
        keys = {stem(word) for word in group}
        for key in keys:
            table.setdefault(key, set()).update(keys)
    return {key: frozenset(others - {key}) for key, others in table.items()}


class _Cache(dict[str, T]):
    """A cache of values by text, cleared when full; to save memory, it excludes long texts."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        made = self._make(text)
        if len(text) <= _LONGEST_WORD:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[text] = made
        return made


def _analyse(token: str) -> Word:
    # Very long tokens are truncated.
    token = token[:_LONGEST_WORD]
    first = token[0]
    if first.isdecimal():
        return Word(token, token, "number", False, token, _FIGURE)
    if first in _UNITS_OF_SIGN:
        return Word(token, _UNITS_OF_SIGN[first], "unit", False, token, 0)
    plain = token
    if not token.isascii():
        plain = unicodedata.normalize("NFKC", token).replace("’", "'")
    plain = plain.replace(".", "")
    if plain == _COUNTRY:
        return Word(token, "usa", "word", True, "us", 0)  # the country, not the pronoun
    low = plain.lower().replace("ё", "е")
    kind: Kind = "stop" if low in _STOP_WORDS else "word"
    marks = MARKS.get(low, 0) | (_FIGURE if low in _FIGURES else 0)
    return Word(token, _key(low), kind, first.isupper(), low, marks)


_WORDS = _Cache(_analyse)


def _read_piece(piece: str) -> tuple[Word, ...]:
    # A shortcut for plain words and numbers, which make up most pieces.
    bare = piece.strip(_BESIDE_WORDS)
    if bare.isalpha() and bare.isascii():
        return (_WORDS[bare],)
    if bare.isdecimal():
        return (_number(bare[:_LONGEST_WORD]),)
    return tuple(_read_tokens(piece))


def _read_tokens(text: str) -> list[Word]:
    found = words(_ISO_DATE.sub(_spell_date, text) if _MAY_BE_DATE.search(text) else text)
    return [_number(word.surface) if word.kind == "number" else word for word in found]


_PIECES = _Cache(_read_piece)


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
        # Accents are often omitted: "Alemanía" and "Alemania".
        # A lone accent, such as a half-width Japanese sound mark, is its own key.
        plain = [c for c in unicodedata.normalize("NFKD", low) if not unicodedata.combining(c)]
        low = "".join(plain) or low
    key = _english(low) if low.isascii() else _russian(low) if "а" <= low[0] <= "я" else low
    return _CANONICAL.get(key, key)


def _english(low: str) -> str:
    if len(low) <= 3:
        return low
    word = _strip_plural(low) if low[-1] == "s" else low
    if word.endswith(_VERBAL):
        word = _strip_verb_ending(word)
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith(_DERIVED):
        word = _strip_derivation(word)
    if word[-1] == "y" and len(word) > 3 and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    elif word[-1] == "e" and len(word) > 3:
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
    rest = word[:-3] if word[-1] == "g" else word[:-2]
    if len(rest) < 3 or not _VOWEL.search(rest) or rest[-1] == "e":
        return word
    if rest[-1] == rest[-2] and rest[-1] not in "lsz":
        return rest[:-1]
    return rest


def _strip_derivation(word: str) -> str:
    rest = word[:-4] if word.endswith(("ness", "ment")) else word[:-3]
    return rest if len(rest) >= 4 else word


def _russian(low: str) -> str:
    word = low
    if word.endswith(("ся", "сь")) and len(word) > 5:
        word = word[:-2]
    for ending in _RUSSIAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:_RUSSIAN_STEM]


# Words that add to the number before them, words that multiply it, and ordinals.
_ADDENDS, _SCALES, _ORDINALS = (
    {form: int(value) for form, value in group_of_words(name).items()}
    for name in ("numbers", "scales", "ordinals")
)
# "On 2019-03-05 and 05.03.2019" → "On 5 March 2019 and 5 March 2019".
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_MAY_BE_DATE = re.compile(r"\d[-.]\d\d?[-.]\d")
_VERBS_TOO = frozenset(("may", "march", "mar"))
_BESIDE_MONTHS = frozenset(
    "in of since until till by from between during every each last next early late mid".split()
)
_PERIODS = frozenset(
    "a an per each every daily weekly monthly yearly annually or and more in".split()
)
NUMBER_WORDS = frozenset(_ADDENDS) | frozenset(_SCALES) | frozenset(_ORDINALS)
"""Number words, in lowercase."""

_MONTHS = list(named_groups_in("months"))
_NUMBERS_OF_MONTHS = {
    form: number for number, (_, forms) in enumerate(_MONTHS, start=1) for form in forms
}
MONTHS = frozenset(f"month{number}" for number in range(1, 13))
"""The keys of the months."""

_UNITS = group_of_words("units")
for _form in NUMBER_WORDS.union(_NUMBERS_OF_MONTHS):
    MARKS.setdefault(_form, 0)


def unit_at(sequence: list[Word], position: int) -> str:
    """Return the unit next to the number at `position`, or "" if there is none."""
    if position + 1 < len(sequence):
        unit = _UNITS.get(sequence[position + 1].low)
        if unit is not None:
            return unit
    if position and sequence[position - 1].kind == "unit":
        return _UNITS.get(sequence[position - 1].surface, "")
    return ""


def _normalise_numbers(sequence: list[Word]) -> list[Word]:
    figures = [i for i, word in enumerate(sequence) if word.low in _FIGURES]
    result: list[Word] = []
    position = 0
    for figure in figures:
        if position < figure and sequence[figure - 1].kind == "number":
            result += sequence[position : figure - 1]
            position = _read_digits(sequence, figure - 1, result)
        # This figure was already read as part of the previous number.
        if figure < position:
            continue
        result += sequence[position:figure]
        position, word = figure, sequence[figure]
        low = word.low
        if low in NUMBER_WORDS and not _is_pronoun(low, sequence, position):
            position = _read_number_words(sequence, position, result)
            continue
        month = _NUMBERS_OF_MONTHS.get(low)
        if month is not None and (low not in _VERBS_TOO or _is_month(sequence, position)):
            word = Word(word.surface, f"month{month}", "word", True, low, 0)
        result.append(word)
        position += 1
    return result + sequence[position:]


def numbers_of(text: str) -> set[str]:
    """Return the numbers in a text, including number words, as plain decimals."""
    return {word.key for word in read_words(text) if word.kind == "number"}


def _plain_decimal(digits: str) -> str:
    """Normalise digits: no thousands separators, a decimal point, no trailing zeros."""
    if digits.isdecimal() and digits[0] != "0":
        return digits
    text = digits.replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
    if "," in text:
        head, _, tail = text.rpartition(",")
        is_decimal = len(tail) != 3 and "." not in text and "," not in head
        text = f"{head}.{tail}" if is_decimal else text.replace(",", "")
    if text.count(".") > 1:
        return text
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.lstrip("0") or "0"


def _spell_date(match: re.Match[str]) -> str:
    year, month, day, day2, month2, year2 = match.groups()
    number = int(month or month2)
    if not 1 <= number <= 12:
        return match.group()
    name = _MONTHS[number - 1][0].capitalize()
    return f"{int(day or day2)} {name} {year or year2}"


def _is_month(sequence: list[Word], position: int) -> bool:
    """Distinguish "in may 2014" and "every May" from "may help" and "March to the hill"."""
    neighbours = sequence[max(0, position - 1) : position] + sequence[position + 1 : position + 2]
    if any(word.kind == "number" or word.low in _BESIDE_MONTHS for word in neighbours):
        return True
    return position > 0 and sequence[position].is_capital


def _is_pronoun(low: str, sequence: list[Word], position: int) -> bool:
    if low == "once":
        following = sequence[position + 1].low if position + 1 < len(sequence) else ""
        return following not in _PERIODS
    if low == "second" and position and sequence[position - 1].kind == "number":
        return True
    if low in ("k", "bn", "mln", "hundreds"):
        return True
    if low not in ("one", "один", "одна", "одно", "одного", "одной"):
        return False
    following = sequence[position + 1].low if position + 1 < len(sequence) else ""
    # "one of the", "no one", "один из" are not numbers.
    return following in ("of", "из", "another", "can", "must", "") or (
        position > 0 and sequence[position - 1].low in ("no", "the", "this", "that")
    )


def _read_digits(sequence: list[Word], position: int, result: list[Word]) -> int:
    number = sequence[position]
    position += 1
    scale = _scale_at(sequence, position)
    value = number.key
    if scale is not None and len(value) < 12 and value.count(".") < 2:
        value = _scaled(value, scale)
        shown = f"{number.surface} {sequence[position].surface}"
        number = Word(shown, value, "number", False, value, 0)
        position += 1
    elif sequence[position].low in _ORDINAL_ENDINGS:
        position += 1
    before = result[-1].kind if result else ""
    result.append(number)
    short = _SHORT_UNITS.get(sequence[position].surface) if position < len(sequence) else None
    # In "$5 m", "m" means million.
    if short is not None and before != "unit":
        result.append(short)
        position += 1
    return position


def _scale_at(sequence: list[Word], position: int) -> int | None:
    word = sequence[position]
    scale = _SHORT_SCALES.get(word.low)
    if scale is None:
        return _SCALES.get(word.low)
    # "$5 m", "5m dollars", "5M" and "5B" mean millions or billions; "5 m" means metres.
    following = sequence[position + 1].low if position + 1 < len(sequence) else ""
    is_money = _UNITS.get(following) in _MONEY or (
        position > 1 and _UNITS.get(sequence[position - 2].surface) in _MONEY
    )
    return scale if is_money or word.surface in ("M", "B") else None


def _number(digits: str) -> Word:
    value = _plain_decimal(digits)
    # Three digits may be the second part of "1 000".
    is_part = digits[2:3].isdecimal() and not digits[3:4].isdecimal()
    return Word(digits, value, "number", False, value, _FIGURE if is_part else 0)


_ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th", "го", "й", "е", "х", "ти"))
_SHORT_SCALES = {"m": 10**6, "b": 10**9}
# Words for numbers and months, and the words that can change the number before them or be its unit.
_FIGURES = NUMBER_WORDS.union(_NUMBERS_OF_MONTHS, _ORDINAL_ENDINGS, _SHORT_SCALES, "mglhtмлчт")
_MONEY = frozenset("$€£₽")
# Single letters that are units after a number; elsewhere, they may mean anything.
_SHORT_UNITS = {
    letter: replace(word, surface=letter)
    for letter, name in {
        "m": "metres", "g": "grams", "l": "litres", "h": "hours", "t": "tonnes",
        "м": "метров", "л": "литров", "ч": "часов", "т": "тонн",
    }.items()
    for word in words(name)
}  # fmt: skip


def _scaled(value: str, scale: int) -> str:
    whole, _, part = value.partition(".")
    digits = int(whole + part) * scale
    if not part:
        return str(digits)
    return _plain_decimal(f"{digits / 10 ** len(part):f}")


def _adds(following: list[Word]) -> bool:
    """True for "five" after "one hundred and", but not for the second number "five hundred"."""
    scales = [_SCALES.get(word.low) for word in following[1:]]
    return bool(following) and following[0].low in _ADDENDS and scales != [100]


def _read_number_words(sequence: list[Word], position: int, result: list[Word]) -> int:
    start = position
    total = current = 0
    while position < len(sequence):
        low = sequence[position].low
        if low in _SCALES:
            current = max(current, 1) * _SCALES[low]
            if _SCALES[low] > 100:
                total, current = total + current, 0
        elif low in _ADDENDS:
            value = _ADDENDS[low]
            if (current % 100 and value >= 10) or (current and current % 10 and value < 10):
                break
            current += value
        elif low in _ORDINALS:
            current += _ORDINALS[low]
            position += 1
            break
        elif not (
            low == "and"
            and current
            and current % 100 == 0
            and _adds(sequence[position + 1 : position + 3])
        ):
            break
        position += 1
    surface = " ".join(word.surface for word in sequence[start:position])
    result.append(Word(surface, str(total + current), "number", False, surface, 0))
    return position
