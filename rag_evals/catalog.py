"""Which graders and response models have a name? Written by hand; a prompt file refers to them."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evals.base import ContextEvaluation, Grader
from rag_evals.errors import PromptError, UnknownNameError
from rag_evals.prompt import Prompt
from rag_evals.score_faithfulness import Faithfulness
from rag_evals.score_precision import ChunkPrecision
from rag_evals.score_relevance import AnswerRelevance

GRADERS: dict[str, ContextEvaluation[Any]] = {
    "faithfulness": Faithfulness,
    "chunk_precision": ChunkPrecision,
    "answer_relevance": AnswerRelevance,
}
"""Every shipped grader, by the name that `--grader` takes."""

RESPONSE_MODELS: dict[str, type[BaseModel]] = {
    name: grader.response_model for name, grader in GRADERS.items()
}
"""Every response model that a prompt file may name."""


def grader_named(name: str) -> Grader[Any]:
    """Return a shipped grader.

    Raises:
        UnknownNameError: There is none of that name; the message suggests the nearest.
    """
    if name not in GRADERS:
        raise UnknownNameError.of("grader", name, GRADERS)
    return GRADERS[name]


def grader_from_file(path: Path, fallback: str | None = None) -> Grader[Any]:
    """Make a grader from a prompt file.

    Args:
        path: A Jinja file; its front matter names the response model.
        fallback: Grader whose response model to take when the front matter names none.

    Raises:
        PromptError: The file cannot be used, or no response model is named.
        UnknownNameError: The response model or the fallback does not exist.
    """
    prompt = Prompt.from_file(path)
    name = prompt.header.response_model or fallback
    if name is None:
        raise PromptError(
            f"{str(path)!r} names no response model; add front matter with response_model: NAME, "
            f"or --grader NAME; names are {', '.join(sorted(RESPONSE_MODELS))}"
        )
    if name not in RESPONSE_MODELS:
        raise UnknownNameError.of("response model", name, RESPONSE_MODELS)
    return ContextEvaluation(
        prompt, RESPONSE_MODELS[name], name=prompt.header.name or path.stem.split(".")[0]
    )
