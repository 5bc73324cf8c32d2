"""Which words mean the same, and next to which others? The lists are short on purpose.

No two words are the same everywhere: towns fall and so do prices, a film is shown or lies on water.
So each rule names the words next to it. It belongs here only when the replacement cannot change
there whether a text supports the statement. A rule sees the normal form: numbers and units have one
spelling, signs are separate words, one space separates words.
"""

import re

from rag_evals.cache.guard.dates import DATE_MARK
from rag_evals.cache.guard.numbers import NUMBER

DATE = rf"(?:{DATE_MARK}[0-9-]+|1[0-9]{{3}}|20[0-9]{{2}})"
"""A date in its normal form, or a year."""
NAME_WORD = r"[A-ZА-ЯЁ][\w'-]*"
_RU_NAME = r"[А-ЯЁ][а-яё-]+(?: [А-ЯЁ][а-яё-]+)?"
NEGATIONS = re.compile(r"(?<!\S)(?:не|ни|нет|без|никто|ничто|никогда|нигде)(?!\S)", re.IGNORECASE)

_AMOUNT = rf"{NUMBER} (?:%|dollars|USD|euros|£|₽)(?!\S)"
_ON = rf"(?=(?:in|on) {DATE}$)"
_NO_OBJECT = "(?= (?:,|in|on|from|to|since|during|after|between|and|but|while) |$)"
_BUILDINGS = "building|tower|bridge|house|church|cathedral|castle|temple|dam|tunnel|stadium|palace"
_BUILDING = rf"(?:\w+ ){{0,2}}(?:{_BUILDINGS}|{_BUILDINGS.title()})"
_BODY = r"(?:\w+ ){0,2}(?:university|company|club|museum|school|newspaper|bank|college|orchestra)"
_EVENT = (
    "war|work|construction|festival|season|tournament|trial|expedition|siege|battle|strike|"
    "conference|accident|explosion|event|ceremony"
)
_THINGS = "house|hotel|building|startup|factory|castle|ship|villa"
_TOWN = "city|town|village|island|country|district|region"
_SEATS = "seats|rooms|inhabitants|books|floors|schools|branches|islands|lakes"
_CAME = r"people (?:came|attended|died|voted|applied)(?= (?:in|at|on) |$)"
_BUILT = "[Дд]ом|[Мм]ост|[Хх]рам|[Дд]ворец|[Сс]обор|[Зз]амок|[Бб]ашню|[Цц]ерковь|[Кк]репость"
_ORDINALS = (
    *(("third", "3rd"), ("fourth", "4th"), ("fifth", "5th"), ("sixth", "6th"), ("seventh", "7th")),
    *(("eighth", "8th"), ("ninth", "9th"), ("tenth", "10th")),
    *(("eleventh", "11th"), ("twelfth", "12th")),
)

