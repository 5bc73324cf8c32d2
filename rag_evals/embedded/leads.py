# Patterns read better unbroken.
# ruff: noqa: E501
"""What of a sentence is no part of its claim?

Emphasis, citation marks, leads such as "Based on the context," and remarks such as ", as stated in
passage 2," are cut off. English and Russian.
"""

import re
from functools import lru_cache

from rag_evals.embedded.finite import reads_as_sentence
from rag_evals.embedded.sources import (
    SOURCE,
    SOURCE_RU,
    STATES,
    absence_of,
    names_source,
    speaks_of_sources,
)
from rag_evals.text import leaning_of

_SURE = r"(?:so|yes|no|well|sure|certainly|absolutely|great|okay|in summary|overall|in short|to summarize|in conclusion|additionally|however|also|therefore|furthermore|accordingly|thus|while)"
# "Based on the provided context, it is tall." → "It is tall."
# "В тексте говорится, что башня высокая." → "Башня высокая."
_LEADS = re.compile(
    rf"^(?:{_SURE}[,.!]\s+)?(?:"
    rf"(?:based (?:up)?on|according to|as per|per|from|given|using|in|as (?:stated|mentioned|described|"
    rf"noted|explained|shown|indicated|seen|outlined) (?:in|by))\s+{SOURCE}[^,.;:]{{0,40}},\s+"
    rf"|{SOURCE}\s+(?:also\s+|further\s+|clearly\s+|specifically\s+)?{STATES}\s+(?:that|how(?! to\b))\s+"
    rf"|{SOURCE}\s+(?:also\s+)?(?:says?|said|states?|stated)\s+(?=(?:the|a|an|it|he|she|they|there|this)\s)"
    rf"|{SOURCE}\s[^,.;:]{{0,80}}?\b(?:stating|saying|noting|explaining|suggesting|mentioning) that\s+"
    rf"|{SOURCE}\s+(?:also\s+|further\s+)?(?:defines?|describes?)\s+(?=[^,.;:]{{3,60}}\sas\s)"
    r"|(?:passage|document|source|chunk|context|text|snippet|article|excerpt) \d+:\s+"
    rf"|(?:it is|it's) (?:stated|mentioned|noted|said|explained)(?: in {SOURCE})? that\s+"
    r"|(?:yes|no|sure|certainly|of course)[,:!.]\s+"
    r"|(?:in summary|overall|in short|to summarize|in conclusion|to sum up|in other words)[,:]\s+"
    r"|(?:therefore, |thus, |so )?it (?:can|may) be (?:inferred|concluded|assumed) (?:from .{1,40} )?that\s+"
    r"|(?:it (?:appears|seems)|it is clear|we (?:can )?(?:conclude|see|understand|infer|know|say)) that\s+"
    rf"|(?:the|my) (?:correct |final |brief )?answers? (?:to (?:the|your|this) (?:original )?question(?: [\"“«][^\"”»]{{1,200}}[\"”»])? )?(?:(?:based on|from|according to) {SOURCE} )?(?:is|are)(?: that |:\s+)"
    r"|(?:note|tip|important|remember|warning|answer):\s+"
    r"|(?:first|second|third|fourth|fifth)(?:ly)?(?: of all)?,\s+(?!(?:(?:second|third|fourth|fifth)(?:ly)?|and|or)\b)"
    r"|(?:please note that|note that|it is (?:important|worth)(?: to note| noting)? that|keep in mind that)\s+"
    rf"|(?:согласно|исходя из|судя по|на основе|на основании|по|в соответствии с|как (?:указано|сказано|"
    rf"отмечено|говорится) в)\s+{SOURCE_RU}[^,.;:]{{0,40}},\s+"
    rf"|(?:в\s+)?{SOURCE_RU}\s+(?:говорится|сказано|указано|отмечается|утверждается|сообщается|объясняется|сообщает|утверждает|объясняет|описывает),?\s+что\s+"
    r"|(?:таким образом|итак|в итоге|в целом|другими словами|важно отметить,? что|стоит отметить,? что|обратите внимание,? что|да|нет|конечно),\s+"
    r"|(?:обратите внимание|важно отметить|стоит отметить),? что\s+"
    r"|(?:(?:таким образом|итак), )?(?:правильный )?ответ(?: на (?:ваш |этот )?вопрос)?:\s+"
    r"|(?:примечание|важно|совет):\s+"
    r"|(?:во-первых|во-вторых|в-третьих|в-четвёртых|в-четвертых),\s+|сначала,?\s+"
    r")",
    re.IGNORECASE,
)
# "It is tall [1, 2] (see passage 2) (Smith et al., 2019)." → "It is tall."
# Bounded white space before it: an unbounded run is tried from each of its places.
_CITATION = re.compile(
    r"\s{0,4}(?:\[\^\d+\]|\([^()\d]{1,40} et al\.?,? \d{4}[a-z]?\)|\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]|\((?:see |source:\s*|according to |from |см\.? )?(?:passage|source|doc(?:ument)?|chunk|ref(?:erence)?|отрыв(?:ок|ки)|документ|источник|фрагмент)s?\s*"
    r"\d+(?:(?:,| and|, and|;| и)\s*(?:passage\s*|отрывок\s*)?\d+)*(?::\d+)?\)|【[^】]{0,40}】)",
    re.IGNORECASE,
)
_NAMED_SOURCE = r"(?:(?:the|these|this|our)\s+)?(?:(?:provided|given|supplied|above|retrieved|first|second|third)\s+)*(?:contexts?|passages?|documents?|articles?|texts?|excerpts?|chunks?|snippets?)(?:\s+\d+(?:(?:, and|,| and)\s+(?:passage\s+)?\d+)*)?"
_NAMED_SOURCE_RU = r"(?:(?:предоставленн|приведенн|приведённ|данн|эт|перв|втор|трет)\w+\s+)*(?:контекст|отрыв|документ|фрагмент|текст|источник)\w*(?:\s+\d+)?"
# "The fee, as stated in the document, is 30 euros." → "The fee is 30 euros."
_REMARK = re.compile(
    rf"(?<!\bnot)(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bbe)(?<!\bbeen)(?<!\bwere)(?<!n't)(?<!\bnone),?\s{{1,4}}(?:(?:as\s+)?(?:is\s+)?(?:stated|mentioned|described|noted|indicated|explained|listed|suggested|provided|outlined)\s+(?:in|by)|according to|based on|(?:based on|according to|from)\s+the\s+information\s+(?:provided|given|stated|mentioned|contained)\s+in)\s+{_NAMED_SOURCE}(?=\W*$|[,;:]),?"
    rf"|,\s{{1,4}}как (?:указано|сказано|отмечено|описано|говорится) в\s+{_NAMED_SOURCE_RU}(?=\W*$|[,;:]),?",
    re.IGNORECASE,
)
# "passage 2, 8 euros": behind one number there is no list.
_ONE_SOURCE = r"(?:(?:the )?(?:first|second|third|last|other) (?:passage|document|source|chunk|text|article|excerpt)|(?:passage|document|source|chunk|text|article|excerpt) \d+)"
# "…, while passage 2 says that it is blue."
_OTHER_SOURCE = re.compile(
    rf"(?<=[,;:])(\s{{1,4}}(?:(?:while|whereas|and|but)\s+)?)(?:{_NAMED_SOURCE}\s+(?:also\s+)?(?:{STATES}|gives?|puts? it at)\s+(?:that\s+)?|(?<=[a-z]\s)according to {_ONE_SOURCE},?\s+)"
    rf"|(?<=[,;])(\s{{1,4}}(?:а|и|но|тогда как)\s+)(?:в\s+{_NAMED_SOURCE_RU}\s+(?:(?:говорится|сказано|указано|указана?ы?),?|[–—-])\s+(?:что\s+)?|согласно\s+{_NAMED_SOURCE_RU},?\s+)",
    re.IGNORECASE,
)
_SOURCE_SAYS = re.compile(rf"^{_NAMED_SOURCE}\s+(?:also\s+)?{STATES}\s+(?:that\s+)?", re.IGNORECASE)
# "The context does not mention it; however, it stands in Paris." → "It stands in Paris."
_BUT = re.compile(
    r"(?:[;,]\s+(?:however|but(?! rather\b)|though|although|yet|nevertheless)|\bhowever),?\s+(?=(?:\S+\s+){3,}\S)"
    r"|[;,]\s+(?:однако|но|хотя),?\s+(?=(?:\S+\s+){3,}\S)",
    re.IGNORECASE,
)
# "The text does not say when but it was in May.", without a comma.
_BUT_PLAIN = re.compile(
    r"\s(?:but|however|though|although|yet)\s+(?=(?:it|he|she|they|there|this|the|a|an|its|his|her|their|we)\s+\S+\s+\S)"
    r"|\s(?:но|однако)\s+(?=(?:\S+\s+){2,}\S)|,\s+and\s+(?=(?:it|he|she|they|the)\s+\S+\s+\S)",
    re.IGNORECASE,
)
# "Although the text does not mention the owner, the hotel burned down."
_CONCEDES = re.compile(r"(?:although|though|even though|while|whereas|хотя)\s", re.IGNORECASE)
_COMMA = re.compile(r",\s+(?=(?:\S+\s+){2,}\S)")
# "Passage 3 gives a recipe, but does not say who wrote it": still of the source.
_LACKS_SUBJECT = re.compile(
    r"(?:do|does|did|rather|instead|only|simply|merely|is|are|has|have|provides?|gives?|mentions?|says?|states?|suggests?|describes?|focus(?:es)?|не|лишь|только)\b",
    re.IGNORECASE,
)
_NUMBER = r"[$€£]?\d(?:[\d.,]*\d)?"
_AMOUNT = re.compile(rf"{_NUMBER}(?P<unit>(?: ?[^\W\d_%]+| ?%)?)")
_EMPHASIS = re.compile(r"\*\*|__|`")
# Without any of these there is neither a citation nor emphasis.
_SIGNS = "[(【*_`"
_MOST_LEADS = 3
LONGEST_MATCHED = 600
"""Characters of a sentence that are looked at; bounds the time of the patterns."""


