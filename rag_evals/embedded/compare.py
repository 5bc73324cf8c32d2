"""Contradictions between a statement and a sentence in a chunk.

Examples are written as: statement | sentence → result.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain, pairwise
from operator import or_
from typing import NamedTuple

from rag_evals.embedded.passage import (
    Found,
    Place,
    Sentence,
    clauses_in,
    denials_in,
    figures_in,
    heads_in,
    names_in,
)
from rag_evals.text import DENIES, DENIES_SOFTLY, READ_WELL, Word
from rag_evals.text.language import small_words
from rag_evals.text.lexicon import pairs_in, rivals_in
from rag_evals.text.word_forms import INSISTS, QUANTIFIERS, QUANTIFIES, WEAKENS, stem, synonyms


class Clash(NamedTuple):
    """A contradiction between a statement and a sentence.

    Attributes:
        kind: "number", "name", "opposite", "unit", "negation_added", "negation_dropped",
            "quantifier", "order" or "hedge".
        ours: The word in the statement; empty if there is none to show.
        theirs: The word in the sentence that contradicts it.
        keys: The statement's contradicted words; a clash counts fully if all other words agree.
    """

    kind: str
    ours: str
    theirs: str
    keys: frozenset[str] = frozenset()


class StatementComparison:
    __slots__ = (
        "_clashes", "evidence", "found", "language", "lost", "near", "replaced", "statement",
        "weights",
    )  # fmt: skip

    def __init__(
        self,
        statement: Sentence,
        weights: Mapping[str, float],
        language: str,
        found: Found,
        evidence: Place,
    ) -> None:
        self.statement, self.weights, self.language = statement, weights, language
        self.found, self.evidence = found, evidence
        theirs = evidence.sentence
        self.lost = [key for key in weights if key not in theirs.where]
        self.replaced: dict[str, str] = {}
        self.near: set[str] = set()
        if self.lost:
            self._find_replaced(theirs)
        self._clashes: list[Clash] | None = None

    @property
    def clashes(self) -> list[Clash]:
        if self._clashes is None:
            # A sentence that lacks too many of the statement's words is about something else.
            is_close = len(self.lost) - len(self.replaced) - len(self.near) <= _MOST_STRANGE
            self._clashes = list(self._find_clashes(self.evidence.sentence)) if is_close else []
        return self._clashes

    @property
    def held(self) -> set[str]:
        return {
            key
            for key in self.weights
            if key not in self.lost or key in self.replaced or key in self.near
        }

    def _find_replaced(self, theirs: Sentence) -> None:
        """Find a synonym, a related form or another unit for each missing word.

        "The tower's architecture" | "The tower's architects" → near {"architectur"}
        """
        table, where, heads = synonyms(), theirs.where, heads_in(theirs)
        has_numbers = False
        for key in self.lost:
            if key in table and not where.keys().isdisjoint(table[key]):
                self.replaced[key] = min(table[key] & where.keys())
            # "1894" is not a related form of "1890".
            elif key[0].isdigit():
                has_numbers = True
            elif key[:4] in heads:
                self.near.add(key)
        if has_numbers:
            self._find_same_amounts(theirs)

    def _find_same_amounts(self, theirs: Sentence) -> None:
        """Match "3.4 km" with "3,400 metres", and a total of 25 with "14 and 11"."""
        ours = self.statement
        is_sum = not _ALTOGETHER.isdisjoint([word.low for word in ours.sequence])
        if not (is_sum or any(unit in _BASE for unit in figures_in(ours).values())):
            return
        others = list(_amounts(theirs))
        plain = [value for value, kind, _ in others if not kind]
        sums = {abs(a + sign * b) for a, b in pairwise(plain) for sign in (1, -1)}
        for value, kind, key in _amounts(ours):
            same = [k for v, d, k in others if d == kind and abs(v - value) < 1e-6 * abs(value)]
            if kind and same:
                beside = ours.keys[ours.where[key] + 1 : ours.where[key] + 2]
                self.replaced |= {one: same[0] for one in (key, *beside) if one in self.lost}
            elif is_sum and key not in theirs.where and value in sums:
                self.replaced[key] = ""

    def _find_clashes(self, theirs: Sentence) -> Iterator[Clash]:
        ours = self.statement
        if figures_in(ours):
            yield from _figure_rivals(self, theirs)
            yield from _unit_clashes(self, theirs)
        if self.lost and self.language != "de":
            yield from _name_rivals(self, theirs)
        yield from _opposites(self, theirs)
        yield from _turned(self, theirs)
        marks = ours.marks | theirs.marks
        if marks & DENIES or self.language not in READ_WELL:
            yield from _denials(self, theirs)
        yield from _quantifiers(ours, theirs)
        if theirs.marks & WEAKENS and not ours.marks & WEAKENS:
            yield from _dropped_hedge(ours, theirs)


# Different numbers and names next to the same words.

_MOST_STRANGE = 5
_NUMBER_REACH = 3
_OPPOSITE_REACH = 3
_WIDEST_GAP = 8
_SAME_HEAD = 3
_TITLES = frozenset("mr mrs ms dr sir".split())
_ONE = frozenset("one один одна одно".split())


_ALTOGETHER = frozenset(
    "altogether total combined together sum more fewer less всего вместе итого больше "
    "меньше".split()
)


def _around(sequence: Sequence[Word], position: int, reach: int) -> set[str]:
    return {
        word.key
        for word in sequence[max(0, position - reach) : position + reach + 1]
        if word.kind in ("word", "unit")
    }


def _align(ours: Sentence, theirs: Sentence, weights: Mapping[str, float]) -> list[tuple[int, int]]:
    """Pair the positions of shared words, in order where possible."""
    anchors: list[tuple[int, int]] = []
    last = -1
    for i, key in enumerate(ours.keys):
        j = theirs.where.get(key) if key in weights else None
        if j is None:
            continue
        if j > last:
            j = theirs.keys.index(key, last + 1)
        anchors.append((i, j))
        last = j
    return anchors


_SAME_AMOUNT = 4
# The base unit and the conversion factor for each unit.
_BASE = {
    "km": ("m", 1000.0), "m": ("m", 1.0), "cm": ("m", 0.01), "mm": ("m", 0.001),
    "t": ("g", 1e6), "kg": ("g", 1000.0), "g": ("g", 1.0), "mg": ("g", 0.001),
    "week": ("s", 604800.0), "day": ("s", 86400.0), "h": ("s", 3600.0), "min": ("s", 60.0),
    "s": ("s", 1.0), "century": ("y", 100.0), "year": ("y", 1.0), "month": ("y", 1 / 12),
}  # fmt: skip


def _amounts(sentence: Sentence) -> Iterator[tuple[float, str, str]]:
    """Yield the value, base unit ("" if there is none) and key of each number."""
    before, kind_before, last = 0.0, "", -_SAME_AMOUNT
    for position, unit in figures_in(sentence).items():
        key = sentence.keys[position]
        if not key[0].isdigit() or key.count(".") > 1:
            continue
        kind, factor = _BASE.get(unit, ("", 1.0))
        value = float(key) * factor
        yield value, kind, key
        if kind and kind_before == kind and position - last < _SAME_AMOUNT:
            # "2 hours and 15 minutes"
            yield value + before, kind, key
        before, kind_before, last = value, kind, position


def _figure_rivals(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    """Pair each number or month missing from the sentence with another next to the same words.

    "It opened in 1923." | "It opened in 1889." → 1923, 1889
    """
    ours = compared.statement
    mine, others = figures_in(ours), figures_in(theirs)
    if not mine or not others:
        return
    # "House 2, street 2" | "House 2, street 3": each "2" is paired with only one number.
    said = theirs.keys
    free = [
        j for j in others
        if said[j] not in ours.where or said[: j + 1].count(said[j]) > ours.keys.count(said[j])
    ]  # fmt: skip
    for i in mine:
        key = ours.keys[i]
        if key in theirs.where or key in compared.replaced or ours.sequence[i].low in _ONE:
            continue
        near = _around(ours.sequence, i, _NUMBER_REACH)
        # "It is 500 m tall." | "Built in 1889, it is 330 m tall." → 500, 330
        for j in dict.fromkeys([*(j for j in free if others[j] == mine[i]), *free]):
            same_kind = (mine[i] == "month name") == (others[j] == "month name")
            if same_kind and near & _around(theirs.sequence, j, 2 * _NUMBER_REACH):
                shown = ours.sequence[i].surface, theirs.sequence[j].surface
                yield Clash("number", *shown, frozenset((key,)))
                free.remove(j)
                break


def _unit_clashes(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    """Find shared numbers with different units: "It weighs 5 kg." | "It weighs 5 tons" → kg."""
    ours = compared.statement
    for i, unit in figures_in(ours).items():
        key = ours.keys[i]
        if unit in ("", "month name") or key not in theirs.where or key in compared.replaced:
            continue
        units = {other for j, other in figures_in(theirs).items() if theirs.keys[j] == key}
        if units and unit not in units and "" not in units:
            beside = {word.key for word in ours.sequence[i + 1 : i + 2]}
            yield Clash("unit", key, min(units), frozenset((key, *beside)))


def _name_rivals(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    """Find a name that takes the place of a missing one, between the same shared words.

    "The tower in Paris is tall." | "The tower in London is tall." → Paris, London
    """
    ours = compared.statement
    names, other_names = names_in(ours), names_in(theirs)
    lost = [ours.where[k] for k in compared.lost if k in names and k not in compared.replaced]
    if not lost or not other_names:
        return
    anchors = _align(ours, theirs, compared.weights)
    bounds = [(-1, -1), *anchors, (len(ours.keys), len(theirs.keys))]
    for (i0, j0), (i1, j1) in pairwise(bounds):
        between = [i for i in lost if i0 < i < i1]
        if not between or not 0 < j1 - j0 <= _WIDEST_GAP:
            continue
        for word in theirs.sequence[j0 + 1 : j1]:
            key = word.key
            if key in other_names and key not in ours.where and word.low not in _TITLES:
                # "Hawaii" and "Hawaiʻi" are the same name.
                for i in between:
                    if ours.keys[i][:_SAME_HEAD] != key[:_SAME_HEAD]:
                        shown = ours.sequence[i].surface, word.surface
                        yield Clash("name", *shown, frozenset((ours.keys[i],)))
                break


# Opposites ("rise", "fall"); converses ("buy", "sell") do not clash if their sides are swapped.


def _opposing(listed: Iterable[tuple[list[str], list[str]]]) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for left, right in listed:
        left_keys, right_keys = set(map(stem, left)), set(map(stem, right))
        for own, others in ((left_keys, right_keys), (right_keys, left_keys)):
            for key in own - others:
                table.setdefault(key, set()).update(others - own)
    return {key: frozenset(others) for key, others in table.items()}


@lru_cache(maxsize=1)
def opposites() -> dict[str, frozenset[str]]:
    listed = pairs_in("opposites_english", "opposites_russian", "converses")
    return _opposing(chain(listed, rivals_in("alternatives")))


@lru_cache(maxsize=1)
def converses() -> dict[str, frozenset[str]]:
    return _opposing(pairs_in("converses"))


def _opposites(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    """Find opposites, and converses whose sides are not swapped.

    "Prices rose in May." | "Prices fell in May." → rose, fell
    """
    ours, where, table, turning = compared.statement, theirs.where, opposites(), converses()
    for key in sorted(ours.where.keys() & table.keys(), key=ours.where.__getitem__):
        if key in where or where.keys().isdisjoint(table[key]):
            continue
        i = ours.where[key]
        other = min(table[key] & where.keys())
        if other in ours.where:
            continue
        j = where[other]
        if (other in _denied(theirs, compared.language)) != (
            key in _denied(ours, compared.language)
        ):
            # "It is unknown." | "It is not known."
            compared.replaced[key] = other
            continue
        if other in turning.get(key, ()):
            sides = _sides(compared, theirs, i, j, names_only=False)
            if sides is not None and sides:
                compared.replaced[key] = other
            elif sides is not None:
                shown = ours.sequence[i].surface, theirs.sequence[j].surface
                yield Clash("opposite", *shown, frozenset((key,)))
            continue
        # Opposites are contradictory only if the same word occurs near both.
        if _around(ours.sequence, i, _OPPOSITE_REACH) & _around(
            theirs.sequence, j, 2 * _OPPOSITE_REACH
        ):
            shown = ours.sequence[i].surface, theirs.sequence[j].surface
            yield Clash("opposite", *shown, frozenset((key,)))


def _sides(
    compared: StatementComparison, theirs: Sentence, i: int, j: int, *, names_only: bool
) -> bool | None:
    """True if the words on both sides of a relation are swapped; None if unclear."""
    ours = compared.statement
    shared = {key for key in ours.where if key in theirs.where and key in compared.weights}
    if names_only:
        shared &= names_in(ours).keys() | names_in(theirs).keys()
    before = {key for key in shared if ours.where[key] < i}
    behind = shared - before
    their_before = {key for key in shared if theirs.where[key] < j}
    turned = (before - their_before, behind & their_before)
    if turned[0] and turned[1]:
        return True
    same = (before & their_before, behind - their_before)
    if names_only:
        return False if same[0] and same[1] else None
    return False if not turned[0] and not turned[1] else None


_PASSIVE = frozenset("was were been is are being be был была были было".split())
_DETERMINERS = frozenset("the a an his her its their has have had also".split())
_ALIKE_ENDINGS = tuple("бвгджзклмнпрстфхцчшщьйоеи")


def _is_passive(sentence: Sentence, position: int) -> bool:
    before = {word.low for word in sentence.sequence[max(0, position - 3) : position]}
    behind = {word.low for word in sentence.sequence[position + 1 : position + 7]}
    return not before.isdisjoint(_PASSIVE) and "by" in behind


def _turned(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    """Find relations with swapped names, and swapped values.

    "Rome beat Carthage." | "Carthage beat Rome." and
    "A has 3 pages, B has 5." | "A has 5 pages, B has 3."
    """
    ours = compared.statement
    names = names_in(ours).keys() | names_in(theirs).keys()
    shared_names = [key for key in names if key in ours.where and key in theirs.where]
    if len(shared_names) > 1 and compared.language != "de":
        for i, word in enumerate(ours.sequence):
            j = theirs.where.get(word.key)
            if word.kind != "word" or j is None or word.key in names:
                continue
            sides = _sides(compared, theirs, i, j, names_only=True)
            if sides is None:
                continue
            passive = _is_passive(ours, i) != _is_passive(theirs, j)
            if sides != passive and _is_plain_relation(compared, theirs, i, j, names):
                yield Clash("order", "", "", frozenset())
                return
    if not (ours.marks | theirs.marks) & DENIES:
        yield from _misplaced(compared, theirs)


def _is_plain_relation(
    compared: StatementComparison, theirs: Sentence, i: int, j: int, names: Iterable[str]
) -> bool:
    """True if both texts express the relation between the names in the same way."""
    ours, found = compared.statement, set(names)
    told: list[tuple[set[str], set[str]]] = []
    for sentence, at in ((ours, i), (theirs, j)):
        left = max((n for n in range(at) if sentence.keys[n] in found), default=0)
        right = min(
            (n for n in range(at, len(sentence.keys)) if sentence.keys[n] in found),
            default=len(sentence.keys),
        )
        inside = sentence.sequence[left + 1 : right]
        stops = {w.low for w in inside if w.kind == "stop"} - _DETERMINERS - _PASSIVE - {"by"}
        told.append((stops, {w.key for w in inside if w.kind != "stop"}))
    if told[0][0] != told[1][0] or not told[0][1] <= told[1][1]:
        return False
    # Russian marks roles by case, so word order matters only if the cases look alike.
    return all(
        word.surface[0] < "А"
        or word.surface != theirs.sequence[theirs.where[word.key]].surface
        or word.low.endswith(_ALIKE_ENDINGS)
        for word in ours.sequence
        if word.key in found and word.key in theirs.where
    )


_SAME_VALUE, _MOST_CLAUSES = 2, 4


def _misplaced(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    """Find a value that the sentence assigns to something else.

    In the sentence, the words that surround the value in the statement appear in another clause,
    next to another value of the same type: a number, a name, or an opposite word.
    """
    ours = compared.statement
    values = _values(ours, theirs)
    clauses = clauses_in(theirs) if values else []
    if not values or not 0 < clauses[-1] < _MOST_CLAUSES:
        return
    # For each key, a bit mask of the clauses that contain it.
    places: dict[str, int] = {}
    for key, clause in zip(theirs.keys, clauses, strict=True):
        places[key] = places.get(key, 0) | 1 << clause
    for key, kind in values.items():
        beside = _beside_value(compared, key, kind, places)
        here = places[key]
        there = reduce(or_, [places[other] for other in beside if not places[other] & here], 0)
        if not there or not all(places[other] & ~here for other in beside):
            continue
        # Compare only clauses that share a word.
        if clauses[-1] > 1 and not any(one & here and one & there for one in places.values()):
            continue
        at = [n for n, other in enumerate(theirs.keys) if other == key]
        rival = next(
            (
                n
                for n, other in enumerate(theirs.keys)
                if 1 << clauses[n] & there and other in kind and other != key
                if min(abs(n - m) for m in at) > _SAME_VALUE
            ),
            None,
        )
        if rival is not None and theirs.keys[rival] not in beside:
            shown = ours.sequence[ours.where[key]], theirs.sequence[rival]
            yield Clash("order", shown[0].surface, shown[1].surface)
            return


def _values(ours: Sentence, theirs: Sentence) -> dict[str, Collection[str]]:
    """Map each shared value to all values of the same type in the sentence."""
    table, named = opposites(), names_in(theirs)
    figures = {theirs.keys[j] for j in figures_in(theirs)}
    mine = {ours.keys[i] for i in figures_in(ours)}
    values: dict[str, Collection[str]] = {}
    for key in ours.where:
        if key not in theirs.where:
            continue
        if key in mine and len(figures) > 1:
            values[key] = figures
        elif key in named and len(named) > 1:
            values[key] = named
        elif key in table and not table[key].isdisjoint(theirs.where):
            values[key] = table[key]
    return values


def _beside_value(
    compared: StatementComparison, key: str, kind: Collection[str], places: Mapping[str, int]
) -> list[str]:
    """Return the other shared words in the statement's clause that contains the value."""
    ours, clauses = compared.statement, clauses_in(compared.statement)
    at, figures = ours.where[key], figures_in(ours)
    return [
        other
        for n, other in enumerate(ours.keys)
        if clauses[n] == clauses[at] and other in compared.weights and other in places
        if other != key and not (abs(n - at) <= _SAME_VALUE and (other in kind or n in figures))
    ]


