"""Renders templates with a sample, and checks examples and criteria before anything is sent."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal, get_args

from jinja2.utils import htmlsafe_json_dumps
from pydantic import BaseModel, ValidationError

from rag_evals.core import Sample, SampleField
from rag_evals.errors import ConfigurationError, PromptError
from rag_evals.prompt.escaping import ShownExample, ShownList, TagEscaper
from rag_evals.prompt.template import Prompt
from rag_evals.text import LANGUAGE_CODES, split_sentences

ExampleInput = Mapping[str, Any]
"""A few-shot example: `result`, and any of `question`, `answer`, `context`, `reference` and, for
verifiers, `statements`. If `same_question: true`, it is used only for rows with the same question.
"""

_DATA = ("question", "answer", "context", "reference")
# A field in the style of `str.format`, such as `{question}`.
_PLAIN_FIELD = re.compile(r"(?<!\{)\{(question|answer|context|chunks|reference)\}(?!\})")
_STATEMENTS = "statements"
_SAME_QUESTION = "same_question"

_DATA_NAMES = ("question", "answer", "sentences", "chunks", "context", "reference")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_]\w+)*")
_MOST_KEPT = 100
_ALL_FIELDS: frozenset[SampleField] = frozenset(get_args(SampleField))


@dataclass(frozen=True, slots=True)
class Example:
    sample: Sample
    result: str
    statements: tuple[str, ...] = ()

    def helps(self, sample: Sample) -> bool:
        """True unless the sample is the example itself."""
        own = self.sample
        return own.question is None or (own.question, own.answer) != (
            sample.question,
            sample.answer,
        )


@dataclass(frozen=True, slots=True)
class PeerExample(Example):
    """An example that is used only for rows with the same question.

    A separate class keeps the fingerprints of other examples unchanged.
    """

    def helps(self, sample: Sample) -> bool:
        """True if the sample has the same question and a different answer."""
        return self.sample.question == sample.question and self.sample.answer != sample.answer


def read_example(number: int, given: ExampleInput, model: type[BaseModel]) -> Example:
    """Parse an example; raise `PromptError` if its keys or its result are invalid."""
    if "result" not in given or set(given) - {"result", _STATEMENTS, _SAME_QUESTION, *_DATA}:
        raise PromptError(
            f"example {number} has {sorted(given)}; it needs 'result' and may have "
            "'question', 'answer', 'context', 'reference' and 'statements'"
        )
    statements = given.get(_STATEMENTS, ())
    if isinstance(statements, str) or not all(isinstance(text, str) for text in statements):
        raise PromptError(
            f"example {number}: statements is {statements!r}; expected a list of strings"
        )
    try:
        result = model.model_validate(given["result"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in ("result", *first["loc"]))
        raise PromptError(f"example {number}: {place}: {first['msg']}") from error
    sample = Sample(**{name: given[name] for name in _DATA if name in given})
    kind = PeerExample if given.get(_SAME_QUESTION) is True else Example
    return kind(sample, result.model_dump_json(), tuple(statements))


def examples_of(
    prompt: Prompt,
    given: Sequence[ExampleInput] | None,
    model: type[BaseModel],
    *,
    needs: Sequence[str],
) -> list[Example]:
    """Parse the user's examples for a prompt, or the prompt's own if `given` is None."""
    shown = prompt.header.examples if given is None else given
    if shown and not prompt.uses("examples"):
        raise PromptError(
            f"{prompt.origin}: examples are given, but the template does not show them; write "
            "{% for example in examples %}{{ example.result }}{% endfor %}"
        )
    for number, example in enumerate(shown):
        missing = [name for name in needs if not example.get(name)]
        if missing:
            raise PromptError(f"example {number} has no {missing[0]!r}; this prompt needs it")
    return [read_example(number, example, model) for number, example in enumerate(shown)]


def shown_examples(examples: Sequence[Example], prompt: Prompt) -> ShownList:
    """Convert examples to the form that templates show, with all of their data."""
    escape = TagEscaper(prompt.tags)
    return ShownList(_shown_example(one, escape, _ALL_FIELDS, "answer") for one in examples)


def _shown_example(
    example: Example, escape: TagEscaper, fields: Collection[str], numbered: str | None
) -> ShownExample:
    data = _shown_data(example.sample, escape, fields, numbered)
    del data["context"]
    return ShownExample(
        **data,
        result=escape.text(example.result) or "",
        statements=escape.texts(example.statements, "statements"),
    )


def _shown_data(
    sample: Sample,
    escape: TagEscaper,
    fields: Collection[str],
    numbered: str | None,
    sentences: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Escape fields; if `sentences` is None, the field `numbered` is split into sentences."""
    shown = {name: getattr(sample, name) for name in fields}
    chunks = escape.chunks(shown.get("context", ()))
    text = shown.get(numbered) if numbered else None
    parts = sentences_of(text) if sentences is None else sentences
    return {
        "question": escape.text(shown.get("question")),
        "answer": escape.text(shown.get("answer")),
        "sentences": None if text is None else escape.texts(parts, "sentences"),
        "chunks": chunks,
        "context": chunks,
        "reference": escape.text(shown.get("reference")),
    }


