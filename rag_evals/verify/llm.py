"""The LLM verifier, and the base class of components that call a judge with their own prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field

from rag_evals.core import (
    ChunkId,
    Claim,
    Flow,
    JudgeCall,
    JudgeModel,
    OptionalList,
    Reasoning,
    Verdict,
    VerifierChanges,
    VerifierTraits,
    check_settings,
    fingerprint,
    require_whole,
)
from rag_evals.errors import ConfigurationError
from rag_evals.judge.clients.strings import read_endpoint
from rag_evals.prompt import (
    Example,
    ExampleInput,
    Prompt,
    TagEscaper,
    check_shown,
    examples_of,
    shown_examples,
)
from rag_evals.prompt.escaping import ShownList, escape_tags
from rag_evals.response_models import each_once

DEFAULT_BATCH_SIZE = 10
"""Statements per call; a larger batch saves context tokens, but divides the judge's attention."""


class StatementVerdict(JudgeModel):
    statement_id: int = Field(description="The statement's id, as given.")
    reasoning: Reasoning = Field(
        default=None, description="Why the chunks do or do not support it, in one or two sentences."
    )
    supporting_chunk_ids: OptionalList[ChunkId] = Field(
        default_factory=list,
        description="Ids of the chunks that support the statement; empty list when none does.",
    )
    is_supported: bool = Field(
        description="True when the chunks alone show the statement to be so."
    )


class VerifierReply(JudgeModel):
    verdicts: list[StatementVerdict] = Field(description="Every statement exactly once.")

    _every_statement_once = each_once("verdicts", "statement_id")


