"""What does a deepeval script grade? Test cases under deepeval's names."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from rag_evals.core import Sample


class SingleTurnParams(Enum):
    """Fields of a test case, as `GEval` names those that it reads."""

    INPUT = "input"
    ACTUAL_OUTPUT = "actual_output"
    EXPECTED_OUTPUT = "expected_output"
    CONTEXT = "context"
    RETRIEVAL_CONTEXT = "retrieval_context"


class LLMTestCase(BaseModel):
    """One row in deepeval's words; `rag_evals.Sample` has question, answer, context, reference."""

    input: str
    actual_output: str | None = Field(
        default=None, validation_alias=AliasChoices("actual_output", "actualOutput")
    )
    expected_output: str | None = Field(
        default=None, validation_alias=AliasChoices("expected_output", "expectedOutput")
    )
    context: list[str] | None = None
    retrieval_context: list[Any] | None = Field(
        default=None, validation_alias=AliasChoices("retrieval_context", "retrievalContext")
    )
    metadata: dict[str, Any] | None = Field(
        default=None, validation_alias=AliasChoices("metadata", "additional_metadata")
    )
    comments: str | None = None
    name: str | None = None
    tags: list[str] | None = None

    def ours(self, place: int = 0) -> Sample:
        """Return the sample that is graded.

        Args:
            place: Its place in the data, which is its id.
        """
        chunks = None if self.retrieval_context is None else [*map(_text, self.retrieval_context)]
        return Sample(
            question=self.input,
            answer=self.actual_output,
            context=chunks,
            reference=self.expected_output,
            id=str(place),
        )


def _text(chunk: Any) -> str:
    """Read a chunk: a text, or an object with its text in `context`, as deepeval has one."""
    return str(getattr(chunk, "context", chunk))


class CaseGolden(BaseModel):
    """A question with its right answer, from which a script makes test cases."""

    input: str
    actual_output: str | None = None
    expected_output: str | None = None
    context: list[str] | None = None
    retrieval_context: list[Any] | None = None
    additional_metadata: dict[str, Any] | None = None
    name: str | None = None


class GoldenDataset:
    """Goldens and the test cases made of them; `rag_evals.evaluate` takes rows of any file."""

    def __init__(self, goldens: Iterable[CaseGolden] = ()) -> None:
        self.goldens = list(goldens)
        self.test_cases: list[LLMTestCase] = []

    def add_golden(self, golden: CaseGolden) -> None:
        """Add a golden."""
        self.goldens.append(golden)

    def add_test_case(self, test_case: LLMTestCase) -> None:
        """Add a test case."""
        self.test_cases.append(test_case)

    def __iter__(self) -> Iterator[LLMTestCase]:
        """Yield the test cases."""
        return iter(self.test_cases)

    def __len__(self) -> int:
        """Count the test cases."""
        return len(self.test_cases)

    def __repr__(self) -> str:
        """One line, as deepeval has it."""
        return f"EvaluationDataset({len(self.goldens)} goldens, {len(self.test_cases)} test cases)"
