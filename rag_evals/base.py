"""`ContextEvaluation`: a grader defined by a prompt and a response model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypedDict, TypeVar, Unpack, get_args

from pydantic import BaseModel

from rag_evals.core import (
    Flow,
    JudgeCall,
    JudgeSettings,
    Message,
    Sample,
    SampleField,
    Verifier,
    VerifierChanges,
    check_settings,
    require_known,
)
from rag_evals.core.finding import has_statements
from rag_evals.core.result import required_fields
from rag_evals.errors import ConfigurationError, JudgeRequestError, PromptError
from rag_evals.grading import Grader, grade_by_sentence, require_fields
from rag_evals.grading.guarding import grade_own_statements, keyed_example
from rag_evals.prompt import Criterion, Example, ExampleInput, Prompt, check_language, check_shown
from rag_evals.prompt.rendering import (
    Rendering,
    check_lists,
    missing_ends,
    read_criteria,
    read_example,
    sentences_of,
)
from rag_evals.prompt.template import DATA_VARIABLES
from rag_evals.response_models import ByStatement, VerdictUnit

__all__ = ["ContextEvaluation", "Criterion", "Grader", "JudgedGrader"]

R = TypeVar("R", bound=BaseModel)
M = TypeVar("M", bound=BaseModel)


class PromptOptions(TypedDict, total=False):
    """Keyword arguments of graders that have a prompt.

    Attributes:
        examples: Few-shot examples; by default, those in the prompt file.
        criteria: Checklist criteria, keyed by name; by default, those in the prompt file.
        chunk_template: Template for the data block that follows the instructions; by default, the
            shipped one.
        model: Default for the `model` argument of `grade`.
        name: Name in results.
        settings: Judge settings; they override those in the prompt file.
        unit: Scope of each verdict: one claim (`"claims"`), one sentence (`"sentence"`) or the
            whole answer (`"answer"`). By default, the unit set in the prompt file, or `"claims"`.
    """

    examples: Sequence[ExampleInput] | None
    criteria: Mapping[str, str] | None
    chunk_template: str | Path | Prompt | None
    model: str | None
    name: str | None
    settings: Mapping[str, Any] | None
    unit: VerdictUnit | None


class JudgedGrader(Grader[R], Generic[R, M]):
    """A grader that sends a prompt to a judge; subclasses turn the reply into a result.

    Attributes:
        description: One-line description of what the grader measures; may be empty.
        response_model: The model that the judge fills in.
        language: Default language for samples that do not specify one, or None.
        unit: Scope of each verdict; None if the reply does not contain statements.
    """

    response_model: type[M]

    shapes: ClassVar[tuple[str, ...]] = (
        "_prompt",
        "_asked_block",
        "response_model",
        "settings",
        "_criteria",
        "_examples",
        "_shown",
        "language",
        "unit",
        "_form",
        "_hardened",
    )

    def __init__(
        self,
        prompt: str | Path | Prompt,
        response_model: type[M],
        result_model: type[R],
        **options: Unpack[PromptOptions],
    ) -> None:
        """Check the prompt, the criteria and the examples, without calling the judge.

        Args:
            prompt: Instructions, or a template that includes the data.
            response_model: The model that the judge fills in.
            result_model: The class of the results that `grade` returns.
            options: See `PromptOptions`.

        Raises:
            PromptError: The prompt does not parse, an example does not match the response model,
                or the criteria are missing or not shown in the prompt.
            ConfigurationError: A setting is not recognised, or its value is out of range.
        """
        require_known(type(self).__name__, options, list(PromptOptions.__annotations__))
        self._prompt = Prompt.load(prompt)
        block = options.get("chunk_template")
        self._block = Prompt.shipped("chunk_template") if block is None else Prompt.load(block)
        header = self._prompt.header
        self.response_model = response_model
        self.result_model = result_model
        self.model = options.get("model")
        self.settings = {**header.settings, **check_settings(options.get("settings"))}
        self.name = options.get("name") or header.name or _name_of(response_model)
        self.description = self._prompt.task
        self.language = header.language
        self.requires: tuple[SampleField, ...] = required_fields(response_model)
        accepts: tuple[SampleField, ...] = getattr(
            response_model, "accepts", ("question", "context", "reference")
        )
        self._shown = frozenset(self.requires + accepts)
        self.unit = _unit(response_model, options.get("unit") or header.unit)
        self._form: Prompt | None = None
        self._hardened = True
        criteria, examples = options.get("criteria"), options.get("examples")
        self._criteria = read_criteria(header.criteria if criteria is None else criteria)
        check_lists(self._prompt, response_model, self._criteria)
        shown = header.examples if examples is None else examples
        self._examples = [self._example(number, example) for number, example in enumerate(shown)]
        self._places_data = self._prompt.places_data or block is not None
        if self._places_data:
            self._check_shown()
        if self.unit is not None:
            self._form = Prompt.shipped("reply_form")

    def _example(self, number: int, given: ExampleInput) -> Example:
        example = read_example(number, given, self.response_model)
        if self.unit is None:
            return example
        kind: Any = self.response_model
        reply = keyed_example(kind, example.result, example.sample, self.unit)
        return replace(example, result=reply)

    @property
    def _numbered(self) -> Literal["answer", "reference"] | None:
        """Name of the field whose sentences are numbered, or None."""
        model: Any = self.response_model
        if self._form is not None:
            return None if self.unit == "answer" else model.statements_of
        return "answer" if getattr(model, "numbered_sentences", False) else None

    @property
    def prompt(self) -> str:
        """The prompt's source text."""
        return self._prompt.text

    @property
    def template(self) -> Prompt:
        """The prompt, including its header, variables and file name."""
        return self._prompt

    @property
    def _asked_block(self) -> Prompt | None:
        return None if self._prompt.places_data else self._block

    def with_verifier(self, verifier: Verifier) -> Grader[R]:
        """Return a variant of this grader that uses a verifier; only shipped prompts have one."""
        if not self._hardened:
            verifier = verifier.adapt(VerifierChanges(hardened=False))
        form = self._verified_form(verifier)
        if form is None:
            return super().with_verifier(verifier)
        if self.settings:
            form = form.with_settings(**self.settings)
        return form if self.language is None else form.with_language(self.language)

    # Any: the variant's results may belong to a subclass of R, and Grader is invariant in R.
    def _verified_form(self, verifier: Verifier) -> Grader[Any] | None:
        del verifier
        return None

    def with_language(self, language: str) -> Self:
        """Return a copy with a default language; shipped prompts use their translation, if any."""
        check_language(language)
        return self._copy_with(language=language)

    def with_settings(self, **settings: Unpack[JudgeSettings]) -> Self:
        return self._copy_with(settings={**self.settings, **check_settings(settings)})

    def with_unit(self, unit: VerdictUnit) -> Self:
        """Return a copy with a different verdict unit.

        Raises:
            ConfigurationError: The reply does not contain statements, or `unit` is invalid.
        """
        return self._copy_with(unit=_unit(self.response_model, unit))

    def without_hardening(self) -> Self:
        """Return a copy that does not escape data; use it only to measure the effect."""
        return self._copy_with(_hardened=False)

    def messages(
        self,
        sample: Sample,
        *,
        sentences: Sequence[str] | None = None,
        statements: Sequence[str] = (),
    ) -> tuple[Message, ...]:
        # A language set in the prompt file takes precedence over the sample's language.
        language = self._prompt.header.language or sample.language or self.language
        prompt = self._prompt.in_language(language)
        render = Rendering(
            sample=sample,
            shown=self._shown,
            task=prompt.task,
            examples=[one for one in self._examples if one.helps(sample)],
            criteria=self._criteria,
            language=sample.language or self.language,
            sentences=sentences,
            statements=statements,
            numbered=self._numbered,
            unit=self.unit,
            hardened=self._hardened,
        )
        form = self._form and self._form.in_language(language)
        if prompt.places_data:
            placed = self._placed(render, prompt, form, language)
            return ({"role": "user", "content": placed},)
        block = self._block.in_language(language)
        tags = prompt.tags | block.tags
        instructions = render.text(prompt, tags)
        if not instructions.strip():
            raise PromptError(f"{prompt.origin}: the prompt is empty")
        if self._criteria and not prompt.uses("criteria"):
            listed = Prompt.shipped("criteria_template").in_language(language)
            instructions = f"{instructions.rstrip()}\n\n{render.text(listed, tags)}"
        data = render.text(block, tags, in_block=True)
        if form is not None:
            instructions = f"{instructions.rstrip()}\n\n{render.text(form, tags)}"
            data = self._with_ids(render, data, block, language)
        return ({"role": "system", "content": instructions}, {"role": "user", "content": data})

    def _placed(
        self, render: Rendering, prompt: Prompt, form: Prompt | None, language: str | None
    ) -> str:
        if form is None:
            return render.text(prompt, prompt.tags)
        data = render.text(prompt, prompt.tags | Prompt.shipped("sentences_template").tags)
        data = self._with_ids(render, data, prompt, language).rstrip()
        return f"{data}\n\n{render.text(form, prompt.tags)}"

    def _with_ids(self, render: Rendering, data: str, prompt: Prompt, language: str | None) -> str:
        if self._numbered is None or prompt.uses("sentences"):
            return data
        listed = Prompt.shipped("sentences_template").in_language(language)
        return f"{data.rstrip()}\n\n{render.text(listed, prompt.tags | listed.tags)}"

    def call(
        self,
        sample: Sample,
        *,
        sentences: Sequence[str] | None = None,
        statements: Sequence[str] = (),
        # `Any`: a reply model built for one row is not a subclass of the response model.
        reply_model: type[Any] | None = None,
    ) -> JudgeCall[M]:
        """Create the judge call for one sample.

        Args:
            sample: The sample to grade.
            sentences: The sentences to number; by default, the answer's sentences.
            statements: The statements to number, if the prompt shows any.
            reply_model: The model that the judge fills in; by default, the response model.
        """
        if sentences is None:
            sentences = sentences_of(sample.answer)
        known = {
            "question": sample.question,
            "answer": sample.answer,
            "reference": sample.reference,
            "chunks": [chunk.text for chunk in sample.context],
            "chunk_count": len(sample.context),
            "criteria": [criterion.name for criterion in self._criteria],
            "sentences": list(sentences),
            "statement_count": len(statements),
        }
        messages = self.messages(sample, sentences=sentences, statements=statements)
        if self._places_data:
            self._check_ends(sample, messages)
        return JudgeCall(
            messages,
            reply_model or self.response_model,
            known,
            self.settings,
            model=self.model,
        )

    def _by_sentence(self, sample: Sample, *, is_shared: bool = False) -> Flow[M]:
        """Ask the judge about each sentence, in several calls if the text is long."""
        assert self.unit is not None, "a reply about statements has a unit"

        def ask(sentences: Sequence[str], reply_model: type[BaseModel]) -> JudgeCall[Any]:
            call = self.call(sample, sentences=sentences, reply_model=reply_model)
            return replace(call, is_shared=True) if is_shared else call

        return grade_by_sentence(sample, self.response_model, self.unit, ask)

    def _check_ends(self, sample: Sample, messages: Sequence[Message]) -> None:
        """Reject a row if a custom template cuts off text that the judge needs."""
        texts = {f"chunk {chunk.id}": chunk.text for chunk in sample.context}
        texts = texts if "context" in self.requires else {}
        # Numbered sentences are appended to the prompt, and a long answer takes several calls.
        fields = [name for name in self.requires if name != (self._numbered or "context")]
        texts |= {name: getattr(sample, name) or "" for name in fields if name != "context"}
        if cut := missing_ends(texts, "\n".join(message["content"] for message in messages)):
            raise JudgeRequestError(
                f"{self._prompt.origin}: the end of {', '.join(cut[:3])} is not shown to the "
                "judge, so nothing was sent; show it in full, or shorten the data"
            )

    def _check_shown(self) -> None:
        prompt, way_out = self._block, " in this data block"
        if self._prompt.places_data:
            prompt = self._prompt
            names = ", ".join(sorted(filter(prompt.uses, DATA_VARIABLES)))
            way_out = f"; or remove {names}, and the data will follow the prompt"
        needs: list[str] = list(self.requires)
        if getattr(self.response_model, "numbered_statements", False):
            needs.append("statements")
        reader = self.response_model.__name__
        check_shown(prompt, needs, self._render_made_up, reader=reader, way_out=way_out)

    def _render_made_up(self, texts: Mapping[str, Sequence[str]]) -> str:
        given: dict[str, Any] = {
            name: list(parts) if name == "context" else " ".join(parts)
            for name, parts in texts.items()
            if name != "statements"
        }
        messages = self.messages(Sample(**given), statements=texts.get("statements", ()))
        return "\n".join(message["content"] for message in messages)


