"""Reaching a verdict: interpret a claim, find evidence, compare the two and explain the result."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_evals.core import Claim, Evidence, Verdict, phrases
from rag_evals.embedded.claims import pair_of
from rag_evals.embedded.compare import StatementComparison
from rag_evals.embedded.model import (
    Model,
    agreement,
    clash_feature,
    log_odds,
    probability,
    shared_features,
)
from rag_evals.embedded.passage import (
    Found,
    Passage,
    Place,
    content_keys,
    cover_of,
    find_evidence,
    language_in,
    read_chunk,
    read_statement,
)
from rag_evals.embedded.setting import Reading, leading_subject, stand_alone
from rag_evals.embedded.sources import LONGEST_MATCHED, absence_of, strip_lead
from rag_evals.text import has_russian, leaning_of, one_line, words

_MOST_FINDINGS = 3
_MOST_WORDS = 5


def compare_with(
    model: Model, text: str, chunks: Sequence[Passage]
) -> Iterator[StatementComparison]:
    """Compare a statement with the sentences that share the most words with it, best first.

    If all of them contradict the statement, the other chunks are also searched, so that a
    contradicting chunk never hides a supporting one.
    """
    statement = read_statement(text)
    language = language_in(statement)
    weights = model.key_weights(statement, language)
    if (pair := pair_of(text)) is not None:
        weights |= {
            key: _OF_KEY * weights[key] for key in read_statement(pair[0]).keys if key in weights
        }

    def compare(found: Found) -> list[StatementComparison]:
        return _of_same_subject(
            [StatementComparison(statement, weights, language, found, one) for one in found.best]
        )

    found = find_evidence(statement, weights, chunks)
    compared = compare(found)
    yield from compared
    seen = {place.chunk_id for place in found.best}
    if len(seen) == len(chunks) or not all(one.clashes for one in compared):
        return
    clashing = set[str]().union(*[clash.keys for one in compared for clash in one.clashes])
    others = find_evidence(statement, weights, chunks, seen)
    # A chunk that shares far fewer words cannot confirm the statement's contradicted words.
    if others.best and others.best[0].cover < _LEAST_RIVAL * found.best[0].cover:
        others.wide.difference_update(clashing)
    others.wide.update(found.wide - clashing)
    yield from compare(others)


def rank(model: Model, statements: Sequence[str], chunks: Sequence[str]) -> list[list[int]]:
    """Rank chunks by their best sentence, then by all shared words, then by position."""
    passages = [read_chunk(chunk) for chunk in chunks]
    orders = []
    for text in statements:
        statement = read_statement(text)
        weights = model.key_weights(statement, language_in(statement))
        held = [cover_of(weights, passage) for passage in passages]
        orders.append(sorted(range(len(held)), key=lambda place: held[place], reverse=True))
    return orders


def _of_same_subject(compared: list[StatementComparison]) -> list[StatementComparison]:
    """If one sentence differs from the statement in just one point, drop those on other subjects.

    "The car is red." | "The house is red. The car is blue." → only the second
    """
    if not compared or not compared[0].lost:
        return compared
    for one in compared:
        if one.clashes and agreement(one) > _ALL_ELSE:
            held = one.held - frozenset[str]().union(*[clash.keys for clash in one.clashes])
            return [other for other in compared if held <= other.held]
    return compared


def reason(compared: StatementComparison, *, is_supported: bool, chunks: Sequence[Passage]) -> str:
    """Explain a verdict in one line, in Russian if the statement is Cyrillic, else in English."""
    text = compared.statement.span.text
    place = _say(text, "chunk", id=compared.evidence.chunk_id)
    findings = [] if is_supported else _findings(compared, place, chunks)
    if findings:
        return "; ".join(findings[:_MOST_FINDINGS])
    total = len(compared.weights)
    lost = [key for key in compared.lost if key not in compared.evidence.chunk.masks]
    name = "held_some" if lost else "held_all"
    return _say(text, name, held=total - len(lost), total=total, place=place)


def _findings(compared: StatementComparison, place: str, chunks: Sequence[Passage]) -> list[str]:
    statement, findings = compared.statement, list[str]()
    told: set[str] = set()
    for clash in sorted(compared.clashes, key=lambda clash: _ORDER.index(clash.kind)):
        name = clash.kind
        if name in ("number", "name"):
            elsewhere = any(key in chunk.masks for key in clash.keys for chunk in chunks)
            name = "elsewhere" if elsewhere else "swapped"
            told |= clash.keys
        elif name == "order" and clash.ours:
            name = "misplaced"
        findings.append(
            _say(statement.span.text, name, ours=clash.ours, theirs=clash.theirs, place=place)
        )
    rest = [
        key for key in compared.lost
        if key not in told and key not in compared.found.wide and key not in compared.replaced
    ]  # fmt: skip
    if rest:
        shown = [statement.sequence[statement.where[key]].surface for key in rest[:_MOST_WORDS]]
        words = ", ".join(shown) + (", …" if len(rest) > _MOST_WORDS else "")
        total = len(compared.weights)
        findings.append(
            _say(statement.span.text, "missing", lost=len(rest), total=total, words=words)
        )
    return findings


_ORDER = (
    "number", "name", "opposite", "negation_added", "negation_dropped", "quantifier", "unit",
    "order", "hedge",
)  # fmt: skip


def read_as(verdict: Verdict, text: str) -> Verdict:
    return replace(verdict, reason=_say(text, "read_as", text=text, reason=verdict.reason))


def _say(about: str, name: str, **values: object) -> str:
    say = phrases("ru" if has_russian(about[:200]) else "en")
    return say(f"difference.{name}", **values)


_LEAST_RIVAL = 0.8
_LEAST_EQUAL = 0.8
_LEAST_JOINING = 0.15
_SURELY_SAID = "strict"
# An unclear claim's support is at most this share of the threshold.
_UNSURE = 0.9
_MENTIONED = 0.99
_NEAR_COPY = 0.8
_LEAST_LEAD = 0.2
_LONGEST_SHOWN = 120
# Matches "The game", but not "The Eiffel Tower".
_DEFINITE = re.compile(r"(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose)(?: [a-z'-]+)+")
# Reduces the weight of the key in "city: Paris", because sources seldom contain it.
_OF_KEY = 0.2
# Multiplies the odds of claims with an unresolved pronoun; set by hand.
_PRONOUN_ODDS = 0.9
_ALL_ELSE = 0.9


def decide(
    model: Model, threshold: float, claims: Sequence[Claim], chunks: Sequence[str]
) -> list[Verdict]:
    decision = _Decision(model, threshold, [read_chunk(chunk) for chunk in chunks])
    return [decision.decide(claim) for claim in claims]


class _Decision:
    def __init__(self, model: Model, threshold: float, chunks: Sequence[Passage]) -> None:
        self.model, self.threshold, self.chunks = model, threshold, chunks

    def decide(self, claim: Claim) -> Verdict:
        reading = stand_alone(claim)
        if reading.denied is not None:
            return self._denied(reading, reading.denied)
        own = self._said(strip_lead(claim.text if reading.antecedent else reading.text))
        if reading.unresolved is not None:
            return self._doubted(own, reading, claim)
        if reading.text == claim.text:
            return own
        if reading.antecedent:
            if not own.is_supported or self._speaks_of(reading.antecedent, own):
                return own
            named = read_as(self._said(strip_lead(reading.text)), reading.text)
            return min(named, own, key=lambda verdict: verdict.support)
        rival = self._said_otherwise(reading) if own.is_supported and reading.gap else None
        if rival is None:
            return read_as(own, reading.text)
        shown = f"'{one_line(rival.text)[:_LONGEST_SHOWN]}'"
        place = _say(rival.text, "chunk", id=rival.chunk_id)
        why = f"{_say(rival.text, 'rival', place=place, shown=shown)}; {own.reason}"
        return read_as(Verdict(_UNSURE * self.threshold, False, (), why, (rival,)), reading.text)

    def _said_otherwise(self, reading: Reading) -> Evidence | None:
        """Find a sentence that shares more words with the question but gives a different answer.

        "The Louvre Pyramid was completed in 1889." | "The Eiffel Tower was completed in 1889. The
        Louvre Pyramid was completed in 1989." → the second
        """
        answer = content_keys(reading.gap)
        frame = content_keys(reading.text) - answer
        said = most = 0.0
        rival: Evidence | None = None
        for chunk_id, chunk in enumerate(self.chunks):
            before: set[str] = set()
            for number, span in enumerate(chunk.spans):
                keys = set(chunk.sentence(number).keys)
                before = keys = keys | before if _leans(span.text) else keys
                share = len(frame & keys) / (len(frame) or 1)
                if answer <= keys:
                    said = max(said, share)
                elif share > most:
                    most, rival = share, Evidence(chunk_id, *span)
        return rival if most >= said + _LEAST_LEAD else None

    def _denied(self, reading: Reading, subject: str) -> Verdict:
        """Judge a "no": supported if a sentence contradicts the question but agrees otherwise.

        "Is the shop open on Sunday?" "No." | "On Sunday the shop is closed."
        """
        asked = self._said(reading.text)
        best = self.model.support(())
        own = {word.key for word in words(subject)}
        decided: StatementComparison | None = None
        for one in compare_with(self.model, reading.text, self.chunks):
            if any(clash.keys - own or clash.kind.startswith("neg") for clash in one.clashes):
                # The share of other words that agree takes the place of the first three features.
                rest = agreement(one)
                support = self.model.support([rest * rest, rest, rest])
                if support > best and not asked.is_supported:
                    best, decided = support, one
        text = _say(reading.text, "not", text=reading.text)
        if decided is None or best < self.threshold:
            support = min(asked.support, 1 - asked.support)
            return read_as(replace(asked, support=support, is_supported=False, chunk_ids=()), text)
        evidence = tuple(
            [Evidence(one.chunk_id, *one.sentence.span) for one in evidence_for(decided)]
        )
        why = reason(decided, is_supported=False, chunks=self.chunks)
        ids = tuple(dict.fromkeys(one.chunk_id for one in evidence))
        return read_as(Verdict(best, True, ids, why, evidence), text)

    def _speaks_of(self, antecedent: str, verdict: Verdict) -> bool:
        """True if the evidence, or the text that it depends on, mentions the antecedent.

        "It" and "The game" depend on the preceding text, or on the previous chunk if they start a
        chunk. A pronoun at the start of the first chunk may refer to anything.
        """
        wanted = content_keys(antecedent)
        for place in verdict.evidence:
            said = place.text
            if _leans(said):
                is_pronoun, number = leaning_of(said) is not None, place.chunk_id
                said = self.chunks[number].text[: place.end]
                if not said[: place.start].strip():
                    if number == 0 and is_pronoun:
                        return True
                    said = f"{self.chunks[number - 1].text if number else ''} {said}"
            if not wanted or wanted & content_keys(said):
                return True
        return False

    def _doubted(self, verdict: Verdict, reading: Reading, claim: Claim) -> Verdict:
        if reading.unresolved == "fragment" and self._is_copied(claim.text):
            # A verbatim copy is supported regardless of the question.
            return verdict
        support = min(verdict.support, _UNSURE * self.threshold)
        why = _say(claim.text, "unclear")
        if reading.unresolved == "pronoun":
            odds = _PRONOUN_ODDS * verdict.support
            support = odds / (odds + 1 - verdict.support)
            why = _say(claim.text, "pronoun", word=claim.text.split(maxsplit=1)[0])
        is_supported = verdict.is_supported and support >= self.threshold
        return replace(
            verdict,
            support=support,
            is_supported=is_supported,
            chunk_ids=verdict.chunk_ids if is_supported else (),
            reason=f"{why}; {verdict.reason}",
            doubt=reading.unresolved,
        )

    def _is_copied(self, text: str) -> bool:
        """True if a sentence in a chunk contains nearly the same words as the text."""
        ours = read_statement(text).where.keys()
        return " " in text.strip() and any(
            2 * len(ours & theirs) >= _NEAR_COPY * (len(ours) + len(theirs))
            for chunk in self.chunks
            for theirs in (chunk.sentence(n).where.keys() for n in range(len(chunk.spans)))
        )

    def _said(self, text: str) -> Verdict:
        thresholds, topic = self.model.thresholds, absence_of(text[:LONGEST_MATCHED])
        if topic is None:
            return self._verdict(text, self.threshold)
        said = self._verdict(topic, thresholds[_SURELY_SAID])
        support = said.support
        named = [word for word in words(topic) if word.kind == "word"]
        if named and all(word.is_capital for word in named):
            # If a chunk contains the name, it mentions the topic.
            keys = {word.key for word in named}
            is_mentioned = any(keys <= one.masks.keys() for one in self.chunks)
            support = _MENTIONED if is_mentioned else 1 - _MENTIONED
        # Chunks may contain the words of a topic without covering it. The claim that it is missing
        # therefore reaches the balanced threshold when the topic falls below the strict one.
        limits = [log_odds(thresholds[name]) for name in ("balanced", _SURELY_SAID)]
        support = probability(sum(limits) - log_odds(support))
        is_supported = support >= self.threshold
        place = _say(text, "chunk", id=said.evidence[0].chunk_id) if said.evidence else ""
        name = "left_out" if is_supported else "not_left_out"
        why = _say(text, name, topic=topic, place=place)
        # The absence of a topic cannot be cited.
        return Verdict(support, is_supported, (), why, () if is_supported else said.evidence)

    def _verdict(self, text: str, threshold: float) -> Verdict:
        model, found = self.model, list[StatementComparison]()
        supports: list[float] = []
        # A contradicted statement never scores lower than a statement without any evidence.
        support = silence = model.support(())
        for one in compare_with(model, text, self.chunks):
            shared = shared_features(one)
            # Clashes only lower the support, so skip sentences that are too weak even without them.
            if found and model.support(shared) < _LEAST_EQUAL * max(support, threshold):
                continue
            found.append(one)
            supports.append(model.support([*shared, clash_feature(one)]))
            support = max(support, supports[-1])
        if not found:
            statement = read_statement(text)
            is_empty = not model.key_weights(statement, language_in(statement))
            return Verdict(silence, False, (), _say(text, "empty" if is_empty else "nothing"))
        is_supported = support >= threshold
        # For an unsupported statement, the closest sentence gives the best explanation.
        best = found[supports.index(max(supports))] if is_supported else found[0]
        cited: tuple[int, ...] = ()
        evidence = evidence_for(best)
        if is_supported:
            readings = [((c.evidence.chunk_id,), s) for c, s in zip(found, supports, strict=True)]
            ids = tuple([one.chunk_id for one in evidence])
            cited = cited_chunks([(ids, support), *readings])
        return Verdict(
            support=support,
            is_supported=is_supported,
            chunk_ids=cited,
            reason=reason(best, is_supported=is_supported, chunks=self.chunks),
            evidence=tuple([Evidence(one.chunk_id, *one.sentence.span) for one in evidence]),
        )


def _leans(sentence: str) -> bool:
    is_definite = _DEFINITE.fullmatch(leading_subject(sentence)) is not None
    return is_definite or leaning_of(sentence) is not None


def cited_chunks(readings: Sequence[tuple[Sequence[int], float]]) -> tuple[int, ...]:
    """Return the chunks from the best comparison, followed by those with nearly equal support."""
    best, highest = max(readings, key=lambda reading: reading[1])
    others = [ids[0] for ids, support in readings if ids and support >= _LEAST_EQUAL * highest]
    return tuple(dict.fromkeys([*best, *others]))


def evidence_for(compared: StatementComparison) -> list[Place]:
    """Return the compared sentence and any others that contain many of the words it lacks."""
    weights, lost = compared.weights, compared.lost
    least = _LEAST_JOINING * sum(weights.values())
    places = [compared.evidence]
    for one in compared.found.best if lost else ():
        gain = sum([weights[key] for key in lost if key in one.sentence.where])
        if gain >= least:
            places.append(one)
            lost = [key for key in lost if key not in one.sentence.where]
    return places
