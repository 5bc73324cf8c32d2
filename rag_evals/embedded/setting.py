"""Interprets claims using the question and the preceding text.

A short answer fills the gap in a simple question, "yes" and "no" turn the question into a
statement, and a leading pronoun is replaced with the preceding subject. The rules cover English and
Russian. Any other claim remains unchanged, and the reason is recorded.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rag_evals.core import Claim, text_before
from rag_evals.embedded.claims import PreparedStatement
from rag_evals.embedded.passage import content_keys
from rag_evals.text import (
    DENIES,
    READ_WELL,
    Leaning,
    has_russian,
    language_of,
    leaning_of,
    split_sentences,
    words,
)
from rag_evals.text.lexicon import named_groups_in, patterns_in
from rag_evals.text.sentences import finite_verb

# These sentences contain no claim, but later pronouns may refer to them.
_LEADS_ON = ("announcement", "heading", "question")


def claims_in_setting(
    prepared: Sequence[PreparedStatement], question: str | None
) -> list[Claim | None]:
    """Return the claim in each sentence of an answer, or None for a sentence without a claim."""
    found: list[Claim] = []
    claims: list[Claim | None] = []
    fragments = [
        one.claim
        for one in prepared
        if one.no_claim is None and leaning_of(one.claim) == "fragment"
    ]
    for one in prepared:
        if one.no_claim is not None:
            claims.append(None)
            if one.no_claim in _LEADS_ON:
                found.append(Claim(one.claim))
            continue
        # "No, it is not." must keep its "No".
        text = one.text if leaning_of(one.text) == "yes_no" else one.claim
        # A data value or list fragment alone does not answer the question.
        is_data = len(fragments) > 1 or one.claim.lower() not in one.text.lower()
        asked = None if is_data and one.claim in fragments else question
        found.append(Claim(text, one.text, text_before(found), asked))
        claims.append(found[-1])
    return claims


class Asked(NamedTuple):
    """A simple question, rephrased as a statement with a gap for the answer."""

    # For example "the Louvre Pyramid"; empty if the answer is the subject.
    subject: str
    before: str
    after: str = ""
    # True if the answer is yes or no; the statement then has no gap.
    is_yes_no: bool = False


_PATTERNS = patterns_in("questions")
_GROUPS = dict(named_groups_in("small_words"))
_BE, _DO = frozenset("is are was were".split()), frozenset("do does did".split())
_AUXILIARIES = (
    _BE | _DO | frozenset("has have had can could will would should must may might".split())
)
_PARTICIPLES = frozenset(_GROUPS["participles"])
_PREPOSITIONS = frozenset(_GROUPS["prepositions"])
_DETERMINERS = frozenset(_GROUPS["determiners"])
_PRONOUNS = frozenset("it he she they there you we i".split())
_LONGEST_QUESTION = 1000
_INSIDE_NAMES = frozenset("of and the de la von van".split())


@lru_cache(maxsize=256)
def plain_question(question: str) -> str:
    """Return a question without greetings, thanks, polite phrases and other sentences.

    "Hi! I have a fridge. Could you tell me how long the warranty is?" → "how long the warranty is?"
    """
    text = " ".join(question[:_LONGEST_QUESTION].replace("’", "'").split())
    parts = [_PATTERNS["before_question"].sub("", one.text) for one in split_sentences(text)]
    parts = [one for one in parts if words(one)]
    asked = [one for one in parts if "?" in one]
    asked = asked or [one for one in parts if leaning_of(one) or _PATTERNS["asks"].match(one)]
    return _PATTERNS["after_question"].sub("", " ".join(asked or parts))


def read_question(question: str) -> Asked | None:
    """Parse a question, or return None if it is not simple."""
    text = plain_question(question).replace("'s ", " is ")[:300]
    plain = text.rstrip("?!. ")
    if not plain or _PATTERNS["two_questions"].search(text.rstrip("? ")):
        return None
    if has_russian(plain):
        return _read_russian(plain)
    first, _, rest = plain.partition(" ")
    if rest and first.lower().removesuffix("n't") in _AUXILIARIES:
        subject, predicate = _split_subject(rest.split())
        verb = "" if first.lower() in _DO else first.lower()
        said = " ".join(filter(None, (subject, verb, predicate)))
        return Asked(subject, said, is_yes_no=True) if predicate else None
    found = _PATTERNS["wh"].fullmatch(plain)
    if found is None:
        # "Warranty length", "Tell me about the warranty."
        return Asked(plain, f"{plain} is") if leaning_of(plain) == "fragment" else None
    return _read_wh(found["wh"].lower(), found["rest"].split()) if found["rest"] else None


def _read_wh(word: str, tokens: list[str]) -> Asked | None:
    place = next((n for n, one in enumerate(tokens[:7]) if one.lower() in _AUXILIARIES), None)
    # "Can you tell me when the bridge was built?", "how long the warranty is"
    begin = int(word == "how" and place != 0 and len(tokens) > 1)
    is_clause = tokens[begin].lower() in _DETERMINERS | _PRONOUNS
    if is_clause or (place and word in ("when", "where", "why")):
        clause = " ".join(tokens[begin:])
        return Asked(leading_subject(clause), clause, " ".join(tokens[:begin]))
    if place is None:
        # "Who designed the tower?", "Which company bought it?"
        verb = next((n for n, one in enumerate(tokens[:5]) if _is_past(one)), 0)
        if len(tokens) < 2 or tokens[0] == "to" or not (verb or word in ("who", "what")):
            return None
        return Asked("", "", " ".join(tokens[verb:]))
    # The statement includes "storeys" from "how many storeys" and "tall" from "how tall".
    asked_for = tokens[:place] if word == "how" else []
    if asked_for and asked_for[0].lower() in ("many", "much", "often", "far", "long"):
        asked_for = asked_for[1:]
    auxiliary, rest = tokens[place].lower(), tokens[place + 1 :]
    if not rest or (tokens[0] == "to"):
        return None
    head = rest[0].lower()
    is_subject = head in _DETERMINERS | _PRONOUNS or rest[0] != head or head.endswith("s")
    if not is_subject and auxiliary not in _DO:
        # "What was built in 1889?": the answer is the subject.
        return Asked("", "", " ".join([*asked_for, auxiliary, *rest]))
    is_named = word in ("who", "what", "which") and auxiliary in _BE and not _is_past(rest[-1])
    subject, predicate = (" ".join(rest), "") if is_named else _split_subject(rest)
    said = " ".join(filter(None, (subject, "" if auxiliary in _DO else auxiliary, predicate)))
    return Asked(subject, said, " ".join(asked_for))


def _is_past(token: str) -> bool:
    low = token.lower()
    return low.endswith("ed") or low in _PARTICIPLES


def _split_subject(tokens: list[str]) -> tuple[str, str]:
    """Split "the Louvre Pyramid completed in 1989" after the subject; the second part may be ""."""
    low = [token.lower() for token in tokens]
    begin = 1 if low[0] in _DETERMINERS else 0
    end = begin
    while end < len(tokens) and (tokens[end] != low[end] or low[end] in _INSIDE_NAMES):
        end += 1
    if low[0] in _PRONOUNS or (end == begin == 0 and len(tokens) > 2 and low[1] != "of"):
        end = 1
    elif end == begin or low[end - 1] in _INSIDE_NAMES:
        # A common noun ends before a participle, a preposition, a determiner, or the last word.
        ends = _PREPOSITIONS | _DETERMINERS
        stops = (n for n in range(begin + 1, len(low)) if low[n] in ends or _is_past(low[n]))
        end = next(
            (n for n in stops if low[n - 1] not in _INSIDE_NAMES), max(begin + 1, len(low) - 1)
        )
        # "the first Super Bowl": a name ends with its last capitalised word.
        while end < len(tokens) and tokens[end] != low[end]:
            end += 1
    return " ".join(tokens[:end]), " ".join(tokens[end:])


def _read_russian(text: str) -> Asked | None:
    if whether := _PATTERNS["ru_whether"].fullmatch(text):
        clause = whether["clause"] or f"{whether['first']}{whether['rest']}"
        return Asked(leading_subject(clause), clause, is_yes_no=True)
    found = _PATTERNS["ru_wh"].fullmatch(text)
    if found is None:
        return Asked(leading_subject(text), text, is_yes_no=" " in text)
    # Extract "пирамида Лувра" from "была построена пирамида Лувра".
    tokens = found["rest"].split()
    nouns = [
        one for one in tokens if not _PATTERNS["ru_verb"].fullmatch(one) and one.lower() != "был"
    ]
    is_plain = 0 < len(nouns) <= 4 and len(nouns) < len(tokens)
    return Asked(" ".join(nouns) if is_plain else "", found["rest"])


_LONGEST_SUBJECT = 8


def leading_subject(sentence: str) -> str:
    """Return the simple subject before the first finite verb, or "" if there is none.

    "The Eiffel Tower stands in Paris." → "The Eiffel Tower"
    """
    tokens = sentence.split()[: _LONGEST_SUBJECT + 1]
    if not tokens:
        return ""
    bare = [token.strip(".,;:—") for token in tokens]
    if has_russian(tokens[0]):
        is_verb = _PATTERNS["ru_verb"].fullmatch
        verb = next((n for n, one in enumerate(bare) if n and is_verb(one)), None)
    else:
        verb = finite_verb(bare)
    low = tokens[0].lower()
    if (
        not verb
        or any(token[-1] in ",;:()" for token in tokens[:verb])
        or low in _PREPOSITIONS
        or (verb == 1 and low in _PRONOUNS | {"this", "that", "these", "those"})
    ):
        return ""
    return " ".join(tokens[:verb])


_DENIAL = re.compile(r"\b(?:not|no)\b|n't\b|cannot\b|\bне\b|\bнет\b|\bнельзя\b", re.IGNORECASE)
# An echo ("it is") is a pronoun and an auxiliary; a Russian one may repeat words of the question.
_ECHOED = frozenset("он она оно они это не так им ею ими нет нельзя".split())
_NEVER_NAMES = frozenset(_GROUPS["never names"])


class Reading(NamedTuple):
    """An interpretation of a claim; `text` is the rewritten claim."""

    text: str
    # The text that replaced a pronoun.
    antecedent: str = ""
    # The part of `text` that is the answer, if the rest comes from the question.
    gap: str = ""
    # The subject of a question that was answered with "no"; the claim is supported if the chunks
    # contradict other words in `text`.
    denied: str | None = None
    # How the text still depends on its context, if at all.
    unresolved: Leaning | None = None


def stand_alone(claim: Claim) -> Reading:
    """Interpret a claim using its question and the preceding text."""
    leaning, question = claim.leaning, plain_question(claim.question or "")
    if leaning is None or (claim.sentence, claim.before, claim.question) == (None, None, None):
        return Reading(claim.text)
    if leaning == "pronoun":
        return _without_pronoun(claim)
    asked = read_question(question) if question else None
    if leaning == "yes_no":
        return _yes_or_no(claim.text, asked, question)
    if claim.before or language_of(question) not in (None, *READ_WELL):
        # A list item alone does not answer the question.
        return Reading(claim.text)
    if filled := asked and _filled(claim, asked, question):
        return Reading(filled, gap=claim.text)
    # A step: "Open the settings."
    is_step = _PATTERNS["how_to"].match(question or "how to")
    return Reading(claim.text, unresolved=None if is_step else leaning)


def _yes_or_no(text: str, asked: Asked | None, question: str) -> Reading:
    unclear = Reading(text, unresolved="yes_no")
    answer = _PATTERNS["yes_no"].match(text.strip())
    if (
        answer is None
        or asked is None
        or not asked.is_yes_no
        or _PATTERNS["turns_round"].search(question)
    ):
        return unclear
    if any(word.marks & DENIES for word in words(question)):
        return unclear
    echo = text.strip()[answer.end() :].strip(" ,.;:!—–-")
    if echo and not _PATTERNS["yes_no"].fullmatch(echo):
        # "Yes, it is not." is contradictory; "Да, закрыт." adds a new word.
        own = {word.key for word in words(echo) if word.low not in _ECHOED}
        is_echo = (" " in echo and echo.isascii()) or own <= {word.key for word in words(question)}
        if not is_echo or bool(answer["no"]) != (_DENIAL.search(echo) is not None):
            return unclear
    return Reading(_sentence(asked.before), denied=asked.subject if answer["no"] else None)


def _filled(claim: Claim, asked: Asked, question: str) -> str:
    """Insert the answer into the statement made from the question; return "" if impossible."""
    text = claim.text
    gap = text.strip().rstrip(".!")
    content, said = content_keys(gap), content_keys(asked.before)
    answer = _PATTERNS["yes_no"].match(claim.sentence or "")
    if asked.is_yes_no and (answer or leaning_of(question) != "fragment"):
        # "Yes, in 5 days."
        is_yes = answer is not None and not answer["no"] and answer[0] != gap
        return _sentence(f"{asked.before} {gap}") if is_yes else ""
    if not gap or (content and content <= content_keys(question)):
        # "Who killed Caesar?" "Caesar." Any sentence about him would contain all these words.
        return ""
    if said and said < content:
        # "Какова плата?" "Плата 8 евро.": the question adds nothing.
        return _sentence(text)
    first, _, rest = gap.partition(" ")
    if first.lower() in _NEVER_NAMES:
        gap = gap[:1].lower() + gap[1:]
    # "When was it built?" "Built in 1889."
    if asked.before.lower().endswith(f" {first.lower()}"):
        gap = rest
    return _sentence(" ".join(filter(None, (asked.before, gap, asked.after))))


def _without_pronoun(claim: Claim) -> Reading:
    head, subject = _PATTERNS["head"].match(claim.text), _antecedent(claim)
    word = head["word"].lower() if head else ""
    if head is not None and (subject.lower() == word or word in ("его", "её", "ее", "их")):
        # "Is it private?" gives "It is" no new subject; "Её брат" (her brother) is not "Анна брат".
        return Reading(claim.text)
    if head is None or not subject:
        return Reading(claim.text, unresolved="pronoun")
    is_owner = word in ("his", "its", "their") and subject.isascii()
    follows = claim.text[head.end() :]
    return Reading(_sentence(f"{subject}{chr(39) + 's' if is_owner else ''}{follows}"), subject)


def _antecedent(claim: Claim) -> str:
    """Return the subject to which a leading pronoun most likely refers, or an empty string."""
    if claim.before:
        first = split_sentences(claim.before)
        return leading_subject(first[0].text) if first else ""
    asked = read_question(claim.question) if claim.question else None
    return "" if asked is None else asked.subject


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")
