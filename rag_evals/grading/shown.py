"""How does a grader show itself? What it needs, what it asks, and what it returns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from rag_evals.text import html_folded, html_head, html_table

_MOST_PROMPT = 1500


class Shown(Protocol):
    """What is read of a grader."""

    @property
    def description(self) -> str:
        """What it measures; may be empty."""

    @property
    def requires(self) -> Sequence[str]:
        """Fields that it needs."""

    @property
    def model(self) -> str | None:
        """Model to ask, or None."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What its judge is asked with."""


def grader_line(grader: Shown) -> str:
    """Write a grader as one line, such as `TwoStepGrader('mine', needs answer and context)`."""
    parts = [repr(_name(grader)), f"needs {_needs(grader)}"]
    parts += [f"{name} {value}" for name, value in _own(grader)]
    return f"{type(grader).__name__}({', '.join(parts)})"


def grader_html(grader: Shown) -> str:
    """Write a grader as a small table, with the prompt behind a click."""
    model = getattr(grader, "result_model", None)
    rows = [("needs", _needs(grader))]
    if model is not None:
        rows.append(("returns", model.__name__))
    prompt = getattr(grader, "prompt", None)
    asked = html_folded("the prompt", prompt, _MOST_PROMPT) if isinstance(prompt, str) else ""
    head = html_head(_name(grader), grader.description)
    return f"<div>{head}{html_table((), [*rows, *_own(grader)])}{asked}</div>"


def _name(grader: Shown) -> str:
    return str(getattr(grader, "name", None) or type(grader).__name__)


def _needs(grader: Shown) -> str:
    *first, last = grader.requires or ("nothing",)
    return f"{', '.join(first)} and {last}" if first else last


def _own(grader: Shown) -> Iterator[tuple[str, str]]:
    """Yield what was set on this grader, and who decides beside the judge."""
    if grader.model:
        yield "model", grader.model
    verifier = getattr(grader, "verifier", None)
    if verifier is not None:
        yield "verifier", str(getattr(verifier, "name", verifier))
    language = getattr(grader, "language", None)
    if language:
        yield "language", language
    if grader.settings:
        yield "settings", ", ".join(f"{name}={value}" for name, value in grader.settings.items())
