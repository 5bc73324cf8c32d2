"""Results with a verdict for each statement, and the judge replies they are built from."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, Field, ValidationInfo, create_model, model_validator
from pydantic_core import PydanticCustomError

from rag_evals.core import (
    About,
    ByCode,
    ChunkId,
    Finding,
    JudgeModel,
    OptionalList,
    Reasoning,
    Result,
    SampleField,
    SentenceId,
    StatementText,
    check_each_once,
    facts_of,
    fields_of_judge,
    yes_or_no,
)
from rag_evals.core.finding import UNVERIFIED
from rag_evals.errors import NotScorableReason


class StatementEvaluation(JudgeModel):
    """A statement and its verdict.

    Attributes:
        sentence_id: Index of the sentence in the answer; None if unknown.
        start: Start offset of the sentence in the answer, in characters.
        end: End offset of the sentence.
        fault: Why the statement could not be verified; None if it could.
    """

    statement: StatementText = Field(description="One claim.")
    reasoning: Reasoning = Field(default=None, description="Why, from the chunks.")
    supporting_chunk_ids: OptionalList[ChunkId] = Field(
        default_factory=list, description="Empty list if unsupported."
    )
    is_supported: bool = Field(description="The chunks alone show it.")
    sentence_id: ByCode[int | None] = None
    start: ByCode[int | None] = None
    end: ByCode[int | None] = None
    fault: ByCode[str | None] = None

    @property
    def finding(self) -> Finding:
        """The statement as shown in results."""
        label, ids = yes_or_no("supported", self.is_supported), self.supporting_chunk_ids
        return finding_of(self, ids, label, verdict=self.is_supported, about="statement")


def finding_of(
    one: Any, chunk_ids: Sequence[int], label: str, *, verdict: bool, about: About
) -> Finding:
    told = one.reasoning
    if one.fault:
        told = f"{one.fault}. {told}" if told else f"{one.fault}."
    return Finding(
        text=one.statement,
        verdict=verdict,
        label=UNVERIFIED if one.fault else label,
        reasoning=told or None,
        chunk_ids=tuple(chunk_ids),
        sentence_ids=() if one.sentence_id is None else (one.sentence_id,),
        about=about,
        start=one.start,
        end=one.end,
    )


class NoClaimSentence(JudgeModel):
    """A sentence without claims, such as a greeting or a question."""

    sentence_id: SentenceId = Field(description="The sentence's id, as given.")
    reason: str = Field(description="Why it claims nothing.")

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None and not self.reason.strip():
            raise ValueError(f"sentence {self.sentence_id} is left out without a reason")
        return self


class PassedOverSentence(NoClaimSentence):
    """A sentence that contains no claims, and its text.

    `reason` is text from a judge, or a `NoClaim` value from the embedded judge, such as `question`.
    """

    text: str = Field(description="The sentence.")


class TurnVerdict(BaseModel):
    """The result for one turn in a conversation; `reason` explains a missing score."""

    turn: int
    question: str | None = None
    statements: int = 0
    supported: int = 0
    reason: NotScorableReason | None = None

    @property
    def score(self) -> float | None:
        """Share of supported statements; None if the turn has no score."""
        return self.supported / self.statements if self.statements and not self.reason else None

    @property
    def finding(self) -> Finding:
        label = self.reason or f"{self.supported} of {self.statements}"
        return Finding(f"turn {self.turn}", None, label, self.question, about="turn")


class Unread(BaseModel):
    """How much a judge's window left unread; `chunk_ids` lists the chunks not read in full."""

    read: int
    passages: int
    chunk_ids: list[int]
    turn: int | None = None

    def __str__(self) -> str:
        """For example "read 14 of 60 passages; not read in full: chunks 2, 5-9"."""
        found: list[list[int]] = []
        for id in self.chunk_ids:
            if found and found[-1][-1] == id - 1:
                found[-1][1:] = [id]
            else:
                found.append([id])
        named = ", ".join("-".join(map(str, one)) for one in found)
        where = f" of turn {self.turn}" if self.turn else ""
        return (
            f"read {self.read} of {self.passages} passages{where}; not read in full: chunks {named}"
        )


