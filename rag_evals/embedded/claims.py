# Patterns read better unbroken.
# ruff: noqa: E501
"""Which sentences of an answer claim something, and what exactly do they claim?

Leads such as "Based on the context," and citation marks are cut off. Greetings, questions, headings
and sentences about the passages claim nothing; each gets its reason. English and Russian; in other languages every sentence is a claim.
"""

import re
from typing import Literal, NamedTuple

from rag_evals.text import Span, split_sentences

_SOURCE = (
    r"(?:(?:the|these|this|those|your|all|both|our|any)\s+)?(?:(?:provided|given|supplied|above|retrieved|"
    r"following|available|relevant|first|second|third|fourth)\s+)*(?:context|passages?|documents?|"
    r"texts?|articles?|sources?|excerpts?|information|search results?|chunks?|snippets?|material|"
    r"data|references?|paragraphs?)(?:\s+(?:provided|given|above|\d+|you (?:gave|provided)))*"
)
_SOURCE_RU = (
    r"(?:(?:предоставленн|приведенн|приведённ|данн|указанн|имеющ|эт)\w+\s+)*(?:контекст|отрывк|документ|"
    r"текст|стать|источник|информаци|фрагмент|материал|данны)\w*"
)
_STATES = (
    r"(?:states?|says?|mentions?|explains?|notes?|indicates?|suggests?|shows?|describes?|reports?|"
    r"stated|said|mentioned|explained|noted|indicated|reported|tells? us|specif(?:y|ies)|confirms?|"
    r"clarif(?:y|ies)|impl(?:y|ies))"
)
# "Based on the provided context, it is tall." → "It is tall."
# "В тексте говорится, что башня высокая." → "Башня высокая."
_LEADS = re.compile(
    rf"^(?:(?:so|yes|no|well|sure|certainly|in summary|overall|in short|to summarize|in conclusion|additionally|"
    rf"however|also|therefore|furthermore)[,.!]\s+)?(?:"
    rf"(?:based (?:up)?on|according to|as per|per|from|given|using|in|as (?:stated|mentioned|described|"
    rf"noted|explained|shown|indicated|seen|outlined) (?:in|by))\s+{_SOURCE}[^,.;:]{{0,40}},\s+"
    rf"|{_SOURCE}\s+(?:also\s+|further\s+|clearly\s+)?{_STATES}\s+that\s+"
    rf"|{_SOURCE}\s+(?:also\s+)?(?:says?|said|states?|stated)\s+(?=(?:the|a|an|it|he|she|they|there|this)\s)"
    r"|(?:passage|document|source|chunk|context|text|snippet|article|excerpt) \d+:\s+"
    rf"|(?:it is|it's) (?:stated|mentioned|noted|said|explained)(?: in {_SOURCE})? that\s+"
    r"|(?:yes|no|sure|certainly|of course)[,:!.]\s+"
    r"|(?:in summary|overall|in short|to summarize|in conclusion|to sum up|in other words)[,:]\s+"
    r"|(?:therefore, |thus, |so )?it (?:can|may) be (?:inferred|concluded|assumed) (?:from .{1,40} )?that\s+"
    r"|note:\s+"
    r"|(?:please note that|note that|it is (?:important|worth)(?: to note| noting)? that|keep in mind that)\s+"
    rf"|(?:согласно|исходя из|судя по|на основе|на основании|по|в соответствии с|как (?:указано|сказано|"
    rf"отмечено|говорится) в)\s+{_SOURCE_RU}[^,.;:]{{0,40}},\s+"
    rf"|(?:в\s+)?{_SOURCE_RU}\s+(?:говорится|сказано|указано|отмечается|утверждается|сообщается),?\s+что\s+"
    r"|(?:таким образом|итак|в итоге|в целом|важно отметить,? что|стоит отметить,? что|да|нет),\s+"
    r")",
    re.IGNORECASE,
)
# "It is tall [1, 2] (see passage 2) (Smith et al., 2019)." → "It is tall."
# Bounded white space before it: an unbounded run is tried from each of its places.
_CITATION = re.compile(
    r"\s{0,4}(?:\[\^\d+\]|\([^()\d]{1,40} et al\.?,? \d{4}[a-z]?\)|\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]|\((?:see |source:\s*)?(?:passage|source|doc(?:ument)?|chunk|ref(?:erence)?)s?\s*"
    r"\d+(?:(?:,| and|, and)\s*(?:passage\s*)?\d+)*\)|【[^】]{0,40}】)",
    re.IGNORECASE,
)
_SPEAK = (
    r"(?:mention|sa[yi]d?|contain|provide|state|specif|include|discuss|give|address|explain|answer|describe|"
    r"cover|indicate|offer|reveal|tell|refer|clarif|list|elaborate|detail|have|seem|appear)"
)
# "The context does not mention it.", "There is no information about it.", "I cannot answer."
_ABSENCE = re.compile(
    rf"^(?:(?:however|unfortunately|but|although|also|therefore|so|additionally)\b,?\s*)?(?:"
    r"there (?:is|are|was) (?:no|not|little)(?: (?:specific|further|enough|other|direct|clear|additional|any|explicit))* ?"
    r"(?:information|mention|details|reference)\b"
    rf"|there (?:is|are|was) (?:no|not|little)\b.{{0,80}}\b(?:in|from|within) {_SOURCE}[.!]?$"
    rf"|{_SOURCE}\s+(?:do|does|did)(?:\s+not|n't)\s+(?:\w+ly\s+)?{_SPEAK}"
    rf"|{_SOURCE}\s+(?:is|are)\s+(?:not|un)\s?(?:clear|specific|sufficient|enough)\b"
    rf"|{_SOURCE}\s+(?:has|have|gives?|provides?|contains?|offers?)\s+(?:no|little)\s+(?:\w+ )?"
    r"(?:information|mention|details?|answer|data|evidence|indication|reference)\b"
    rf"|none of {_SOURCE}\s+(?:\w+ly\s+)?{_SPEAK}"
    rf"|{_SOURCE}\s+(?:provides?|gives?|contains?|offers?|has|have)\s+(?:conflicting|contradictory)\s+"
    r"(?:information|answers?|details?|accounts?|numbers?|figures?)\b"
    r"|there (?:is|are|was) no (?:\w+ )?answer\b"
    rf"|{_SOURCE}\s+(?:lacks?|fails? to|only (?:mention|provide|discuss)s?)\b"
    r"|(?:it|this) (?:is|was) (?:not|un)\s?(?:specified|mentioned|stated|provided)\b"
    rf"|(?:it|this) (?:is|was) (?:not |un)(?:clear|known|possible)\b.*\b(?:from|in|based on) {_SOURCE}"
    r"|(?:unable|not possible|impossible) to (?:answer|determine|say|tell|provide)"
    r"|no (?:specific |further |other )?(?:information|details?|mention) (?:is|are|was|about|on|regarding)\b"
    r"|i (?:can(?:no|')t|cannot|do not|don't|could not|couldn't|am (?:not|unable)|was unable)\b"
    r"|i'm (?:not able|unable|not sure)\b"
    r")",
    re.IGNORECASE,
)
# "В контексте нет информации об этом.", "Невозможно ответить."
_ABSENCE_RU = re.compile(
    rf"^(?:(?:однако|к сожалению|но|также),?\s*)?(?:(?:в\s+)?{_SOURCE_RU}\s+(?:\w+\s+){{0,2}}(?:нет|не|отсутству\w+)\b"
    rf"|ни (?:в )?одн\w+ из {_SOURCE_RU}\b|(?:я )?не (?:могу|знаю|смог\w*|наш[её]л|нашла|удалось|указано|упоминается|сказано)\b|нет (?:информации|данных|сведений)\b"
    r"|невозможно (?:ответить|определить|сказать)|информаци\w+ (?:\w+\s+){0,2}(?:нет|отсутству\w+|не ))",
    re.IGNORECASE,
)
# "Hope this helps!", "Спасибо за вопрос."
_TALK = re.compile(
    r"^(?:(?:i )?hope (?:this|that)|as an ai\b|let me know|feel free|please (?:let|feel|note|see|refer|provide|consult)\b(?! that)"
    r"|sure[,!.]|of course[,!.]|certainly[,!.]|great question|thank(?:s| you)|you'?re welcome|i(?:'m| am) (?:happy|glad|an ai)"
    r"|i(?:'d| would) (?:recommend|suggest|be happy)|hello|hi\b|good (?:morning|day)|is there anything"
    r"|if you (?:have|need) (?:any|more|further)|надеюсь|дайте знать|пожалуйста|спасибо|здравствуйте|обращайтесь"
    r"|если у вас)",
    re.IGNORECASE,
)
# "Here are the steps:", "Ниже список:"
_ANNOUNCES = re.compile(
    r"^(?:here (?:are|is)|below (?:are|is)|the following|these (?:are|include)|some (?:of the )?|there are several|"
    r"to (?:answer|do this)|follow these|this (?:includes|means)|вот\b|ниже\b|к ним относятся|это\b|следующ\w+)",
    re.IGNORECASE,
)
# "Sorry, I do not know.", "Прошу прощения."
_SORRY = re.compile(
    r"^(?:(?:i'm |i am |we are )?(?:very |so )?sorry\b|my apologies|i apologi[sz]e|извините|простите|к сожалению, я\b|прошу прощения)",
    re.IGNORECASE,
)
# "The context does not mention it; however, it stands in Paris." → "It stands in Paris."
_BUT = re.compile(
    r"(?:[;,]\s+(?:however|but|though|although|yet|nevertheless)|\bhowever),?\s+(?=(?:\S+\s+){3,}\S)"
    r"|[;,]\s+(?:однако|но|хотя),?\s+(?=(?:\S+\s+){3,}\S)",
    re.IGNORECASE,
)
# The signs in front of a heading: "## " of "## Opening hours".
_HEADING_BEFORE = re.compile(r"^[ \t>]*#{1,6}[ \t]+$")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# Behind the head of a table: the line "|---|---|" after "| year | seats |".
_TABLE_RULE = re.compile(r"[ \t]*\r?\n[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:|-]*)?(?:\r?\n|\Z)")
_BOLD_LINE = re.compile(r"^(?:\*\*[^*]+\*\*|__[^_]+__):?$")
_ENDS_SENTENCE = re.compile(r"[.!…。！][*_]*$")
_EMPHASIS = re.compile(r"\*\*|__|`")
# Without any of these there is neither a citation nor emphasis.
_SIGNS = "[(【*_`"
_PRONOUN_LEAD = re.compile(
    r"^(?:he|she|it|they|this|these|that|those|his|her|its|their|such|"
    r"он|она|оно|они|это|этот|эта|эти|его|её|ее|их)\b",
    re.IGNORECASE,
)
_HAS_WORD = re.compile(r"[^\W\d_]{2,}|\d")
_LONGEST_MATCHED = 600
_LONGEST_HEADING = 200


