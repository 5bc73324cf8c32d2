"""Which words and phrases say the same wherever they stand? Short lists, on purpose.

A group belongs here only when putting one for another cannot change whether a text supports the
statement. Near things stay apart: city and town, may and might, revenue and profit.
"""

# Each line: the normal word first, then those that are written as it; form by form, so that tense
# and number stay. Russian forms are given one by one: a case carries the role of a word.
_WORDS = """
completed finished
bought purchased acquired
buys purchases
began started commenced
begins starts commences
begin start commence
large big
larger bigger
largest biggest
film movie
films movies
children kids
car automobile
cars automobiles
almost nearly
entire whole
rapidly quickly
tried attempted
grew increased rose
grows increases rises
fell decreased declined
falls decreases declines
inhabitants residents
founded established
many numerous
often frequently
rarely seldom
every each
although though
until till
lived resided
lives resides
live reside
wrote authored penned
built constructed
used utilized
uses utilizes
use utilize
helped assisted
helps assists
chief main
currently presently
approx approximately
doctor dr
mister mr
professor prof
построили возвели
построен возведен
построена возведена
построено возведено
фильм кинофильм
фильма кинофильма
умер скончался
умерла скончалась
начался стартовал
купил приобрел
купила приобрела
купили приобрели
почти практически
примерно приблизительно
вырос возрос увеличился
выросла возросла увеличилась
выросло возросло увеличилось
выросли возросли увеличились
снизился уменьшился сократился
снизилась уменьшилась сократилась
снизилось уменьшилось сократилось
снизились уменьшились сократились
снизили уменьшили сократили
основал учредил
основала учредила
основали учредили
жители обитатели
"""

# Phrases, longest first where one begins another.
_PHRASES = """
the united states of america = USA
the united states = USA
united states of america = USA
united states = USA
the united kingdom = UK
united kingdom = UK
the european union = EU
european union = EU
the united nations = UN
united nations = UN
new york city = NYC
because of the fact that = because
due to the fact that = because
owing to = due to
because of = due to
prior to = before
passed away = died
close to = near
in order to = to
is able to = can
are able to = can
was able to = could
were able to = could
took place = occurred
happened = occurred
is located in = is in
is situated in = is in
are located in = are in
are situated in = are in
was located in = was in
was situated in = was in
a large number of = many
a lot of = many
lots of = many
a number of = several
a dozen = 12
per cent = percent
as well as = and
set up = founded
each year = annually
every year = annually
in the year = in
the year of = year
half of = 50 percent of
half the = 50 percent of
соединенные штаты америки = США
соединенных штатов америки = США
соединенных штатах америки = США
соединенными штатами америки = США
соединенным штатам америки = США
соединенные штаты = США
соединенных штатов = США
соединенных штатах = США
российская федерация = Россия
российской федерации = России
в настоящее время = сейчас
каждый год = ежегодно
представляет собой = является
"""

# Before a number: how near, and on which side.
_BOUNDS = """
no more than = at_most
not more than = at_most
at most = at_most
a maximum of = at_most
no less than = at_least
no fewer than = at_least
not less than = at_least
not fewer than = at_least
at least = at_least
a minimum of = at_least
more than = more_than
over = more_than
in excess of = more_than
exceeding = more_than
less than = less_than
fewer than = less_than
under = less_than
below = less_than
approximately = about
about = about
around = about
roughly = about
circa = about
approx = about
не более чем = at_most
не более = at_most
не больше чем = at_most
не больше = at_most
максимум = at_most
не менее чем = at_least
не менее = at_least
не меньше чем = at_least
не меньше = at_least
как минимум = at_least
минимум = at_least
более чем = more_than
более = more_than
больше чем = more_than
больше = more_than
свыше = more_than
менее чем = less_than
менее = less_than
меньше чем = less_than
меньше = less_than
около = about
примерно = about
приблизительно = about
"""

# At the start, before a comma: they join sentences and claim nothing.
LEADS = frozenset(
    (
        "in fact",
        "indeed",
        "notably",
        "moreover",
        "furthermore",
        "additionally",
        "in addition",
        "overall",
        "however",
        "therefore",
        "thus",
        "specifically",
        "in particular",
        "кроме того",
        "однако",
        "таким образом",
        "на самом деле",
        "более того",
        "отметим",
        "при этом",
    )
)

CONTRACTIONS = {
    "won't": "will not",
    "can't": "can not",
    "cannot": "can not",
    "shan't": "shall not",
    "it's": "it is",
    "he's": "he is",
    "she's": "she is",
    "that's": "that is",
    "there's": "there is",
    "i'm": "i am",
}

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
    ("programme", "program"),
    ("catalogue", "catalog"),
    ("defence", "defense"),
    ("travelled", "traveled"),
    ("travelling", "traveling"),
    ("aluminium", "aluminum"),
    ("grey", "gray"),
)
"""British and American spelling; other forms of the words follow by their beginning."""

RELATIONAL_NOUNS = frozenset(
    "capital population president king queen mayor governor headquarters founder author director "
    "inventor height length area currency birthplace founders owner ceo chairman climate economy "
    "flag language father mother son daughter wife husband brother sister border".split()
)
"""Nouns for which "the X of Y" and "Y's X" are one thing, whichever way it is read."""

LOWER_ANYWHERE = frozenset(
    "Internet President Prime Minister King Queen Chancellor Mayor Governor".split()
)


def _words() -> dict[str, str]:
    table: dict[str, str] = {}
    for line in _WORDS.strip().splitlines():
        normal, *others = line.split()
        for other in others:
            table[other] = normal
    return table


def _phrases(lines: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    table = []
    for line in lines.strip().splitlines():
        left, _, right = line.partition(" = ")
        table.append((tuple(left.split()), tuple(right.split())))
    return sorted(table, key=lambda pair: -len(pair[0]))


WORDS = _words()
PHRASES = _phrases(_PHRASES)
BOUNDS = _phrases(_BOUNDS)
