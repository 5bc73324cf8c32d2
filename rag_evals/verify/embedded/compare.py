"""How does a statement differ from its evidence, word by word?

The statement's words are aligned to the best evidence sentence; what stands at the place of a
missing word (a number for a number, a name for a name, an opposite) is found between the words
that both share.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rag_evals.text.words import Word, synonyms
from rag_evals.verify.embedded.evidence import Chosen, Ground
from rag_evals.verify.embedded.passage import Sentence

_WIDEST_GAP = 8
_NUMBER_REACH = 3
_SHORTEST_HEAD = 4
_OPPOSITE_REACH = 3
# Names of things end so as subject and as object alike.
_ALIKE_ENDINGS = tuple("бвгджзклмнпрстфхцчшщьйоеи")
_DETERMINERS = frozenset("the a an his her its their has have had also".split())
_TITLES = frozenset("mr mrs ms dr sir".split())
_SAME_HEAD = 3
_PASSIVE = frozenset(("by", "was", "were", "been", "был", "была", "были", "было"))


@dataclass(slots=True)
class Comparison:
    """A statement beside its evidence; positions count the statement's words from 0."""

    statement: Sentence
    weights: Mapping[str, float]
    total: float
    content: list[int]
    chosen: Chosen
    held: set[str] = field(default_factory=set)
    chunk_keys: Mapping[str, Sequence[int]] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    near: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    replaced_wide: set[str] = field(default_factory=set)
    wide: set[str] = field(default_factory=set)
    anchors: list[tuple[int, int]] = field(default_factory=list)
    name_inversions: int = 0
    name_rivals: dict[int, str] = field(default_factory=dict)
    opposites: list[tuple[str, str]] = field(default_factory=list)
    number_rivals: dict[int, tuple[str, int]] = field(default_factory=dict)
    wrong_units: list[tuple[str, str, str]] = field(default_factory=list)


def compare(statement: Sentence, ground: Ground, excluded: Collection[int]) -> Comparison:
    """Compare a statement with the chunks.

    Args:
        statement: The prepared statement.
        ground: The chunks as the statement sees them.
        excluded: Ids of chunks not to read.

    Returns:
        The evidence chosen and every difference found; differences are empty without evidence.
    """
    weights = ground.weights
    content = [i for i, word in enumerate(statement.sequence) if word[1] in weights]
    result = Comparison(statement, weights, ground.total, content, ground.choose(excluded))
    places = result.chosen.places
    for place in places:
        result.held.update(place.sentence.positions)
    sequence = statement.sequence
    result.missing = [i for i in content if sequence[i][1] not in result.held]
    if not places:
        return result
    result.chunk_keys = ground.passages[places[0].chunk_id].index
    result.wide = _wide_keys(ground, excluded)
    primary = places[0].sentence
    _find_near(result)
    _find_acronyms(result)
    _align(result, primary)
    _compare_gaps(result, primary)
    _find_opposites(result, primary)
    _compare_units(result)
    _find_number_rivals(result)
    return result


def _wide_keys(ground: Ground, excluded: Collection[int]) -> set[str]:
    """Return the statement's keys that the best chunk, or a chunk nearly as good, holds."""
    covers = [
        (cover, passage.index)
        for chunk_id, (cover, passage) in enumerate(
            zip(ground.chunk_covers, ground.passages, strict=True)
        )
        if chunk_id not in excluded
    ]
    # An unrelated chunk stays under this bar, so that its stray words change nothing.
    bar = max(0.3 * ground.total, 0.5 * max(cover for cover, _ in covers))
    keys = ground.weights.keys()
    return {key for cover, index in covers if cover >= bar for key in keys & index.keys()}


def _find_near(result: Comparison) -> None:
    """Find what stands for missing words: a synonym, or a word of the same beginning."""
    tables = [place.sentence.heads for place in result.chosen.places]
    sequence, held = result.statement.sequence, result.held
    for key in dict.fromkeys(sequence[i][1] for i in result.missing):
        if key[0].isdigit():
            continue
        same = synonyms(key)
        if same and not same.isdisjoint(held):
            result.replaced[key] = min(same & held)
            continue
        if len(key) >= _SHORTEST_HEAD:
            head = key[:_SHORTEST_HEAD]
            for heads in tables:
                if head in heads:
                    result.near[key] = heads[head]
                    break
        if same and key not in result.near and not result.chunk_keys.keys().isdisjoint(same):
            result.replaced_wide.add(key)


def _find_acronyms(result: Comparison) -> None:
    """Let "EU" stand for "European Union", in either direction."""
    statement, held = result.statement, result.held
    if not any(statement.sequence[i][3] for i in result.missing):
        return
    for place in result.chosen.places:
        theirs = place.sentence
        if theirs.acronyms:
            for letters, keys in statement.initials.items():
                if letters in theirs.acronyms:
                    lost = (key for key in keys if key in result.weights and key not in held)
                    result.replaced.update((key, theirs.acronyms[letters]) for key in lost)
        for letters, key in statement.acronyms.items():
            if key not in held and letters in theirs.initials:
                result.replaced[key] = theirs.initials[letters][0]


def _align(result: Comparison, primary: Sentence) -> None:
    where = primary.positions
    sequence = result.statement.sequence
    last = -1
    for i in result.content:
        found = where.get(sequence[i][1])
        if found is None:
            continue
        j = next((place for place in found if place > last), found[-1])
        result.anchors.append((i, j))
        last = j
    theirs = [j for _, j in result.anchors]
    is_turned = theirs != sorted(theirs)
    if is_turned and _is_passive(result.statement) == _is_passive(primary):
        result.name_inversions = _name_inversions(result, primary)