def strip_lead(sentence: str) -> str:
    """Cut off what is no part of the claim.

    Args:
        sentence: One sentence.

    Returns:
        What the sentence claims; the sentence itself when nothing would remain. What the sources
        leave open is cut off as well where a claim follows: "…, but it stands in Paris."
    """
    # A claim is prepared with its answer and decided by itself: both ask.
    return _kept(sentence) if len(sentence) <= LONGEST_MATCHED else _stripped(sentence)


def _stripped(sentence: str) -> str:
    text = sentence
    if any(map(text.__contains__, _SIGNS)):
        text = _CITATION.sub("", _EMPHASIS.sub("", text))
    text = _without_leads(text.strip())
    is_of_sources = is_about_sources(text)
    if not is_of_sources and names_source(text):
        return _without_remarks(text)
    if is_of_sources:
        text = _behind_turn(text) or text
    return text or sentence


_kept = lru_cache(maxsize=256)(_stripped)


def said_by_each(sentence: str) -> list[str]:
    """Part what several sources are said to say: each part is a claim of its own.

    "Passage 1 states that it is red, while passage 2 says that it is blue." → "It is red.", "It is
    blue."

    Args:
        sentence: One sentence.

    Returns:
        The sentence itself where its parts cannot be read one by one.
    """
    head = sentence[:LONGEST_MATCHED]
    found = _OTHER_SOURCE.finditer(head) if names_source(head) else ()
    # "Diet: Passage 2 says that …" gives a claim its name.
    turns = [
        turn for turn in found if (turn[1] or turn[2]).strip() or head[turn.start() - 1] == ";"
    ]
    if not turns:
        return [sentence]
    starts = [0, *(turn.end() for turn in turns)]
    ends = [*(turn.start() for turn in turns), len(sentence)]
    first, *others = (
        sentence[start:end].strip(" ,;:.") for start, end in zip(starts, ends, strict=True)
    )
    first = _without_leads(_SOURCE_SAYS.sub("", first))
    if leaning_of(first) == "fragment":
        return [sentence]
    whole = [part if leaning_of(part) != "fragment" else _completed(part, first) for part in others]
    return [f"{_capitalised(part)}." for part in (first, *whole)] if all(whole) else [sentence]


