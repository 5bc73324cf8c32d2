# Patterns read better unbroken.
# ruff: noqa: E501
"""How is one statement decided? Prepare, compare, weigh, explain."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rag_evals.core import Evidence, Verdict
from rag_evals.embedded.claims import Pair, pair_of
from rag_evals.embedded.compare import EvidenceComparison, compare, compare_polarity
from rag_evals.embedded.model import (
    Model,
    difference_features,
    log_odds,
    probability,
    shared_features,
)
from rag_evals.embedded.passage import EvidenceSearch, Passage, prepare
from rag_evals.embedded.sentence import Sentence, statement_sentence
from rag_evals.embedded.sources import LONGEST_MATCHED, absence_of, claims_more, names_of_topic
from rag_evals.text import DENIES, has_russian, script_of

# Why was a statement decided so? The differences found, in words, English or Russian.

_ENGLISH = {
    "nothing": "no chunk shares a content word with the statement",
    "empty": "the statement has no content words",
    "held_all": "all {total} content words are in {place}",
    "held_some": "{held} of {total} content words are in {place}",
    "missing": "{lost} of {total} content words missing: {words}",
    "swapped": "'{ours}' is not in any chunk; {place} says '{theirs}'",
    "absent": "'{ours}' is not in any chunk",
    "elsewhere": "'{ours}' is not said with the rest; {place} says '{theirs}'",
    "opposite": "'{ours}' stands against '{theirs}' in {place}",
    "negation_added": "the statement denies what {place} says",
    "negation_dropped": "negated in {place}",
    "quantifier": "'{ours}' where {place} says '{theirs}'",
    "hedge": "{place} says it with '{theirs}', the statement as a fact",
    "unit": "{ours}: unit differs in {place} ('{theirs}')",
    "order": "the same names in another order than in {place}",
    "left_out": "no chunk says '{topic}'",
    "not_left_out": "{place} says '{topic}'",
    "other_letters": "{place} is written in other letters than '{topic}': it cannot be looked for",
    "chunk": "chunk {id}",
    "and": "; ",
}
_RUSSIAN = {
    "nothing": "ни один фрагмент не содержит значимых слов утверждения",
    "empty": "в утверждении нет значимых слов",
    "held_all": "все значимые слова ({total}) есть: {place}",
    "held_some": "значимых слов найдено {held} из {total}: {place}",
    "missing": "не хватает значимых слов ({lost} из {total}): {words}",
    "swapped": "'{ours}' нет ни в одном фрагменте; {place}: '{theirs}'",
    "absent": "'{ours}' нет ни в одном фрагменте",
    "elsewhere": "'{ours}' не сказано вместе с остальным; {place}: '{theirs}'",
    "opposite": "'{ours}' противоречит '{theirs}', {place}",
    "negation_added": "утверждение отрицает сказанное, {place}",
    "negation_dropped": "с отрицанием, {place}",
    "quantifier": "'{ours}', а {place}: '{theirs}'",
    "hedge": "{place}: с оговоркой '{theirs}', в утверждении как факт",
    "unit": "{ours}: другая единица, {place} ('{theirs}')",
    "order": "те же имена в другом порядке, {place}",
    "left_out": "ни один фрагмент не говорит: '{topic}'",
    "not_left_out": "{place} говорит: '{topic}'",
    "other_letters": "{place} написан другими буквами, чем '{topic}': искать нельзя",
    "chunk": "фрагмент {id}",
    "and": "; ",
}
_MOST_FINDINGS = 3
_MOST_WORDS = 5


def reason(result: EvidenceComparison, passages: Sequence[Passage], *, is_supported: bool) -> str:
    """Explain a verdict.

    Args:
        result: The comparison that decided.
        passages: All chunks: a missing word may stand elsewhere in them.
        is_supported: The decision.

    Returns:
        One line; the language follows the statement's letters.
    """
    texts = _RUSSIAN if _is_russian(result.statement.span.text) else _ENGLISH
    if not result.weights:
        return texts["empty"]
    if not result.evidence.sentences:
        return texts["nothing"]
    place = texts["chunk"].format(id=result.evidence.sentences[0].chunk_id)
    if is_supported:
        return _support(result, texts)
    findings = _findings(result, texts, place, passages)
    if not findings:
        findings = [_support(result, texts)]
    return texts["and"].join(findings[:_MOST_FINDINGS])


def read_as(verdict: Verdict, text: str) -> Verdict:
    """Say in the reason of a verdict which words it was decided by."""
    name = "прочитано как" if has_russian(text) else "read as"
    return replace(verdict, reason=f"{name} '{text}': {verdict.reason}")


def price_reason(free: str, cost: str, chunk_id: int) -> str:
    """Explain why what is said to be free is not.

    Args:
        free: The word of the statement.
        cost: What the chunk says instead.
        chunk_id: The chunk.
    """
    texts = _RUSSIAN if has_russian(free) else _ENGLISH
    place = texts["chunk"].format(id=chunk_id)
    return texts["opposite"].format(ours=free, theirs=cost, place=place)


def other_letters_reason(topic: str, chunk_id: int) -> str:
    """Explain why nobody can say whether a chunk mentions a topic.

    Args:
        topic: What is said to be left out.
        chunk_id: A chunk in other letters.
    """
    texts = _RUSSIAN if _is_russian(topic) else _ENGLISH
    return texts["other_letters"].format(topic=topic, place=texts["chunk"].format(id=chunk_id))


def absence_reason(
    text: str, topic: str, evidence: Sequence[Evidence], *, is_supported: bool
) -> str:
    """Explain a verdict on a statement that the sources leave something out.

    Args:
        text: The statement.
        topic: What it says they leave out.
        evidence: The sentences that come nearest to it.
        is_supported: The decision.

    Returns:
        One line, as of `reason`.
    """
    texts = _RUSSIAN if _is_russian(text) else _ENGLISH
    place = texts["chunk"].format(id=evidence[0].chunk_id) if evidence else ""
    return texts["left_out" if is_supported else "not_left_out"].format(topic=topic, place=place)


def _is_russian(text: str) -> bool:
    return has_russian(text[:200])


def _support(result: EvidenceComparison, texts: dict[str, str]) -> str:
    total = len(result.weights)
    lost = len({result.statement.sequence[i].key for i in result.missing})
    cited = sorted({place.chunk_id for place in result.evidence.sentences})
    place = ", ".join(texts["chunk"].format(id=chunk_id) for chunk_id in cited)
    name = "held_some" if lost else "held_all"
    return texts[name].format(held=total - lost, total=total, place=place)


def _findings(
    result: EvidenceComparison, texts: dict[str, str], place: str, passages: Sequence[Passage]
) -> list[str]:
    findings: list[str] = []
    told: set[int] = set()
    rivals = _rivals(result)
    for i in result.missing:
        if i not in rivals or len(told) >= 2:
            continue
        theirs, chunk_id = rivals[i]
        where = texts["chunk"].format(id=chunk_id)
        word = result.statement.sequence[i]
        ours, key = word.surface, word.key
        name = "elsewhere" if any(key in passage.index for passage in passages) else "swapped"
        findings.append(texts[name].format(ours=ours, theirs=theirs, place=where))
        told.add(i)
    for ours, theirs in result.opposites[:1]:
        findings.append(texts["opposite"].format(ours=ours, theirs=theirs, place=place))
    findings.extend(_turned(result, texts, place))
    findings.extend(_lost(result, texts, told))
    return findings


def _turned(result: EvidenceComparison, texts: dict[str, str], place: str) -> list[str]:
    polarity = compare_polarity(result)
    found: list[str] = []
    if polarity.negation_added:
        found.append(texts["negation_added"].format(place=place))
    if polarity.negation_dropped:
        found.append(texts["negation_dropped"].format(place=place))
    found.extend(
        texts["quantifier"].format(ours=ours, theirs=theirs, place=place)
        for ours, theirs in polarity.quantifiers_swapped[:1]
    )
    for number, _, theirs in result.wrong_units[:1]:
        found.append(texts["unit"].format(ours=number, theirs=theirs, place=place))
    if result.name_inversions:
        found.append(texts["order"].format(place=place))
    if polarity.hedge_dropped:
        found.append(texts["hedge"].format(theirs=polarity.hedge_dropped, place=place))
    return found


def _lost(result: EvidenceComparison, texts: dict[str, str], told: set[int]) -> list[str]:
    rest: dict[str, str] = {}
    for i in result.missing:
        word = result.statement.sequence[i]
        if i not in told:
            rest.setdefault(word.key, word.surface)
    if not rest:
        return []
    words = ", ".join(list(rest.values())[:_MOST_WORDS])
    if len(rest) > _MOST_WORDS:
        words += ", …"
    return [texts["missing"].format(lost=len(rest), total=len(result.weights), words=words)]


def _rivals(result: EvidenceComparison) -> dict[int, tuple[str, int]]:
    """Pair missing numbers and names with what the evidence says in their place, and where."""
    chunk_id = result.evidence.sentences[0].chunk_id
    names = {i: (name, chunk_id) for i, name in result.name_rivals.items()}
    return names | result.number_rivals


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
