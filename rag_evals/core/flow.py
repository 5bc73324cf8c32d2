"""What may a grader ask for? Steps for a driver, replies, costs and watchers; and verifiers."""

from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
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
    """One claim of an answer, and where its words get their meaning from.

    Attributes:
        text: What is decided.
        sentence: The sentence of the answer that it comes from, word for word; None for a claim
            that comes from no answer.
        before: What the answer says before it, as far as the claim depends on that, or None.
        question: What was asked; None where nothing was.
    """

    text: str
    sentence: str | None = None
    before: str | None = None
    question: str | None = None

    @property
    def leaning(self) -> Leaning | None:
        """What keeps the text from being understood by itself; None where nothing does."""
        return leaning_of(self.text)

    @property
    def setting(self) -> tuple[str | None, str | None, str | None]:
        """Sentence, before and question where the text leans on them, else None each.

        A verdict may be shared by claims of equal text and equal setting.
        """
        if stands_alone(self.text):
            return None, None, None
        sentence = None if self.sentence == self.text else self.sentence
        return sentence, self.before, self.question

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def text_before(claims: Sequence[Claim]) -> str | None:
    """Return the text that the next claim of an answer may depend on; None where there is none.

    It reaches back to the last claim that stands alone, at most three claims.
    """
    texts: list[str] = []
    for claim in reversed(claims[-_MOST_BEFORE:]):
        texts.insert(0, claim.text)
        if stands_alone(claim.text):
            break
    return " ".join(texts) or None


def as_claims(statements: Sequence[str | Claim]) -> list[Claim]:
    """Return claims as they are, and texts as claims that come from no answer."""
    return [one if isinstance(one, Claim) else Claim(one) for one in statements]


