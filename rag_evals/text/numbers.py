"""Which numbers, dates and units does a text state, however they are written?

"12 %", "12%", "twelve percent" and "двенадцать процентов" are one quantity; "March 5, 2019",
"5 марта 2019" and "2019-03-05" give the same three numbers.
"""

import re
from dataclasses import replace
from functools import lru_cache

from rag_evals.text.words import Word, words

_UNITS_EN = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_SMALL = {word: value for value, word in enumerate(_UNITS_EN.split())}
_SMALL |= {"fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19}
_SMALL |= {
    "ноль": 0, "один": 1, "одна": 1, "одно": 1, "одного": 1, "одной": 1, "два": 2, "две": 2,
    "двух": 2, "двум": 2, "двумя": 2, "двое": 2, "три": 3, "трех": 3, "трем": 3, "тремя": 3,
    "трое": 3, "троих": 3, "четыре": 4, "четырех": 4, "четверо": 4, "четверых": 4, "пять": 5,
    "пяти": 5, "пятью": 5, "пятеро": 5, "шесть": 6, "шести": 6, "семь": 7, "семи": 7, "восемь": 8,
    "восьми": 8, "девять": 9, "девяти": 9, "десять": 10, "десяти": 10, "одиннадцать": 11,
    "одиннадцати": 11, "двенадцать": 12, "двенадцати": 12, "тринадцать": 13, "четырнадцать": 14,
    "пятнадцать": 15, "пятнадцати": 15, "шестнадцать": 16, "семнадцать": 17, "восемнадцать": 18,
    "девятнадцать": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "двадцать": 20, "двадцати": 20, "тридцать": 30, "тридцати": 30, "сорок": 40,
    "сорока": 40, "пятьдесят": 50, "пятидесяти": 50, "шестьдесят": 60, "семьдесят": 70,
    "восемьдесят": 80, "девяносто": 90, "сто": 100, "ста": 100, "двести": 200, "триста": 300,
    "четыреста": 400, "пятьсот": 500, "шестьсот": 600, "семьсот": 700, "восемьсот": 800,
    "девятьсот": 900,
}  # fmt: skip
_SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "тысяча": 10**3, "тысячи": 10**3, "тысяч": 10**3, "тыс": 10**3, "миллион": 10**6,
    "миллиона": 10**6, "миллионов": 10**6, "млн": 10**6, "миллиард": 10**9, "миллиарда": 10**9,
    "миллиардов": 10**9, "млрд": 10**9, "mln": 10**6, "bn": 10**9, "hundreds": 100, "k": 10**3,
}  # fmt: skip
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13,
    "первый": 1, "первая": 1, "первое": 1, "первого": 1, "первой": 1, "второй": 2, "вторая": 2,
    "второе": 2, "второго": 2, "третий": 3, "третья": 3, "третье": 3, "третьего": 3,
    "четвертый": 4, "пятый": 5, "шестой": 6, "седьмой": 7, "восьмой": 8, "девятый": 9,
    "десятый": 10, "once": 1, "twice": 2, "дважды": 2, "трижды": 3, "dozen": 12, "double": 2,
}  # fmt: skip
_MONTHS = {
    name: f"month{number}"
    for number, names in enumerate(
        (
            "january jan января январь январе", "february feb февраля февраль феврале",
            "march марта март марте", "april apr апреля апрель апреле", "may мая май мае",
            "june jun июня июнь июне", "july jul июля июль июле",
            "august aug августа август августе", "september sep sept сентября сентябрь сентябре",
            "october oct октября октябрь октябре", "november nov ноября ноябрь ноябре",
            "december dec декабря декабрь декабре",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_UNIT_NAMES = {
    form: unit
    for unit, forms in {
        "%": "% percent pct процент процента процентов проценты проценту",
        "$": "$ dollar dollars usd доллар доллара долларов",
        "€": "€ euro euros eur евро",
        "£": "£ pound pounds gbp фунт фунтов",
        "₽": "₽ ruble rubles rouble roubles руб рубль рубля рублей",
        "km": "km kilometre kilometres kilometer kilometers км километр километра километров",
        "m": "metre metres meter meters метр метра метров",
        "cm": "cm centimetre centimetres centimeter centimeters см сантиметр сантиметров",
        "mm": "mm millimetre millimetres millimeter millimeters мм миллиметр миллиметров",
        "mile": "mile miles mi миля мили миль",
        "ft": "foot feet ft фут футов",
        "kg": "kg kilogram kilograms kilo kilos кг килограмм килограмма килограммов",
        "g": "gram grams грамм грамма граммов",
        "mg": "mg milligram milligrams мг миллиграмм миллиграммов",
        "t": "ton tons tonne tonnes тонна тонны тонн",
        "lb": "lb lbs",
        "l": "litre litres liter liters литр литра литров",
        "gal": "gallon gallons галлон галлона галлонов",
        "oz": "ounce ounces oz унция унции унций",
        "inch": "inch inches дюйм дюйма дюймов",
        "yd": "yard yards ярд ярда ярдов",
        "ha": "hectare hectares гектар гектара гектаров",
        "acre": "acre acres акр акра акров",
        "h": "hour hours hr hrs час часа часов",
        "min": "minute minutes min mins минута минуты минут",
        "s": "seconds sec секунда секунды секунд",
        "day": "day days день дня дней",
        "week": "week weeks неделя недели недель",
        "month": "month months месяц месяца месяцев",
        "year": "year years год года лет году",
        "°": "° degree degrees градус градуса градусов",
        "century": "century centuries век века веков",
    }.items()
    for form in forms.split()
}
# "On 2019-03-05 and 05.03.2019" → "On 5 March 2019 and 5 March 2019".
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_MAY_BE_DATE = re.compile(r"\d[-.]\d\d?[-.]\d")
_NUMBER_WORDS = frozenset(_SMALL) | frozenset(_TENS) | frozenset(_SCALES) | frozenset(_ORDINALS)
_FIGURES = _NUMBER_WORDS | frozenset(_MONTHS)


def may_hold_date(text: str) -> bool:
    """Tell at little cost whether `expand_dates` may change a text or a part of it."""
    return _MAY_BE_DATE.search(text) is not None


def expand_dates(text: str) -> str:
    """Write numeric dates as day, month name and year, so that all dates share one form."""
    if not may_hold_date(text):
        return text
    return _ISO_DATE.sub(_spell_date, text)


def unit_at(sequence: list[Word], position: int) -> str:
    """Return the unit beside the number at `position`, or "" when there is none."""
    if position + 1 < len(sequence):
        unit = _UNIT_NAMES.get(sequence[position + 1].low)
        if unit is not None:
            return unit
    if position and sequence[position - 1].kind == "unit":
        return _UNIT_NAMES.get(sequence[position - 1].surface, "")
    return ""


def normalise_numbers(sequence: list[Word]) -> list[Word]:
    """Replace number words, ordinals, month names and digit spellings by one key each.

    Args:
        sequence: The words of a text.

    Returns:
        The same words, numbers with `kind` "number" and a plain decimal as key; a run such as
        "two and a half million" stays several words, "2.5 million" becomes one. Keys of "two
        hundred and five people, 1,500 seats, in May" → 205, person, 1500, seat, in, month5.
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
        if low in _NUMBER_WORDS and not _is_pronoun(low, sequence, position):
            position = _read_number_words(sequence, position, result)
            continue
        month = _MONTHS.get(low)
        if month is not None and (low not in ("may", "march", "mar") or word.is_capital):
            word = Word(word.surface, month, "word", True, low, 0)
        result.append(word)
        position += 1
    return result + sequence[position:]


def numbers_of(text: str) -> set[str]:
    """Return the numbers in a text as plain decimals, number words among them."""
    found = normalise_numbers(words(expand_dates(text)))
    return {word.key for word in found if word.kind == "number"}


def plain_decimal(digits: str) -> str:
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
    name = _MONTH_NAMES[number - 1]
    return f"{int(day or day2)} {name} {year or year2}"


_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def _is_pronoun(low: str, sequence: list[Word], position: int) -> bool:
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
        scale = _SCALES.get(following)
        value = number.key
        if scale is not None and len(value) < 12 and value.count(".") < 2:
            value = _scaled(value, scale)
            number = Word(surface, value, "number", False, value, 0)
            position += 1
        elif following in ("st", "nd", "rd", "th", "го", "й", "е", "х", "ти"):
            position += 1
    before = result[-1].kind if result else ""
    result.append(number)
    short = _SHORT_UNITS.get(sequence[position].surface) if position < len(sequence) else None
    # "$5 m" are millions.
    if short is not None and before != "unit":
        result.append(short)
        position += 1
    return position


# One letter behind a number; anywhere else it may be anything.
_SHORT_UNITS = {
    letter: replace(word, surface=letter)
    for letter, name in {
        "m": "metres", "g": "grams", "l": "litres", "h": "hours", "t": "tonnes",
        "м": "метров", "л": "литров", "ч": "часов", "т": "тонн",
    }.items()
    for word in words(name)
}  # fmt: skip


@lru_cache(maxsize=4096)
def _number(digits: str) -> Word:
    value = plain_decimal(digits)
    return Word(digits, value, "number", False, value, 0)


def _scaled(value: str, scale: int) -> str:
    whole, _, part = value.partition(".")
    digits = int(whole + part) * scale
    if not part:
        return str(digits)
    return plain_decimal(f"{digits / 10 ** len(part):f}")


def _read_number_words(sequence: list[Word], position: int, result: list[Word]) -> int:
    start = position
    total = current = 0
    while position < len(sequence):
        low = sequence[position].low
        if low in _SCALES:
            current = max(current, 1) * _SCALES[low]
            if _SCALES[low] > 100:
                total, current = total + current, 0
        elif low in _TENS or low in _SMALL:
            value = _TENS.get(low, _SMALL.get(low, 0))
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
    low = sequence[position].low
    return low in _SMALL or low in _TENS
