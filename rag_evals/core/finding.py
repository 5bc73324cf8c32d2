"""What did a grader find? Each thing with its verdict, the same for all; and how lines show it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from rag_evals.core.wording import Phrases, notebook_phrases, phrases
from rag_evals.errors import ConfigurationError
from rag_evals.text import MOST_ITEMS, html_head, html_note, html_text, shortened

M = TypeVar("M", bound=BaseModel)

About = Literal["statement", "reference", "citation", "chunk", "answer", "turn"]
"""What a finding is about: a statement of the answer or of the reference, a citation, a chunk, the
answer as a whole, or a turn of a conversation."""

CONTRADICTED = "contradicted"
"""The label of a statement that the chunks show to be wrong; pages colour it apart."""

UNVERIFIED = "unverified"
"""The label of a statement whose verdict nobody can trust; it counts as not supported."""

_TEXTS = ("statement", "claim", "text", "sentence", "criterion", "name")
_REASONS = ("reasoning", "reason", "explanation")
_CHUNK_IDS = ("supporting_chunk_ids", "chunk_ids")
_CHUNK_ID = ("chunk_id", "id_chunk")
_STATEMENTS = ("statement", "claim", "sentence")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a chunk: `chunk.text[start:end] == text`, in code points; None where unknown."""

    # What newer versions store is passed over.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    chunk_id: int
    start: int | None
    end: int | None
    text: str

    def __repr__(self) -> str:
        """One line; long words are cut."""
        where = "" if self.start is None else f", {self.start} to {self.end}"
        return f"Quote(chunk {self.chunk_id}{where}: {shortened(self.text, 60)!r})"


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """Words of a chunk at which a finding can be checked: `chunk.text[start:end] == text`.

    Attributes:
        chunk_id: Of the chunk, from 0.
        start: Where they begin, in characters.
        end: Where they end, not part of them.
        text: The words.
        is_nearest: Whether they were looked for afterwards; False for words that the judge quoted.
        differs: What they say otherwise, in the statement's language, such as "'1923' is not in any
            chunk; chunk 1 says '1889'"; empty where nothing does, or the judge said it itself.
    """

    chunk_id: int
    start: int
    end: int
    text: str
    is_nearest: bool = False
    differs: str = ""

    def words(self, say: Phrases, most: int = 300) -> str:
        """Show them with their chunk: "nearest chunk 1: …", or "chunk 1: “…”" for a quote."""
        name = "nearest" if self.is_nearest else "quote"
        return say(f"notebook.{name}", id=self.chunk_id, text=shortened(self.text, most))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a grader decided: on a statement, a chunk, a citation or the whole answer.

    Attributes:
        text: What was decided on, such as the statement.
        verdict: True counts towards the score, False against it; None where there is no yes or no,
            as in a rating.
        label: The word that people read, such as "supported", "not covered" or "4 of 5".
        reasoning: Why, in words.
        chunk_ids: The chunks that it rests on or is about, from 0.
        quotes: Words of chunks that decide it.
        sentence_ids: Its sentences in the answer, from 0.
        start: Where its sentence begins in the answer, or in the reference, in characters; None
            where nobody knows.
        end: Where it ends, not part of it; None as above.
        support: How far it holds, 0 to 1: a verifier's support, or the value of a rating.
        decided_by: Name of the verifier that decided, where it is known.
        about: What it is about.
    """

    # As above.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    text: str
    verdict: bool | None
    label: str
    reasoning: str | None = None
    chunk_ids: tuple[int, ...] = ()
    quotes: tuple[Quote, ...] = ()
    sentence_ids: tuple[int, ...] = ()
    support: float | None = None
    decided_by: str | None = None
    about: About = "answer"
    start: int | None = None
    end: int | None = None

    def __repr__(self) -> str:
        """One line: the text, and its label."""
        return f"Finding({shortened(self.text, 60)!r}, {self.label!r})"

    @property
    def counts_against(self) -> bool:
        """Whether it lowers the score: a no, or a rating below the best."""
        if self.verdict is not None:
            return not self.verdict
        return self.support is not None and self.support < 1


def findings_of(result: BaseModel) -> tuple[Finding, ...]:
    """Return a result's own property `findings`, else what its fields show.

    Raises:
        ConfigurationError: The property has values that are not findings.
    """
    model = type(result)
    if not hasattr(model, "findings") or "findings" in model.model_fields:
        return default_findings(result)
    own: Iterable[object] = result.findings  # type: ignore[attr-defined]  # looked for above
    found = tuple(own)
    for one in found:
        if not isinstance(one, Finding):
            raise ConfigurationError(
                f"{model.__name__}.findings holds {one!r}; expected rag_evals.core.Finding values"
            )
    return found  # type: ignore[return-value]  # each was looked at


def read_findings(stored: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Read findings back from parsed JSON; ValueError where they are none."""
    found: tuple[Finding, ...] = _reader().validate_python(stored)
    return found


