# Patterns read better unbroken.
# ruff: noqa: E501
"""What does a claim say that cannot stand alone? Its question and what stands before it tell.

Short answers fill the gap of a plain question; a pronoun at the head is replaced by the subject of
the sentence before, or of the question. What cannot be told so is left as it is, and named.
"""

import re
from typing import NamedTuple

from rag_evals.core import Claim
from rag_evals.embedded.compare import opposed_forms
from rag_evals.text import (
    DENIES,
    READ_WELL,
    Leaning,
    has_russian,
    language_of,
    normalise_numbers,
    split_sentences,
    words,
)

# What does a short answer say, once it is read with its question? In English and Russian.
#
# A question is taken apart into what is asked for and a statement with a gap; the answer fills it:
# "When was the Louvre Pyramid completed?" with "In 1889." gives "The Louvre Pyramid was completed in
# 1889." Only plain questions of one clause are read; for all others there is no statement.

_BE = "is|are|was|were"
_DO = "do|does|did"
_MODAL = "has|have|had|can|could|will|would|should|must|may|might"
_AUX = re.compile(rf"(?:{_BE}|{_DO}|{_MODAL})(?:n't)?", re.IGNORECASE)
_IS_DO = re.compile(rf"(?:{_DO})(?:n't)?", re.IGNORECASE)
_IS_BE = re.compile(rf"(?:{_BE})(?:n't)?", re.IGNORECASE)
# "Can you tell me when the tower was built?" → "when the tower was built"
_INDIRECT = re.compile(
    r"(?:(?:please )?(?:can|could|would) you (?:please )?(?:tell me|say|explain)|(?:please )?tell me|do you know|i (?:want|would like|'d like) to know)"
    r",? (?P<clause>(?:who|what|which|when|where|how|if|whether)\b.+)",
    re.IGNORECASE,
)
_WH = re.compile(
    r"(?:(?P<before>in|at|on|by|from|for|to|with|of|since) )?(?P<wh>who|whom|what|which|when|where|why|how)(?:'s)?\b\s*(?P<rest>.*)",
    re.IGNORECASE,
)
# The words of "how many storeys" that the answer repeats at most by its number.
_AMOUNT = re.compile(r"(?:many|much)\s+(?P<noun>.*)", re.IGNORECASE)
_KIND_ONLY = frozenset(
    "year day date month time country city town place person people man woman company kind type color colour "
    "language number name part way one".split()
)
_WORD = re.compile(r"\S+")
_PARTICIPLES = frozenset(
    "built made written known born found held won sold given taken called located named based used set put "
    "kept left led lost paid read run said seen sent shown spent told worn bought brought caught chosen cut "
    "drawn drunk driven eaten fallen felt forbidden grown hidden hit hurt laid open closed free safe".split()
)
_PREPOSITIONS = frozenset(
    "in at on by from for to with since during after before under over into near about as against than until between behind outside inside through".split()
)
_DETERMINERS = frozenset(
    "the a an his her its their this that these those my your our any some all each every no".split()
)
_PRONOUNS = frozenset("it he she they there this that these those you we i".split())
_CONNECT_NAMES = frozenset("of and the de la von van".split())
_SECOND_PERSON = re.compile(r"\b(?:you|your|i|my|me|we|our)\b", re.IGNORECASE)
_TWO_QUESTIONS = re.compile(
    r"\?.+\w|\b(?:and|or),? (?:when|where|(?:by |for |to |with )?whom?|whose|what|why|how|which)\b|\bor\b",
    re.IGNORECASE,
)
# "Bees make ____ from nectar."
_BLANK = re.compile(r"_{2,}|\[blank\]", re.IGNORECASE)
_SHORT_IS = re.compile(r"^(who|what|when|where|how)'s\b", re.IGNORECASE)

