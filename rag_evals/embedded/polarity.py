"""Does the evidence deny, limit or doubt what the statement says, or the other way round?"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evals.embedded.compare import EvidenceComparison
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
