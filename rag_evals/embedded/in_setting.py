"""How are claims decided that lean on their question or on what stands before them?

A short answer is decided as the statement that it makes with its question. A claim about "it" is
decided by its own words; where the evidence for them speaks of something else than what "it" stands
for, the claim with the name in place counts. What stays unresolved is in doubt, and supported less.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice

from rag_evals.core import Claim, Evidence, Verdict, text_before
from rag_evals.embedded.claims import PreparedStatement
from rag_evals.embedded.compare import opposites
from rag_evals.embedded.decide import read_as
from rag_evals.embedded.sources import said_by_each, strip_lead
from rag_evals.embedded.standalone import Reading, leading_subject, stand_alone
from rag_evals.text import (
    Word,
    expand_dates,
    has_russian,
    is_name_at,
    leaning_of,
    normalise_numbers,
    one_line,
    split_sentences,
    unit_at,
    words,
)

# Does an answer stand beside what was asked about, or beside something else?
#
# "In 1889." to "When was the Louvre Pyramid completed?" has all its words in a chunk that says it
# of the Eiffel Tower. Where another sentence says more of what was asked, with another number or
# name in place of the answer, that sentence counts.

# "It opened in 1989." speaks of what the sentence before does; "Her brother died" does not.
_PRONOUN_SUBJECT = re.compile(r"(?:he|she|it|they|this|these|он|она|оно|они|это)\b", re.IGNORECASE)
# "The game" at the head of a chunk is what the chunk before tells of.
_DEFINITE_SUBJECT = re.compile(r"the [a-z'-]+ (?:is|are|was|were|has|had)\b", re.IGNORECASE)
# How much more of the question the other sentence must say.
_LEAST_LEAD = 0.2
# Without a verb, the first word is the subject: "Машина синяя."
_FEW_WORDS = 3
_DIGITS_OF_YEAR = 4


def said_otherwise(reading: Reading, chunks: Sequence[str]) -> Evidence | None:
    """Return the sentence that says something else of what a claim speaks of.

    Args:
        reading: A claim with an antecedent or a gap.
        chunks: All chunks.

    Returns:
        None where the words of the answer stand beside what was asked about, or nowhere.
    """
    claim = _sequence(reading.text)
    if reading.gap:
        given = {word.key for word in _sequence(reading.gap) if _counts(word)}
    else:
        inside = {word.key for word in _sequence(reading.antecedent)}
        given = _values(claim) - inside
    frame = {word.key for word in claim if _counts(word)} - given
    if not given or not frame:
        return None
    # What is said of the antecedent: another sentence that only names it says something else.
    said = frame - {word.key for word in _sequence(reading.antecedent)}
    beside = most = 0.0
    rival: Evidence | None = None
    sentences = list(_sentences(chunks))
    # "Red." begins with a capital and is no name: the chunks write it small.
    names = _values(claim) & given
    if names:
        names -= {
            word.key for _, said_by, _ in sentences for word in said_by if word.surface.islower()
        }
    for place, sequence, known in sentences:
        keys = {word.key for word in sequence}
        share = len(frame & (keys | known)) / len(frame)
        if given <= keys:
            beside = max(beside, share)
        elif (
            share > most
            and (reading.gap or said <= keys | known)
            and _has_rival(sequence, claim, given, names, complete=share == 1.0)
        ):
            most, rival = share, place
    return (
        rival
        if beside and most >= beside + _LEAST_LEAD
        else rival
        if most == 1.0 > beside
        else None
    )


def said_of_another(text: str, evidence: Sequence[Evidence]) -> Evidence | None:
    """Return the sentence that says something else of what a statement speaks of.

    "Tom was born in 1970." | "Tom was born in 1982. Anna was born in 1970." → the first sentence.

    Args:
        text: A supported statement that stands alone.
        evidence: The sentences that support it.

    Returns:
        None unless a number or an opposable word comes only from a sentence about
        something else, which adds nothing more, and stands there beside another one.
    """
    subject = _keys_of_subject(text)
    if len(evidence) < 2 or not subject:
        return None
    claim = _sequence(text)
    content = {word.key for word in claim if _counts(word)}
    read = [(place, _sequence(place.text)) for place in evidence]
    for place, sequence in read:
        known = {word.key for word in sequence}
        if not (subject <= known and subject & _keys_of_subject(place.text)):
            continue
        for key in content - known:
            holders = [one for one in read if key in {word.key for word in one[1]}]
            is_added = all(_adds_only(key, one, subject, content, known) for one in holders)
            if holders and is_added and _is_rivalled(key, claim, sequence):
                return place
    return None


def _adds_only(
    key: str,
    holder: tuple[Evidence, list[Word]],
    subject: set[str],
    content: set[str],
    known: set[str],
) -> bool:
    """Say whether a sentence about something else adds a word to what is known, and no other."""
    place, sequence = holder
    theirs = {word.key for word in sequence}
    own = _keys_of_subject(place.text)
    is_other = bool(own - subject) and bool(subject - theirs)
    return is_other and theirs & content <= known | {key}


def _is_rivalled(key: str, claim: list[Word], sequence: list[Word]) -> bool:
    """Say whether a sentence has another number, or an opposite, in the place of a word."""
    own = {word.key for word in claim}
    at = next(place for place, word in enumerate(claim) if word.key == key)
    if claim[at].kind == "number":
        return any(
            word.kind == "number"
            and word.key not in own
            and _counts_alike(claim, at, sequence, place)
            for place, word in enumerate(sequence)
        )
    theirs = {word.key for word in sequence}
    return bool(opposites().get(key, frozenset()) & theirs - own)


def _counts_alike(claim: list[Word], at: int, sequence: list[Word], place: int) -> bool:
    """Say whether two numbers have one unit, count the same, or are both years."""
    unit = unit_at(claim, at)
    if unit or unit_at(sequence, place):
        return unit == unit_at(sequence, place)
    if _is_year(claim[at]) or _is_year(sequence[place]):
        return _is_year(claim[at]) and _is_year(sequence[place])
    # "40 rooms", and "rooms 40" of a table.
    beside = claim[at + 1 : at + 2] or claim[max(0, at - 1) : at]
    near = {word.key for word in sequence[max(0, place - 1) : place + 2]}
    return any(word.key in near for word in beside)


def _is_year(word: Word) -> bool:
    return len(word.key) == _DIGITS_OF_YEAR and word.key.isdecimal()


def _keys_of_subject(text: str) -> set[str]:
    """Return the keys of the subject; of a row of a table, of its first cell."""
    subject = leading_subject(text)
    if not subject and leaning_of(text) != "pronoun":
        first, comma, _ = text.partition(",")
        tokens = (first if comma else text).split()
        subject = " ".join(tokens if comma else tokens[:1]) if len(tokens) <= _FEW_WORDS else ""
    return {word.key for word in words(subject) if _counts(word)}


def _sentences(chunks: Sequence[str]) -> Iterator[tuple[Evidence, list[Word], set[str]]]:
    """Yield each sentence, its words, and the keys that its subject takes from the one before."""
    chunk_before: set[str] = set()
    for number, chunk in enumerate(chunks):
        before: set[str] = set()
        for span in split_sentences(chunk):
            sequence = _sequence(span.text)
            known = before if _PRONOUN_SUBJECT.match(span.text) else set()
            if span.start == 0 and _DEFINITE_SUBJECT.match(span.text):
                known = chunk_before
            yield Evidence(number, *span), sequence, known
            before = known | {word.key for word in sequence}
        chunk_before = before


def _has_rival(
    sequence: list[Word], claim: list[Word], given: set[str], names: set[str], *, complete: bool
) -> bool:
    """Say whether a sentence holds another number or name where the claim has its own."""
    own = {word.key for word in claim}
    others = _values(sequence) - own
    numbers = {word.key for word in claim if word.kind == "number"} & given
    if numbers:
        return any(word.kind == "number" and word.key not in own for word in sequence)
    if names:
        return bool(others)
    # Neither number nor name: only a sentence that says all that was asked can stand against it.
    return complete and any(_counts(word) and word.key not in own for word in sequence)


def _sequence(text: str) -> list[Word]:
    return normalise_numbers(words(expand_dates(text)))


def _counts(word: Word) -> bool:
    return word.kind in ("word", "number")


def _values(sequence: list[Word]) -> set[str]:
    return {
        word.key
        for n, word in enumerate(sequence)
        if word.kind == "number" or (word.kind == "word" and is_name_at(sequence, n))
    }


# Set by hand: the odds of a claim with an unresolved pronoun, beside those of its words alone.
_PRONOUN_ODDS = 0.9
_BELOW_THRESHOLD = 0.9
_NEAR_COPY = 0.8
_LONGEST_SHOWN = 120

# "The game", but not "The Eiffel Tower".
_DEFINITE = re.compile(r"(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose)(?: [a-z'-]+)+")

# What claims nothing itself, and says what follows it is about.
_LEADS_ON = ("announcement", "heading", "question")

Decide = Callable[[Sequence[str]], list[Verdict]]


def claims_in_setting(
    prepared: Sequence[PreparedStatement], question: str | None
) -> list[Claim | None]:
    """Return what the sentences of an answer claim.

    Args:
        prepared: All sentences, in order.
        question: What the answer answers.

    Returns:
        One for each sentence; None where it claims nothing.
    """
    found: list[Claim] = []
    claims: list[Claim | None] = []
    listed = _listed(prepared)
    for one in prepared:
        if one.no_claim is not None:
            claims.append(None)
            if one.no_claim in _LEADS_ON:
                found.append(Claim(one.claim))
            continue
        # "No, it is not." without its "No" would say nothing.
        text = one.text if leaning_of(one.text) == "yes_no" else one.claim
        asked = None if one.claim in listed else question
        found.append(Claim(text, one.text, text_before(found), asked))
        claims.append(found[-1])
    return claims


def _listed(prepared: Sequence[PreparedStatement]) -> set[str]:
    """Return the claims that are data, or one of several items: their words are all they claim."""
    fragments = [
        one for one in prepared if one.no_claim is None and leaning_of(one.claim) == "fragment"
    ]
    if len(fragments) > 1:
        return {one.claim for one in fragments}
    # The claim of data is written anew.
    return {one.claim for one in fragments if one.claim.lower() not in one.text.lower()}


def decide_claims(
    decide: Decide, threshold: float, claims: Sequence[Claim], chunks: Sequence[str]
) -> list[Verdict]:
    """Decide claims, each read in its setting.

    What a claim says that several sources say is decided one by one; all must hold.

    Args:
        decide: Returns one verdict for each text, in order.
        threshold: Support from which a statement counts as supported, 0 to 1.
        claims: Claims or bare texts.
        chunks: What `decide` decides by.

    Returns:
        One verdict for each claim, in order.
    """
    parts = [_parts(claim) for claim in claims]
    verdicts = iter(_decided(decide, threshold, list(chain.from_iterable(parts)), chunks))
    return [_together(own, list(islice(verdicts, len(own)))) for own in parts]


def _parts(claim: Claim) -> list[Claim]:
    first, *others = said_by_each(claim.text)
    if not others:
        return [claim]
    parts = [replace(claim, text=first)]
    parts += [replace(claim, text=text, before=first) for text in others]
    return parts


def _together(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on all claims of one sentence: that of the least supported."""
    if len(verdicts) == 1:
        return verdicts[0]
    places = range(len(verdicts))
    place = min(places, key=lambda n: (verdicts[n].is_supported, verdicts[n].support))
    least = read_as(verdicts[place], claims[place].text)
    if not least.is_supported:
        return least
    ids = chain.from_iterable(one.chunk_ids for one in verdicts)
    evidence = chain.from_iterable(one.evidence for one in verdicts)
    return replace(
        least, chunk_ids=tuple(dict.fromkeys(ids)), evidence=tuple(dict.fromkeys(evidence))
    )


