"""How does a judge answer sentence by sentence? Its reply has one key for each sentence.

The reply model is made for the row. A host that constrains decoding cannot leave a sentence out,
name a chunk that does not exist, or give a verdict without evidence; for any other host the same is
checked when the reply is read.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ValidationInfo, create_model, model_validator
from pydantic_core import PydanticCustomError

from rag_evals.core import ChunkId, StatementText, facts_of
from rag_evals.response_models.statements import ByStatement

VerdictUnit = Literal["claims", "sentence", "answer"]
"""What gets a verdict: each claim of a sentence, each sentence, or the whole answer."""

WhyNot = Literal["contradicted", "not_in_context"]
"""Why a judge does not support something."""

MOST_SENTENCES = 40
"""Sentences of one call; a longer answer is graded in several."""

_MOST_CLAIMS = 5
_MOST_CHARACTERS = 300
# Few forms for hosts that compile each one: as many sentences as the answer has, or a few more.
_PADDED_SENTENCES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 30, MOST_SENTENCES)
_PADDED_CHUNKS = 8


class ReplyForm(NamedTuple):
    """What the schema language of a host can say, and what a schema costs there.

    Attributes:
        padded: The host compiles each schema; it gets one of few, with room for more sentences.
        counts: It takes bounds of lists.
        lengths: It takes bounds of texts.
        choices: It takes a list of whole numbers; else it gets the least and the largest.
        known: The host keeps to its schema; any other is asked again in JSON mode where it did not.
    """

    padded: bool = False
    counts: bool = True
    lengths: bool = True
    choices: bool = True
    known: bool = True


EXACT = ReplyForm()
"""The form for hosts that take every schema."""


class ReplyShape(NamedTuple):
    """What a reply model is made for: the unit of a verdict, and how many there are of each."""

    unit: VerdictUnit
    sentences: int
    chunks: int


class JudgedClaim(NamedTuple):
    """What a reply says of a sentence, or of a part of it.

    Attributes:
        text: The claim; None where it is the sentence as it stands.
        sentence_id: The sentence; None where a reply of another form does not say.
        reasoning: Why.
        chunk_ids: What supports it.
        is_supported: The verdict.
        because: Why nothing supports it, one of `WhyNot`; None where something does, or a reply of
            another form does not say.
    """

    text: str | None
    sentence_id: int | None
    reasoning: str | None
    chunk_ids: tuple[int, ...]
    is_supported: bool
    because: str | None = None


class KeyedVerdict(BaseModel):
    """The chunks that support something, or why none does."""

    supported_by: list[ChunkId] | None = None
    not_supported_because: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self, info: ValidationInfo) -> Self:
        if facts_of(info) is not None and bool(self.supported_by) == bool(
            self.not_supported_because
        ):
            raise ValueError(
                "give either supported_by, with at least one chunk id, or not_supported_because"
            )
        return self


class KeyedClaim(BaseModel):
    """One of several claims of a sentence."""

    statement: StatementText
    reasoning: str
    verdict: KeyedVerdict


class KeyedSentence(BaseModel):
    """A verdict on the sentence as it stands, several claims of it, or why it claims nothing."""

    reasoning: str | None = None
    verdict: KeyedVerdict | None = None
    claims: list[KeyedClaim] | None = None
    claims_nothing: str | None = None

    @model_validator(mode="after")
    def _one_of_three(self, info: ValidationInfo) -> Self:
        if facts_of(info) is None:
            return self
        if self.verdict is not None and self.reasoning is None:
            raise ValueError("reasoning is missing; give it before the verdict")
        given = (self.verdict is not None, bool(self.claims), bool(self.claims_nothing))
        if sum(given) != 1:
            raise ValueError("give exactly one of: reasoning and verdict; claims; claims_nothing")
        return self


class KeyedReply(BaseModel):
    """What a judge says of each sentence; its subclasses are made for a row.

    Attributes:
        shape: What the class is made for.
        verdict_name: The field that holds the verdict in a list of statements.
    """

    shape: ClassVar[ReplyShape]
    verdict_name: ClassVar[str]
    _schema: ClassVar[Mapping[str, Any]]

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the schema that the judge fills, made once."""
        return dict(cls._schema)

    @classmethod
    def for_host(cls, form: ReplyForm) -> type[Self]:
        """Return the class whose schema is in a host's form; it reads what this one reads."""
        return cls if form == EXACT else _in_form(cls, form)  # type: ignore[return-value]  # a subclass

    @model_validator(mode="after")
    def _is_of_this_form(self, info: ValidationInfo) -> Self:
        if facts_of(info) is not None and not self.model_fields_set:
            keys = ", ".join(_keys(self.shape))
            raise PydanticCustomError("reply_form", "missing: {keys}", {"keys": keys})
        return self

    @cached_property
    def claims(self) -> list[JudgedClaim]:
        """Everything that has a verdict, in order."""
        return list(self._claims())

    @property
    def passed_over(self) -> dict[int, str]:
        """Why sentences claim nothing, by id."""
        return {n: one.claims_nothing for n, one in self._sentences() if one.claims_nothing}

    @property
    def is_keyed(self) -> bool:
        """Whether the judge answered by sentence, and not with a list of statements."""
        return getattr(self, "statements", None) is None

    def _sentences(self) -> Iterator[tuple[int, KeyedSentence]]:
        for number in range(self.shape.sentences):
            if (one := getattr(self, f"s{number}", None)) is not None:
                yield number, one

    def _claims(self) -> Iterator[JudgedClaim]:
        if not self.is_keyed:
            for one in self.statements:  # type: ignore[attr-defined]  # the field is made for the row
                ids = tuple(one.supporting_chunk_ids)
                counts = getattr(one, self.verdict_name)
                yield JudgedClaim(one.statement, None, one.reasoning, ids, counts)
        elif self.shape.unit == "answer":
            yield _claim(None, 0, self.reasoning, self.verdict)  # type: ignore[attr-defined]  # as above
        for number, one in self._sentences():
            if one.verdict is not None:
                yield _claim(None, number, one.reasoning, one.verdict)
            for claim in one.claims or ():
                yield _claim(claim.statement, number, claim.reasoning, claim.verdict)


