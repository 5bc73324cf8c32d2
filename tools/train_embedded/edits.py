"""Which small edits make a supported statement false? Training pairs in almost the same words."""

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from rag_evals.text import split_sentences
from rag_evals.text.lexicon import groups_in, pairs_in
from rag_evals.text.word_forms import is_name_at, words
from tools.train_embedded.rows import Labelled

_MOST_PER_SOURCE = 400
_LONGEST = 400
_AUXILIARY = re.compile(
    r"\b(is|was|are|were|can|will|would|could|should|has|have|had|may|must)\b(?! not)"
)
_DENIAL = re.compile(r"\b(?:not|never|не) ")
_RUSSIAN_VERB = re.compile(r"\b([а-яё]{3,}(?:л|ла|ли|ло|ет|ит|ют|ят|ся|лся|лась|лись))\b")
Edit = Callable[[str, Labelled, random.Random, Sequence[str]], str | None]


def edit_supported(statements: Sequence[Labelled], *, seed: int) -> list[Labelled]:
    """Edit supported statements of one source.

    Args:
        statements: Statements of one source with their labels.
        seed: Same seed and statements, same edits.

    Returns:
        Edited copies; label 0 for a changed fact, 1 for a changed wording.
    """
    supported = [item for item in statements if item.label and len(item.text) <= _LONGEST]
    supported.sort(key=lambda item: hashlib.sha256(item.text.encode()).digest())
    pool = sorted({word for item in supported[:600] for word in _content(item.text)})
    made: list[Labelled] = []
    for item in supported[:_MOST_PER_SOURCE]:
        draw = random.Random(f"{seed}:{item.row_id}:{item.text}")
        made.extend(_edited(item, draw, pool))
    return made


def _edited(item: Labelled, draw: random.Random, pool: Sequence[str]) -> list[Labelled]:
    chosen = [edit for edit in _FALSE if draw.random() < 0.7]
    draw.shuffle(chosen)
    made: list[Labelled] = []
    hedged = _hedge_chunk(item, draw)
    if hedged is not None:
        made.append(hedged)
    for edit in chosen:
        text = edit(item.text, item, draw, pool)
        if text is not None and text != item.text and len(made) < 3:
            made.append(replace(item, text=text, label=0))
    kept = [item]
    same = _synonym(item.text, draw)
    if same is not None:
        kept.append(replace(item, text=same))
    return kept + made


def _hedge_chunk(item: Labelled, draw: random.Random) -> Labelled | None:
    """Make the evidence less than a fact: the statement is then not supported."""
    if len(item.chunks) != 1 or draw.random() < 0.75:
        return None
    own = {word.key for word in words(item.text) if word.kind != "stop"}
    spans = split_sentences(item.chunks[0])
    if not own or not spans:
        return None
    best = max(spans, key=lambda span: len(own & {word.key for word in words(span.text)}))
    if len(own & {word.key for word in words(best.text)}) < 0.7 * len(own):
        return None
    lead = draw.choice(_DOUBTS_RUSSIAN if item.language == "ru" else _DOUBTS_ENGLISH)
    text = item.chunks[0]
    changed = f"{text[: best.start]}{lead} {best.text[:1].lower()}{text[best.start + 1 :]}"
    return replace(item, chunks=(changed,), label=0)


def _content(text: str) -> list[str]:
    sequence = words(text)
    return [
        word.surface
        for position, word in enumerate(sequence)
        if word.kind == "word" and len(word.surface) > 3 and not is_name_at(sequence, position)
    ]


def _names(text: str) -> list[str]:
    sequence = words(text)
    found = [w.surface for position, w in enumerate(sequence) if is_name_at(sequence, position)]
    return list(dict.fromkeys(found))


def _put(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text, count=1)


def _change_number(
    text: str, item: Labelled, draw: random.Random, pool: Sequence[str]
) -> str | None:
    numbers = re.findall(r"\d+", text)
    if not numbers:
        return None
    old = draw.choice(numbers)
    value = int(old) if len(old) < 10 else 7
    new = value + draw.choice([1, 2, 3, 5, 10]) * draw.choice([1, -1])
    return _put(text, old, str(abs(new) if new != value else value + 1))


