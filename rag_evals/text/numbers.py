"""Which numbers, dates and units does a text state, however they are written?

"12 %", "12%", "twelve percent" and "двенадцать процентов" are one quantity; "March 5, 2019",
"5 марта 2019" and "2019-03-05" give the same three numbers.
"""

import re
from dataclasses import replace
from functools import lru_cache

from rag_evals.text.lexicon import named_groups_in
from rag_evals.text.word_forms import Word, words

_UNDER_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
# Words that are added up, and words that multiply what stands before them.
_ADDENDS = {
    **{name: value for value, name in enumerate(_UNDER_TWENTY.split())},
    **{name: 10 * value for value, name in enumerate(_TENS.split(), start=2)},
    **{form: int(value) for value, forms in named_groups_in("numbers_russian") for form in forms},
}
_SCALES = {
    form: value
    for value, forms in {
        100: "hundred hundreds",
        10**3: "k thousand тысяча тысячи тысяч тыс",
        10**6: "mln million миллион миллиона миллионов млн",
        10**9: "bn billion миллиард миллиарда миллиардов млрд",
        # The embedded verifier was trained without the Russian word.
        10**12: "trillion",
    }.items()
    for form in forms.split()
}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13,
    "первый": 1, "первая": 1, "первое": 1, "первого": 1, "первой": 1, "второй": 2, "вторая": 2,
    "второе": 2, "второго": 2, "третий": 3, "третья": 3, "третье": 3, "третьего": 3,
    "четвертый": 4, "пятый": 5, "шестой": 6, "седьмой": 7, "восьмой": 8, "девятый": 9,
    "десятый": 10, "once": 1, "twice": 2, "дважды": 2, "трижды": 3, "dozen": 12, "double": 2,
}  # fmt: skip
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
"""Words that are numbers, in lower case."""

_MONTHS = list(named_groups_in("months"))
_NUMBERS_OF_MONTHS = {
    form: number for number, (_, forms) in enumerate(_MONTHS, start=1) for form in forms
}
_UNITS = {form: unit for unit, forms in named_groups_in("units") for form in forms}
_FIGURES = NUMBER_WORDS | frozenset(_NUMBERS_OF_MONTHS)


def expand_dates(text: str) -> str:
    """Write numeric dates as day, month name and year, so that all dates share one form."""
    if _MAY_BE_DATE.search(text) is None:
        return text
    return _ISO_DATE.sub(_spell_date, text)


def unit_at(sequence: list[Word], position: int) -> str:
    """Return the unit beside the number at `position`, or "" when there is none."""
    if position + 1 < len(sequence):
        unit = _UNITS.get(sequence[position + 1].low)
        if unit is not None:
            return unit
    if position and sequence[position - 1].kind == "unit":
        return _UNITS.get(sequence[position - 1].surface, "")
    return ""


def normalise_numbers(sequence: list[Word]) -> list[Word]:
    """Replace number words, ordinals, month names and digit spellings by one key each.

    Numbers get the `kind` "number" and a plain decimal as key; a run such as "two and a half
    million" stays several words, "2.5 million" becomes one. Keys of "two hundred and five people,
    1,500 seats, in May" → 205, person, 1500, seat, in, month5.
    """
    figures = [
        i for i, word in enumerate(sequence) if word.kind == "number" or word.low in _FIGURES
    ]
    if not figures:
        return sequence
    result: list[Word] = []
    position = 0
    for figure in figures:
        # Reading the figure before may have taken this one with it.
        if figure < position:
            continue
        result += sequence[position:figure]
        position = figure
        word = sequence[position]
        if word.kind == "number":
            position = _read_digits(sequence, position, result)
            continue
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
    """Return the numbers in a text as plain decimals, number words among them."""
    found = normalise_numbers(words(expand_dates(text)))
    return {word.key for word in found if word.kind == "number"}


def _plain_decimal(digits: str) -> str:
    """Write a number as digits in one way: no thousands signs, a point, no trailing zeros."""
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
    """Tell "in may 2014" and "every May" from "may help" and "March to the hill"."""
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
    # "one of the", "no one", "один из": the word counts nothing.
    return following in ("of", "из", "another", "can", "must", "") or (
        position > 0 and sequence[position - 1].low in ("no", "the", "this", "that")
    )


def _read_digits(sequence: list[Word], position: int, result: list[Word]) -> int:
    surface = sequence[position].surface
    number = _number(surface)
    position += 1
    if position < len(sequence):
        following = sequence[position].low
        scale = _scale_at(sequence, position)
        value = number.key
        if scale is not None and len(value) < 12 and value.count(".") < 2:
            value = _scaled(value, scale)
            shown = f"{surface} {sequence[position].surface}"
            number = Word(shown, value, "number", False, value, 0)
            position += 1
        elif following in _ORDINAL_ENDINGS:
            position += 1
    before = result[-1].kind if result else ""
    result.append(number)
    short = _SHORT_UNITS.get(sequence[position].surface) if position < len(sequence) else None
    # "$5 m" are millions.
    if short is not None and before != "unit":
        result.append(short)
        position += 1
    return position


def _scale_at(sequence: list[Word], position: int) -> int | None:
    """Return what the word behind a number multiplies it by; None where it does not."""
    word = sequence[position]
    scale = _SHORT_SCALES.get(word.low)
    if scale is None:
        return _SCALES.get(word.low)
    # "$5 m" and "5m dollars" are millions, "5 m" are metres; "5M" and "5B" are no unit.
    following = sequence[position + 1].low if position + 1 < len(sequence) else ""
    is_money = _UNITS.get(following) in _MONEY or (
        position > 1 and _UNITS.get(sequence[position - 2].surface) in _MONEY
    )
    return scale if is_money or word.surface in ("M", "B") else None


_SHORT_SCALES = {"m": 10**6, "b": 10**9}
_MONEY = frozenset("$€£₽")
# One letter behind a number; anywhere else it may be anything.
_SHORT_UNITS = {
    letter: replace(word, surface=letter)
    for letter, name in {
        "m": "metres", "g": "grams", "l": "litres", "h": "hours", "t": "tonnes",
        "м": "метров", "л": "литров", "ч": "часов", "т": "тонн",
    }.items()
    for word in words(name)
}  # fmt: skip

_ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th", "го", "й", "е", "х", "ти"))


@lru_cache(maxsize=4096)
def _number(digits: str) -> Word:
    value = _plain_decimal(digits)
    return Word(digits, value, "number", False, value, 0)


def _scaled(value: str, scale: int) -> str:
    whole, _, part = value.partition(".")
    digits = int(whole + part) * scale
    if not part:
        return str(digits)
    return _plain_decimal(f"{digits / 10 ** len(part):f}")


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
            low == "and" and current and current % 100 == 0 and _is_small(sequence, position + 1)
        ):
            break
        position += 1
    surface = " ".join(word.surface for word in sequence[start:position])
    result.append(Word(surface, str(total + current), "number", False, surface, 0))
    return position


def _is_small(sequence: list[Word], position: int) -> bool:
    if position >= len(sequence):
        return False
    return sequence[position].low in _ADDENDS
