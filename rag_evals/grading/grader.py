"""The grader base class with `grade` and `agrade`, and the drivers that run flows."""

import copy
import os
import sys
import threading
import warnings
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
)

from pydantic import BaseModel

from rag_evals.cache import StatementCache, configured_cache
from rag_evals.core import (
    ContextInput,
    Finding,
    Flow,
    JudgeSettings,
    LocalCall,
    Meter,
    Phrases,
    Result,
    Sample,
    SampleField,
    Step,
    Verifier,
    VerifyCall,
    Work,
    cache_variables,
    require_known,
    require_positive,
    sign_result,
    watched,
    watching,
)
from rag_evals.core.hashes import parts_fingerprint
from rag_evals.errors import (
    ConfigurationError,
    FixedGraderError,
    GradingError,
    JudgeRequestError,
    NotScorableError,
)
from rag_evals.judge import (
    DEFAULT_REASKS,
    DEFAULT_TIMEOUT_SECONDS,
    AskOptions,
    AsyncJudge,
    Client,
    as_instructor,
    judge_for,
    model_of,
)
from rag_evals.judge.clients.build import async_judge_for
from rag_evals.judge.clients.sdks import is_async
from rag_evals.judge.wire.ask import Judge
from rag_evals.verify import EMBEDDED, EMBEDDED_GRADERS, read_judge

if TYPE_CHECKING:
    from rag_evals.verify import Tuned, Tuning

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")

JUDGE_VARIABLE = "RAG_EVALS_JUDGE"


class GradeOptions(TypedDict, total=False):
    """Keyword arguments of `grade` and `agrade`.

    Attributes:
        model: Model to call; by default, the grader's model, or else the client's.
        timeout: Total seconds for all calls, including waits requested by the endpoint.
        settings: Judge settings, such as `{"temperature": 0, "seed": 7}`; they override the
            grader's. The default temperature is 0.
        reasks: Maximum number of re-asks after an invalid reply.
        tuned: Files written by `rag-evals judge tune`, or results of `tune`, one per verifier.
    """

    model: str | None
    timeout: float
    settings: Mapping[str, Any] | None
    reasks: int
    tuned: "Tuned"


class _Finished(ABCMeta):
    """Marks each grader as finished once all of its constructors have run."""

    # Hidden from type checkers, which should check calls against the constructor.
    if not TYPE_CHECKING:

        def __call__(cls, *args: object, **kwargs: object) -> object:
            made = super().__call__(*args, **kwargs)
            made.__dict__["_finished"] = True
            return made


