"""Do the chunks support these statements? A judge decides several statements in each call."""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    ChunkId,
    Claim,
    Flow,
    JudgeCall,
    JudgeModel,
    OptionalList,
    Reasoning,
    Verdict,
    Verifier,
    check_each_once,
    check_settings,
    facts_of,
    fingerprint,
    require_whole,
)
from rag_evals.errors import ConfigurationError
from rag_evals.judge import read_endpoint
from rag_evals.prompt import (
    Example,
    ExampleInput,
    Prompt,
    escape_tags,
    examples_of,
    shown_examples,
)

DEFAULT_BATCH_SIZE = 10
"""Statements in one call; more of them share the tokens of the context, and the judge's care."""


class StatementVerdict(JudgeModel):
    """The judge's word on one statement."""

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
    """One verdict for each statement that was sent."""

    verdicts: list[StatementVerdict] = Field(description="Every statement exactly once.")

    @model_validator(mode="after")
    def _every_statement_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            ids = sorted(verdict.statement_id for verdict in self.verdicts)
            count = facts["statement_count"]
            wish = "give each statement exactly one verdict"
            check_each_once("statements", ids, range(count), wish=wish)
        return self


class LLMVerifier(Verifier):
    """Asks a judge, and takes no reply that leaves a statement out.

    Args:
        batch_size: Statements in one call, at least 1; 1 asks for each by itself.
        model: Model to ask; None leaves it to the client.
        endpoint: A judge of its own, such as `"openai/gpt-4o"`; None asks the one that grades.
        name: What results call it; None takes the endpoint, the model or `judge`.
        language: Language of samples that name none, such as `ru`; None is English.
        prompt: A template that shows `statements` and `chunks`, lists of texts, and may show
            `statement_settings`: for each statement None, or the `question`, the words `before` it
            and its `sentence`, where it leans on them. None takes the shipped one.
        settings: What the judge is asked with, such as `{"temperature": 0}`.

    Raises:
        ConfigurationError: A setting cannot work, or `model` and `endpoint` both name a model.
        PromptError: The prompt does not parse, or does not show what is to be decided.
    """

    def __init__(
        self,
        *,
        batch_size: int = DEFAULT_BATCH_SIZE,
        model: str | None = None,
        endpoint: str | None = None,
        name: str | None = None,
        language: str | None = None,
        prompt: str | Path | Prompt | None = None,
        examples: Sequence[ExampleInput] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = check_settings(settings)
        self.batch_size = require_whole("batch_size", batch_size)
        if endpoint is not None:
            read_endpoint(endpoint)
            if model is not None:
                raise ConfigurationError(
                    f"endpoint {endpoint!r} names a model, and so does model={model!r}; give one"
                )
        self.prompt = _shipped() if prompt is None else Prompt.load(prompt)
        self.prompt.require_variables("statements", "chunks")
        self.examples = None if examples is None else list(examples)
        self._examples: dict[str, list[Example]] = {}
        self._shown(self.prompt)
        self.model = model
        self.endpoint = endpoint
        self.language = language
        self.name = name or endpoint or model or "judge"
        # A cache asks for it with every row.
        self._fingerprint: str | None = None

    @property
    def asks_judge(self) -> bool:
        """True when the client that grades is asked: without one it cannot work."""
        return self.endpoint is None

    @property
    def endpoints(self) -> list[str]:
        """The judge that it names itself, if any."""
        return [] if self.endpoint is None else [self.endpoint]

    def in_language(self, language: str) -> Self:
        """Return the same verifier, asking in a language."""
        changed = copy.copy(self)
        changed.language = language
        changed._fingerprint = None
        return changed

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the same verifier, asking with these settings; its others stay."""
        changed = copy.copy(self)
        changed.settings = {**self.settings, **check_settings(settings)}
        changed._fingerprint = None
        return changed

    def fingerprint(self) -> str:
        """Return a hash of what shapes a call: prompt, examples, schema, settings, model."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(
                self.prompt.sources_by_language(),
                self.prompt.examples_by_language() if self.examples is None else self.examples,
                VerifierReply.model_json_schema(),
                self.batch_size,
                self.model,
                self.endpoint,
                self.language,
                self.settings,
            )
        return self._fingerprint

    def calls_for(self, statements: int) -> int:
        """Return how many judge calls that many statements take."""
        return -(-statements // self.batch_size)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Ask for all batches side by side."""
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
        prompt = self.prompt.in_language(self.language)
        statements = [claim.text for claim in claims]
        content = prompt.render(
            {
                "statements": [escape_tags(text, prompt.tags) for text in statements],
                "chunks": [escape_tags(text, prompt.tags) for text in chunks],
                "examples": shown_examples(self._shown(prompt), prompt),
                "statement_settings": [_setting(claim, prompt.tags) for claim in claims],
            }
        )
        return JudgeCall(
            ({"role": "user", "content": content},),
            VerifierReply,
            {
                "chunks": list(chunks),
                "chunk_count": len(chunks),
                "statements": statements,
                "statement_count": len(statements),
            },
            self.settings,
            model=self.model,
            endpoint=self.endpoint,
        )

    def _shown(self, prompt: Prompt) -> list[Example]:
        """Return the examples of a prompt in one language; they are read once."""
        if prompt.origin not in self._examples:
            needs = ("context", "statements")
            read = examples_of(prompt, self.examples, VerifierReply, needs=needs)
            self._examples[prompt.origin] = read
        return self._examples[prompt.origin]

    def _verdict(self, given: StatementVerdict) -> Verdict:
        return Verdict(
            support=float(given.is_supported),
            is_supported=given.is_supported,
            chunk_ids=tuple(dict.fromkeys(given.supporting_chunk_ids)),
            reason=given.reasoning or "",
            decided_by=self.name,
        )


def _setting(claim: Claim, tags: frozenset[str]) -> dict[str, str | None] | None:
    """Return what a claim leans on, as the prompt shows it; None for one that stands alone."""
    parts = dict(zip(("sentence", "before", "question"), claim.setting, strict=True))
    if not any(parts.values()):
        return None
    return {name: text and escape_tags(text, tags) for name, text in parts.items()}


@cache
def _shipped() -> Prompt:
    return Prompt.shipped("verify_statements")
