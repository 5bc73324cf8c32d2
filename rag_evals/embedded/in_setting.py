"""How are claims decided that lean on their question or on what stands before them?

A short answer is decided as the statement that it makes with its question. A claim about "it" is
decided by its own words; where the evidence for them speaks of something else than what "it" stands
for, the claim with the name in place counts. What stays unresolved is in doubt, and supported less.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice

from rag_evals.core import Claim, Evidence, Verdict, text_before
from rag_evals.embedded.asked import leading_subject
from rag_evals.embedded.claims import PreparedStatement
from rag_evals.embedded.leads import said_by_each, strip_lead
from rag_evals.embedded.placed import said_of_another, said_otherwise
from rag_evals.embedded.reasons import read_as
from rag_evals.embedded.standalone import Reading, stand_alone
from rag_evals.text import has_russian, leaning_of, one_line, split_sentences, words

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