_RU_TWO = re.compile(
    r"\?.+\w|,? (?:и|или) (?:когда|где|кто|что|почему|как|сколько)\b|\bили\b", re.IGNORECASE
)
# "В каком году", "Какой город", "Сколько", "Как называется"
_RU_WH = re.compile(
    r"(?:(?:в|во|на|с|со|из|от|до|для|к|ко|по|у|о|об|за|под|при)\s+)?"
    r"(?:как(?:ой|ая|ое|ие|ого|ому|им|ом|ую|их|ими)\s+(?P<kind>\w+)|кто|что|кого|чего|кому|чему|кем|чем|"
    r"каков|какова|каково|каковы|когда|где|куда|откуда|почему|зачем|сколько|как|чей|чья|чьё|чьи|насколько)\b\s*(?P<rest>.*)",
    re.IGNORECASE,
)
_RU_WHETHER = re.compile(r"(?P<first>\S+)\s+ли\s+(?P<rest>.+)", re.IGNORECASE)
_RU_TRUTH = re.compile(
    r"(?:это правда|правда ли|верно ли|правда),?\s+что\s+(?P<clause>.+)", re.IGNORECASE
)
_RU_VERB = re.compile(
    r"\w+(?:л|ла|ло|ли|лся|лась|лось|лись|ет|ёт|ит|ют|ут|ят|ат|ется|ится|ются|ятся|ан|ана|ано|аны|ен|ена|ено|ены|ён)|есть|может|могут",
    re.IGNORECASE,
)


# Beside the words that deny: "Does it avoid plastic?", "Отказалась ли она?"
_TURNS_ROUND = re.compile(
    r"\b(?:avoid|prevent|forbid|reject|избе[гж]|предотвра|запре[тщ]|отказ)\w*", re.IGNORECASE
)
_RU_OPPOSITES = {"есть": "нет", "можно": "нельзя", "нужно": "не нужно"}


class Asked(NamedTuple):
    """A question, taken apart.

    Attributes:
        subject: What it asks about, such as "the Louvre Pyramid"; empty where that is the answer.
        before: The words of the statement in front of the gap.
        after: Those behind it.
        denied: The whole statement, denied; empty for a question that is not about yes or no.
        is_russian: Which language it is in.
        turned: The whole statement with the opposite of its predicate, "closed" for "open".
        is_unsure: Nobody can tell where its subject ends, as in "the Basic plan free".
        denies: It asks whether something is not so: yes and no may then mean the same.
    """

    subject: str
    before: str
    after: str = ""
    denied: str = ""
    is_russian: bool = False
    turned: tuple[str, ...] = ()
    is_unsure: bool = False
    denies: bool = False

    @property
    def asks_yes_or_no(self) -> bool:
        """Whether it is answered by yes or no."""
        return bool(self.denied)


def read_question(question: str) -> Asked | None:
    """Take a question apart.

    Args:
        question: Any text.

    Returns:
        None for a question that is not plain, or is none.
    """
    text = " ".join(question.replace("’", "'").split())[:300]
    asked = _read(text)
    if asked is None or not asked.asks_yes_or_no:
        return asked
    denies = any(word.marks & DENIES for word in words(text))
    return asked._replace(denies=denies or _TURNS_ROUND.search(text) is not None)


def _read(text: str) -> Asked | None:
    if has_russian(text):
        return None if _RU_TWO.search(text) else _read_russian(text.rstrip("?!. "))
    plain = text.rstrip("?!. ")
    gap = _BLANK.search(plain)
    if gap is not None:
        return Asked("", plain[: gap.start()].strip(), plain[gap.end() :].strip())
    indirect = _INDIRECT.fullmatch(plain)
    if _TWO_QUESTIONS.search(text.rstrip("? ")):
        return None
    if indirect is not None:
        return _read_indirect(indirect["clause"])
    if _SECOND_PERSON.search(plain):
        return None
    plain = _SHORT_IS.sub(r"\1 is", plain)
    first, _, rest = plain.partition(" ")
    if _AUX.fullmatch(first) and rest:
        return _read_whether(first, rest)
    wh = _WH.fullmatch(plain)
    return None if wh is None else _read_wh(wh)


def _read_whether(auxiliary: str, rest: str) -> Asked | None:
    subject, predicate = _split_subject(rest, auxiliary)
    if not predicate:
        return None
    low = auxiliary.lower().replace("n't", "")
    said = f"{subject} {predicate}" if _IS_DO.fullmatch(low) else f"{subject} {low} {predicate}"
    is_be = _IS_BE.fullmatch(low) is not None
    turned: tuple[str, ...] = ()
    if is_be:
        first, _, follows = predicate.partition(" ")
        turned = tuple([f"{subject} {low} {form} {follows}" for form in opposed_forms(first)])
    return Asked(
        subject,
        said,
        denied=f"{subject} {low} not {predicate}",
        turned=turned,
        is_unsure=_is_unsure(subject.split(), predicate.split(), is_be=is_be),
    )


