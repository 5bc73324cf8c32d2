"""Which words say the opposite of one another? Keys are those of `words`."""

from collections.abc import Iterable
from functools import lru_cache

from rag_evals.text._opposites import ALTERNATIVES, OPPOSITES_ENGLISH, OPPOSITES_RUSSIAN
from rag_evals.text.words import stem

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


@lru_cache(maxsize=1)
def opposites() -> dict[str, frozenset[str]]:
    """Return the lexicon of opposites; regular forms such as "illegal" are not in it."""
    pairs = f"{OPPOSITES_ENGLISH}{OPPOSITES_RUSSIAN}".split("\n")
    return _build([*pairs, *_alternatives()])


def _alternatives() -> Iterable[str]:
    """Write each group against all others of its line: red against blue, green and so on."""
    for line in ALTERNATIVES.split("\n"):
        groups = line.split(";")
        for number, group in enumerate(groups):
            others = " ".join(groups[:number] + groups[number + 1 :])
            yield f"{group}|{others}"


def _build(groups: Iterable[str]) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in groups:
        left, _, right = line.partition("|")
        left_keys = {stem(word) for word in left.split()}
        right_keys = {stem(word) for word in right.split()}
        for key in left_keys - right_keys:
            table.setdefault(key, set()).update(right_keys - left_keys)
        for key in right_keys - left_keys:
            table.setdefault(key, set()).update(left_keys - right_keys)
    return {key: frozenset(others) for key, others in table.items()}
