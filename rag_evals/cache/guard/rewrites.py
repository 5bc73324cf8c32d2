"""Which changes of order keep the meaning? A date to the end, passive, "X is the Y", two names.

Each is one pattern of a whole plain sentence, whose words allow no other meaning. A date moves only
where it can belong to no word but the verb: "In 2019, analysts forecast a
recession" is not "Analysts forecast a recession in 2019".
"""

import re
from collections.abc import Iterator

from rag_evals.cache.guard.lexicon import DATE, MEASURED, NAME_WORD

_NAME = rf"{NAME_WORD}(?: {NAME_WORD}| (?:da|de|del|di|von|van) {NAME_WORD}| [0-9]{{1,2}}(?!\S))*"
# One or two plain words after "the"; none may be an adverb, an auxiliary, or what limits a claim.
_NOT_IN_NOUNS = (
    r"(?!(?:\S+ )?(?:\S+ly|\S+ing|only|also|even|just|still|already|almost|never|not|no|soon|again|"
    r"had|has|have|will|would|may|might|can|could|shall|should|must|did|does|do|first|last|same|"
    r"other|most|least|alleged|former|future|said|so|once|twice|often|that|which|who)(?!\S))"
)
_THING = rf"the {_NOT_IN_NOUNS}[a-z]+(?: [a-z]+)?"
_SUBJECT = rf"(?:{_THING}|the {_NAME}|(?!(?:It|This|That|What|Who|Which)\b){_NAME})"
_PERSON = rf"(?:he|she|they|{_NAME})"
_DONE = (
    "built|founded|completed|opened|established|published|signed|launched|released|destroyed|demolished|"
    "closed|abolished|dissolved|finished|established|invented|rebuilt|renovated|constructed|formed|approved|adopted"
)
_TO_PEOPLE = "born|killed|buried|elected|arrested|crowned|executed|assassinated"
_HAPPENED = "opened|closed|ended|began|collapsed|sank|occurred|landed"
_VERB = (
    rf"(?:{_SUBJECT} (?:(?:was|were) (?:{_DONE})|{_HAPPENED})"
    rf"|(?:{_SUBJECT}|{MEASURED}) (?:rose|fell) by [0-9.]+ %"
    rf"|{_PERSON} (?:(?:was|were) (?:{_TO_PEOPLE})|died))"
)
_PLACE = rf"(?: (?:in|at|on) (?:the )?{_NAME})?"
_WHEN = rf"(?:in|on) {DATE}"
# "in 2019 the tower was built" → "the tower was built in 2019".
_FRONTED = re.compile(rf"({_WHEN}) ({_VERB}{_PLACE})")
# "he was born in 1879 in Ulm" → "he was born in Ulm in 1879".
_INSIDE = re.compile(rf"({_VERB}) ({_WHEN})({_PLACE})")

_RU_WORD = r"[А-ЯЁ][а-яё-]+"
_RU_NAME = rf"{_RU_WORD}(?: {_RU_WORD})*"
_RU_DONE = "основан|построен|открыт|закрыт|разрушен|опубликован|завершен|убит|похоронен|избран"
_RU_VERB = (
    rf"(?:(?:он|она|они|{_RU_NAME}) (?:родил(?:ся|ась|ись)|умер(?:ла|ли)?|погиб(?:ла|ли)?|"
    rf"был[аои]? (?:{_RU_DONE})[аоы]?)"
    rf"|(?:{MEASURED}) (?:вырос|снизил)(?:ла|ло|ли|ся|ась|ось|ись)? на [0-9.]+ %)"
)
_RU_PLACE = rf"(?: в {_RU_NAME})?"
_RU_WHEN = rf"в {DATE} году"
# "в 1879 году он родился" → "он родился в 1879 году".
_RU_FRONTED = re.compile(rf"({_RU_WHEN}) ({_RU_VERB}{_RU_PLACE})")
_RU_INSIDE = re.compile(rf"({_RU_VERB}) ({_RU_WHEN})({_RU_PLACE})")

# Verbs whose "by" is hardly a place, and what may have been done so besides a name: "Hannibal was
# defeated by Zama", "the house was built by Loch Ness" are left alone.
_ACTIVE = {
    "written": ("wrote", "book|novel|play|poem|report|article|letter|opera|song|story"),
    "composed": ("composed", "song|opera|symphony|anthem|music"),
    "painted": ("painted", "portrait|picture|painting|fresco|ceiling"),
    "invented": ("invented", "[a-z]+"),
    "designed": ("designed", "[a-z]+"),
    "directed": ("directed", "film|movie|play|series"),
    "sung": ("sang", "song|anthem|hymn"),
    "founded": ("founded", "company|club|party|newspaper|firm|band|bank|school|university"),
    "won": ("won", "match|game|cup|race|tournament|election|title|award"),
}
_NAMES_DONE = frozenset("written composed painted invented designed directed".split())
# "by" these is where or when: "was written by Lake Como", "by Friday".
_NO_AGENT = re.compile(
    r"\b(?:Lake|Loch|River|Sea|Ocean|Bay|Gulf|Mount|Street|Road|Avenue|Station|Airport|Park|Bridge|"
    r"Beach|Harbour|Harbor|Canal|Church|Cathedral|Tower|Monday|Tuesday|Wednesday|Thursday|Friday|"
    r"Saturday|Sunday|January|February|March|April|May|June|July|August|September|October|"
    r"November|December|Christmas|Easter|Day|Night|Hand|Chance|Accident|Law|Heart)\b"
)
# "the song was written by Lennon" → "Lennon wrote the song".
_PASSIVE = re.compile(
    rf"(?P<patient>(?!(?:It|He|She|They|This|That)\b){_NAME}|the (?:{_NAME}|[a-z]+)) (?:was|were) "
    rf"(?P<verb>{'|'.join(_ACTIVE)})(?P<early> {_WHEN})? by (?P<agent>{_NAME})(?P<late> {_WHEN})?"
)
_CREATED = re.compile(
    rf"(?P<when>{_WHEN}) (?P<what>{_NAME} (?:wrote|invented|founded|composed|designed|built) "
    r"the [a-z]+)"
)
# "the club is owned by Gazprom" → "Gazprom owns the club".
_OWNED = re.compile(rf"(?P<patient>the [a-z]+) is owned by (?P<agent>{_NAME})")