NoClaim = Literal[
    "question", "heading", "about_sources", "talk", "announcement", "code", "no_words"
]
"""Why a sentence claims nothing: "about_sources" speaks of the passages ("The context does not
mention …"), "talk" is politeness or advice to ask, "announcement" ends in a colon, "heading" is a
title or the head of a table, "code" stands in a fenced block."""


class PreparedStatement(NamedTuple):
    """One sentence of an answer, ready to be verified.

    Attributes:
        start: Where it begins in the answer, in characters from 0.
        end: Behind its last character; `answer[start:end] == text`.
        text: The sentence in the answer's own words.
        claim: What it claims: the text without lead, emphasis and citation marks.
        before: The claim before, when this one begins with a pronoun and leans on it; else None.
        no_claim: Why the sentence claims nothing; None when it claims something.
    """

    start: int
    end: int
    text: str
    claim: str
    before: str | None = None
    no_claim: NoClaim | None = None


def prepare_answer(answer: str) -> list[PreparedStatement]:
    """Split an answer into statements.

    Args:
        answer: Any text; may be empty.

    Returns:
        One entry for each sentence, list item and heading, in order.
    """
    prepared: list[PreparedStatement] = []
    before: str | None = None
    fences = [match.span() for match in _FENCE.finditer(answer)] if "```" in answer else []
    for span in split_sentences(answer):
        claim = strip_lead(span.text)
        reason: NoClaim | None
        if any(start <= span.start < end for start, end in fences):
            reason = "code"
        else:
            reason = "heading" if _is_heading(answer, span) else no_claim_reason(claim)
        leans = before is not None and _PRONOUN_LEAD.match(claim) is not None
        prepared.append(PreparedStatement(*span, claim, before if leans else None, reason))
        if reason is None:
            before = claim
    return prepared