@dataclass(frozen=True, eq=False, kw_only=True)
class PromptedPart:
    """Sends a prompt to a judge; the base class of `LLMVerifier` and `StatementExtractor`."""

    shipped: ClassVar[str]
    reply_model: ClassVar[type[JudgeModel]]
    # Fields that a custom template must show, and fields that its examples must have.
    shows: ClassVar[tuple[str, ...]]
    example_needs: ClassVar[tuple[str, ...]]

    model: str | None = None
    language: str | None = None
    prompt: str | Path | Prompt | None = None
    examples: Sequence[ExampleInput] | None = None
    settings: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", check_settings(self.settings))
        self._examples_in(self._template)
        if self.prompt is not None:
            reader = type(self).__name__
            check_shown(self._template, self.shows, self._render_made_up, reader=reader)

    def adapt(self, changes: VerifierChanges) -> Self:
        """Return a copy with a different language and additional settings."""
        if changes.language is None and not changes.settings:
            return self
        settings = {**(self.settings or {}), **check_settings(changes.settings)}
        return replace(self, language=changes.language or self.language, settings=settings)

    def fingerprint(self) -> str:
        """Return a hash of the prompt, examples, reply schema, model, language and settings."""
        return self._fingerprint

    # Cached because it is needed for every row.
    @cached_property
    def _fingerprint(self) -> str:
        prompt = self._template
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        versions = prompt.versions().items()
        own["prompt"] = {code: version.sources() for code, version in versions}
        if self.examples is None:
            own["examples"] = {code: version.header.examples for code, version in versions}
        own.pop("name", None)
        return fingerprint(own, self.reply_model.model_json_schema())

    @cached_property
    def _template(self) -> Prompt:
        return Prompt.shipped(self.shipped) if self.prompt is None else Prompt.load(self.prompt)

    @cached_property
    def _read_examples(self) -> dict[str, list[Example]]:
        return {}

    def _examples_in(self, prompt: Prompt) -> ShownList:
        """Return the examples for a prompt in one language, parsed only once."""
        if prompt.origin not in self._read_examples:
            self._read_examples[prompt.origin] = examples_of(
                prompt, self.examples, self.reply_model, needs=self.example_needs
            )
        return shown_examples(self._read_examples[prompt.origin], prompt)

    def _render_made_up(self, texts: Mapping[str, Sequence[str]]) -> str:
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class LLMVerifier(PromptedPart):
    """Asks a judge about several statements per call.

    Args:
        batch_size: Statements per call, at least 1.
        model: Model to call; by default, the client's model.
        endpoint: A separate judge, such as `"openai/gpt-4o"`; by default, the grader's judge.
        name: Name in results; if empty, the endpoint, the model or `judge` is used.
        language: Language of samples that do not specify one, such as `ru`; None means English.
        prompt: A template that shows the lists `statements` and `chunks`, and may show
            `statement_settings`: for each statement, the `question`, the text `before` it and its
            `sentence`, or None if it does not depend on them. By default, the shipped prompt.
        examples: Few-shot examples; by default, those in the prompt.
        settings: Judge settings, such as `{"temperature": 0}`.

    Raises:
        ConfigurationError: A setting is invalid, or both `model` and `endpoint` specify a model.
        PromptError: The prompt cannot be parsed, or does not show statements and chunks.
    """

    shipped: ClassVar[str] = "verify_statements"
    reply_model: ClassVar[type[JudgeModel]] = VerifierReply
    shows: ClassVar[tuple[str, ...]] = ("statements", "context")
    example_needs: ClassVar[tuple[str, ...]] = ("context", "statements")

    batch_size: int = DEFAULT_BATCH_SIZE
    endpoint: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        require_whole("batch_size", self.batch_size)
        if self.endpoint is not None:
            read_endpoint(self.endpoint)
            if self.model is not None:
                raise ConfigurationError(
                    f"endpoint {self.endpoint!r} and model={self.model!r} both specify a model; "
                    "give only one"
                )
        object.__setattr__(self, "name", self.name or self.endpoint or self.model or "judge")
        super().__post_init__()

    @property
    def traits(self) -> VerifierTraits:
        """Traits of a verifier that calls its own endpoint or the grader's judge."""
        return VerifierTraits(
            asks_judge=self.endpoint is None,
            endpoints=() if self.endpoint is None else (self.endpoint,),
            batches=((self.name, self.batch_size),),
        )

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Call the judge for all batches in parallel."""
        calls = [
            self._call(claims[first : first + self.batch_size], chunks)
            for first in range(0, len(claims), self.batch_size)
        ]
        replies = yield calls
        verdicts: list[Verdict] = []
        for call, reply in zip(calls, replies, strict=True):
            in_order = sorted(call.read(reply).verdicts, key=lambda one: one.statement_id)
            verdicts.extend(self._verdict(one) for one in in_order)
        return verdicts

    def _call(self, claims: Sequence[Claim], chunks: Sequence[str]) -> JudgeCall[VerifierReply]:
        statements = [claim.text for claim in claims]
        return JudgeCall(
            ({"role": "user", "content": self._render(claims, chunks)},),
            VerifierReply,
            {
                "chunks": list(chunks),
                "chunk_count": len(chunks),
                "statements": statements,
                "statement_count": len(statements),
            },
            self.settings or {},
            model=self.model,
            endpoint=self.endpoint,
        )

    def _render(self, claims: Sequence[Claim], chunks: Sequence[str]) -> str:
        prompt = self._template.in_language(self.language)
        escape = TagEscaper(prompt.tags)
        shown = escape.texts(chunks, "chunks")
        return prompt.render(
            {
                "statements": escape.texts([claim.text for claim in claims], "statements"),
                "chunks": shown,
                "context": shown,
                "examples": self._examples_in(prompt),
                "statement_settings": [_setting(claim, prompt.tags) for claim in claims],
            }
        )

    def _render_made_up(self, texts: Mapping[str, Sequence[str]]) -> str:
        return self._render([Claim(text) for text in texts["statements"]], texts["context"])

    def _verdict(self, given: StatementVerdict) -> Verdict:
        return Verdict(
            support=float(given.is_supported),
            is_supported=given.is_supported,
            chunk_ids=tuple(dict.fromkeys(given.supporting_chunk_ids)),
            reason=given.reasoning or "",
            decided_by=self.name,
        )


def _setting(claim: Claim, tags: frozenset[str]) -> dict[str, str | None] | None:
    """Return the texts that a claim depends on, escaped for the prompt; None if there are none."""
    parts = dict(zip(("sentence", "before", "question"), claim.setting, strict=True))
    if not any(parts.values()):
        return None
    return {name: text and escape_tags(text, tags) for name, text in parts.items()}
