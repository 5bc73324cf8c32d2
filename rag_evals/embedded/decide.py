"""How is one claim decided? Read it, look it up, compare it with the sentences found, explain."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_evals.core import Claim, Evidence, Verdict
from rag_evals.embedded.claims import Pair, pair_of
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
    Passage,
    Place,
    cover_of,
    figures_in,
    find_evidence,
    language_in,
    read_chunk,
    read_statement,
    values_in,
)
from rag_evals.embedded.setting import Reading, leading_subject, stand_alone
from rag_evals.embedded.sources import (
    LONGEST_MATCHED,
    absence_of,
    claims_more,
    names_of_topic,
    strip_lead,
)
from rag_evals.text import has_russian, leaning_of, one_line, script_of, words

# Why was a statement decided so? The differences found, in words, English or Russian.

_ENGLISH = {
    "nothing": "no chunk shares a content word with the statement",
    "empty": "the statement has no content words",
    "held_all": "all {total} content words are in {place}",
    "held_some": "{held} of {total} content words are in {place}",
    "missing": "{lost} of {total} content words missing: {words}",
    "swapped": "'{ours}' is not in any chunk; {place} says '{theirs}'",
    "absent": "'{ours}' is not in any chunk",
    "elsewhere": "'{ours}' is not said with the rest; {place} says '{theirs}'",
    "opposite": "'{ours}' stands against '{theirs}' in {place}",
    "negation_added": "the statement denies what {place} says",
    "negation_dropped": "negated in {place}",
    "quantifier": "'{ours}' where {place} says '{theirs}'",
    "hedge": "{place} says it with '{theirs}', the statement as a fact",
    "unit": "{ours}: unit differs in {place} ('{theirs}')",
    "order": "the same names in another order than in {place}",
    "misplaced": "'{ours}' stands where {place} says '{theirs}'",
    "left_out": "no chunk says '{topic}'",
    "not_left_out": "{place} says '{topic}'",
    "other_letters": "{place} is written in other letters than '{topic}': it cannot be looked for",
    "rival": "of this, chunk {id} says {shown}",
    "pronoun": "what '{word}' stands for is unclear, support is lowered",
    "unclear": "what is claimed is unclear without more of the question, support is lowered",
    "chunk": "chunk {id}",
    "and": "; ",
}
_RUSSIAN = {
    "nothing": "ни один фрагмент не содержит значимых слов утверждения",
    "empty": "в утверждении нет значимых слов",
    "held_all": "все значимые слова ({total}) есть: {place}",
    "held_some": "значимых слов найдено {held} из {total}: {place}",
    "missing": "не хватает значимых слов ({lost} из {total}): {words}",
    "swapped": "'{ours}' нет ни в одном фрагменте; {place}: '{theirs}'",
    "absent": "'{ours}' нет ни в одном фрагменте",
    "elsewhere": "'{ours}' не сказано вместе с остальным; {place}: '{theirs}'",
    "opposite": "'{ours}' противоречит '{theirs}', {place}",
    "negation_added": "утверждение отрицает сказанное, {place}",
    "negation_dropped": "с отрицанием, {place}",
    "quantifier": "'{ours}', а {place}: '{theirs}'",
    "hedge": "{place}: с оговоркой '{theirs}', в утверждении как факт",
    "unit": "{ours}: другая единица, {place} ('{theirs}')",
    "order": "те же имена в другом порядке, {place}",
    "misplaced": "'{ours}' там, где {place}: '{theirs}'",
    "left_out": "ни один фрагмент не говорит: '{topic}'",
    "not_left_out": "{place} говорит: '{topic}'",
    "other_letters": "{place} написан другими буквами, чем '{topic}': искать нельзя",
    "rival": "об этом говорит фрагмент {id}: {shown}",
    "pronoun": "неясно, к чему относится '{word}', поддержка снижена",
    "unclear": "неясно, что утверждается, поддержка снижена",
    "chunk": "фрагмент {id}",
    "and": "; ",
}
_MOST_FINDINGS = 3
_MOST_WORDS = 5


def compare_with(
    model: Model, text: str, chunks: Sequence[Passage]
) -> Iterator[StatementComparison]:
    """Compare a statement with each of the sentences that hold most of it, best first.

    A chunk that contradicts must not hide another that supports: where all of these clash, the
    statement is looked up once more in the other chunks alone.
    """
    statement = read_statement(text)
    language = language_in(statement)
    weights = model.key_weights(statement, language)
    excluded: set[int] = set()
    said: set[str] = set()
    otherwise: set[str] = set()
    least = 0.0
    for _ in range(_MOST_LOOKS):
        found = find_evidence(statement, weights, chunks, excluded)
        found.wide.update(said)
        if found.best and found.best[0].cover < least:
            # A chunk that says less of it does not say better what the first says otherwise.
            found.wide.difference_update(otherwise)
        compared = [StatementComparison(statement, weights, language, found, p) for p in found.best]
        least = least or _LEAST_RIVAL * (compared[0].evidence.cover if compared else 0.0)
        compared = _of_same_subject(compared)
        yield from compared
        clashes = bool(compared) and all(one.clashes for one in compared)
        for one in compared:
            otherwise.update(*[clash.keys for clash in one.clashes])
        said = found.wide - otherwise
        excluded.update(place.chunk_id for place in found.best)
        if not clashes or len(excluded) == len(chunks):
            return


def rank(model: Model, statements: Sequence[str], chunks: Sequence[str]) -> list[list[int]]:
    """Order the places of chunks by how much of each statement they hold.

    The best sentence of a chunk counts most, then the chunk as a whole, then its place.
    """
    passages = [read_chunk(chunk) for chunk in chunks]
    orders = []
    for text in statements:
        statement = read_statement(text)
        weights = model.key_weights(statement, language_in(statement))
        held = [cover_of(weights, passage) for passage in passages]
        orders.append(sorted(range(len(held)), key=lambda place: held[place], reverse=True))
    return orders


def _of_same_subject(compared: list[StatementComparison]) -> list[StatementComparison]:
    """Leave out sentences about something else, where one says all the rest, and this otherwise.

    "The car is red." | "The house is red. The car is blue." → the second alone
    """
    for one in compared:
        if one.clashes and agreement(one) > _ALL_ELSE:
            held = one.held - frozenset[str]().union(*[clash.keys for clash in one.clashes])
            return [other for other in compared if other is one or held <= other.held]
    return compared


def reason(compared: StatementComparison, *, is_supported: bool, chunks: Sequence[Passage]) -> str:
    """Explain a verdict in one line, in the language of the statement's letters."""
    texts = _texts_for(compared.statement.span.text)
    place = texts["chunk"].format(id=compared.evidence.chunk_id)
    findings = [] if is_supported else _findings(compared, texts, place, chunks)
    if findings:
        return texts["and"].join(findings[:_MOST_FINDINGS])
    total = len(compared.weights)
    lost = [key for key in compared.lost if key not in compared.found.wide]
    name = "held_some" if lost else "held_all"
    return texts[name].format(held=total - len(lost), total=total, place=place)