# Negations, quantifiers and hedges that only one of the texts contains.

_SCOPE = 4
_TARGET_REACH = 3
_HEDGE_REACH = 4
# "Can" and "often" are hardly stronger than "may".
_HALF_HEDGES = frozenset("can often sometimes typically можно иногда часто".split())
# "Чтобы" expresses purpose in "Чтобы сбросить роутер, …", but a wish in "Жители требуют, чтобы …".
_PURPOSE = "чтобы"
_AMOUNTS = frozenset(("all", "most", "many", "some", "few", "none", "half"))
# The quantifiers that contradict each quantifier. "Many" implies "some", but not vice versa.
_RIVALS = {
    "all": _AMOUNTS - {"all"} | {"not all"},
    "most": frozenset(("half", "some", "few", "none")),
    "many": frozenset(("few", "none")),
    "half": frozenset(("all", "most", "few", "none")),
    "some": frozenset(("none",)),
    "few": frozenset(("all", "most", "many", "half")),
    "none": _AMOUNTS - {"none"} | {"not all"},
    "not all": frozenset(("all", "none")),
    "over": frozenset(("under",)),
    "under": frozenset(("over",)),
}
# "At least five" means "over"; "up to five" means "under".
_PHRASES = {
    ("at", "least"): "over", ("more", "than"): "over", ("at", "most"): "under",
    ("up", "to"): "under", ("fewer", "than"): "under", ("less", "than"): "under",
    ("не", "менее"): "over", ("не", "более"): "under",
}  # fmt: skip
_USES = frozenset(map(stem, "use try apply employ используйте использовать применяйте".split()))
_CLAUSE_OPENERS = frozenset(("that", "что"))
_IN_PHRASES = frozenset(map(stem, "than least most up менее более".split()))