def claims_of(answer: str) -> list[PreparedStatement]:
    """Return the sentences of an answer that claim something, in order.

    Args:
        answer: Any text; may be empty.
    """
    return [statement for statement in prepare_answer(answer) if statement.no_claim is None]


def strip_lead(sentence: str) -> str:
    """Cut emphasis, citation marks and leads such as "Based on the context," off.

    Args:
        sentence: One sentence.

    Returns:
        What the sentence claims; the sentence itself when nothing would remain. What the sources
        leave open is cut off as well where a claim follows: "…, but it stands in Paris."
    """
    text = sentence
    if any(map(text.__contains__, _SIGNS)):
        text = _CITATION.sub("", _EMPHASIS.sub("", text))
    text = _without_leads(text.strip())
    if _is_about_sources(text):
        turn = _BUT.search(text[:_LONGEST_MATCHED])
        rest = "" if turn is None else _without_leads(text[turn.end() :])
        if rest and not _is_about_sources(rest):
            text = rest[:1].upper() + rest[1:]
    return text or sentence


def _without_leads(text: str) -> str:
    for _ in range(2):
        match = _LEADS.match(text[:_LONGEST_MATCHED].replace("’", "'"))
        if match is None or match.end() >= len(text):
            break
        text = text[match.end() :]
        text = text[:1].upper() + text[1:]
    return text