def _findings(
    compared: StatementComparison, texts: dict[str, str], place: str, chunks: Sequence[Passage]
) -> list[str]:
    findings: list[str] = []
    told: set[str] = set()
    for clash in sorted(compared.clashes, key=lambda clash: _ORDER.index(clash.kind)):
        name = clash.kind
        if name in ("number", "name"):
            elsewhere = any(key in chunk.masks for key in clash.keys for chunk in chunks)
            name = "elsewhere" if elsewhere else "swapped"
            told |= clash.keys
        elif name == "order" and clash.ours:
            name = "misplaced"
        if name in texts:
            findings.append(texts[name].format(ours=clash.ours, theirs=clash.theirs, place=place))
    statement = compared.statement
    rest = [
        key for key in compared.lost
        if key not in told and key not in compared.found.wide and key not in compared.replaced
    ]  # fmt: skip
    if rest:
        shown = [statement.sequence[statement.where[key]].surface for key in rest[:_MOST_WORDS]]
        words = ", ".join(shown) + (", …" if len(rest) > _MOST_WORDS else "")
        total = len(compared.weights)
        findings.append(texts["missing"].format(lost=len(rest), total=total, words=words))
    return findings


_ORDER = (
    "number", "name", "opposite", "negation_added", "negation_dropped", "quantifier", "unit",
    "order", "hedge",
)  # fmt: skip


