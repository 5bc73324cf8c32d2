"""Phrases shown to users, in English and Russian.

The tables `_data/phrases/en.json` and `ru.json` contain sections of named phrases. A phrase with a
count has one form for each plural category of its language.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rag_evals.errors import ConfigurationError

LANGUAGES = ("en", "ru")

LANGUAGE_VARIABLE = "RAG_EVALS_LANGUAGE"

_FOLDER = Path(__file__).parent.parent / "_data" / "phrases"
_FEW = range(2, 5)
_NUMBERED = re.compile(r"(chunk|turn) (\d+)")
_STEP = re.compile(r"(\d+) of (\d+)")
_FRACTION = re.compile(r"(?<=\d)\.(?=\d)")
_DECIDED_BY = "decided by "


class Phrase(NamedTuple):
    """A phrase to be formatted later, in the reader's language.

    Attributes:
        key: Section and name, such as `summary.line`.
        values: Values for its placeholders; the name of a `grader` is translated.
    """

    key: str
    values: tuple[tuple[str, "str | Phrase"], ...] = ()

    @classmethod
    def of(cls, key: str, **values: "str | Phrase") -> "Phrase":
        """Create a phrase from its key and values."""
        return cls(key, tuple(values.items()))

    def said(self, say: "Phrases") -> str:
        """Format the phrase in the language of `say`."""
        return say(self.key, **self.said_values(say))

    def said_values(self, say: "Phrases") -> dict[str, str]:
        """Format the values in the language of `say`."""
        said = {
            name: value.said(say) if isinstance(value, Phrase) else value
            for name, value in self.values
        }
        if "grader" in said:
            said["grader"] = say.named("graders", said["grader"])
        return said

    def __str__(self) -> str:
        return self.said(phrases())


class Phrases:
    """All phrases in one language; `language` is its code."""

    def __init__(self, language: str, table: Mapping[str, Mapping[str, Any]]) -> None:
        self.language = language
        self._table = table

    def __call__(self, key: str, /, **values: Any) -> str:
        """Format one phrase, such as `summary.line`; the value `count` selects the plural form."""
        section, _, name = key.partition(".")
        phrase = self._table[section][name]
        if not isinstance(phrase, str):
            phrase = phrase[self._plural(values["count"])]
        return str(phrase.format(**values))

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a whole section, for pages that format phrases themselves."""
        return self._table[name]

    def named(self, section: str, name: str) -> str:
        """Translate a built-in name, such as a grader's; return other names unchanged."""
        return str(self._table[section].get(name, name))

    def reason(self, reason: str) -> str:
        """Translate the reason for a missing score, such as "empty_context in both"."""
        name, _, where = reason.partition(" in ")
        key = f"in_{where.replace(' ', '_')}"
        if name == "only":
            return self.named("compare", f"only_{key}")
        said = self.named("reasons", name)
        return self(f"compare.{key}", reason=said) if key in self._table["compare"] else said

    def label(self, label: str) -> str:
        """Translate a finding's label; return labels of custom graders unchanged."""
        step = _STEP.fullmatch(label)
        if step is not None:
            return self("items.of", part=step[1], whole=step[2])
        return self._numbered("labels", self._table["reasons"].get(label, label))

    def text(self, text: str) -> str:
        """Translate a finding's text if it is a built-in phrase rather than text from the data."""
        return self._numbered("texts", text)

    def _numbered(self, section: str, text: str) -> str:
        found = _NUMBERED.fullmatch(text)
        return (
            self.named(section, text) if found is None else self(f"items.{found[1]}", id=found[2])
        )

    def tally(self, name: str) -> str:
        """Translate the name of a tally."""
        if name.startswith(_DECIDED_BY):
            return self("summary.decided_by", name=name.removeprefix(_DECIDED_BY))
        return self.named("tallies", name)

    def number(self, value: float, digits: int = 2) -> str:
        """Format a number with the language's decimal separator."""
        written = f"{value:.{digits}f}"
        return written.replace(".", ",") if self.language == "ru" else written

    def whole(self, value: int) -> str:
        """Format a whole number with the language's thousands separator."""
        return f"{value:,}".replace(",", "\u00a0" if self.language == "ru" else ",")

    def written(self, text: str) -> str:
        """Localise the numbers in a string such as "0.68 [0.62, 0.72]"."""
        if self.language != "ru":
            return text
        return _FRACTION.sub(",", text.replace(", ", "; "))

    def percent(self, share: float) -> str:
        """Format a fraction as a percentage, with one decimal place if it is not whole."""
        digits = 0 if round(share * 100, 1) == round(share * 100) else 1
        return f"{self.number(share * 100, digits)} %"

    def _plural(self, count: int) -> str:
        if self.language != "ru":
            return "one" if count == 1 else "many"
        if count % 10 == 1 and count % 100 != 11:
            return "one"
        return "few" if count % 10 in _FEW and count % 100 - 10 not in _FEW else "many"


@cache
def phrases(language: str = "en") -> Phrases:
    """Return the phrases of a language, `en` or `ru`."""
    if language not in LANGUAGES:
        raise ConfigurationError(
            f"language {language!r} is not supported; expected {' or '.join(LANGUAGES)}"
        )
    file = _FOLDER / f"{language}.json"
    return Phrases(language, json.loads(file.read_text(encoding="utf-8")))


def notebook_phrases() -> Phrases:
    """Return the phrases in the language set in the environment, or in English."""
    named = os.environ.get(LANGUAGE_VARIABLE)
    # A repr must not fail, so use English for an unsupported language; commands reject it.
    return phrases(named if named in LANGUAGES else "en")
