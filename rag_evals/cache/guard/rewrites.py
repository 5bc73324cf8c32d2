"""Which changes of order keep what is said? A date to the end, passive, "X is the Y", two names.

Each is tried only on statements of one plain clause; what it turns a statement into is one more
form of it. Whatever does not fit a pattern exactly is left alone.
"""

import re
from collections.abc import Iterator, Sequence

from rag_evals.cache.guard.normal import COMMA_MARK, Token

_ON_A_DATE = frozenset("in on since until by during before after в с до после к".split())
_IN_A_PLACE = frozenset("in at near в".split())
# Words that make a second clause, or a scope in which order counts.
_SCOPE = frozenset(
    (
        "and or but nor who which that whose whom when while where because if unless although than "
        "then so not no never none neither only all every each any some most many few several both "
        "half at_least at_most said says stated announced claimed planned plans expected predicted "
        "promised reported told believed thought hoped wanted decided agreed refused tried "
        "respectively also even just still already except without "
        "и или но а что чтобы который которая которое которые когда где если потому хотя чем не ни "
        "нет никогда только все всех каждый любой некоторые многие большинство сказал сказала "
        "заявил заявила сообщил сообщила обещал обещала планировал планировала решил решила "
        "соответственно также даже уже еще кроме без "
    ).split()
) | {COMMA_MARK}
_NOUNS_IN_ING = frozenset(
    "building king spring morning evening meeting painting during beijing reading wedding string "
    "ring wing sterling".split()
)
_ARTICLES = frozenset(("the", "a", "an"))
_COUNTED_WITH_THE = frozenset(
    "most least more less few fewest many other others same one number numbers best worst".split()
)
_BEING = frozenset(("is", "are", "was", "were"))
_PAST = frozenset(("was", "were"))
_PREPOSITIONS = frozenset(
    "in on at by with from to for into onto over under between during after before since until "
    "against through about near as".split()
)
_BEFORE_NAMES = frozenset("between in to with by for at между в с из для".split())
_AND = frozenset(("and", "и"))
_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)")
_INFINITIVE = re.compile(r"\w{2,}(?:ть|ти|чь|ться|тись)")

_IRREGULAR = dict(
    pair.split("/")
    for pair in (
        "written/wrote built/built won/won beaten/beat made/made sold/sold led/led taken/took "
        "given/gave driven/drove drawn/drew shot/shot sung/sang begun/began broken/broke "
        "chosen/chose held/held bought/bought found/found lost/lost taught/taught sent/sent "
        "spoken/spoke stolen/stole thrown/threw worn/wore hit/hit cut/cut set/set put/put "
        "run/ran known/knew seen/saw shown/showed paid/paid told/told left/left met/met "
        "struck/struck overthrown/overthrew caught/caught brought/brought fought/fought"
    ).split()
)
_PRESENT = dict(
    pair.split("/")
    for pair in (
        "owned/owns used/uses led/leads run/runs made/makes built/builds written/writes "
        "governed/governs controlled/controls produced/produces operated/operates managed/manages "
        "published/publishes sold/sells surrounded/surrounds caused/causes held/holds "
        "supported/supports funded/funds manufactured/manufactures played/plays headed/heads"
    ).split()
)


def variants(tokens: list[Token]) -> list[list[Token]]:
    """Return the forms of a statement that say the same, without "the"; the first is its own."""
    found = [tokens]
    if not _one_clause(tokens):
        return [_bare(form) for form in (tokens, *_names_swapped(tokens))]
    for rewrite in (_date_last, _active, _swapped, _names_swapped):
        # Each goes on with what the earlier ones made: a passive may have its date in front.
        found += [form for known in list(found) for form in rewrite(known)]
    return [_bare(form) for form in found]


def _bare(tokens: list[Token]) -> list[Token]:
    """Leave "the" out where it only points: "the most" and "most", "the two" and "two" differ."""
    after = [*tokens[1:], Token("")]
    return [
        token
        for token, following in zip(tokens, after, strict=True)
        if token.text.lower() != "the"
        or following.text.lower() in _COUNTED_WITH_THE
        or following.is_number
    ]


def _one_clause(tokens: Sequence[Token]) -> bool:
    """Say whether a statement is so plain that its parts may move."""
    for place, token in enumerate(tokens):
        low = token.text.lower()
        if low in _SCOPE or (_INFINITIVE.fullmatch(low) and not token.text.isascii()):
            return False
        if low.endswith("ing") and low not in _NOUNS_IN_ING and not token.is_capital:
            return False
        if low == "to" and _is_infinitive(tokens, place):
            return False
    return True