def read_as(verdict: Verdict, text: str) -> Verdict:
    """Say in the reason of a verdict which words it was decided by."""
    name = "прочитано как" if has_russian(text) else "read as"
    return replace(verdict, reason=f"{name} '{text}': {verdict.reason}")


def _texts_for(text: str) -> dict[str, str]:
    return _RUSSIAN if has_russian(text[:200]) else _ENGLISH


_MOST_LOOKS = 4
_LEAST_RIVAL = 0.8
_LEAST_EQUAL = 0.8
_LEAST_JOINING = 0.15
_SURELY_SAID = "strict"
_MENTIONED = 0.99
# Of the threshold: nobody can tell.
_UNSURE = 0.9
# Set by hand: the odds of a claim with an unresolved pronoun, against those of its words alone.
_PRONOUN_ODDS = 0.9
_NEAR_COPY = 0.8
_LEAST_LEAD = 0.2
_LONGEST_SHOWN = 120
# "It opened in 1989."; "Her brother died" speaks of somebody else.
_PRONOUN = re.compile(r"(?:he|she|it|they|this|these|он|она|оно|они|это)\b", re.IGNORECASE)
_ALL_ELSE = 0.9
# "The game", but not "The Eiffel Tower".
_DEFINITE = re.compile(r"(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose)(?: [a-z'-]+)+")


def decide(
    model: Model, threshold: float, claims: Sequence[Claim], chunks: Sequence[str]
) -> list[Verdict]:
    """Decide claims against chunks, each read with its question and what comes before it.

    Args:
        model: The weights.
        threshold: Support from which a claim counts as supported, 0 to 1.
        claims: Claims or bare texts.
        chunks: Texts; ids in the verdicts are their places, from 0.

    Returns:
        One verdict for each claim, in order.
    """
    read = [read_chunk(chunk) for chunk in chunks]
    return [_Decision(model, threshold, read).decide(claim) for claim in claims]


