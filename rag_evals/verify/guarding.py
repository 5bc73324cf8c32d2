"""Guardrails: the embedded judge checks each sentence of an answer within milliseconds.

No data leaves the machine, so a server can check each answer before a user sees it.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, TypedDict, Unpack

from rag_evals.core import (
    Claim,
    ContextInput,
    Sample,
    VerifiedTexts,
    require_fraction,
    require_known,
    require_whole,
)
from rag_evals.embedded import EmbeddedVerifier, PreparedStatement
from rag_evals.embedded.verifier import unread_words
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.text import READ_WELL, language_in, shortened

MinSupport = float | Literal["balanced", "screen", "strict"]
"""Minimum support for a sentence to pass: 0 to 1, or the name of a threshold."""

_AT_ONCE = 8
# A sentence may have ended if text follows a full stop or a line break.
_MAY_HAVE_ENDED = re.compile(r"[。！？｡]|[.!?…:;\n][^\w\n]*\s")


class GuardOptions(TypedDict, total=False):
    """Options of `guard`, `guard_sync` and `guard_stream`.

    Attributes:
        question: The question, needed to interpret pronouns and short answers.
        min_support: Minimum support for a sentence to pass, 0 to 1; or "balanced" (the default),
            "screen" (lets more pass) or "strict".
        most_sentences: Maximum number of sentences to check, at least 1; the default of 200 takes
            about a second. The remaining text does not pass, and `Guarded.bound` states the limit.
        deadline_seconds: Processing time, above 0, after which the remaining text does not pass;
            None means no deadline. Checked after every eight sentences; time spent waiting for a
            stream does not count.
        languages: Codes of languages to allow in addition to English and Russian, such
            as `["de"]`; `["any"]` allows every language.
    """

    question: str | None
    min_support: MinSupport
    most_sentences: int
    deadline_seconds: float | None
    languages: Iterable[str]


@dataclass(frozen=True, slots=True)
class GuardedSentence:
    """A sentence in an answer, with its verdict.

    Attributes:
        text: `answer[start:end]`.
        start: Start offset in the answer, in characters.
        end: End offset in the answer, exclusive.
        is_supported: True if the context supports the sentence; None if it makes no claim, like a
            greeting, a question, a heading or code.
        support: Strength of the support, 0 to 1; None if the sentence makes no claim.
        reason: Reason for the verdict; empty if the sentence makes no claim.
        chunk_ids: Indexes of the supporting chunks.
        is_decided: False for text beyond a limit, which does not pass; `reason` states the limit.
            Also False for a sentence in a language that the embedded judge does not support; its
            `support` is computed anyway.
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
        words = {True: "supported", False: "not supported", None: "claims nothing"}
        shown = words[self.is_supported] if self.is_decided else self.reason
        return f"GuardedSentence({shortened(self.text, 60)!r}, {shown})"


@dataclass(frozen=True, slots=True)
class Guarded:
    """An answer with a verdict for each sentence.

    Attributes:
        sentences: All sentences, in order. If a limit was reached, the remaining text is a single
            sentence without a verdict.
        warnings: Reasons not to trust the verdicts, such as an answer in a language that the
            embedded judge does not support. No claim in such a language passes.
        decided_by: Name of the judge.
    """

    sentences: tuple[GuardedSentence, ...]
    warnings: tuple[str, ...] = ()
    decided_by: ClassVar[str] = "embedded"

    @property
    def unsupported(self) -> tuple[GuardedSentence, ...]:
        """The sentences with claims that the context does not support."""
        return tuple(one for one in self.sentences if one.is_supported is False)

    @property
    def bound(self) -> str | None:
        """The limit that was reached, if any."""
        left = (one for one in self.sentences if not one.is_decided and one.support is None)
        return next((one.reason for one in left), None)

    @property
    def passed(self) -> bool:
        """True if every claim is supported; an answer without claims passes."""
        return not self.unsupported

    @property
    def support(self) -> float | None:
        """The lowest support of any sentence, 0 to 1; None if the answer contains no claims."""
        return min((one.support for one in self.sentences if one.support is not None), default=None)

    def __repr__(self) -> str:
        claims = sum(one.is_supported is not None for one in self.sentences)
        verdict = "passed" if self.passed else "not passed"
        bound = f"; {self.bound}" if self.bound else ""
        wrong = len(self.unsupported)
        return f"Guarded({verdict}: {wrong} of {claims} claims not supported{bound})"


async def guard(answer: str, context: ContextInput, **options: Unpack[GuardOptions]) -> Guarded:
    """Check each sentence of an answer in a thread, without blocking the event loop.

    Args:
        answer: The answer to check.
        context: The retrieved chunks.
        options: See `GuardOptions`.

    Raises:
        ConfigurationError: An option is out of range.
        DataError: A text is None or contains a lone surrogate.
    """
    return await asyncio.to_thread(guard_sync, answer, context, **options)


def guard_sync(answer: str, context: ContextInput, **options: Unpack[GuardOptions]) -> Guarded:
    """Check each sentence of an answer in the current thread; see `guard`."""
    require_known("guard_sync", options, ["answer", "context", *GuardOptions.__annotations__])
    guarding = _Guarding(context, **options)
    if answer is None:
        raise DataError("answer is None; expected a string")
    sentences = tuple(guarding.decided(answer, 0))
    return Guarded(sentences, guarding.warnings(answer, sentences))