class Evidence(NamedTuple):
    """A sentence of a chunk: `chunk.text[start:end] == text`."""

    chunk_id: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the chunks support one statement.

    Attributes:
        support: From 0 (no evidence for it) to 1; the embedded verifier's is calibrated, so that
            about that share of such statements is supported.
        is_supported: The support reaches the verifier's threshold, and something carries it.
        chunk_ids: The chunks that carry the evidence, best first, from 0; may be empty.
        reason: Why, in words, in the statement's language.
        evidence: The sentences that were read as evidence, best first.
        decided_by: Name of the verifier that decided; None until one of several has said so.
        windows: Pieces of context that a classifier read for it; None for other verifiers.
        from_cache: True when it was decided earlier and kept.
        taken_from: The statement it was decided for, where that is another one.
        similarity: Cosine between the two statements, -1 to 1; None for the same statement.
        doubt: What kept the verifier from deciding the claim: how its words lean on others, or
            `declined`; None where nothing did. A cascade asks its second verifier, whatever the
            support.
        is_sure: Whether a cascade may leave it at that; None leaves it to the band of support.
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
    """Counts of what was asked and answered.

    Attributes:
        calls: Replies received from the endpoint, re-asks among them.
        reasks: Replies that were invalid and asked again.
        retries: Requests that the transport sent again; known for clients that we build.
        prompt_tokens: Tokens sent, as the endpoint counted them; see `uncounted`.
        completion_tokens: Tokens received.
        cached_tokens: The part of `prompt_tokens` that the provider had cached.
        cache_hits: Calls that were answered from our own cache; they cost nothing.
        uncounted: Replies whose tokens the endpoint did not count: what they cost is unknown.
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
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> Self:
        """Add field by field."""
        return type(self)(
            self.calls + other.calls,
            self.reasks + other.reasks,
            self.retries + other.retries,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_hits + other.cache_hits,
            self.uncounted + other.uncounted,
        )


class Message(TypedDict):
    """One chat message, rendered: its text is sent byte for byte."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A reply, parsed as the call's reply model, and what it cost with its re-asks."""

    parsed: BaseModel
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class JudgeCall(Generic[M]):
    """One question to a judge.

    Attributes:
        messages: What it reads.
        reply_model: What it must fill.
        facts: What validators of the reply may know, as `info.context`; never sent.
        settings: Sampling settings to send, such as `temperature`.
        model: Model that the grader wants to be asked; None leaves it to the client.
        sample_index: Number of this call among equal ones, from 0, where one is asked several
            times on purpose; a cache keeps their answers apart.
        endpoint: Judge of its own, such as `"openai/gpt-4o"`; None asks the one that grades.
        is_shared: Several graders of a row may ask it; a run asks it once, and all get the reply.
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
        """Take the reply to this call, typed; TypeError for the reply to another call."""
        if isinstance(reply, JudgeReply) and isinstance(reply.parsed, self.reply_model):
            return reply.parsed
        raise TypeError(f"expected a reply of {self.reply_model.__name__}, got {reply!r}")


class LocalVerifier(Protocol):
    """Decides claims on this machine, without a judge."""

    def verify(self, claims: Sequence[Claim], chunks: Sequence[str], /) -> list[Verdict]:
        """Return one verdict for each claim, in order."""
        ...


@dataclass(frozen=True, slots=True)
class VerifyCall:
    """Claims to decide against chunks on this machine."""

    verifier: LocalVerifier
    claims: Sequence[Claim]
    chunks: Sequence[str]

    def run(self, _judge: str | None = None) -> list[Verdict]:
        """Decide in this thread, which takes long, and check the verdicts (`VerifierError`)."""
        verdicts = self.verifier.verify(self.claims, self.chunks)
        check_verdicts(self.claims, self.chunks, verdicts)
        return verdicts

    def read(self, reply: Any) -> list[Verdict]:
        """Take the reply to this call, typed."""
        return list(reply)


@dataclass(frozen=True, slots=True)
class LocalCall(Generic[T]):
    """Work on this machine that is not verifying, such as looking into a cache file.

    Attributes:
        work: Gets the identity of the judge that the driver asks (None where it has none, or does
            not know), and returns the reply.
        reply_when_skipped: The reply of a driver that only estimates and does no work.
    """

    work: Callable[[str | None], T]
    reply_when_skipped: T

    def run(self, judge: str | None) -> T:
        """Do the work; it may wait for a file or a server, so drivers do it in a thread."""
        return self.work(judge)

    def read(self, reply: Any) -> T:
        """Take the reply to this call, typed."""
        returned: T = reply
        return returned


def check_verdicts(
    claims: Sequence[Claim], chunks: Sequence[str], verdicts: Sequence[Verdict]
) -> None:
    """Refuse verdicts that are impossible, or not one for each claim (`VerifierError`)."""
    if len(verdicts) != len(claims):
        raise VerifierError(
            f"the verifier returned {len(verdicts)} verdicts for {len(claims)} statements; "
            "expected one for each, in order"
        )
    for claim, verdict in zip(claims, verdicts, strict=True):
        # Written so that NaN is refused as well.
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
"""Yields steps that may be done side by side, receives their replies in order, returns a result."""


class Meter:
    """Adds up the usage of one grading, also of calls that failed in the end.

    Attributes:
        by_judge: Usage by endpoint and model as calls name them; None is the judge that grades,
            and the model that it asks by itself.
        answered_by: Models that replies say they are from, each once.
        waited_seconds: How long replies were waited for so far, the run's gate left out.
        row_seconds: For all calls of the grading together; None where somebody else, such as the
            session of a run, sees to that.
        last_fault: What went wrong last, in words, while the row was tried again; empty at first.
    """

    def __init__(self, row_seconds: float | None = None) -> None:
        self.by_judge: dict[tuple[str | None, str | None], Usage] = {}
        self.answered_by: dict[str, None] = {}
        self.waited_seconds = 0.0
        self.row_seconds = row_seconds
        self.last_fault = ""

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for further calls of the grading; None without a limit."""
        return None if self.row_seconds is None else self.row_seconds - self.waited_seconds

    @property
    def total(self) -> Usage:
        """What was used so far, of all judges."""
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
        """Count one reply, or several, of a call that names this endpoint and this model."""
        asked = (endpoint, model)
        before = self.by_judge.get(asked)
        self.by_judge[asked] = usage if before is None else before + usage
        self.answered_by.update(dict.fromkeys(answered_by))


@dataclass(slots=True)
class Work:
    """A piece of work.

    Attributes:
        kind: A whole run, the grading of one row by one grader, or one call of a judge.
        name: Of the graders; empty for a call.
        subject: The identity of a run, the row as it was read, or the call.
        by: The judge of a call; None for others.
        result: The run, the outcome or the reply; None until it is there, or where it failed.
    """

    kind: Literal["run", "row", "call"]
    name: str
    subject: Any
    by: Any = None
    result: Any = None