class Grader(ABC, Generic[R], metaclass=_Finished):
    """Base class of all graders; subclasses define the judge calls and how to read the replies.

    Attributes:
        description: One line that describes what the grader measures; may be empty.
        requires: Fields that must not be empty for a sample to be scorable.
        model: Default for the `model` argument of `grade`, or None.
        wants_cache: True if a statement cache would help and none is set.
        endpoints: Judges specified by the grader itself, such as `openai/gpt-4o`.
        untuned: Names of verifiers whose threshold has not been tuned.
        judge_rounds: Rounds of judge calls per sample. 0: no calls; 1: all calls are known in
            advance; 2: the replies from the first round determine the calls of the second.
        reads_turns: True if `flow` handles the turns of a conversation itself.
        window: Context window of the judge in tokens, including the reply; None if unknown.
        shapes: Names of the attributes that can affect results; the fingerprint covers them.
        source: Hash of the grader's Python files; None unless the command line loaded it.
    """

    shapes: ClassVar[tuple[str, ...]] = ()

    name: str
    description: str = ""
    wants_cache: bool = False
    endpoints: Sequence[str] = ()
    untuned: Sequence[str] = ()
    judge_rounds: int = 1
    reads_turns: bool = False
    window: int | None = None
    source: str | None = None
    requires: tuple[SampleField, ...] = ("answer",)
    result_model: type[R]
    model: str | None = None
    settings: Mapping[str, Any] = MappingProxyType({})

    # Hidden from type checkers, which would otherwise allow setting any attribute.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            """Raise `FixedGraderError` after construction, because shipped graders are shared.

            Existing attributes of custom graders may still be changed.
            """
            shipped = type(self).__module__.startswith("rag_evals.")
            is_new = not hasattr(self, name)
            if self.__dict__.get("_finished") and not name.startswith("_") and (shipped or is_new):
                ways = f"the constructor of {self._public_class()} to create your own"
                if hasattr(self, f"with_{name}"):
                    ways = f"with_{name}(...), which returns a changed copy"
                elif name in ("model", "settings"):
                    ways = f"{name}= of grade and evaluate"
                fault = "has no such attribute" if is_new else "is shared and cannot be changed"
                told = f"{self.name}.{name} cannot be set: the grader {fault}; use {ways}"
                raise FixedGraderError(told)
            super().__setattr__(name, value)

    def _copy_with(self, **values: object) -> Self:
        changed = copy.copy(self)
        changed.__dict__.update(values)
        return changed

    def fingerprint(self) -> str:
        """Return a hash of the attributes in `shapes`; graders without any must override it."""
        if not self.shapes:
            raise ConfigurationError(
                f"grader {self.name!r} does not declare `shapes`; list the attributes that can "
                "affect its results there, or override fingerprint()"
            )
        return parts_fingerprint(self, self.shapes)

    @abstractmethod
    def flow(self, sample: Sample) -> Flow[R]:
        """Yield the steps for one sample and return the result; see `rag_evals.core.Flow`."""

    def with_verifier(self, verifier: Verifier) -> "Grader[R]":
        """Return a grader that uses the verifier; raise `ConfigurationError` if it cannot."""
        other = f"or use {' or '.join(map(repr, EMBEDDED_GRADERS))} without a custom prompt"
        if self.name in EMBEDDED_GRADERS:
            other = "because a custom prompt needs an LLM judge"
        raise ConfigurationError(
            f"grader {self.name!r} calls a judge model and cannot use {verifier.name!r}, which "
            "judges statements without a prompt; pass a client such as 'openai/gpt-4o-mini', "
            f"{other}"
        )

    def with_language(self, language: str) -> Self:
        """Return a copy with a default language, such as `ru`, for samples without one."""
        del language
        return self

    def with_settings(self, **settings: Unpack[JudgeSettings]) -> Self:
        """Return a copy with some judge settings changed, such as `temperature=0.3`."""
        del settings
        raise ConfigurationError(
            f"grader {self.name!r} has no settings; pass settings= to grade or evaluate"
        )

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The verifiers and their tuning, as stored in the manifest."""
        return []

    def with_tunings(self, tunings: "Sequence[Tuning]") -> Self:
        """Return a copy with tuned verifiers; raise `ConfigurationError` for unusable tunings."""
        raise ConfigurationError(
            f"grader {self.name!r} has no verifier that could use the tuned file for "
            f"{tunings[0].stage!r}; use {' or '.join(map(repr, EMBEDDED_GRADERS))} with that judge"
        )

    def with_cache(self, cache: StatementCache) -> Self:
        """Return a copy whose verifier checks a statement cache first."""
        del cache
        raise ConfigurationError(
            f"grader {self.name!r} has no verifier whose verdicts could be cached; use "
            "TwoStepFaithfulness.with_cache(...), or evaluate(cache=True) for whole replies"
        )

    def with_source(self, source: str | None) -> Self:
        """Return a copy that stores the hash of the Python files that define the grader."""
        return self._copy_with(source=source)

    def __repr__(self) -> str:
        *first, last = self.requires or ("nothing",)
        needs = f"{', '.join(first)} and {last}" if first else last
        own = {
            "model": self.model,
            "verifier": getattr(getattr(self, "verifier", None), "name", None),
            "language": getattr(self, "language", None),
            **self.settings,
        }
        changed = [f"{name} {value}" for name, value in own.items() if value]
        return f"{self._public_class()}({', '.join([repr(self.name), f'needs {needs}', *changed])})"

    def _public_class(self) -> str:
        return next(one.__name__ for one in type(self).__mro__ if one.__name__[0] != "_")

    def check(self) -> None:
        """Raise `ConfigurationError` if the grader cannot work as configured."""

    def grade(
        self,
        question: str | Sample | None = None,
        answer: str | None = None,
        context: ContextInput = None,
        client: Client = None,
        *,
        reference: str | None = None,
        language: str | None = None,
        **options: Unpack[GradeOptions],
    ) -> R:
        """Grade one answer.

        Args:
            question: The user's question, which some graders need; or a `Sample`, which replaces
                question, answer, context, reference and language.
            answer: The RAG system's answer.
            context: The retrieved chunks: strings, or objects with a `text`, `page_content` or
                `content` field.
            client: A string such as `"openai/gpt-4o-mini"` or `"embedded"`, a sync instructor
                client, or a client of OpenAI, Anthropic or Google; by default, the judge set in
                `RAG_EVALS_JUDGE`, or else `"embedded"`.
            reference: The correct answer, if known.
            language: Two-letter code of the answer's language.
            options: `model`, `timeout`, `settings`, `reasks` and `tuned`; see `GradeOptions`.

        Returns:
            The validated result; its `score` is between 0 and 1.

        Raises:
            NotScorableError: A required field is empty.
            GradingError: The judge did not return a valid reply; the subclass indicates why.
            ConfigurationError: The grader cannot use the client or the model.
            DataError: A field is not a string.
        """
        fields = (question, answer, context, reference, language)
        work = _prepare(self, "grade", fields, client, options)
        named = partial(judge_for, options=work.asked)
        judge = None if work.client is None else named(work.client, options.get("model"))
        return _signed(drive(work.flow, judge, work.meter, named=named), work)

    async def agrade(
        self,
        question: str | Sample | None = None,
        answer: str | None = None,
        context: ContextInput = None,
        client: Client = None,
        *,
        reference: str | None = None,
        language: str | None = None,
        **options: Unpack[GradeOptions],
    ) -> R:
        """Grade one answer with an async client; otherwise the same as `grade`."""
        fields = (question, answer, context, reference, language)
        work = _prepare(self, "agrade", fields, client, options)
        named = partial(async_judge_for, options=work.asked)
        judge = None if work.client is None else await named(work.client, options.get("model"))
        return _signed(await drive_async(work.flow, judge, work.meter, named=named), work)


