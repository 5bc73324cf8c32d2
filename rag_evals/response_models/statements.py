"""What does a faithfulness grader say? Statements of the answer, each supported or not."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
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
    """A statement and its verdict."""

    statement: StatementText = Field(description="One claim.")
    reasoning: Reasoning = Field(
        default=None,
        description="Why, from the chunks.",
    )
    supporting_chunk_ids: OptionalList[ChunkId] = Field(
        default_factory=list,
        description="Empty list if unsupported.",
    )
    is_supported: bool = Field(description="The chunks alone show it.")
    sentence_id: ByCode[int | None] = Field(
        default=None, description="Its sentence in the answer, from 0; None where nobody knows."
    )
    start: ByCode[int | None] = Field(
        default=None, description="Where the sentence begins, in characters."
    )
    end: ByCode[int | None] = Field(
        default=None, description="Where the sentence ends, in characters."
    )
    fault: ByCode[str | None] = Field(
        default=None, description="Why it is unverified; None for every other statement."
    )

    @property
    def finding(self) -> Finding:
        """The statement as results show it."""
        return finding_of(self, "supported", verdict=self.is_supported, about="statement")


def finding_of(one: Any, word: str, *, verdict: bool, about: About) -> Finding:
    """Show a statement, its verdict and its place."""
    told = [f"{one.fault}."] if one.fault else []
    return Finding(
        text=one.statement,
        verdict=verdict,
        label=UNVERIFIED if one.fault else yes_or_no(word, verdict),
        reasoning=" ".join([*told, *filter(None, [one.reasoning])]) or None,
        chunk_ids=tuple(one.supporting_chunk_ids),
        sentence_ids=() if one.sentence_id is None else (one.sentence_id,),
        about=about,
        start=one.start,
        end=one.end,
    )


class NoClaimSentence(JudgeModel):
    """A sentence of the answer that claims nothing, such as a greeting or a question."""

    sentence_id: SentenceId = Field(description="The sentence's id, as given.")
    reason: str = Field(description="Why it claims nothing.")

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None and not self.reason.strip():
            raise ValueError(f"sentence {self.sentence_id} is left out without a reason")
        return self


class PassedOverSentence(NoClaimSentence):
    """A sentence of the answer that claims nothing, with its words, so nothing was decided.

    The reason is a judge's own words, or one of `rag_evals.verify.NoClaim`, such as `question`.
    """

    text: str = Field(description="The sentence.")


class TurnVerdict(BaseModel):
    """How one turn of a conversation ended."""

    turn: int = Field(description="Its number, from 1.")
    question: str | None = Field(default=None, description="What the user said before it.")
    statements: int = Field(default=0, description="Statements of the reply.")
    supported: int = Field(default=0, description="Those of them that count.")
    reason: NotScorableReason | None = Field(
        default=None, description="Why it has no score; None for one that has."
    )

    @property
    def score(self) -> float | None:
        """Statements that count divided by all; None where the turn has no score."""
        return self.supported / self.statements if self.statements and not self.reason else None

    @property
    def finding(self) -> Finding:
        """The turn as results show it, above its statements; it counts neither way."""
        label = self.reason or f"{self.supported} of {self.statements}"
        return Finding(f"turn {self.turn}", None, label, self.question, about="turn")


class Unread(BaseModel):
    """What of a context nobody read, because it is longer than the judge's window."""

    read: int = Field(description="Passages that were read: chunks, or parts of long ones.")
    passages: int = Field(description="All of them.")
    chunk_ids: list[int] = Field(description="The chunks that were not read, or not wholly.")
    turn: int | None = Field(default=None, description="Of a conversation, from 1.")

    def __str__(self) -> str:
        """Such as "read 14 of 60 passages; not read whole: chunks 2, 5-9"."""
        found: list[list[int]] = []
        for id in self.chunk_ids:
            if found and found[-1][-1] == id - 1:
                found[-1][1:] = [id]
            else:
                found.append([id])
        named = ", ".join("-".join(map(str, one)) for one in found)
        where = f" of turn {self.turn}" if self.turn else ""
        return (
            f"read {self.read} of {self.passages} passages{where}; not read whole: chunks {named}"
        )