class ByStatement(Result):
    """A result with a verdict for each statement in the answer or the reference.

    Attributes:
        verdict_name: Name of the statements' boolean field that determines the score.
        drift: How statements still differ from their sentences after a second call.
        left_out: Ids of sentences with claims that the judge left out.
        calls: Number of judge calls, excluding re-asks; above 1 for long answers.
    """

    statements_of: ClassVar[Literal["answer", "reference"]] = "answer"
    verdict_name: ClassVar[str] = "is_supported"

    # This field comes first because results are written in this order; subclasses narrow its type.
    statements: list[Any] = Field(description="In order.")
    no_claim_sentences: ByCode[list[Any]] = Field(default_factory=list)
    drift: ByCode[list[str]] = Field(default_factory=list)
    left_out: ByCode[list[int]] = Field(default_factory=list)
    calls: ByCode[int] = 1
    unread: ByCode[list[Unread]] = Field(default_factory=list)
    turns: ByCode[list[TurnVerdict]] = Field(default_factory=list)

    @property
    def score(self) -> float:
        """Share of supported statements, 0 to 1; 0.0 if there are no statements.

        A sentence that was left out counts as an unsupported statement.
        """
        verdicts = [getattr(one, self.verdict_name) for one in self.statements]
        total = len(verdicts) + len(self.left_out)
        return sum(verdicts) / total if total else 0.0

    @property
    def not_scorable(self) -> NotScorableReason | None:
        if self.left_out:
            return "answer_not_covered"
        return None if self.statements else "no_statements"

    @property
    def warnings(self) -> list[str]:
        word = self.verdict_name.removeprefix("is_")
        found = []
        for number, one in enumerate(self.statements):
            counts, ids = getattr(one, self.verdict_name), one.supporting_chunk_ids
            if counts and not ids:
                found.append(f"statement {number} is {word} but cites no chunk")
            if not counts and ids:
                found.append(f"statement {number} is not {word} but cites chunks")
        found += [*map(str, self.unread), *self.drift]
        if self.calls > max(1, len(self.turns)):
            found.append(f"the {self.statements_of} is long: it was graded in {self.calls} calls")
        return found

    @property
    def unsupported_since(self) -> int | None:
        """The first turn with an unsupported statement, counted from 1; None if there is none."""
        return next(
            (one.turn for one in self.turns if one.score is not None and one.score < 1), None
        )

    @property
    def further_scores(self) -> Mapping[str, float]:
        """The share of a conversation's turns that are fully supported."""
        scores = [one.score for one in self.turns if one.score is not None]
        share = sum(score == 1 for score in scores) / len(scores) if scores else 0.0
        return {"supported_turns": share} if scores else {}

    @classmethod
    def is_keyed(cls) -> bool:
        """True if the judge can reply sentence by sentence, with only verdicts to fill in."""
        (statement,) = get_args(cls.model_fields["statements"].annotation)
        own = {"statement", "reasoning", "supporting_chunk_ids", cls.verdict_name}
        return fields_of_judge(cls).keys() == {"statements"} and (
            fields_of_judge(statement).keys() == own
        )


