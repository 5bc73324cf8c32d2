"""How is a number, a date or a unit written in one way? What is not certain stays as it is."""

import re
from decimal import Decimal

_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
SMALL = {name: value for value, name in enumerate(_SMALL_NAMES.split())}
# Russian forms, by value: those of other cases are given where they are common.
_SMALL_RUSSIAN = {
    0: "ноль нуль",
    1: "один одна одно одного одной",
    2: "два две двух двум двумя",
    3: "три трех трем тремя",
    4: "четыре четырех четырем",
    5: "пять пяти пятью",
    6: "шесть шести шестью",
    7: "семь семи семью",
    8: "восемь восьми",
    9: "девять девяти девятью",
    10: "десять десяти десятью",
    11: "одиннадцать одиннадцати",
    12: "двенадцать двенадцати двенадцатью",
    13: "тринадцать тринадцати",
    14: "четырнадцать четырнадцати",
    15: "пятнадцать пятнадцати",
    16: "шестнадцать шестнадцати",
    17: "семнадцать семнадцати",
    18: "восемнадцать восемнадцати",
    19: "девятнадцать девятнадцати",
}
SMALL |= {form: value for value, forms in _SMALL_RUSSIAN.items() for form in forms.split()}
_TENS = {
    20: "twenty двадцать двадцати",
    30: "thirty тридцать тридцати",
    40: "forty сорок сорока",
    50: "fifty пятьдесят пятидесяти",
    60: "sixty шестьдесят шестидесяти",
    70: "seventy семьдесят семидесяти",
    80: "eighty восемьдесят восьмидесяти",
    90: "ninety девяносто девяноста",
    100: "сто ста",
    200: "двести двухсот",
    300: "триста трехсот",
    400: "четыреста четырехсот",
    500: "пятьсот пятисот",
    600: "шестьсот шестисот",
    700: "семьсот семисот",
    800: "восемьсот восьмисот",
    900: "девятьсот девятисот",
}
TENS = {form: value for value, forms in _TENS.items() for form in forms.split()}
_SCALES = {
    100: "hundred",
    10**3: "thousand тысяча тысячи тысяч тыс",
    10**6: "million mln миллион миллиона миллионов млн",
    10**9: "billion bn миллиард миллиарда миллиардов млрд",
    10**12: "trillion трлн триллион триллиона триллионов",
}
SCALES = {form: value for value, forms in _SCALES.items() for form in forms.split()}
_ORDINAL_NAMES = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
ORDINALS = {
    name: f"{value}{_ENDINGS.get(value, 'th')}" for value, name in enumerate(_ORDINAL_NAMES.split())
}

# Tons, tonnes and pounds stay apart: they are different amounts.
_UNITS = {
    "percent": "% percent pct процент процента процентов",
    "USD": "$ dollar dollars usd доллар доллара долларов",
    "EUR": "€ euro euros eur евро",
    "GBP": "£ gbp",
    "RUB": "₽ rub ruble rubles rouble roubles рубль рубля рублей руб",
    "km": "km kilometre kilometres kilometer kilometers км километр километра километров",
    "m": "m metre metres meter meters м метр метра метров",
    "cm": "cm centimetre centimetres centimeter centimeters см сантиметр сантиметра сантиметров",
    "mm": "mm millimetre millimetres millimeter millimeters мм миллиметр миллиметра миллиметров",
    "mile": "mile miles миля мили миль",
    "foot": "foot feet ft",
    "inch": "inch inches",
    "kg": "kg kilogram kilograms килограмм килограмма килограммов кг",
    "g": "g gram grams грамм грамма граммов",
    "mg": "mg milligram milligrams мг миллиграмм миллиграмма миллиграммов",
    "tonne": "tonne tonnes тонна тонны тонн",
    "litre": "litre litres liter liters литр литра литров",
    "hour": "hour hours hr hrs час часа часов",
    "minute": "minute minutes min mins минута минуты минут",
    "second": "second seconds sec secs секунда секунды секунд",
    "day": "day days день дня дней",
    "week": "week weeks неделя недели недель",
    "month": "month months месяц месяца месяцев",
    "year": "year years год года лет",
}
UNITS = {form: unit for unit, forms in _UNITS.items() for form in forms.split()}
GLUED_UNITS = frozenset(("km", "cm", "mm", "kg", "mg", "км", "см", "мм", "кг", "мг"))
"""Units that may follow a number without a space and mean nothing else: not "5m" or "4K"."""