Watcher = Callable[[Work], AbstractContextManager[object]]
"""Is entered when a piece of work begins, and left when it ended; an exception passes through."""

_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> Callable[[], None]:
    """Enter a watcher's context for each piece of work of this process from now on.

    Returns a function that ends it.
    """
    _watchers.append(watcher)

    def stop() -> None:
        if watcher in _watchers:
            _watchers.remove(watcher)

    return stop


@contextmanager
def watched(work: Work) -> Iterator[Work]:
    """Do a piece of work inside; the caller sets its result."""
    with ExitStack() as stack:
        for watcher in tuple(_watchers):
            stack.enter_context(watcher(work))
        yield work


async def watching(work: Work, doing: Coroutine[Any, Any, T]) -> T:
    """Do a piece of work that is awaited, and return its result."""
    if not _watchers:
        return await doing
    with watched(work):
        result = await doing
        work.result = result
        return result


CacheMode = Literal["exact", "semantic"]
"""Which statements share a verdict: equal ones, or also ones that say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierTraits:
    """What a verifier declares about itself; the defaults hold for one that works alone and here.

    Attributes:
        asks_judge: It needs the client that grades.
        reads_question: Verdicts depend on the question also for claims that stand alone.
        is_instant: It decides faster than a cache could look the verdict up.
        threshold: Support from which a statement counts as supported, 0 to 1; None where its
            support is only 0 or 1.
        endpoints: The judges that it names itself, such as `openai/gpt-4o`.
        batches: Who makes calls, and how many statements one call decides.
        untuned: Names of those that decide by a threshold that nobody has fitted.
        stages: The verifiers that decide, the first one first; empty for one that decides alone.
        unsure: For each stage of a cascade but the last, the band of support, both ends included,
            that is left to the next one.
        cache_mode: How it looks for verdicts before it decides; None where none are stored.
        answer_support: Returns how surely all statements of an answer hold, from their supports,
            all 0 to 1; None where nothing is known of that.
        warn: Returns why verdicts on these texts are not to be trusted, a line for each reason.
        check: Finds out before the first call whether it can work; else a `ConfigurationError`.
        languages: Codes of the languages that its verdicts hold in; None for all.
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
    languages: frozenset[str] | None = None

    @property
    def deciders(self) -> list[str]:
        """Names of the verifiers that share the work; empty for one that does it alone."""
        return [stage.name for stage in self.stages] if len(self.stages) > 1 else []

    def calls_for(self, statements: int) -> int:
        """Return the judge calls that so many statements take at most; 0 for local verifiers."""
        return sum(-(-statements // size) for _, size in self.batches)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedTexts:
    """What a verifier reads of one row; `language` is what `language_in` finds in the answer."""

    question: str | None
    answer: str
    chunks: Sequence[str]
    language: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierChanges:
    """What is to differ in a verifier; it ignores what means nothing to it.

    Attributes:
        language: Language to ask in, such as `ru`; None leaves it.
        settings: What a judge is asked with, such as `{"temperature": 0}`; others stay.
        hardened: False leaves data unescaped, to measure what escaping is worth.
        may_decline: True for the first place of a cascade: a claim that it declines gets a verdict
            with `doubt`, and fails no row.
    """

    language: str | None = None
    settings: Mapping[str, Any] | None = None
    hardened: bool = True
    may_decline: bool = False


@runtime_checkable
class Verifier(Protocol):
    """Decides statements against chunks; its flow says what it needs for that.

    Any object with these five members is one; ours are frozen dataclasses.
    """

    @property
    def name(self) -> str:
        """What results and manifests call it."""

    @property
    def traits(self) -> VerifierTraits:
        """What it declares about itself."""

    def fingerprint(self) -> str:
        """Return a hash of all that can change a verdict, the client that grades left out."""

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work; returns one verdict for each claim, in order."""

    def adapt(self, changes: VerifierChanges) -> "Verifier":
        """Return the verifier with changes; itself where none of them means anything to it."""


def stages_in(verifier: Verifier) -> tuple[Verifier, ...]:
    """Return the verifiers that decide, the first one first; itself for one that decides alone."""
    return verifier.traits.stages or (verifier,)