def _decided(
    decide: Decide, threshold: float, claims: Sequence[Claim], chunks: Sequence[str]
) -> list[Verdict]:
    said = _Said(chunks)
    readings = [stand_alone(_without_question(claim, said)) for claim in claims]
    texts = [
        strip_lead(claim.text if reading.antecedent else reading.text)
        for claim, reading in zip(claims, readings, strict=True)
    ]
    verdicts = decide(texts)
    for place, (claim, reading) in enumerate(zip(claims, readings, strict=True)):
        own = verdicts[place]
        if reading.unresolved is not None:
            if reading.unresolved != "fragment" or not said.nearly(claim.text):
                verdicts[place] = _doubted(own, reading, claim, threshold)
            continue
        if reading.antecedent:
            if own.is_supported and not _speaks_of(reading.antecedent, own, chunks):
                (named,) = decide([reading.text])
                verdicts[place] = min(read_as(named, reading.text), own, key=_support)
        elif reading.text != claim.text:
            verdicts[place] = read_as(own, reading.text)
            if reading.instead and not own.is_supported:
                verdicts[place] = _in_other_words(decide, reading, verdicts[place])
        rival = _rival_of(reading, verdicts[place], chunks)
        if rival is not None:
            verdicts[place] = _misplaced(verdicts[place], rival, threshold)
    return verdicts


