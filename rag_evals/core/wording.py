"""What does a reader see, in which language?

The tables are `_data/phrases/en.json` and `ru.json`: sections of phrases by name. A phrase that
counts something has a form for each plural of its language.
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
"""What can be shown: the languages that have a table."""

LANGUAGE_VARIABLE = "RAG_EVALS_LANGUAGE"
"""The variable of the environment that names the reader's language."""

_FOLDER = Path(__file__).parent.parent / "_data" / "phrases"
_FEW = range(2, 5)
_NUMBERED = re.compile(r"(chunk|turn) (\d+)")
_STEP = re.compile(r"(\d+) of (\d+)")
_FRACTION = re.compile(r"(?<=\d)\.(?=\d)")
_DECIDED_BY = "decided by "


class Phrase(NamedTuple):
    """A phrase that is said later, in the language of whoever reads it.

    Attributes:
        key: Section and name, as for `Phrases`.
        values: What goes into its braces, by name; a `grader` is named in the reader's language.
    """

    key: str
    values: tuple[tuple[str, "str | Phrase"], ...] = ()

    @classmethod
    def of(cls, key: str, **values: "str | Phrase") -> "Phrase":
        """Make one of a key and what it is said of."""
        return cls(key, tuple(values.items()))

    def said(self, say: "Phrases") -> str:
        """Say it in a language."""
        return say(self.key, **self.said_values(say))

    def said_values(self, say: "Phrases") -> dict[str, str]:
        """Say in a language what its braces hold."""
        said = {
            name: value.said(say) if isinstance(value, Phrase) else value
            for name, value in self.values
        }
        if "grader" in said:
            said["grader"] = say.named("graders", said["grader"])
        return said

    def __str__(self) -> str:
        """In English."""
        return self.said(phrases())


class Phrases:
    """All that is shown in one language, whose code is `language`."""

    def __init__(self, language: str, table: Mapping[str, Mapping[str, Any]]) -> None:
        self.language = language
        self._table = table

    def __call__(self, key: str, /, **values: Any) -> str:
        """Say one phrase, such as `summary.line`; the value `count` also chooses the plural."""
        section, _, name = key.partition(".")
        phrase = self._table[section][name]
        if not isinstance(phrase, str):
            phrase = phrase[self._plural(values["count"])]
        return str(phrase.format(**values))

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a whole section, for a page that says its phrases itself."""
        return self._table[name]

    def named(self, section: str, name: str) -> str:
        """Say what a name of ours is called, such as a grader; another's stays as it is."""
        return str(self._table[section].get(name, name))

    def reason(self, reason: str) -> str:
        """Say why rows have no score, such as "empty_context in both" of a comparison."""
        name, _, where = reason.partition(" in ")
        key = f"in_{where.replace(' ', '_')}"
        if name == "only":
            return self.named("compare", f"only_{key}")
        said = self.named("reasons", name)
        return self(f"compare.{key}", reason=said) if key in self._table["compare"] else said

    def label(self, label: str) -> str:
        """Say the label of a finding; one of a user's own grader stays as it is."""
        step = _STEP.fullmatch(label)
        if step is not None:
            return self("items.of", part=step[1], whole=step[2])
        return self._numbered("labels", self._table["reasons"].get(label, label))

    def text(self, text: str) -> str:
        """Say what a finding is on, where the words are ours and not the data's."""
        return self._numbered("texts", text)

    def _numbered(self, section: str, text: str) -> str:
        found = _NUMBERED.fullmatch(text)
        return (
            self.named(section, text) if found is None else self(f"items.{found[1]}", id=found[2])
        )

    def tally(self, name: str) -> str:
        """Say the name of a part of a whole."""
        if name.startswith(_DECIDED_BY):
            return self("items.decided_by", name=name.removeprefix(_DECIDED_BY))
        return self.named("tallies", name)

    def number(self, value: float, digits: int = 2) -> str:
        """Write a number with the language's sign before the fraction."""
        written = f"{value:.{digits}f}"
        return written.replace(".", ",") if self.language == "ru" else written

    def whole(self, value: int) -> str:
        """Write a whole number with the language's sign between thousands."""
        return f"{value:,}".replace(",", "\u00a0" if self.language == "ru" else ",")

    def written(self, text: str) -> str:
        """Write numbers that are text already, "0.68 [0.62, 0.72]", as the language does."""
        if self.language != "ru":
            return text
        return _FRACTION.sub(",", text.replace(", ", "; "))

    def percent(self, share: float) -> str:
        """Write a share of 1 as percent, with one digit where it is not whole."""
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
    """Return what is shown to a reader of a language, `en` or `ru`."""
    if language not in LANGUAGES:
        raise ConfigurationError(
            f"language {language!r} cannot be shown; there are {', '.join(LANGUAGES)}"
        )
    file = _FOLDER / f"{language}.json"
    return Phrases(language, json.loads(file.read_text(encoding="utf-8")))


def notebook_phrases() -> Phrases:
    """Return what a notebook shows: in the language that the environment names, else English."""
    named = os.environ.get(LANGUAGE_VARIABLE)
    # A value that shows itself must not fail: commands are where a wrong language is refused.
    return phrases(named if named in LANGUAGES else "en")