class _Work(NamedTuple, Generic[R]):
    flow: Flow[R]
    client: Client
    asked: AskOptions
    meter: Meter
    judge: str
    chunks: tuple[str, ...]


def _passage_words(finding: Finding, say: Phrases, *, chunks: tuple[str, ...]) -> list[str]:
    from rag_evals.embedded import evidence_words  # noqa: PLC0415 - needed only in notebooks

    return evidence_words(finding, chunks, say, 120)


def _signed(result: R, work: _Work[R]) -> R:
    """Store the judge's name on the result; warn if the result's score will be ignored."""
    sign_result(result, work.judge)
    if isinstance(result, Result):
        vars(result)["_passage_words"] = partial(_passage_words, chunks=work.chunks)
    reason, score = getattr(result, "not_scorable", None), getattr(result, "score", 0.0)
    if reason is not None and score:
        _warn_caller(f"not scorable: {reason}; the score of {score:.2f} does not count")
    return result


def judge_name(client: Client, model: str | None) -> str:
    if isinstance(client, str):
        return client if model is None else f"{client} ({model})"
    kind = "async client" if is_async(client) else "client"
    return f"{kind} ({model or model_of(client) or 'its own model'})"


def _prepare(
    grader: Grader[R],
    caller: Literal["grade", "agrade"],
    fields: tuple[Any, Any, ContextInput, Any, Any],
    client: Client,
    options: GradeOptions,
) -> _Work[R]:
    own = ("question", "answer", "context", "client", "reference", "language")
    require_known(caller, options, [*own, *GradeOptions.__annotations__])
    sample = _sample(*fields)
    timeout = options.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    require_positive("timeout", timeout)
    asked = AskOptions.of(options.get("settings"), options.get("reasks", DEFAULT_REASKS))
    if not isinstance(client, str):
        client = as_instructor(client, asynchronous=caller == "agrade")
    tunings: Sequence[Tuning] = ()
    if (tuned := options.get("tuned")) is not None:
        from rag_evals.verify import read_tunings  # noqa: PLC0415 - most judges are not tuned

        tunings = read_tunings(tuned)
    model = options.get("model")
    form, judge = resolve(grader, client, model, settings=asked.settings, tunings=tunings)
    if judge is None and not form.endpoints:
        for name in ("reasks", "timeout"):
            if name in options:
                told = f"{name} does nothing with {client!r}, which calls no endpoint"
                raise ConfigurationError(told)
    if client is None:
        client = default_judge()
        warn_of_default([form])
    flow, named = sample_flow(form, sample), judge_name(client, model)
    return _Work(
        flow, judge, asked, Meter(timeout), named, tuple(one.text for one in sample.context)
    )


