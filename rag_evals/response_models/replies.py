"""What may a judge reply, sentence by sentence, and do its statements say what the answer says?

The reply model is made for the row. A host that constrains decoding cannot leave a sentence out,
name a chunk that does not exist, or give a verdict without evidence; for any other host the same is
checked when the reply is read.

A judge that corrects, adds, drops, repeats or translates grades another answer than the one it was
given. The guard compares the words of its statements with the answer, and names the faults. What
comes of a fault is up to `rag_evals.grading.guarding`: it is asked again once, and what stays is
unverified.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ValidationInfo, create_model, model_validator
from pydantic_core import PydanticCustomError

from rag_evals.core import ChunkId, StatementText, facts_of
from rag_evals.response_models.statements import ByStatement
from rag_evals.text import (
    DENIES,
    Word,
    expand_dates,
    is_name_at,
    normalise_numbers,
    numbers_of,
    plain_form,
    script_of,
    split_sentences,
    words,
)

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


# Fewer than one sentence in two thousand was broken into more by people.
MOST_STATEMENTS = 20
# At least this share of a statement's words stands in the answer or the question.
_LEAST_SHARED = 0.3
# Names and numbers outlive a translation; other words do not.
_LEAST_OF_TRANSLATED = 0.7
_FEW_WORDS = 2
# Of the words that the answer lacks, and of all: what makes a statement one of the context.
_SHARE_OF_CONTEXT = 0.75
_LEAST_FOREIGN = 0.25
# The same for one that is a chunk's sentence word for word.
_WHOLE, _LEAST_OF_COPY = 0.95, 0.12
# A statement of a sentence has at least this share of its words, where no id says whose it is.
_LEAST_COVERED = 0.3
# "US", "TV": they stand for what the answer writes out. "Argentinian" is "Argentine".
_LONGEST_SHORT_NAME, _ROOT = 3, 5
# "One part is …", "his first film": hardly numbers.
_ARTICLES = frozenset(("0", "1"))
# "Der Turm wurde 1889 in Paris gebaut" has one word in seven that is a function word in English.
# "[1]", "[2, 3]": citations.
_MARKS = re.compile(r"[\[【]\d{1,3}(?:[ ]?[,;–—-][ ]?\d{1,3})*[\]】]")
_FEW_STOPS, _MANY_STOPS, _LEAST_WORDS = 0.15, 0.25, 5

DRIFT_NAMES = (
    "changed number",
    "changed name",
    "lost number",
    "lost name",
    "lost negation",
    "added negation",
    "other language",
    "other words",
    "of the context",
    "too many statements",
    "merged",
    "two verdicts",
    "left out",
    "long sentence",
)
"""What a fault begins with; a run's summary counts warnings by these."""


class Stated(NamedTuple):
    """One statement that a judge made of sentences.

    Attributes:
        text: Its words.
        sentence_ids: The sentences that the judge names, from 0; empty where it names none.
        verdict: Whether it holds; None where the reply does not say.
    """

    text: str
    sentence_ids: tuple[int, ...] = ()
    verdict: bool | None = None


class Fault(NamedTuple):
    """How a statement, or the statements of a sentence, differ from the answer.

    Attributes:
        name: One of `DRIFT_NAMES`.
        told: What is wrong, in words that a judge can act on.
        statement: Its place in the reply; None for a fault of a sentence.
        sentence: The sentence of which something is missing; None for a fault of a statement.
    """

    name: str
    told: str
    statement: int | None = None
    sentence: int | None = None

    def __str__(self) -> str:
        """Return what a result's warning says."""
        return f"{self.name}: {self.told}"