def _denied(sentence: Sentence, language: str) -> list[str]:
    """Return the key of the next content word after each negation.

    "Do not use a hose." also negates "hose": after "use", the following word is included.
    """
    targets: list[str] = []
    sequence = sentence.sequence
    small = small_words(language) if language not in READ_WELL else ()
    for position in denials_in(sentence, language):
        following = sequence[position + 1 : position + 1 + _SCOPE]
        if language not in READ_WELL and not following:
            # German and Japanese put the negation after the verb.
            following = sequence[max(0, position - _SCOPE) : position][::-1]
        following = [word for word in following if word.kind == "word" and word.key not in small]
        is_use = bool(following) and following[0].key in _USES
        targets += [word.key for word in following[: 1 + is_use]]
    return targets


def _is_denied(sentence: Sentence, key: str, language: str) -> bool:
    # "It belongs not to him, it belongs to her" also contains "belongs" without a negation.
    positions = [n for n, other in enumerate(sentence.keys) if other == key]
    denials = denials_in(sentence, language)
    return bool(positions) and all(any(-2 <= p - d <= _SCOPE for d in denials) for p in positions)


def _denials(compared: StatementComparison, theirs: Sentence) -> Iterator[Clash]:
    ours, language = compared.statement, compared.language
    denied, own = _denied(ours, language), denials_in(ours, language)
    if own and not any(key in ours.where for key in _denied(theirs, language)):
        # In "n'a pas", the word next to the negation may belong to it.
        reach = 0 if language in READ_WELL else 1
        words = {key for n in own for key in ours.keys[max(0, n - reach) : n + 1]}
        for key in denied:
            other = key if key in theirs.where else compared.replaced.get(key, "")
            against = [n for n in denials_in(theirs, language) if theirs.keys[n] != other]
            if other in theirs.where and not against:
                yield Clash("negation_added", "", "", frozenset((key, *words)))
                return
    if own or (denied and ours.marks & DENIES_SOFTLY):
        return
    for key in _denied(theirs, language):
        if key in ours.where and _is_denied(theirs, key, language):
            # "A hose is effective." | "Do not use a hose.": "effective" is also contradicted.
            at = ours.where[key]
            beside = ours.keys[max(0, at - _OPPOSITE_REACH) : at + _OPPOSITE_REACH + 1]
            own_words = [other for other in beside if other not in theirs.where]
            yield Clash("negation_dropped", "", "", frozenset(own_words[:1]))
            return


