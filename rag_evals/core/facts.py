"""What may a validator know of the call? Its facts, ids that must exist, things said once."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, ValidationInfo

T = TypeVar("T", bound=Hashable)


def facts_of(info: ValidationInfo) -> Mapping[str, Any] | None:
    """Return what a validator may know of the call, or None when no judge was asked.

    The keys are `question`, `answer`, `reference` (text or None), `chunks` (a list of texts),
    `chunk_count`, `sentences` (those of the answer, texts) and `criteria` (names); a grader may
    add its own.
    """
    context = info.context
    # A dict first: this is asked for every field of a reply, and finding out the rest is costly.
    if isinstance(context, dict | Mapping) and "chunk_count" in context:
        return context
    return None


_LAST_ATTEMPT = "is_last_attempt"


def is_last_attempt(info: ValidationInfo) -> bool:
    """Say whether a reply will not be asked again: what code can mark is then better than nothing.

    True also for a reply that was taken earlier and kept.
    """
    facts = facts_of(info)
    return facts is not None and bool(facts.get(_LAST_ATTEMPT))


def facts_for(facts: Mapping[str, Any], *, is_last: bool) -> dict[str, Any]:
    """Return the facts of a call as validators of one attempt get them."""
    return {**facts, _LAST_ATTEMPT: is_last}


def _check_id(noun: str, number: int, count: int) -> int:
    if not 0 <= number < count:
        there_are = f"ids run from 0 to {count - 1}" if count else f"there are no {noun}s"
        raise ValueError(f"{noun} id {number} does not exist; {there_are}")
    return number


def _shown_chunk(chunk_id: int, info: ValidationInfo) -> int:
    facts = facts_of(info)
    return chunk_id if facts is None else _check_id("chunk", chunk_id, facts["chunk_count"])


ChunkId = Annotated[int, AfterValidator(_shown_chunk)]
"""Place of a chunk in the context, from 0; the id of one that was not shown is asked again."""


def _shown_sentence(sentence_id: int, info: ValidationInfo) -> int:
    facts = facts_of(info)
    return (
        sentence_id
        if facts is None
        else _check_id("sentence", sentence_id, len(facts["sentences"]))
    )


SentenceId = Annotated[int, AfterValidator(_shown_sentence)]
"""Place of a sentence in the answer, from 0; one that does not exist is asked again."""


def _not_empty(statement: str, info: ValidationInfo) -> str:
    if facts_of(info) is not None and not statement.strip():
        raise ValueError("a statement is empty; every statement needs its text")
    return statement


StatementText = Annotated[str, AfterValidator(_not_empty)]
"""One claim in words; an empty one is asked again."""


def check_each_once(
    things: str,
    given: Iterable[T],
    wanted: Collection[T],
    *,
    missing: str = "have no verdict",
    repeated: str = "have two verdicts",
    wish: str = "",
) -> None:
    """Refuse a reply that does not speak of each thing exactly once.

    Args:
        things: What they are, in the plural, such as `chunks`.
        given: Names or numbers that the reply has, in the order to show them.
        wanted: Those that it must have, in the order to show them.
        missing: What to say of those that the reply lacks.
        repeated: What to say of those that it has twice.
        wish: What the judge shall do instead; empty where the faults say it.

    Raises:
        ValueError: Things that are missing, do not exist, or come twice; the judge is told which.
    """
    counts = Counter(given)
    for faulty, fault in (
        ([name for name in wanted if name not in counts], missing),
        ([name for name in counts if name not in wanted], "do not exist"),
        ([name for name, times in counts.items() if times > 1], repeated),
    ):
        if faulty:
            raise ValueError("; ".join(filter(None, (f"{things} {faulty} {fault}", wish))))