def _completed(part: str, first: str) -> str:
    """Read "8 euros" behind "The fee is 5 euros" as "The fee is 8 euros"; else an empty text."""
    amount = _AMOUNT.fullmatch(part)
    if amount is None:
        return ""
    same = re.compile(rf"{_NUMBER}{re.escape(amount['unit'])}(?!\w)")
    return same.sub(lambda _: part, first) if len(same.findall(first)) == 1 else ""


def is_about_sources(text: str) -> bool:
    """Say whether a sentence says something of the sources only, be it what they leave out."""
    head = text[:LONGEST_MATCHED]
    return absence_of(head) is not None or speaks_of_sources(head)


def _behind_turn(text: str) -> str:
    """Return what is claimed beside what the sources leave open; empty where nothing is."""
    head = text[:LONGEST_MATCHED]
    turns = [_BUT.search(head), _BUT_PLAIN.search(head)]
    if _CONCEDES.match(head):
        turns.insert(0, _COMMA.search(head))
    for turn in filter(None, turns):
        rest = _without_leads(text[turn.end() :])
        is_own = reads_as_sentence(rest) or turn is turns[-2]
        if rest and is_own and not _LACKS_SUBJECT.match(rest) and not is_about_sources(rest):
            return _capitalised(rest)
    return ""


def _without_leads(text: str) -> str:
    for _ in range(_MOST_LEADS):
        match = _LEADS.match(text[:LONGEST_MATCHED].replace("’", "'"))
        if match is None or match.end() >= len(text):
            break
        text = _capitalised(text[match.end() :])
    return text


def _without_remarks(text: str) -> str:
    head, tail = text[:LONGEST_MATCHED], text[LONGEST_MATCHED:]
    if len(said_by_each(text)) > 1:
        # Each part is prepared by itself.
        return text
    head = _OTHER_SOURCE.sub(lambda found: found[1] or found[2], head)
    cut = _REMARK.sub("", head)
    if cut == text[:LONGEST_MATCHED] or not _HAS_WORD.search(cut):
        return text
    return _capitalised(cut) + tail


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


_HAS_WORD = re.compile(r"[^\W\d_]{2,}")
