# Word lists and patterns read better unbroken.
# ruff: noqa: E501
"""Which words turn a statement round: negations, quantifiers, hedges, antonyms, directions?

Lexicons for English and Russian and a few functions on words; the keys are those of `words`.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache

from rag_evals.text._opposites import OPPOSITES_ENGLISH, OPPOSITES_RUSSIAN
from rag_evals.text.words import Word, stem

_DENYING = """
no not n't never none nobody nothing neither nor without cannot can't won't don't doesn't didn't
isn't aren't wasn't weren't hasn't haven't hadn't wouldn't shouldn't couldn't mustn't hardly
barely scarcely nowhere lack lacks lacked lacking fail fails failed failing unable refuse
refused refuses deny denies denied не ни нет без никогда никто ничего нигде нельзя невозможно
отсутствует отсутствуют отказался отказалась отказались отказывается никак никакой никаких вряд
"""
_NEGATIONS = frozenset(_DENYING.split())
_QUANTIFIERS = {
    form: group
    for group, forms in {
        "all": "all every each entire entirely always everyone everybody everything whole completely "
        "totally exclusively все всех всем всеми каждый каждая каждое каждого всегда весь вся всю "
        "полностью целиком любой любая",
        "most": "most mostly majority usually generally mainly largely большинство обычно чаще "
        "преимущественно",
        "many": "many numerous often frequently much lots многие много многих часто",
        "some": "some several certain sometimes partly partially некоторые некоторых несколько иногда "
        "частично отчасти",
        "few": "few rarely seldom minority little редко немногие немногих мало меньшинство",
        "none": "none no never nobody nothing никто никогда ничего ни нет",
        "only": "only solely just merely только лишь исключительно единственный единственная",
        "both": "both оба обе обоих",
        "half": "half половина половину половины",
        "over": "over above exceeding exceeds exceeded свыше более больше",
        "under": "under below менее меньше",
    }.items()
    for form in forms.split()
}
_MODAL = """
may might could possibly perhaps probably likely maybe potentially suggests suggested allegedly
reportedly appears seems plans planned proposed considering intends hopes может могут возможно
вероятно наверное видимо кажется якобы предположительно планирует планируют намерен намерена
намерены собирается собираются ожидается предполагается
"""
_MODALS = frozenset(_MODAL.split())
_ABSOLUTE = """
always never all every must only certainly definitely proves proven proved guarantees guaranteed
undoubtedly всегда никогда все только обязательно безусловно точно доказано гарантирует
"""
_ABSOLUTES = frozenset(_ABSOLUTE.split())
_NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "не", "без", "бес")


def is_negation(word: Word) -> bool:
    """Tell whether a word denies what follows or precedes it."""
    low = word.surface.lower() if word.is_capital else word.surface
    return low in _NEGATIONS or ("’" in low and low.replace("’", "'") in _NEGATIONS)


def quantifier(word: Word) -> str | None:
    """Name the group of one quantifier; None for any other word."""
    return _QUANTIFIERS.get(word.surface.lower() if word.is_capital else word.surface)


def is_hedge(word: Word) -> bool:
    """Tell whether a word weakens a claim ("may", "reportedly", "возможно")."""
    return (word.surface.lower() if word.is_capital else word.surface) in _MODALS


def is_absolute(word: Word) -> bool:
    """Tell whether a word leaves no exception ("always", "proven", "всегда")."""
    return (word.surface.lower() if word.is_capital else word.surface) in _ABSOLUTES


def opposite_among(key: str, keys: Collection[str]) -> str | None:
    """Return the first of `keys` that is opposite to `key`, by lexicon or prefix; None if none is."""
    for other in sorted(_opposites().get(key, _NONE)):
        if other in keys:
            return other
    for prefix in _NEGATIVE_PREFIXES:
        if key.startswith(prefix) and len(key) - len(prefix) >= 4 and key[len(prefix) :] in keys:
            return key[len(prefix) :]
        if len(key) >= 4 and prefix + key in keys:
            return prefix + key
    return None


@lru_cache(maxsize=1)
def _opposites() -> dict[str, frozenset[str]]:
    return _build((OPPOSITES_ENGLISH + OPPOSITES_RUSSIAN).strip().splitlines())


def _build(groups: Sequence[str]) -> dict[str, frozenset[str]]:
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


_NONE: frozenset[str] = frozenset()
