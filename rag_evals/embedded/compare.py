"""How does a statement differ from its evidence, word by word?

The statement's words are aligned to the best evidence sentence. Between the words that both share,
the word in place of a missing one is found: a number for a number, a name for a name, an opposite.
Examples below read: statement | evidence → what is found.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from rag_evals.embedded.passage import ChosenEvidence, EvidenceSearch
from rag_evals.embedded.sentence import Sentence
from rag_evals.text import (
    DENIES,
    DENIES_SOFTLY,
    QUANTIFIERS,
    QUANTIFIES,
    READ_WELL,
    WEAKENS,
    Word,
    stem,
)

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
class EvidenceComparison:
    """A statement beside its evidence; positions count the statement's words from 0.

    `missing` holds positions of content words that the evidence lacks, `lost` their keys.
    """

    statement: Sentence
    weights: Mapping[str, float]
    total: float
    content: list[int]
    evidence: ChosenEvidence
    covered_keys: set[str] = field(default_factory=set)
    chunk_keys: Mapping[str, Sequence[int]] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
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


def compare(
    statement: Sentence, search: EvidenceSearch, excluded: Collection[int]
) -> EvidenceComparison:
    """Compare a statement with the chunks.

    Args:
        statement: The prepared statement.
        search: The chunks as the statement sees them.
        excluded: Ids of chunks not to read.

    Returns:
        The evidence chosen and what it shares with the statement; `find_differences` adds the rest.
    """
    evidence = search.best_evidence(excluded)
    content = search.content
    result = EvidenceComparison(statement, search.weights, search.total, content, evidence)
    covered_keys = result.covered_keys
    for each in evidence.sentences:
        covered_keys.update(each.sentence.last)
    keys = statement.keys
    result.missing = [i for i in content if keys[i] not in covered_keys]
    result.lost = list(dict.fromkeys([keys[i] for i in result.missing]))
    if not evidence.sentences:
        return result
    result.chunk_keys = search.passages[evidence.sentences[0].chunk_id].index
    result.wide = search.wide_keys(excluded)
    _find_near(result)
    _find_acronyms(result)
    return result


def find_differences(result: EvidenceComparison) -> None:
    """Find what the evidence says otherwise; without evidence it says nothing.

    Args:
        result: What `compare` returned; it is filled in.
    """
    if not result.evidence.sentences:
        return
    primary = result.evidence.sentences[0].sentence
    _align(result, primary)
    _compare_gaps(result, primary)
    _find_opposites(result, primary)
    _compare_units(result)
    _find_number_rivals(result)


def _find_near(result: EvidenceComparison) -> None:
    """Find what stands for missing words: a synonym, or a word of the same beginning.

    "The tower's architecture" | "The tower's architects" → near {"architectur": "architect"}
    """
    tables = [each.sentence.heads for each in result.evidence.sentences]
    table, covered_keys = result.statement.synonyms, result.covered_keys
    for key in result.lost:
        same = table.get(key)
        if same and not same.isdisjoint(covered_keys):
            result.replaced[key] = min(same & covered_keys)
            continue
        head = key[:_SHORTEST_HEAD]
        is_near = False
        for heads in tables:
            # A year of the same century is no other form of a year.
            if head in heads and not key[0].isdigit():
                result.near[key] = heads[head]
                is_near = True
                break
        if same and not is_near and not result.chunk_keys.keys().isdisjoint(same):
            result.replaced_wide.add(key)


def _find_acronyms(result: EvidenceComparison) -> None:
    """Let "EU" stand for "European Union", in either direction.

    "The EU agreed." | "The European Union agreed." → replaced {"eu": "europ"}
    """
    statement, covered_keys = result.statement, result.covered_keys
    initials, acronyms = statement.initials, statement.acronyms
    if not (initials or acronyms):
        return
    if not any(statement.sequence[i].is_capital for i in result.missing):
        return
    for each in result.evidence.sentences:
        theirs = each.sentence
        for letters, keys in initials.items():
            if letters in theirs.acronyms:
                lost = (key for key in keys if key in result.weights and key not in covered_keys)
                result.replaced.update((key, theirs.acronyms[letters]) for key in lost)
        for letters, key in acronyms.items():
            # "IT" is an acronym and a function word: without weight there is nothing to replace.
            if key not in result.weights or key in covered_keys:
                continue
            if letters in theirs.initials:
                result.replaced[key] = theirs.initials[letters][0]


def _align(result: EvidenceComparison, primary: Sentence) -> None:
    keys, other, where = result.statement.keys, primary.keys, primary.last
    last = -1
    is_turned = False
    for i in result.content:
        key = keys[i]
        if key not in where:
            continue
        # The next place behind the word before, else the last of all.
        j = where[key]
        if j > last:
            j = other.index(key, last + 1)
        elif j < last:
            is_turned = True
        result.anchors.append((i, j))
        last = j
    # German writes every noun with a capital.
    has_names = result.statement.language != "de"
    if is_turned and has_names and _is_passive(result.statement) == _is_passive(primary):
        result.name_inversions = _name_inversions(result, primary)


def _name_inversions(result: EvidenceComparison, primary: Sentence) -> int:
    """Count words between the same two names in turned order.

    "Rome beat Carthage." | "Carthage beat Rome." → 1
    """
    sequence, other = result.statement.sequence, primary.sequence
    # The first word of a sentence may be a name that only the other text shows as one.
    names = result.statement.names.keys() | primary.names.keys()
    anchors = result.anchors
    is_name = [sequence[i].key in names for i, _ in anchors]
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
    if ours.surface[0] < "А" or ours.surface != theirs.surface:
        return True
    return ours.low.endswith(_ALIKE_ENDINGS)


def _is_passive(sentence: Sentence) -> bool:
    return any(word.surface in _PASSIVE for word in sentence.sequence)


def _compare_gaps(result: EvidenceComparison, primary: Sentence) -> None:
    """Find another name of the evidence between the shared words around a missing name.

    "The tower in Paris is tall." | "The tower in London is tall." → name_rivals {3: "London"}
    """
    sequence, other = result.statement.sequence, primary.sequence
    names = result.statement.names
    missing = [
        i
        for i in result.missing
        if sequence[i].key in names and sequence[i].key not in result.replaced
    ]
    if not missing or not primary.names or result.statement.language == "de":
        return
    bounds = [(-1, -1), *result.anchors, (len(sequence), len(other))]
    for (i0, j0), (i1, j1) in pairwise(bounds):
        if not 0 < j1 - j0 <= _WIDEST_GAP:
            continue
        lost = [i for i in missing if i0 < i < i1]
        for word in other[j0 + 1 : j1] if lost else ():
            key = word.key
            if (
                word.kind != "stop"
                and key not in result.weights
                and key in primary.names
                and word.low not in _TITLES
                and key not in result.statement.small_words
            ):
                # "Hawaii" and "Hawaiʻi" are spellings of one name.
                strange = [i for i in lost if sequence[i].key[:_SAME_HEAD] != key[:_SAME_HEAD]]
                result.name_rivals.update((i, word.surface) for i in strange)
                break


def _find_opposites(result: EvidenceComparison, primary: Sentence) -> None:
    """Find words of the evidence that say the opposite of a missing one.

    "Prices rose in May." | "Prices fell in May." → opposites [("rose", "fell")]
    """
    statement, covered_keys = result.statement, result.covered_keys
    sequence, ours = statement.sequence, statement.last
    theirs, turned = primary.last, primary.turned
    if turned and not turned.keys().isdisjoint(ours):
        words = statement.first_words
    elif statement.rivals.isdisjoint(theirs):
        return
    else:
        words = statement.opposable
    for i, key, listed, forms in words:
        if key in covered_keys:
            continue
        other = (
            min([other for other in listed if other in theirs], default=None)
            or turned.get(key)
            or next((form for form in forms if form in theirs), None)
        )
        if other is None or other in ours:
            continue
        j = theirs[other]
        # Opposites clash only where both speak of the same thing: a shared word stands beside both.
        if _around(sequence, [i], _OPPOSITE_REACH) & _around(
            primary.sequence, [j], 2 * _OPPOSITE_REACH
        ):
            result.opposites.append((sequence[i].surface, primary.sequence[j].surface))


def _compare_units(result: EvidenceComparison) -> None:
    """Find shared numbers with another unit.

    "It weighs 5 kg." | "It weighs 5 tons." → wrong_units [("5", "kg", "t")]
    """
    for number, unit in result.statement.numbers.items():
        if not unit or number not in result.covered_keys:
            continue
        units = {
            each.sentence.numbers.get(number, "")
            for each in result.evidence.sentences
            if number in each.sentence.last
        }
        if unit not in units and "" not in units:
            result.wrong_units.append((number, unit, min(units)))


def _find_number_rivals(result: EvidenceComparison) -> None:
    """Pair missing numbers and months with those beside the same words in the evidence.

    "It opened in 1923." | "It opened in 1889." → number_rivals {3: ("1889", 0)}, from chunk 0
    """
    figures = result.statement.figures
    missing = [i for i in result.missing if i in figures] if figures else []
    for each in result.evidence.sentences if missing else ():
        other = each.sentence.sequence
        free = [j for j in each.sentence.figures if other[j].key not in result.statement.last]
        more = _said_more_often(result.statement, each.sentence)
        for i in missing if free or more else ():
            j = _number_rival(result.statement.sequence, i, other, free)
            if j is None and result.statement.keys[i] not in result.chunk_keys:
                j = _number_rival(result.statement.sequence, i, other, more)
            if j is not None and i not in result.number_rivals:
                result.number_rivals[i] = (other[j].surface, each.chunk_id)
                (free if j in free else more).remove(j)


def _said_more_often(statement: Sentence, other: Sentence) -> list[int]:
    """Return the positions of figures that the evidence says more often than the statement.

    "House 2, street 3" says once what "House 2, street 2" says twice: one may stand against the 3.
    """
    more: list[int] = []
    for j in other.figures:
        key = other.keys[j]
        said = len(statement.positions.get(key, ()))
        if said and other.positions[key].index(j) >= said:
            more.append(j)
    return more


def _number_rival(
    sequence: Sequence[Word], i: int, other: Sequence[Word], free: Sequence[int]
) -> int | None:
    ours = _around(sequence, [i], _NUMBER_REACH)
    is_number = sequence[i].kind == "number"
    for j in free:
        same_kind = is_number == (other[j].kind == "number")
        if same_kind and ours & _around(other, [j], 2 * _NUMBER_REACH):
            return j
    return None


def _around(sequence: Sequence[Word], positions: Sequence[int], reach: int) -> set[str]:
    return {
        word.key
        for position in positions
        for word in sequence[max(0, position - reach) : position + reach + 1]
        if word.kind in ("word", "unit")
    }


# Does the evidence deny, limit or doubt what the statement says, or the other way round?

_SCOPE = 4
_TARGET_REACH = 3
_HEDGE_REACH = 4
# "Can" and "often" say hardly more than "may".
_HALF_HEDGES = frozenset("can often sometimes typically можно иногда часто".split())
# "Appeared to win" is less than "won", "appeared in a film" is a fact.
_DOUBTFUL_BEFORE_TO = frozenset(
    "appear appears appeared threatened threatens offered want wants wanted".split()
)
# "Чтобы сбросить роутер, …" is a purpose, "Жители требуют, чтобы …" a wish.
_PURPOSE = "чтобы"
_STRONG = frozenset(("all", "none", "only"))
_AMOUNTS = frozenset(("all", "most", "many", "some", "few", "none", "half"))
# What the evidence may say for each quantifier to be wrong: many are some, but some are not many.
_RIVALS = {
    "all": _AMOUNTS - {"all"},
    "most": frozenset(("half", "some", "few", "none")),
    "many": frozenset(("few", "none")),
    "half": frozenset(("all", "most", "few", "none")),
    "some": frozenset(("none",)),
    "few": frozenset(("all", "most", "many", "half")),
    "none": _AMOUNTS - {"none"},
    "over": frozenset(("under",)),
    "under": frozenset(("over",)),
}
_CLAUSE_OPENERS = frozenset(("that", "что"))
# "The pump failed because the seal was worn": the verb that denies ends with its clause.
_CLAUSE_ENDS = frozenset(
    "because when as since so while if after although though until "
    "потому поскольку когда так если пока хотя после чтобы".split()
)
_USES = frozenset(map(stem, "use try apply employ используйте использовать применяйте".split()))
_BEFORE_SUPERLATIVES = frozenset("the his her its their our your my whose".split())


class PolarityDifferences(NamedTuple):
    """How statement and evidence differ in what they deny, limit or doubt.

    Attributes:
        negation_added: The statement denies what the evidence says without any denial.
        negation_dropped: The evidence denies what the statement says without any denial.
        quantifier_added: A quantifier without exception ("all", "only") that the evidence lacks.
        quantifiers_swapped: A quantifier, and the one in its place in the evidence.
        hedge_dropped: The word that makes the evidence less than a fact, or "".
        own_words: The quantifiers of the statement, and what it denies in words of its own.
    """

    negation_added: bool
    negation_dropped: bool
    quantifier_added: bool
    quantifiers_swapped: tuple[tuple[str, str], ...]
    hedge_dropped: str
    own_words: tuple[str, ...]


_NONE = PolarityDifferences(False, False, False, (), "", ())


def compare_polarity(result: EvidenceComparison) -> PolarityDifferences:
    """Look for turned meaning between a statement and its evidence."""
    places = result.evidence.sentences
    if not places:
        return _NONE
    primary = places[0].sentence
    sentences = [place.sentence for place in places]
    marks = result.statement.marks
    added = dropped = is_added = False
    turned: list[str] = []
    swapped: tuple[tuple[str, str], ...] = ()
    if (marks | primary.marks) & DENIES:
        turned = _denied_otherwise(result, sentences)
        added = bool(turned) or _adds_denial(result.statement, sentences)
        dropped = _drops_denial(primary, result.statement, sentences)
    if marks & QUANTIFIES:
        is_added, swapped = _quantifiers(result.statement, sentences)
    hedge = ""
    if primary.marks & WEAKENS and not marks & WEAKENS:
        hedge = _dropped_hedge(result, primary)
    own_words = tuple(turned)
    if marks & QUANTIFIES:
        own_words += tuple(
            [word.surface for word in result.statement.sequence if word.marks & QUANTIFIES]
        )
    return PolarityDifferences(added, dropped, is_added, swapped, hedge, own_words)


def _dropped_hedge(result: EvidenceComparison, primary: Sentence) -> str:
    """Return the word that makes a fact of the statement less than one in its evidence, or ""."""
    ours = result.statement
    if any(word.low in _HALF_HEDGES for word in ours.sequence):
        return ""
    sequence = primary.sequence
    for position, word in enumerate(sequence):
        if not word.marks & WEAKENS or (word.low == _PURPOSE and not position):
            continue
        following = sequence[position + 1 : position + 1 + _HEDGE_REACH]
        if word.low in _DOUBTFUL_BEFORE_TO and (not following or following[0].low != "to"):
            continue
        if any(target in ours.last for target in _doubted(sequence, position)):
            return word.surface
    return ""


def _doubted(sequence: Sequence[Word], position: int) -> Iterator[str]:
    """Yield what a hedge speaks of: the next content word; others of the sentence may be facts.

    "They suspect in earnest that he left" leaves open what follows "that" as well.
    """
    following = sequence[position + 1 : position + 1 + _HEDGE_REACH]
    yield from _first_content(following)
    for place, word in enumerate(following, start=position + 1):
        if word.low in _CLAUSE_OPENERS:
            yield from _first_content(sequence[place + 1 : place + 1 + _HEDGE_REACH])
            return


def _first_content(sequence: Sequence[Word]) -> list[str]:
    return [word.key for word in sequence if word.kind != "stop"][:1]


def _denied(sentence: Sentence) -> list[str]:
    """Return, for each negation of a sentence, the key of the next content word.

    "Do not use a hose." denies the hose: the word behind "use" is one more.
    """
    targets: list[str] = []
    sequence, small_words = sentence.sequence, sentence.small_words
    for position in sentence.negations:
        following = _reached(sequence, position)
        if sentence.language not in READ_WELL and not following:
            # German and Japanese deny behind the verb.
            following = sequence[max(0, position - _SCOPE) : position][::-1]
        for word in following:
            if word.kind == "word" and word.key not in small_words:
                targets.append(word.key)
                if word.key not in _USES:
                    break
    return targets


def _denies(sentence: Sentence, key: str) -> bool:
    # "It belongs not to him, it belongs to her": what is also said without a denial is not denied.
    positions = sentence.positions.get(key, ())
    return bool(positions) and all(
        any(
            -2 <= position - negation <= len(_reached(sentence.sequence, negation))
            for negation in sentence.negations
        )
        for position in positions
    )


def _reached(sequence: Sequence[Word], negation: int) -> Sequence[Word]:
    """Return what stands in reach behind a denial; a verb such as "failed" ends with its clause."""
    following = sequence[negation + 1 : negation + 1 + _SCOPE]
    if sequence[negation].kind != "word":
        return following
    end = next((n for n, word in enumerate(following) if word.low in _CLAUSE_ENDS), _SCOPE)
    return following[:end]


def _adds_denial(statement: Sentence, sentences: Sequence[Sentence]) -> bool:
    for key in _denied(statement):
        holders = [sentence for sentence in sentences if key in sentence.last]
        # A denial anywhere in the evidence may say the same in other words.
        if holders and not any(_has_denial(s, besides=key) for s in holders):
            return True
    return False


def _denied_otherwise(result: EvidenceComparison, sentences: Sequence[Sentence]) -> list[str]:
    """Return the words denied whose synonym the evidence says without any denial.

    "Breakfast is not included." | "The price contains breakfast." → ["included"]
    """
    denied = set(_denied(result.statement)) & result.replaced.keys()
    if not denied or any(_has_denial(sentence, besides="") for sentence in sentences):
        return []
    return [word.surface for word in result.statement.sequence if word.key in denied]


def _has_denial(sentence: Sentence, besides: str) -> bool:
    """Say whether a sentence denies; its "free" is no denial beside "not free"."""
    if not sentence.marks & (DENIES | DENIES_SOFTLY):
        return False
    return any(
        word.marks & (DENIES | DENIES_SOFTLY) and word.key != besides for word in sentence.sequence
    )


def _drops_denial(primary: Sentence, statement: Sentence, sentences: Sequence[Sentence]) -> bool:
    if statement.marks & (DENIES | DENIES_SOFTLY):
        return False
    return any(
        key in statement.last and all(_denies(s, key) for s in sentences if key in s.last)
        for key in _denied(primary)
    )


def _quantified(sentence: Sentence) -> list[tuple[str, str, str]]:
    """Return group, surface and the key that follows, for each quantifier of a sentence."""
    if not sentence.marks & QUANTIFIES:
        return []
    found: list[tuple[str, str, str]] = []
    sequence = sentence.sequence
    for position, word in enumerate(sequence):
        if not word.marks & QUANTIFIES:
            continue
        if word.low == "most" and position and sequence[position - 1].low in _BEFORE_SUPERLATIVES:
            continue
        following = sequence[position + 1 : position + 1 + _TARGET_REACH]
        target = next((w.key for w in following if w.kind in ("word", "number")), "")
        found.append((QUANTIFIERS[word.low], word.surface, target))
    return found


def _quantifiers(
    statement: Sentence, sentences: Sequence[Sentence]
) -> tuple[bool, tuple[tuple[str, str], ...]]:
    theirs = [item for sentence in sentences for item in _quantified(sentence)]
    groups = {group for group, _, _ in theirs}
    is_added = False
    swapped: list[tuple[str, str]] = []
    for group, surface, target in _quantified(statement):
        if group in groups:
            continue
        rivals = _RIVALS.get(group, frozenset())
        other = next((s for g, s, t in theirs if g in rivals and t == target), None)
        if other is not None:
            swapped.append((surface, other))
        elif group in _STRONG:
            is_added = True
    return is_added, tuple(swapped)