def _change_name(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    names = _names(text)
    if not names:
        return None
    others = [
        name for chunk in item.chunks[:4] for name in _names(chunk[:2000]) if name not in text
    ]
    if not others:
        return None
    return _put(text, draw.choice(names), draw.choice(others))


def _swap_names(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    names = _names(text)
    if len(names) < 2:
        return None
    first, second = draw.sample(names, 2)
    return _put(_put(_put(text, first, "\0"), second, first), "\0", second)


def _negate(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    if _DENIAL.search(text):
        return _DENIAL.sub("", text, count=1)
    if item.language == "ru":
        return _RUSSIAN_VERB.sub(r"не \1", text, count=1)
    return _AUXILIARY.sub(r"\1 not", text, count=1)


def _oppose(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    table = _opposite_surfaces()
    present = [word for word in _content(text) if word in table]
    if not present:
        return None
    old = draw.choice(present)
    return _put(text, old, draw.choice(table[old]))


def _change_word(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    present = _content(text)
    if not present:
        return None
    old = draw.choice(present)
    alike = [word for word in pool if word[-2:] == old[-2:] and word not in text]
    return _put(text, old, draw.choice(alike)) if alike else None


def _synonym(text: str, draw: random.Random) -> str | None:
    table = _synonym_surfaces()
    present = [word for word in _content(text) if word in table]
    if not present:
        return None
    old = draw.choice(present)
    return _put(text, old, draw.choice(table[old]))


@lru_cache(maxsize=1)
def _opposite_surfaces() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for left, right in pairs_in("opposites_english", "opposites_russian"):
        for word in left:
            table.setdefault(word, []).extend(right)
        for word in right:
            table.setdefault(word, []).extend(left)
    return table


@lru_cache(maxsize=1)
def _synonym_surfaces() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for group in groups_in("synonyms_english", "synonyms_russian"):
        for word in group:
            table.setdefault(word, []).extend(other for other in group if other != word)
    return {word: others for word, others in table.items() if others}


def _add_detail(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    if len(pool) < 2 or item.language == "ru":
        return None
    first, second = draw.sample(list(pool), 2)
    return f"{text.rstrip('. ')} {draw.choice(_JOINERS)} {first} {second}."


def _change_quantifier(
    text: str, item: Labelled, draw: random.Random, pool: Sequence[str]
) -> str | None:
    found = _QUANTIFIER.search(text)
    if found is None:
        return None
    new = draw.choice(_QUANTIFIER_SWAPS[found.group().lower()])
    return text[: found.start()] + new + text[found.end() :]


def _change_unit(text: str, item: Labelled, draw: random.Random, pool: Sequence[str]) -> str | None:
    found = _UNIT.search(text)
    if found is None:
        return None
    group = next(group for group in _UNITS if found.group(1).lower() in group)
    new = draw.choice([unit for unit in group if unit != found.group(1).lower()])
    return text[: found.start(1)] + new + text[found.end(1) :]


_JOINERS = ("and", "with", "in", "because of", "after", "for")
_DOUBTS_ENGLISH = (
    "It is possible that", "Some hoped that", "If", "Perhaps", "They plan to make sure that",
    "It was allegedly the case that", "Nobody knows whether", "There were fears that",
)  # fmt: skip
_DOUBTS_RUSSIAN = (
    "Возможно,", "Якобы", "Если", "Некоторые надеются, что", "Предполагается, что",
    "Есть опасения, что", "Неизвестно,", "Они обещают, что",
)  # fmt: skip
_QUANTIFIER_SWAPS = {
    "all": ["some", "most", "few"], "every": ["hardly any"], "some": ["all", "most", "no"],
    "many": ["all", "few", "no"], "most": ["few", "all"], "several": ["all"],
    "few": ["many", "all"],
    "often": ["rarely", "never"], "usually": ["rarely", "always"], "sometimes": ["always", "never"],
    "always": ["rarely", "sometimes"], "never": ["always"], "may": ["always", "must"],
    "все": ["некоторые", "немногие"], "некоторые": ["все"], "многие": ["немногие", "все"],
    "большинство": ["меньшинство"], "часто": ["редко"], "иногда": ["всегда"],
}  # fmt: skip
_QUANTIFIER = re.compile(rf"\b(?:{'|'.join(_QUANTIFIER_SWAPS)})\b", re.IGNORECASE)
_UNITS = (
    ("hours", "minutes", "days", "weeks", "months", "years", "seconds"),
    ("km", "miles", "metres", "kilometers", "meters", "feet", "inches", "centimeters"),
    ("million", "billion", "thousand", "trillion"),
    ("kg", "grams", "pounds", "tons"),
    ("percent", "dollars", "euros", "pounds"),
    ("часов", "минут", "дней", "недель", "месяцев", "лет"),
    ("миллионов", "миллиардов", "тысяч"),
    ("рублей", "долларов", "евро", "процентов"),
)
_UNIT = re.compile(
    rf"\d\s*({'|'.join(sorted({unit for group in _UNITS for unit in group}))})\b", re.IGNORECASE
)
_FALSE: tuple[Edit, ...] = (
    _change_number, _change_name, _swap_names, _negate, _oppose, _change_word,
    _change_quantifier, _change_unit, _add_detail,
)  # fmt: skip
