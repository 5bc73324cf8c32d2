"""Findings: a grader's decisions about statements and chunks, and how to display them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
"""Label of a statement contradicted by the chunks; reports show it in a separate colour."""

UNVERIFIED = "unverified"
"""Label of a statement whose verdict cannot be trusted; it counts as not supported."""

_TEXTS = ("statement", "claim", "text", "sentence", "criterion", "name")
_REASONS = ("reasoning", "reason", "explanation")
_CHUNK_IDS = ("supporting_chunk_ids", "chunk_ids")
_CHUNK_ID = ("chunk_id", "id_chunk")
_STATEMENTS = ("statement", "claim", "sentence")


@dataclass(frozen=True, slots=True)
class Quote:
    """Text quoted from a chunk, `chunk.text[start:end]`; the offsets are None if unknown."""

    # Fields stored by newer versions are ignored.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    chunk_id: int
    start: int | None
    end: int | None
    text: str

    def __repr__(self) -> str:
        where = "" if self.start is None else f", {self.start} to {self.end}"
        return f"Quote(chunk {self.chunk_id}{where}: {shortened(self.text, 60)!r})"


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """The passage to check a finding against: `chunk.text[start:end] == text`.

    Attributes:
        is_nearest: True if it was found after grading; False if the judge quoted it.
        differs: How the passage differs from the statement, in the statement's language, such as
            "'1923' is not in any chunk; chunk 1 says '1889'"; empty if it does not differ or if
            the judge explains the difference.
    """

    chunk_id: int
    start: int
    end: int
    text: str
    is_nearest: bool = False
    differs: str = ""

    def words(self, say: Phrases, most: int = 300) -> str:
        """Return the passage and its chunk: "nearest chunk 1: …", or "chunk 1: “…”" for a quote."""
        name = "nearest" if self.is_nearest else "quote"
        return say(f"notebook.{name}", id=self.chunk_id, text=shortened(self.text, most))


@dataclass(frozen=True, slots=True)
class Finding:
    """One decision by a grader about a statement, a chunk, a citation or the whole answer.

    Attributes:
        text: What the decision is about, such as the statement.
        verdict: True raises the score, False lowers it; None if there is no verdict, as for a
            rating.
        label: The verdict as text, such as "supported", "not covered" or "4 of 5".
        chunk_ids: Ids of the chunks that support it, or that it is about, from 0.
        quotes: Quotes from chunks that justify it.
        sentence_ids: Ids of its sentences in the answer, from 0.
        start: Start of its sentence in the answer or the reference; None if unknown.
        end: End of its sentence, exclusive; None if unknown.
        support: 0 to 1: the verifier's support, or the value of a rating.
        decided_by: Name of the verifier that made the decision, if known.
        about: Type of item that the decision is about.
    """

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
        return f"Finding({shortened(self.text, 60)!r}, {self.label!r})"

    @property
    def counts_against(self) -> bool:
        """True for a negative verdict or a rating below the maximum, which lower the score."""
        if self.verdict is not None:
            return not self.verdict
        return self.support is not None and self.support < 1


def findings_of(result: BaseModel) -> tuple[Finding, ...]:
    """Return a result's `findings`; derive them from its fields if it does not define them.

    Raises:
        ConfigurationError: The property returns something other than findings.
    """
    model = type(result)
    if not hasattr(model, "findings") or "findings" in model.model_fields:
        return default_findings(result)
    own: Iterable[object] = result.findings  # type: ignore[attr-defined]  # checked above
    found = tuple(own)
    for one in found:
        if not isinstance(one, Finding):
            raise ConfigurationError(
                f"{model.__name__}.findings contains {one!r}; expected rag_evals.core.Finding"
            )
    return found  # type: ignore[return-value]  # each was checked


def read_findings(stored: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Read findings from parsed JSON; raise `ValueError` if it contains anything else."""
    found: tuple[Finding, ...] = _reader().validate_python(stored)
    return found


def yes_or_no(word: str, verdict: bool) -> str:
    """Return the label of a verdict, such as "supported" or "not supported"."""
    return word if verdict else f"not {word}"


def default_findings(result: BaseModel) -> tuple[Finding, ...]:
    """Derive findings from the fields of a result that does not define any.

    The model must have exactly one list of labelled items: models with one boolean field, and a
    text or a chunk id. To find out whether True raises the score, the score is computed twice, with
    all labels True and with all labels False. If the scores are equal, findings have no verdict.

    In a model without such a list, each field that is a label (a boolean, a `Literal`, or a
    model with a field `label`) becomes a finding without a verdict.
    """
    shape = _shape(type(result))
    if shape is None:
        return tuple(_aspects(result))
    things: Sequence[BaseModel] = getattr(result, shape.list_name)
    towards = _towards(result, shape, things) if things else None
    return tuple(_default_finding(thing, shape, towards) for thing in things)


def has_statements(model: type[BaseModel]) -> bool:
    """True if a model has one list of labelled items, each with a text named `statement`."""
    shape = _shape(model)
    return shape is not None and shape.text == "statement"


