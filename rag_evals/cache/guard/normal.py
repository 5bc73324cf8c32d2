"""What is the normal form of a statement? Its words, numbers, dates and units, in one spelling.

Words keep their endings and capitals: tense, number, case and names are part of what is said.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from rag_evals.cache.guard.lexicon import (
    BOUNDS,
    CONTRACTIONS,
    LEADS,
    LOWER_ANYWHERE,
    PHRASES,
    RELATIONAL_NOUNS,
    SPELLINGS,
    WORDS,
)
from rag_evals.cache.guard.numbers import (
    CURRENCIES,
    DATE_MARK,
    GLUED_UNITS,
    ORDINALS,
    SCALES,
    SMALL,
    TENS,
    UNITS,
    plain_number,
    scaled,
    with_dates,
)


class Token(NamedTuple):
    """One word of the normal form.

    Attributes:
        text: As it is compared.
        initial: True for the first word: its capital may only be that of a sentence.
    """

    text: str
    initial: bool = False

    @property
    def is_number(self) -> bool:
        """True for digits, with or without a sign."""
        return self.text.lstrip("-")[:1].isdigit()

    @property
    def is_date(self) -> bool:
        """True for a date, and for four digits that may be a year."""
        return self.text.startswith(DATE_MARK) or bool(_YEAR.fullmatch(self.text))

    @property
    def is_capital(self) -> bool:
        """True for a word that begins with a capital letter."""
        return self.text[:1].isupper()


COMMA_MARK = "\ue001"
"""Stands for a comma that changes what is said; it occurs in no text."""

_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
_SPLIT_THOUSANDS = re.compile(r"(?<![\w.,])([0-9]{1,3})((?:[ \u00a0\u202f][0-9]{3})+)(?![\w])")
_HARD_THOUSANDS = re.compile(r"(?<![\w.,])([0-9]{1,3})((?:[\u00a0\u202f][0-9]{3})+)(?![\w])")
_INITIALS = re.compile(r"\b(?:[A-ZА-Я]\.\s?){2,}")
_TOKEN = re.compile(
    rf"(?P<date>{DATE_MARK}[0-9-]+)"
    r"|(?P<number>(?:(?<![^\W_])-)?(?<![^\W_])[0-9]+(?:[.,:][0-9]+)*)(?P<glued>[^\W_]*)"
    r"|(?P<word>[^\W_]+(?:['-][^\W\d_]+)*)"
    r"|(?P<sign>\S)"
)
_NO_MEANING = frozenset('.,;:!"()[]«»“”„…‹›')
_OTHER_DOLLARS = re.compile(r"\b([A-Z]{1,2})\$")
_AFTER_DATE = re.compile(rf"^(\s*\w+ +(?:{DATE_MARK}[0-9-]+|[12][0-9]{{3}}))\s*,")
# Where these stand, a comma says who is meant, who speaks, or what is denied.
_COMMA_COUNTS = re.compile(
    r"\b(?:who|which|whose|said|says|claimed|claims|argued|added|noted|wrote|asked|replied|believes|"
    r"thinks|not|no|never|cannot|without|не|ни|нет|нельзя|никогда|без|сказал|сказала|говорит)\b|n't\b",
    re.IGNORECASE,
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-"})
_DASHES = str.maketrans({"—": "-", "―": "-", "−": "-", "ё": "е", "Ё": "Е"})
_SHARES = frozenset(
    "share fraction proportion probability rate ratio доля доли долю вероятность ставка ставку "
    "коэффициент".split()
)
_SUFFIXES = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will"}
_NOT_COUNTED_AFTER = frozenset("no any some every this that the ни".split())
_JOINS = frozenset(("and", "or", "of", "'s"))
_TITLES = frozenset(("Dr", "Prof", "Mr"))
_US = frozenset(("US", "USA"))
_IZE = re.compile(r"(\w{4,})is(e|es|ed|ing|ation|ations)")


def normal_form(statement: str) -> list[Token]:
    """Write a statement in its normal form; empty where it has no words."""
    text = unicodedata.normalize("NFC", statement).translate(_QUOTES).translate(_DASHES)
    russian = bool(_CYRILLIC.search(text))
    text = " ".join(_INITIALS.sub(_joined, text).split(" "))
    text = (_SPLIT_THOUSANDS if russian else _HARD_THOUSANDS).sub(_joined_number, text)
    text = with_dates(re.sub(r"\s+", " ", _without_lead(text)), russian=russian)
    text = _OTHER_DOLLARS.sub(r"\1dollar ", text.replace("US$", "$"))
    text = _AFTER_DATE.sub(r"\1", text)
    if _COMMA_COUNTS.search(text):
        text = re.sub(r"[,;:](?=\s)", f" {COMMA_MARK} ", text)
    tokens = _numbers(_words(text), russian=russian)
    tokens = [_spelled(token) for token in _replaced(tokens, PHRASES)]
    tokens = _bounds(_shares(tokens))
    return _possessives(tokens)


def _joined(found: re.Match[str]) -> str:
    """Write initials together: "U.S." and "J. K." are "US" and "JK"."""
    space = " " if found.group()[-1].isspace() else ""
    return re.sub(r"[.\s]", "", found.group()) + space


def _joined_number(found: re.Match[str]) -> str:
    return found[1] + re.sub(r"\s", "", found[2])


def _without_lead(text: str) -> str:
    lead, comma, rest = text.partition(",")
    return rest.strip() if comma and lead.strip().casefold() in LEADS else text.strip()


def _words(text: str) -> list[Token]:
    words: list[str] = []
    for found in _TOKEN.finditer(text):
        if found["number"]:
            words += _number_words(found["number"], found["glued"])
        elif found["word"]:
            words += _expanded(found["word"])
        elif found["date"]:
            words.append(found["date"])
        elif _has_meaning(found, text):
            words.append("and" if found["sign"] == "&" else found["sign"])
    return [Token(word, initial=place == 0) for place, word in enumerate(words)]


def _has_meaning(found: re.Match[str], text: str) -> bool:
    """Keep a hyphen between digits, "5-10"; between words it only joins them."""
    if found["sign"] == "-":
        before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
        return before.isdigit() and after.isdigit()
    return found["sign"] not in _NO_MEANING


def _number_words(number: str, glued: str) -> list[str]:
    if not glued:
        return [number]
    return [number, glued] if glued in GLUED_UNITS else [number + glued]


def _expanded(word: str) -> list[str]:
    low = word.lower()
    if "-" in word:
        parts = word.split("-")
        # "twenty-five", "five-year"; other hyphens make another word: "man-eating".
        counted = parts[0].lower() in SMALL or parts[0].lower() in TENS
        return [one for part in parts for one in _expanded(part)] if counted else [word]
    if low in CONTRACTIONS:
        first, *rest = CONTRACTIONS[low].split()
        return [first.capitalize() if word[0].isupper() else first, *rest]
    for suffix, full in _SUFFIXES.items():
        if low.endswith(suffix) and len(low) > len(suffix):
            return [word[: -len(suffix)], full]
    return [word[:-2], "'s"] if low.endswith("'s") and len(low) > 2 else [word]


def _numbers(tokens: list[Token], *, russian: bool) -> list[Token]:
    """Read numbers with their scales and units; a currency sign goes behind its number."""
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        currency = UNITS.get(token.text.lower())
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        is_sign = token.text in CURRENCIES or (currency in CURRENCIES and len(token.text) == 1)
        leads = is_sign and following is not None and following.is_number
        start = place + 1 if leads else place
        value, after = _number_at(tokens, start, russian=russian, measured=leads)
        if value is None:
            result.append(token)
            place += 1
            continue
        result.append(Token(value, token.initial))
        unit, place = (currency, after) if leads else _unit_at(tokens, after)
        if unit is not None:
            result.append(Token(unit))
    return result


def _number_at(
    tokens: Sequence[Token], place: int, *, russian: bool, measured: bool
) -> tuple[str | None, int]:
    """Return the number that begins at a place and where it ends; None where none begins."""
    token = tokens[place]
    if not token.is_number:
        if place and tokens[place - 1].text.lower() in _NOT_COUNTED_AFTER:
            return None, place
        return _spelled_number(tokens, place)
    after = place + 1
    scale = SCALES.get(tokens[after].text.lower()) if after < len(tokens) else None
    measured = measured or scale is not None or _unit_at(tokens, after)[0] is not None
    value = plain_number(token.text, russian=russian, measured=measured)
    while scale is not None:
        value = scaled(value, scale)
        after += 1
        scale = SCALES.get(tokens[after].text.lower()) if after < len(tokens) else None
    return value, after


def _spelled_number(tokens: Sequence[Token], place: int) -> tuple[str | None, int]:
    """Read "one hundred and five" or "двадцать пять"; other words end it."""
    start, total, current = place, 0, 0
    while place < len(tokens):
        low = tokens[place].text.lower()
        value = SMALL.get(low, TENS.get(low))
        if low in SCALES and (place > start or low == "hundred"):
            current = max(current, 1) * SCALES[low]
            if SCALES[low] > 100:
                total, current = total + current, 0
        elif value is not None and _fits(current, value):
            current += value
        elif not (low == "and" and place > start and _goes_on(tokens, place, current)):
            break
        place += 1
    return (None, start) if place == start else (str(total + current), place)


def _fits(current: int, value: int) -> bool:
    """Say whether a part may follow: units after tens, tens after hundreds."""
    room = 10 if value < 10 else 100 if value < 100 else 1000
    return current % room == 0


def _goes_on(tokens: Sequence[Token], place: int, current: int) -> bool:
    following = tokens[place + 1].text.lower() if place + 1 < len(tokens) else ""
    return current > 0 and current % 100 == 0 and (following in SMALL or following in TENS)


def _unit_at(tokens: Sequence[Token], place: int) -> tuple[str | None, int]:
    """Return the unit at a place and where it ends; None where there is none."""
    texts = [token.text for token in tokens[place : place + 2]] + ["", ""]
    pair = (texts[0].lower(), texts[1].lower())
    if pair[0] in ("°", "degrees", "градусов", "градуса") and pair[1] in (
        "c",
        "celsius",
        "цельсия",
    ):
        return "celsius", place + 2
    if pair == ("us", "dollars") or pair == ("us", "$"):
        return "USD", place + 2
    # A one-letter unit is small: "5 M" and "5 G" are something else.
    unit = UNITS.get(texts[0] if len(texts[0]) == 1 else pair[0])
    return (unit, place + 1) if unit else (None, place)


def _replaced(
    tokens: list[Token], table: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]
) -> list[Token]:
    """Put the normal phrase for each one of the table, the longest first."""
    result: list[Token] = []
    place = 0
    lows = [token.text.casefold() for token in tokens]
    while place < len(tokens):
        for phrase, normal in table:
            if tuple(lows[place : place + len(phrase)]) == phrase:
                result += [Token(word) for word in normal]
                place += len(phrase)
                break
        else:
            result.append(tokens[place])
            place += 1
    return result


def _spelled(token: Token) -> Token:
    """Put the normal word for a synonym, an ordinal, or another spelling."""
    text, initial = token
    if text in _US:
        return Token("USA", initial)
    if text in LOWER_ANYWHERE or text in _TITLES:
        text = text.lower()
    low = text.lower() if initial else text
    if low in WORDS or low in ORDINALS:
        return Token(WORDS.get(low) or ORDINALS[low], initial)
    for british, american in SPELLINGS:
        if low.startswith(british):
            return Token(american + low[len(british) :], initial)
    return Token(_IZE.sub(r"\1iz\2", text) if _IZE.fullmatch(text) else text, initial)


def _shares(tokens: list[Token]) -> list[Token]:
    """Write 0.12 as 12 percent where the statement speaks of a share and no unit follows."""
    if not _SHARES & {token.text.lower() for token in tokens}:
        return tokens
    result: list[Token] = []
    for place, token in enumerate(tokens):
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if re.fullmatch(r"0\.[0-9]+", token.text) and following not in UNITS.values():
            result += [Token(scaled(token.text, 100)), Token("percent")]
        else:
            result.append(token)
    return result


def _bounds(tokens: list[Token]) -> list[Token]:
    """Name the bound before a number: "over 5" and "more than 5" are one, "over there" is not."""
    result: list[Token] = []
    place = 0
    lows = [token.text.casefold() for token in tokens]
    while place < len(tokens):
        for phrase, normal in BOUNDS:
            end = place + len(phrase)
            is_bound = end < len(tokens) and tokens[end].is_number
            if is_bound and tuple(lows[place:end]) == phrase:
                result += [Token(word) for word in normal]
                place = end
                break
        else:
            result.append(tokens[place])
            place += 1
    return result


def _possessives(tokens: list[Token]) -> list[Token]:
    """Write "the capital of France" as "France 's capital"."""
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        end = _name_end(tokens, place + 3)
        following = tokens[end].text.lower() if end < len(tokens) else ""
        texts = [token.text.lower() for token in tokens[place : place + 3]]
        is_pattern = len(texts) == 3 and texts[0] == "the" and texts[2] == "of"
        if (
            is_pattern
            and texts[1] in RELATIONAL_NOUNS
            and end > place + 3
            and following not in _JOINS
        ):
            result += [*tokens[place + 3 : end], Token("'s"), tokens[place + 1]]
            place = end
        else:
            result.append(tokens[place])
            place += 1
    return result


def _name_end(tokens: Sequence[Token], place: int) -> int:
    """Return where the run of capitalised words that begins at a place ends."""
    while place < len(tokens) and tokens[place].is_capital:
        place += 1
    return place
