"""In which language does a command speak, and what does the shell offer for its options?

`--language` of commands that show a run (`report`, `export`, `judge label`) is the reader's.
Commands that grade take the language of the rows by the same name: people mostly read what they
grade, so they are spoken to in it, unless RAG_EVALS_LANGUAGE names the reader's own.

Each function that offers values takes what was typed so far, and returns the values that begin
with it.
"""

import os
from collections.abc import Iterable, Mapping

from rag_evals.catalog import GRADERS
from rag_evals.core import LANGUAGE_VARIABLE, LANGUAGES
from rag_evals.dataset import PRESETS
from rag_evals.errors import ConfigurationError
from rag_evals.judge import PROVIDERS
from rag_evals.prompt import Prompt, shipped_languages, shipped_names
from rag_evals.verify import EMBEDDED, KINDS

_OTHER_JUDGES: Mapping[str, str] = {
    EMBEDDED: "on this machine, without a key",
    f"{EMBEDDED}@strict": "the same, harder to please",
    **{prefix: f"{one.what}, such as {one.example}" for prefix, one in KINDS.items() if one.what},
}

Offered = list[tuple[str, str]]
"""Values with a short help text each."""


def judges(typed: str) -> Offered:
    """Offer judges: local ones, providers with a slash for the model, and stages of a cascade."""
    first, cascade, last = typed.rpartition(">")
    models = {f"{name}/": "a model of this provider" for name in PROVIDERS}
    found = _beginning(last, {**_OTHER_JUDGES, **models}.items())
    return [(f"{first}{cascade}{value}", text) for value, text in found]


def graders(typed: str) -> Offered:
    """Offer the shipped graders."""
    return _beginning(typed, ((name, one.description or "") for name, one in GRADERS.items()))


def prompts(typed: str) -> Offered:
    """Offer the shipped prompts, those in other languages as CODE/NAME."""
    names = [f"{code}/{name}" for code in shipped_languages() for name in shipped_names(code)]
    names = [*shipped_names(), *names]
    return _beginning(typed, ((n, Prompt.shipped(n).header.description or "") for n in names))


def presets(typed: str) -> Offered:
    """Offer the tools whose column names are known."""
    return _beginning(typed, ((one.name, f"columns as {one.name} has them") for one in PRESETS))


def languages(typed: str) -> Offered:
    """Offer the languages that there are prompts in."""
    return _beginning(
        typed, ((code, "prompts in it are shipped") for code in ("en", *shipped_languages()))
    )


def _beginning(typed: str, offered: Iterable[tuple[str, str]]) -> Offered:
    return [(value, text) for value, text in offered if value.startswith(typed)]


def reader_language(asked: str | None = None) -> str:
    """Return the language of a command that shows a run.

    Args:
        asked: What `--language` says; None takes the environment's, else English.

    Raises:
        ConfigurationError: The environment names a language that cannot be shown.
    """
    return asked or _own() or "en"


def grading_language(rows: str | None) -> str:
    """Return the language of a command that grades.

    Args:
        rows: The language of the rows, as `--language` names it, such as `ru` or `pt-BR`.

    Raises:
        ConfigurationError: As for `reader_language`.
    """
    code = (rows or "").lower().replace("_", "-").partition("-")[0]
    return _own() or (code if code in LANGUAGES else "en")


def _own() -> str | None:
    named = os.environ.get(LANGUAGE_VARIABLE)
    if named and named not in LANGUAGES:
        raise ConfigurationError(
            f"{LANGUAGE_VARIABLE}={named!r} cannot be shown; there are {', '.join(LANGUAGES)}"
        )
    return named or None
