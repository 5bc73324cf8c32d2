"""What is the normal form of a statement? Its words, numbers, dates and units, in one spelling.

Words keep their endings, capitals and order, and every sign stays: unknown forms stay different.
Only a full stop at the end and the commas of a date are removed.
"""

import re
import unicodedata

from rag_evals.cache.guard.dates import DATE_MARK, with_dates
from rag_evals.cache.guard.lexicon import (
    AFTER_POSSESSIVE,
    CONTRACTIONS,
    IS_SHORT,
    LEADS,
    LOWERED,
    NAME_WORD,
    NEGATIONS,
    RELATIONAL_NOUNS,
    RULES,
    RUSSIAN_BOUNDS,
    SPELLINGS,
    SUFFIXES,
    WITH_YO,
)
from rag_evals.cache.guard.numbers import GLUED_UNITS, as_percent, number_of, with_numbers

_CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
# A hard space only: with a plain one "В школе 5 300 учеников" may be school number 5.
_HARD_THOUSANDS = re.compile(r"(?<![\w.,])([0-9]{1,3})((?:[\u00a0\u202f][0-9]{3})+)(?![\w])")
# "в школе более 5 300 учеников" → "в школе более 5300 учеников": here it is one number.
_BOUND_THOUSANDS = re.compile(
    r"(?<=\s)(более|менее|свыше|почти|примерно) ([0-9]{1,3}(?: [0-9]{3})+)(?![\w.,])"
)
# "The U.S. army left" → "The US army left".
_US = re.compile(r"\bU\.\s?S\.(?:\s?A\.)?(?=\s[a-z]|$)")
# "J. R. Tolkien" → "J.R. Tolkien".
_INITIALS = re.compile(r"\b([A-ZА-Я]\.) (?=[A-ZА-Я]\. [A-ZА-Я][\w-]+)")
# "Dr. Smith" → "Dr Smith".
_TITLE = re.compile(r"\b(Dr|Mr|Mrs|Ms|Prof)\.(?= [A-Z])")
# "5 тыс. рублей" → "5 тыс рублей".
_SHORT = re.compile(r"(?<=[0-9] )(тыс|млн|млрд|трлн|руб|approx)\.(?= [a-zа-яё%])")
# "at 9 a.m. daily" → "at 9 am daily".
_HALVES_OF_DAY = re.compile(r"(?<=[0-9] )([ap])\.m\.(?=$|[ ,])")
# "The tower – a landmark" → "The tower — a landmark"; "5 - 6" may be a sum and stays.
_SPACED_DASH = re.compile(r" [-–−] (?![0-9$€£₽.(])")
# "A$5" → "Adollar 5", so that it never equals "$5".
_OTHER_DOLLARS = re.compile(r"\b([A-Z]{1,3})\$")
# "In 2019, it was built" → "In 2019 it was built".
_COMMA_AFTER_DATE = re.compile(
    rf"^((?:In|On|in|on) +(?:{DATE_MARK}[0-9-]+|1[0-9]{{3}}|20[0-9]{{2}})) ?, (?! ?[0-9])"
)
# "The 5-year plan cost $5.50." → The, 5-year, plan, cost, $, 5.50, .
_TOKEN = re.compile(
    rf"(?P<date>{DATE_MARK}[0-9-]+)"
    r"|(?P<compound>(?<![\w.,])[0-9]+(?:[.,][0-9]+)*[^\W_]*(?:-[^\W\d_]+)+)"
    r"|(?P<number>(?:(?<![^\s(\"“$€£₽])[-−])?(?:(?<![\w.])\.)?(?<![^\W_])[0-9]+(?:[.,:][0-9]+)*)"
    r"(?P<glued>[^\W_]*)"
    r"|(?P<word>[^\W_]+(?:['-][^\W_]+)*)"
    r"|(?P<sign>\S)"
)
_PLACED_SIGNS = frozenset(".,:;-–/")
# "organised" → "organized".
_IZE = re.compile(r"([a-z]{4,})is(e|es|ed|ing|ation|ations)")
# "the share of women is 0.12" → "the share of women is 12 %".
_SHARE = re.compile(
    r"^((?:the )?(?:share of (?:women|men|people|children|students|users|voters|patients)"
    r"|(?:proportion|probability)(?: of [a-z]+)?) (?:is|was)"
    r"|(?:[Дд]оля(?: (?:женщин|мужчин|людей|детей|студентов))?|[Вв]ероятность(?: [а-яё]+)?)"
    r" (?:составляет|составила|равна|была равна))"
    r" (0\.[0-9]+)$"
)
# "the capital of France is Paris" → "France 's capital is Paris".
_OF_NAME = re.compile(
    rf"(?:(?<=^)|(?<=(?<!\band)(?<!\bor)(?<![,;:]) ))the ({RELATIONAL_NOUNS}) of "
    rf"({NAME_WORD}(?: {NAME_WORD})*)(?= (?:{AFTER_POSSESSIVE}) |$)"
)


