"""What each shipped prompt sends for one sample, as a snapshot: a change is a visible diff."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals.base import JudgedGrader
from rag_evals.catalog import PROMPTED
from rag_evals.core import JudgeCall, as_claims
from rag_evals.core.sample import Sample
from rag_evals.grading.extract import StatementExtractor
from rag_evals.prompt import Prompt, shipped_names
from rag_evals.prompt.template import shipped_languages
from rag_evals.verify import LLMVerifier

BLOCK = re.compile(r"{% block (\w+)")
SNAPSHOTS = Path(__file__).parent / "rendered"
SAMPLE = {
    "question": "Where is the tower?",
    "answer": "It is in Paris. [1] It was finished in 1889 [2].",
    "context": ["The tower is in Paris.", "Finished: 1889 {{ not a variable }}"],
    "reference": "Paris, 1889.",
}
SHARED = {
    "chunk_template",
    "criteria_template",
    "reply_form",
    "sentences_template",
    "extract_statements",
    "verify_statements",
}
"""Prompts that belong to no grader alone, or to a step of one."""


def rendered(grader: JudgedGrader[Any, Any], language: str | None) -> str:
    """Write the messages of a grader's first call as one text."""
    sample = Sample(**SAMPLE, language=language)  # type: ignore[arg-type]  # rows of a table
    return written(next(grader.flow(sample))[0])


def written(call: Any) -> str:
    """Write the messages of a call as one text."""
    assert isinstance(call, JudgeCall)
    return "".join(f"=== {m['role']} ===\n{m['content']}\n" for m in call.messages)


def check(name: str, text: str) -> None:
    """Compare with the snapshot; write it anew when asked to."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", [None, *shipped_languages()])
@pytest.mark.parametrize("name", PROMPTED)
def test_a_shipped_prompt_sends_what_its_snapshot_says(name: str, language: str | None) -> None:
    """Set UPDATE_SNAPSHOTS=1 to write the snapshots anew after a wanted change."""
    check(f"{language}/{name}" if language else name, rendered(PROMPTED[name], language))


@pytest.mark.parametrize("language", [None, *shipped_languages()])
def test_extracting_and_verifying_send_what_their_snapshots_say(language: str | None) -> None:
    """The two steps of faithfulness have prompts of their own."""
    folder = f"{language}/" if language else ""
    sample = Sample(**SAMPLE, language=language)  # type: ignore[arg-type]  # rows of a table
    statements = ["The tower is in Paris.", "The tower was </statement> finished in 1889."]
    verifier = LLMVerifier(language=language)
    verify = verifier.flow(as_claims(statements), [chunk.text for chunk in sample.context])

    check(f"{folder}extract_statements", written(next(StatementExtractor().flow(sample))[0]))
    check(f"{folder}verify_statements", written(next(verify)[0]))


@pytest.mark.parametrize("language", [None, *shipped_languages()])
def test_without_examples_the_steps_send_the_plain_prompts(language: str | None) -> None:
    """An empty list takes the examples of the verifier away, and nothing else, byte for byte."""
    folder = f"{language}/" if language else ""
    sample = Sample(**SAMPLE, language=language)  # type: ignore[arg-type]  # rows of a table
    statements = ["The tower is in Paris.", "The tower was </statement> finished in 1889."]
    verifier = LLMVerifier(language=language, examples=[])
    verify = verifier.flow(as_claims(statements), [chunk.text for chunk in sample.context])
    extract = StatementExtractor(examples=[]).flow(sample)

    check(f"{folder}verify_statements_without_examples", written(next(verify)[0]))
    check(f"{folder}extract_statements", written(next(extract)[0]))


def test_every_shipped_prompt_is_used() -> None:
    """No prompt file lies about unused: each belongs to a grader, to a step or is shared."""
    used = {grader.template.stem for grader in PROMPTED.values()}

    assert used | SHARED == set(shipped_names())


def folders() -> Iterator[tuple[str, str]]:
    """Yield every prompt with each language it should be in."""
    for language in shipped_languages():
        for name in shipped_names():
            yield language, name


@pytest.mark.parametrize(("language", "name"), list(folders()))
def test_every_prompt_comes_in_every_language(language: str, name: str) -> None:
    """A version has the name, the blocks, the tags and the response model of the English one."""
    english, other = Prompt.shipped(name), Prompt.shipped(name, language)

    assert other.header.language == language
    assert other.header.name == english.header.name
    assert other.header.response_model == english.header.response_model
    assert other.header.description not in (None, english.header.description)
    assert other.tags == english.tags
    assert BLOCK.findall(other.text) == BLOCK.findall(english.text)
