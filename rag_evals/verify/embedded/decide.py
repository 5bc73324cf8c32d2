"""How is one statement decided? Prepare, compare, weigh, explain."""

from collections.abc import Iterator, Sequence

from rag_evals.verify.embedded.compare import Comparison, compare
from rag_evals.verify.embedded.evidence import Ground
from rag_evals.verify.embedded.features import features
from rag_evals.verify.embedded.model import Model
from rag_evals.verify.embedded.passage import Passage, Sentence, prepare, statement_sentence
from rag_evals.verify.embedded.reasons import reason
from rag_evals.verify.verdict import Evidence, Verdict

_MOST_READINGS = 6
_LEAST_RIVAL = 0.3
_LEAST_EQUAL = 0.8


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
    return [_verdict(model, threshold, text, passages) for text in statements]


def readings(
    statement: Sentence, model: Model, passages: Sequence[Passage]
) -> Iterator[Comparison]:
    """Compare a statement with all chunks, then without the best one, and so on.

    A chunk that contradicts must not hide another that supports, so the reading that supports most
    counts; for the same reason a chunk taken away cannot raise support.

    Yields:
        At most six comparisons, ending with the first whose best sentence says little of what
        that of the first reading does; then one without any chunk, so that a contradiction
        counts no less than silence.
    """
    ground = Ground(statement, model.key_weights(statement), passages)
    excluded: set[int] = set()
    least = 0.0
    for _ in range(_MOST_READINGS):
        result = compare(statement, ground, excluded)
        yield result
        if not result.chosen.places:
            return
        if result.chosen.cover < least:
            break
        least = least or _LEAST_RIVAL * result.chosen.cover
        excluded.add(result.chosen.places[0].chunk_id)
    yield compare(statement, ground, range(len(passages)))


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


def _verdict(model: Model, threshold: float, text: str, passages: Sequence[Passage]) -> Verdict:
    statement = statement_sentence(text)
    found = [
        (comparison, model.support(features(comparison)))
        for comparison in readings(statement, model, passages)
    ]
    best, support = max(found, key=lambda reading: reading[1])
    is_supported = support >= threshold and bool(best.chosen.places)
    if not is_supported:
        # What is nearest to the statement explains best why it is not supported.
        best = found[0][0]
    cited: tuple[int, ...] = ()
    if is_supported:
        cited = cited_chunks(
            [([place.chunk_id for place in c.chosen.places], value) for c, value in found]
        )
    return Verdict(
        support=support,
        is_supported=is_supported,
        chunk_ids=cited,
        reason=reason(best, passages, is_supported=is_supported),
        evidence=tuple(
            [Evidence(place.chunk_id, *place.sentence.span) for place in best.chosen.places]
        ),
    )