class FaithfulnessResult(ByStatement):
    """The statements in an answer, and whether the context supports them."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    statements: list[StatementEvaluation] = Field(description="In order.")

    @property
    def findings(self) -> tuple[Finding, ...]:
        found = [statement.finding for statement in self.statements]
        shown: list[Finding] = []
        if self.unsupported_since is not None:
            since = f"turn {self.unsupported_since}"
            shown.append(Finding("unsupported since", None, since, about="turn"))
        for turn in self.turns:
            shown += [turn.finding, *found[: turn.statements]]
            found = found[turn.statements :]
        return (*shown, *found)

    @property
    def unsupported(self) -> Sequence[StatementEvaluation]:
        """The statements not supported by the context, in order."""
        return [s for s in self.statements if not s.is_supported]


def check_every_sentence(
    claimed: Collection[int], no_claim: Sequence[NoClaimSentence], facts: Mapping[str, Any]
) -> None:
    """Check that each sentence has either statements or a reason why it has no claims."""
    passed_over = sorted(sentence.sentence_id for sentence in no_claim)
    check_each_once(
        "sentences",
        sorted([*set(claimed), *set(passed_over)]),
        range(len(facts["sentences"])),
        missing=(
            "have no statement; break them into statements, or list them in no_claim_sentences "
            "with a reason"
        ),
        repeated="have statements and are in no_claim_sentences",
    )
    twice = "are listed twice in no_claim_sentences"
    check_each_once("sentences", passed_over, set(passed_over), repeated=twice)


def each_once(
    field: str,
    id_name: str,
    things: str = "statements",
    wanted: Callable[[Mapping[str, Any]], Collection[Any]] = lambda facts: range(
        facts["statement_count"]
    ),
) -> Any:
    """Return a validator that requires exactly one verdict per item in the list `field`.

    `id_name` is the field of a verdict that contains the item's id, and `wanted` returns all ids,
    given the call's validation context.
    """

    def check(reply: Any, info: ValidationInfo) -> Any:
        facts = facts_of(info)
        if facts is not None:
            ids = sorted(getattr(verdict, id_name) for verdict in getattr(reply, field))
            known = wanted(facts)
            named = "" if isinstance(known, range) else f" of {known}"
            wish = f"give each {id_name.removesuffix('_id')}{named} exactly one verdict"
            check_each_once(things, ids, known, wish=wish)
        return reply

    return model_validator(mode="after")(check)


# A reply model is built for each row, with a key for each sentence. If the host uses constrained
# decoding, the judge cannot skip a sentence, cite a nonexistent chunk, or return a verdict without
# evidence. For other hosts, validation checks the same conditions.

VerdictUnit = Literal["claims", "sentence", "answer"]
"""What each verdict covers: a claim in a sentence, a sentence, or the whole answer."""

WhyNot = Literal["contradicted", "not_in_context"]
"""Why the chunks do not support a claim."""

MOST_SENTENCES = 40
"""Maximum number of sentences per call; longer answers are graded in several calls."""

_MOST_CLAIMS = 5
_MOST_CHARACTERS = 300
# For hosts that compile schemas, sentence counts are padded to one of these sizes.
_PADDED_SENTENCES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 30, MOST_SENTENCES)
_PADDED_CHUNKS = 8


class ReplyForm(NamedTuple):
    """The schema features that a host supports, such as list `counts` and string `lengths`.

    Attributes:
        padded: The host compiles each schema, so schemas have one of a few sizes and may allow more
            sentences than the answer has.
        choices: The host accepts a list of allowed integers; otherwise, a minimum and maximum are
            set.
        known: The host is known to follow the schema; otherwise, an invalid reply is re-asked in
            JSON mode.
    """

    padded: bool = False
    counts: bool = True
    lengths: bool = True
    choices: bool = True
    known: bool = True


EXACT = ReplyForm()
"""The form for hosts that accept every schema."""


class ReplyShape(NamedTuple):
    unit: VerdictUnit
    sentences: int
    chunks: int


class Stated(NamedTuple):
    """A statement in a judge's reply; `sentence_ids` start at 0 and may be empty."""

    text: str
    sentence_ids: tuple[int, ...] = ()
    verdict: bool | None = None
    reasoning: str | None = None
    chunk_ids: tuple[int, ...] = ()
    because: str | None = None