class _Decision:
    """Decides claims by the same weights, threshold and chunks."""

    def __init__(self, model: Model, threshold: float, chunks: Sequence[Passage]) -> None:
        self.model, self.threshold, self.chunks = model, threshold, chunks

    def decide(self, claim: Claim) -> Verdict:
        """Decide a claim as it reads in its setting."""
        reading = stand_alone(self._at_its_word(claim))
        if reading.denied is not None:
            return self._denied(reading, reading.denied)
        own = self._said(strip_lead(claim.text if reading.antecedent else reading.text))
        if reading.unresolved is not None:
            return self._doubted(own, reading, claim)
        if reading.antecedent:
            if own.is_supported and not self._speaks_of(reading.antecedent, own):
                named = read_as(self._said(strip_lead(reading.text)), reading.text)
                own = min(named, own, key=lambda verdict: verdict.support)
        elif reading.text != claim.text:
            own = read_as(own, reading.text)
        if own.is_supported and reading.asked and self._is_denied(reading.asked):
            # "Yes, in 5 days." | "We do not ship to Canada. To Mexico we ship in 5 days."
            own = replace(own, support=_UNSURE * self.threshold, is_supported=False, chunk_ids=())
        rival = self._said_otherwise(reading) if own.is_supported else None
        if rival is None:
            return own
        shown = f"'{one_line(rival.text)[:_LONGEST_SHOWN]}'"
        why = _texts_for(rival.text)["rival"].format(id=rival.chunk_id, shown=shown)
        support = min(own.support, _UNSURE * self.threshold)
        return Verdict(support, False, (), f"{why}; {own.reason}", (rival,))

    def _said_otherwise(self, reading: Reading) -> Evidence | None:
        """Return the sentence that says more of what was asked, with another value as its answer.

        "The Louvre Pyramid was completed in 1889." | "The Eiffel Tower was completed in 1889. The
        Louvre Pyramid was completed in 1989." → the second
        """
        if not (reading.gap or reading.antecedent):
            return None
        ours = read_statement(reading.text)
        subject = read_statement(reading.antecedent).where.keys()
        content = {w.key for w in ours.sequence if w.kind in ("word", "number")}
        answer = read_statement(reading.gap).where.keys() & content or values_in(ours) - subject
        frame = content - answer
        if not answer or not frame:
            return None
        is_number = any(w.kind == "number" for w in ours.sequence if w.key in answer)
        said = most = 0.0
        rival: Evidence | None = None
        before: set[str] = set()
        for chunk_id, chunk in enumerate(self.chunks):
            for number, span in enumerate(chunk.spans):
                theirs = chunk.sentence(number)
                # "It opened in 1989." and "The game was held in Rome." speak of what the
                # sentence before does, at the head of a chunk of what the chunk before does.
                leans = _PRONOUN.match(span.text) or _DEFINITE.fullmatch(leading_subject(span.text))
                keys = theirs.where.keys() | (before if leans else set())
                before, share = keys, len(frame & keys) / len(frame)
                if answer <= keys:
                    said = max(said, share)
                elif share > most and (reading.gap or frame - subject <= keys):
                    figures = {theirs.keys[n] for n in figures_in(theirs)}
                    others = (figures if is_number else values_in(theirs)) - content
                    if others or (share == 1.0 and not is_number):
                        most, rival = share, Evidence(chunk_id, *span)
        return rival if most >= said + _LEAST_LEAD or most == 1.0 > said else None

    def _at_its_word(self, claim: Claim) -> Claim:
        """Take a copied sentence at its word, whatever was asked; "1889." and "Yes." are none."""
        leaning = claim.leaning if claim.question else None
        if leaning in (None, "yes_no") or " " not in claim.text.strip():
            return claim
        ours = read_statement(claim.text).where.keys()
        least = 1.0 if leaning == "pronoun" else _NEAR_COPY
        for chunk in self.chunks:
            for sequence in chunk.sequences:
                theirs = {word.key for word in sequence}
                if 2 * len(ours & theirs) >= least * (len(ours) + len(theirs)):
                    return replace(claim, question=None)
        return claim

    def _denied(self, reading: Reading, subject: str) -> Verdict:
        """Decide a "no": it holds where a sentence contradicts what was asked, and says the rest.

        "Is the shop open on Sunday?" "No." | "On Sunday the shop is closed."
        """
        asked = self._said(reading.text)
        best = self.model.support(())
        own = {word.key for word in words(subject)}
        decided: StatementComparison | None = None
        for one in compare_with(self.model, reading.text, self.chunks):
            against = [
                clash.keys
                for clash in one.clashes
                if clash.keys - own or clash.kind.startswith("neg")
            ]
            strange = frozenset[str]().union(*against)
            rest = {key: weight for key, weight in one.weights.items() if key not in strange}
            if not against or not rest or asked.is_supported:
                continue
            found = find_evidence(one.statement, rest, self.chunks)
            place = one.evidence._replace(
                cover=sum([rest[key] for key in rest if key in one.evidence.sentence.where])
            )
            without = StatementComparison(one.statement, rest, one.language, found, place)
            support = self.model.support(shared_features(without))
            if support > best:
                best, decided = support, one
        text = f"not: {reading.text}" if reading.text.isascii() else f"не: {reading.text}"
        if decided is None or best < self.threshold:
            support = min(asked.support, 1 - asked.support)
            return read_as(replace(asked, support=support, is_supported=False, chunk_ids=()), text)
        evidence = tuple(
            [Evidence(one.chunk_id, *one.sentence.span) for one in evidence_for(decided)]
        )
        why = reason(decided, is_supported=False, chunks=self.chunks)
        ids = tuple(dict.fromkeys(one.chunk_id for one in evidence))
        return read_as(Verdict(best, True, ids, why, evidence), text)

    def _is_denied(self, text: str) -> bool:
        compared = compare_with(self.model, text, self.chunks)
        return any(clash.kind.startswith("neg") for one in compared for clash in one.clashes)

    def _speaks_of(self, antecedent: str, verdict: Verdict) -> bool:
        """Say whether the evidence names the antecedent, or leans on a sentence that does.

        "It" and "The game" lean on what comes before them, at the head of a chunk on the chunk
        before. A pronoun at the very beginning leans on nobody knows what.
        """
        wanted = _keys(antecedent)
        for place in verdict.evidence:
            said = place.text
            is_pronoun = leaning_of(said) is not None
            if is_pronoun or _DEFINITE.fullmatch(leading_subject(said)):
                number = place.chunk_id
                said = self.chunks[number].text[: place.end]
                if not said[: place.start].strip():
                    if number == 0 and is_pronoun:
                        return True
                    said = f"{self.chunks[number - 1].text if number else ''} {said}"
            if not wanted or wanted & _keys(said):
                return True
        return False

    def _doubted(self, verdict: Verdict, reading: Reading, claim: Claim) -> Verdict:
        """Lower the support of a claim that cannot be understood, and say why."""
        texts = _texts_for(claim.text)
        support = min(verdict.support, _UNSURE * self.threshold)
        why = texts["unclear"]
        if reading.unresolved == "pronoun":
            odds = _PRONOUN_ODDS * verdict.support
            support = odds / (odds + 1 - verdict.support)
            why = texts["pronoun"].format(word=claim.text.split(maxsplit=1)[0])
        is_supported = verdict.is_supported and support >= self.threshold
        return replace(
            verdict,
            support=support,
            is_supported=is_supported,
            chunk_ids=verdict.chunk_ids if is_supported else (),
            reason=f"{why}; {verdict.reason}",
            doubt=reading.unresolved,
        )

    def _said(self, text: str) -> Verdict:
        return _decided(self.model, self.threshold, text, self.chunks)