def normal_form(statement: str) -> str:
    """Write a statement in its normal form, words parted by spaces; empty where it has no words."""
    if DATE_MARK in statement:
        return ""
    text = unicodedata.normalize("NFC", statement)
    russian = bool(_CYRILLIC.search(text))
    text = _without_lead(_with_signs(text, russian=russian))
    text = _COMMA_AFTER_DATE.sub(r"\1 ", with_dates(text, russian=russian))
    words = _words(_OTHER_DOLLARS.sub(r"\1dollar ", text.replace("US$", " USD ")))
    if not any(word[0].isalnum() for word in words):
        return ""
    words = [_spelled(word) for word in with_numbers(words, russian=russian)]
    low = words[0].lower()
    if low in LOWERED and words[0] == low.capitalize():
        words[0] = low
    elif low.startswith("ё") and _spelled(low) != low:
        words[0] = _spelled(low).capitalize()
    return " ".join(words)


def _with_signs(text: str, *, russian: bool) -> str:
    """Write quotes, dashes, spaces and abbreviations in one way, without a full stop at the end."""
    text = text.replace("’", "'").replace("‑", "-").replace("«", "“").replace("»", "”")
    text = _HARD_THOUSANDS.sub(_joined, text)
    text = re.sub(r"\s+", " ", text).strip()
    if russian:
        text = _BOUND_THOUSANDS.sub(lambda found: f"{found[1]} {_joined_spaces(found[2])}", text)
    text = _SPACED_DASH.sub(" — ", re.sub("[—―]", " — ", text))
    text = re.sub(r"(?<=[0-9])–(?=[0-9])", "-", text)
    if text.count('"') % 2 == 0:
        text = re.sub('"([^"]*)"', r"“\1”", text)
    text = _INITIALS.sub(r"\1", _SHORT.sub(r"\1", _TITLE.sub(r"\1", _US.sub("US", text))))
    text = _HALVES_OF_DAY.sub(r"\1m", text)
    return text[:-1] if text.endswith(".") and not text.endswith("..") else text


def _joined(found: re.Match[str]) -> str:
    return found[1] + re.sub(r"\s", "", found[2])


def _joined_spaces(number: str) -> str:
    return number.replace(" ", "")


def _without_lead(text: str) -> str:
    lead, comma, rest = text.partition(",")
    if not comma or lead.strip().casefold() not in LEADS:
        return text
    return rest.strip()


def _words(text: str) -> list[str]:
    words: list[str] = []
    for found in _TOKEN.finditer(text):
        if found["number"]:
            number = found["number"].replace("−", "-")
            glued = found["glued"]
            split = [number, glued] if glued in GLUED_UNITS else [number + glued]
            words += split if glued else [number]
        elif found["word"]:
            words += _expanded(found["word"], initial=not words)
        elif found["sign"]:
            words.append(_placed_sign(found, text))
        else:
            words.append(found.group())
    return _with_is(words)


def _placed_sign(found: re.Match[str], text: str) -> str:
    """Mark a sign that stands inside a word or alone: "a.b" is not "a. b", nor "5-6" "5 - 6"."""
    sign = found.group()
    if sign not in _PLACED_SIGNS:
        return sign
    glued = text[found.start() - 1 : found.start()].isalnum(), text[found.end() :][:1].isalnum()
    return sign + "·" if all(glued) else sign


def _expanded(word: str, *, initial: bool) -> list[str]:
    """Write contractions in full and "five-year" as "5-year"; other hyphens stay."""
    low = word.lower()
    if "-" in word:
        return [_compound(low if initial else word) or word]
    if low in CONTRACTIONS:
        first, *rest = CONTRACTIONS[low]
        return [first.capitalize() if word[0].isupper() else first, *rest]
    for suffix, full in SUFFIXES.items():
        if low.endswith(suffix) and len(low) > len(suffix):
            return [word[: -len(suffix)], full]
    return [word[:-2], "'s"] if low.endswith("'s") and len(low) > 2 else [word]


def _compound(word: str) -> str | None:
    parts = word.split("-")
    for count in (2, 1):
        value = number_of("-".join(parts[:count]))
        if value is not None and len(parts) >= count:
            rest = parts[count:]
            return "-".join((str(value), *rest)) if rest or count == 2 else None
    return None


def _with_is(words: list[str]) -> list[str]:
    """Write "it's a" as "it is a", "it's been" as "it has been"; "it's gone" may be either."""
    for place in range(1, len(words) - 1):
        full = {"a": "is", "an": "is", "the": "is", "been": "has"}.get(words[place + 1])
        if full and words[place] == "'s" and words[place - 1].lower() in IS_SHORT:
            words[place] = full
    return words


def _spelled(word: str) -> str:
    """Put one spelling for another of the same word."""
    if not word.islower():
        return word
    if "ё" in word:
        plain = word.replace("ё", "е")
        return plain if plain in WITH_YO else word
    for british, american in SPELLINGS:
        if word.startswith(british):
            return american + word[len(british) :]
    return _IZE.sub(r"\1iz\2", word) if _IZE.fullmatch(word) else word


def with_rules(text: str) -> str:
    """Put one word for another in a normal form, where the words beside them allow it."""
    found = _SHARE.match(text)
    if found:
        text = f"{found[1]} {as_percent(found[2])} %"
    for pattern, normal in RULES:
        text = pattern.sub(normal, text)
    if _CYRILLIC.search(text):
        bounded = text
        for pattern, normal in RUSSIAN_BOUNDS:
            bounded = pattern.sub(normal, bounded)
        text = text if NEGATIONS.search(bounded) else bounded
    return _OF_NAME.sub(r"\2 's \1", text).strip()
