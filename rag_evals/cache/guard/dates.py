"""How is a date written in one form? Only where it is certainly a date.

"In May 2000 people died" may count people, "1500 г." may be grams: these are not changed.
"""

import re

from rag_evals.text import MONTHS_OF_DATES

DATE_MARK = "\ue000"
"""Stands before a date; a statement that holds it itself shares with nothing."""

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS_OF_DATES, key=len, reverse=True))})\b\.?"
_YEAR = r"(?P<year>1[0-9]{3}|20[0-9]{2})"
_DAY = r"(?P<day>[0-9]{1,2})"
# What may follow a date and cannot be counted: an end, a sign, a word of this list.
_NEXT = (
    r"(?=$|[.,;:?)](?![0-9])| (?:the|he|she|they|it|his|her|its|in|at|on|by|was|were|is|to|until|"
    r"and|в|на|из|и)(?!\w))"
)
# "the 5th of March, 2019", "March 5, 2019", "2019-03-05" → 2019-03-05; "March 2019" → 2019-03-
_DATES = (
    re.compile(rf"\b(?:the )?{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH},? {_YEAR}{_NEXT}"),
    re.compile(rf"\b{_MONTH} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}{_NEXT}"),
    re.compile(rf"\b{_MONTH}(?: of)? {_YEAR}{_NEXT}"),
    re.compile(rf"(?<=\b[Oo]n )(?:the )?{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}{_NEXT}"),
    re.compile(rf"(?<=\b[Oo]n ){_MONTH} {_DAY}(?:st|nd|rd|th)?{_NEXT}"),
    re.compile(
        r"(?<![\w.\ue000-])(?P<year>[12][0-9]{3})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?![\w-])"
    ),
)
# "5 марта 2019 года", "05.03.2019 г." → 2019-03-05.
_RUSSIAN_DATES = (
    re.compile(rf"\b{_DAY} {_MONTH} {_YEAR} ?(?:года|году|г(?:\.|$))(?!\w)"),
    re.compile(
        r"(?<![\w.])(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[12][0-9]{3})(?![\w])"
        r"(?: ?(?:года|г(?:\.|$))(?!\w))?"
    ),
)
# "Он родился в 1879 г." → "Он родился в 1879 году". "банка в 1500 г." may be grams; after what
# happens once, or before a name, it is a year.
_SHORT_YEARS = (
    re.compile(
        r"\b((?:родил|умер|погиб|скончал|основа|построи|построе|достроил|возвел|откры)[а-я]* в "
        r"(?:1[0-9]{3}|20[0-9]{2})) ?г(?:\.|$)"
    ),
    re.compile(r"^(В (?:1[0-9]{3}|20[0-9]{2})) ?г\.(?= [А-ЯЁ][а-яё]| (?:он|она|они) )"),
)
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def with_dates(text: str, *, russian: bool) -> str:
    """Write every date that is certain as `DATE_MARK` and year, month and day.

    Args:
        text: A statement.
        russian: Whether "05.03.2019" is surely the fifth of March.
    """
    for pattern in (*(_RUSSIAN_DATES if russian else ()), *_DATES):
        text = pattern.sub(_date, text)
    for pattern in _SHORT_YEARS if russian else ():
        text = pattern.sub(r"\1 году", text)
    return text


def _date(found: re.Match[str]) -> str:
    parts = found.groupdict()
    written = parts["month"]
    month = MONTHS_OF_DATES.get(written) or int(written)
    day = parts.get("day")
    if not 1 <= month <= 12 or (day is not None and not 1 <= int(day) <= _LONGEST_MONTH[month - 1]):
        return found.group()
    shown_day = "" if day is None else f"{int(day):02}"
    return f" {DATE_MARK}{parts.get('year') or ''}-{month:02}-{shown_day} "