_RULES = (
    # A measured change; whatever else grows, rises or declines may be a town or a balloon.
    (rf"(?<!\S)(?:grew|increased) by (?={_AMOUNT}{_NO_OBJECT})", "rose by "),
    (rf"(?<!\S)(?:declined|decreased) by (?={_AMOUNT}{_NO_OBJECT})", "fell by "),
    # What is built, founded, or begins: the thing stands before the verb, the date behind it.
    (rf"(?<=\bthe )({_BUILDING}) was finished {_ON}", r"\1 was completed "),
    (rf"(?<=\bthe )({_BUILDING}) was constructed {_ON}", r"\1 was built "),
    (rf"(?<=\bthe )({_BODY}) was established {_ON}", r"\1 was founded "),
    (rf"(?<!\S)({_EVENT}) (?:started|commenced) (?=(?:in|on) {DATE}$)", r"\1 began "),
    (rf"(?<!\S)({_EVENT}) (?:happened|took place) (?=(?:in|on) {DATE}$)", r"\1 occurred "),
    (rf"(?<!\S)({_EVENT}) (?:happened|took place) (?=in {NAME_WORD}$)", r"\1 occurred "),
    (rf"(?<!\S)(he|she|{NAME_WORD}) passed away (?=(?:in|on) {DATE}$)", r"\1 died "),
    (rf"(?<!\S)(он|{_RU_NAME}) скончался (?=в {DATE} году$)", r"\1 умер "),
    (rf"(?<!\S)(она|{_RU_NAME}) скончалась (?=в {DATE} году$)", r"\1 умерла "),
    (rf"(?<!\S)({_BUILT}) возвели (?=в {DATE} году$)", r"\1 построили "),
    (rf"(?<!\S)movie (?=premiered (?:in|on) {DATE}$|grossed {_AMOUNT})", "film "),
    # Paid for: else one may buy an argument, or acquire a taste.
    (rf"(?<!\S)purchased (?=[\w' -]+ for {_AMOUNT}$)", "bought "),
    (rf"(?<!\S)purchased (?=(?:the|a) (?:{_THINGS})(?: in {DATE})?$)", "bought "),
    (rf"(?<!\S)приобр[её]л(а|и)? (?=[\w -]+ за {_AMOUNT}$)", r"купил\1 "),
    # Places and their sizes. "The" stays: "US troops left" may be some of "the US troops".
    (
        r"(?<!\S)the biggest (city|country|lake|island|continent|desert|planet)"
        r"(?= (?:in|of|on) |$)",
        r"the largest \1",
    ),
    (rf"(?<!\S)({_TOWN}) (has|had) ((?:\w+ ){{0,2}}{NUMBER}) residents$", r"\1 \2 \3 inhabitants"),
    (r"(?<!\S)(is|are|was|were) situated in(?!\S)", r"\1 located in"),
    (r"(?:(?<=^)|(?<=\bthe ))(?:United States(?: of America)?|USA)(?= [a-z']|$)(?! of )", "US"),
    (r"(?:(?<=^)|(?<=\bthe ))United Kingdom(?= [a-z']|$)(?! of )", "UK"),
    (r"(?:(?<=^)|(?<=\bthe ))European Union(?= [a-z']|$)", "EU"),
    (r"(?:(?<=^)|(?<=\bthe ))United Nations(?= [a-z']|$)", "UN"),
    (rf"(?<!\S)Соедин[её]нные Штаты(?: Америки)?(?!\S)(?! {NAME_WORD})", "США"),
    (
        rf"^((?:[Вв]ысота|[Дд]лина|[Шш]ирина|[Гг]лубина)(?: [А-Яа-яё-]+)*(?: —)? {NUMBER}) м$",
        r"\1 метров",
    ),
    (rf"^({_RU_NAME}) является столицей ({_RU_NAME})$", r"\1 — столица \2"),
    (rf"^Столицей ({_RU_NAME}) является ({_RU_NAME})$", r"\2 — столица \1"),
    (rf"^Столица ({_RU_NAME}) — ({_RU_NAME})$", r"\2 — столица \1"),
    # Places in a row; "the second before the crash" is no 2nd, and who "came first" was early.
    *((rf"(?<!\S)the {name} (?=(?!of )[a-z])", f"the {short} ") for name, short in _ORDINALS),
    *(
        (rf"(?<!\S)finished {name}(?= in the |$)", f"finished {short}")
        for name, short in (("second", "2nd"), *_ORDINALS)
    ),
    # Times.
    (rf"(?<!\S)prior to (?={DATE}(?!\S))", "before "),
    (rf"(?<!\S)in the year (?={DATE}$)", "in "),
    (r"(?<!\S)each (?=(?:year|month|week|day)(?: ,|$))", "every "),
    # How near to a number, and on which side; where the words can mean nothing else.
    (rf"(?<!\S)nearly (?={NUMBER}(?!\S))", "almost "),
    (rf"(?<!\S)approx (?={NUMBER}(?!\S))", "approximately "),
    (rf"(?<!\S)no more than (?={NUMBER}(?!\S))", "at most "),
    (rf"(?<!\S)no fewer than (?={NUMBER}(?!\S))", "at least "),
    (rf"(?<!\S)fewer than (?={NUMBER}(?!\S))", "less than "),
    (rf"(?<!\S)in excess of (?={NUMBER}(?!\S))", "more than "),
    (rf"(?<!\S)has over (?={NUMBER} (?:{_SEATS})(?!\S))", "has more than "),
    (rf"(?<!\S)has (?:about|around|roughly) (?={NUMBER} (?:{_SEATS})(?!\S))", "has approximately "),
    (rf"^over (?={NUMBER} {_CAME})", "more than "),
    (rf"^(?:about|around|roughly) (?={NUMBER} {_CAME})", "approximately "),
    (
        rf"(?<!\S)(is|was) (?:about|around|roughly) "
        rf"(?={NUMBER} (?:km|m|cm|mm) (?:long|tall|high|wide|deep)$)",
        r"\1 approximately ",
    ),
    (rf"(?<!\S)(costs?) over (?={_AMOUNT})", r"\1 more than "),
    (rf"(?<!\S)(costs?) under (?={_AMOUNT})", r"\1 less than "),
    (rf"(?<!\S)(costs?) (?:about|around|roughly) (?={_AMOUNT})", r"\1 approximately "),
    (
        rf"(?<!\S)(weigh(?:s|ed)) (?:about|around|roughly) (?={NUMBER} kg$)",
        r"\1 approximately ",
    ),
    (
        rf"(?<!\S)(takes|took|lasts|lasted) (?:about|around|roughly) "
        rf"(?={NUMBER} (?:hours|minutes|days|weeks|months|years)$)",
        r"\1 approximately ",
    ),
    (rf"(?<!\S)приблизительно (?={NUMBER}(?!\S))", "примерно "),
    (
        rf"(?<!\S)(осталось|составля[ею]т|составила?|весит|длится) около "
        rf"(?={NUMBER} (?:км|km|кг|kg|%|₽|метров|dollars|минут|часов)$)",
        r"\1 примерно ",
    ),
)

