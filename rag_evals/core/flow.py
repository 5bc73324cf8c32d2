"""The interface between graders and their drivers: steps, replies, usage, watchers, verifiers."""

from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from operator import add, attrgetter
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    runtime_checkable,
)

from pydantic import BaseModel

from rag_evals.errors import VerifierError
from rag_evals.text import Leaning, leaning_of
from rag_evals.text.sentences import stands_alone

_MOST_BEFORE = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim in an answer, with the text needed to understand it.

    Attributes:
        sentence: Verbatim sentence that the claim was taken from; None if it is not from an answer.
        before: Preceding text in the answer that the claim depends on, or None.
    """

    text: str
    sentence: str | None = None
    before: str | None = None
    question: str | None = None

    @property
    def leaning(self) -> Leaning | None:
        """Why the text cannot be understood on its own; None if it can."""
        return leaning_of(self.text)

    @property
    def setting(self) -> tuple[str | None, str | None, str | None]:
        """The sentence, preceding text and question that the claim depends on; any can be None.

        Claims with the same text and setting can share a verdict.
        """
        if stands_alone(self.text):
            return None, None, None
        sentence = None if self.sentence == self.text else self.sentence
        return sentence, self.before, self.question

    def __str__(self) -> str:
        return self.text


def text_before(claims: Sequence[Claim]) -> str | None:
    """Return the text that the next claim in an answer may depend on, or None.

    The text starts at the last self-contained claim, but at most three claims back.
    """
    texts: list[str] = []
    for claim in reversed(claims[-_MOST_BEFORE:]):
        texts.insert(0, claim.text)
        if stands_alone(claim.text):
            break
    return " ".join(texts) or None


def as_claims(statements: Sequence[str | Claim]) -> list[Claim]:
    """Convert strings to claims that are not from an answer; return claims unchanged."""
    return [one if isinstance(one, Claim) else Claim(one) for one in statements]


class Evidence(NamedTuple):
    """A sentence of a chunk: `chunk.text[start:end] == text`."""

    chunk_id: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verifier's decision on whether the chunks support one statement.

    Attributes:
        support: From 0 (no evidence) to 1. The embedded verifier's support is calibrated: of
            statements with support 0.8, about 80 % are supported.
        is_supported: True if the support comes from a chunk and reaches the verifier's threshold.
        chunk_ids: Ids of the chunks that contain the evidence, from 0, best first; may be empty.
        reason: The reason, in the statement's language.
        evidence: Sentences used as evidence, best first.
        decided_by: Name of the verifier that judged the statement; None if there is only one.
        windows: Number of context windows that a classifier read; None for other verifiers.
        taken_from: The similar statement whose cached verdict was reused, if any.
        similarity: Cosine similarity of the two statements, -1 to 1; None without `taken_from`.
        doubt: Why the verifier could not judge the claim: how it depends on other text, or
            `declined`. A cascade then calls its second verifier. None if there is no doubt.
        is_sure: True if a cascade may stop with this verdict; if None, the support decides.
    """

    support: float
    is_supported: bool
    chunk_ids: tuple[int, ...]
    reason: str
    evidence: tuple[Evidence, ...] = ()
    decided_by: str | None = None
    windows: int | None = None
    from_cache: bool = False
    taken_from: str | None = None
    similarity: float | None = None
    doubt: Leaning | Literal["declined"] | None = None
    is_sure: bool | None = None


M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and tokens used.

    Attributes:
        calls: Replies received from the endpoint, including those to re-asks.
        reasks: Calls repeated because the judge's reply was invalid.
        retries: Requests that were sent again; counted only for clients created by this package.
        prompt_tokens: Tokens sent, as reported by the endpoint; see `uncounted`.
        completion_tokens: Tokens received.
        cached_tokens: The part of `prompt_tokens` that the provider read from its cache.
        cache_hits: Calls answered by this package's cache, free of charge.
        uncounted: Replies without a token count, whose cost is unknown.
    """

    calls: int = 0
    reasks: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_hits: int = 0
    uncounted: int = 0

    @property
    def tokens(self) -> int:
        """Total number of tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, _read_usage(self), _read_usage(other)))


_read_usage = attrgetter(*Usage.__slots__)


class Message(TypedDict):
    """One rendered chat message; its text is sent unchanged."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A reply parsed into the call's reply model, and its usage, including re-asks."""

    parsed: BaseModel
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class JudgeCall(Generic[M]):
    """One call to a judge.

    Attributes:
        reply_model: The model that the reply must match.
        facts: Context for the reply's validators, passed as `info.context`; not sent to the judge.
        settings: Sampling settings to send, such as `temperature`.
        model: Model requested by the grader; by default, the client's model.
        sample_index: Index of this call among intentionally identical calls, from 0; a cache
            stores their replies separately.
        endpoint: Judge for this call, such as `"openai/gpt-4o"`; by default, the run's judge.
        is_shared: True if several graders may make this call for a row; a run makes it only once.
    """

    messages: tuple[Message, ...]
    reply_model: type[M]
    facts: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    sample_index: int = 0
    endpoint: str | None = None
    is_shared: bool = False

    def read(self, reply: object) -> M:
        """Return the typed reply; raise `TypeError` if it belongs to a different call."""
        if isinstance(reply, JudgeReply) and isinstance(reply.parsed, self.reply_model):
            return reply.parsed
        raise TypeError(f"expected a reply of {self.reply_model.__name__}, got {reply!r}")