def _rival_of(reading: Reading, verdict: Verdict, chunks: Sequence[str]) -> Evidence | None:
    """Return the sentence that says something else of what a supported claim speaks of."""
    if not verdict.is_supported:
        return None
    if reading.antecedent or reading.gap:
        return said_otherwise(reading, chunks)
    return said_of_another(reading.text, verdict.evidence)


def _in_other_words(decide: Decide, reading: Reading, verdict: Verdict) -> Verdict:
    """Let "closed" count for "not open", where it is said with all words of the question."""
    best, text = max(
        zip(decide(reading.instead), reading.instead, strict=True),
        key=lambda decided: decided[0].support,
    )
    said = set[str]().union(*(_keys(place.text) for place in best.evidence))
    return read_as(best, text) if best.is_supported and _keys(text) <= said else verdict


class _Said:
    """What the sentences of the chunks say; they are split when the first short claim asks."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self._chunks = chunks

    @cached_property
    def _sentences(self) -> list[str]:
        return [span.text for chunk in self._chunks for span in split_sentences(chunk)]

    @cached_property
    def _plain(self) -> set[str]:
        return set(map(_plain, self._sentences))

    def whole(self, text: str) -> bool:
        """Say whether a text is a sentence of the chunks, word for word."""
        return _plain(text) in self._plain

    def nearly(self, text: str) -> bool:
        """Say whether a text has nearly all words of a sentence, and hardly another."""
        ours = {word.key for word in words(text)}
        return any(
            2 * len(ours & theirs) >= _NEAR_COPY * (len(ours) + len(theirs))
            for theirs in ({word.key for word in words(one)} for one in self._sentences)
        )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!… ")


def _without_question(claim: Claim, said: _Said) -> Claim:
    """Take a copied sentence at its word, whatever was asked; "1889." and "Yes." are none."""
    if not claim.question or claim.leaning in (None, "yes_no") or len(claim.text.split()) < 2:
        return claim
    return replace(claim, question=None) if said.whole(claim.text) else claim


def _misplaced(verdict: Verdict, rival: Evidence, threshold: float) -> Verdict:
    """Lower the support of an answer that is said of something else than what was asked about."""
    words_of_rival = f"'{one_line(rival.text)[:_LONGEST_SHOWN]}'"
    why = (
        f"об этом говорит фрагмент {rival.chunk_id}: {words_of_rival}"
        if has_russian(rival.text)
        else f"of this, chunk {rival.chunk_id} says {words_of_rival}"
    )
    return replace(
        verdict,
        support=min(verdict.support, _BELOW_THRESHOLD * threshold),
        is_supported=False,
        chunk_ids=(),
        reason=f"{why}; {verdict.reason}",
        evidence=(rival,),
    )


def _support(verdict: Verdict) -> float:
    return verdict.support


def _speaks_of(antecedent: str, verdict: Verdict, chunks: Sequence[str]) -> bool:
    """Say whether the evidence names the antecedent, or leans on a sentence that does.

    "It" and "The game" lean on what stands before them, at the head of a chunk on the chunk before.
    A pronoun at the very beginning leans on nobody knows what, and is taken at its word.
    """
    wanted = _keys(antecedent)
    for place in verdict.evidence:
        said = place.text
        is_pronoun = leaning_of(said) is not None
        if is_pronoun or _DEFINITE.fullmatch(leading_subject(said)):
            said = chunks[place.chunk_id][: place.end]
            if not said[: place.start].strip():
                if place.chunk_id == 0 and is_pronoun:
                    return True
                said = f"{chunks[place.chunk_id - 1] if place.chunk_id else ''} {said}"
        if not wanted or wanted & _keys(said):
            return True
    return False


def _keys(text: str) -> set[str]:
    return {word.key for word in words(text) if word.kind in ("word", "number")}


def _doubted(verdict: Verdict, reading: Reading, claim: Claim, threshold: float) -> Verdict:
    """Lower the support of a claim that cannot be understood, and say why."""
    russian = has_russian(claim.text)
    if reading.unresolved == "pronoun":
        word = claim.text.split(maxsplit=1)[0]
        odds = _PRONOUN_ODDS * verdict.support
        support = odds / (odds + 1 - verdict.support)
        why = (
            f"неясно, к чему относится '{word}', поддержка снижена"
            if russian
            else f"what '{word}' stands for is unclear, support is lowered"
        )
    else:
        support = min(verdict.support, _BELOW_THRESHOLD * threshold)
        why = (
            "неясно, что утверждается, поддержка снижена"
            if russian
            else "what is claimed is unclear without more of the question, support is lowered"
        )
    is_supported = verdict.is_supported and support >= threshold
    return replace(
        verdict,
        support=support,
        is_supported=is_supported,
        chunk_ids=verdict.chunk_ids if is_supported else (),
        reason=f"{why}; {verdict.reason}",
        doubt=reading.unresolved,
    )