def _is_infinitive(tokens: Sequence[Token], place: int) -> bool:
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    return following is not None and not (
        following.is_capital or following.is_number or following.text in _ARTICLES
    )


def _date_last(tokens: list[Token]) -> Iterator[list[Token]]:
    """Move the one date phrase to the end, from the front or from before a place or an agent."""
    dates = [place for place, token in enumerate(tokens) if token.is_date]
    if len(dates) != 1 or dates[0] == 0:
        return
    (date,) = dates
    start = date - 1
    if tokens[start].text.lower() not in _ON_A_DATE:
        return
    phrase, rest = tokens[start : date + 1], tokens[date + 1 :]
    if not rest:
        return
    lowered = [Token(phrase[0].text.lower()), phrase[1]]
    names = all(token.is_capital for token in rest[1:]) and len(rest) > 1
    is_place = names and rest[0].text.lower() in _IN_A_PLACE and phrase[0].text in ("in", "on", "в")
    is_agent = rest[0].text == "by" and start >= 2 and tokens[start - 2].text in _BEING
    if start == 0 or is_place or is_agent:
        yield [*tokens[:start], *rest, *lowered]


def _active(tokens: list[Token]) -> Iterator[list[Token]]:
    """Turn "B was written by A" into "A wrote B"."""
    places = [place for place, token in enumerate(tokens) if token.text == "by"]
    if len(places) != 1 or places[0] < 3 or tokens[places[0] - 2].text not in _BEING:
        return
    (by,) = places
    patient, being, participle = tokens[: by - 2], tokens[by - 2].text, tokens[by - 1].text
    agent, date = _without_date(tokens[by + 1 :])
    verb = _verb(participle, past=being in _PAST)
    fits = agent and not any(token.is_number or token.is_date for token in agent)
    plain = not any(t.text.lower() in _PREPOSITIONS for t in (*agent, *patient))
    if verb is not None and fits and plain:
        yield [*agent, Token(verb), *patient, *date]


def _without_date(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Part a date phrase at the end from what stands before it."""
    if len(tokens) > 2 and tokens[-1].is_date and tokens[-2].text in _ON_A_DATE:
        return tokens[:-2], tokens[-2:]
    return tokens, []


def _verb(participle: str, *, past: bool) -> str | None:
    if not past:
        return _PRESENT.get(participle)
    if participle in _IRREGULAR:
        return _IRREGULAR[participle]
    if participle == "authored":
        return "wrote"
    return participle if participle.endswith("ed") and len(participle) > 4 else None


def _swapped(tokens: list[Token]) -> Iterator[list[Token]]:
    """Turn "Paris is the capital" into "the capital is Paris": one name, one thing that it is."""
    places = [place for place, token in enumerate(tokens) if token.text in _BEING]
    if len(places) != 1:
        return
    (being,) = places
    left, right = tokens[:being], tokens[being + 1 :]
    if not left or not right:
        return
    if (_is_name(left) and _is_definite(right)) or (_is_definite(left) and _is_name(right)):
        # Its capital counts now: "Nurses were the victims" is not "The victims were nurses".
        yield [*right, tokens[being], *(Token(token.text) for token in left)]


def _is_name(tokens: Sequence[Token]) -> bool:
    return all(token.is_capital for token in tokens)


def _is_definite(tokens: Sequence[Token]) -> bool:
    """Say whether words name one thing: "the ..." or "France 's capital"."""
    texts = [token.text.lower() for token in tokens]
    return len(texts) > 1 and (texts[0] == "the" or "'s" in texts)


def _names_swapped(tokens: list[Token]) -> Iterator[list[Token]]:
    """Exchange two names that "and" joins, where no order is meant."""
    texts = [token.text.lower() for token in tokens]
    joins = [place for place, text in enumerate(texts) if text in _AND]
    if len(joins) != 1 or (_SCOPE - _AND) & set(texts) or any(map(_ORDINAL.fullmatch, texts)):
        return
    (join,) = joins
    start, end = join, join + 1
    while start > 0 and tokens[start - 1].is_capital and texts[start - 1] not in _BEFORE_NAMES:
        start -= 1
    while end < len(tokens) and tokens[end].is_capital:
        end += 1
    first, second = tokens[start:join], tokens[join + 1 : end]
    before = texts[start - 1] if start else None
    after = texts[end] if end < len(texts) else None
    if not first or not second or after == "'s" or (before and before not in _BEFORE_NAMES):
        return
    yield [*tokens[:start], *second, tokens[join], *first, *tokens[end:]]