class LocalVerifier(Protocol):
    def verify(self, claims: Sequence[Claim], chunks: Sequence[str], /) -> list[Verdict]: ...


@dataclass(frozen=True, slots=True)
class VerifyCall:
    """A step in which a local verifier checks claims against chunks."""

    verifier: LocalVerifier
    claims: Sequence[Claim]
    chunks: Sequence[str]

    def run(self, _judge: str | None = None) -> list[Verdict]:
        """Verify the claims in this thread; raise `VerifierError` for invalid verdicts."""
        verdicts = self.verifier.verify(self.claims, self.chunks)
        check_verdicts(self.claims, self.chunks, verdicts)
        return verdicts

    def read(self, reply: Any) -> list[Verdict]:
        """Return the typed reply."""
        return list(reply)


@dataclass(frozen=True, slots=True)
class LocalCall(Generic[T]):
    """A step that does other local work, such as a cache lookup.

    Attributes:
        work: Function that receives the identity of the driver's judge, or None, and returns the
            reply.
        reply_when_skipped: The reply used by a driver that only estimates the calls.
    """

    work: Callable[[str | None], T]
    reply_when_skipped: T

    def run(self, judge: str | None) -> T:
        """Do the work; drivers call this in a thread because it may wait for a file or a server."""
        return self.work(judge)

    def read(self, reply: Any) -> T:
        """Return the typed reply."""
        returned: T = reply
        return returned


def check_verdicts(
    claims: Sequence[Claim], chunks: Sequence[str], verdicts: Sequence[Verdict]
) -> None:
    """Raise `VerifierError` for an impossible verdict or a wrong number of verdicts."""
    if len(verdicts) != len(claims):
        raise VerifierError(
            f"the verifier returned {len(verdicts)} verdicts for {len(claims)} statements; "
            "expected one for each, in order"
        )
    for claim, verdict in zip(claims, verdicts, strict=True):
        # This form of the condition also rejects NaN.
        if not 0 <= verdict.support <= 1:
            raise VerifierError(
                f"the verifier gave {claim.text!r} a support of {verdict.support!r}; expected a "
                "number from 0 to 1"
            )
        unknown = [number for number in verdict.chunk_ids if not 0 <= number < len(chunks)]
        if unknown:
            raise VerifierError(
                f"the verifier gave {claim.text!r} the chunk ids {unknown}; there are "
                f"{len(chunks)} chunks, numbered from 0"
            )


Step = JudgeCall[Any] | VerifyCall | LocalCall[Any]
Flow = Generator[Sequence[Step], Sequence[Any], R]
"""A generator that yields lists of concurrent steps, receives the replies, and returns a result."""


class Meter:
    """Adds up the usage of one grading, including failed calls.

    Attributes:
        by_judge: Usage by endpoint and model; None means the run's judge or its default model.
        answered_by: Models named in replies, without duplicates.
        waited_seconds: Time spent waiting for replies, excluding waits for the rate limiter.
        row_seconds: Time limit for all calls of the grading; None if it is enforced elsewhere, such
            as by a session.
        last_fault: The error that caused the most recent retry; initially empty.
    """

    def __init__(self, row_seconds: float | None = None) -> None:
        self.by_judge: dict[tuple[str | None, str | None], Usage] = {}
        self.answered_by: dict[str, None] = {}
        self.waited_seconds = 0.0
        self.row_seconds = row_seconds
        self.last_fault = ""

    @property
    def seconds_left(self) -> float | None:
        """Seconds left for further calls; None if there is no limit."""
        return None if self.row_seconds is None else self.row_seconds - self.waited_seconds

    @property
    def total(self) -> Usage:
        """Usage of all judges so far."""
        used = tuple(self.by_judge.values())
        return used[0] if len(used) == 1 else sum(used, Usage())

    def add(
        self,
        usage: Usage,
        *,
        endpoint: str | None = None,
        model: str | None = None,
        answered_by: Iterable[str] = (),
    ) -> None:
        """Add the usage of a call."""
        asked = (endpoint, model)
        before = self.by_judge.get(asked)
        self.by_judge[asked] = usage if before is None else before + usage
        self.answered_by.update(dict.fromkeys(answered_by))