class KeyedVerdict(BaseModel):
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
    statement: StatementText
    reasoning: str
    verdict: KeyedVerdict


class KeyedSentence(BaseModel):
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
    """A reply with a key for each sentence; a subclass is built for each row."""

    shape: ClassVar[ReplyShape]
    verdict_name: ClassVar[str]
    _schema: ClassVar[Mapping[str, Any]]

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the schema sent to the judge."""
        return dict(cls._schema)

    @classmethod
    def for_host(cls, form: ReplyForm) -> type[Self]:
        """Return a class that reads the same replies, with a schema suited to the host."""
        return cls if form == EXACT else _in_form(cls, form)  # type: ignore[return-value]  # a subclass

    @model_validator(mode="after")
    def _is_of_this_form(self, info: ValidationInfo) -> Self:
        if facts_of(info) is not None and not self.model_fields_set:
            keys = ", ".join(_keys(self.shape))
            raise PydanticCustomError("reply_form", "missing: {keys}", {"keys": keys})
        return self

    def claims(self, sentences: Sequence[str]) -> list[Stated]:
        """Return all verdicts, in order; a verdict without a claim covers the whole sentence."""
        found = []
        statements = getattr(self, "statements", None)
        for one in statements or ():
            ids, verdict = tuple(one.supporting_chunk_ids), getattr(one, self.verdict_name)
            found.append(Stated(one.statement, (), verdict, one.reasoning, ids))
        if statements is None and self.shape.unit == "answer":
            found.append(_stated(sentences[0], 0, self))
        for number, one in self._sentences():
            if one.verdict is not None:
                found.append(_stated(sentences[number], number, one))
            found += [_stated(claim.statement, number, claim) for claim in one.claims or ()]
        return found

    @property
    def passed_over(self) -> dict[int, str]:
        """Why sentences have no claims, keyed by sentence id."""
        return {n: one.claims_nothing for n, one in self._sentences() if one.claims_nothing}

    def _sentences(self) -> Iterator[tuple[int, KeyedSentence]]:
        given = vars(self)
        for number in range(self.shape.sentences):
            if (one := given.get(f"s{number}")) is not None:
                yield number, one


def _stated(text: str, sentence_id: int, judged: Any) -> Stated:
    ids = tuple(dict.fromkeys(judged.verdict.supported_by or ()))
    because = None if ids else judged.verdict.not_supported_because
    return Stated(text, (sentence_id,), bool(ids), judged.reasoning, ids, because)


@lru_cache(maxsize=512)
def keyed_reply(result: type[ByStatement], shape: ReplyShape) -> type[KeyedReply]:
    """Build the reply model for a row; it also accepts a list of statements."""
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
    shape = model.shape
    if form.padded:
        sentences = next(size for size in _PADDED_SENTENCES if size >= shape.sentences)
        chunks = _PADDED_CHUNKS if shape.chunks <= _PADDED_CHUNKS else 0
        shape = ReplyShape(shape.unit, sentences, chunks)
    made: type[KeyedReply] = type(model.__name__, (model,), {"__module__": __name__})
    made._schema = _schema(shape, form)
    return made


def _keys(shape: ReplyShape) -> list[str]:
    if shape.unit == "answer":
        return ["reasoning", "verdict"]
    return [f"s{number}" for number in range(shape.sentences)]


@lru_cache(maxsize=512)
def _schema(shape: ReplyShape, form: ReplyForm) -> Mapping[str, Any]:
    """Return the schema for a reply; each alternative starts with a different key."""
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
    required = shape.sentences
    if form.padded:
        # Every answer that gets this padded size has more sentences than the next smaller size.
        place = _PADDED_SENTENCES.index(required)
        required = 1 + (_PADDED_SENTENCES[place - 1] if place else 0)
    keys = {key: named if n < required else or_none for n, key in enumerate(_keys(shape))}
    return {**_object(**keys), "$defs": {"v": verdict, "s": sentence}}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
