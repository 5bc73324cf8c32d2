"""What does a ragas script grade? Samples and data sets under ragas' names."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, overload

from pydantic import BaseModel

from rag_evals.compat.spelling import refused, say
from rag_evals.core import Sample
from rag_evals.dataset import required_module
from rag_evals.errors import DataError

_OLD_COLUMNS = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
}
"""Columns of ragas 0.1, and what they are called since."""


class SingleTurnSample(BaseModel):
    """One row in ragas' words; `rag_evals.Sample` has question, answer, context and reference."""

    user_input: str | None = None
    retrieved_contexts: list[str] | None = None
    reference_contexts: list[str] | None = None
    retrieved_context_ids: list[str | int] | None = None
    reference_context_ids: list[str | int] | None = None
    response: str | None = None
    multi_responses: list[str] | None = None
    reference: str | None = None
    rubrics: dict[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return self.model_dump(exclude_none=True)

    def get_features(self) -> list[str]:
        """Return the names of the fields that are set."""
        return list(self.to_dict())

    def ours(self, place: int) -> Sample:
        """Return the sample that is graded.

        Args:
            place: Its place in the data, which is its id.
        """
        return Sample(
            question=self.user_input,
            answer=self.response,
            context=self.retrieved_contexts,
            reference=self.reference,
            id=str(place),
        )


class RagasDataset:
    """A list of samples; `rag_evals.evaluate` takes a list of mappings, a file or a table."""

    def __init__(
        self,
        samples: Iterable[SingleTurnSample],
        backend: str | None = None,
        name: str | None = None,
    ) -> None:
        self.samples = list(samples)
        self.backend = backend
        self.name = name

    @classmethod
    def from_list(
        cls,
        data: Iterable[Mapping[str, Any] | SingleTurnSample],
        backend: str | None = None,
        name: str | None = None,
    ) -> Self:
        """Make a data set of mappings with ragas' columns, those of version 0.1 among them."""
        return cls([_sample(row) for row in data], backend, name)

    @classmethod
    def from_dict(cls, mapping: Iterable[Mapping[str, Any]]) -> Self:
        """Make a data set as `from_list` does."""
        return cls.from_list(mapping)

    @classmethod
    def from_pandas(cls, dataframe: Any) -> Self:
        """Make a data set of a `pandas.DataFrame`."""
        return cls.from_list(dataframe.to_dict(orient="records"))

    @classmethod
    def from_hf_dataset(cls, dataset: Any) -> Self:
        """Make a data set of a Hugging Face `Dataset`."""
        return cls.from_list(dataset)

    @classmethod
    def from_jsonl(cls, path: str | Path) -> Self:
        """Read a data set from a file with one JSON object on each line."""
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return cls.from_list(json.loads(line) for line in lines if line.strip())

    def to_list(self) -> list[dict[str, Any]]:
        """Return the samples as mappings."""
        return [sample.to_dict() for sample in self.samples]

    def to_pandas(self) -> Any:
        """Return the samples as a `pandas.DataFrame`."""
        return table_of(self.to_list())

    def to_jsonl(self, path: str | Path) -> None:
        """Write the samples to a file, one JSON object on each line."""
        lines = (json.dumps(row, ensure_ascii=False) for row in self.to_list())
        Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def features(self) -> list[str]:
        """Return the names of the fields that the first sample has."""
        return self.samples[0].get_features() if self.samples else []

    def __iter__(self) -> Iterator[SingleTurnSample]:
        """Yield the samples."""
        return iter(self.samples)

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.samples)

    @overload
    def __getitem__(self, place: int) -> SingleTurnSample: ...
    @overload
    def __getitem__(self, place: slice) -> "RagasDataset": ...
    def __getitem__(self, place: int | slice) -> "SingleTurnSample | RagasDataset":
        """Return one sample, or a data set of some."""
        if isinstance(place, slice):
            return type(self)(self.samples[place], self.backend, self.name)
        return self.samples[place]

    def __repr__(self) -> str:
        """One line, as ragas has it."""
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"


def dataset_of(given: Any, column_map: Mapping[str, str] | None) -> RagasDataset:
    """Read what `evaluate` was given.

    Args:
        given: A data set of this module, a Hugging Face one, a `pandas.DataFrame`, or mappings.
        column_map: Columns of the data by ragas' names.

    Raises:
        DataError: It is none of these.
    """
    if isinstance(given, RagasDataset):
        return given
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        given = given.to_dict(orient="records")
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise DataError(
            f"dataset={given!r}; expected an EvaluationDataset, a table or a list of mappings; "
            "a file is graded by rag_evals.evaluate(path)"
        )
    if column_map:
        say(f"column_map={dict(column_map)!r} is columns={_our_columns(column_map)!r}")
    names = {theirs: ragas for ragas, theirs in (column_map or {}).items()}
    return RagasDataset.from_list(
        {names.get(column, column): value for column, value in row.items()} for row in given
    )


def table_of(rows: list[dict[str, Any]]) -> Any:
    """Make a `pandas.DataFrame` whose cells are what the rows hold, lists among them."""
    return required_module("pandas", "pandas", "make a pandas table").DataFrame(rows)


def _our_columns(column_map: Mapping[str, str]) -> dict[str, str]:
    fields = {
        "user_input": "question",
        "response": "answer",
        "retrieved_contexts": "context",
    }
    current = {_OLD_COLUMNS.get(name, name): column for name, column in column_map.items()}
    return {fields.get(name, name): column for name, column in current.items()}


def _sample(row: Mapping[str, Any] | SingleTurnSample) -> SingleTurnSample:
    if isinstance(row, SingleTurnSample):
        return row
    values = {_OLD_COLUMNS.get(name, name): value for name, value in row.items()}
    if isinstance(values.get("user_input"), list):
        raise refused("ragas' MultiTurnSample", "grade each answer as a row of its own")
    reference = values.get("reference")
    if isinstance(reference, list):
        values["reference"] = "\n".join(reference)
    return SingleTurnSample.model_validate(values)