@dataclass(frozen=True, eq=False)
class Guard:
    """What code knows of the text that statements are of.

    Attributes:
        sentences: Of the answer, or of the reference.
        question: What it answers, or None.
        chunks: Texts of the context, from which a statement may be copied.
        claiming: Returns the ids of the sentences that claim something, as code reads them.
    """

    sentences: Sequence[str]
    question: str | None = None
    chunks: Sequence[str] = ()
    claiming: Callable[[], Collection[int]] = field(default=tuple)

    def faults(self, statements: Sequence[Stated], passed_over: Iterable[int] = ()) -> list[Fault]:
        """Compare statements with the sentences.

        Args:
            statements: Of a reply; those without ids are compared with the whole text.
            passed_over: Ids of the sentences that the judge says claim nothing; where no statement
                names a sentence, those that it did not speak of are found by their words.
        """
        if statements and all(one.sentence_ids for one in statements):
            placed, left_out = statements, set(passed_over)
        else:
            placed, left_out = self._placed(statements)
        found = [
            fault
            for place, one in enumerate(placed)
            if not self._is_word_for_word(one)
            for fault in self._of_statement(place, one, is_named=bool(statements[place][1]))
        ]
        by_sentence: dict[int, list[Stated]] = {}
        for one in placed:
            for number in set(one.sentence_ids):
                by_sentence.setdefault(number, []).append(one)
        # Where code found the sentences, a statement may be of another one.
        is_named = placed is statements
        every = "" if is_named else " ".join(one.text for one in placed)
        for number, own in sorted(by_sentence.items()):
            if len(own) > MOST_STATEMENTS:
                told = f"sentence {number} has {len(own)}; at most {MOST_STATEMENTS}"
                found.append(Fault("too many statements", told, None, number))
            if not any(map(self._is_word_for_word, own)):
                found += _of_sentence(number, self.sentences[number], own, every)
        if left_out:
            found += [
                Fault(
                    "left out",
                    f"sentence {number} claims something; say what, with a verdict",
                    None,
                    number,
                )
                for number in sorted(left_out.intersection(self.claiming()))
            ]
        return found

    def are_sentences(self, statements: Sequence[Stated]) -> bool:
        """Say whether statements are the sentences as they stand, each once."""
        return len(statements) == len(self.sentences) and all(
            one.sentence_ids == (number,) and one.text == self.sentences[number]
            for number, one in enumerate(statements)
        )

    def place(self, text: str) -> int | None:
        """Return the sentence with which a statement shares most words; None where with none."""
        own = _content(text)
        shares = [len(own & known) for known in self._contents]
        best = max(shares, default=0)
        return shares.index(best) if best else None

    def _placed(self, statements: Sequence[Stated]) -> tuple[list[Stated], set[int]]:
        """Find the sentences of statements without ids, and the sentences without a statement."""
        placed = []
        said: list[set[str]] = [set() for _ in self.sentences]
        for one in statements:
            own = _content(one.text)
            number = self.place(one.text)
            placed.append(Stated(one.text, () if number is None else (number,)))
            for n, known in enumerate(self._contents):
                if n == number or len(own & known) >= _LEAST_COVERED * len(own):
                    said[n] |= own & known
        covered = {
            n
            for n, known in enumerate(self._contents)
            if len(said[n]) >= _LEAST_COVERED * len(known)
        }
        return placed, set(range(len(self.sentences))) - covered

    @cached_property
    def _contents(self) -> list[frozenset[str]]:
        return [_content(sentence) for sentence in self.sentences]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset().union(*self._contents, _content(self.question or ""))

    @cached_property
    def _keys(self) -> set[str]:
        return {word.key for text in (*self.sentences, self.question or "") for word in words(text)}

    @cached_property
    def _numbers(self) -> set[str]:
        return numbers_of(" ".join(self.sentences)) | numbers_of(self.question or "") | _ARTICLES

    @cached_property
    def _of_context(self) -> list[frozenset[str]]:
        return [_content(one.text) for chunk in self.chunks for one in split_sentences(chunk)]

    def _is_word_for_word(self, one: Stated) -> bool:
        return any(one.text == self.sentences[number] for number in one.sentence_ids)

    def _of_statement(self, place: int, one: Stated, *, is_named: bool) -> Iterator[Fault]:
        named = " ".join(self.sentences[number] for number in one.sentence_ids)
        ids = ", ".join(map(str, one.sentence_ids))
        whose = f"sentence {ids}" if is_named else "the answer"
        this = f"statement {one.text!r}"
        known = self._numbers if not is_named else numbers_of(f"{named} {self.question or ''}")
        if numbers := sorted(numbers_of(one.text) - known - _ARTICLES):
            yield Fault(
                "changed number",
                f"{this} has {', '.join(numbers)}, which {whose} does "
                "not say; keep the answer's numbers, right or wrong",
                place,
            )
        script, expected = script_of(one.text), script_of(named)
        if script and expected and script != expected:
            yield Fault(
                "other language",
                f"{this} is in another script than {whose}; keep its language",
                place,
            )
            return
        if names := self._added_names(one.text):
            yield Fault(
                "changed name",
                f"{this} has {', '.join(names)}, which the answer does not "
                "say; keep the answer's names, right or wrong",
                place,
            )
        if _denies(one.text) and named and not _denies(named):
            yield Fault("added negation", f"{this} denies what {whose} says", place)
        yield from self._other_words(place, one, named, this, whose)

    def _added_names(self, text: str) -> list[str]:
        sequence = words(text)
        return [
            word.surface
            for place, word in enumerate(sequence)
            if word.kind == "word"
            and not (word.surface.isupper() and len(word.surface) <= _LONGEST_SHORT_NAME)
            and word.key not in self._keys
            and is_name_at(sequence, place)
            and not any(key.startswith(word.key[:_ROOT]) for key in self._keys)
        ]

    def _other_words(
        self, place: int, one: Stated, named: str, this: str, whose: str
    ) -> Iterator[Fault]:
        own = _content(one.text)
        missing = own - self._known
        asked = _content(f"{named} {self.question or ''}")
        shared = len(own & asked)
        if own and not shared:
            yield Fault("other words", f"{this} shares no word with {whose}", place)
        elif len(own) >= _FEW_WORDS and len(own) - len(missing) < _LEAST_SHARED * len(own):
            yield Fault("other words", f"{this} says hardly anything of what {whose} says", place)
        elif (
            shared < _LEAST_OF_TRANSLATED * len(own)
            and _stops(one.text) < _FEW_STOPS
            and _stops(named) >= _MANY_STOPS
        ):
            yield Fault(
                "other language", f"{this} has no small words of {whose}; keep its language", place
            )
        elif self._is_of_context(own, len(missing), shared):
            yield Fault(
                "of the context",
                f"{this} says what a chunk says, and not what {whose} "
                "says; give the answer's own claims",
                place,
            )

    def _is_of_context(self, own: frozenset[str], missing: int, shared: int) -> bool:
        """Say whether a statement has the words of a chunk's sentence, and not of the answer.

        Args:
            own: Its words.
            missing: How many of them the answer and the question lack.
            shared: How many of them its own sentence and the question have.
        """
        if len(own) <= _FEW_WORDS or (missing < _FEW_WORDS and 2 * shared >= len(own)):
            return False
        most = max((len(own & known) for known in self._of_context), default=0)
        lacks = missing >= max(_FEW_WORDS, _LEAST_FOREIGN * len(own))
        if most >= _WHOLE * len(own):
            return lacks or missing >= _LEAST_OF_COPY * len(own) or 2 * shared < len(own)
        return lacks and most >= _SHARE_OF_CONTEXT * len(own)


