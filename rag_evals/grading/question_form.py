"""How does a grader ask a decision model? With questions made of its response model's own fields.

A yes or no is a predicate, a label a choice, ordered labels a score; a list has one element for
each chunk, criterion or statement. The answers fill the same model that a judge would.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from rag_evals.core import (
    Claim,
    DecisionCall,
    Flow,
    Message,
    Sample,
    SampleField,
    State,
    Verifier,
    facts_for,
    fingerprint,
)
from rag_evals.errors import ConfigurationError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.grading.fields import FieldsOfModel, Things, fields_of
from rag_evals.grading.given import require_fields
from rag_evals.grading.grader import Grader
from rag_evals.prompt import Prompt
from rag_evals.verify import DecisionVerifier, rubric_part, sample_state

R = TypeVar("R", bound=BaseModel)

_VERSION = 1


class Prompted(Protocol[R]):
    """A grader that is a prompt and a response model."""

    name: str
    requires: tuple[SampleField, ...]
    result_model: type[R]

    def fingerprint(self) -> str:
        """Return a hash of all that shapes a result."""
        ...

    def messages(self, sample: Sample, /) -> tuple[Message, ...]:
        """Render what a judge would be sent."""
        ...


class QuestionForm(Grader[R]):
    """A grader's form that asks a decision model, and fills the same response model.

    Args:
        name: The grader's name.
        response_model: What is filled.
        requires: Fields that must not be empty.
        shown: Fields that the model reads.
        criteria: What a checklist asks, by name.
        rubric: Writes the grader's own instructions; None where the fields say all.
        asked: The decision model, with the threshold of predicates.
        origin: Fingerprint of the grader whose form it is.

    Raises:
        ConfigurationError: A field needs words, or more options than a choice may have.
    """

    def __init__(
        self,
        *,
        name: str,
        response_model: type[R],
        requires: tuple[SampleField, ...],
        shown: frozenset[str],
        criteria: Mapping[str, str],
        rubric: Callable[[Sample], str] | None,
        asked: DecisionVerifier,
        origin: str,
    ) -> None:
        self.name = name
        self.result_model = response_model
        self.requires = requires
        self.endpoints = asked.endpoints
        self.untuned = asked.untuned
        self._asked = asked
        self._shown = shown
        self._criteria = dict(criteria)
        self._rubric = rubric
        self._origin = origin
        try:
            self._fields: FieldsOfModel = fields_of(response_model, asked.limits)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"grader {name!r} has no questions for {asked.name!r}: {error}; pass a chat model, "
                "such as 'openai/gpt-4o-mini'"
            ) from None

    def fingerprint(self) -> str:
        """Return a hash of the questions, the rubric and the model that is asked."""
        return fingerprint(_VERSION, self._origin, self._asked.fingerprint())

    def flow(self, sample: Sample) -> Flow[R]:
        """Ask all questions at once."""
        require_fields(sample, self.requires)
        claims = yield from self._claims(sample)
        lead = "" if self._rubric is None else f"By the rubric of {self.name!r}: "
        things = Things(lead, len(sample.context), self._criteria, claims, self._asked)
        questions = list(self._fields.questions("f", things))
        answers: Mapping[str, Any] = {}
        if questions:
            call = DecisionCall.of(self._state(sample), questions, self._asked.endpoint)
            (reply,) = yield [call]
            answers = call.answers(reply)
        filled = self._fields.value("f", things, answers)
        return self.result_model.model_validate(filled, context=self._facts(sample))

    def _claims(self, sample: Sample) -> Flow[Sequence[tuple[str, Claim]]]:
        """Return the statements that are asked about: sentences of the answer or the reference."""
        if not self._fields.asks_of_statements:
            return ()
        source = getattr(self.result_model, "statements_of", "answer")
        text = getattr(sample, source)
        asked = Sample(question=sample.question, answer=text, language=sample.language)
        extraction = yield from SentenceExtractor().flow(asked)
        return [(one.text, one.claim) for one in extraction.statements]

    def _state(self, sample: Sample) -> State:
        chunks = [chunk.text for chunk in sample.context] if "context" in self._shown else []
        state = sample_state(
            question=sample.question if "question" in self._shown else None,
            chunks=chunks,
            reference=sample.reference if "reference" in self._shown else None,
            answer=sample.answer if "answer" in self._shown else None,
            hardened=self._asked.is_hardened,
        )
        if self._rubric is None:
            return state
        return *state, rubric_part(self.name, self._rubric(sample))

    def _facts(self, sample: Sample) -> dict[str, Any]:
        facts = {
            "question": sample.question,
            "answer": sample.answer,
            "reference": sample.reference,
            "chunks": [chunk.text for chunk in sample.context],
            "chunk_count": len(sample.context),
            "sentences": [],
            "criteria": list(self._criteria),
        }
        return facts_for(facts, is_last=True)


def asking_questions(
    grader: Prompted[R],
    prompt: Prompt,
    shown: frozenset[str],
    criteria: Mapping[str, str],
    verifier: Verifier,
) -> QuestionForm[R]:
    """Make the form of a grader with a prompt that asks a decision model.

    Args:
        grader: The grader.
        prompt: Its prompt; a shipped one adds nothing to what the fields ask.
        shown: Fields that the model reads.
        criteria: What a checklist asks, by name.
        verifier: The decision model.

    Raises:
        ConfigurationError: The prompt or the response model has no form.
    """
    assert isinstance(verifier, DecisionVerifier), "it answers questions"
    if prompt.places_data:
        raise ConfigurationError(
            f"grader {grader.name!r} has no questions for {verifier.name!r}: its prompt places the "
            "data itself, and only instructions can stand beside questions; leave the data out of "
            "the prompt, or pass a chat model, such as 'openai/gpt-4o-mini'"
        )

    def rubric(sample: Sample) -> str:
        return grader.messages(sample)[0]["content"]

    return QuestionForm(
        name=grader.name,
        response_model=grader.result_model,
        requires=grader.requires,
        shown=shown,
        criteria=criteria,
        rubric=None if prompt.shipped_name else rubric,
        asked=verifier,
        origin=grader.fingerprint(),
    )