def _name_inversions(result: Comparison, primary: Sentence) -> int:
    """Count words between the same two names in turned order ("A beat B", "B beat A")."""
    sequence, other = result.statement.sequence, primary.sequence
    # The first word of a sentence may be a name that only the other text shows as one.
    names = result.statement.names.keys() | primary.names.keys()
    anchors = result.anchors
    is_name = [sequence[i][1] in names for i, _ in anchors]
    turned = 0
    for position, (_, middle) in enumerate(anchors):
        if is_name[position]:
            continue
        before = next((anchors[k] for k in range(position - 1, -1, -1) if is_name[k]), None)
        after = next((anchors[k] for k in range(position + 1, len(anchors)) if is_name[k]), None)
        if before is None or after is None or not after[1] < middle < before[1]:
            continue
        ours, theirs = sequence[before[0] + 1 : after[0]], other[after[1] + 1 : before[1]]
        turned += (
            _is_same_relation(ours, theirs)
            and _is_role_changed(sequence[before[0]], other[before[1]])
            and _is_role_changed(sequence[after[0]], other[after[1]])
        )
    return turned


def _is_same_relation(ours: Sequence[Word], theirs: Sequence[Word]) -> bool:
    # "X is by Y" may turn round as "Y's X"; the same words between the names may not.
    links, their_links = (
        {word.low for word in found if word.kind == "stop" and word.low not in _DETERMINERS}
        for found in (ours, theirs)
    )
    told, their_told = ({word.key for word in w if word.kind != "stop"} for w in (ours, theirs))
    return links == their_links and told <= their_told


def _is_role_changed(ours: Word, theirs: Word) -> bool:
    # Russian marks roles by case, not by order: only changed forms are changed roles, and forms
    # that are alike in both cases, where the order decides.
    if ours[0][0] < "А" or ours[0] != theirs[0]:
        return True
    return ours.low.endswith(_ALIKE_ENDINGS)


def _is_passive(sentence: Sentence) -> bool:
    return any(word[0] in _PASSIVE for word in sentence.sequence)


def _compare_gaps(result: Comparison, primary: Sentence) -> None:
    """Find what the evidence says between two shared words where the statement says another."""
    sequence, other = result.statement.sequence, primary.sequence
    names = result.statement.names
    missing = [
        i
        for i in result.missing
        if sequence[i][1] in names and sequence[i][1] not in result.replaced
    ]
    if not missing or not primary.names:
        return
    bounds = [(-1, -1), *result.anchors, (len(sequence), len(other))]
    for (i0, j0), (i1, j1) in pairwise(bounds):
        if not 0 < j1 - j0 <= _WIDEST_GAP:
            continue
        lost = [i for i in missing if i0 < i < i1]
        for word in other[j0 + 1 : j1] if lost else ():
            key = word[1]
            if (
                word[2] != "stop"
                and key not in result.weights
                and key in primary.names
                and word[4] not in _TITLES
            ):
                # "Hawaii" and "Hawaiʻi" are spellings of one name.
                strange = [i for i in lost if sequence[i][1][:_SAME_HEAD] != key[:_SAME_HEAD]]
                result.name_rivals.update((i, word[0]) for i in strange)
                break


def _find_opposites(result: Comparison, primary: Sentence) -> None:
    sequence, ours = result.statement.sequence, result.statement.positions
    theirs = primary.positions
    words = result.statement.opposable
    if not primary.turned.keys().isdisjoint(ours):
        words = result.statement.first_words()
    for i, key, listed, forms in words:
        if key in result.held:
            continue
        other = (
            min([other for other in listed if other in theirs], default=None)
            or primary.turned.get(key)
            or next((form for form in forms if form in theirs), None)
        )
        if other is None or other in ours:
            continue
        j = theirs[other][-1]
        # Opposites clash only where both speak of the same thing: a shared word stands beside both.
        if _around(sequence, [i], _OPPOSITE_REACH) & _around(
            primary.sequence, [j], 2 * _OPPOSITE_REACH
        ):
            result.opposites.append((sequence[i][0], primary.sequence[j][0]))


def _compare_units(result: Comparison) -> None:
    for number, unit in result.statement.numbers.items():
        if not unit or number not in result.held:
            continue
        units = {
            place.sentence.numbers.get(number, "")
            for place in result.chosen.places
            if number in place.sentence.positions
        }
        if unit not in units and "" not in units:
            result.wrong_units.append((number, unit, min(units)))


def _find_number_rivals(result: Comparison) -> None:
    """Pair missing numbers and months with those in like surroundings in the evidence."""
    figures = result.statement.figures
    missing = [i for i in result.missing if i in figures] if figures else []
    for place in result.chosen.places if missing else ():
        other = place.sentence.sequence
        free = [j for j in place.sentence.figures if other[j][1] not in result.statement.positions]
        for i in missing if free else ():
            j = _number_rival(result.statement.sequence, i, other, free)
            if j is not None and i not in result.number_rivals:
                result.number_rivals[i] = (other[j][0], place.chunk_id)
                free.remove(j)


def _number_rival(
    sequence: Sequence[Word], i: int, other: Sequence[Word], free: Sequence[int]
) -> int | None:
    ours = _around(sequence, [i], _NUMBER_REACH)
    is_number = sequence[i][2] == "number"
    for j in free:
        same_kind = is_number == (other[j][2] == "number")
        if same_kind and ours & _around(other, [j], 2 * _NUMBER_REACH):
            return j
    return None


def _around(sequence: Sequence[Word], positions: Sequence[int], reach: int) -> set[str]:
    return {
        word[1]
        for position in positions
        for word in sequence[max(0, position - reach) : position + reach + 1]
        if word[2] in ("word", "unit")
    }
