"""The claims in an answer: its sentences, or statements extracted by a judge."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    Claim,
    Flow,
    JudgeCall,
    JudgeModel,
    OptionalList,
    Sample,
    SentenceId,
    StatementText,
    VerifierChanges,
    facts_of,
    fingerprint,
    text_before,
)
from rag_evals.grading.guarding import Guard, GuardedCall, ask_guarded
from rag_evals.prompt import Prompt, TagEscaper
from rag_evals.response_models import NoClaimSentence, PassedOverSentence, check_every_sentence
from rag_evals.response_models.statements import Stated
from rag_evals.text import Span, split_sentences
from rag_evals.verify.llm import PromptedPart


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """A claim and the answer sentence that it comes from.

    Attributes:
        claim: The claim to verify: the statement without a lead-in such as "Based on the
            context,", together with its sentence, the preceding text and the question.
        fault: How the statement may differ from the answer; None if no difference was found.
    """

    text: str
    claim: Claim
    sentence_id: int
    span: Span
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims in an answer; other sentences were passed over, or left out by mistake."""

    statements: tuple[ExtractedStatement, ...]
    passed_over: tuple[PassedOverSentence, ...] = ()
    drift: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()


class Extractor(ABC):
    """Extracts the statements from an answer; `flow` yields the required steps."""

    asks_judge: ClassVar[bool] = False
    """True if the extractor needs the run's judge client."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of everything that can affect the statements, except the run's judge."""

    @abstractmethod
    def flow(self, sample: Sample) -> Flow[Extraction]:
        """Extract the statements from the sample's answer."""

    def adapt(self, changes: VerifierChanges) -> "Extractor":
        """Return an extractor with the changes applied, or this one if it does not call a judge."""
        del changes
        return self


class SentenceExtractor(Extractor):
    """Uses each sentence of the answer as a statement; does not need a judge."""

    def fingerprint(self) -> str:
        return fingerprint("sentences 4")

    def flow(self, sample: Sample) -> Flow[Extraction]:
        from rag_evals.embedded import claims_in_setting, prepare_answer  # noqa: PLC0415 - slow

        statements, passed_over = [], []
        prepared = prepare_answer(sample.answer or "")
        claims = claims_in_setting(prepared, sample.question)
        for number, (one, claim) in enumerate(zip(prepared, claims, strict=True)):
            if claim is not None:
                span = Span(one.start, one.end, one.text)
                statements.append(ExtractedStatement(one.text, claim, number, span))
            elif one.no_claim is not None:
                passed_over.append(
                    PassedOverSentence(sentence_id=number, reason=one.no_claim, text=one.text)
                )
        yield from ()  # makes the function a generator, as every flow must be
        return Extraction(tuple(statements), tuple(passed_over))


class StatementOfSentence(JudgeModel):
    sentence_id: SentenceId = Field(description="Id of the sentence that it comes from.")
    statement: StatementText = Field(
        description="One claim that can be checked by itself, with names in place of pronouns."
    )


class ExtractionReply(JudgeModel):
    statements: list[StatementOfSentence] = Field(
        description="All statements, in the order of the answer."
    )
    no_claim_sentences: OptionalList[NoClaimSentence] = Field(
        default_factory=list, description="The sentences that claim nothing."
    )

    @model_validator(mode="after")
    def _every_sentence_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            claimed = {one.sentence_id for one in self.statements}
            check_every_sentence(claimed, self.no_claim_sentences, facts)
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class StatementExtractor(PromptedPart, Extractor):
    """Asks a judge to break each numbered sentence of the answer into statements.

    Args:
        model: Model to call; by default, the client's model.
        language: Language of samples that do not specify one, such as `ru`; None means English.
        prompt: A template that renders `sentences`, a list of strings, and optionally `question`, a
            string or None; by default, the shipped prompt.
        examples: Few-shot examples, each with `answer`, `result` and optionally `question`; by
            default, those in the prompt. The shipped prompt has two examples, which come first.
        settings: Judge settings, such as `{"temperature": 0}`.

    Raises:
        PromptError: The prompt cannot be parsed or does not render the sentences, or an example
            does not match it.
    """

    asks_judge: ClassVar[bool] = True
    shipped: ClassVar[str] = "extract_statements"
    reply_model: ClassVar[type[JudgeModel]] = ExtractionReply
    shows: ClassVar[tuple[str, ...]] = ("sentences",)
    example_needs: ClassVar[tuple[str, ...]] = ("answer",)

    def flow(self, sample: Sample) -> Flow[Extraction]:
        sentences = split_sentences(sample.answer or "")
        if not sentences:
            return Extraction(())
        prompt = self._template.in_language(sample.language or self.language)
        texts, question = [span.text for span in sentences], sample.question
        call = JudgeCall(
            ({"role": "user", "content": self._render(prompt, question, texts)},),
            ExtractionReply,
            {"chunks": [], "chunk_count": 0, "sentences": texts, "question": question},
            self.settings or {},
            model=self.model,
        )
        (found,) = yield from ask_guarded([GuardedCall(call, Guard.of(sample), _stated)])
        said, unverified = found.reply.statements, found.unverified
        statements: list[ExtractedStatement] = []
        # The sort is stable, so statements from the same sentence stay in the judge's order.
        for place in sorted(found.places, key=lambda place: said[place].sentence_id):
            number, text = said[place].sentence_id, said[place].statement.strip()
            before = text_before([one.claim for one in statements])
            claim = Claim(text, texts[number], before, question)
            fault = unverified.get(place)
            statements.append(ExtractedStatement(text, claim, number, sentences[number], fault))
        passed_over = [
            PassedOverSentence(**dict(one), text=texts[one.sentence_id])
            for one in sorted(found.reply.no_claim_sentences, key=lambda one: one.sentence_id)
            if one.sentence_id not in found.left_out
        ]
        return Extraction(
            tuple(statements), tuple(passed_over), tuple(found.drift), tuple(found.left_out)
        )

    def _render(self, prompt: Prompt, question: str | None, sentences: Sequence[str]) -> str:
        escape = TagEscaper(prompt.tags)
        return prompt.render(
            {
                "question": escape.text(question),
                "sentences": escape.texts(sentences, "sentences"),
                "examples": self._examples_in(prompt),
            }
        )

    def _render_made_up(self, texts: Mapping[str, Sequence[str]]) -> str:
        question = " ".join(texts.get("question", ())) or None
        return self._render(self._template, question, texts["sentences"])


def _stated(reply: ExtractionReply) -> tuple[list[Stated], list[int]]:
    stated = [Stated(one.statement, (one.sentence_id,)) for one in reply.statements]
    return stated, [one.sentence_id for one in reply.no_claim_sentences]
