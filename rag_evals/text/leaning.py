# Patterns read better unbroken.
# ruff: noqa: E501
"""Can a claim be understood by itself, or does it lean on the question or on its neighbours?

English and Russian; a text in another language counts as one that stands alone. The test looks at
the first words, and, in short texts only, for a verb.
"""

import re
from itertools import islice
from typing import Literal

from rag_evals.text.language import READ_WELL, has_russian, language_of

Leaning = Literal["pronoun", "fragment", "yes_no"]
"""How a claim leans: its subject is a pronoun ("It was completed in 1889."), it is no sentence
("In 1889."), or it is yes or no, alone or with an echo of the question ("No, it is not.")."""

# "It was …", "These are …", "His wife …"; "It is known that …" and "It rains" lean on nothing.
_PRONOUN = re.compile(
    r"(?:[\"'«“(*_]*)(?:(?:and|but|so|then|also|however|additionally|later|и|а|но|также|затем|потом|однако),?\s+)?"
    r"(?:he|she|it|they|his|her|its|their|him|them|this|these|those|such|one of (?:them|these|those)|"
    r"both of (?:them|these|those)|"
    r"он|она|оно|они|его|её|ее|их|ему|ей|им|это|этот|эта|эти|тот|та|те|такой|такая|такие)\b",
    re.IGNORECASE,
)
# "The latter was …", "Both were …", "Там он …": what these stand for was said before, or asked.
_POINTS_BACK = re.compile(
    r"[\"'«“(*_]*(?:(?:and|but|so|then|и|а|но)\s+)?(?:that|both|neither|either|one|another|"
    r"the (?:latter|former|first|second|third|last|other|others)|then|there(?= (?:he|she|it|they|we)\b)|"
    r"там|туда|оттуда|тут|здесь|тогда|оба|обе|один|одна|одно|другой|другая|другие|"
    r"перв(?:ый|ая|ое)|втор(?:ой|ая|ое)|последн(?:ий|яя|ее))(?!\w)",
    re.IGNORECASE,
)
_EMPTY_IT = re.compile(
    r"(?:\w+,\s+)?(?:it(?: (?:should|must|can|may) be (?:noted|said|seen|argued)|(?:'s| is| was| has been) (?:\w+ly )?(?:known|said|reported|believed|estimated|thought|possible|"
    r"important|recommended|likely|unlikely|clear|unclear|true|worth|necessary|common|"
    r"rain\w*|snow\w*|cold|hot|advisable|best|better|essential|crucial))\b|it (?:takes|took|depends|seems|appears|looks|turns out)\b"
    r"|(?:this|that|these|those|this) (?:is|are) (?:why|how|because)\b)",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"(?:yes|no|nope|yeah|yep|correct|incorrect|true|false|not (?:at all|really|exactly)|indeed|"
    r"да|нет|верно|неверно|правда|неправда|конечно|нисколько|именно так)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "No, it is not." → "it is not"; "Yes, they do" → "they do"; "Нет, не является" → "не является".
_ECHO = re.compile(
    r"(?:(?:he|she|it|they|there|that|this|i|we|you) (?:is|are|was|were|does|do|did|has|have|had|can|could|"
    r"will|would|should|may|might|must|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|"
    r"haven't|hadn't|can't|cannot|couldn't|won't|wouldn't|shouldn't)(?: not)?"
    r"|(?:он|она|оно|они|это)?\s*(?:не\s+)?\w+(?:\s+(?:так|им|ею|ими))?)[.!]*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_VERBS = frozenset(
    "is are was were be been being am isn't aren't wasn't weren't has have had hasn't haven't do does "
    "did doesn't don't didn't can cannot can't could will won't would should may might must shall "
    "became becomes become began begins won wins lost loses went goes came comes made makes took "
    "takes got gets gave gives found finds left leaves led leads held holds kept keeps said says "
    "saw sees stood stands wrote writes ran runs rose rises fell falls grew grows built sold sells "
    "bought buys paid pays met meets lies lay means meant sits sat costs cost contains includes "
    "remains exists works lives born sleeps boils purrs".split()
)
_RUSSIAN_VERB = re.compile(
    r"(?:.+(?:л|ла|ло|ли|лся|лась|лось|лись|ет|ёт|ит|ют|ут|ят|ат|ется|ится|ются|ятся|утся|ан|ана|ано|аны|ен|ена|"
    r"ено|ены|ён|ят)|есть|нет|был|была|было|были|будет|будут|может|могут|нельзя|можно|надо|нужно|нужен|нужна|нужны|"
    r"должен|должна|должно|должны|доступ(?:ен|на|но|ны)|бесплат(?:ен|на|но|ны)|возмож(?:ен|на|но|ны))",
)
_RUSSIAN_VERBS_ANYWHERE = frozenset("есть нет можно нельзя надо нужно".split())
_DASH = re.compile(r"\w\s+[—–-]\s+\w")
_LATIN = re.compile(r"[a-z]", re.IGNORECASE)
# Longer texts without a known verb are more often sentences with a rare one.
_LONGEST_FRAGMENT = 7


def leaning_of(text: str) -> Leaning | None:
    """Say how a claim leans on what stands around it.

    Args:
        text: One claim.

    Returns:
        None for a claim that can be understood by itself, and for one of which that cannot be
        told.
    """
    head = text.strip()[:400].replace("’", "'")
    answer = _YES_NO.match(head)
    if answer is not None and _adds_nothing(answer["rest"]):
        return "yes_no"
    if _PRONOUN.match(head) and not _EMPTY_IT.match(head):
        return "pronoun"
    return "fragment" if _is_fragment(head) else None


def stands_alone(text: str) -> bool:
    """Say whether a claim means the same behind any question and any sentence.

    In doubt it does not: "Both towers stand in Paris." begins as a claim that leans.

    Args:
        text: One claim.
    """
    return leaning_of(text) is None and _POINTS_BACK.match(text.strip()) is None


def _adds_nothing(rest: str) -> bool:
    """Say whether nothing, or only an echo of the question, follows a yes or a no."""
    said = rest.strip(" \t\n,.;:!—–-")
    return not said or (rest[:1] in ",.;:!—– " and _ECHO.fullmatch(said) is not None)


def _is_fragment(text: str) -> bool:
    # One word more tells that it is too long.
    found = [word[0] for word in islice(_WORD.finditer(text), _LONGEST_FRAGMENT + 1)]
    if not found or len(found) > _LONGEST_FRAGMENT:
        return False
    if has_russian(text):
        # "Лимит — 5000 запросов": the dash stands for "is".
        return not _DASH.search(text) and not any(_is_russian_verb(word) for word in found)
    if not _LATIN.search(text):
        # Numbers alone say nothing; other scripts are not read.
        return text.isascii()
    if language_of(text) not in (None, *READ_WELL):
        # "Der Turm wurde 1889 gebaut.": its verbs are not known.
        return False
    return not any(_is_verb(place, word) for place, word in enumerate(found))


def _is_russian_verb(word: str) -> bool:
    """Guess whether a Russian word is a finite verb; a capital makes it a name or an ellipsis."""
    if word[0].isupper():
        return word.lower() in _RUSSIAN_VERBS_ANYWHERE
    return _RUSSIAN_VERB.fullmatch(word) is not None


def _is_verb(place: int, word: str) -> bool:
    """Guess whether an English word of a short text is a finite verb."""
    lowered = word.lower()
    if lowered in _VERBS:
        return True
    # "Louvre opened in 1793": a past tense behind a subject.
    return place > 0 and word.islower() and lowered.endswith("ed")
