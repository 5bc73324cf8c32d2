"""Why was a statement decided so? The differences found, in words, English or Russian."""

from collections.abc import Sequence
from dataclasses import replace

from rag_evals.core import Evidence, Verdict
from rag_evals.embedded.compare import EvidenceComparison, compare_polarity
from rag_evals.embedded.passage import Passage
from rag_evals.text import has_russian

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
