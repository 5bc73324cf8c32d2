"""How is a number or a unit written in one form? Uncertain ones are not changed."""

import re
from collections.abc import Sequence
from decimal import Decimal

from rag_evals.text import (
    ENGLISH_SCALES,
    ENGLISH_TENS,
    ENGLISH_UNDER_TWENTY,
    RUSSIAN_GENITIVES,
    RUSSIAN_NOMINATIVES,
    RUSSIAN_SCALES,
    SURE_UNITS,
)

# Left out of both: "один" (alone), "семью" (a family); "сорок" alone may be magpies.
_SMALL, _TENS, _SCALES = ENGLISH_UNDER_TWENTY, ENGLISH_TENS, ENGLISH_SCALES
_DIRECT, _OBLIQUE = RUSSIAN_NOMINATIVES, RUSSIAN_GENITIVES
# Only after these is the case no part of what is said: "двух кенгуру" may be whom they saw.
_GOVERN = frozenset("более менее больше меньше около до из от свыше без для после".split())
_NOT_COUNTED_AFTER = frozenset("не ни".split())

NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
"""A number in its normal form."""

_OWN_NAMES = {"$": "dollars", "€": "euros", "m": "метров", "l": "litres"}
UNITS = {form: _OWN_NAMES.get(unit, unit) for form, unit in SURE_UNITS.items()}
# Forms that the embedded verifier was trained without, and signs in capitals.
UNITS |= {"EUR": "euros", "USD": "USD", "сантиметра": "cm", "миллиметра": "mm", "миллиграмма": "mg"}
"""Exact spelling counts: "Mg" is not "mg", and "5 dollar notes" are not "$5 notes"."""

_PAIRED_UNITS = {
    ("per", "cent"): "%",
    ("US", "dollars"): "USD",
    ("°", "C"): "°C",
    ("degrees", "Celsius"): "°C",
    ("градусов", "Цельсия"): "°C",
    ("градуса", "Цельсия"): "°C",
}
_METRES = frozenset("m metres meters".split())
# "5 meters" may be devices and "5 m" millions, unless one of these follows.
_MEASURES = frozenset("tall high long wide deep thick".split())
_SIGNS = {"$": "dollars", "€": "euros", "£": "£", "₽": "₽", "USD": "USD"}
GLUED_UNITS = frozenset(("km", "cm", "mm", "kg", "mg", "км", "см", "мм", "кг", "мг"))
"""Units that may follow a number without a space and mean nothing else: not "5m" or "4K"."""

# "1,990 people" are counted, "1990 elections" and "in 1990 dollars" may be those of a year.
_COUNTED = frozenset("people seats rooms inhabitants residents employees workers".split())
_BEFORE_YEARS = frozenset(
    "the year in by since until from to of after before during around about circa".split()
)
_IS_NUMBER = re.compile(r"-?\.?[0-9][0-9.,:]*")


def with_numbers(words: Sequence[str], *, russian: bool) -> list[str]:
    """Write numbers with their scales and units in one way; a currency goes behind its number.

    "cost $ 2.5 million" → "cost 2500000 dollars"; "twelve percent" → "12 %".
    """
    result: list[str] = []
    place = 0
    while place < len(words):
        unit = _SIGNS.get(words[place])
        leads = unit is not None and place + 1 < len(words) and bool(_digits(words[place + 1]))
        start = place + 1 if leads else place
        value, after = _number(words, start, russian=russian, measured=leads)
        if value is None:
            result.append(words[place])
            place += 1
            continue
        result.append(value)
        place = after
        if not leads:
            unit, place = _unit(words, after)
        if unit is not None:
            result.append(unit)
    return result


def number_of(word: str) -> int | None:
    """Return the number that an English word of one or two parts is, such as "twenty-five"."""
    tens, _, small = word.partition("-")
    if not small:
        return _SMALL.get(word, _TENS.get(word))
    value = _SMALL.get(small, 0)
    return _TENS[tens] + value if tens in _TENS and 0 < value < 10 else None


def _digits(word: str) -> bool:
    return _IS_NUMBER.fullmatch(word) is not None


def _number(
    words: Sequence[str], place: int, *, russian: bool, measured: bool
) -> tuple[str | None, int]:
    """Return the number that begins at a place and where it ends; None where none begins."""
    if not _digits(words[place]):
        read = _russian_number if russian else _english_number
        return read(words, place)
    after = place + 1
    scales = RUSSIAN_SCALES if russian else _SCALES
    scale = scales.get(words[after]) if after < len(words) else None
    measured = measured or scale is not None or _unit(words, after)[0] is not None
    before = words[place - 1].lower() if place else ""
    following = words[after] if after < len(words) else ""
    counts = (measured or following in _COUNTED) and before not in _BEFORE_YEARS
    value = _plain(words[place], russian=russian, measured=measured, counts=counts)
    return (value, after) if scale is None else (_scaled(value, scale), after + 1)