_RUSSIAN_BOUNDS = (
    (rf"(?<!\S)(?:не более чем|не более|не больше чем|не больше) (?={NUMBER}(?!\S))", "at_most "),
    (
        rf"(?<!\S)(?:не менее чем|не менее|не меньше чем|не меньше|как минимум) (?={NUMBER}(?!\S))",
        "at_least ",
    ),
    (rf"(?<!\S)(?:более чем|более|больше чем|больше|свыше) (?={NUMBER}(?!\S))", "more_than "),
    (rf"(?<!\S)(?:менее чем|менее|меньше чем|меньше) (?={NUMBER}(?!\S))", "less_than "),
)

_RUSSIAN_CHANGES = (
    ("возрос|увеличился", "вырос"),
    ("возросла|увеличилась", "выросла"),
    ("возросло|увеличилось", "выросло"),
    ("возросли|увеличились", "выросли"),
    ("уменьшился|сократился", "снизился"),
    ("уменьшилась|сократилась", "снизилась"),
    ("уменьшилось|сократилось", "снизилось"),
    ("уменьшились|сократились", "снизились"),
)


def _compiled(*rules: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), normal) for pattern, normal in rules)


RULES = _compiled(
    *_RULES,
    *((rf"(?<!\S)(?:{old}) на (?={_AMOUNT})", f"{new} на ") for old, new in _RUSSIAN_CHANGES),
)
RUSSIAN_BOUNDS = _compiled(*_RUSSIAN_BOUNDS)
"""Not in a sentence that denies something else: "больше 5 лет не живёт" may be "no longer"."""

LEADS = frozenset(
    "in fact/indeed/notably/moreover/furthermore/however/однако/более того/отметим".split("/")
)
"""At the start, before a comma: they join sentences and claim nothing, unlike "in addition"."""

MEASURED = (
    "revenue|profits|prices|exports|imports|costs|wages|inflation|unemployment|"
    "выручка|прибыль|цены|экспорт|импорт|доходы|расходы|население"
)
"""What is counted and no name: it may begin a sentence, and have a date before it."""

LOWERED = frozenset(
    "the a an in on at by since until during before after from to he she they this these those "
    "there about over around roughly approximately nearly almost more less fewer no some all every "
    "each both several many "
    "в на с до после он она они это эти более менее больше меньше свыше около почти примерно "
    "приблизительно не".split()
) | frozenset(MEASURED.split("|"))
"""Words that begin a sentence with a capital and are no name; "May", "Rose" and "It" may be one."""

CONTRACTIONS = {
    "won't": ("will", "not"),
    "can't": ("cannot",),
    "shan't": ("shall", "not"),
}
SUFFIXES = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will"}
IS_SHORT = frozenset("it he she that there who what where here".split())
"""Before "'s the" and "'s a" these say "is"; before other words it may be "has"."""

SPELLINGS = (
    ("colour", "color"),
    ("favour", "favor"),
    ("honour", "honor"),
    ("labour", "labor"),
    ("neighbour", "neighbor"),
    ("behaviour", "behavior"),
    ("harbour", "harbor"),
    ("centre", "center"),
    ("theatre", "theater"),
    ("defence", "defense"),
    ("travelled", "traveled"),
    ("travelling", "traveling"),
    ("aluminium", "aluminum"),
)
"""British and American spelling; other forms of the words follow by their beginning."""

WITH_YO = frozenset(
    "ее еще живет идет елка "
    "придет найдет причем самолет самолета ребенок ребенка пришел ушел нашел "
    "вошел пошел произошел перешел приобрел".split()
)
"""Words that are one word with е and with ё: not "все" and "всё", nor "узнаем" and "узнаём"."""

RELATIONAL_NOUNS = (
    "capital|population|president|king|queen|mayor|governor|headquarters|founder|author|director|"
    "inventor|currency|birthplace|founders|owner|chairman|father|mother|husband|wife"
)
AFTER_POSSESSIVE = "is|was|are|were|has|had|died|lives|lived|resigned|left"
"""Nouns for which "the X of Y" and "Y's X" are one thing, whichever way it is read."""
