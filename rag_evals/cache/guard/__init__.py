"""Is one statement the other in other words? A fixed list of rewrites decides, never similarity.

Both statements are written in one normal form: numbers, dates, units, contractions, a small lexicon
of synonyms. They may share a verdict when the forms are equal word for word, or become equal by one
of a few changes of order that keep the meaning. Every other difference is a miss: whatever words
this package does not know cannot be confused.
"""

from functools import lru_cache

from rag_evals.cache.guard.normal import Token, normal_form
from rag_evals.cache.guard.rewrites import variants

__all__ = ["may_share_verdict"]

_LONGEST = 2000


def may_share_verdict(a: str, b: str) -> bool:
    """Say whether the verdict on one statement may serve for the other, over the same chunks.

    Args:
        a: A statement in English or Russian; in other languages only equal words share.
        b: Another one.

    Returns:
        True when one is the other in other words, by the rewrites that are known here. False when
        anything else differs: when in doubt, they do not share.
    """
    if a == b:
        return True
    if max(len(a), len(b)) > _LONGEST:
        return False
    return any(_equal(one, other) for one in _forms(a) for other in _forms(b))


# A new statement is compared with all that are known for its context.
@lru_cache(maxsize=4096)
def _forms(statement: str) -> list[list[Token]]:
    tokens = normal_form(statement)
    return variants(tokens) if tokens else []


def _equal(first: list[Token], second: list[Token]) -> bool:
    return len(first) == len(second) and all(
        _same(one, other) for one, other in zip(first, second, strict=True)
    )


def _same(one: Token, other: Token) -> bool:
    """Compare two words; a capital at the start of a sentence says nothing, elsewhere it may."""
    if one.text == other.text:
        return True
    if not (one.initial or other.initial) or one.text.casefold() != other.text.casefold():
        return False
    # "WHO said" and "Who said", "US" and "us": capitals all through are a name.
    return not any(len(t.text) > 1 and t.text.isupper() for t in (one, other))