@dataclass(frozen=True, slots=True)
class Criterion:
    """A rubric criterion: its name in replies, and the condition that must be met."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    @property
    def block(self) -> str:
        """The criterion as a list item."""
        return f"- {self}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Renders templates with one sample; the data block contains only the fields in `shown`.

    The field `numbered` is split into numbered sentences, unless `sentences` are given.
    """

    sample: Sample
    shown: frozenset[SampleField]
    task: str
    examples: Sequence[Example]
    criteria: Sequence[Criterion]
    language: str | None
    sentences: Sequence[str] | None
    statements: Sequence[str]
    numbered: Literal["answer", "reference"] | None
    unit: str | None
    hardened: bool

    def text(self, prompt: Prompt, tags: frozenset[str], *, in_block: bool = False) -> str:
        """Render a template; if it is the data block, only the fields in `shown` are available."""
        if not prompt.is_same_for_all or (self.examples and prompt.uses("examples")):
            return self._written(prompt, tags, in_block=in_block)
        # Instructions take a third of the rendering time, but may be the same for every row.
        key = (self.task, self.language, self.unit, self.hardened, tuple(self.criteria))
        if (text := prompt.kept.get(key)) is None:
            text = self._written(prompt, tags, in_block=in_block)
            # Languages come from the data, so there may be any number of them.
            if len(prompt.kept) < _MOST_KEPT:
                prompt.kept[key] = text
        return text

    def _written(self, prompt: Prompt, tags: frozenset[str], *, in_block: bool) -> str:
        keyed = self.unit in ("claims", "sentence")
        escape = TagEscaper(tags, hardened=self.hardened, keyed=keyed)
        fields = self.shown if in_block else _ALL_FIELDS
        numbered = self.numbered or (None if in_block else "answer")
        data: dict[str, Any] = dict.fromkeys(_DATA_NAMES)
        # Most instructions do not show data, and a list of sentences shows no chunks. Escaping them
        # anyway would double the time of a call.
        if used := set(filter(prompt.uses, _DATA_NAMES)):
            used |= {"context"} if "chunks" in used else set()
            used |= {numbered} if "sentences" in used and numbered else set()
            data |= _shown_data(self.sample, escape, fields & used, numbered, self.sentences)
        return prompt.render(
            {
                **data,
                "statements": escape.texts(self.statements, "statements"),
                "examples": ShownList(
                    _shown_example(one, escape, fields, numbered) for one in self.examples
                ),
                "criteria": ShownList(self.criteria),
                "task": self.task,
                "language": self.language,
                "unit": self.unit,
                "hardened": self.hardened,
            }
        )


def sentences_of(answer: str | None) -> list[str]:
    return [span.text for span in split_sentences(answer or "")]


def check_language(language: str) -> None:
    """Raise `ConfigurationError` if `language` is not a known code, such as `ru` or `pt-BR`."""
    code = re.split("[-_]", language.lower())[0]
    if not _LANGUAGE.fullmatch(language) or (len(code) == 2 and code not in LANGUAGE_CODES):
        raise ConfigurationError(
            f"language {language!r} is not a known code; expected one such as 'ru'"
        )


