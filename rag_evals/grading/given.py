"""What is given to grade? One sample, with all that its grader needs."""

from typing import Any

from rag_evals.core import ContextInput, Sample, SampleField
from rag_evals.errors import ConfigurationError, NotScorableError, NotScorableReason

_EMPTY: dict[SampleField, NotScorableReason] = {
    "question": "empty_question",
    "answer": "empty_answer",
    "context": "empty_context",
    "reference": "empty_reference",
}


def sample_of(
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
