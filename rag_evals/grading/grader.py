"""What is a grader? A name, a fingerprint and a flow; grading one answer is the same for all."""

import copy
import os
import sys
import threading
import warnings
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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
    JudgeReply,
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
    NotScorableReason,
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
from rag_evals.judge.wire.ask import Judge, check_timeout
from rag_evals.verify import EMBEDDED, EMBEDDED_GRADERS, read_judge

if TYPE_CHECKING:
    from rag_evals.verify import Tuned, Tuning

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")

OpenCache = Callable[[], StatementCache | None]
"""Opens a cache for verdicts when a grader wants one; None when there is to be none."""

JUDGE_VARIABLE = "RAG_EVALS_JUDGE"
"""Environment variable with the judge to use where none is named."""


class GradeOptions(TypedDict, total=False):
    """Keyword arguments of `grade` and `agrade`.

    Attributes:
        model: Model to ask; None takes the grader's, else the client's own.
        timeout: Seconds for all calls together, waits that the endpoint asks for included.
        settings: What the judge is asked with, such as `{"temperature": 0, "seed": 7}`; they come
            before those of the grader. Without any, the temperature is 0.
        reasks: How often an invalid reply is asked again.
        tuned: Files of `rag-evals judge tune`, or what `tune` returned: one for each verifier.
    """

    model: str | None
    timeout: float
    settings: Mapping[str, Any] | None
    reasks: int
    tuned: "Tuned"


_EMPTY: dict[SampleField, NotScorableReason] = {
    "question": "empty_question",
    "answer": "empty_answer",
    "context": "empty_context",
    "reference": "empty_reference",
}


class _Finished(ABCMeta):
    """Marks a grader as finished once all constructors have run."""

    # Checkers take a call of a class for its constructor, and should.
    if not TYPE_CHECKING:

        def __call__(cls, *args: object, **kwargs: object) -> object:
            made = super().__call__(*args, **kwargs)
            made.__dict__["_finished"] = True
            return made


