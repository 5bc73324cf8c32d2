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
        At least one comparison, at most six; the later ones only while their best sentence says
        a good part of what the first one's does.
    """
    ground = Ground(model.key_weights(statement), passages)
    excluded: set[int] = set()
    first_cover = 0.0
    for number in range(_MOST_READINGS):
        result = compare(statement, ground, excluded)
        if number and result.chosen.cover < _LEAST_RIVAL * first_cover:
            return
        yield result
        if not result.chosen.places:
            return
        first_cover = first_cover or result.chosen.cover
        excluded.add(result.chosen.places[0].chunk_id)


def _verdict(model: Model, threshold: float, text: str, passages: Sequence[Passage]) -> Verdict:
    statement = statement_sentence(text)
    best: Comparison | None = None
    support = 0.0
    for result in readings(statement, model, passages):
        found = model.support(features(result)) if result.chosen.places else 0.0
        if best is None or found > support:
            best, support = result, found
    assert best is not None  # readings yields at least one
    is_supported = support >= threshold and bool(best.chosen.places)
    places = best.chosen.places
    missing = [statement.sequence[i][1] for i in best.missing]
    known = [any(key in passage.index for passage in passages) for key in missing]
    return Verdict(
        support=support,
        is_supported=is_supported,
        chunk_ids=tuple(dict.fromkeys(p.chunk_id for p in places)) if is_supported else (),
        reason=reason(best, is_supported=is_supported, known=known),
        evidence=tuple(Evidence(place.chunk_id, *place.sentence.span) for place in places),
    )
