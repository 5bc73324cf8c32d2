# Patterns read better unbroken.
# ruff: noqa: E501
"""What does a claim say that cannot stand alone? Its question and what stands before it tell.

Short answers fill the gap of a plain question; a pronoun at the head is replaced by the subject of
the sentence before, or of the question. What cannot be told so is left as it is, and named.
"""

import re
from typing import NamedTuple

from rag_evals.core import Claim
from rag_evals.embedded.asked import Asked, leading_subject, read_question
from rag_evals.text import (
    READ_WELL,
    Leaning,
    language_of,
    normalise_numbers,
    split_sentences,
    words,
)

_YES_NO = re.compile(
    r"(?:(?P<yes>yes|yeah|yep|correct|true|indeed|да|верно|правда|конечно|именно так)"
    r"|(?P<no>no|nope|incorrect|false|not (?:at all|really|exactly)|нет|неверно|неправда|нисколько))\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|no)\b|n't\b|cannot\b|\bне\b|\bнет\b|\bнельзя\b", re.IGNORECASE)
# An echo in English is pronoun and auxiliary; in Russian, these and words of the question.
_ECHOED = frozenset("он она оно они это не так им ею ими".split())
_HEAD = re.compile(
    r"(?:(?:and|but|so|then|also|however|additionally|later|и|а|но|также|затем|потом|однако),?\s+)?"
    r"(?P<word>he|she|it|they|his|her|its|their|он|она|оно|они|его|её|ее|их)\b(?=\s)",
    re.IGNORECASE,
)
_NEVER_NAMES = frozenset(
    "in on at by from for to with the a an about because since during after before around one two "
    "three four five six seven eight nine ten в во на с со из от до для к по у один два три четыре "
    "пять шесть семь восемь девять десять".split()
)
_SOURCES = re.compile(
    r"(?:(?:the|these|this|all|provided|given) )*(?:passages?|contexts?|documents?|texts?|sources?|articles?)\b",
    re.IGNORECASE,
)
_HOW_TO = re.compile(r"\W*(?:how (?:do|does|to|can|could|should|would)|как)\b", re.IGNORECASE)
# "Как сбросить роутер?"
_HOW_TO_RU = re.compile(r"\W*как\s+(?:\w+\s+)?\w+(?:ть|ти|чь|ться|тись|чься)\b", re.IGNORECASE)
# "This tear film helps …" says what it speaks of, "This helps …" does not.
_WITH_NOUN = re.compile(
    r"(?:\w+,? )?(?:this|these|those|that|such|эт\w+|так\w+|т[аеo]т?)\s+(?!(?:is|are|was|were|can|could|may|might|will|would|"
    r"has|have|had|does|do|did|includes?|included|means?|meant|makes?|made|helps?|causes?|caused|allows?|allowed|"
    r"leads?|led|results?|happens|happened|could|should|must|gives?|gave|\w+ed)\b)[^\W\d_]",
    re.IGNORECASE,
)
_RU_OWNERS = frozenset("его её ее их".split())
_OWNERS = frozenset("his its their".split())
_PLURAL = frozenset("they their они их".split())
_PERSON = frozenset("he she his her".split())
_PLURAL_VERB = re.compile(r"\b(?:are|were|have|и|and)\b")
_COMMON = re.compile(r"(?:the|a|an|this|these|those|its|their)\b", re.IGNORECASE)


class Reading(NamedTuple):
    """What a claim is taken to say.

    Attributes:
        text: The claim in words of its own.
        antecedent: What stands in the place of a pronoun; empty where none was replaced.
        gap: The answer in it, where the rest is the question's; empty for other claims.
        instead: Other words for a "no" to "Is it open?": "It is closed."
        unresolved: What still keeps the text from standing alone; None where nothing does.
    """

    text: str
    antecedent: str = ""
    gap: str = ""
    instead: tuple[str, ...] = ()
    unresolved: Leaning | None = None


def stand_alone(claim: Claim) -> Reading:
    """Read a claim with its question and with what stands before it.

    Args:
        claim: One claim. A bare text, which comes from no answer, is taken at its word.

    Returns:
        The claim as it is when it stands alone.
    """
    leaning = claim.leaning
    if leaning is None or (claim.sentence, claim.before, claim.question) == (None, None, None):
        return Reading(claim.text)
    if leaning == "pronoun":
        return _without_pronoun(claim)
    if leaning == "fragment" and claim.before:
        # An item of a list: its words are all that it claims.
        return Reading(claim.text)
    question = claim.question or ""
    if leaning == "fragment" and (
        _HOW_TO_RU.match(question) or language_of(question) not in (None, *READ_WELL)
    ):
        return Reading(claim.text)
    asked = read_question(question) if question else None
    if asked is not None:
        if leaning == "yes_no":
            text, gap = _yes_or_no(claim.text, asked, question), ""
        else:
            text, gap = _filled(claim.text, asked, question), claim.text
        if text:
            is_no = leaning == "yes_no" and text == _sentence(asked.denied)
            turned = asked.turned if is_no else ()
            return Reading(text, gap=gap, instead=tuple(map(_sentence, turned)))
    if leaning == "fragment" and _HOW_TO.match(question or "how to"):
        # A step: "Open the settings."
        return Reading(claim.text)
    return Reading(claim.text, unresolved=leaning)