def _of_sentence(number: int, sentence: str, own: Sequence[Stated], every: str) -> Iterator[Fault]:
    sentence = _MARKS.sub("", sentence)
    said = " ".join(one.text for one in own)
    if script_of(said) != script_of(sentence):
        return
    if lost := sorted(numbers_of(sentence) - numbers_of(f"{said} {every}") - _ARTICLES):
        yield Fault(
            "lost number", f"no statement of sentence {number} has {', '.join(lost)}", None, number
        )
    keys = {word.key for word in words(f"{said} {every}")}
    # One word of a name may go ("Ann Field" is "Field"); a whole name is a claim that goes.
    names = _names(sentence)
    missing = [
        name
        for place, (name, parts) in enumerate(names)
        if not (parts.difference(*(p for n, (_, p) in enumerate(names) if n != place)) or parts)
        & keys
    ]
    if missing:
        yield Fault(
            "lost name",
            f"no statement of sentence {number} has {', '.join(missing[:3])}",
            None,
            number,
        )
    if _denies(sentence) and not _denies(said):
        yield Fault(
            "lost negation",
            f"sentence {number} denies something, and no statement of it does",
            None,
            number,
        )


def distinct(statements: Sequence[Stated]) -> tuple[list[int], list[Fault]]:
    """Find statements that say the same of the same sentences in the same words.

    Returns:
        The places of the first of each, in order, and a fault for each that came repeatedly; with
        its place where its verdicts differ.
    """
    places: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for place, one in enumerate(statements):
        text = plain_form(one.text).casefold()
        places.setdefault((text, tuple(sorted(set(one.sentence_ids)))), []).append(place)
    repeated = []
    for first, *others in filter(lambda same: len(same) > 1, places.values()):
        said = f"statement {statements[first].text!r} was given {len(others) + 1} times"
        if {statements[place].verdict for place in others} == {statements[first].verdict}:
            repeated.append(Fault("merged", said))
        else:
            repeated.append(Fault("two verdicts", f"{said}, with different verdicts", first))
    return sorted(same[0] for same in places.values()), repeated


def _stops(text: str) -> float:
    """Return the share of English and Russian function words; short texts have no telling one."""
    sequence = words(text)
    if len(sequence) < _LEAST_WORDS:
        return _MANY_STOPS
    return sum(word.kind == "stop" for word in sequence) / len(sequence)


def _names(text: str) -> list[tuple[str, set[str]]]:
    """Return the names of a sentence: runs of capitalised words, each with its keys."""
    sequence = words(text)
    names: list[tuple[str, set[str]]] = []
    last = -2
    for n, word in enumerate(sequence):
        if word.kind == "word" and is_name_at(sequence, n):
            if last == n - 1:
                name, keys = names.pop()
                names.append((f"{name} {word.surface}", keys | {word.key}))
            else:
                names.append((word.surface, {word.key}))
            last = n
    return names


def _denies(text: str) -> bool:
    return any(word.marks & DENIES for word in words(text))


@lru_cache(maxsize=4096)
def _content(text: str) -> frozenset[str]:
    sequence: list[Word] = normalise_numbers(words(expand_dates(text)))
    return frozenset(word.key for word in sequence if word.kind in ("word", "number"))