class _FixedOnceMade(ABC, metaclass=_Finished):
    """Base of what does not change after its constructor; a copy with other values is made.

    Attributes:
        name: What messages call it.
    """

    name: str

    # A checker that saw it would take any attribute for one that may be set.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse to change a finished grader: the shipped ones are shared by a whole program.

            A grader of the user's own may change what it has.
            """
            shipped = type(self).__module__.startswith("rag_evals.")
            is_new = not hasattr(self, name)
            if self.__dict__.get("_finished") and not name.startswith("_") and (shipped or is_new):
                raise FixedGraderError(_how_to_change(self, name, is_new=is_new))
            super().__setattr__(name, value)

    def _copy_with(self, **values: object) -> Self:
        """Return a copy with other values for some attributes."""
        changed = copy.copy(self)
        changed.__dict__.update(values)
        return changed


class Grader(_FixedOnceMade, Generic[R]):
    """Base of every grader; a subclass says what to ask and how to read the answer.

    Attributes:
        name: What results call it.
        description: What it measures, in one line; may be empty.
        requires: Fields without which a sample is not scorable.
        result_model: What `grade` returns.
        model: Model to ask when `grade` names none, or None.
        wants_cache: True when a statement cache would serve it, and it has none yet.
        endpoints: Judges of its own that it asks, such as `openai/gpt-4o`; none for most.
        untuned: Names of verifiers whose threshold nobody has fitted; none for most.
        settings: What its judge is asked with, such as `temperature`.
        judge_rounds: Rounds of judge calls for one sample: 0 asks nobody, 1 is known beforehand,
            with 2 the replies to the first decide what is asked in the second.
        reads_turns: Whether its flow reads the turns of a conversation itself.
        window: Tokens that its judge reads in one call, reply included; None where only the judge
            itself knows.
        shapes: Attributes that shape a result, by name; its fingerprint is made of them.
        source: Hash of the Python files it comes from; None where the command line loaded none.
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

    def fingerprint(self) -> str:
        """Return a hash of all that shapes a result, the judge left out: of the parts in `shapes`.

        Raises:
            ConfigurationError: None is declared, and a grader of your own has no such method.
        """
        if not self.shapes:
            raise ConfigurationError(
                f"grader {self.name!r} declares nothing in `shapes`; name there the attributes "
                "that shape its results, or write fingerprint()"
            )
        return parts_fingerprint(self, self.shapes)

    @abstractmethod
    def flow(self, sample: Sample) -> Flow[R]:
        """Describe the work on one sample; see `rag_evals.verify.Flow`."""

    def with_verifier(self, verifier: Verifier) -> "Grader[R]":
        """Return the form of this grader that asks a verifier instead of a judge.

        Raises:
            ConfigurationError: It has none.
        """
        raise ConfigurationError(
            f"grader {self.name!r} asks a judge model and has no form for {verifier.name!r}, which "
            "decides statements and reads no prompt; pass a client such as 'openai/gpt-4o-mini', "
            f"or use {' or '.join(map(repr, EMBEDDED_GRADERS))} without a prompt of your own"
        )

    def with_language(self, language: str) -> Self:
        """Return the same grader for samples that do not name their language.

        Args:
            language: Code such as `ru`; a grader that asks no prompt stays as it is.
        """
        del language
        return self

    def with_settings(self, **settings: Unpack[JudgeSettings]) -> Self:
        """Return this grader with other settings of the judge, such as `temperature=0.3`.

        Args:
            settings: Those to change; the others stay.

        Raises:
            ConfigurationError: A setting is unknown or out of its range, or the grader has none.
        """
        del settings
        raise ConfigurationError(
            f"grader {self.name!r} has no settings of its own; give settings= to grade or evaluate"
        )

    @property
    def stages(self) -> list[dict[str, Any]]:
        """Who decides statements, by which labels, as a manifest has it; nobody for most."""
        return []

    def with_tunings(self, tunings: "Sequence[Tuning]") -> Self:
        """Return this grader with a verifier that follows its tuned files.

        Raises:
            ConfigurationError: It has no verifier, or a file is of another one.
        """
        raise ConfigurationError(
            f"grader {self.name!r} has no verifier to use the tuned file of "
            f"{tunings[0].stage!r}; use {' or '.join(map(repr, EMBEDDED_GRADERS))} with that judge"
        )

    def with_cache(self, cache: StatementCache) -> Self:
        """Return this grader with a verifier that looks into a statement cache first.

        Raises:
            ConfigurationError: It has no verifier.
        """
        del cache
        raise ConfigurationError(
            f"grader {self.name!r} has no verifier whose verdicts could be cached; "
            f"use {' or '.join(map(repr, EMBEDDED_GRADERS))}"
        )

    def with_source(self, source: str | None) -> Self:
        """Return this grader with a hash of the Python files that it comes from."""
        return self._copy_with(source=source)

    def __repr__(self) -> str:
        """One line: the name, the fields it needs, and what was set on it."""
        named = repr(str(getattr(self, "name", None) or type(self).__name__))
        *first, last = self.requires or ("nothing",)
        needs = f"{', '.join(first)} and {last}" if first else last
        own = (f"{name} {value}" for name, value in self._own_parts())
        return f"{type(self).__name__}({', '.join([named, f'needs {needs}', *own])})"

    def _own_parts(self) -> Iterator[tuple[str, str]]:
        """Yield what was set on this grader, and who decides besides the judge."""
        if self.model:
            yield "model", self.model
        verifier = getattr(self, "verifier", None)
        if verifier is not None:
            yield "verifier", str(getattr(verifier, "name", verifier))
        language = getattr(self, "language", None)
        if language:
            yield "language", language
        if self.settings:
            yield "settings", ", ".join(f"{name}={value}" for name, value in self.settings.items())

    def check(self) -> None:
        """Find out before the first call whether it can work; nothing to find out for most.

        Raises:
            ConfigurationError: It cannot.
        """

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
            question: What was asked; some graders need it. Or a `Sample`, which stands for
                question, answer, context, reference and language.
            answer: What the RAG system said.
            context: The chunks it was given: texts, or things with `text`, `page_content` or
                `content`.
            client: A string such as `"openai/gpt-4o-mini"` or `"embedded"`, a sync instructor
                client, or one of OpenAI's, Anthropic's or Google's own; None takes
                `RAG_EVALS_JUDGE`, else `"embedded"`.
            reference: The right answer, where one is known.
            language: Two-letter code of the answer's language.
            options: `model`, `timeout`, `settings`, `reasks` and `tuned`; see `GradeOptions`.

        Returns:
            The validated result; its `score` runs from 0 to 1.

        Raises:
            NotScorableError: A required field is empty.
            GradingError: No valid reply; the subclass says why.
            ConfigurationError: The client or the model does not fit.
            DataError: A field is not text.
        """
        fields = (question, answer, context, reference, language)
        work = _prepare(self, "grade", fields, client, options)
        judge: Judge | None = None
        if work.client is not None:
            judge = judge_for(work.client, options.get("model"), work.asked)
        named = partial(judge_for, options=work.asked)
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
        """Grade one answer with an async client; as `grade` otherwise."""
        fields = (question, answer, context, reference, language)
        work = _prepare(self, "agrade", fields, client, options)
        judge: AsyncJudge | None = None
        if work.client is not None:
            judge = await async_judge_for(work.client, options.get("model"), work.asked)
        named = partial(async_judge_for, options=work.asked)
        return _signed(await drive_async(work.flow, judge, work.meter, named=named), work)


class _Work(NamedTuple, Generic[R]):
    """What a driver needs to grade one answer."""

    flow: Flow[R]
    client: Client
    asked: AskOptions
    meter: Meter
    judge: str
    chunks: tuple[str, ...]


def _passage_words(finding: Finding, say: Phrases, *, chunks: tuple[str, ...]) -> list[str]:
    """Say where a reader checks a finding; compared when it is shown, not when it is graded."""
    from rag_evals.embedded import evidence_words  # noqa: PLC0415 - only a notebook asks

    return evidence_words(finding, chunks, say, 120)


def _signed(result: R, work: _Work[R]) -> R:
    """Note who decided, and warn of a number that would be read though it does not count."""
    sign_result(result, work.judge)
    if isinstance(result, Result):
        vars(result)["_passage_words"] = partial(_passage_words, chunks=work.chunks)
    reason, score = getattr(result, "not_scorable", None), getattr(result, "score", 0.0)
    if reason is not None and score:
        _warn_caller(f"not scorable: {reason}; the score of {score:.2f} does not count")
    return result


def judge_name(client: Client, model: str | None) -> str:
    """Name the judge as well as can be done without asking it."""
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
    require_known(caller, options, list(GradeOptions.__annotations__))
    sample = _sample(*fields)
    timeout = options.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    check_timeout(timeout)
    asked = AskOptions.of(options.get("settings"), options.get("reasks", DEFAULT_REASKS))
    if not isinstance(client, str):
        client = as_instructor(client, asynchronous=caller == "agrade")
    tunings: Sequence[Tuning] = ()
    if (tuned := options.get("tuned")) is not None:
        # Importing the package has a budget, and most judges are not tuned.
        from rag_evals.verify import read_tunings  # noqa: PLC0415

        tunings = read_tunings(tuned)
    model = options.get("model")
    form, judge = resolve(grader, client, model, settings=asked.settings, tunings=tunings)
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
    open_cache: OpenCache = configured_cache,
) -> tuple[Grader[R], Client]:
    """Return the grader with its client, or its form with a verifier.

    Args:
        grader: What is to be driven.
        client: As for `Grader.grade`.
        model: As for `Grader.grade`.
        settings: As for `Grader.grade`, checked.
        tunings: What labels say of the verifiers that decide.
        open_cache: Opens the cache of a grader that has a verifier and no cache of its own.

    Returns:
        The grader to drive, and the client it needs; None when a verifier decides alone.

    Raises:
        ConfigurationError: The grader has no form for the verifier, a model or a setting is named
            and none is asked, or an environment variable of the caches has no meaning.
    """
    # Here too, because few graders open a cache: what a variable says is never passed over.
    cache_variables()
    if client is None:
        client = default_judge()
    if not isinstance(client, str):
        own = grader.with_tunings(tunings) if tunings else grader
        return _with_cache(_in_window(own, settings), open_cache), client
    verifier, endpoint = read_judge(client)
    if model is not None and endpoint is None:
        raise ConfigurationError(
            f"model {model!r} is named, but the judge {client!r} asks no model"
        )
    chosen = grader if verifier is None else grader.with_verifier(verifier)
    if settings and endpoint is None and not chosen.endpoints:
        raise ConfigurationError(
            f"settings ({', '.join(settings)}) are given, but the judge {client!r} asks no model"
        )
    if tunings:
        chosen = chosen.with_tunings(tunings)
    return _with_cache(_in_window(chosen, settings), open_cache), endpoint


def _in_window(grader: Grader[R], settings: Mapping[str, Any] | None) -> Grader[R]:
    window = (settings or {}).get("window") or grader.settings.get("window")
    return grader._copy_with(window=window) if window and _packs(grader) else grader


def _packs(grader: Grader[Any]) -> bool:
    """Say whether a grader's statements can be graded against some chunks at a time."""
    return bool(grader.judge_rounds) and hasattr(grader.result_model, "statements_of")