def read_criteria(given: object) -> list[Criterion]:
    """Parse a checklist's criteria; raise `ConfigurationError` if they are not a mapping."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"criteria is {given!r}; expected a dictionary, as in "
            "{'polite': 'The answer is polite.'}"
        )
    return [Criterion(name, text) for name, text in given.items()]


def check_lists(prompt: Prompt, response_model: type, criteria: Sequence[object]) -> None:
    """Check that criteria exist, and that the template shows them and the ids used in replies."""
    if getattr(response_model, "needs_criteria", False) and not criteria:
        raise PromptError(
            f"{prompt.origin}: a checklist needs criteria; add them to the front matter, as in "
            "criteria: {polite: The answer is polite.}"
        )
    if criteria and prompt.places_data and not prompt.uses("criteria"):
        raise PromptError(
            f"{prompt.origin}: criteria are given, but the template does not show them; write "
            "{% for criterion in criteria %}{{ criterion.name }}: {{ criterion.text }}"
            "{% endfor %}"
        )
    for name in ("sentences", "statements"):
        wanted = getattr(response_model, f"numbered_{name}", False)
        if wanted and prompt.places_data and not prompt.uses(name):
            raise PromptError(
                f"{prompt.origin}: a {response_model.__name__} reply refers to "
                f"{name} by id, but the template does not show them; write {{% for one in "
                f"{name} %}}{{{{ one.id }}}}: {{{{ one.text }}}}{{% endfor %}}"
            )


_WHERE = {"answer": ("answer", "sentences"), "context": ("context", "chunks")}
_TWO_PARTS = ("answer", "context", "sentences", "statements")


def made_up(field: str) -> list[str]:
    count = 2 if field in _TWO_PARTS else 1
    return [
        f"Zq{field}{n}start is what this {field} says here, up to Zq{field}{n}end."
        for n in range(count)
    ]


def check_shown(
    prompt: Prompt,
    needs: Sequence[str],
    render: Callable[[Mapping[str, Sequence[str]]], str],
    *,
    reader: str,
    way_out: str = "",
) -> None:
    """Check that a template shows every field that its reply needs.

    A made-up sample is rendered twice, with all fields and with only the required ones. A field
    that is used only in a condition or an unused macro does not count as shown, nor do chunks if
    only the first is shown. The error message names `reader`, which needs the fields, and suggests
    a fix, followed by `way_out`.
    """
    if plain := _PLAIN_FIELD.search(prompt.text):
        raise PromptError(
            f"{prompt.origin}: {plain[0]} is not filled in; write {{{{ {plain[1]} }}}}"
        )
    faults: dict[str, str] = {}
    opening = f"{prompt.origin}: "
    for fields in (dict.fromkeys([*needs, *_DATA]), needs):
        try:
            text = _squeezed(render({name: made_up(name) for name in fields}).casefold())
        except PromptError as error:
            opening = f"{error}; "
            # The template uses something that a made-up sample lacks, such as a chunk's metadata.
            seen = {name: any(map(prompt.uses, _WHERE.get(name, (name,)))) for name in needs}
            faults |= {name: "does not show" for name in needs if not seen[name]}
            continue
        for name in needs:
            ends = re.findall(r"zq\w+", " ".join(made_up(name)).casefold())
            arrived = sum(end in text for end in ends)
            if arrived < len(ends):
                faults.setdefault(name, "shows only part of" if arrived else "does not show")
    if faults:
        by_fault = {
            fault: " and the ".join(name for name in faults if faults[name] == fault)
            for fault in dict.fromkeys(faults.values())
        }
        said = " and ".join(f"{fault} the {names}" for fault, names in by_fault.items())
        write = " and ".join(f"{{{{ {name} }}}}" for name in faults)
        raise PromptError(
            f"{opening}{reader} needs the {' and the '.join(needs)}, but the template "
            f"{said}; write {write}{way_out}"
        )


def arrive_whole(texts: Mapping[str, str], rendered: str) -> dict[str, bool | None]:
    """Check whether a rendered prompt contains each text of the data in full.

    Whitespace and escapes may differ, sentences may appear separately, and text may be encoded as
    JSON. If an answer is also part of a chunk, the prompt must contain it twice. A text's value is
    False if the prompt contains only its beginning, and None if not even that.
    """
    left = _squeezed(rendered)
    found: dict[str, bool | None] = {}
    for name, text in sorted(texts.items(), key=lambda item: -len(item[1])):
        begin = _squeezed(text)[: min(_BEGIN, len(text) // 2)]
        found[name] = False if begin in left else None
        for parts in ([text], [htmlsafe_json_dumps(text)[1:-1]], sentences_of(text)):
            rest = left
            for part in map(_squeezed, parts):
                rest = rest.replace(part, "\0", 1) if part in rest else ""
            if rest:
                left, found[name] = rest, True
                break
    return {name: found[name] for name in texts}


def missing_ends(texts: Mapping[str, str], rendered: str) -> list[str]:
    """Return the names of texts that were cut off: their ends are missing from the prompt.

    Only letters are compared, ignoring case, so filters may change everything else.
    """
    left = {name: text for name, text in texts.items() if text[-_END:] not in rendered}
    for tags in (_TAG, None):
        shown = _letters(rendered, tags) if left else ""
        left = {n: text for n, text in left.items() if _letters(text, tags)[-_END:] not in shown}
    return list(left)


_END = 24
# A prompt may contain a shorter beginning of a text by chance.
_BEGIN = 40
_TAG = re.compile(r"<[^<>]*>")
_IN_JSON_TEXT = re.compile(r"\\(?:u([0-9a-f]{4})|[nrt])")
_NO_LETTER = re.compile(r"[\W\d_]+")


def _letters(text: str, without: re.Pattern[str] | None) -> str:
    plain = unescape(_IN_JSON_TEXT.sub(lambda code: chr(int(code[1] or "20", 16)), text))
    return _NO_LETTER.sub("", without.sub(" ", plain) if without else plain).casefold()


# HTML characters as escaped by Jinja's `tojson` filter.
_IN_JSON = {"\\u0026": "&", "\\u003c": "<", "\\u003e": ">", "\\u0027": "'"}


def _squeezed(text: str) -> str:
    for code, sign in _IN_JSON.items():
        text = text.replace(code, sign)
    return "".join(unescape(text).split())