class ContextEvaluation(JudgedGrader[R, R]):
    """A grader defined by a prompt and a response model; its result is the judge's reply."""

    def __init__(
        self,
        prompt: str | Path | Prompt,
        response_model: type[R],
        **options: Unpack[PromptOptions],
    ) -> None:
        """Check the prompt, the criteria and the examples, without calling the judge.

        Args:
            prompt: Instructions, or a template that includes the data, as text or a `Path`.
            response_model: A pydantic model; a subclass of `rag_evals.Result` has a score.
            options: See `PromptOptions`.
        """
        super().__init__(prompt, response_model, response_model, **options)

    def flow(self, sample: Sample) -> Flow[R]:
        """Make one call, or several if the answer is long."""
        require_fields(sample, self.requires)
        if self.unit is not None:
            return (yield from self._by_sentence(sample))
        call = self.call(sample)
        if "answer" in self.requires and has_statements(self.response_model):
            return (yield from grade_own_statements(sample, call))
        (reply,) = yield [call]
        return call.read(reply)


def _unit(response_model: type[BaseModel], wanted: VerdictUnit | None) -> VerdictUnit | None:
    if wanted is not None and wanted not in get_args(VerdictUnit):
        units = ", ".join(get_args(VerdictUnit))
        raise ConfigurationError(f"unit is {wanted!r}; expected one of {units}")
    if issubclass(response_model, ByStatement) and response_model.is_keyed():
        return wanted or "claims"
    if wanted is not None:
        raise ConfigurationError(
            f"unit is {wanted!r}, but {response_model.__name__} does not support units; only "
            "FaithfulnessResult and ContextRecallResult do"
        )
    return None


def _name_of(model: type) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", model.__name__.removesuffix("Result"))
    return words.lower() or "grader"