async def guard_stream(
    tokens: AsyncIterable[str | None], context: ContextInput, **options: Unpack[GuardOptions]
) -> AsyncIterator[GuardedSentence]:
    """Check each sentence of a streamed answer as soon as the sentence is complete.

    A sentence is complete when the first word of the next one arrives; "Dr." and "3." do not end a
    sentence. The sentences are the same as in `guard`, unless later text changes how earlier text
    is parsed, as in tables.

    Args:
        tokens: Pieces of the answer, of any length; None and empty pieces are skipped.
        context: The retrieved chunks.
        options: See `GuardOptions`.

    Yields:
        The sentences, in order. If a limit is reached, the last sentence has no verdict.
    """
    require_known("guard_stream", options, ["tokens", "context", *GuardOptions.__annotations__])
    guarding = _Guarding(context, **options)
    if not isinstance(tokens, AsyncIterable):
        raise ConfigurationError(
            f"tokens is {type(tokens).__name__}; expected an asynchronous iterable of strings; "
            "for a complete answer, use guard(answer, context)"
        )
    text, seen = "", 0
    async for token in tokens:
        if not token:
            continue
        text += token
        if _MAY_HAVE_ENDED.search(text, seen) is None:
            continue
        for sentence in await asyncio.to_thread(guarding.decided, text, seen, more_follows=True):
            seen = max(seen, sentence.end)
            yield sentence
            if not sentence.is_decided and sentence.support is None:
                return
    for sentence in await asyncio.to_thread(guarding.decided, text, seen):
        yield sentence


@dataclass
class _Guarding:
    context: ContextInput
    _: KW_ONLY
    question: str | None = None
    min_support: MinSupport = "balanced"
    most_sentences: int = 200
    deadline_seconds: float | None = None
    languages: Iterable[str] = ()

    def __post_init__(self) -> None:
        sample = Sample(question=self.question, context=self.context)
        if not isinstance(self.min_support, str):
            require_fraction("min_support", self.min_support, otherwise=', or "balanced"')
        require_whole("most_sentences", self.most_sentences)
        if self.deadline_seconds is not None and not self.deadline_seconds > 0:
            raise ConfigurationError(
                f"deadline_seconds is {self.deadline_seconds!r}; expected a number above 0, or None"
            )
        self.question = sample.question
        self._chunks = [chunk.text for chunk in sample.context]
        self._verifier = EmbeddedVerifier(self.min_support, languages=self.languages)
        self._sentences, self._seconds = 0, 0.0

    def decided(self, text: str, seen: int, *, more_follows: bool = False) -> list[GuardedSentence]:
        """Check the sentences after `seen`; if more text follows, only the complete ones."""
        # Imported lazily: it is slow to load, and most programs never use a guard.
        from rag_evals.embedded import claims_in_setting, prepare_answer  # noqa: PLC0415

        if not more_follows:
            # Reject lone surrogates.
            Sample(answer=text)
        prepared = prepare_answer(text)
        if more_follows:
            # The first word of a sentence shows where the previous sentence ended.
            starts = [one.start for one in prepared if re.search(r"\w\W", text[one.start :])]
            prepared = [one for one in prepared if one.end <= max(starts, default=0)]
        pairs = zip(prepared, claims_in_setting(prepared, self.question), strict=True)
        left = [(one, claim) for one, claim in pairs if one.end > seen]
        found: list[GuardedSentence] = []
        while left:
            if bound := self._reached():
                start = left[0][0].start
                rest = GuardedSentence(text[start:], start, len(text), is_supported=False)
                return [*found, replace(rest, reason=bound, is_decided=False)]
            count = min(_AT_ONCE, self.most_sentences - self._sentences)
            now, left = left[:count], left[count:]
            began = time.monotonic()
            found += self._decide(now)
            self._seconds += time.monotonic() - began
            self._sentences += len(now)
        return found

    def warnings(self, answer: str, sentences: Sequence[GuardedSentence]) -> tuple[str, ...]:
        unread = [one.reason for one in sentences if not one.is_decided and one.support is not None]
        # Sentences in unsupported languages get their own warnings, so treat the answer as English.
        texts = VerifiedTexts(
            question=self.question, answer=answer, chunks=self._chunks, language=READ_WELL[0]
        )
        warn = self._verifier.traits.warn
        return tuple(dict.fromkeys([*unread, *(warn(texts) if warn and sentences else ())]))

    def _reached(self) -> str:
        """Return the limit that was reached, or an empty string."""
        if self._sentences >= self.most_sentences:
            return f"not decided: more than {self.most_sentences} sentences"
        limit = self.deadline_seconds
        is_late = limit is not None and self._seconds >= limit
        return f"not decided within {limit:g} s" if is_late else ""

    def _decide(
        self, asked: Sequence[tuple[PreparedStatement, Claim | None]]
    ) -> Iterator[GuardedSentence]:
        claims = [claim for _, claim in asked if claim is not None]
        verdicts = iter(self._verifier.verify(claims, self._chunks))
        for one, claim in asked:
            sentence = GuardedSentence(one.text, one.start, one.end, is_supported=None)
            if claim is None:
                yield sentence
                continue
            verdict = next(verdicts)
            language = language_in(one.text, self.question, self._chunks)
            unread = "" if self._verifier.reads(language) else unread_words(language)
            yield replace(
                sentence,
                # Without chunks, nothing is supported, whatever the threshold.
                is_supported=verdict.is_supported and bool(self._chunks) and not unread,
                support=verdict.support,
                reason=unread or verdict.reason,
                chunk_ids=verdict.chunk_ids,
                is_decided=not unread,
            )
