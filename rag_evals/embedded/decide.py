# Patterns read better unbroken.
# ruff: noqa: E501
"""How is one statement decided? Prepare, compare, weigh, explain."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rag_evals.core import Evidence, Verdict
from rag_evals.embedded.claims import Pair, pair_of
from rag_evals.embedded.compare import EvidenceComparison, compare
from rag_evals.embedded.features import difference_features, shared_features
from rag_evals.embedded.model import Model, log_odds, probability
from rag_evals.embedded.passage import EvidenceSearch, Passage, prepare
from rag_evals.embedded.reasons import (
    absence_reason,
    other_letters_reason,
    price_reason,
    read_as,
    reason,
)
from rag_evals.embedded.sentence import Sentence, statement_sentence
from rag_evals.embedded.sources import LONGEST_MATCHED, absence_of, claims_more, names_of_topic
from rag_evals.text import DENIES, script_of

# In which other words may a chunk say what a statement says? Years of a decade, and a price.
#
# "In the 1890s" is said by "in 1894", "is not free" by "costs 5 euros". Two small rules: the statement
# is written anew in the words of the chunk, and decided so.

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


_MOST_READINGS = 6
_LEAST_RIVAL = 0.3
_LEAST_EQUAL = 0.8
_ROUNDING = 1e-9
_SURELY_SAID = "strict"
_MENTIONED = 0.99
# Of the threshold: nobody can tell.
_UNSURE = 0.9


def decide(
    model: Model, threshold: float, statements: Sequence[str], chunks: Sequence[str]
) -> list[Verdict]:
    """Decide statements against chunks.

    Args:
        model: The weights.
        threshold: Support from which a statement counts as supported, 0 to 1.
        statements: Sentences or claims.
        chunks: Texts; ids in the verdicts are their places, from 0.

    Returns:
        One verdict for each statement, in order.
    """
    passages = [prepare(chunk) for chunk in chunks]
    return [_decided(model, threshold, text, passages) for text in statements]


def _decided(model: Model, threshold: float, text: str, passages: Sequence[Passage]) -> Verdict:
    absence = absence_of(text[:LONGEST_MATCHED])
    if absence is None or claims_more(absence.topic):
        pair = pair_of(text)
        whole = _verdict(model, threshold, text, passages)
        if pair is not None:
            return _of_pair(whole, pair, model, threshold, passages)
        return _in_other_words(whole, text, model, threshold, passages)
    # "Passage 3 does not say how …" is wrong when passage 3 does; people count from 1.
    meant = passages
    if absence.number is not None and 1 <= absence.number <= len(passages):
        meant = passages[absence.number - 1 : absence.number]
    said = _verdict(model, model.thresholds[_SURELY_SAID], absence.topic, meant)
    if names := names_of_topic(absence.topic):
        said = _mentioned(said, names, meant)
    first = passages.index(meant[0]) if meant else 0
    if (
        said.support < threshold
        and (foreign := _in_other_letters(absence.topic, meant)) is not None
    ):
        return Verdict(
            support=_UNSURE * threshold,
            is_supported=False,
            chunk_ids=(),
            reason=other_letters_reason(absence.topic, first + foreign),
        )
    evidence = tuple([one._replace(chunk_id=one.chunk_id + first) for one in said.evidence])
    support = _support_of_absence(said.support, model)
    is_supported = support >= threshold
    return Verdict(
        support=support,
        is_supported=is_supported,
        # What is not there is in no chunk.
        chunk_ids=(),
        reason=absence_reason(text, absence.topic, evidence, is_supported=is_supported),
        evidence=() if is_supported else evidence,
    )


def _in_other_letters(topic: str, passages: Sequence[Passage]) -> int | None:
    """Return the place of the first passage that could not say a topic in the topic's letters."""
    own = script_of(topic)
    for place, passage in enumerate(passages):
        if own is not None and script_of(passage.text) not in (own, None):
            return place
    return None


def _in_other_words(
    whole: Verdict, text: str, model: Model, threshold: float, passages: Sequence[Passage]
) -> Verdict:
    """Read a decade by its years, and "free" against a price."""
    years = [
        read_as(_verdict(model, threshold, anew, passages), anew)
        for anew in years_for_decade(text, passages)
    ]
    best = max([whole, *years], key=lambda verdict: verdict.support)
    price = price_for_free(text, passages)
    if price is None:
        return best
    priced = _verdict(model, threshold, price.text, passages)
    if price.is_denied:
        return max(read_as(priced, price.text), best, key=lambda verdict: verdict.support)
    return replace(
        best,
        support=min(best.support, 1 - priced.support, _UNSURE * threshold),
        is_supported=False,
        chunk_ids=(),
        reason=price_reason(price.free, price.cost, price.evidence.chunk_id),
        evidence=(price.evidence,),
    )