class ByStatement(Result):
    """A result with a verdict for each statement of the answer, or of the reference.

    Attributes:
        statements_of: Whose statements they are.
        verdict_name: The field of a statement that says whether it counts.
    """

    statements_of: ClassVar[Literal["answer", "reference"]] = "answer"
    verdict_name: ClassVar[str] = "is_supported"

    # First, so that results are written in this order; subclasses say of what it is.
    statements: list[Any] = Field(description="In order.")
    no_claim_sentences: ByCode[list[Any]] = Field(
        default_factory=list, description="The sentences that claim nothing, with the reason."
    )
    drift: ByCode[list[str]] = Field(
        default_factory=list,
        description="How statements differ from their sentences, though asked again.",
    )
    left_out: ByCode[list[int]] = Field(
        default_factory=list,
        description="Ids of sentences that claim something, of which the judge says nothing.",
    )
    calls: ByCode[int] = Field(
        default=1, description="Calls in which a long answer was graded, re-asks left out."
    )
    unread: ByCode[list[Unread]] = Field(
        default_factory=list, description="What is longer than the judge's window, and unread."
    )
    turns: ByCode[list[TurnVerdict]] = Field(
        default_factory=list, description="Of a conversation, in order; else empty."
    )

    @property
    def score(self) -> float:
        """Statements that count divided by all, 0 to 1; 0.0 when there are none.

        A sentence that was left out counts as a statement without support.
        """
        verdicts = [getattr(one, self.verdict_name) for one in self.statements]
        total = len(verdicts) + len(self.left_out)
        return sum(verdicts) / total if total else 0.0

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """Sentences were left out, or nothing is claimed."""
        if self.left_out:
            return "answer_not_covered"
        return None if self.statements else "no_statements"

    @property
    def warnings(self) -> list[str]:
        """Verdicts that do not fit their chunk ids, drift, and several calls for one answer."""
        word = self.verdict_name.removeprefix("is_")
        found = []
        for number, one in enumerate(self.statements):
            counts, ids = getattr(one, self.verdict_name), one.supporting_chunk_ids
            if one.fault:
                continue
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
        """The first turn, from 1, that says something without support; None where none does."""
        return next(
            (one.turn for one in self.turns if (one.score or 1) < 1 or one.score == 0), None
        )

    @property
    def further_scores(self) -> Mapping[str, float]:
        """Of a conversation, the share of its turns that are supported throughout."""
        scores = [one.score for one in self.turns if one.score is not None]
        share = sum(score == 1 for score in scores) / len(scores) if scores else 0.0
        return {"supported_turns": share} if scores else {}

    def with_turns(self, found: Sequence[Finding]) -> tuple[Finding, ...]:
        """Put what is found of each turn of a conversation above its statements."""
        if not self.turns:
            return tuple(found)
        shown: list[Finding] = []
        if self.unsupported_since is not None:
            since = f"turn {self.unsupported_since}"
            shown.append(Finding("unsupported since", None, since, about="turn"))
        at = 0
        for turn in self.turns:
            shown += [turn.finding, *found[at : at + turn.statements]]
            at += turn.statements
        return tuple(shown)

    @classmethod
    def statement_type(cls) -> type[BaseModel]:
        """Return the class of its statements."""
        (kind,) = get_args(cls.model_fields["statements"].annotation)
        return kind  # type: ignore[no-any-return]  # of a list

    @classmethod
    def is_keyed(cls) -> bool:
        """Say whether a judge may answer sentence by sentence: it gives nothing but verdicts."""
        own = {"statement", "reasoning", "supporting_chunk_ids", cls.verdict_name}
        return fields_of_judge(cls).keys() == {"statements"} and (
            fields_of_judge(cls.statement_type()).keys() == own
        )


class FaithfulnessResult(ByStatement):
    """The statements of the answer."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    statements: list[StatementEvaluation] = Field(description="In order.")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each statement, supported or not."""
        return self.with_turns([statement.finding for statement in self.statements])

    @property
    def unsupported(self) -> Sequence[StatementEvaluation]:
        """The statements that the context does not support, in order."""
        return [s for s in self.statements if not s.is_supported]


def check_every_sentence(
    claimed: Collection[int], no_claim: Sequence[NoClaimSentence], facts: Mapping[str, Any]
) -> None:
    """Refuse a reply that does not say of each sentence either what it claims, or why nothing.

    Args:
        claimed: Ids of the sentences that gave a statement.
        no_claim: The sentences that the judge passed over.
        facts: What is known of the call.

    Raises:
        ValueError: Sentences that are in neither list, in both, or passed over twice; the judge is
            told which.
    """
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


def _count_statements(facts: Mapping[str, Any]) -> Collection[Any]:
    return range(facts["statement_count"])


def each_once(
    field: str,
    id_name: str,
    things: str = "statements",
    wanted: Callable[[Mapping[str, Any]], Collection[Any]] = _count_statements,
) -> Any:
    """Make the validator of a reply with one verdict for each numbered or named thing.

    Args:
        field: The list of verdicts.
        id_name: The field of a verdict that says whose it is, such as `statement_id`.
        things: What they are, in the plural.
        wanted: Returns the ids that the call asks about, from what is known of it.
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


# How a judge answers sentence by sentence: its reply has one key for each. The reply model is made
# for the row. A host that constrains decoding cannot leave a sentence out, name a chunk that does
# not exist, or give a verdict without evidence; for any other the same is checked on reading.

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
