# Long patterns are easier to read on one line.
# ruff: noqa: E501
"""Parts of a sentence that claim nothing: comments on the sources, leads and remarks.

"Passage 2 is about tea." makes no claim that a source could support. "Passage 3 does not say how to
fold a quilt." does: it is wrong if the source says how. The rules cover English and Russian.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

# Lines without a full stop are sentences, or titles such as "Documents required for travel".

_LONGEST = 400
_VERB = re.compile(
    r"\w+\W+(?:\w+\W+){0,12}?(?:is|are|was|were|has|have|had|does|did|do|can|cannot|could|will|would|should|must|costs?|contains?|includes?|became|\w+n't|"
    r"есть|нет|был|была|было|были|будет|будут|имеет|имеют|является|являются|стоит|стоят|может|могут|находится|закрыт\w?|открыт\w?)\b",
    re.IGNORECASE,
)
# "The hotel burned down", "Отель сгорел в 2003 году": a past-tense verb after a subject.
_PAST = re.compile(
    r"(?:the|a|an|its|our|his|her|their|this|it|he|she|they|we|i)\s+(?:\w+\s+){0,4}?\w{2,}(?:ed|burnt|stood|sank|fell|won|lost|sold|built)\b",
    re.IGNORECASE,
)
_PAST_RU = re.compile(
    r"\w+\s+(?:\w+\s+){0,4}?\w{2,}(?:л|ла|ло|ли|лся|лась|лось|лись)\s(?=.*\d)", re.IGNORECASE
)
# "В отеле 99 номеров": a number without a verb.
_COUNTS = re.compile(r"(?:в|на|у)\s+[^\W\d]+\s+\d+\s+\w", re.IGNORECASE)


def reads_as_sentence(line: str) -> bool:
    """True if a line contains a subject and a verb, or the number of something."""
    text = line.strip(" *_#:")[:_LONGEST].replace("’", "'")
    return any(pattern.match(text) for pattern in (_VERB, _PAST, _PAST_RU, _COUNTS))


SOURCE = (
    r"(?:(?:the|these|this|those|your|all|both|our|any)\s+)?(?:(?:provided|given|supplied|above|retrieved|"
    r"following|available|relevant|first|second|third|fourth|last|other|same|two|three)\s+)*(?:context|passages?|documents?|"
    r"texts?|articles?|sources?|excerpts?|information|search results?|chunks?|snippets?|material|"
    r"data|references?|paragraphs?)(?:\s+(?:provided|given|above|\d+(?:(?:, and|,| and|&)\s+(?:passage\s+)?\d+)*|you (?:gave|provided)))*"
)
SOURCE_RU = (
    r"(?:(?:предоставленн|приведенн|приведённ|данн|указанн|имеющ|эт|перв|втор|трет|последн|об[ао])\w*\s+)*(?:контекст|отрыво?к|документ|"
    r"текст|стать|источник|информаци|фрагмент|материал|данны)\w*(?:\s+\d+(?:(?:,| и)\s+\d+)*)?"
)
STATES = (
    r"(?:states?|says?|mentions?|explains?|notes?|indicates?|suggests?|shows?|describes?|reports?|"
    r"stated|said|mentioned|explained|noted|indicated|reported|tells? us|specif(?:y|ies)|confirms?|"
    r"clarif(?:y|ies)|impl(?:y|ies)|claims?|adds?|recommends?|points? out|reveals?|discuss(?:es)?|reiterates?|highlights?|emphasi[sz]es?)"
)
# Substrings, because a regular expression with many alternatives is slow if none matches. First those
# in English, then those in Russian.
_SOURCES = (
    "passage|context|document|text|article|source|excerpt|chunk|snippet|paragraph|information|material|data|reference|result".split(
        "|"
    ),
    "отрыв|контекст|документ|текст|стать|источник|фрагмент|информаци|материал|данны".split("|"),
)
_UNANSWERED = (
    "answer|mention|detail|specified|provided|stated|explained|unable|possible|difficult|hard to|i can|i do|i am|i was|i could|i'm|without |more |further ".split(
        "|"
    ),
    "ответ|сведени|об этом|упом|сказано|указано|не могу|не смог|не наш|не удалось|не знаю|невозможно".split(
        "|"
    ),
)
_SPEAK = (
    r"(?:mention|sa[yi]d?|contain|provide|state|specif|include|discuss|give|address|explain|answer|describe|"
    r"cover|indicate|offer|reveal|tell|refer|clarif|list|elaborate|detail|have|seem|appear|name)\w*"
)
_LEAD = r"(?:(?:however|unfortunately|but|although|while|also|therefore|so|thus|additionally|hence|note that|it should be noted that)\b,?\s*)*"
_SPARE = r"(?:(?:specific|further|enough|other|direct|directly|clear|clearly|additional|any|explicit|explicitly|exact|detailed|sufficient|specifically|actually|really|much)\s+)*"
_WHAT = r"(?:information|mention|details?|references?|data|evidence|indication|instructions?|answers?|guidance|explanation)"
_ABOUT = r"(?:about|on|regarding|concerning|of|for|as to|to|that|related to|relating to)"
# These are followed by what the sources leave out.
_LEAVES_OUT = re.compile(
    rf"^{_LEAD}(?:"
    rf"{SOURCE}\s+(?:do|does|did)(?:\s+not|n't)\s+{_SPARE}(?:\w+ly\s+)?{_SPEAK}\b"
    rf"|(?:none|neither|nothing) (?:of|in) {SOURCE}\s+(?:\w+ly\s+)?{_SPEAK}\b"
    rf"|(?:no|neither) (?:passage|document|source|chunk|text|article|excerpt)s?\s+(?:\w+ly\s+)?{_SPEAK}\b"
    rf"|{SOURCE}\s+never\s+{_SPEAK}\b"
    rf"|no {_SPARE}{_WHAT} (?:is|are|was|were) (?:given|provided|found|available|mentioned) {_ABOUT}\b"
    rf"|{SOURCE}\s+(?:has|have|gives?|provides?|contains?|offers?)\s+(?=(?:no|little)\b)"
    rf"|{SOURCE}\s+(?:lacks?|fails? to {_SPEAK})\b"
    rf"|there (?:is|are|was|were)(?:\s+not|n't)?\s+(?=(?:no|any|little)\b.{{0,30}}\b{_WHAT})"
    rf"|there (?:is|are|was|were)\s+(?=(?:no|nothing)\b.{{0,120}}\b(?:in|from|within) {SOURCE}[.!]?$)"
    rf"|(?:it|this) (?:is|was) (?:not|un)\s?(?:specified|mentioned|stated|provided|explained)\b(?:\s+(?:in|by) {SOURCE})?"
    rf"|(?=no {_SPARE}{_WHAT}\b[^.]{{0,200}}\b(?:is|are|was|were) (?:given|provided|found|available|mentioned))"
    r")\s*",
    re.IGNORECASE,
)
_LEAVES_OUT_RU = re.compile(
    rf"^(?:(?:однако|к сожалению|но|также|поэтому),?\s*)?(?:"
    rf"(?:в\s+)?{SOURCE_RU}\s+(?:об этом\s+|прямо\s+)?(?:не\s+(?:содерж|упомина|указ|уточня|сказан|говор|сообща|объясня|привод|привед|назван|описыва|описан|раскрыва|дан|да[юе]т|отвеча)\w*)"
    rf"|(?:в\s+)?{SOURCE_RU}\s+(?=(?:нет|отсутству\w+)\b)"
    rf"|ни (?:в )?одн\w+ (?:из )?{SOURCE_RU}\s+(?:об этом\s+)?не\s+\w+"
    rf"|(?=(?:нет|отсутству\w+) (?:информации|данных|сведений|упоминани\w+)\b)"
    r")[\s,]*",
    re.IGNORECASE,
)
# "The price is not mentioned in the passages.", "Цена в тексте не указана."
_LEFT_OUT = re.compile(
    rf"^{_LEAD}(?P<topic>[^.;]{{3,160}}?)\s+(?:is|are|was|were)(?:\s+not|n't)\s+(?:\w+ly\s+)?(?:mentioned|stated|specified|provided|given|explained|described|discussed|included|addressed)\s+(?:in|by)\s+{SOURCE}\W*$"
    rf"|^об?о?\s+(?P<topic_of>[^.;]{{3,160}}?)\s+(?:в|во)\s+{SOURCE_RU}\s+(?:ничего\s+)?не\s+(?:говор|сказан|упомин|сообща|указ)\w+\W*$"
    rf"|^(?P<topic_ru>[^.;]{{3,160}}?)\s+в\s+{SOURCE_RU}\s+не\s+(?:указ|упомян|назван|привед|описан|уточн)\w+\W*$",
    re.IGNORECASE,
)
# "no specific information about the price of the quilt in the passages" → "the price of the quilt"
_FRAME = re.compile(
    rf"^(?:(?:no|any|little|nothing|a|an|the)\s+)?{_SPARE}(?:{_WHAT}(?:\s+(?:and|or)\s+{_WHAT})*\s+{_ABOUT}\s+)?(?:anything about\s+|about\s+)?"
    r"(?:(?:whether|if|that|what|when|where|who|whom|which|why|how(?: (?:to|many|much|long|often))?)\s+)?(?:the\s+)?(?:(?:specific|exact|precise|total)\s+)*",
    re.IGNORECASE,
)
_FRAME_RU = re.compile(
    r"^(?:нет|отсутству\w+)?\s*(?:(?:никак|конкретн|точн|достаточн|подробн|прям)\w+\s+)*(?:(?:информаци|сведени|данны|упоминани|ответ)\w*\s+)?(?:об?о?\s+|на\s+)?"
    r"(?:(?:что|как|когда|где|кто|какой|какая|какие|почему|зачем|сколько|ли)\s+)?",
    re.IGNORECASE,
)
_PLACE = re.compile(
    rf"[,\s]+(?:(?:is|are|was|were) (?:given|provided|found|available|mentioned)\b.*|(?:(?:directly|explicitly) )?(?:mentioned |given |provided )?(?:in|from|within|by|based on) {SOURCE})\W*$",
    re.IGNORECASE,
)
_REST = re.compile(
    r"\s*(?:[;,]\s+(?:but|so|only|nor|and|however|such as|although|though|но|поэтому|а)\b.*|[.!…]+$)",
    re.IGNORECASE | re.DOTALL,
)
_TOPIC_WORD = re.compile(r"[^\W\d_]{3,}")
# "the answer", "this question": nothing that could be looked up.
_EMPTY_TOPIC = re.compile(
    r"^(?:(?:the|this|these|your|an?|that|user's|original|question|answer|information|details?|about|any|it|so|ответ\w*|вопрос\w*|информаци\w+|сведени\w+|об этом|этом|этого|этой|эту|этих|на|этот|данный)\W*)*$",
    re.IGNORECASE,
)

_UNKNOWN = re.compile(
    rf"^{_LEAD}(?:"
    r"there (?:is|are|was) (?:no|not|little)(?: (?:specific|further|enough|other|direct|clear|additional|any|explicit))* ?"
    r"(?:information|mention|details|reference|answer)\b"
    rf"|{SOURCE}\s+(?:is|are)\s+(?:not|un|in)\s?(?:clear|specific|sufficient|enough)\b"
    rf"|{SOURCE}\s+(?:only (?:mention|provide|discuss)\w*)\b"
    rf"|(?:it|this) (?:is|was) (?:not |un)(?:clear|known|possible)\b.*\b(?:from|in|based on) {SOURCE}"
    rf"|(?:it is |it's )?(?:unable|not possible|impossible|difficult|hard) to (?:answer|determine|say|tell|provide|give)\b(?!.*\bwithout (?!(?:more|further|additional)\b))"
    r"|(?:the|my) answer (?:to .{0,80} )?is (?:not )?[\"“«']?(?:unable|cannot|not (?:given|known|in))\b"
    r"|without (?:more|further|additional) (?:context|information|details)\b"
    r"|(?:more|further|additional) (?:information|context|details) (?:is|are|would be) (?:needed|required|necessary)\b"
    # "I cannot refund orders after 3 days." is a claim; "I cannot find it in passage 3." is not.
    r"|i (?:can(?:no|')t|cannot|do not|don't|could not|couldn't|am (?:not|unable)|was unable)\b(?!(?:(?!answer|find|determine|say|tell|know|provide|give|see|have|passage|document|information|context)[^.\d]){0,120}\d)"
    r"|i'm (?:not able|unable|not sure)\b"
    r")",
    re.IGNORECASE,
)
_UNKNOWN_RU = re.compile(
    r"^(?:(?:однако|к сожалению|но|также|поэтому|увы),?\s*)?(?:(?:я )?не (?:могу|смог\w*|наш[её]л|нашла|удалось|указано|упоминается|сказано)\b"
    rf"|я не знаю[.!]*$|(?:по )?{SOURCE_RU}\s+(?:\w+\s+){{0,2}}невозможно\b|точного ответа .{{0,30}}не (?:могу|дать)"
    r"|невозможно (?:ответить|определить|сказать)|(?:у меня )?недостаточно (?:информации|данных|сведений)\b"
    r"|(?:для|чтобы) .{0,40}(?:нужно|нужна|требуется) (?:больше|дополнительн\w+) (?:информации|информация|данных|сведений)"
    rf"|информаци\w+ (?:\w+\s+){{0,2}}(?:нет|отсутству\w+))",
    re.IGNORECASE,
)
# Only words for sources and references to them: "(See passage 2 for details.)"
_ONLY_POINTS = re.compile(
    r"\W*(?:(?:see|sources?|from|and|or|also|refs?|references?|refer|according|based|to|in|on|the|all|of|please|passages?|docs?|documents?|"
    r"chunks?|texts?|paragraphs?|contexts?|excerpts?|articles?|snippets?|lines?|page|pages|section|for|more|further|details?|"
    r"information|given|provided|above|\d+|см|смотри\w*|подробн\w+|источник\w*|отрыв\w+|документ\w*|фрагмент\w*|стать\w+|текст\w*|из|в|и|контекст\w*)\b\W*)+",
    re.IGNORECASE,
)
_PLAIN = r"(?:(?!\d|\b(?:as|that)\b|[:;\"“«])[^.]){0,160}"
_SPEAKS_OF = re.compile(
    rf"^{_LEAD}(?:"
    # "This is mentioned in passage 2."
    r"(?:this|that|it|all (?:of )?(?:this|these|that)|(?:all |most of )?(?:the|this|these) (?:above )?(?:information|answer|details|facts|steps|instructions)(?: above)?|these)\s+"
    rf"(?:is|are|was|were|can be|comes?|has been)\s+(?:\w+ly\s+)?(?:also )?(?:(?:found|mentioned|stated|described|discussed|explained|taken|based|supported|confirmed|given|"
    rf"provided|noted|listed|said|drawn|outlined|shown)\s+)?(?:solely |directly )?(?:in|from|on|by|at)\s+(?:(?:the|both|all) )?{SOURCE}\W*$"
    rf"|(?:the )?answers?(?: to (?:the|this|your) question)?(?: above)? (?:can be|is|are) (?:found|given|provided|mentioned|stated|based)\b.{{0,20}} {SOURCE}\W*$"
    r"|(?:to [^.]{3,120}?, )?(?:you can |please |simply )?(?:follow|use|see|refer to) (?:the|these|those) (?:\w+ ){0,2}(?:steps|instructions|procedure|method|guidelines)\b[^.]{0,60} "
    rf"{SOURCE}\W*$"
    rf"|(?:the )?(?:answer to (?:the|this) )?question\b[^.]{{0,200}} can be answered\b"
    # "Passage 2 is about tea.", "The passages contradict each other."
    rf"|{SOURCE}\s+(?:also\s+|mainly\s+|mostly\s+|only\s+|all\s+|both\s+)*(?:is about|are about|discuss(?:es)?|describes?|focus(?:es)? on|deals? with|talks? about|"
    rf"speaks? of|covers?|addresse?s?|concerns?|refers? to|repeats?|(?:is|are) (?:an? )?(?:excerpt|part|extract|summary|review|list)s?\b)(?!\s+(?:that|how (?!to)|why|when|where|what|as)\b){_PLAIN}(?:passage \d+ {_PLAIN})?\.?$"
    rf"|{SOURCE}\s+(?:also\s+|only\s+)?(?:provides?|gives?|contains?|offers?|includes?|has|have|presents?|lists?|outlines?|details?)\s+(?:\w+[- ]){{0,4}}"
    rf"(?:information|instructions?|details?|steps?|tips?|guidance|guidelines?|overview|definitions?|explanations?|examples?|descriptions?|summary|answers?|accounts?|advice|testimonials?|ways?|methods?|insights?)\b{_PLAIN}\.?$"
    rf"|(?:the |both |all |these |two |three )*{SOURCE}\s+(?:all\s+|also\s+|do not\s+|don't\s+)?(?:agree|disagree|contradict|differ|conflict|vary)\b(?! that\b){_PLAIN}\.?$"
    r")",
    re.IGNORECASE,
)
_SPEAKS_OF_RU = re.compile(
    rf"^(?:(?:также|однако),?\s*)?(?:"
    rf"(?:(?:вс[её] )?(?:это|об этом|эта информация|информация)|ответ(?: выше)?)\s+(?:\w+\s+)?(?:говорится|сказано|указано|упоминается|описано|упомянуто|взята?|основана?|найти)\s+(?:в|на|из)\s+{SOURCE_RU}\W*$"
    rf"|ответ (?:можно найти|содержится|дан|приведён|приведен|есть) в {SOURCE_RU}\W*$"
    rf"|(?:в\s+)?(?:оба\s+)?{SOURCE_RU}\s+(?:также\s+)?(?:посвящ\w+|рассказыва\w+|повеству\w+|описыва\w+|описан\w*|расход\w+|противореч\w+|соглас\w+|содерж\w+ (?:информаци|инструкци|сведени|описани)\w*|да[юе]т разн\w+|иде?т речь)"
    rf"(?!,? (?:что|как)\b){_PLAIN}\.?$"
    r")",
    re.IGNORECASE,
)


def names_source(text: str) -> bool:
    return _holds_one(text.lower(), _SOURCES)


def _holds_one(text: str, listed: Sequence[list[str]]) -> bool:
    english, russian = listed
    return any(map(text.__contains__, english)) or (
        not text.isascii() and any(map(text.__contains__, russian))
    )


# Cached, because it is called several times for each sentence.
@lru_cache(maxsize=256)
def absence_of(sentence: str) -> str | None:
    """Return the topic that, according to a sentence, the sources leave out; None if unclear."""
    if not _may_speak(sentence):
        return None
    head = sentence.replace("’", "'")
    for opening, frame in ((_LEAVES_OUT, _FRAME), (_LEAVES_OUT_RU, _FRAME_RU)):
        found = opening.match(head)
        if found is None:
            continue
        if not (names_source(found[0]) or _PLACE.search(head)):
            # "There is no mention of it in medieval law" is not about the sources.
            return None
        rest = _PLACE.sub("", _REST.sub("", head[found.end() :]))
        topic = frame.sub("", rest, count=1).strip(" ,.;:!")
        is_empty = not _TOPIC_WORD.search(topic) or _EMPTY_TOPIC.match(topic)
        return None if is_empty else topic
    left_out = _LEFT_OUT.match(head)
    return None if left_out is None else left_out[left_out.lastgroup or 0]


def speaks_of_sources(sentence: str) -> bool:
    """True if a sentence is only about the sources, or about what cannot be answered."""
    if not _may_speak(sentence):
        return False
    head = sentence.replace("’", "'")
    patterns = (_UNKNOWN, _UNKNOWN_RU, _SPEAKS_OF, _SPEAKS_OF_RU, _LEAVES_OUT, _LEAVES_OUT_RU)
    if any(pattern.match(head) for pattern in patterns):
        return True
    return names_source(head) and _ONLY_POINTS.fullmatch(head) is not None


@lru_cache(maxsize=256)
def _may_speak(sentence: str) -> bool:
    text = sentence.lower()
    return _holds_one(text, _SOURCES) or _holds_one(text, _UNANSWERED)


# Parts of a sentence that do not belong to its claim.
#
# Emphasis, citation marks, leads such as "Based on the context," and remarks such as ", as stated in
# passage 2," are removed.

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
    # The claim in "Sorry, we are closed on Monday." is the part after the comma.
    r"|(?:(?:i'm |i am |we are )?(?:very |so )?sorry|my apologies|hello|hi|hey|(?:great|good) question|thanks(?: for asking)?|thank you|"
    r"извините|простите|прошу прощения|здравствуйте|привет|отличный вопрос|хороший вопрос)\s{0,2}[,:!—–-]\s{1,4}(?:but\s|но\s)?(?=(?:\S+\s+){2}\S)"
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
# White space is bounded, because the search would retry an unbounded run from every position.
_CITATION = re.compile(
    r"\s{0,4}(?:\[\^\d+\]|\([^()\d]{1,40} et al\.?,? \d{4}[a-z]?\)|\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]|\((?:see |source:\s*|according to |from |см\.? )?(?:passage|source|doc(?:ument)?|chunk|ref(?:erence)?|отрыв(?:ок|ки)|документ|источник|фрагмент)s?\s*"
    r"\d+(?:(?:,| and|, and|;| и)\s*(?:passage\s*|отрывок\s*)?\d+)*(?::\d+)?\)|【[^】]{0,40}】"
    # "(Source: guide.pdf)", "(see [guide](address))", "<sup>1</sup>"
    r"|\((?:sources?|источники?): [^()\n]{1,80}\)|\[(?:sources?|источники?):? [^\[\]\n]{1,80}\](?!\()"
    r"|\((?:see|cf\.|см\.) \[[^\[\]\n]{1,80}\]\([^()\s]{1,200}\)\)|<sup>\[?\d{1,3}\]?</sup>)",
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
# "The context does not mention it; however, it stands in Paris." → "It stands in Paris."
_BUT = re.compile(
    r"^(?:although|though|even though|while|whereas|хотя)\s[^,]*,\s+"
    r"|(?P<sign>[;,])?\s+(?:however|but(?! rather\b)|though|although|yet|nevertheless|однако|но|хотя),?\s+",
    re.IGNORECASE,
)
# "Passage 3 gives a recipe, but does not say who wrote it" is only about the passage.
_LACKS_SUBJECT = re.compile(
    r"(?:do|does|did|rather|instead|only|simply|merely|is|are|has|have|provides?|gives?|mentions?|says?|states?|suggests?|describes?|focus(?:es)?|не|лишь|только)\b",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\*\*|__|`")
# Every citation or emphasis contains one of these characters.
_SIGNS = "[(【*_`<"
_MOST_LEADS = 3
LONGEST_MATCHED = 600
"""Number of characters that patterns search, which bounds their running time."""


def strip_lead(sentence: str) -> str:
    """Remove the parts of a sentence that do not belong to its claim, unless nothing would remain.

    "The text does not say when it opened, but it stands in Paris." → "It stands in Paris."
    """
    # Cached, because claims are stripped when they are prepared and again when they are decided.
    return _kept(sentence) if len(sentence) <= LONGEST_MATCHED else _stripped(sentence)


def _stripped(sentence: str) -> str:
    text = sentence
    if any(map(text.__contains__, _SIGNS)):
        text = _CITATION.sub("", _EMPHASIS.sub("", text))
    text = _without_leads(text.strip())
    if not _may_speak(text[:LONGEST_MATCHED]):
        return text or sentence
    if is_about_sources(text):
        return _behind_turn(text) or text
    return _without_remarks(text) if names_source(text) else text


_kept = lru_cache(maxsize=256)(_stripped)


def is_about_sources(text: str) -> bool:
    head = text[:LONGEST_MATCHED]
    return absence_of(head) is not None or speaks_of_sources(head)


def _behind_turn(text: str) -> str:
    """Return the claim that follows a clause about the sources, or an empty string."""
    for turn in _BUT.finditer(text[:LONGEST_MATCHED]):
        rest = _without_leads(text[turn.end() :])
        is_own = (turn["sign"] and len(rest.split()) > 3) or reads_as_sentence(rest)
        if is_own and not _LACKS_SUBJECT.match(rest) and not is_about_sources(rest):
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
    cut = _REMARK.sub("", head)
    if cut == text[:LONGEST_MATCHED] or not _HAS_WORD.search(cut):
        return text
    return _capitalised(cut) + tail


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


_HAS_WORD = re.compile(r"[^\W\d_]{2,}")
