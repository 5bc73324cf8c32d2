# Long patterns are easier to read on one line.
# ruff: noqa: E501
"""Split text into sentences, and detect sentences that depend on their context.

Dependence is detected in English and Russian; text in any other language is treated as
self-contained.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from rag_evals.text.language import READ_WELL, has_russian, language_of
from rag_evals.text.lexicon import named_groups_in, patterns_in, words_in


class Span(NamedTuple):
    """A piece of a text, with `source[start:end] == text`."""

    start: int
    end: int
    text: str


# Abbreviations that do not end a sentence, in lowercase and without the full stop.
_ABBREVIATIONS = frozenset(words_in("abbreviations"))
# Abbreviations that end a sentence if a capital letter follows.
_MAY_END = frozenset("etc т.д т.п др н.э руб млн млрд тыс inc ltd co corp u.s u.k d.c".split())
# Most words before a full stop need only this check.
_LONG_ABBREVIATIONS = frozenset(one for one in _ABBREVIATIONS - _MAY_END if len(one) > 2)
# Years or centuries after a number ("в 1961 г. Затем"); otherwise, places ("в г. Москве").
_YEARS = frozenset("г гг в вв".split())

# "яблоки и т. д", without its last full stop; a capital letter after that begins a sentence.
_AND_SO_ON = re.compile(r"\bт\.\s?[дп]$")

_CLOSERS = "\"'»”’)]}›"
_OPENERS = "\"'«“‘([{‹¿¡*_`—–-"
# A mark such as " [1]" belongs to the sentence before it; "[1](address)" is a link.
_CITATIONS = r"(?:[ ]?[\[【]\d{1,3}(?:[ ]?[,;–—-][ ]?\d{1,3})*[\]】](?!\())*"
# The pattern starts with a character class, which makes the search fast.
_STOP = re.compile(
    r"(?P<stop>[.!?…。！？｡](?:(?<=[.!?…])[.!?…]*|[。！？｡]*))"
    rf"(?P<closers>[{re.escape(_CLOSERS)}*_`]*{_CITATIONS})"
)
# Before a full stop: "Ask Dr" → "Dr", "at 9 a.m" → "a.m".
_WORD_BEFORE = re.compile(r"[^\W\d_](?:[\w’'-]|\.(?=[^\W\d_]))*$")
# "- one", "2) one" and "b) one" → "one".
_LIST_MARKER = re.compile(r"[ \t>]*(?:[-*+•–—▪◦·]|\(?\d{1,3}[.)]|\(?[a-zа-яA-ZА-Я][)])[ \t]+")
# "## Opening hours" → "Opening hours".
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
_LINE_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_SPACELESS_STOPS = "。！？｡"
_LINE_ENDS = (":", ".", "!", "?", "…", "。", "！", "？", ";")
# A line that is at least this long and lacks a full stop was probably wrapped.
_WRAPPED_LINE_CHARS = 60


def split_sentences(text: str) -> list[Span]:
    """Split a text into sentences, list items and headings; Chinese full stops also end a sentence.

    Spans are in order, do not overlap, and exclude surrounding whitespace, list markers and heading markers.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        begin = start
        for stop in _STOP.finditer(text, start, end):
            behind = stop.end()
            if behind < end and not _ends_sentence(text, begin, stop, end):
                continue
            _add_trimmed(spans, text, begin, behind)
            begin = behind
        if begin < end:
            _add_trimmed(spans, text, begin, end)
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) for each run of lines that may share a sentence, without list markers."""
    begin: int | None = None
    end = 0
    for line in _LINE.finditer(text):
        first, last = line.span()
        initial = text[first]
        if initial.isspace() and text[first:last].isspace():
            continue
        marker = heading = None
        # A quick check first: most lines begin with a word.
        if not initial.isalpha() or text[first + 1 : first + 2] == ")":
            heading = _HEADING.match(text, first, last)
            marker = _LIST_MARKER.match(text, first, last) or heading
        if begin is not None and (marker or not _continues(text, begin, end, first)):
            yield begin, end
            begin = None
        if begin is None:
            begin = marker.end() if marker else first
        end = last
        if heading:
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, end


def _continues(text: str, begin: int, end: int, next_start: int) -> bool:
    if text[end - 1] in _LINE_ENDS:
        return False
    if next_start - end > 1 and len(_LINE_BREAK.findall(text, end, next_start)) > 1:
        return False
    last_line = max(begin, text.rfind("\n", begin, end) + 1)
    tail = text[last_line:end].rstrip().rstrip(_CLOSERS + "*_`")
    if tail.endswith(_LINE_ENDS):
        return False
    following = text[next_start : next_start + 80].lstrip().lstrip(_OPENERS)
    return following[:1].islower() or end - last_line >= _WRAPPED_LINE_CHARS


def _add_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    whole = text[start:end].rstrip()
    piece = whole.lstrip()
    if piece[:1].isalnum() or any(map(str.isalnum, piece)):
        start += len(whole) - len(piece)
        spans.append(Span(start, start + len(piece), piece))


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    behind, signs = stop.end(), stop[1]
    if signs[0] in _SPACELESS_STOPS:
        return True
    if not text[behind].isspace():
        return False
    opened = text[behind : min(end, behind + 80)].lstrip().lstrip(_OPENERS)
    if not opened:
        return True
    if opened[0].islower():
        # "Yahoo! said", "3 p.m. on Monday", "и т. д. и т. п." continue the sentence.
        return False
    if signs != ".":
        return True
    return not _is_abbreviation(text[max(begin, stop.start() - 24) : stop.start()])


def _is_abbreviation(before: str) -> bool:
    """True if `before`, the text before a full stop and a capital, ends in an abbreviation."""
    last = before[before.rfind(" ") + 1 :]
    if last.isdigit():
        # "1. First" at the start of a block is a list number; "in 1967. Then" ends a sentence.
        return len(last) <= 2 and before.strip() == last
    if len(last) > 2 and last.isalpha():
        return last.lower() in _LONG_ABBREVIATIONS
    if _AND_SO_ON.search(before):
        return False
    found = _WORD_BEFORE.search(before)
    if found is None:
        return before.strip().isdigit() and len(before.strip()) <= 2
    word = found.group()
    if len(word) == 1 and word.isupper():
        # "J. Smith" and "А. С. Пушкин" continue the sentence; "vitamin C. It" ends it. An initial
        # begins a text, or follows a full stop or a capitalised word.
        return _is_initial(before[: found.start()])
    lowered = word.lower()
    if lowered in _YEARS:
        return re.search(r"[\dIVXХ]\s*$", before[: found.start()]) is None
    return lowered in _ABBREVIATIONS - _MAY_END


def _is_initial(before: str) -> bool:
    previous = before.rstrip()
    if not previous or previous[-1] in '.,;(«"“—–-':
        return True
    word = re.search(r"[\w’'-]+$", previous)
    return word is not None and word.group()[:1].isupper()


Leaning = Literal["pronoun", "fragment", "yes_no"]
"""How a claim depends on its context: its subject is a pronoun ("It was completed in 1889."), it is a
fragment ("In 1889."), or it is yes or no, alone or with an echo of the question ("No, it is not.")."""

_PATTERNS = patterns_in("leaning")
_PLAIN_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_RUSSIAN_VERB = re.compile(
    r"(?:.+(?:л|ла|ло|ли|лся|лась|лось|лись|ет|ёт|ит|ют|ут|ят|ат|ется|ится|ются|ятся|утся|ан|ана|ано|аны|ен|ена|"
    r"ено|ены|ён|атся)|(?:с|по)мог|(?:вы|воз)рос|умер|(?:за|от)крыт[аоы]?|есть|нет|был|была|было|были|"
    r"будет|будут|может|могут|нельзя|можно|надо|нужно|нужен|нужна|нужны|"
    r"должен|должна|должно|должны|доступ(?:ен|на|но|ны)|бесплат(?:ен|на|но|ны)|возмож(?:ен|на|но|ны))",
)
_RUSSIAN_SUBJECTS = frozenset("я ты мы вы".split())
_RUSSIAN_VERBS_ANYWHERE = frozenset("есть нет можно нельзя надо нужно".split())
_DASH = re.compile(r"\w\s+[—–-]\s+\w")
_LATIN = re.compile(r"[a-z]", re.IGNORECASE)
# A longer text without a known verb is usually a sentence with a rare verb.
_LONGEST_FRAGMENT = 7


# Cached, because it is called several times for each claim.
@lru_cache(maxsize=1024)
def leaning_of(text: str) -> Leaning | None:
    """Return how a claim depends on its context; None if no dependence is detected."""
    head = text.strip()[:400].replace("’", "'")
    answer = _PATTERNS["yes_no"].match(head)
    if answer is not None and _adds_nothing(answer["rest"]):
        return "yes_no"
    if _PATTERNS["pronoun"].match(head) and not _PATTERNS["empty_it"].match(head):
        return "pronoun"
    return "fragment" if _is_fragment(head) else None


def stands_alone(text: str) -> bool:
    """True if a claim means the same after any question or sentence.

    False if in doubt: "Both towers stand in Paris." begins like a claim that depends on context.
    """
    return leaning_of(text) is None and _PATTERNS["points_back"].match(text.strip()) is None


def _adds_nothing(rest: str) -> bool:
    said = rest.strip(" \t\n,.;:!—–-")
    return not said or (rest[:1] in ",.;:!—– " and _PATTERNS["echo"].fullmatch(said) is not None)


def _is_fragment(text: str) -> bool:
    # Most texts need only this check.
    if sum(map(str.isalnum, text.split())) > _LONGEST_FRAGMENT:
        return False
    # Read one word more than a fragment may have, to detect longer texts.
    found = [word[0] for word in islice(_PLAIN_WORD.finditer(text), _LONGEST_FRAGMENT + 1)]
    if not found or len(found) > _LONGEST_FRAGMENT:
        return False
    if has_russian(text):
        # "Лимит — 5000 запросов": the dash means "is".
        is_said_by_us = len(found) > 1 and found[0].lower() in _RUSSIAN_SUBJECTS
        has_verb = is_said_by_us or any(_is_russian_verb(word) for word in found)
        return not (has_verb or _DASH.search(text))
    if not _LATIN.search(text):
        # Numbers alone are a fragment; other scripts are not supported.
        return text.isascii()
    if language_of(text) not in (None, *READ_WELL):
        # "Der Turm wurde 1889 gebaut.": verbs in other languages are not recognised.
        return False
    return finite_verb(found) is None


def _is_russian_verb(word: str) -> bool:
    """Guess whether a Russian word is a finite verb; a capital letter suggests that it is not."""
    if word[0].isupper():
        return word.lower() in _RUSSIAN_VERBS_ANYWHERE
    return _RUSSIAN_VERB.fullmatch(word) is not None


_GROUPS = dict(named_groups_in("verbs_english")) | dict(named_groups_in("small_words"))
_AUXILIARIES, _PAST, _NOUNS = (frozenset(_GROUPS[one]) for one in ("auxiliaries", "past", "nouns"))
_CONTRACTED = re.compile(r"(?:i|you|he|she|it|we|they|that|there|here|who|what)'(?:s|re|m|ve|ll|d)")
_NOT_PAST = frozenset("red bed seed speed feed weed need hundred shed sacred indeed".split())


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "o", "ch", "sh")) else f"{verb}s"


_THIRD_PERSON = {_third_person(one): one for name in ("present", "nouns") for one in _GROUPS[name]}
_BASES = frozenset(_THIRD_PERSON.values())
_SUBJECTS = frozenset("i you we they".split())
_BEFORE_BASE = _SUBJECTS.union(
    "people children men women police also always often usually never only".split()
)
# A noun follows these words. Verbs precede all but a few of them more often than nouns do.
_BEFORE_NOUN = frozenset("and or of who which hundred".split()).union(
    *(_GROUPS[one] for one in ("determiners", "prepositions", "never names"))
)
_AFTER_VERB = _BEFORE_NOUN.union(
    "up down out off away back well you me him us them it only".split()
) - {"and", "or", "of", "who", "which"}


def finite_verb(found: Sequence[str]) -> int | None:
    """Return the position of the first word that is probably a finite English verb, or None."""
    for place, word in enumerate(found):
        low = word.lower()
        if low in _AUXILIARIES or _CONTRACTED.fullmatch(low):
            return place
        previous = found[place - 1].lower() if place else "the"
        if previous in _BEFORE_NOUN or previous[:1].isdigit() or not word.islower():
            continue
        following = found[place + 1].lower() if place + 1 < len(found) else ""
        if place == 1 and previous in _SUBJECTS:
            is_verb = low not in _BEFORE_NOUN
        elif low in _PAST or (low.endswith("ed") and low not in _NOT_PAST):
            # "A tower designed by Eiffel" has no finite verb; "Revenue rose by 12%" has one.
            is_verb = following != "by" or any(one[:1].isdigit() for one in found[place + 2 :])
        else:
            base = _THIRD_PERSON.get(low, low if _precedes_base(previous) else "")
            is_verb = base in _BASES and (
                base not in _NOUNS or following in _AFTER_VERB or following[:1].isdigit()
            )
        if is_verb:
            return place
    return None


def _precedes_base(word: str) -> bool:
    return word in _BEFORE_BASE or (
        word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))
    )
