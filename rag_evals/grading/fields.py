"""Which question does a field of a response model ask? And what do the answers put into it?"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rag_evals.core import ChunkId, Claim, DecisionAnswer, InOrder, Question, StatementText
from rag_evals.errors import ConfigurationError, JudgeRefusedError
from rag_evals.judge import MOST_LEVELS, HostLimits
from rag_evals.verify import DecisionVerifier

_WORDS = ("reasoning", "reason")
# The mark of an annotated type stands behind the type.
_CHUNK = get_args(ChunkId)[1]
_STATEMENT = get_args(StatementText)[1]

Answers = Mapping[str, DecisionAnswer]


class Things(NamedTuple):
    """What a list has an element for, and what leads a question in.

    Attributes:
        lead: Stands before each question.
        chunks: How many there are.
        criteria: Their texts, by name.
        claims: Statements, as results show them and as they are asked.
        asked: Who is asked.
    """

    lead: str
    chunks: int
    criteria: Mapping[str, str]
    claims: Sequence[tuple[str, Claim]]
    asked: DecisionVerifier


class Part(ABC):
    """A field, or a model of several: what it asks, and what it is filled with."""

    def questions(self, name: str, things: Things) -> Iterator[Question]:
        """Yield its questions; their names begin with `name`."""
        del name, things
        yield from ()

    @abstractmethod
    def value(self, name: str, things: Things, answers: Answers) -> Any:
        """Return what the answers put into it."""

    def told(self, name: str, answers: Answers) -> str:
        """Tell its answer in words; empty where it asks nothing."""
        del name, answers
        return ""


@dataclass(frozen=True, slots=True)
class _Predicate(Part):
    """A yes or no."""

    words: str

    def questions(self, name: str, things: Things) -> Iterator[Question]:
        yield Question(name, "predicate", f"{things.lead}{self.words}")

    def value(self, name: str, things: Things, answers: Answers) -> bool:
        answer = _answered(name, answers)
        return (answer.probability or 0.0) >= things.asked.threshold

    def told(self, name: str, answers: Answers) -> str:
        return f"P(yes) {answers[name].probability or 0:.2f}"


@dataclass(frozen=True, slots=True)
class _Label(Part):
    """One of several labels, ordered or not."""

    words: str
    labels: tuple[Any, ...]
    is_ordered: bool

    def questions(self, name: str, things: Things) -> Iterator[Question]:
        kind: Literal["choice", "score"] = "score" if self.is_ordered else "choice"
        yield Question(name, kind, f"{things.lead}{self.words}", tuple(map(str, self.labels)))

    def value(self, name: str, things: Things, answers: Answers) -> Any:
        del things
        chosen = _answered(name, answers).choice
        return next(label for label in self.labels if str(label) == chosen)

    def told(self, name: str, answers: Answers) -> str:
        answer = answers[name]
        share = answer.probabilities.get(answer.choice or "")
        told = f"{answer.choice}" if share is None else f"P({answer.choice}) {share:.2f}"
        mean = "" if answer.score is None else f"; mean level {answer.score + 1:.2f}"
        return f"{told}{mean}{f' of {len(self.labels)}' if mean else ''}"


@dataclass(frozen=True, slots=True)
class _Carriers(Part):
    """The chunks that carry a statement; one choice finds the likeliest."""

    def questions(self, name: str, things: Things) -> Iterator[Question]:
        yield from things.asked.carrier_questions(name, things.claims[0][1], things.chunks)

    def value(self, name: str, things: Things, answers: Answers) -> list[int]:
        return list(things.asked.carriers(name, answers, things.chunks))


@dataclass(frozen=True, slots=True)
class FieldsOfModel(Part):
    """A model: its parts, and the field that tells their answers."""

    parts: Mapping[str, Part]
    words: str | None

    @property
    def asks_of_statements(self) -> bool:
        """True where a list has an element for each statement."""
        return any(isinstance(part, _Each) and part.of == "statement" for part in self.all_parts())

    def all_parts(self) -> Iterator[Part]:
        """Yield its parts, and theirs."""
        for part in self.parts.values():
            yield part
            if isinstance(part, FieldsOfModel):
                yield from part.all_parts()

    def questions(self, name: str, things: Things) -> Iterator[Question]:
        """Yield the questions of all parts."""
        for field, part in self.parts.items():
            yield from part.questions(f"{name}_{field}", things)

    def value(self, name: str, things: Things, answers: Answers) -> dict[str, Any]:
        """Return a value for each field."""
        filled = {
            field: part.value(f"{name}_{field}", things, answers)
            for field, part in self.parts.items()
        }
        if self.words is not None:
            told = (part.told(f"{name}_{field}", answers) for field, part in self.parts.items())
            filled[self.words] = "; ".join(filter(None, told))
        # A verdict of no has no chunk that carries it.
        for field, part in self.parts.items():
            verdicts = [value for value in filled.values() if isinstance(value, bool)]
            if isinstance(part, _Carriers) and not any(verdicts):
                filled[field] = []
        return filled


@dataclass(frozen=True, slots=True)
class _Each(Part):
    """A list with one element for each chunk, criterion or statement."""

    of: Literal["chunk", "criterion", "statement"]
    key: str
    element: FieldsOfModel

    def questions(self, name: str, things: Things) -> Iterator[Question]:
        for place, (_, inner) in enumerate(self._elements(things)):
            yield from self.element.questions(f"{name}_{place}", inner)

    def value(self, name: str, things: Things, answers: Answers) -> list[dict[str, Any]]:
        return [
            {self.key: key, **self.element.value(f"{name}_{place}", inner, answers)}
            for place, (key, inner) in enumerate(self._elements(things))
        ]

    def _elements(self, things: Things) -> Iterator[tuple[Any, Things]]:
        if self.of == "chunk":
            for number in range(things.chunks):
                yield number, things._replace(lead=f"{things.lead}About chunk {number}: ")
        elif self.of == "criterion":
            for name, text in things.criteria.items():
                yield name, things._replace(lead=f"{things.lead}The criterion: {text}\n")
        else:
            for text, claim in things.claims:
                asked = things.asked.about(claim)
                inner = things._replace(lead=f"{things.lead}{asked}\n", claims=[(text, claim)])
                yield text, inner


def fields_of(model: type[BaseModel], limits: HostLimits) -> FieldsOfModel:
    """Read a response model: what its fields ask.

    Args:
        model: What is to be filled.
        limits: Of the host that is asked.

    Raises:
        ConfigurationError: A field that no question can fill.
    """
    return _model(model, "", limits, keyed=None)


def _model(
    model: type[BaseModel], lead: str, limits: HostLimits, *, keyed: str | None
) -> FieldsOfModel:
    parts: dict[str, Part] = {}
    words = None
    for name, field in model.model_fields.items():
        if name == keyed:
            continue
        if name in _WORDS and _is_text(field.annotation):
            words = name
            continue
        parts[name] = _part(model, name, field, lead, limits)
    return FieldsOfModel(parts, words)


def _part(
    model: type[BaseModel], name: str, field: FieldInfo, lead: str, limits: HostLimits
) -> Part:
    kind: Any = field.annotation
    described = _asked(lead, field.description or name.replace("_", " "))
    if kind is bool:
        return _Predicate(described)
    if get_origin(kind) is Literal:
        return _label(f"{model.__name__}.{name}", field, described, limits)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _model(kind, described, limits, keyed=None)
    element = get_args(kind)[0] if get_origin(kind) is list and get_args(kind) else None
    if element == ChunkId:
        return _Carriers()
    if isinstance(element, type) and issubclass(element, BaseModel):
        found = _key_of(element)
        if found is not None:
            of, key = found
            return _Each(of, key, _model(element, "", limits, keyed=key))
    raise ConfigurationError(
        f"{model.__name__}.{name} is neither yes or no, nor one of several labels, nor a list with "
        "one element for each chunk, criterion or statement; a decision model writes no words"
    )


def _label(place: str, field: FieldInfo, described: str, limits: HostLimits) -> _Label:
    labels = get_args(field.annotation)
    is_ordered = InOrder in field.metadata or all(type(label) is int for label in labels)
    most = MOST_LEVELS if is_ordered else limits.options
    if not 1 < len(labels) <= most:
        what = "levels of a score" if is_ordered else "options of a choice"
        raise ConfigurationError(f"{place} has {len(labels)} labels; {what} are 2 to {most}")
    return _Label(described, labels, is_ordered)


def _key_of(
    element: type[BaseModel],
) -> tuple[Literal["chunk", "criterion", "statement"], str] | None:
    for name, field in element.model_fields.items():
        if _CHUNK in field.metadata:
            return "chunk", name
        if _STATEMENT in field.metadata:
            return "statement", name
        if name == "criterion":
            return "criterion", name
    return None


def _asked(lead: str, description: str) -> str:
    """Make a question of a field's description, which was written for a judge."""
    said = description.removeprefix("True when ")
    said = said[:1].upper() + said[1:]
    return f"{lead} {said}".strip()


def _is_text(kind: Any) -> bool:
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return str in parts


def _answered(name: str, answers: Answers) -> DecisionAnswer:
    answer = answers[name]
    if answer.refusal is not None:
        raise JudgeRefusedError(f"the decision model declined {name!r}: {answer.refusal}")
    return answer