def _keys(text: str) -> set[str]:
    return {word.key for word in words(text) if word.kind in ("word", "number")}


def _decided(model: Model, threshold: float, text: str, chunks: Sequence[Passage]) -> Verdict:
    absence = absence_of(text[:LONGEST_MATCHED])
    if absence is None or claims_more(absence.topic):
        whole = _verdict(model, threshold, text, chunks)
        pair = pair_of(text)
        return whole if pair is None else _of_pair(whole, pair, model, threshold, chunks)
    # "Passage 3 does not say how …" is wrong when passage 3 does; people count from 1.
    meant, first = chunks, 0
    if absence.number is not None and 1 <= absence.number <= len(chunks):
        first = absence.number - 1
        meant = chunks[first : first + 1]
    said = _verdict(model, model.thresholds[_SURELY_SAID], absence.topic, meant)
    if names := names_of_topic(absence.topic):
        said = _mentioned(said, names, meant)
    texts = _texts_for(absence.topic)
    foreign = _in_other_letters(absence.topic, meant) if said.support < threshold else None
    if foreign is not None:
        place = texts["chunk"].format(id=first + foreign)
        why = texts["other_letters"].format(topic=absence.topic, place=place)
        return Verdict(_UNSURE * threshold, is_supported=False, chunk_ids=(), reason=why)
    evidence = tuple([one._replace(chunk_id=one.chunk_id + first) for one in said.evidence])
    support = _support_of_absence(said.support, model)
    is_supported = support >= threshold
    texts = _texts_for(text)
    place = texts["chunk"].format(id=evidence[0].chunk_id) if evidence else ""
    name = "left_out" if is_supported else "not_left_out"
    return Verdict(
        support=support,
        is_supported=is_supported,
        # What is not there is in no chunk.
        chunk_ids=(),
        reason=texts[name].format(topic=absence.topic, place=place),
        evidence=() if is_supported else evidence,
    )


