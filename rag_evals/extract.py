"""What does an answer claim? Its own sentences, or statements that a judge makes of them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.hardening import escape_tags
from rag_evals.judge import JudgeCall
from rag_evals.prompt import Prompt
from rag_evals.result import JudgeModel, facts_of
from rag_evals.sample import Sample
from rag_evals.text import Span, split_sentences
from rag_evals.verify import Flow, claims_of

_CLAIMS_NOTHING = "a question, a greeting, a refusal or a lead"


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """One claim, and the sentence of the answer that it comes from.

    Attributes:
        text: The claim; the sentence itself, or what a judge made of it.
        sentence: Number of the sentence in the answer, from 0.
        span: The sentence: `answer[span.start:span.end] == span.text`.
    """

    text: str
    sentence: int
    span: Span


@dataclass(frozen=True, slots=True)
class SkippedSentence:
    """A sentence that claims nothing.

    Attributes:
        sentence: Its number in the answer, from 0.
        text: Its words.
        reason: Why it claims nothing.
    """

    sentence: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an answer claims; every sentence is in one of the two.

    Attributes:
        statements: In the order of the answer.
        skipped: Sentences without a statement.
    """

    statements: tuple[ExtractedStatement, ...]
    skipped: tuple[SkippedSentence, ...] = ()


class Extractor(Protocol):
    """Finds the statements of an answer; its flow says what it needs for that.

    It may also have `asks_judge`, True when it needs the client that grades.
    """

    def fingerprint(self) -> str:
        """Return a hash of all that can change a statement, the client that grades left out."""
        ...

    def flow(self, sample: Sample) -> Flow[Extraction]:
        """Describe the work on the answer of one sample."""
        ...


class SentenceExtractor:
    """Takes the answer's own sentences, word for word; asks nobody."""

    def fingerprint(self) -> str:
        """Return a hash that names the way; it has no settings."""
        return hashlib.sha256(b"sentences 1").hexdigest()

    def flow(self, sample: Sample) -> Flow[Extraction]:
        """Return at once."""
        answer = sample.answer or ""
        claims = {(span.start, span.end) for span in claims_of(answer)}
        statements, skipped = [], []
        for number, span in enumerate(split_sentences(answer)):
            if (span.start, span.end) in claims:
                statements.append(ExtractedStatement(span.text, number, span))
            else:
                skipped.append(SkippedSentence(number, span.text, _CLAIMS_NOTHING))
        # A flow without steps is a generator all the same.
        yield from ()
        return Extraction(tuple(statements), tuple(skipped))


class StatementOfSentence(JudgeModel):
    """One claim that the judge found in a sentence."""

    sentence: int = Field(description="Id of the sentence that it comes from.")
    statement: str = Field(
        description="One claim that can be checked by itself, with names in place of pronouns."
    )


class SentenceWithoutClaim(JudgeModel):
    """A sentence in which the judge found nothing to check."""

    sentence: int = Field(description="Id of the sentence.")
    reason: str = Field(description="Why it claims nothing, in a few words.")


class ExtractionReply(JudgeModel):
    """Every sentence of the answer, broken into statements or set aside."""

    statements: list[StatementOfSentence] = Field(
        description="All statements, in the order of the answer."
    )
    without_claim: list[SentenceWithoutClaim] = Field(
        description="The sentences that claim nothing."
    )

    @model_validator(mode="after")
    def _every_sentence_accounted_for(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            count = facts["sentence_count"]
            broken = {one.sentence for one in self.statements}
            set_aside = {one.sentence for one in self.without_claim}
            unknown = sorted((broken | set_aside) - set(range(count)))
            missing = sorted(set(range(count)) - broken - set_aside)
            if unknown:
                raise ValueError(f"sentences {unknown} do not exist; ids run 0 to {count - 1}")
            if missing:
                raise ValueError(
                    f"sentences {missing} are in neither list; give each its statements, or the "
                    "reason why it claims nothing"
                )
            if broken & set_aside:
                raise ValueError(f"sentences {sorted(broken & set_aside)} are in both lists")
            if len(set_aside) < len(self.without_claim):
                raise ValueError("a sentence is listed twice in without_claim")
            if not all(one.statement.strip() for one in self.statements):
                raise ValueError("a statement is empty; every statement needs its text")
        return self


class StatementExtractor:
    """Has a judge break every numbered sentence of the answer into statements.

    Args:
        model: Model to ask; None leaves it to the client.
        language: Language of samples that name none, such as `ru`; None is English.
    """

    asks_judge = True

    def __init__(self, *, model: str | None = None, language: str | None = None) -> None:
        self.model = model
        self.language = language

    def fingerprint(self) -> str:
        """Return a hash of prompt, reply schema, model and language."""
        parts = [
            _prompt().sources_by_language(),
            ExtractionReply.model_json_schema(),
            self.model,
            self.language,
        ]
        packed = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(packed.encode()).hexdigest()

    def flow(self, sample: Sample) -> Flow[Extraction]:
        """Ask one call; an answer without sentences needs none."""
        sentences = split_sentences(sample.answer or "")
        if not sentences:
            return Extraction(())
        prompt = _prompt().in_language(sample.language or self.language)
        call = self._call(prompt, sample.question, [span.text for span in sentences])
        (reply,) = yield [call]
        found = call.read(reply)
        # Stable: the statements of one sentence stay in the judge's order.
        statements = sorted(found.statements, key=lambda one: one.sentence)
        skipped = sorted(found.without_claim, key=lambda one: one.sentence)
        return Extraction(
            tuple(
                ExtractedStatement(one.statement.strip(), one.sentence, sentences[one.sentence])
                for one in statements
            ),
            tuple(
                SkippedSentence(one.sentence, sentences[one.sentence].text, one.reason)
                for one in skipped
            ),
        )

    def _call(
        self, prompt: Prompt, question: str | None, sentences: Sequence[str]
    ) -> JudgeCall[ExtractionReply]:
        content = prompt.render(
            {
                "question": None if question is None else escape_tags(question, prompt.tags),
                "sentences": [escape_tags(text, prompt.tags) for text in sentences],
            }
        )
        return JudgeCall(
            ({"role": "user", "content": content},),
            ExtractionReply,
            {"chunks": [], "chunk_count": 0, "sentence_count": len(sentences)},
            model=self.model,
        )


@cache
def _prompt() -> Prompt:
    return Prompt.shipped("extract_statements")