def statements_in(result: BaseModel) -> list[tuple[str, bool]]:
    """Return the statements with their labels; the model must satisfy `has_statements`."""
    shape = _shape(type(result))
    assert shape is not None, "the model has no statements"
    things = getattr(result, shape.list_name)
    return [(str(thing.statement), bool(getattr(thing, shape.label))) for thing in things]


def with_statements(result: M, kept: Collection[int], denied: Collection[int]) -> M:
    """Return a copy with only the `kept` statements, with those in `denied` set to unsupported."""
    shape = _shape(type(result))
    assert shape is not None, "the model has no statements"
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
    """The names of a model's list of labelled items and of the fields in each item."""

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
    """Return True if a True label raises the score, False if it lowers it, or None if neither."""
    scores = []
    for value in (True, False):
        changed = [thing.model_copy(update={shape.label: value}) for thing in things]
        tried = result.model_copy(update={shape.list_name: changed})
        scores.append(getattr(tried, "score", 0.0))
    return None if scores[0] == scores[1] else bool(scores[0] > scores[1])


def _default_finding(thing: BaseModel, shape: _Shape, towards: bool | None) -> Finding:
    value = bool(getattr(thing, shape.label))
    word = shape.label.removeprefix("is_").removeprefix("has_").replace("_", " ")
    own: tuple[int, ...] = () if shape.chunk_id is None else (int(getattr(thing, shape.chunk_id)),)
    listed = next((getattr(thing, name) for name in _CHUNK_IDS if hasattr(thing, name)), None)
    about: About = "chunk"
    if shape.text is not None:
        about = "statement" if shape.text in _STATEMENTS else "answer"
    return Finding(
        text=f"chunk {own[0]}" if shape.text is None else str(getattr(thing, shape.text)),
        verdict=None if towards is None else value == towards,
        label=yes_or_no(word, value),
        reasoning=_reason(thing),
        chunk_ids=tuple(listed or own),
        about=about,
    )


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - needed only when a run is read

    return TypeAdapter(tuple[Finding, ...])


class _Tone(NamedTuple):
    sign: str
    # Backgrounds use it at 15 % opacity, so that text is readable on light and dark pages.
    colour: str


_GOOD, _BAD = _Tone("+", "46,160,67"), _Tone("-", "229,83,75")
_WRONG, _PLAIN = _Tone("x", "163,59,176"), _Tone("·", "128,128,128")


def findings_line(findings: Iterable[Finding], say: Phrases | None = None) -> str:
    """Count findings by label: "2 supported, 1 not supported"."""
    say = say or phrases()
    counts = Counter(finding.label for finding in findings if finding.about != "turn")
    return ", ".join(
        say("notebook.counted", count=count, label=say.label(label))
        for label, count in counts.items()
    )


def findings_lines(findings: Iterable[Finding], say: Phrases | None = None) -> list[str]:
    """Format each finding on one line: a sign, its text, its label and the reason."""
    say = say or phrases()
    lines = []
    for one in findings:
        text = shortened(say.text(one.text))
        parts = (_tone(one).sign, text, f"[{_label(one, say)}]", _why(one))
        lines.append("  ".join(filter(None, parts)))
    return lines


PassageWords = Callable[[Finding, Phrases], Sequence[str]]
"""Finds the passage to check a finding against."""


def more_said(what: str, total: int, shown: int, say: Phrases) -> str:
    """Return the phrase `more_{what}` with the number of items not shown, or an empty string."""
    return say(f"notebook.more_{what}", count=say.whole(total - shown)) if total > shown else ""


def result_html(
    name: str,
    rest: str,
    findings: Sequence[Finding],
    warnings: Sequence[str] = (),
    passages: PassageWords | None = None,
) -> str:
    """Format a result as HTML: its class or row, score, counts, findings and warnings.

    If there are too many findings to show, those that lower the score take precedence.
    """
    say = notebook_phrases()
    places = sorted(range(len(findings)), key=lambda place: not findings[place].counts_against)
    items = [
        _item_html(findings[place], passages or _quote_words, say)
        for place in sorted(places[:MOST_ITEMS])
    ]
    items.append(html_note(more_said("findings", len(findings), MOST_ITEMS, say)))
    items += [html_note(say("notebook.warning", text=one)) for one in warnings[:MOST_ITEMS]]
    items.append(html_note(more_said("warnings", len(warnings), MOST_ITEMS, say)))
    return f"<div>{html_head(name, rest)}{''.join(items)}</div>"


def _item_html(finding: Finding, passages: PassageWords, say: Phrases) -> str:
    colour = _tone(finding).colour
    text, label = html_text(say.text(finding.text)), html_text(_label(finding, say))
    notes = filter(None, [_why(finding), *passages(finding, say)])
    below = "".join(f"<br><small>{html_text(note)}</small>" for note in notes)
    return (
        f'<div style="margin:2px 0;padding:1px 8px;border-left:4px solid rgb({colour});'
        f'background:rgba({colour},.15)">{text} <small><b>{label}</b></small>{below}</div>'
    )


def _tone(finding: Finding) -> _Tone:
    if finding.label == CONTRADICTED:
        return _WRONG
    if finding.verdict is None and finding.support is None:
        return _PLAIN
    return _BAD if finding.counts_against else _GOOD


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