CURRENCIES = frozenset(("USD", "EUR", "GBP", "RUB"))

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "January Jan января",
            "February Feb февраля",
            "March Mar марта",
            "April Apr апреля",
            "May мая",
            "June Jun июня",
            "July Jul июля",
            "August Aug августа",
            "September Sept Sep сентября",
            "October Oct октября",
            "November Nov ноября",
            "December Dec декабря",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(?:the )?(?P<day>[0-9]{1,2})(?:st|nd|rd|th|-?го)?(?: of)?"
_YEAR = r"(?P<year>[12][0-9]{3})(?![0-9]|[.,:][0-9])(?: ?(?:года|году|год|г\.))?"
_DATES = (
    re.compile(rf"\b{_DAY} (?P<month>{_MONTH})\b\.?,? {_YEAR}"),
    re.compile(
        rf"\b(?P<month>{_MONTH})\b\.? (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}",
    ),
    re.compile(rf"\b(?P<month>{_MONTH})\b\.?,?(?: of)? {_YEAR}"),
    re.compile(rf"\b{_DAY} (?P<month>{_MONTH})\b"),
    re.compile(
        rf"\b(?P<month>{_MONTH})\b\.? (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w]|[.,:][0-9])"
    ),
    re.compile(
        r"(?<![\w.\ue000-])(?P<year>[12][0-9]{3})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?![\w-])"
    ),
)
_DOTTED = re.compile(
    r"(?<![\w.])(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[12][0-9]{3})(?![\w])"
    r"(?: ?(?:года|году|г\.))?"
)
_RUSSIAN_YEAR = re.compile(r"(?<![\w.,-])([12][0-9]{3}) ?(?:году|года|год|г\.)(?!\w)")

DATE_MARK = "\ue000"
"""Stands before a date; it occurs in no text."""


def with_dates(text: str, *, russian: bool) -> str:
    """Write every date that is certain as `DATE_MARK` and year, month and day.

    Args:
        text: A statement.
        russian: Whether "05.03.2019" is surely the fifth of March.
    """
    for pattern in (*_DATES, *((_DOTTED,) if russian else ())):
        text = pattern.sub(_date, text)
    return _RUSSIAN_YEAR.sub(r"\1", text) if russian else text


def _date(found: re.Match[str]) -> str:
    parts = found.groupdict()
    written = parts["month"]
    month = _MONTHS.get(written) or int(written)
    day = parts.get("day")
    if not 1 <= month <= 12 or (day is not None and not 1 <= int(day) <= 31):
        return found.group()
    shown_day = "" if day is None else f"{int(day):02}"
    return f" {DATE_MARK}{parts.get('year') or ''}-{month:02}-{shown_day} "


def plain_number(written: str, *, russian: bool, measured: bool) -> str:
    """Write digits in one way, where it is certain which number they are.

    Args:
        written: Digits with signs between them, such as `1,500` or `12,5`.
        russian: Whether a comma is a decimal sign.
        measured: Whether a unit or a scale follows. Only then do zeros at the end mean nothing:
            "3.10" may be a version.
    """
    sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written)
    if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?", digits):
        if russian:
            return written
        digits = digits.replace(",", "")
    elif russian and re.fullmatch(r"[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})", digits):
        digits = digits.replace(",", ".")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", digits) or re.match(r"0[0-9]", digits):
        return written
    if russian and re.fullmatch(r"[0-9]{1,3}\.[0-9]{3}", digits):
        return written
    if "." in digits and measured:
        digits = digits.rstrip("0").rstrip(".")
    return sign + digits


def scaled(number: str, scale: int) -> str:
    """Multiply a plain number; one that is not plain is left alone, with its scale."""
    try:
        product = Decimal(number) * scale
    except ArithmeticError:
        return f"{number}*{scale}"
    return f"{product.normalize():f}"
