"""Which words say the opposite of one another? Keys are those of `words`."""

from functools import lru_cache
from itertools import chain

from rag_evals.text import pairs_in, rivals_in, stem

NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "не", "без", "бес")
_SHORTEST_ROOT = 4


def positive_forms(key: str) -> list[str]:
    """Return what a key says without a denying prefix: "legal" for "illegal"."""
    if not key.startswith(NEGATIVE_PREFIXES):
        return []
    return [
        key[len(prefix) :]
        for prefix in NEGATIVE_PREFIXES
        if key.startswith(prefix) and len(key) - len(prefix) >= _SHORTEST_ROOT
    ]


def opposed_forms(word: str) -> list[str]:
    """Return words that say the opposite of a word, one for each key: "closed" for "open"."""
    key = stem(word.lower())
    forms: dict[str, str] = {}
    for pair in pairs_in("opposites_english", "opposites_russian"):
        for ours, theirs in (pair, pair[::-1]):
            if key in map(stem, ours):
                forms.update((stem(form), form) for form in theirs if stem(form) != key)
    return list(forms.values())


@lru_cache(maxsize=1)
def opposites() -> dict[str, frozenset[str]]:
    """Return the lexicon of opposites; regular forms such as "illegal" are not in it."""
    table: dict[str, set[str]] = {}
    listed = pairs_in("opposites_english", "opposites_russian")
    for left, right in chain(listed, rivals_in("alternatives")):
        left_keys, right_keys = set(map(stem, left)), set(map(stem, right))
        for key in left_keys - right_keys:
            table.setdefault(key, set()).update(right_keys - left_keys)
        for key in right_keys - left_keys:
            table.setdefault(key, set()).update(left_keys - right_keys)
    return {key: frozenset(others) for key, others in table.items()}