def resolve(
    grader: Grader[R],
    client: Client,
    model: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    tunings: "Sequence[Tuning]" = (),
    open_cache: Callable[[], StatementCache | None] = configured_cache,
) -> tuple[Grader[R], Client]:
    """Return the grader to run and its client, which is None if only a verifier is used.

    `open_cache` is called if the grader has a verifier but no cache.

    Raises:
        ConfigurationError: The grader cannot use the verifier, a model or setting is specified
            although no model is called, or an environment variable for the cache is invalid.
    """
    cache_variables()  # checked for every grader, because only a few open a cache
    if client is None:
        client = default_judge()
    if isinstance(client, str):
        verifier, endpoint = read_judge(client)
        if model is not None and endpoint is None:
            raise ConfigurationError(
                f"model is {model!r}, but the judge {client!r} does not call a model"
            )
        if verifier is not None:
            grader = grader.with_verifier(verifier)
        if settings and endpoint is None and not grader.endpoints:
            named = ", ".join(settings)
            raise ConfigurationError(
                f"settings ({named}) are given, but the judge {client!r} does not call a model"
            )
        client = endpoint
    if tunings:
        grader = grader.with_tunings(tunings)
    window = (settings or {}).get("window") or grader.settings.get("window")
    if window and _packs(grader):
        grader = grader._copy_with(window=window)
    # Check first, so that a misconfigured grader does not create a cache file.
    grader.check()
    if grader.wants_cache and (cache := open_cache()) is not None:
        grader = grader.with_cache(cache)
    return grader, client


def _packs(grader: Grader[Any]) -> bool:
    return bool(grader.judge_rounds) and hasattr(grader.result_model, "statements_of")


def default_judge() -> str:
    """Return the judge set in `RAG_EVALS_JUDGE`, or `"embedded"`."""
    return os.environ.get(JUDGE_VARIABLE) or EMBEDDED


_WARNED = threading.Event()


def warn_of_default(graders: Sequence[Grader[Any]]) -> None:
    """Warn once per process that the embedded judge is used because no judge was given."""
    decides = any(stage["name"] == EMBEDDED for grader in graders for stage in grader.stages)
    if not decides or os.environ.get(JUDGE_VARIABLE) or _WARNED.is_set():
        return
    _WARNED.set()
    _warn_caller(
        "no judge given: using the embedded judge, which runs locally without a model; "
        "pass client='openai/gpt-4o-mini' to use a model, or client='embedded' to hide this warning"
    )


def _warn_caller(text: str) -> None:
    """Issue a warning that points to the code that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("rag_evals."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def _sample(question: Any, *others: Any) -> Sample:
    fields = dict(zip(("answer", "context", "reference", "language"), others, strict=True))
    if not isinstance(question, Sample):
        return Sample(question=question, **fields)
    if besides := [name for name, value in fields.items() if value is not None]:
        raise ConfigurationError(
            f"a Sample is given together with {', '.join(besides)}; a Sample contains all fields, "
            "and client= and model= must be passed by name"
        )
    return question


def sample_flow(grader: Grader[Any], sample: Sample) -> Flow[Any]:
    """Grade a sample; raise `DataError` for a conversation that the grader cannot grade."""
    if grader.reads_turns:
        return grader.flow(sample)
    if not sample.turns:
        return _answer_flow(grader, sample)
    from rag_evals.grading.conversation import turns_flow  # noqa: PLC0415 - rarely needed

    return turns_flow(grader, sample, _answer_flow)


def _answer_flow(grader: Grader[Any], sample: Sample) -> Flow[Any]:
    """Grade one answer, in packs if the sources exceed the judge's window."""
    window = grader.window
    if window is None:
        try:
            return (yield from grader.flow(sample))
        except JudgeRequestError as error:
            if error.window_tokens is None or not _packs(grader):
                raise
            window = error.window_tokens
    from rag_evals.grading.packing import packed_flow  # noqa: PLC0415 - most sources fit

    return (yield from packed_flow(grader, sample, window))