def _is_unsure(subject: list[str], predicate: list[str], *, is_be: bool) -> bool:
    """Say whether a noun behind a name may belong to it: "the Basic plan free"."""
    if not subject[-1][:1].isupper():
        return False
    run = 0
    while run < len(predicate) and not _ends_run(predicate[run]):
        run += 1
    if run > 1 or (run == 1 and len(predicate) > 1 and _is_past(predicate[1])):
        return True
    has_article = subject[0].lower() in _DETERMINERS
    return is_be and has_article and run == 1 and len(predicate) > 1


def _ends_run(token: str) -> bool:
    low = token.lower()
    return (
        token != low or low in _PREPOSITIONS or low in _DETERMINERS or low == "of" or _is_past(low)
    )


def _read_indirect(clause: str) -> Asked | None:
    word, _, rest = clause.partition(" ")
    if not rest or _SECOND_PERSON.search(rest):
        return None
    subject = leading_subject(rest)
    if word.lower() in ("if", "whether"):
        return Asked(subject, rest, denied=f"it is not so that {rest}") if subject else None
    # "who designed the tower" asks for the subject itself.
    return Asked(subject, rest) if subject else Asked("", "", rest)


def _read_wh(wh: re.Match[str]) -> Asked | None:
    tokens = _WORD.findall(wh["rest"])
    word = wh["wh"].lower()
    if tokens and tokens[0].lower() == "to":
        # "how to bake a cake"
        return None
    place = next((n for n, token in enumerate(tokens[:7]) if _AUX.fullmatch(token)), None)
    if place is None:
        # "Who designed the tower?", "Which company bought it?"
        verb: int | None = next((n for n, t in enumerate(tokens[:5]) if _is_past(t)), None)
        if verb is None and word in ("who", "what") and tokens:
            verb = 0
        if verb is None or word not in ("who", "what", "which", "how") or len(tokens) < 2:
            return None
        return Asked("", "", " ".join([*_unit(word, tokens[:verb]), *tokens[verb:]]))
    asked_for = _unit(word, tokens[:place])
    auxiliary, rest = tokens[place], " ".join(tokens[place + 1 :])
    if not rest:
        return None
    if not _starts_subject(tokens[place + 1]) and not _IS_DO.fullmatch(auxiliary):
        # "What was built in 1889?": the answer is the subject.
        return Asked("", "", " ".join([*asked_for, auxiliary, rest]))
    subject, predicate = _split_subject(rest, auxiliary)
    said = "" if _IS_DO.fullmatch(auxiliary) else auxiliary
    is_named = word in ("who", "what", "which") and _IS_BE.fullmatch(auxiliary) is not None
    if is_named and predicate.partition(" ")[0].lower() in _PREPOSITIONS:
        # "What is the difference between the two?"
        subject, predicate = rest, ""
    if is_named and not predicate:
        return Asked(subject, f"{subject} {said}", " ".join(asked_for))
    before = " ".join(filter(None, (subject, said, predicate)))
    return Asked(subject, before, " ".join(asked_for))


def _unit(word: str, tokens: list[str]) -> list[str]:
    """Return the words between question word and verb that belong to the statement."""
    said = " ".join(tokens)
    if word == "how":
        amount = _AMOUNT.fullmatch(said)
        if amount is not None:
            return amount["noun"].split()
        return (
            tokens if tokens and tokens[0].lower() not in ("often", "far", "long", "much") else []
        )
    return [] if not tokens or tokens[-1].lower() in _KIND_ONLY else tokens


def _starts_subject(token: str) -> bool:
    low = token.lower()
    return low in _DETERMINERS or low in _PRONOUNS or token[:1].isupper() or low.endswith("s")


def _is_past(token: str) -> bool:
    low = token.lower()
    return low.endswith("ed") or low in _PARTICIPLES


def _split_subject(rest: str, auxiliary: str) -> tuple[str, str]:
    """Part "the Louvre Pyramid completed in 1989" behind the subject; the rest may be empty."""
    tokens = _WORD.findall(rest)
    low = [token.lower() for token in tokens]
    if low[0] in _PRONOUNS and low[0] not in ("this", "that", "these", "those"):
        return tokens[0], " ".join(tokens[1:])
    begin = 1 if low[0] in _DETERMINERS else 0
    end = _end_of_subject(tokens, low, begin, is_do=_IS_DO.fullmatch(auxiliary) is not None)
    return " ".join(tokens[:end]), " ".join(tokens[end:])


