"""May an answer be shown? Its sentences are decided by the embedded judge, within milliseconds.

No model is asked and nothing is sent, so that a server can look at each answer before a user does.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rag_evals.core import (
    Claim,
    ContextInput,
    Sample,
    VerifiedTexts,
    require_fraction,
    require_whole,
)
from rag_evals.embedded import EmbeddedVerifier, PreparedStatement
from rag_evals.embedded.verifier import unread_words
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.text import READ_WELL, language_in, shortened

MinSupport = float | Literal["balanced", "screen", "strict"]
"""Support from which a sentence counts as supported: 0 to 1, or a name of the embedded judge."""

MOST_SENTENCES = 200
"""Sentences of an answer that are decided, about a second of work."""

_AT_ONCE = 8
# A sentence may have ended: a stop or a line end, then more.
_MAY_HAVE_ENDED = re.compile(r"[。！？｡]|[.!?…:;\n][^\w\n]*\s")


@dataclass(frozen=True, slots=True)
class GuardedSentence:
    """One sentence of an answer, decided.

    Attributes:
        text: Its words, `answer[start:end]`.
        start: Where it begins in the answer, in characters from 0.
        end: Behind its last character.
        is_supported: Whether the context supports it; None where it claims nothing, such as
            "Hello!".
        support: How far, 0 to 1; None as above.
        reason: Why, in words; empty as above.
        chunk_ids: The chunks that carry it, from 0.
        is_decided: False for the rest of an answer behind a bound: nobody looked at it, it does not
            pass, and `reason` says which bound was reached. False too in a language that the
            embedded judge does not read; then `support` is what it would have said.
    """

    text: str
    start: int
    end: int
    is_supported: bool | None
    support: float | None = None
    reason: str = ""
    chunk_ids: tuple[int, ...] = ()
    is_decided: bool = True

    def __repr__(self) -> str:
        """One line: the sentence, and what was decided."""
        if not self.is_decided:
            return f"GuardedSentence({shortened(self.text, 60)!r}, {self.reason})"
        words = {True: "supported", False: "not supported", None: "claims nothing"}
        return f"GuardedSentence({shortened(self.text, 60)!r}, {words[self.is_supported]})"


@dataclass(frozen=True, slots=True)
class Guarded:
    """An answer whose sentences are decided.

    Attributes:
        sentences: All of them, in order; none for an empty answer. Behind a bound, the rest of the
            answer is one of them, not decided and not supported.
        warnings: Why verdicts are not to be trusted, such as a language that the embedded judge
            does not read: then nothing passes that claims something.
        decided_by: The judge, always the embedded one.
    """

    sentences: tuple[GuardedSentence, ...]
    warnings: tuple[str, ...] = ()
    decided_by: ClassVar[str] = "embedded"

    @property
    def unsupported(self) -> tuple[GuardedSentence, ...]:
        """The sentences that claim what the context does not support."""
        return tuple(one for one in self.sentences if one.is_supported is False)

    @property
    def bound(self) -> str | None:
        """Which bound was reached, in words; None where every sentence was decided."""
        left = (one for one in self.sentences if not one.is_decided and one.support is None)
        return next((one.reason for one in left), None)

    @property
    def passed(self) -> bool:
        """Whether no sentence is unsupported; an answer that claims nothing passes."""
        return not self.unsupported

    @property
    def support(self) -> float | None:
        """The least support of a sentence, 0 to 1; None where nothing is claimed."""
        return min((one.support for one in self.sentences if one.support is not None), default=None)

    def __repr__(self) -> str:
        """One line: whether it passed, and what was counted."""
        claims = sum(one.is_supported is not None for one in self.sentences)
        verdict = "passed" if self.passed else "not passed"
        bound = f"; {self.bound}" if self.bound else ""
        return (
            f"Guarded({verdict}: {len(self.unsupported)} of {claims} claims not supported{bound})"
        )


async def guard(
    answer: str,
    context: ContextInput,
    *,
    question: str | None = None,
    min_support: MinSupport = "balanced",
    most_sentences: int = MOST_SENTENCES,
    deadline_seconds: float | None = None,
    languages: Iterable[str] = (),
) -> Guarded:
    """Decide the sentences of an answer, in a thread, so that the event loop stays free.

    Args:
        answer: What the program is about to say.
        context: The chunks that it was given, as in a `Sample`.
        question: What it answers; short answers and pronouns are read with it.
        min_support: Support from which a sentence counts as supported, 0 to 1; or "balanced",
            "screen" (lets more pass) or "strict" of the embedded judge.
        most_sentences: Decide no more than these, at least 1. The rest of the answer does not pass,
            and `Guarded.bound` says why.
        deadline_seconds: Stop after so many seconds of deciding, above 0, in the same way; it is
            looked at after every eight sentences. None sets none.
        languages: Codes of languages besides English and Russian in which a sentence may pass, such
            as `["de"]`; `["any"]` for all.

    Raises:
        ConfigurationError: `min_support` is neither, or a bound is out of its range.
        DataError: A text is none, or holds a lone surrogate.
    """
    return await asyncio.to_thread(
        guard_sync,
        answer,
        context,
        question=question,
        min_support=min_support,
        most_sentences=most_sentences,
        deadline_seconds=deadline_seconds,
        languages=languages,
    )


def guard_sync(
    answer: str,
    context: ContextInput,
    *,
    question: str | None = None,
    min_support: MinSupport = "balanced",
    most_sentences: int = MOST_SENTENCES,
    deadline_seconds: float | None = None,
    languages: Iterable[str] = (),
) -> Guarded:
    """Decide the sentences of an answer in this thread; otherwise as `guard`."""
    guarding = _Guarding.of(
        context, question, min_support, most_sentences, deadline_seconds, languages
    )
    sentences = tuple(guarding.decided(_said(answer), 0))
    return Guarded(sentences, guarding.warnings(answer, sentences))


async def guard_stream(
    tokens: AsyncIterable[str | None],
    context: ContextInput,
    *,
    question: str | None = None,
    min_support: MinSupport = "balanced",
    most_sentences: int = MOST_SENTENCES,
    deadline_seconds: float | None = None,
    languages: Iterable[str] = (),
) -> AsyncIterator[GuardedSentence]:
    """Decide each sentence of an answer as soon as it has ended, while the rest is written.

    A sentence has ended when the first word behind it is there: only then is "Dr." or "3." told
    from an end. Together the sentences are those of `guard`, as far as no later text changes how
    an earlier one is read, as it does in tables.

    Args:
        tokens: Pieces of the answer, of any length; None and empty ones are passed over.
        context: As for `guard`.
        question: As for `guard`.
        min_support: As for `guard`.
        most_sentences: As for `guard`.
        deadline_seconds: As for `guard`; time in which the answer is written does not count.
        languages: As for `guard`.

    Yields:
        Sentences, in order; behind a bound, one that is not decided, and no more.
    """
    guarding = _Guarding.of(
        context, question, min_support, most_sentences, deadline_seconds, languages
    )
    if not isinstance(tokens, AsyncIterable):
        raise ConfigurationError(
            f"tokens is {type(tokens).__name__}; expected an asynchronous stream of texts, as "
            "`async for` reads; for a whole answer there is guard(answer, context)"
        )
    text, seen = "", 0
    async for token in tokens:
        if not token:
            continue
        text += token
        if _MAY_HAVE_ENDED.search(text, seen) is None:
            continue
        for sentence in await asyncio.to_thread(guarding.decided, text, seen, may_go_on=True):
            seen = max(seen, sentence.end)
            yield sentence
            if not sentence.is_decided and sentence.support is None:
                return
    for sentence in await asyncio.to_thread(guarding.decided, _said(text), seen):
        yield sentence


def _said(answer: str | None) -> str:
    """Check an answer as that of a sample; None is no answer that may pass."""
    if answer is None:
        raise DataError("answer is None; expected a text")
    return Sample(answer=answer).answer or ""


@dataclass(slots=True)
class _Guarding:
    """Against what the sentences of an answer are decided, and how many were."""

    verifier: EmbeddedVerifier
    chunks: Sequence[str]
    question: str | None
    most_sentences: int
    deadline_seconds: float | None
    sentences: int = 0
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        context: ContextInput,
        question: str | None,
        min_support: MinSupport,
        most_sentences: int,
        deadline_seconds: float | None,
        languages: Iterable[str],
    ) -> "_Guarding":
        sample = Sample(question=question, context=context)
        chunks = [chunk.text for chunk in sample.context]
        if not isinstance(min_support, str):
            require_fraction("min_support", min_support, otherwise=', or "balanced"')
        require_whole("most_sentences", most_sentences)
        if deadline_seconds is not None and not deadline_seconds > 0:
            raise ConfigurationError(
                f"deadline_seconds is {deadline_seconds!r}; expected a number above 0, or None"
            )
        verifier = EmbeddedVerifier(min_support, languages=languages)
        return cls(verifier, chunks, sample.question, most_sentences, deadline_seconds)

    def decided(self, text: str, seen: int, *, may_go_on: bool = False) -> list[GuardedSentence]:
        """Decide the sentences that end behind `seen`, and have ended where text may follow."""
        # The patterns take a while to build; most programs never guard.
        from rag_evals.embedded import claims_in_setting, prepare_answer  # noqa: PLC0415

        prepared = prepare_answer(text)
        if may_go_on:
            # What follows must have a first word: it says whether the stop before it ended it.
            starts = [one.start for one in prepared if re.search(r"\w\W", text[one.start :])]
            prepared = [one for one in prepared if one.end <= max(starts, default=0)]
        pairs = zip(prepared, claims_in_setting(prepared, self.question), strict=True)
        left = [(one, claim) for one, claim in pairs if one.end > seen]
        found: list[GuardedSentence] = []
        while left:
            if bound := self._reached():
                start = left[0][0].start
                rest = text[start:]
                undecided = GuardedSentence(rest, start, len(text), False, None, bound, (), False)
                return [*found, undecided]
            count = min(_AT_ONCE, self.most_sentences - self.sentences)
            now, left = left[:count], left[count:]
            began = time.monotonic()
            found += self._sentences(now)
            self.seconds += time.monotonic() - began
            self.sentences += len(now)
        return found

    def warnings(self, answer: str, sentences: Sequence[GuardedSentence]) -> tuple[str, ...]:
        """Say why verdicts on an answer are not to be trusted."""
        unread = [one.reason for one in sentences if not one.is_decided and one.support is not None]
        # What was said of each sentence is not said of the whole once more.
        texts = VerifiedTexts(
            question=self.question, answer=answer, chunks=self.chunks, language=READ_WELL[0]
        )
        warn = self.verifier.traits.warn
        return tuple(dict.fromkeys([*unread, *(warn(texts) if warn and sentences else ())]))

    def _unread(self, text: str) -> str:
        """Say that the language of a sentence is not read; empty where it is."""
        language = language_in(text, self.question, self.chunks)
        return "" if self.verifier.reads(language) else unread_words(language)

    def _reached(self) -> str:
        """Say which bound is reached; empty where none is."""
        if self.sentences >= self.most_sentences:
            return f"not decided: more than {self.most_sentences} sentences"
        if self.deadline_seconds is not None and self.seconds >= self.deadline_seconds:
            return f"not decided within {self.deadline_seconds:g} s"
        return ""

    def _sentences(
        self, asked: Sequence[tuple[PreparedStatement, Claim | None]]
    ) -> Iterator[GuardedSentence]:
        claims = [claim for _, claim in asked if claim is not None]
        verdicts = iter(self.verifier.verify(claims, self.chunks))
        for one, claim in asked:
            if claim is None:
                yield GuardedSentence(one.text, one.start, one.end, None)
                continue
            verdict, unread = next(verdicts), self._unread(one.text)
            yield GuardedSentence(
                one.text,
                one.start,
                one.end,
                # Without a chunk nothing carries it, whatever was asked.
                verdict.is_supported and bool(self.chunks) and not unread,
                verdict.support,
                unread or verdict.reason,
                verdict.chunk_ids,
                not unread,
            )
