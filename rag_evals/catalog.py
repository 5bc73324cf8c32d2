"""Graders and response models by name, for the command line and prompt files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evals.base import ContextEvaluation, JudgedGrader
from rag_evals.errors import PromptError, UnknownNameError
from rag_evals.grading import Grader, VerifiedFaithfulness
from rag_evals.prompt import Prompt, search_folders
from rag_evals.response_models import (
    ChecklistResult,
    ChunkLabelsResult,
    FaithfulnessResult,
    PassFailResult,
    RatingResult,
)
from rag_evals.score_abstention import Abstention
from rag_evals.score_citations import CitationFaithfulness
from rag_evals.score_correctness import AnswerCorrectness
from rag_evals.score_faithfulness import Faithfulness
from rag_evals.score_faithfulness_audited import AuditedFaithfulness
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness, TwoStepFaithfulness
from rag_evals.score_precision import ChunkPrecision
from rag_evals.score_rag import NUMBERS, Rag
from rag_evals.score_ranks import RetrievalRanks
from rag_evals.score_recall import ContextRecall
from rag_evals.score_relevance import AnswerRelevance
from rag_evals.score_utility import ChunkUtility

GRADERS: dict[str, Grader[Any]] = {
    "faithfulness": Faithfulness,
    "faithfulness_audited": AuditedFaithfulness,
    "faithfulness_two_step": TwoStepFaithfulness,
    "faithfulness_hhem": HHEMFaithfulness,
    "chunk_precision": ChunkPrecision,
    "context_recall": ContextRecall,
    "chunk_utility": ChunkUtility,
    "answer_relevance": AnswerRelevance,
    "citation_faithfulness": CitationFaithfulness,
    "abstention": Abstention,
    "answer_correctness": AnswerCorrectness,
    "rag": Rag,
    "retrieval_ranks": RetrievalRanks,
}
"""All shipped graders, keyed by their `--grader` name."""

PROMPTED: dict[str, JudgedGrader[Any, Any]] = {
    name: grader for name, grader in GRADERS.items() if isinstance(grader, JudgedGrader)
}
"""The shipped graders that are defined by a prompt."""

STEP_PROMPTS = ("extract_statements", "verify_statements")
"""Prompts of two-step graders; a user's file with the same name replaces the shipped one."""

RUBRICS: dict[str, type[BaseModel]] = {
    "pass_fail": PassFailResult,
    "rating": RatingResult,
    "checklist": ChecklistResult,
    "chunk_labels": ChunkLabelsResult,
    "statements": FaithfulnessResult,
}
"""Response models for any rubric; a prompt file that specifies one defines a complete grader."""

RESPONSE_MODELS: dict[str, type[BaseModel]] = {
    name: grader.response_model for name, grader in PROMPTED.items()
} | RUBRICS
"""All response models that a prompt file may specify."""


def grader_named(name: str, folders: Sequence[Path] | None = None) -> Grader[Any]:
    """Return a shipped grader, or one from `folders` (by default, those in `RAG_EVALS_PROMPTS`).

    A file named after a shipped prompt (`score_faithfulness.jinja`) replaces that prompt; any
    other file (`polite.jinja`) defines a new grader (`polite`).
    """
    places = search_folders() if folders is None else list(folders)
    shipped = GRADERS.get(name)
    stem = shipped.template.stem if isinstance(shipped, JudgedGrader) else name
    for place in places:
        file = place / f"{stem}.jinja"
        if "/" not in name and "\\" not in name and file.is_file():
            return grader_from_file(file, fallback=name, folders=places, name=name)
    if shipped is None and name in NUMBERS:
        raise UnknownNameError(f"no grader {name!r}; it is a metric of the grader 'rag'")
    if shipped is None:
        raise UnknownNameError.of("grader", name, GRADERS)
    if isinstance(shipped, VerifiedFaithfulness):
        prompts = {
            stem: Prompt.from_file(place / f"{stem}.jinja", places)
            # In reverse order, so that the first folder takes precedence.
            for place in reversed(places)
            for stem in STEP_PROMPTS
            if (place / f"{stem}.jinja").is_file()
        }
        return shipped.with_parts(prompts=prompts) if prompts else shipped
    return shipped


def grader_from_file(
    path: Path,
    fallback: str | None = None,
    *,
    folders: Sequence[Path] | None = None,
    name: str | None = None,
) -> JudgedGrader[Any, Any]:
    """Create a grader from a prompt file.

    Args:
        path: A Jinja file whose front matter specifies the response model.
        fallback: The response model if the front matter does not specify one.
        folders: Folders with prompts that the file may extend; by default, `RAG_EVALS_PROMPTS`.
        name: Name in results; by default, the name in the front matter, or the file name.
    """
    prompt = Prompt.from_file(path, folders)
    model = prompt.header.response_model or fallback
    if model is None and path.stem in STEP_PROMPTS:
        raise PromptError(
            f"{str(path)!r} is one of a grader's two prompts; keep its name, and pass its folder: "
            f"--grader faithfulness_two_step --prompts {path.parent}"
        )
    if model is None:
        raise PromptError(
            f"{str(path)!r} has no response model; add front matter with response_model: NAME, "
            f"or --grader NAME; names are {', '.join(sorted(RESPONSE_MODELS))}"
        )
    if model not in RESPONSE_MODELS:
        raise UnknownNameError.of("response model", model, RESPONSE_MODELS)
    called = name or prompt.header.name or path.stem.split(".")[0]
    shipped: Any = PROMPTED.get(model)
    if shipped is None or isinstance(shipped, ContextEvaluation):
        return ContextEvaluation(prompt, RESPONSE_MODELS[model], name=called)
    made: JudgedGrader[Any, Any] = type(shipped)(prompt, name=called)
    return made