def _end_of_subject(tokens: list[str], low: list[str], begin: int, *, is_do: bool) -> int:
    place = begin
    while place < len(tokens) and (
        tokens[place][:1].isupper() or tokens[place][:1].isdigit() or low[place] in _CONNECT_NAMES
    ):
        place += 1
    if place > begin and low[place - 1] not in _CONNECT_NAMES:
        return place
    if begin == 0 and len(tokens) > 2 and not (low[1] in _PREPOSITIONS or low[1] == "of"):
        # "dogs eat chocolate"
        return 1
    # A common noun: up to a participle, a preposition, another noun phrase, or the last word.
    for n in range(begin + 1, len(tokens)):
        if low[n] in _DETERMINERS and low[n - 1] not in _CONNECT_NAMES:
            return max(begin + 1, n - 1) if is_do else n
        if low[n] in _PREPOSITIONS:
            return max(begin + 1, n - 1) if is_do else n
        if _is_past(low[n]) or low[n] == "not":
            return n
    return max(begin + 1, len(tokens) - 1) if not _is_phrase(low) else len(tokens)


def _is_phrase(low: list[str]) -> bool:
    """Say whether "the capital of France" is one phrase without a predicate."""
    return "of" in low or len(low) <= 2


_FINITE = re.compile(
    rf"(?:{_BE}|{_MODAL}|isn't|aren't|wasn't|weren't|hasn't|haven't|became|becomes|began|begins|won|lost|went|came|comes|"
    r"made|makes|took|takes|gave|gives|found|held|holds|said|says|saw|stands|stood|wrote|ran|runs|rose|"
    r"fell|grew|built|sold|sells|bought|paid|lies|means|cost|costs|contains|includes|remains|lives|works|"
    r"belongs|needs|uses|shows|provides|allows|offers|covers|measures|weighs|\w+ed)",
    re.IGNORECASE,
)
_LONGEST_SUBJECT = 8


def leading_subject(sentence: str) -> str:
    """Return the words in front of the first finite verb, where they are a plain subject.

    Args:
        sentence: A statement.

    Returns:
        Such as "The Eiffel Tower" of "The Eiffel Tower stands in Paris."; empty where the sentence
        begins otherwise, or with a pronoun.
    """
    tokens = _WORD.findall(sentence)[: _LONGEST_SUBJECT + 1]
    if not tokens:
        return ""
    if has_russian(tokens[0]):
        verb = next(
            (n for n, t in enumerate(tokens) if n and _RU_VERB.fullmatch(t.strip(".,;:—"))), None
        )
    else:
        verb = next((n for n, t in enumerate(tokens) if n and _FINITE.fullmatch(t)), None)
    if verb is None or any(token[-1] in ",;:()" for token in tokens[:verb]):
        return ""
    low = tokens[0].lower()
    if low in _PREPOSITIONS or (low in _PRONOUNS and verb == 1):
        return ""
    return " ".join(tokens[:verb])


def _read_russian(text: str) -> Asked | None:
    truth = _RU_TRUTH.fullmatch(text)
    if truth is not None:
        clause = truth["clause"]
        return Asked(
            leading_subject(clause), clause, denied=_denied_russian(clause), is_russian=True
        )
    whether = _RU_WHETHER.fullmatch(text)
    if whether is not None:
        first, rest = whether["first"], whether["rest"]
        no = _RU_OPPOSITES.get(first.lower(), f"не {first.lower()}")
        turned = tuple([f"{form} {rest}" for form in opposed_forms(first)])
        return Asked("", f"{first} {rest}", denied=f"{no} {rest}", is_russian=True, turned=turned)
    wh = _RU_WH.fullmatch(text)
    if wh is None:
        denied = _denied_russian(text)
        return (
            Asked(leading_subject(text), text, denied=denied, is_russian=True) if denied else None
        )
    rest = wh["rest"].lstrip("—– -")
    return Asked(_russian_subject(rest), rest, is_russian=True) if rest else None


def _russian_subject(rest: str) -> str:
    """Return "пирамида Лувра" of "была построена пирамида Лувра"; empty where it is not plain."""
    tokens = rest.split()
    kept = [token for token in tokens if not _RU_VERB.fullmatch(token) and token.lower() != "был"]
    return " ".join(kept) if 0 < len(kept) <= 4 and len(kept) < len(tokens) else ""


def _denied_russian(clause: str) -> str:
    """Put "не" in front of the verb, else of the last word."""
    tokens = clause.split()
    if len(tokens) < 2:
        return ""
    verb = next((n for n, t in enumerate(tokens) if n and _RU_VERB.fullmatch(t)), len(tokens) - 1)
    return " ".join([*tokens[:verb], "не", *tokens[verb:]])


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