def yes_or_no(word: str, verdict: bool) -> str:
    """Return the label of a verdict: the word, or the word denied."""
    return word if verdict else f"not {word}"


def default_findings(result: BaseModel) -> tuple[Finding, ...]:
    """Read findings from a model that says nothing: its one list of labelled things.

    A labelled thing is a model with one field that is true or false, and a text or a chunk id.
    What true means for the score is tried out: the score is computed with all of them true and
    all of them false. Where both are the same, the findings have a label and no verdict.

    A model without such a list has a finding without verdict for each of its fields that is a
    label: true or false, one of some words, or a model with a field `label`.
    """
    shape = _shape(type(result))
    if shape is None:
        return tuple(_aspects(result))
    things: Sequence[BaseModel] = getattr(result, shape.list_name)
    towards = _towards(result, shape, things) if things else None
    return tuple(_default_finding(thing, shape, towards) for thing in things)


def has_statements(model: type[BaseModel]) -> bool:
    """Say whether a model has one list of labelled things, each with a text named `statement`."""
    shape = _shape(model)
    return shape is not None and shape.text == "statement"


def statements_in(result: BaseModel) -> list[tuple[str, bool]]:
    """Return the statements of a result, each with its label; its model `has_statements`."""
    shape = _shape(type(result))
    assert shape is not None, "asked of a model with statements"
    things = getattr(result, shape.list_name)
    return [(str(thing.statement), bool(getattr(thing, shape.label))) for thing in things]


def with_statements(result: M, kept: Collection[int], denied: Collection[int]) -> M:
    """Return a result with some of its statements, of which some count against the score."""
    shape = _shape(type(result))
    assert shape is not None, "asked of a model with statements"
    things: Sequence[BaseModel] = getattr(result, shape.list_name)
    if len(kept) == len(things) and not denied:
        return result
    towards = _towards(result, shape, things)
    against = {} if towards is None else {shape.label: not towards}
    changed = [
        thing.model_copy(update=against) if place in denied else thing
        for place, thing in enumerate(things)
        if place in kept
    ]
    return result.model_copy(update={shape.list_name: changed})


def _aspects(result: BaseModel) -> Iterator[Finding]:
    for name, field in type(result).model_fields.items():
        value = getattr(result, name)
        label = getattr(value, "label", None) if isinstance(value, BaseModel) else value
        is_label = field.annotation is bool or get_origin(field.annotation) is Literal
        if label is not None and (is_label or label is not value):
            shown = ("yes" if label else "no") if isinstance(label, bool) else str(label)
            yield Finding(name.replace("_", " "), None, shown, _reason(value))


def _reason(thing: object) -> str | None:
    return next((getattr(thing, name) for name in _REASONS if hasattr(thing, name)), None)


class _Shape(NamedTuple):
    """Where a model keeps its labelled things, and what their fields are called."""

    list_name: str
    label: str
    text: str | None
    chunk_id: str | None


@cache
def _shape(model: type[BaseModel]) -> _Shape | None:
    found = [
        shape
        for name, field in model.model_fields.items()
        if (shape := _shape_of_list(name, field.annotation)) is not None
    ]
    return found[0] if len(found) == 1 else None


def _shape_of_list(name: str, annotation: Any) -> _Shape | None:
    if get_origin(annotation) not in (list, tuple, Sequence):
        return None
    thing = get_args(annotation)[0]
    if not (isinstance(thing, type) and issubclass(thing, BaseModel)):
        return None
    kinds = {field: info.annotation for field, info in thing.model_fields.items()}
    labels = [field for field, kind in kinds.items() if kind is bool]
    texts = [field for field, kind in kinds.items() if kind is str and field not in _REASONS]
    text = next((field for field in _TEXTS if field in texts), texts[0] if texts else None)
    chunk_id = next((field for field in _CHUNK_ID if kinds.get(field) is int), None)
    if len(labels) != 1 or (text is None and chunk_id is None):
        return None
    return _Shape(name, labels[0], text, chunk_id)


def _towards(result: BaseModel, shape: _Shape, things: Sequence[BaseModel]) -> bool | None:
    """Say whether true counts towards the score (True), against it (False), or neither (None)."""
    scores = []
    for value in (True, False):
        changed = [thing.model_copy(update={shape.label: value}) for thing in things]
        tried = result.model_copy(update={shape.list_name: changed})
        scores.append(getattr(tried, "score", 0.0))
    return None if scores[0] == scores[1] else bool(scores[0] > scores[1])


