"""What does a template see of one sample? Its variables, escaped, and only the allowed fields."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from rag_evals.core import Sample, SampleField
from rag_evals.errors import ConfigurationError
from rag_evals.prompt.escaping import TagEscaper
from rag_evals.prompt.examples import Example, ShownExample
from rag_evals.prompt.template import Prompt
from rag_evals.text import split_sentences

_DATA_NAMES = ("question", "answer", "sentences", "chunks", "context", "reference")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_]\w+)*")
_MOST_KEPT = 100
_ALL_FIELDS: frozenset[SampleField] = frozenset(get_args(SampleField))


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion of a rubric, as a template sees it.

    Attributes:
        name: What the reply calls it.
        text: What must hold.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Fills templates with one sample.

    Attributes:
        sample: What is graded.
        shown: Fields that the data block shows.
        task: The task in one line, repeated after the data; may be empty.
        examples: Few-shot examples.
        criteria: Those of a rubric.
        language: Language of the sample, or None.
        sentences: Those of the answer, in order; None splits it.
        statements: What a prompt about numbered statements shows.
        numbers_sentences: The data block shows the answer sentence by sentence.
        hardened: Data is escaped and said to be data.
    """

    sample: Sample
    shown: frozenset[SampleField]
    task: str
    examples: Sequence[Example]
    criteria: Sequence[Criterion]
    language: str | None
    sentences: Sequence[str] | None
    statements: Sequence[str]
    numbers_sentences: bool
    hardened: bool

    def text(self, prompt: Prompt, tags: frozenset[str], *, in_block: bool = False) -> str:
        """Fill a template; the shared data block shows only the response model's own fields.

        Args:
            prompt: The template.
            tags: Names of tags that data must not forge.
            in_block: It is the data block, not the user's own words.
        """
        if not prompt.is_same_for_all or (self.examples and prompt.uses("examples")):
            return self._written(prompt, tags, in_block=in_block)
        # Instructions are a third of a prompt's work, and the same for a million rows.
        key = (self.task, self.language, self.hardened, tuple(self.criteria))
        if (text := prompt.kept.get(key)) is None:
            text = self._written(prompt, tags, in_block=in_block)
            # Languages may come from data, and never end.
            if len(prompt.kept) < _MOST_KEPT:
                prompt.kept[key] = text
        return text

    def _written(self, prompt: Prompt, tags: frozenset[str], *, in_block: bool) -> str:
        escape = TagEscaper(tags, hardened=self.hardened)
        examples = [self._example(one, escape, in_block=in_block) for one in self.examples]
        # Most instructions show no data; escaping it for them would double the work of a call.
        shows_data = any(prompt.uses(name) for name in _DATA_NAMES)
        data = dict.fromkeys(_DATA_NAMES)
        return prompt.render(
            {
                **(self._data(self.sample, escape, in_block=in_block) if shows_data else data),
                "statements": escape.texts(self.statements),
                "examples": examples,
                "criteria": self.criteria,
                "task": self.task,
                "language": self.language,
                "hardened": self.hardened,
            }
        )

    def _data(self, sample: Sample, escape: TagEscaper, *, in_block: bool) -> dict[str, Any]:
        fields = self.shown if in_block else _ALL_FIELDS
        shown = {name: getattr(sample, name) for name in fields}
        chunks = escape.chunks(shown.get("context", ()))
        answer = shown.get("answer")
        sentences = None
        if answer is not None and (not in_block or self.numbers_sentences):
            # An example has sentences of its own.
            split = self.sentences if sample is self.sample else None
            sentences = escape.texts(sentences_of(answer) if split is None else split)
        return {
            "question": escape.text(shown.get("question")),
            "answer": escape.text(answer),
            "sentences": sentences,
            "chunks": chunks,
            "context": chunks,
            "reference": escape.text(shown.get("reference")),
        }

    def _example(self, example: Example, escape: TagEscaper, *, in_block: bool) -> ShownExample:
        data = self._data(example.sample, escape, in_block=in_block)
        del data["context"]
        return ShownExample(
            **data,
            result=escape.text(example.result) or "",
            statements=escape.texts(example.statements),
        )


def sentences_of(answer: str | None) -> list[str]:
    """Return the sentences of an answer, as they are numbered."""
    return [span.text for span in split_sentences(answer or "")]


def check_language(language: str) -> None:
    """Refuse what cannot be the code of a language.

    Raises:
        ConfigurationError: It is not of the form `ru` or `pt-BR`.
    """
    if not _LANGUAGE.fullmatch(language):
        raise ConfigurationError(f"language {language!r} is no code; expected one such as 'ru'")