def _mentioned(said: Verdict, names: Sequence[str], passages: Sequence[Passage]) -> Verdict:
    """Decide whether any of some names stands anywhere: to mention one, no more is needed."""
    for name in names:
        keys = set(statement_sentence(name).keys)
        for chunk_id, passage in enumerate(passages):
            places = [set(passage.index.get(key, ())) for key in keys]
            shared = set.intersection(*places) if places else set()
            if shared:
                sentence = passage.sentence(min(shared))
                evidence = (Evidence(chunk_id, *sentence.span),)
                return replace(said, support=_MENTIONED, evidence=evidence)
    return replace(said, support=1 - _MENTIONED)


def _of_pair(
    whole: Verdict, pair: Pair, model: Model, threshold: float, passages: Sequence[Passage]
) -> Verdict:
    """Count half of a pair for its value alone: sources seldom use the word that a key is."""
    value = _verdict(model, threshold, pair.value, passages)
    if value.support <= whole.support:
        return whole
    support = probability((log_odds(whole.support) + log_odds(value.support)) / 2)
    shown = value if support >= threshold and not whole.is_supported else whole
    return replace(shown, support=support, is_supported=support >= threshold)


def _support_of_absence(said: float, model: Model) -> float:
    """Turn round the support of what is said to be left out.

    Only what is surely said makes an absence wrong: its words may stand in the chunks without
    being an answer. At that point the support is that of the balanced threshold.
    """
    limits = [model.thresholds[name] for name in ("balanced", _SURELY_SAID)]
    return probability(sum(map(log_odds, limits)) - log_odds(said))


def readings(
    statement: Sentence, model: Model, passages: Sequence[Passage]
) -> Iterator[EvidenceComparison]:
    """Compare a statement with all chunks, then without the best one, and so on.

    A chunk that contradicts must not hide another that supports, so the reading that supports most
    counts; for the same reason a chunk taken away cannot raise support.

    Yields:
        At most six comparisons, ending with the first whose best sentence says little of what
        that of the first reading does; then one without any chunk, so that a contradiction
        counts no less than silence.
    """
    search = EvidenceSearch(statement, model.key_weights(statement), passages)
    excluded: set[int] = set()
    least = 0.0
    for _ in range(_MOST_READINGS):
        result = compare(statement, search, excluded)
        yield result
        if not result.evidence.sentences:
            return
        if result.evidence.cover < least:
            break
        least = least or _LEAST_RIVAL * result.evidence.cover
        excluded.add(result.evidence.sentences[0].chunk_id)
    yield compare(statement, search, range(len(passages)))


def cited_chunks(readings: Sequence[tuple[Sequence[int], float]]) -> tuple[int, ...]:
    """Return the chunks that carry the evidence, best first.

    Args:
        readings: For each reading of a statement the chunks of its evidence, best first, and its
            support.

    Returns:
        All chunks of the best reading, then the best chunk of each reading that supports the
        statement nearly as well by itself.
    """
    best, highest = max(readings, key=lambda reading: reading[1])
    others = [ids[0] for ids, support in readings if ids and support >= _LEAST_EQUAL * highest]
    return tuple(dict.fromkeys([*best, *others]))


def _weigh(
    comparisons: Iterable[EvidenceComparison], model: Model, threshold: float
) -> list[tuple[EvidenceComparison, float]]:
    """Return readings with their support, without those that can change nothing.

    What the evidence says otherwise only speaks against support, and costs most of the time. It is
    not looked for where what is shared leaves a reading below the best, and too low to be cited.
    """
    found: list[tuple[EvidenceComparison, float]] = []
    highest = least_cited = -1.0
    for comparison in comparisons:
        shared = shared_features(comparison)
        if found:
            # The margin stands for what sums and exponents round away.
            most = probability(model.log_odds(shared)) + _ROUNDING
            if most < highest and most < least_cited and model.never_adds(len(shared)):
                continue
        support = model.support([*shared, *difference_features(comparison)])
        found.append((comparison, support))
        highest = max(highest, support)
        least_cited = _LEAST_EQUAL * max(highest, threshold)
    return found


def _verdict(model: Model, threshold: float, text: str, passages: Sequence[Passage]) -> Verdict:
    statement = statement_sentence(text)
    found = _weigh(readings(statement, model, passages), model, threshold)
    best, support = max(found, key=lambda reading: reading[1])
    is_supported = support >= threshold and bool(best.evidence.sentences)
    if not is_supported:
        # What is nearest to the statement explains best why it is not supported.
        best = found[0][0]
    cited: tuple[int, ...] = ()
    if is_supported:
        cited = cited_chunks(
            [([place.chunk_id for place in c.evidence.sentences], value) for c, value in found]
        )
    return Verdict(
        support=support,
        is_supported=is_supported,
        chunk_ids=cited,
        reason=reason(best, passages, is_supported=is_supported),
        evidence=tuple(
            [Evidence(place.chunk_id, *place.sentence.span) for place in best.evidence.sentences]
        ),
    )