def _is_about_sources(text: str) -> bool:
    head = text[:_LONGEST_MATCHED].replace("’", "'")
    return _ABSENCE.match(head) is not None or _ABSENCE_RU.match(head) is not None


def no_claim_reason(claim: str) -> NoClaim | None:
    """Say why a sentence claims nothing about the world.

    Args:
        claim: One sentence, its lead already cut off.

    Returns:
        None when it claims something.
    """
    text = claim.strip()
    head = text[:_LONGEST_MATCHED].replace("’", "'")
    if not _HAS_WORD.search(head):
        return "no_words"
    if text.endswith(("?", "？")):
        return "question"
    if _is_about_sources(text):
        return "about_sources"
    if _TALK.match(head) or _SORRY.match(head):
        return "talk"
    if text.endswith((":", "：")) and (_ANNOUNCES.match(head) or len(text.split()) <= 12):
        return "announcement"
    return None


def _is_heading(answer: str, span: Span) -> bool:
    if len(span.text) > _LONGEST_HEADING:
        return False
    line_start = max(answer.rfind("\n", 0, span.start), answer.rfind("\r", 0, span.start)) + 1
    before = answer[line_start : span.start][-_LONGEST_HEADING:]
    if _HEADING_BEFORE.match(before):
        return True
    if "|" in span.text and _TABLE_RULE.match(answer, span.end):
        return True
    is_item = bool(before.strip())
    if is_item:
        return False
    if _BOLD_LINE.match(span.text):
        # "**It opened in 1907.**" is a sentence, "**Opening hours:**" is none.
        return not _ENDS_SENTENCE.search(span.text)
    # A line of its own, short, without a stop and in capitals, is a title.
    is_line = answer[span.end : span.end + 1] in ("\n", "\r")
    return (
        is_line and len(span.text.split()) <= 4 and span.text.istitle() and span.text[-1].isalpha()
    )
