"""What would a judge receive? A grader's first call on one sample, as text."""

import json
from pathlib import Path
from typing import Any

from rag_evals.base import JudgedGrader
from rag_evals.catalog import PROMPTED, grader_from_file
from rag_evals.core import JudgeCall, Message, Sample
from rag_evals.dataset import ColumnMap, read_rows
from rag_evals.errors import ConfigurationError, DataError, NotScorableError, UnknownNameError
from rag_evals.prompt import search_folders

_ROW = {
    "question": "Where is the Eiffel Tower, and when was it finished?",
    "answer": "The Eiffel Tower stands in Paris [1]. It was completed in 1923 [2].",
    "context": ["The Eiffel Tower stands in Paris.", "It was completed in 1889."],
    "reference": "It stands in Paris and was finished in 1889.",
}


def sample_from(data: Path | None, language: str | None = None) -> Sample:
    """Take the first row of a file, else a row that has everything.

    Raises:
        DataError: The file has no row, or the row cannot be read.
    """
    if data is None:
        return Sample(**_ROW, language=language)  # type: ignore[arg-type]  # fields of a sample
    for row in read_rows(data):
        return ColumnMap().sample(row.values)
    raise DataError(f"{str(data)!r} has no rows; the preview needs one")


def grader_of(spec: str, fallback: str | None, folders: list[Path]) -> JudgedGrader[Any, Any]:
    """Find the grader behind a file, or behind the name of a shipped prompt or grader.

    Raises:
        ConfigurationError: There is none, or the file cannot be used.
    """
    path = Path(spec)
    if path.exists() or path.suffix:
        return grader_from_file(path, fallback, folders=search_folders(folders))
    by_prompt = {grader.prompt_name: grader for grader in PROMPTED.values()}
    known = {**by_prompt, **PROMPTED}
    if spec not in known:
        raise UnknownNameError.of("prompt file or shipped prompt", spec, known)
    return known[spec]


def messages_of(grader: JudgedGrader[Any, Any], sample: Sample) -> tuple[Message, ...]:
    """Return the messages of the first call.

    Raises:
        ConfigurationError: The sample lacks what the grader needs.
    """
    flow = grader.flow(sample)
    try:
        steps = next(flow)
    except NotScorableError as error:
        raise ConfigurationError(f"the row cannot be graded: {error.reason}") from error
    except StopIteration:
        return grader.messages(sample)
    finally:
        flow.close()
    call = steps[0]
    assert isinstance(call, JudgeCall), "a grader with a prompt asks a judge first"
    return call.messages


def described(grader: JudgedGrader[Any, Any], sample: Sample) -> list[str]:
    """Write all that a judge is given, in lines: messages, reply and settings."""
    lines = []
    for message in messages_of(grader, sample):
        lines += [f"--- {message['role']} message", *message["content"].splitlines()]
    schema = json.dumps(grader.response_model.model_json_schema(), indent=2, ensure_ascii=False)
    lines += [f"--- reply: {grader.response_model.__name__}", *schema.splitlines()]
    settings = dict(grader.settings)
    return [*lines, "--- settings", json.dumps(settings), "--- model", str(grader.model)]
