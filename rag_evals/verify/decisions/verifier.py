"""Do the chunks support a statement? A decision model gives a probability, without a word."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, Self, get_args

from rag_evals.core import (
    Claim,
    DecisionAnswer,
    DecisionCall,
    Flow,
    Question,
    Verdict,
    Verifier,
    VerifyCall,
    fingerprint,
    require_fraction,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, JudgeRefusedError
from rag_evals.judge import decision_limits
from rag_evals.text import has_russian
from rag_evals.verify.decisions.state import sample_state
from rag_evals.verify.decisions.words import NO_CHUNK, chunk_in, option_of, words_in

ChunkQuestions = Literal["choice", "each", "none"]
"""How chunk ids are found: one choice a statement, a question a pair, or not at all."""

_VERSION = 1
# Where nobody has fitted one: the run says that it was not.
_NOT_TUNED = 0.5


class DecisionVerifier(Verifier):
    """Asks a decision model about all statements of a row in one request; support is its word.

    Args:
        endpoint: Who is asked, such as `"decisions:openai/gpt-6-luna"` or
            `"systemone:jev-latest"`.
        chunks: How chunk ids are found: `"choice"` asks once for each statement which chunk carries
            it, `"each"` about each pair of a statement and a chunk, `"none"` not at all, which is
            the cheapest.
        threshold: Support from which a statement counts as supported, 0 to 1; None takes 0.5, and
            runs say that it was not tuned.
        name: What results call it; None takes the endpoint.
        language: Language of the questions for statements whose language is not clear.

    Raises:
        ConfigurationError: A setting cannot work.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        chunks: ChunkQuestions = "choice",
        threshold: float | None = None,
        name: str | None = None,
        language: str | None = None,
    ) -> None:
        self.limits = decision_limits(endpoint)
        if chunks not in get_args(ChunkQuestions):
            raise ConfigurationError(
                f"chunks is {chunks!r}; expected one of {', '.join(get_args(ChunkQuestions))}"
            )
        self.endpoint = endpoint
        self.chunks = chunks
        self.is_tuned = threshold is not None
        self._threshold = require_fraction(
            "threshold", _NOT_TUNED if threshold is None else threshold
        )
        self.name = name or endpoint
        self.language = language
        self._hardened = True
        self._passes_on = False

    @property
    def answers_questions(self) -> bool:
        """True: any typed question."""
        return True

    @property
    def is_hardened(self) -> bool:
        """True where data is escaped."""
        return self._hardened

    @property
    def threshold(self) -> float:
        """Support from which a statement counts as supported, 0 to 1."""
        return self._threshold

    @property
    def untuned(self) -> list[str]:
        """Its own name where nobody has given a threshold."""
        return [] if self.is_tuned else [self.name]

    @property
    def endpoints(self) -> list[str]:
        """The decision model that it asks."""
        return [self.endpoint]

    def fingerprint(self) -> str:
        """Return a hash of endpoint, questions, language and threshold."""
        return fingerprint(
            _VERSION,
            self.endpoint,
            self.chunks,
            self.threshold,
            self.language,
            self._hardened,
            repr(words_in("en")),
            repr(words_in("ru")),
            self._embedded.fingerprint(),
        )

    def in_language(self, language: str) -> Self:
        """Return the same verifier, asking in a language."""
        return self._changed(language=language)

    def passing_on(self) -> Self:
        """Return the same verifier for a cascade: what the model declines goes to the next one."""
        return self._changed(_passes_on=True)

    def without_hardening(self) -> Self:
        """Return the same verifier without escaped data; to measure what escaping is worth."""
        return self._changed(_hardened=False)

    def calls_for(self, statements: int) -> int:
        """Return 1: all are asked about in one call, which may take several requests."""
        return min(statements, 1)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Ask about all claims at once; the embedded verifier reads them meanwhile, for reasons.

        Raises:
            JudgeRefusedError: The model declines, and no other verifier comes behind.
        """
        call = self._call(claims, chunks)
        explained = VerifyCall(self._embedded, claims, chunks)
        decided, read = yield [call, explained]
        answers = call.answers(decided)
        return [
            self._verdict(place, claim, answers, len(chunks), reason)
            for place, (claim, reason) in enumerate(zip(claims, explained.read(read), strict=True))
        ]

    @cached_property
    def _embedded(self) -> EmbeddedVerifier:
        return EmbeddedVerifier()

    def _changed(self, **values: object) -> Self:
        changed = copy.copy(self)
        changed.__dict__.update(values)
        return changed

    def _call(self, claims: Sequence[Claim], chunks: Sequence[str]) -> DecisionCall:
        questions = [
            question
            for place, claim in enumerate(claims)
            for question in self._questions(place, claim, len(chunks))
        ]
        state = sample_state(chunks=chunks, hardened=self._hardened)
        return DecisionCall.of(state, questions, self.endpoint)

    def _questions(self, place: int, claim: Claim, count: int) -> Iterator[Question]:
        words = words_in("ru" if has_russian(claim.text) else self.language)

        def asked(lead: str) -> str:
            return words.asked(lead, claim, hardened=self._hardened)

        yield Question(f"s{place}", "predicate", asked(words.supported))
        if self.chunks == "none" or count == 1:
            return
        if self.chunks == "each":
            for chunk in range(count):
                lead = words.pair.format(chunk=chunk)
                yield Question(f"s{place}_{chunk}", "predicate", asked(lead))
            return
        yield from self.carrier_questions(f"c{place}", claim, count)

    def carrier_questions(self, name: str, claim: Claim, count: int) -> Iterator[Question]:
        """Ask which chunk carries a claim; of one chunk nothing need be asked.

        Args:
            name: What the questions' names begin with.
            claim: The claim.
            count: How many chunks there are.
        """
        words = words_in("ru" if has_russian(claim.text) else self.language)
        instructions = words.asked(words.carrier, claim, hardened=self._hardened)
        # One option is for none of them.
        most = self.limits.options - 1
        for first in range(0, count if count > 1 else 0, most):
            options = (*map(option_of, range(first, min(first + most, count))), NO_CHUNK)
            yield Question(f"{name}_{first}", "choice", instructions, options)

    def carriers(
        self, name: str, answers: Mapping[str, DecisionAnswer], count: int
    ) -> tuple[int, ...]:
        """Read the chunk that was chosen; as `carrier_questions`."""
        if count == 1:
            return (0,)
        chosen = [answer for key, answer in answers.items() if key.startswith(f"{name}_")]
        named = {
            chunk: answer.probabilities.get(answer.choice or "", 1.0)
            for answer in chosen
            if (chunk := chunk_in(answer.choice)) is not None
        }
        return (max(named, key=lambda chunk: named[chunk]),) if named else ()

    def about(self, claim: Claim) -> str:
        """Return a claim as a question shows it, with what it leans on."""
        words = words_in("ru" if has_russian(claim.text) else self.language)
        return words.asked("", claim, hardened=self._hardened).strip()

    def _verdict(
        self,
        place: int,
        claim: Claim,
        answers: Mapping[str, DecisionAnswer],
        count: int,
        explained: Verdict,
    ) -> Verdict:
        answer = answers[f"s{place}"]
        words = words_in("ru" if has_russian(claim.text) else self.language)
        if answer.probability is None:
            declined = f"the decision model declined statement {place}: {answer.refusal}"
            if not self._passes_on:
                raise JudgeRefusedError(declined)
            return Verdict(0.0, False, (), declined, decided_by=self.name, doubt="declined")
        support = answer.probability
        is_supported = support >= self.threshold
        chunk_ids = self._chunk_ids(place, answers, count) if is_supported else ()
        reason = words.probability.format(support=support)
        if chunk_ids:
            reason += words.carried.format(chunk=chunk_ids[0])
        elif is_supported and _is_declined(place, answers):
            reason += words.declined
        if explained.is_supported == is_supported and explained.doubt is None and explained.reason:
            reason += f"; {explained.reason}"
        return Verdict(support, is_supported, chunk_ids, reason, decided_by=self.name)

    def _chunk_ids(
        self, place: int, answers: Mapping[str, DecisionAnswer], count: int
    ) -> tuple[int, ...]:
        if count == 1:
            return (0,)
        if self.chunks == "each":
            pairs = {n: answers[f"s{place}_{n}"].probability or 0.0 for n in range(count)}
            best = sorted(pairs, key=lambda chunk: -pairs[chunk])
            return tuple(chunk for chunk in best if pairs[chunk] >= self.threshold)
        return self.carriers(f"c{place}", answers, count)


def _is_declined(place: int, answers: Mapping[str, DecisionAnswer]) -> bool:
    """Say whether the model declined a question about the chunks of a claim."""
    own = (f"c{place}_", f"s{place}_")
    return any(one.refusal is not None for name, one in answers.items() if name.startswith(own))