def _in_other_letters(topic: str, chunks: Sequence[Passage]) -> int | None:
    """Return the place of the first chunk that could not say a topic in the topic's letters."""
    own = script_of(topic)
    for place, chunk in enumerate(chunks):
        if own is not None and script_of(chunk.text) not in (own, None):
            return place
    return None


def _mentioned(said: Verdict, names: Sequence[str], chunks: Sequence[Passage]) -> Verdict:
    """Decide whether any of some names occurs anywhere: to mention one, no more is needed."""
    for name in names:
        keys = read_statement(name).keys
        for chunk_id, chunk in enumerate(chunks):
            shared = -1
            for key in keys:
                shared &= chunk.masks.get(key, 0)
            if shared > 0:
                span = chunk.spans[(shared & -shared).bit_length() - 1]
                evidence = (Evidence(chunk_id, *span),)
                return replace(said, support=_MENTIONED, evidence=evidence)
    return replace(said, support=1 - _MENTIONED)


def _of_pair(
    whole: Verdict, pair: Pair, model: Model, threshold: float, chunks: Sequence[Passage]
) -> Verdict:
    """Count half of a pair for its value alone: sources seldom use the word that a key is."""
    value = _verdict(model, threshold, pair.value, chunks)
    if value.support <= whole.support:
        return whole
    support = probability((log_odds(whole.support) + log_odds(value.support)) / 2)
    shown = value if support >= threshold and not whole.is_supported else whole
    return replace(shown, support=support, is_supported=support >= threshold)


def _support_of_absence(said: float, model: Model) -> float:
    """Turn round the support of what is said to be left out.

    Only what is surely said makes an absence wrong: its words may be in the chunks without
    being an answer. At that point the support is that of the balanced threshold.
    """
    limits = [model.thresholds[name] for name in ("balanced", _SURELY_SAID)]
    return probability(sum(map(log_odds, limits)) - log_odds(said))


def cited_chunks(readings: Sequence[tuple[Sequence[int], float]]) -> tuple[int, ...]:
    """Return the chunks that carry the evidence, best first.

    Returns:
        The chunks of the best comparison, then those of each that supports nearly as well.
    """
    best, highest = max(readings, key=lambda reading: reading[1])
    others = [ids[0] for ids, support in readings if ids and support >= _LEAST_EQUAL * highest]
    return tuple(dict.fromkeys([*best, *others]))


def _verdict(model: Model, threshold: float, text: str, chunks: Sequence[Passage]) -> Verdict:
    found: list[StatementComparison] = []
    supports: list[float] = []
    # A contradiction counts no less than silence.
    support = silence = model.support(())
    for one in compare_with(model, text, chunks):
        shared = shared_features(one)
        # Clashes only speak against support: they are not looked for where a sentence could not be
        # cited anyway.
        if found and model.support(shared) < _LEAST_EQUAL * max(support, threshold):
            continue
        found.append(one)
        supports.append(model.support([*shared, clash_feature(one)]))
        support = max(support, supports[-1])
    if not found:
        texts = _texts_for(text)
        statement = read_statement(text)
        is_empty = not model.key_weights(statement, language_in(statement))
        return Verdict(silence, False, (), texts["empty" if is_empty else "nothing"])
    is_supported = support >= threshold
    # What is nearest to the statement explains best why it is not supported.
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
        reason=reason(best, is_supported=is_supported, chunks=chunks),
        evidence=tuple([Evidence(one.chunk_id, *one.sentence.span) for one in evidence]),
    )


def evidence_for(compared: StatementComparison) -> list[Place]:
    """Return the sentence compared, and those that hold a good part of what it lacks."""
    weights, lost = compared.weights, compared.lost
    least = _LEAST_JOINING * sum(weights.values())
    places = [compared.evidence]
    for one in compared.found.best if lost else ():
        gain = sum([weights[key] for key in lost if key in one.sentence.where])
        if gain >= least:
            places.append(one)
            lost = [key for key in lost if key not in one.sentence.where]
    return places