def _with_cache(grader: Grader[R], open_cache: OpenCache) -> Grader[R]:
    # First: a grader that cannot work must leave no cache file.
    grader.check()
    cache = open_cache() if grader.wants_cache else None
    if cache is None:
        return grader
    ready = grader.with_cache(cache)
    ready.check()
    return ready


def default_judge() -> str:
    """Return the judge that is used where none is named."""
    return os.environ.get(JUDGE_VARIABLE) or EMBEDDED


_WARNED = threading.Event()


def warn_of_default(graders: Sequence[Grader[Any]]) -> None:
    """Warn that nobody named a judge, once a process, where the embedded one decides then."""
    decides = any(stage["name"] == EMBEDDED for grader in graders for stage in grader.stages)
    if not decides or os.environ.get(JUDGE_VARIABLE) or _WARNED.is_set():
        return
    _WARNED.set()
    _warn_caller(
        "no judge is named, so the embedded judge decides, on this machine and without a model; "
        "client='openai/gpt-4o-mini' asks a model, client='embedded' says that it is meant"
    )


def _warn_caller(text: str) -> None:
    """Warn at the line of the program that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("rag_evals."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def _how_to_change(grader: _FixedOnceMade, name: str, *, is_new: bool) -> str:
    kind = type(grader)
    ways = [
        f"{method}({name}=...), which returns a changed copy"
        for method in ("with_options", "with_parts")
        if name in getattr(getattr(kind, method, None), "__annotations__", ())
    ]
    if hasattr(kind, f"with_{name}"):
        ways.append(f"with_{name}(...), which returns a changed copy")
    if name in ("model", "settings"):
        ways.append(f"{name}= of grade and evaluate")
    if not ways:
        ways.append(f"the constructor of {kind.__name__} for one of your own")
    fault = "has no such attribute" if is_new else "is shared and cannot be changed"
    return f"{grader.name}.{name} cannot be set: the grader {fault}; use {' or '.join(ways)}"


def _sample(
    question: str | Sample | None,
    answer: str | None,
    context: ContextInput,
    reference: str | None,
    language: str | None,
) -> Sample:
    """Return the sample that was given as such, or by its fields.

    Raises:
        ConfigurationError: A sample and fields of one.
    """
    if not isinstance(question, Sample):
        return Sample(
            question=question,
            answer=answer,
            context=context,
            reference=reference,
            language=language,
        )
    fields = {"answer": answer, "context": context, "reference": reference, "language": language}
    besides = [name for name, value in fields.items() if value is not None]
    if besides:
        raise ConfigurationError(
            f"a Sample is given together with {', '.join(besides)}; a Sample has all fields, and "
            "client= and model= need their names"
        )
    return question


def sample_flow(grader: Grader[Any], sample: Sample) -> Flow[Any]:
    """Describe the work on a sample, which may be a conversation.

    Raises:
        DataError: The grader cannot grade a conversation.
    """
    if grader.reads_turns:
        return grader.flow(sample)
    if not sample.turns:
        return _answer_flow(grader, sample)
    # Importing the package has a budget, and most samples are one answer.
    from rag_evals.grading.conversation import turns_flow  # noqa: PLC0415

    return turns_flow(grader, sample, _answer_flow)


def _answer_flow(grader: Grader[Any], sample: Sample) -> Flow[Any]:
    """Describe the work on one answer, in packs where the judge reads no more."""
    window = grader.window
    if window is None:
        try:
            return (yield from grader.flow(sample))
        except JudgeRequestError as error:
            if error.window_tokens is None or not _packs(grader):
                raise
            window = error.window_tokens
    # As above, and most sources fit.
    from rag_evals.grading.packing import packed_flow  # noqa: PLC0415

    return (yield from packed_flow(grader, sample, window))


def require_fields(sample: Sample, fields: tuple[SampleField, ...]) -> None:
    """Stop before any call when a field has nothing in it.

    Raises:
        NotScorableError: The first empty field, in the order of `fields`.
    """
    for name in fields:
        value: Any = getattr(sample, name)
        texts = [chunk.text for chunk in value] if name == "context" else [value or ""]
        if not any(text.strip() for text in texts):
            raise NotScorableError(_EMPTY[name])


# Who runs a flow: one driver for sync clients, one for async ones. Graders know neither.

NamedJudge = Callable[[str], Awaitable[AsyncJudge]]
"""Finds the judge that a call names, such as `openai/gpt-4o`."""


def drive(
    flow: Flow[T], judge: Judge | None, meter: Meter, *, named: Callable[[str], Judge] = judge_for
) -> T:
    """Carry out a flow, one step after the other.

    Args:
        flow: A grader's or a verifier's flow, not yet started.
        judge: Who answers judge calls; None where the flow makes none.
        meter: Counts what was asked, also when the flow fails.
        named: Finds the judge of calls that name their own endpoint.

    Raises:
        GradingError: A step failed and the flow did not handle it.
        NotScorableError: There is nothing to grade.
    """
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
        result: T = stop.value
        return result


async def drive_async(
    flow: Flow[T], judge: AsyncJudge | None, meter: Meter, *, named: NamedJudge = async_judge_for
) -> T:
    """Carry out a flow, the steps of one round side by side; as `drive` otherwise."""
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
        result: T = stop.value
        return result


def _do(step: Step, judge: Judge | None, meter: Meter, named: Callable[[str], Judge]) -> Any:
    if isinstance(step, VerifyCall | LocalCall):
        return step.run(_identity(judge))
    if step.endpoint is not None:
        judge = named(step.endpoint)
    if judge is None:
        raise _no_judge()
    with watched(Work("call", "", step, judge)) as work:
        work.result = judge.ask(step, meter)
        reply: JudgeReply = work.result
    return reply


async def _do_all(
    steps: Sequence[Step], judge: AsyncJudge | None, meter: Meter, named: NamedJudge
) -> list[Any]:
    if len(steps) == 1:
        return [await _do_async(steps[0], judge, meter, named)]
    # Importing the package has a budget, and this would be a tenth of it.
    import asyncio  # noqa: PLC0415

    tasks = [asyncio.ensure_future(_do_async(step, judge, meter, named)) for step in steps]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # After one failure the others would go on being paid for.
        for task in tasks:
            task.cancel()


async def _do_async(step: Step, judge: AsyncJudge | None, meter: Meter, named: NamedJudge) -> Any:
    if isinstance(step, VerifyCall | LocalCall):
        import asyncio  # noqa: PLC0415 - as above

        return await asyncio.to_thread(step.run, _identity(judge))
    if step.endpoint is not None:
        judge = await named(step.endpoint)
    if judge is None:
        raise _no_judge()
    return await watching(Work("call", "", step, judge), judge.ask(step, meter))


def _identity(judge: Judge | AsyncJudge | None) -> str | None:
    """Name who is asked; a judge that does not say so must not share verdicts with another."""
    return getattr(judge, "identity", None)


def _no_judge() -> ConfigurationError:
    return ConfigurationError("this grader asks a judge, and none was given; pass client=")