def require_fields(sample: Sample, fields: tuple[SampleField, ...]) -> None:
    """Raise `NotScorableError` for the first empty field."""
    for name in fields:
        value: Any = getattr(sample, name)
        texts = [chunk.text for chunk in value] if name == "context" else [value or ""]
        if not any(text.strip() for text in texts):
            raise NotScorableError(f"empty_{name}")  # type: ignore[arg-type]  # one for each field


def side_by_side(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Run flows in lockstep, one round at a time; return their results in order."""
    ended: dict[int, T] = {}
    replies: dict[int, Any] = dict.fromkeys(range(len(flows)))
    while True:
        steps: dict[int, Sequence[Step]] = {}
        for place, own in replies.items():
            try:
                steps[place] = flows[place].send(own)
            except StopIteration as stop:
                ended[place] = stop.value
        if not steps:
            return [ended[place] for place in range(len(flows))]
        answered = iter((yield [step for own in steps.values() for step in own]))
        replies = {place: [next(answered) for _ in own] for place, own in steps.items()}


def with_steps(flow: Flow[T], change: Callable[[Sequence[Step]], Sequence[Step]]) -> Flow[T]:
    """Run a flow, letting a function change each round of steps."""
    try:
        steps = next(flow)
        while True:
            try:
                replies = yield change(steps)
            except Exception as error:  # noqa: BLE001 - the flow handles whatever the driver throws
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # the flow's result


NamedJudge = Callable[[str], Awaitable[AsyncJudge]]
"""Returns the judge for the endpoint specified in a call, such as `openai/gpt-4o`."""


def drive(
    flow: Flow[T], judge: Judge | None, meter: Meter, *, named: Callable[[str], Judge] = judge_for
) -> T:
    """Run a flow step by step; `named` returns the judge for calls that specify an endpoint."""
    try:
        steps = next(flow)
        while True:
            try:
                replies = [_do(step, judge, meter, named) for step in steps]
            except GradingError as error:
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # the flow's result


async def drive_async(
    flow: Flow[T], judge: AsyncJudge | None, meter: Meter, *, named: NamedJudge = async_judge_for
) -> T:
    """Run a flow; the steps of each round run concurrently."""
    try:
        steps = next(flow)
        while True:
            try:
                replies = await _do_all(steps, judge, meter, named)
            except GradingError as error:
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # the flow's result


def _do(step: Step, judge: Judge | None, meter: Meter, named: Callable[[str], Judge]) -> Any:
    if isinstance(step, VerifyCall | LocalCall):
        return step.run(_identity(judge))
    if step.endpoint is not None:
        judge = named(step.endpoint)
    if judge is None:
        raise _no_judge()
    with watched(Work("call", "", step, judge)) as work:
        work.result = judge.ask(step, meter)
    return work.result


async def _do_all(
    steps: Sequence[Step], judge: AsyncJudge | None, meter: Meter, named: NamedJudge
) -> list[Any]:
    if len(steps) == 1:
        return [await _do_async(steps[0], judge, meter, named)]
    import asyncio  # noqa: PLC0415 - slow import

    tasks = [asyncio.ensure_future(_do_async(step, judge, meter, named)) for step in steps]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # If one call fails, cancel the others, which would otherwise still cost money.
        for task in tasks:
            task.cancel()


async def _do_async(step: Step, judge: AsyncJudge | None, meter: Meter, named: NamedJudge) -> Any:
    if isinstance(step, VerifyCall | LocalCall):
        import asyncio  # noqa: PLC0415 - slow import

        return await asyncio.to_thread(step.run, _identity(judge))
    if step.endpoint is not None:
        judge = await named(step.endpoint)
    if judge is None:
        raise _no_judge()
    return await watching(Work("call", "", step, judge), judge.ask(step, meter))


def _identity(judge: Judge | AsyncJudge | None) -> str | None:
    """Return the judge's identity; judges without one must not share cached verdicts."""
    return getattr(judge, "identity", None)


def _no_judge() -> ConfigurationError:
    return ConfigurationError("this grader calls a judge, but none was given; pass client=")