def _quantified(sentence: Sentence) -> list[tuple[str, str, str]]:
    """Return each quantifier's group and surface form, and the key of the following word."""
    found: list[tuple[str, str, str]] = []
    if not sentence.marks & QUANTIFIES and _IN_PHRASES.isdisjoint(sentence.where):
        return found
    sequence = sentence.sequence
    for position, word in enumerate(sequence):
        following = sequence[position + 1].low if position + 1 < len(sequence) else ""
        before = sequence[position - 1].low if position else ""
        group = _PHRASES.get((word.low, following))
        if group is None and not word.marks & QUANTIFIES:
            continue
        if (before, word.low) in _PHRASES:
            continue
        group = group or QUANTIFIERS[word.low]
        if group == "all" and before in ("not", "не"):
            group = "not all"
        behind = sequence[position + 1 : position + 2 + _TARGET_REACH]
        target = next((w.key for w in behind if w.kind in ("word", "number")), "")
        found.append((group, word.surface, target))
    return found


def _quantifiers(ours: Sentence, theirs: Sentence) -> Iterator[Clash]:
    others = _quantified(theirs)
    groups = {group for group, _, _ in others}
    mine = _quantified(ours)
    told = {surface for _, surface, _ in mine}
    own = frozenset(
        word.key for word in ours.sequence if word.marks & QUANTIFIES or word.surface in told
    )
    for group, surface, target in mine:
        if group in groups:
            continue
        rivals = _RIVALS.get(group, frozenset())
        other = next((s for g, s, t in others if g in rivals and t == target), None)
        if other is not None:
            yield Clash("quantifier", surface, other, own)


def _dropped_hedge(ours: Sentence, theirs: Sentence) -> Iterator[Clash]:
    """Find a possibility in the sentence that the statement presents as a fact."""
    if any(word.low in _HALF_HEDGES for word in ours.sequence):
        return
    sequence = theirs.sequence
    for position, word in enumerate(sequence):
        if not word.marks & WEAKENS or (word.low == _PURPOSE and not position):
            continue
        following = sequence[position + 1 : position + 1 + _HEDGE_REACH]
        opener = next((n for n, w in enumerate(following) if w.low in _CLAUSE_OPENERS), None)
        # In "They suspect in earnest that he left", the first word after "that" is also hedged.
        heads = [following] if opener is None else [following, sequence[position + opener + 2 :]]
        doubted = [next((w.key for w in head if w.kind != "stop"), "") for head in heads]
        if any(key in ours.where for key in doubted):
            insists = frozenset(w.key for w in ours.sequence if w.marks & INSISTS)
            yield Clash("hedge", "", word.surface, insists)
            return
