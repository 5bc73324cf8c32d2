# Patterns read better unbroken.
# ruff: noqa: E501
"""In which other words may a chunk say what a statement says? Years of a decade, and a price.

"In the 1890s" is said by "in 1894", "is not free" by "costs 5 euros". Two small rules: the statement
is written anew in the words of the chunk, and decided so.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evals.core import Evidence
from rag_evals.embedded.passage import Passage
from rag_evals.embedded.sentence import statement_sentence
from rag_evals.text import DENIES

# "the early 1890s" is less than the decade.
_DECADE = re.compile(
    r"(?<!early )(?<!late )(?<!mid )(?<!mid-)(?<!начале )(?<!конце )(?<!середине )(?:\bthe )?\b(?P<years>\d{3})0(?:['’]?s\b|-(?:х|е|ые|ых)\b(?: год\w*)?)",
    re.IGNORECASE,
)
_MOST_YEARS = 4
_FREE = re.compile(
    r"\b(?:is|are|was|were)(?P<no> not|n['’]t)? (?P<free>free)(?: of charge)?\b(?! (?:of|from|to)\b)"
    r"|(?P<no_ru>\bне )?\b(?P<free_ru>бесплат\w+)",
    re.IGNORECASE,
)
_COSTS = re.compile(
    r"\b(?:costs?|стоит|стоят|стоила?о?и?) (?:[$€£₽] ?\d[\d.,]*|\d[\d.,]* ?(?:€|₽|euros?|dollars?|pounds?|roubles?|rubles?|евро|доллар\w*|руб\w*|фунт\w*))",
    re.IGNORECASE,
)
_IS_FREE = re.compile(r"\b(?:free|бесплат\w+)\b", re.IGNORECASE)


class PriceForFree(NamedTuple):
    """What a chunk says something costs that a statement says is free, or is not.

    Attributes:
        text: The statement, with the price in place of its word for free.
        free: That word.
        cost: What the chunk says, such as "costs 5 euros".
        is_denied: The statement says that it is not free.
        evidence: The sentence of the chunk.
    """

    text: str
    free: str
    cost: str
    is_denied: bool
    evidence: Evidence


def years_for_decade(text: str, passages: Sequence[Passage]) -> Iterator[str]:
    """Write a statement about a decade anew with each year of it that the chunks name.

    Args:
        text: A statement.
        passages: All chunks.

    Yields:
        At most four texts: "It was built in 1894." for "It was built in the 1890s."
    """
    decade = _DECADE.search(text)
    if decade is None:
        return
    years = [f"{decade['years']}{digit}" for digit in range(1, 10)]
    named = [year for year in years if any(year in passage.index for passage in passages)]
    for year in named[:_MOST_YEARS]:
        yield f"{text[: decade.start()]}{year}{text[decade.end() :]}"


def price_for_free(text: str, passages: Sequence[Passage]) -> PriceForFree | None:
    """Look for the price of what a statement says is free, or is not.

    Args:
        text: The statement.
        passages: All chunks.

    Returns:
        None unless one sentence names a price and holds all other content words.
    """
    free = _FREE.search(text)
    if free is None:
        return None
    rest = statement_sentence(f"{text[: free.start()]}{text[free.end() :]}")
    if rest.marks & DENIES:
        # "It is never free": what is denied is not told.
        return None
    content = {word.key for word in rest.sequence if word.kind != "stop"}
    for chunk_id, passage in enumerate(passages):
        places = [set(passage.index.get(key, ())) for key in content]
        for number in sorted(set.intersection(*places)) if places else ():
            sentence = passage.sentence(number)
            cost = _COSTS.search(sentence.span.text)
            if cost is None or sentence.marks & DENIES or _IS_FREE.search(sentence.span.text):
                continue
            anew = f"{text[: free.start()]}{cost[0]}{text[free.end() :]}"
            word = free["free"] or free["free_ru"]
            is_denied = bool(free["no"] or free["no_ru"])
            return PriceForFree(anew, word, cost[0], is_denied, Evidence(chunk_id, *sentence.span))
    return None