def _yes_or_no(text: str, asked: Asked, question: str) -> str:
    answer = _YES_NO.match(text.strip())
    if answer is None or not asked.asks_yes_or_no or asked.denies:
        return ""
    echo = text.strip()[answer.end() :].strip(" ,.;:!—–-")
    if echo and not _YES_NO.fullmatch(echo):
        if bool(answer["no"]) != (_DENIES.search(echo) is not None):
            # "Yes, it is not." says both.
            return ""
        if not _is_echo(echo, f"{question} {asked.denied}"):
            return ""
    if answer["no"] and asked.is_unsure:
        return ""
    return _sentence(asked.before if answer["yes"] else asked.denied)


def _is_echo(echo: str, question: str) -> bool:
    """Say whether an echo has no word of its own, as "закрыт" in "Да, закрыт." has."""
    if " " in echo and echo.isascii():
        return True
    own = [word for word in words(echo) if word.low not in _ECHOED]
    return {word.key for word in own} <= {word.key for word in words(question)}


def _content(text: str) -> set[str]:
    found = normalise_numbers(words(text))
    return {word.key for word in found if word.kind in ("word", "number")}


def _filled(text: str, asked: Asked, question: str) -> str:
    gap = text.strip().rstrip(".!")
    if asked.asks_yes_or_no or not gap:
        return ""
    content = _content(gap)
    if content and content <= _content(question):
        # "Who killed Caesar?" "Caesar.": any sentence about him has all words of the statement.
        return ""
    said = _content(asked.before)
    if said and said < content:
        # "Какова плата?" "Плата 8 евро.": the question adds nothing.
        return _sentence(text)
    gap = _lowered(gap)
    # "When was it built?" "Built in 1889."
    if asked.before.lower().endswith(f" {gap.split()[0].lower()}"):
        gap = " ".join(gap.split()[1:])
    return _sentence(" ".join(filter(None, (asked.before, gap, asked.after))))


def _without_pronoun(claim: Claim) -> Reading:
    head = _HEAD.match(claim.text)
    subject = _antecedent(claim)
    if _SOURCES.match(subject):
        # "Passage 1 describes it. However, it does not say when." speaks of the passage.
        return Reading(claim.text)
    if head is not None and subject.lower() == head["word"].lower():
        # "Is it private?" "It is.": nobody knows more than the question says.
        return Reading(claim.text)
    if head is None and _WITH_NOUN.match(claim.text):
        return Reading(claim.text)
    if head is None or not subject:
        return Reading(claim.text, unresolved="pronoun")
    word = head["word"].lower()
    if word in _RU_OWNERS:
        # "Её брат" is not "Анна брат".
        return Reading(claim.text)
    if not _agree(word, subject, claim):
        return Reading(claim.text, unresolved="pronoun")
    follows = claim.text[head.end() :]
    owned = f"{subject}'s" if word in _OWNERS and subject.isascii() else subject
    return Reading(_sentence(f"{owned}{follows}"), antecedent=subject)


def _antecedent(claim: Claim) -> str:
    """Return the subject that a pronoun at the head most likely stands for; else an empty text."""
    if claim.before:
        first = split_sentences(claim.before)
        return leading_subject(first[0].text) if first else ""
    asked = read_question(claim.question) if claim.question else None
    return "" if asked is None else asked.subject


def _agree(word: str, subject: str, claim: Claim) -> bool:
    first = split_sentences(claim.before or claim.question or "")
    is_plural = " and " in subject or bool(
        _PLURAL_VERB.match(first[0].text[len(subject) :].lstrip())
        if first and claim.before
        else None
    )
    if subject.isascii() and is_plural != (word in _PLURAL) and claim.before:
        # "Company" is read as "they" often enough.
        return word in _PLURAL and not _COMMON.match(subject)
    if word in ("it", "its") and not claim.before:
        # "Who was Anna Karenina?" does not ask about a thing.
        return not (claim.question or "").lower().startswith("who ")
    if word in _PERSON:
        return subject[:1].isupper() and not _COMMON.match(subject)
    return True


def _lowered(text: str) -> str:
    """Take the capital off the first word, unless it is a name or an acronym."""
    first = text.split(maxsplit=1)[0].lower()
    return text[:1].lower() + text[1:] if first in _NEVER_NAMES else text


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
