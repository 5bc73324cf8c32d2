"""In which language does a command speak? What its reader asked for, else English.

`--language` of commands that show a run (`report`, `export`, `label`) is the reader's. Commands
that grade take the language of the rows by the same name: people mostly read what they grade, so
they are spoken to in it, unless RAG_EVALS_LANGUAGE names the reader's own.
"""

import os

from rag_evals.core import LANGUAGE_VARIABLE, LANGUAGES
from rag_evals.errors import ConfigurationError


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
