"""Is one statement a rewording of the other? A fixed list of rewrites decides, never similarity.

Both statements are written in one normal form: numbers, dates, units, contractions, a few words
that mean the same next to certain others. They may share a verdict when the forms are equal word
for word, or become equal by one of a few changes of order that keep the meaning. Every other
difference is a miss: this package cannot confuse words that it does not know.
"""

from functools import lru_cache

from rag_evals.cache.guard.normal import normal_form, with_rules
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
    return not _forms(a).isdisjoint(_forms(b))


# A new statement is compared with all that are known for its context.
@lru_cache(maxsize=4096)
def _forms(statement: str) -> frozenset[str]:
    text = normal_form(statement)
    # A word may only be put for another where the order is plain: again after each change of it.
    moved = variants(with_rules(text)) if text else set()
    return frozenset(with_rules(form) for form in moved)
