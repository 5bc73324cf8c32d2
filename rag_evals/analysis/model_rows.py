"""Which rows of a file are what a model describes? The first that is not is one clear error."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rag_evals.dataset import read_rows
from rag_evals.errors import DataError

M = TypeVar("M", bound=BaseModel)


def model_rows(path: Path, model: type[M], expected: str) -> Iterator[tuple[str, M]]:
    """Read a file whose rows are a model's fields.

    Args:
        path: As for `read_rows`.
        model: What each row is.
        expected: What would be right, for the end of the message.

    Yields:
        The place that messages name, and the row.

    Raises:
        DataError: A row is no such model.
    """
    for row in read_rows(path):
        try:
            yield row.place, model.model_validate(dict(row.values))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or "row"
            raise DataError(f"{path}, {row.place}: {field}: {first['msg']}; {expected}") from error
