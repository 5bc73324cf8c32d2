# Patterns read better unbroken.
# ruff: noqa: E501
"""What does a short answer say, once it is read with its question? In English and Russian.

A question is taken apart into what is asked for and a statement with a gap; the answer fills it:
"When was the Louvre Pyramid completed?" with "In 1889." gives "The Louvre Pyramid was completed in
1889." Only plain questions of one clause are read; for all others there is no statement.
"""

import re
from typing import NamedTuple

from rag_evals.embedded.opposites import opposed_forms
from rag_evals.text import DENIES, has_russian, words

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
