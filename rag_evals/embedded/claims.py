# Patterns read better unbroken.
# ruff: noqa: E501
"""Which sentences of an answer claim something, and what exactly do they claim?

Leads such as "Based on the context," and citation marks are cut off. Greetings, questions, headings
and sentences about the passages claim nothing; each gets its reason. English and Russian; in other languages every sentence is a claim.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rag_evals.embedded.finite import reads_as_sentence
from rag_evals.embedded.layout import code_places, is_heading, is_within, reference_places
from rag_evals.embedded.leads import LONGEST_MATCHED, strip_lead
from rag_evals.embedded.pairs import DataClaim, claim_of_pair, json_claims, table_claims
from rag_evals.embedded.sources import absence_of, speaks_of_sources
from rag_evals.text import Span, split_sentences

_CONSULT = r"(?:consult|ask|contact|see|speak (?:to|with)|talk to|check with|seek (?:advice|help) from|reach out to)(?: with)?"
_EXPERT = r"(?:a |an |your |the )?(?:\w+ ){0,2}(?:doctor|lawyer|physician|professional|specialist|expert|dentist|vet|veterinarian|provider|attorney|pharmacist|contractor)s?\b"
# "Hope this helps!", "Спасибо за вопрос."
_TALK = re.compile(
    r"^(?:(?:i )?hope (?:this|that)\b|as an ai\b|let me know\b(?! is)|feel free\b|please (?:let|feel|see|refer|provide)\b|please note that i\b"
    r"|(?:sure|of course|certainly|absolutely|definitely|great|okay|ok|alright|no problem|got it|done|sure thing|hello|hi|hey|enjoy|welcome|you'?re welcome|thanks|thank you|that'?s (?:it|all)|that is (?:it|all)|here you go|good luck|cheers|goodbye|bye)(?:\s*[,!.]|\s*$)(?: there[!.]?)?\s*(?:$|(?=i\b|here\b|let\b))"
    r"|(?:great|good|excellent) question\b|thank you for\b|thanks for (?:asking|your)|you'?re welcome|i(?:'m| am) (?:happy|glad|an ai|just an|only an)|i(?:'d| would) (?:recommend|suggest|be happy)|i (?:can|will) (?:help|assist|try|explain|answer)\b|i'll (?:help|try|explain|answer|do)\b"
    r"|good (?:morning|day|luck|evening)\b|is there anything|enjoy (?:your|the|it)\b.{0,30}!$|happy \w+!$|have a (?:nice|great|good)\b"
    r"|if you (?:have|need) (?:any|more|further)\b.{0,40}\b(?:questions?|help|information|concerns?|assistance|details|clarification)\b|(?:this|it|the answer)(?: really| also)? depends on (?:your|individual|personal) (?:\w+ )?(?:needs|preferences?|goals|situation|case|circumstances|budget)\b"
    rf"|(?:(?:for|if|to|before) [^,.]{{1,90}}, )?(?:please |always |(?:it is|it's|it would be|it may be) (?:always )?(?:best|recommended|advisable|important|a good idea|better|wise|helpful|necessary) to |you (?:should|may (?:need|want) to|might want to)(?: also)? (?:consider [^,.]{{1,40}} or )?){{1,2}}{_CONSULT} {_EXPERT}|for [^,.]{{1,60}}, {_CONSULT} {_EXPERT}"
    # Russian.
    r"|надеюсь,? (?:это|что|мой|я|ответ)|дайте знать|пожалуйста[,!.]*(?:$| (?:дайте|обращайтесь|уточните|сообщите))|спасибо(?:[!.]| за (?:вопрос|ваш|внимание|обращение))|здравствуйте[!.,]|привет[!.,]|добрый день|обращайтесь"
    r"|если у вас (?:есть|возник\w+|остал\w+|появ\w+)[^.]{0,30}вопрос|как (?:ии|искусственный интеллект|языковая модель)\b|(?:конечно|разумеется|хорошо|отлично|ладно)[!.,]*(?:$| я (?:помогу|могу помочь|отвечу|расскажу))|(?:отличный|хороший|интересный) вопрос"
    r"|я (?:помогу|могу помочь|отвечу|расскажу)\b|вот и вс[её]|удачи[!.]|приятного (?:аппетита|дня)|(?:я )?рад\w? (?:был\w? )?помочь|не за что|с удовольствием|(?:вс[её]|это|ответ) зависит от ваш\w+|до свидания|всего доброго"
    r"|(?:[^,.]{0,40} )?(?:про)?консультируйтесь (?:с|у) |(?:лучше всего|рекомендуется|следует|стоит|советую|рекомендую) (?:обратиться|проконсультироваться) (?:к|с|у) )",
    re.IGNORECASE,
)
# "Here are the steps:", "Ниже список:"
_ANNOUNCES = re.compile(
    r"^(?:here(?:'s| are| is)|below (?:are|is)|the following|these (?:are|include)|some (?:of the )?|there (?:are|is) (?:several|some|many|two|three|four|five|various)|"
    r"to (?:answer|do this)|follow these|this (?:includes|means)|for example|вот\b|ниже\b|к ним относятся|это\b|следующ\w+)",
    re.IGNORECASE,
)
_ANNOUNCES_AT_END = re.compile(
    r"\b(?:as follows|the following(?: \w+){0,3}|(?:follow|take|use) (?:these|the)(?: \w+){0,3}|(?:steps|ways|reasons|methods|tips|answer|answers|benefits|differences|symptoms|causes|examples|features) (?:is|are|include)|such as|including|below|answers?\b.{0,200}\b(?:is|are|as|be)|here(?:'s| is| are)\b.{0,200}|"
    r"следующ\w+(?: \w+){0,3}|таков\w?|в следующем|ниже)[*_]*[:：]$",
    re.IGNORECASE,
)
# "Here's a summary of the passage, which covers the ferry." announces also without a colon.
_PROMISES = re.compile(
    r"^here(?:'s| is| are) (?:a|an|the|my|your|some|\w+) (?:\w+ ){0,3}(?:summary|overview|answer|answers|list|steps|explanation|breakdown|ways|tips|guide)\b[^:]{0,120}[:.!]?$",
    re.IGNORECASE,
)
# "Step 3:", "Second step.", "Шаг 2: варка риса:"
_STEP = re.compile(
    r"^\W*(?:(?:step|stage|part|шаг|этап|часть)\s+(?:\d{1,3}|[a-z]|one|two|three|four|five|six|seven|eight|nine|ten)|(?:first|second|third|fourth|fifth|last|final|перв|втор|трет|четв[её]рт|пят|последн)\w{0,4} (?:step|шаг))\W*$",
    re.IGNORECASE,
)
# "Sorry, I do not know.", "Прошу прощения."
_SORRY = re.compile(
    r"^(?:(?:i'm |i am |we are )?(?:very |so )?sorry\b(?! is)|my apologies|i apologi[sz]e|извините[,.!]|простите[,.!]|к сожалению, я\b|прошу прощения)",
    re.IGNORECASE,
)
# "Sorry, we are closed on Monday." claims what stands behind the comma.
_OPENER = re.compile(
    r"(?:(?:i'm |i am |we are )?(?:very |so )?sorry|my apologies|hello|hi|hey|(?:great|good) question|thanks(?: for asking)?|thank you|"
    r"извините|простите|прошу прощения|здравствуйте|привет|отличный вопрос|хороший вопрос)\s{0,2}[,:!—–-]\s{1,4}(?:but\s|но\s)?",
    re.IGNORECASE,
)
# Plain words in a fenced block, and what only an entry of a list of sources has.
_IN_WORDS = re.compile(r"[A-ZА-ЯЁ][^{}=<>$#|;\\()\n]*")
_OF_SOURCE = re.compile(
    r"https?://|www\.|\bdoi\b|\.(?:pdf|docx?|md|html?|txt)\b|//|\(\d{4}\)", re.IGNORECASE
)
# Notes within a text: "(Source: guide.pdf)", "[Source: guide.pdf, p. 3]", "(see [guide](address))".
_NOTE = re.compile(
    r"(?<=[\w.!?»”\"'*)])[ \t]{0,3}(?:\[(?:sources?|источники?):?[ ](?=[^\[\]\n]{0,80}(?:\.\w{2,4}\b|\d))[^\[\]\n]{1,80}\](?!\()"
    r"|\((?:sources?|источники?):[ ](?=[^()\n]{0,80}\.(?:pdf|docx?|md|html?|txt)\b)[^()\n]{1,80}\)"
    r"|\((?:see|cf\.|см\.)[ ]\[[^\[\]\n]{1,80}\]\([^()\s]{1,200}\)\))"
    r"|(?:(?<=[^\W\d_]{3})|(?<=[.!?]))<sup>\[?\d{1,3}\]?</sup>",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[ \t]{2,}(?=[.!?,;:]|$)")
_QUESTION = re.compile(r"[?？][\"'»”*_)]*$")
_HAS_WORD = re.compile(r"[^\W\d_]{2,}|\d")
_LONGEST_HEAD_WORDS = 12


NoClaim = Literal[
    "question", "heading", "about_sources", "talk", "announcement", "references", "code", "no_words"
]
"""Why a sentence claims nothing: "about_sources" only speaks of the passages ("See passage 2."),
"talk" is politeness or advice to ask, "announcement" is the head of a list or of a step, "heading"
is a title or the head of a table, "references" is an entry in a list of sources, "code" stands in a
fenced block."""


class PreparedStatement(NamedTuple):
    """One sentence of an answer, ready to be verified.

    Attributes:
        start: Where it begins in the answer, in characters from 0.
        end: Behind its last character; `answer[start:end] == text`.
        text: The sentence in the answer's own words.
        claim: What it claims: the text without lead, emphasis and citation marks.
        no_claim: Why the sentence claims nothing; None when it claims something.
    """

    start: int
    end: int
    text: str
    claim: str
    no_claim: NoClaim | None = None


def prepare_answer(answer: str) -> list[PreparedStatement]:
    """Split an answer into statements.

    Args:
        answer: Any text; may be empty.

    Returns:
        One entry for each sentence, list item and heading, in order.
    """
    prepared: list[PreparedStatement] = []
    data = [*json_claims(answer), *table_claims(answer)]
    fences, references = code_places(answer), reference_places(answer)
    # A note is blanked, not cut: places stay.
    unnoted = _NOTE.sub(lambda note: " " * len(note[0]), answer)
    for bare in _without(data, split_sentences(unnoted)):
        span = Span(bare.start, bare.end, answer[bare.start : bare.end])
        said = span.text if bare.text == span.text else _SPACES.sub("", bare.text)
        claim = _behind_opener(strip_lead(said))
        reason: NoClaim | None = None
        if is_within(span.start, fences):
            reason = None if _IN_WORDS.fullmatch(claim) and reads_as_sentence(claim) else "code"
        elif is_within(span.start, references):
            reason = None if _is_said(claim) else "references"
        elif is_heading(answer, span) and not _is_said(claim):
            reason = "heading"
        prepared.append(
            PreparedStatement(*span, claim_of_pair(claim), reason or no_claim_reason(claim))
        )
    if not data:
        if len(prepared) == 1 and prepared[0].no_claim == "heading" and answer.lstrip()[0] in "*_":
            # "**No**" is the whole answer.
            return [prepared[0]._replace(no_claim=None)]
        return prepared
    prepared += [
        PreparedStatement(*span, strip_lead(claim), None if claim else "no_words")
        for span, claim in data
    ]
    return sorted(prepared)


def _is_said(claim: str) -> bool:
    """Say whether a title, or an entry of a list of sources, claims something after all."""
    return "|" not in claim and not _OF_SOURCE.search(claim) and reads_as_sentence(claim)


def _behind_opener(claim: str) -> str:
    """Cut off "Sorry," and the like before a sentence."""
    opener = _OPENER.match(claim)
    if opener is None or not reads_as_sentence(claim[opener.end() :]):
        return claim
    rest = claim[opener.end() :]
    return claim if no_claim_reason(rest) else rest[:1].upper() + rest[1:]


def _without(data: Sequence[DataClaim], spans: list[Span]) -> list[Span]:
    """Leave out the spans that data claims stand for."""
    if not data:
        return spans
    places = [(claim.span.start, claim.span.end) for claim in data]
    return [
        span
        for span in spans
        if not any(start < span.end and span.start < end for start, end in places)
    ]


def claims_of(answer: str) -> list[PreparedStatement]:
    """Return the sentences of an answer that claim something, in order.

    Args:
        answer: Any text; may be empty.
    """
    return [statement for statement in prepare_answer(answer) if statement.no_claim is None]


def no_claim_reason(claim: str) -> NoClaim | None:
    """Say why a sentence claims nothing about the world.

    Args:
        claim: One sentence, its lead already cut off.

    Returns:
        None when it claims something.
    """
    text = claim.strip()
    head = text[:LONGEST_MATCHED].replace("’", "'")
    if not _HAS_WORD.search(head):
        return "no_words"
    if _QUESTION.search(text):
        return "question"
    if _STEP.match(head) or _announces(text, head):
        return "announcement"
    if absence_of(head) is None and speaks_of_sources(head):
        return "about_sources"
    if _TALK.match(head) or _SORRY.match(head):
        return "talk"
    return None


def _announces(text: str, head: str) -> bool:
    if _PROMISES.match(head):
        return True
    if not text.endswith((":", "：", ":**", ":__")):
        return False
    is_short = len(text.split()) <= _LONGEST_HEAD_WORDS
    return is_short or bool(_ANNOUNCES.match(head) or _ANNOUNCES_AT_END.search(text[-300:]))