def _claim(
    text: str | None, sentence_id: int, reasoning: str | None, verdict: KeyedVerdict
) -> JudgedClaim:
    ids = tuple(dict.fromkeys(verdict.supported_by or ()))
    because = None if ids else verdict.not_supported_because
    return JudgedClaim(text, sentence_id, reasoning, ids, bool(ids), because)


@lru_cache(maxsize=512)
def keyed_reply(result: type[ByStatement], shape: ReplyShape) -> type[KeyedReply]:
    """Make the model that a judge fills for one row.

    A list of statements, which prompts of users ask for in words, is read as well.

    Args:
        result: What the grader returns; it names the reply, and says how a statement is written.
        shape: Of the row.
    """
    fields: dict[str, Any] = {
        "statements": (result.model_fields["statements"].annotation | None, None),  # type: ignore[operator]  # a list type
    }
    if shape.unit == "answer":
        fields |= {"reasoning": (str | None, None), "verdict": (KeyedVerdict | None, None)}
    else:
        fields |= dict.fromkeys(_keys(shape), (KeyedSentence | None, None))
    made = create_model(result.__name__, __base__=KeyedReply, **fields)
    made.shape, made.verdict_name = shape, result.verdict_name
    made._schema = _schema(shape, EXACT)
    return made


@lru_cache(maxsize=512)
def _in_form(model: type[KeyedReply], form: ReplyForm) -> type[KeyedReply]:
    shape = _padded(model.shape) if form.padded else model.shape
    made: type[KeyedReply] = type(model.__name__, (model,), {"__module__": __name__})
    made._schema = _schema(shape, form)
    return made


def _padded(shape: ReplyShape) -> ReplyShape:
    sentences = next(size for size in _PADDED_SENTENCES if size >= shape.sentences)
    return ReplyShape(
        shape.unit, sentences, _PADDED_CHUNKS if shape.chunks <= _PADDED_CHUNKS else 0
    )


def _keys(shape: ReplyShape) -> list[str]:
    if shape.unit == "answer":
        return ["reasoning", "verdict"]
    return [f"s{number}" for number in range(shape.sentences)]


@lru_cache(maxsize=512)
def _schema(shape: ReplyShape, form: ReplyForm) -> Mapping[str, Any]:
    """Write the schema of a reply: branches of a choice begin with different keys."""
    text = {"type": "string"} | ({"maxLength": _MOST_CHARACTERS} if form.lengths else {})
    ids: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
    if shape.chunks and form.choices:
        ids["items"]["enum"] = list(range(shape.chunks))
    elif shape.chunks:
        ids["items"] |= {"minimum": 0, "maximum": shape.chunks - 1}
    if form.counts:
        ids |= {"minItems": 1} | ({"maxItems": shape.chunks} if shape.chunks else {})
    verdict = {
        "anyOf": [
            _object(supported_by=ids),
            _object(not_supported_because={"type": "string", "enum": list(get_args(WhyNot))}),
        ]
    }
    judged = {"reasoning": text, "verdict": {"$ref": "#/$defs/v"}}
    if shape.unit == "answer":
        return {**_object(**judged), "$defs": {"v": verdict}}
    claims: dict[str, Any] = {"type": "array", "items": _object(statement=text, **judged)}
    if form.counts:
        claims |= {"minItems": 1, "maxItems": _MOST_CLAIMS}
    several = [_object(claims=claims)] if shape.unit == "claims" else []
    sentence = {"anyOf": [_object(**judged), *several, _object(claims_nothing=text)]}
    named = {"$ref": "#/$defs/s"}
    or_none = {"anyOf": [named, {"type": "null"}]}
    surely = _surely(shape.sentences) if form.padded else shape.sentences
    keys = {key: named if n < surely else or_none for n, key in enumerate(_keys(shape))}
    return {**_object(**keys), "$defs": {"v": verdict, "s": sentence}}


def _surely(padded: int) -> int:
    """Return how many sentences every answer has that gets a padded form."""
    place = _PADDED_SENTENCES.index(padded)
    return 1 + (_PADDED_SENTENCES[place - 1] if place else 0)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