@dataclass(slots=True)
class Work:
    """A unit of work that watchers observe.

    Attributes:
        kind: Type of the work: a run, the grading of one row by one grader, or one judge call.
        name: Names of the graders; empty for a call.
        subject: The run's identity, the row as it was read, or the call.
        by: The judge if this is a call, otherwise None.
        result: The run, outcome or reply; None until it exists, and after a failure.
    """

    kind: Literal["run", "row", "call"]
    name: str
    subject: Any
    by: Any = None
    result: Any = None


Watcher = Callable[[Work], AbstractContextManager[object]]
"""Returns a context manager that is entered for each unit of work; exceptions pass through it."""

_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> Callable[[], None]:
    """Register a watcher for all work in this process; return a function that removes it."""
    _watchers.append(watcher)

    def stop() -> None:
        if watcher in _watchers:
            _watchers.remove(watcher)

    return stop


@contextmanager
def watched(work: Work) -> Iterator[Work]:
    """Run the body, which sets `work.result`, inside all watchers."""
    with ExitStack() as stack:
        for watcher in tuple(_watchers):
            stack.enter_context(watcher(work))
        yield work


async def watching(work: Work, doing: Coroutine[Any, Any, T]) -> T:
    """Await the work inside all watchers and return its result."""
    if not _watchers:
        return await doing
    with watched(work):
        result = await doing
        work.result = result
        return result


CacheMode = Literal["exact", "semantic"]
"""Which statements share a verdict: only identical statements, or also paraphrases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierTraits:
    """Properties that a verifier declares; the defaults suit a single local verifier.

    Attributes:
        asks_judge: True if it needs the run's judge.
        reads_question: True if even verdicts on self-contained claims depend on the question.
        is_instant: True if it is faster than a cache lookup.
        threshold: Minimum support of a supported statement, 0 to 1; None if the support is always
            0 or 1.
        endpoints: Judges that it specifies itself, such as `openai/gpt-4o`.
        batches: The judges that it calls, each with the number of statements per call.
        untuned: Names of verifiers whose threshold has not been tuned.
        stages: The verifiers of a cascade in order; empty for a single verifier.
        unsure: For each stage of a cascade except the last, the range of support (inclusive) for
            which the next stage is called.
        cache_mode: Which cached verdicts it reuses; None without a cache.
        answer_support: Computes, from the supports of an answer's statements, the probability that
            all of them are supported; None if the verifier cannot compute it.
        warn: Returns reasons not to trust verdicts on the given texts, one line each.
        check: Raises `ConfigurationError` before the first call if the verifier cannot be used.
        languages: Codes of the languages in which its verdicts count. None in the set means
            that texts too short to detect their language count; None instead of a set, that all do.
    """

    asks_judge: bool = False
    reads_question: bool = False
    is_instant: bool = False
    threshold: float | None = None
    endpoints: tuple[str, ...] = ()
    batches: tuple[tuple[str, int], ...] = ()
    untuned: tuple[str, ...] = ()
    stages: tuple["Verifier", ...] = ()
    unsure: tuple[tuple[float, float], ...] = ()
    cache_mode: CacheMode | None = None
    answer_support: Callable[[Iterable[float]], float] | None = None
    warn: Callable[["VerifiedTexts"], Sequence[str]] | None = None
    check: Callable[[], None] | None = None
    languages: frozenset[str | None] | None = None

    @property
    def deciders(self) -> list[str]:
        """Names of the verifiers of a cascade; empty for a single verifier."""
        return [stage.name for stage in self.stages] if len(self.stages) > 1 else []


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedTexts:
    """The texts of one row, as seen by a verifier, and the code of the answer's language."""

    question: str | None
    answer: str
    chunks: Sequence[str]
    language: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierChanges:
    """Changes for `adapt`; a verifier ignores those that do not apply to it.

    Attributes:
        language: Prompt language, such as `ru`; by default, the current language is kept.
        settings: Judge settings to override, such as `{"temperature": 0}`.
        hardened: False turns off escaping, to measure its effect.
        may_decline: True for the first stage of a cascade: if the verifier declines to judge a
            claim, the verdict has a `doubt` and the row does not fail.
    """

    language: str | None = None
    settings: Mapping[str, Any] | None = None
    hardened: bool = True
    may_decline: bool = False


@runtime_checkable
class Verifier(Protocol):
    """Verifies statements against chunks; its flow yields the steps it needs.

    Any object with these five members is a verifier; built-in verifiers are frozen dataclasses.
    """

    @property
    def name(self) -> str:
        """Name in results and manifests."""

    @property
    def traits(self) -> VerifierTraits:
        """The properties that the verifier declares."""

    def fingerprint(self) -> str:
        """Return a hash of everything that can change a verdict, except the run's judge."""

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Yield the steps; return one verdict for each claim, in order."""

    def adapt(self, changes: VerifierChanges) -> "Verifier":
        """Return the verifier with the changes applied, or itself if none apply."""


def stages_in(verifier: Verifier) -> tuple[Verifier, ...]:
    """Return the stages of a cascade in order, or the verifier itself if it is not a cascade."""
    return verifier.traits.stages or (verifier,)