_THE_ONE = (
    rf"(?:the (?:[a-z-]+ ){{0,2}}[a-z-]+(?: (?:of|in) (?:(?:the )?{_NAME}|the [a-z]+)"
    rf"| for [a-z]+)?|{_NAME} 's (?:[a-z]+ )?[a-z]+)"
)
# "Paris is the capital of France" → "the capital of France is Paris".
_IS_THE = re.compile(rf"({_NAME}) (is|was) ({_THE_ONE})")

_KINDS = "cities|countries|towns|rivers|states|planets|lakes|brothers|sisters|scientists|villages"
# "Rome and Milan are cities" → "Milan and Rome are cities". One word each: in "New York and
# Jersey" the first word may belong to both.
_TWO_NAMES = re.compile(
    rf"(?P<first>{NAME_WORD}) (?P<and>and) (?P<second>{NAME_WORD}) "
    rf"(?P<rest>(?:were born|died) (?:in|on) (?:{DATE}|{_NAME})"
    rf"|(?:are|were) (?:[a-z]+ )?(?:{_KINDS}))"
    rf"|(?P<ru_first>{_RU_WORD}) (?P<ru_and>и) (?P<ru_second>{_RU_WORD}) "
    rf"(?P<ru_rest>(?:родились|умерли)(?: в (?:{DATE} году|{_RU_NAME})))"
)
# "the distance between Rome and Milan" → "the distance between Milan and Rome".
_BETWEEN = re.compile(
    rf"(?P<start>[^,;]*\b(?:distance|border|runs|lies|road) between) (?P<first>{NAME_WORD}) and "
    rf"(?P<second>{NAME_WORD})(?P<rest>(?: is [0-9.]+ \S+)?)"
)
_RU_BETWEEN = re.compile(
    rf"(?P<start>[Дд]орога (?:идет|проходит) между) (?P<first>{_RU_WORD}) и (?P<second>{_RU_WORD})"
)


def variants(text: str) -> set[str]:
    """Return the forms of a statement that say the same; its own is one of them."""
    found = {text}
    for rewrite in (_date_last, _active, _swapped, _names_swapped):
        # Each goes on with what the earlier ones made: a passive may have its date in front.
        found |= {form for known in found for form in rewrite(known)}
    return found


def _date_last(text: str) -> Iterator[str]:
    """Move the one date to the end, from the front or from before a place."""
    for pattern in (_FRONTED, _RU_FRONTED, _CREATED):
        fronted = pattern.fullmatch(text)
        if fronted:
            yield f"{fronted[2]} {fronted[1]}"
    for pattern in (_INSIDE, _RU_INSIDE):
        inside = pattern.fullmatch(text)
        if inside and inside[3]:
            yield f"{inside[1]}{inside[3]} {inside[2]}"


def _active(text: str) -> Iterator[str]:
    """Turn "B was written by A" into "A wrote B"."""
    passive = _PASSIVE.fullmatch(text)
    if passive and not _NO_AGENT.search(passive["agent"]):
        active, things = _ACTIVE[passive["verb"]]
        patient, (early, late) = passive["patient"], passive.group("early", "late")
        is_name = passive["verb"] in _NAMES_DONE and not re.search(r" [a-z]+$", patient)
        fits = is_name or re.fullmatch(f"the (?:{things})", patient)
        if fits and not (early and late):
            yield f"{passive['agent']} {active} {patient}{early or late or ''}"
    owned = _OWNED.fullmatch(text)
    if owned and not _NO_AGENT.search(owned["agent"]):
        yield f"{owned['agent']} owns {owned['patient']}"


def _swapped(text: str) -> Iterator[str]:
    """Turn "Paris is the capital" into "the capital is Paris": one name, one thing that it is."""
    found = _IS_THE.fullmatch(text)
    if found:
        yield f"{found[3]} {found[2]} {found[1]}"


def _names_swapped(text: str) -> Iterator[str]:
    """Exchange two names that "and" joins, where no title and no order can be meant."""
    found = _TWO_NAMES.fullmatch(text)
    if found and found["first"]:
        yield f"{found['second']} and {found['first']} {found['rest']}"
    elif found:
        yield f"{found['ru_second']} и {found['ru_first']} {found['ru_rest']}"
    between = _BETWEEN.fullmatch(text)
    if between:
        start, rest = between["start"], between["rest"]
        yield f"{start} {between['second']} and {between['first']}{rest}"
    between = _RU_BETWEEN.fullmatch(text)
    if between:
        yield f"{between['start']} {between['second']} и {between['first']}"