def _english_number(words: Sequence[str], place: int) -> tuple[str | None, int]:
    """Read "twelve", "three hundred and five", "two million"; other words end it."""
    first = words[place]
    value = number_of(first if place else first[:1].lower() + first[1:])
    following = [*words[place + 1 : place + 5], "", "", "", ""]
    if value is None or (value == 1 and following[0] not in ("hundred", *_SCALES)):
        return None, place
    # "Seven Brides" is a title; "twenty five pound notes" may be twenty.
    if (not place and following[0][:1].isupper()) or (
        value in _TENS.values() and number_of(following[0]) is not None
    ):
        return None, place
    after = place + 1
    if following[0] == "hundred" and 0 < value < 10:
        value, after = 100 * value, place + 2
        rest = number_of(following[2]) if following[1] == "and" else None
        # "between one hundred and five hundred" are two numbers.
        is_range = place > 0 and words[place - 1].lower() == "between"
        if rest and (is_range or following[3] in ("hundred", *_SCALES, "and")):
            return None, place
        if rest:
            return str(value + rest), place + 4
        following = following[1:]
    if following[0] in _SCALES:
        return str(value * _SCALES[following[0]]), after + 1
    return str(value), after


def _russian_number(words: Sequence[str], place: int) -> tuple[str | None, int]:
    """Read "двадцать пять" or, after "более" and the like, "двадцати пяти"."""
    before = words[place - 1].lower() if place else ""
    first = words[place] if place else words[0][:1].lower() + words[0][1:]
    table = _OBLIQUE if before in _GOVERN else _DIRECT
    value = table.get(first)
    if value is None or before in _NOT_COUNTED_AFTER or (place == 0 and first == "три"):
        return None, place
    start, place = place, place + 1
    while place < len(words) and words[place] in table and _fits(value, table[words[place]]):
        value += table[words[place]]
        place += 1
    scale = RUSSIAN_SCALES.get(words[place]) if place < len(words) else None
    if value == 40 and scale is None:
        return None, start
    return (str(value), place) if scale is None else (str(value * scale), place + 1)


def _fits(value: int, part: int) -> bool:
    """Say whether a part may follow: units after tens, tens after hundreds."""
    room = 10 if part < 10 else 100 if part < 100 else 1000
    return value % room == 0 and value >= 20


def _unit(words: Sequence[str], place: int) -> tuple[str | None, int]:
    """Return the unit at a place and where it ends; None where there is none."""
    first, second = [*words[place : place + 2], "", ""][:2]
    if (first, second) in _PAIRED_UNITS:
        return _PAIRED_UNITS[first, second], place + 2
    if first in _METRES and second in _MEASURES:
        return "m", place + 1
    unit = UNITS.get(first)
    return (unit, place + 1) if unit else (None, place)


def _plain(written: str, *, russian: bool, measured: bool, counts: bool) -> str:
    """Write digits in one way, where it is certain which number they are.

    Args:
        written: Digits with signs between them, such as `1,500` or `12,5`.
        russian: Whether a comma is a decimal sign.
        measured: Whether a unit or a scale follows. Only then do zeros at the end mean nothing:
            "3.10" may be a version.
        counts: Whether it surely counts something: "1990" may be a year, "1,990" may not.
    """
    sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written)
    if not russian and re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?", digits):
        plain = digits.replace(",", "")
        if not counts and re.fullmatch("1[0-9]{3}|20[0-9]{2}", plain):
            return written
        digits = plain
    elif russian and re.fullmatch(r"[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})", digits):
        digits = digits.replace(",", ".")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", digits) or re.match(r"0[0-9]", digits):
        return written
    if russian and re.fullmatch(r"[0-9]{1,3}\.[0-9]{3}", digits):
        return written
    if "." in digits and measured:
        digits = digits.rstrip("0").rstrip(".")
    return sign + digits


def _scaled(number: str, scale: int) -> str:
    """Multiply a plain number; one that is not plain is left alone, with its scale."""
    try:
        product = Decimal(number) * scale
    except ArithmeticError:
        return f"{number}*{scale}"
    return f"{product.normalize():f}"


def as_percent(number: str) -> str:
    """Write 0.12 as 12."""
    return _scaled(number, 100)