def _default_finding(thing: BaseModel, shape: _Shape, towards: bool | None) -> Finding:
    value = bool(getattr(thing, shape.label))
    word = shape.label.removeprefix("is_").removeprefix("has_").replace("_", " ")
    own = () if shape.chunk_id is None else (int(getattr(thing, shape.chunk_id)),)
    listed = next((getattr(thing, name) for name in _CHUNK_IDS if hasattr(thing, name)), None)
    finding = Finding(
        text="".join(f"chunk {one}" for one in own)
        if shape.text is None
        else str(getattr(thing, shape.text)),
        verdict=None if towards is None else value == towards,
        label=yes_or_no(word, value),
        reasoning=_reason(thing),
        chunk_ids=tuple(listed or own),
    )
    if shape.text is None:
        return replace(finding, about="chunk")
    return replace(finding, about="statement" if shape.text in _STATEMENTS else "answer")


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only who reads a run needs it

    return TypeAdapter(tuple[Finding, ...])


_Tone = Literal["good", "bad", "wrong", "plain"]
# Nearly transparent: the text stays readable on a light and on a dark page.
_COLOURS: dict[_Tone, str] = {
    "good": "46,160,67",
    "bad": "229,83,75",
    "wrong": "163,59,176",
    "plain": "128,128,128",
}


def findings_line(findings: Iterable[Finding], say: Phrases | None = None) -> str:
    """Count findings by their labels: "2 supported, 1 not supported"."""
    say = say or phrases()
    counts = Counter(finding.label for finding in findings if finding.about != "turn")
    return ", ".join(
        say("notebook.counted", count=count, label=say.label(label))
        for label, count in counts.items()
    )


def findings_lines(findings: Iterable[Finding], say: Phrases | None = None) -> list[str]:
    """Write a line for each finding: a sign, the text, the label, and why."""
    say = say or phrases()
    return [
        "  ".join(
            part
            for part in (
                _sign(one),
                shortened(say.text(one.text)),
                f"[{_label(one, say)}]",
                _why(one),
            )
            if part
        )
        for one in findings
    ]


PassageWords = Callable[[Finding, Phrases], Sequence[str]]
"""Says where a reader checks a finding."""


def _findings_html(findings: Sequence[Finding], passages: PassageWords) -> str:
    """Write findings as coloured lines; of many, those that count against the score come first."""
    places = sorted(range(len(findings)), key=lambda place: not findings[place].counts_against)
    shown = [findings[place] for place in sorted(places[:MOST_ITEMS])]
    say = notebook_phrases()
    items = "".join(
        _item_html(
            _tone(one), say.text(one.text), _label(one, say), [_why(one), *passages(one, say)]
        )
        for one in shown
    )
    return items + html_note(more_said("findings", len(findings), len(shown), say))


def more_said(what: str, total: int, shown: int, say: Phrases) -> str:
    """Say with the phrase `more_{what}` how many are not shown; nothing where all are."""
    return say(f"notebook.more_{what}", count=say.whole(total - shown)) if total > shown else ""


def result_html(
    name: str,
    rest: str,
    findings: Sequence[Finding],
    warnings: Sequence[str] = (),
    passages: PassageWords | None = None,
) -> str:
    """Write a result: its class or row, the score with counts, its findings and warnings."""
    passages = passages or _quote_words
    say = notebook_phrases()
    shown = "".join(html_note(say("notebook.warning", text=one)) for one in warnings[:MOST_ITEMS])
    more = html_note(more_said("warnings", len(warnings), MOST_ITEMS, say))
    return f"<div>{html_head(name, rest)}{_findings_html(findings, passages)}{shown}{more}</div>"


def _item_html(tone: _Tone, text: str, label: str, notes: Iterable[str]) -> str:
    """Write one coloured line with its label, and notes below it; all are plain text."""
    colour = _COLOURS[tone]
    below = "".join(f"<br><small>{html_text(note)}</small>" for note in notes if note)
    return (
        f'<div style="margin:2px 0;padding:1px 8px;border-left:4px solid rgb({colour});'
        f'background:rgba({colour},.15)">{html_text(text)} <small><b>{html_text(label)}</b>'
        f"</small>{below}</div>"
    )


def _tone(finding: Finding) -> _Tone:
    if finding.label == CONTRADICTED:
        return "wrong"
    if finding.verdict is None and finding.support is None:
        return "plain"
    return "bad" if finding.counts_against else "good"


def _sign(finding: Finding) -> str:
    return {"good": "+", "bad": "-", "wrong": "x", "plain": "·"}[_tone(finding)]


def _label(finding: Finding, say: Phrases) -> str:
    label = say.label(finding.label)
    if not finding.chunk_ids or finding.about == "chunk":
        return label
    ids = ", ".join(map(str, finding.chunk_ids[:MOST_ITEMS]))
    one = len(finding.chunk_ids) == 1
    chunks = say("items.chunk", id=ids) if one else say("notebook.chunks", ids=ids)
    return say("notebook.label", label=label, chunks=chunks)


def _why(finding: Finding) -> str:
    return shortened(finding.reasoning or "")


def _quote_words(finding: Finding, say: Phrases) -> list[str]:
    return [
        say("notebook.quote", id=one.chunk_id, text=shortened(one.text, 120))
        for one in finding.quotes[:2]
    ]
