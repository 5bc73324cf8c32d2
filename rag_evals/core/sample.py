"""Samples: rows to grade, built from objects that many libraries return."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

from pydantic_core import from_json, to_json

from rag_evals.core.hashes import fingerprint, fingerprint_of_texts
from rag_evals.errors import DataError
from rag_evals.text import shortened, split_sentences

_MOST_SHOWN = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES = ("content", "response", "output_text", "output", "answer", "result", "data", "text")
_NAMES_OF_MESSAGES = ("content", "text")
_ASKING = ("user", "human")
_PARTS = ("text", "input_text", "output_text", "message")


def required_text(value: object, place: str) -> str:
    """Return a string unchanged; raise `DataError` for other types and for lone surrogates."""
    if not isinstance(value, str):
        raise DataError(f"{place} is {shown(value)}; expected text")
    # A lone surrogate is half of a UTF-16 pair; `json.loads` accepts it.
    if not value.isascii() and (lone := _SURROGATE.search(value)):
        raise DataError(
            f"{place} has a lone surrogate {lone.group()!a} at character {lone.start()}; "
            "it cannot be sent as UTF-8"
        )
    return value


def text_of(value: object, place: str) -> str:
    """Return the text of a reply object from any supported library.

    It may be a string, a message (`AIMessage`, `ChatMessage`, or a mapping with `content` or a list
    of parts), LlamaIndex's `Response`, OpenAI's `ChatCompletion` or `Response`, pydantic-ai's
    `AgentRunResult`, Haystack's `GeneratedAnswer`, or a list with one of them. A question may be a
    string, a message, or a list of messages with a single user message.

    Raises:
        DataError: The object contains no text, or several different texts.
    """
    if isinstance(value, str):
        return required_text(value, place)
    names: Sequence[str] = _NAMES
    expected = "text"
    if place == "question":
        names, expected = _NAMES_OF_MESSAGES, "text or a message; for a row, use Sample(**row)"
        value = _asked(value)
    found = _inner_text(value, names, levels=6)
    if found is None:
        raise DataError(f"{place} is {shown(value)}; expected {expected}")
    # An object with both `question` and `content` is a row, not a message.
    several = _texts_of_fields(value, ("question", *_NAMES) if place == "question" else names)
    if len(set(several.values())) > 1:
        raise DataError(
            f"{place} has several texts, in {' and '.join(map(repr, several))}; pass the one you "
            "mean"
        )
    return required_text(found, place)


def _asked(value: Any) -> Any:
    if isinstance(value, list | tuple):
        roles = [field_of(one, "role") or field_of(one, "type") for one in value]
        asking = [one for one, role in zip(value, roles, strict=True) if role in _ASKING]
        return asking[0] if len(asking) == 1 else value
    return value


def _texts_of_fields(value: Any, names: Sequence[str]) -> dict[str, str]:
    own: Any = value
    if not isinstance(value, Mapping):
        own = (*getattr(value, "__dict__", ()), *getattr(value, "__dataclass_fields__", ()))
    found = {
        name: _inner_text(field_of(value, name), _NAMES, levels=5) for name in names if name in own
    }
    return {name: text for name, text in found.items() if text}


def shown(value: object) -> str:
    written = ascii(value)
    cut = written if len(written) <= _MOST_SHOWN else written[: _MOST_SHOWN - 3] + "..."
    return f"{cut} ({type(value).__name__})"


def field_of(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return thing.get(name)
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - a property may raise anything; treat it as missing
        return None


def _inner_text(value: Any, names: Sequence[str], *, levels: int) -> str | None:
    if isinstance(value, str):
        return value
    if value is None or levels == 0:
        return None
    if isinstance(value, Sequence):
        return _of_list(value, names, levels=levels)
    choices = field_of(value, "choices")
    if isinstance(choices, Sequence) and len(choices) == 1:
        message = field_of(choices[0], "message")
        if message is not None and field_of(message, "content") is None:
            return ""  # a message that contains only tool calls is not an answer
        return _inner_text(message, names, levels=levels - 1)
    for name in names:
        inner = field_of(value, name)
        if inner is not None and not callable(inner):
            return _inner_text(inner, names, levels=levels - 1)
    return None


def _of_list(values: Sequence[Any], names: Sequence[str], *, levels: int) -> str | None:
    """Join the text parts of a message, or return the only reply in a list."""
    kinds = [field_of(one, "type") for one in values]
    is_message = len(values) == 1 and field_of(values[0], "content") is not None
    if values and not is_message and all(isinstance(kind, str) for kind in kinds):
        parts = [
            _inner_text(one, names, levels=levels - 1)
            for one, kind in zip(values, kinds, strict=True)
            if kind in _PARTS
        ]
        return None if None in parts else "".join(part for part in parts if part)
    return _inner_text(values[0], names, levels=levels - 1) if len(values) == 1 else None


ContextInput = str | Iterable[Any] | None
"""A string, a list of chunks from any retriever, a whole search response, or a serialised list.

A chunk is a string, a mapping or object with a text field (`TEXT_NAMES`), or a (chunk, score) pair.
"""

TEXT_NAMES = ("text", "page_content", "content", "passage", "document.content", "chunk", "snippet")
"""Fields in which retrievers store a chunk's text; the first one present is used."""

_INNER_NAMES = ("node", "document", "_source")
_METADATA_NAMES = ("metadata", "meta")
_KEPT_NAMES = {
    "score": "score",
    "_score": "score",
    "id": "id",
    "_id": "id",
    "node_id": "id",
    "doc_id": "id",
}
_PAIR = 2
# How printed Python lists start; any other text in brackets is plain text.
_LIST_BEGINS = ("['", '["', "[{'", '[{"', "[('", '[("', "[]")
_LONGEST_LIST = 50_000_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """One retrieved passage.

    Attributes:
        id: Position in the context, from 0; judges cite chunks by id.
        text: The passage, unchanged.
        metadata: Everything else that the retriever returned, including its `score` and `id`;
            prompts may show it.
    """

    id: int
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        more = f", metadata={shortened(str(self.metadata), 60)}" if self.metadata else ""
        return f"Chunk({self.id}, {shortened(self.text, 60)!r}{more})"


def chunks_from(context: ContextInput) -> tuple[Chunk, ...]:
    """Return the chunks of a context, numbered from 0.

    A string is one chunk, unless it contains a list in JSON or Python syntax. None means no chunks.
    Responses from Chroma and Elasticsearch are accepted.

    Raises:
        DataError: An element does not contain text.
    """
    if context is None:
        return ()
    if isinstance(context, str):
        listed = _listed(context)
        if listed is None:
            return (Chunk(0, required_text(context, "context")),)
        context = listed
    if type(context) in (list, tuple):
        return tuple([_chunk(number, element) for number, element in enumerate(context)])
    body = getattr(context, "body", context)  # Elasticsearch's client wraps the response
    if isinstance(body, Mapping):
        context = _of_reply(body)
    # A zero-dimensional array has `__iter__` but cannot be iterated over.
    is_scalar = getattr(context, "shape", None) == ()
    if not isinstance(context, Iterable) or isinstance(context, bytes) or is_scalar:
        raise DataError(f"context is {shown(context)}; expected text or a list of texts")
    return tuple(_chunk(number, element) for number, element in enumerate(context))


def _of_reply(reply: Mapping[str, Any]) -> Iterable[Any]:
    """Return the chunks in a search response; any other mapping is one chunk."""
    hits = reply.get("hits")
    if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
        return list(hits["hits"])
    if isinstance(reply.get("documents"), list) and isinstance(reply.get("ids"), list):
        return _of_chroma(reply)
    return [reply]


def _of_chroma(reply: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    columns = {
        "text": reply["documents"],
        "id": reply["ids"],
        "metadata": reply.get("metadatas"),
        "distance": reply.get("distances"),
    }
    if any(isinstance(one, list) for one in reply["ids"]):
        if len(reply["ids"]) != 1:
            raise DataError(
                f"context has results of {len(reply['ids'])} queries; pass only those for this row"
            )
        columns = {name: values[0] if values else None for name, values in columns.items()}
    for place in range(len(columns["id"] or ())):
        found = {name: values[place] for name, values in columns.items() if values}
        yield {name: value for name, value in found.items() if value is not None}


def _listed(text: str) -> list[Any] | None:
    """Parse a list of chunks; return None for any other text."""
    bare = text.strip()
    if not (bare.startswith("[") and bare.endswith("]")) or len(bare) > _LONGEST_LIST:
        return None
    listed = _parse_list(bare)
    if listed is None:
        return None
    # "[1]" and "[2024, 2025]" are plain text.
    chunks = [one for one in listed if isinstance(one, str | Mapping) or _is_scored(one)]
    return listed if chunks or not listed else None


def _parse_list(text: str) -> list[Any] | None:
    """Parse a list in JSON or Python syntax; return None for any other text."""
    try:
        listed = from_json(text)
    except ValueError:
        listed = _listed_by_python(text) if text.startswith(_LIST_BEGINS) else None
    return listed if isinstance(listed, list) else None


def _listed_by_python(text: str) -> Any:
    import ast  # noqa: PLC0415 - rarely needed

    try:
        listed = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if _has_neighbours(text):
        raise DataError(
            f"context is {shown(text)}: a printed numpy array, which has no commas between its "
            "texts; save it as a list, as in array.tolist()"
        )
    return listed


def _has_neighbours(text: str) -> bool:
    """True if two string literals are adjacent, which Python would concatenate."""
    import io  # noqa: PLC0415 - as above
    import tokenize  # noqa: PLC0415 - as above

    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and before == tokenize.STRING:
            return True
        if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            before = token.type
    return False


def _chunk(number: int, element: object) -> Chunk:
    place = f"context[{number}]"
    if isinstance(element, str):
        return Chunk(number, required_text(element, place))
    if isinstance(element, Chunk):
        return Chunk(number, required_text(element.text, place), element.metadata)
    score = None
    if _is_scored(element):
        element, score = element  # type: ignore[misc]  # checked above: a pair
    found = _parts(element, place)
    if found is None:
        raise DataError(
            f"{place} is {shown(element)}; expected text, or an object with a field "
            f"{', '.join(map(repr, TEXT_NAMES[:-1]))} or {TEXT_NAMES[-1]!r}"
        )
    text, metadata = found
    return Chunk(number, text, metadata if score is None else {"score": score, **metadata})


def _is_scored(element: object) -> bool:
    """True for a (chunk, score) pair, as returned by vector stores."""
    if not isinstance(element, Sequence) or isinstance(element, str | bytes):
        return False
    return (
        len(element) == _PAIR and isinstance(element[1], Real) and not isinstance(element[0], Real)
    )


def _parts(element: object, place: str) -> tuple[str, dict[str, Any]] | None:
    if isinstance(element, str):
        return required_text(element, place), {}
    for name in _INNER_NAMES:
        inner = field_of(element, name)
        if inner is not None and not isinstance(inner, str):
            found = _parts(inner, f"{place}.{name}")
            if found is not None:
                return found[0], _metadata(element, {name}) | found[1]
    for name in (*TEXT_NAMES, *_INNER_NAMES):
        text = field_of(element, name)
        # An object's attribute that is not text may be a method; a mapping's value must be text.
        if text is not None and (isinstance(text, str) or isinstance(element, Mapping)):
            return required_text(text, f"{place}.{name}"), _metadata(element, {name})
    return None


def _metadata(values: object, used: set[str]) -> dict[str, Any]:
    if isinstance(values, Mapping):
        rest = {key: value for key, value in values.items() if key not in used}
    else:
        known = {name: field_of(values, name) for name in (*_METADATA_NAMES, *_KEPT_NAMES)}
        rest = {
            name: value
            for name, value in known.items()
            if isinstance(value, Mapping if name in _METADATA_NAMES else str | int | float)
        }
    inner: dict[str, Any] = {}
    for name in _METADATA_NAMES:
        if isinstance(rest.get(name), Mapping):
            inner |= dict(rest.pop(name))
    return {
        _KEPT_NAMES.get(key, key): value
        for key, value in rest.items()
        if not (isinstance(value, float) and math.isnan(value))
    } | inner


_ID_DIGITS = 16

TextInput = str | object | None
"""A string, or a library's reply object, such as `AIMessage`."""


RelevantIds = str | int | Iterable[str | int] | None
"""A chunk id, a list of ids, or a serialised list."""


def _ids_from(value: RelevantIds) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        listed = _parse_list(value.strip())
        value = [value] if listed is None else listed
    given = list(value) if isinstance(value, Iterable) else [value]
    for one in given:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise DataError(f"relevant_ids contains {shown(one)}; expected text or whole numbers")
    return tuple(required_text(str(one), "relevant_ids") for one in given)


_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "AIMessageChunk", "model"), "assistant"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("function_call_output", "file_search_call"), "tool"),
    # Instructions and tool calls are neither questions nor sources.
    **dict.fromkeys(("system", "developer", "function_call", "reasoning"), "none"),
    **dict.fromkeys(("web_search_call", "mcp_call", "custom_tool_call"), "none"),
}
# Message parts with tool output, and the fields that contain the output.
_TOOL_OUTPUTS = ("tool_result", "tool_call_response", "function_call_output", "file_search_call")
_OUTPUT_NAMES = ("output", "response", "result", "results", "content")
_SAYING = {"user": "question", "assistant": "reply"}
_OWN_SOURCES = ("context", "contexts", "sources", "documents")
_REFERS_BACK = re.compile(
    r"\b(?:it|its|he|she|they|them|their|his|her|him|this|that|these|those|there|ones?|others?|same|"
    r"он|она|оно|они|его|её|ее|их|им|ему|ей|нём|нем|ней|них|это|этот|эта|эти|этого|этой|этих|там|"
    r"туда|тот|та|те)\b|^\W*(?:and|but|or|so|then|what about|how about|а|и|но)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply in a conversation.

    Attributes:
        question: The user's messages since the previous reply, or None.
        context: Sources available to this reply: chunks and tool outputs.
    """

    question: str | None
    answer: str
    context: tuple[Chunk, ...] = ()

    @property
    def said(self) -> str:
        """The user's sentences that are not questions; may be empty."""
        spans = split_sentences(self.question or "")
        return "\n".join(one.text for one in spans if not one.text.rstrip(" \"'»”)").endswith("?"))


def _turns_in(messages: Sequence[Any]) -> tuple[list[Turn], list[str]]:
    """Split messages into complete turns and the user messages that follow the last reply."""
    turns: list[Turn] = []
    asked: list[str] = []
    said: list[str] = []
    sources: list[Chunk] = []
    for number, message in enumerate(messages):
        for kind, value in _events(message, f"turns[{number}]"):
            if kind == "source":
                sources += value
            elif kind == "reply":
                said.append(value)
            else:
                if said:
                    turns.append(_turn(asked, said, sources))
                    asked, said, sources = [], [], []
                asked.append(value)
    if said:
        turns.append(_turn(asked, said, sources))
        asked = []
    return turns, asked


def _turn(asked: list[str], said: list[str], sources: list[Chunk]) -> Turn:
    return Turn("\n\n".join(asked) or None, "\n\n".join(said), chunks_from(sources))


def _events(message: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a message in order: its sources as chunks, its question or its reply."""
    named, role, content = _role_and_content(message)
    if role is None:
        role, content = "assistant", field_of(message, "answer")
        if content is None:
            raise DataError(
                f"{place} is {shown(message)}; expected a message with a role, such as user, "
                "assistant or tool, or a mapping with question, answer and context"
            )
        if (question := field_of(message, "question")) is not None:
            yield "question", text_of(question, f"{place}.question")
    for name in _OWN_SOURCES:
        if (own := field_of(message, name)) is not None and not callable(own):
            yield "source", chunks_from(own)
    parts = content if isinstance(content, list | tuple) else ()
    outputs = [part for part in parts if field_of(part, "type") in _TOOL_OUTPUTS]
    if role == "tool" and not outputs:
        outputs = [message if named in _TOOL_OUTPUTS else {"output": content}]
    for output in outputs:
        yield "source", _tool_output(output)
    if outputs:
        content = [part for part in parts if part not in outputs]
    text = _inner_text(content, _NAMES_OF_MESSAGES, levels=6) if content else ""
    if role in _SAYING and required_text(text, place).strip():
        yield _SAYING[role], text


def _role_and_content(message: Any) -> tuple[str, str | None, Any]:
    """Return a message's type, role and content; the role is None if the type is unknown."""
    if isinstance(message, tuple) and len(message) == _PAIR:
        return "", _ROLES.get(message[0]), message[1]
    named = field_of(message, "role") or field_of(message, "type")
    named = str(getattr(named, "value", named))
    # LangChain's two JSON formats for messages.
    inner = field_of(message, "data") or field_of(message, "kwargs")
    if isinstance(inner, Mapping) and "content" in inner:
        return "", _ROLES.get(str(inner.get("type") or named)), inner["content"]
    found = (field_of(message, name) for name in ("content", "parts", "text"))
    return named, _ROLES.get(named), next((one for one in found if one is not None), None)


def _tool_output(item: Any) -> tuple[Chunk, ...]:
    found = (field_of(item, name) for name in _OUTPUT_NAMES)
    output = next((one for one in found if one is not None), "")
    text = _inner_text(output, _NAMES_OF_MESSAGES, levels=6)
    if text is None and not isinstance(output, list | tuple):
        text = to_json(output, fallback=str).decode()
    chunks = chunks_from(output if text is None else text)
    return tuple(chunk for chunk in chunks if chunk.text.strip())


def _asked_in(turns: Sequence[Turn], last: int) -> str | None:
    """Return a turn's question, preceded by the earlier questions that it refers to."""
    found: list[str] = []
    for turn in turns[last::-1]:
        if turn.question is not None:
            found.insert(0, turn.question)
            if not _REFERS_BACK.search(turn.question):
                break
    return "\n".join(found) or None


def _read_conversation(
    turns: Any, question: Any, answer: Any, context: ContextInput
) -> tuple[tuple[Turn, ...], str | None, str | None, tuple[Chunk, ...]]:
    """Return the turns, last question, transcript and sources of a conversation."""
    messages = _listed(turns) if isinstance(turns, str) else turns
    if not isinstance(messages, list | tuple):
        raise DataError(f"turns is {shown(turns)}; expected a list of messages")
    found, asked = _turns_in(messages)
    if answer is not None:
        replies: Any = answer if isinstance(answer, list) else _listed(str(answer))
        replies = replies or [("assistant", text_of(answer, "answer"))]
        if question is not None and text_of(question, "question") not in asked:
            messages = [*messages, ("user", text_of(question, "question"))]
        found, asked = _turns_in([*messages, *replies])
    if shared := chunks_from(context):
        found = [replace(one, context=chunks_from([*shared, *one.context])) for one in found]
    asked_last = _asked_in(found, len(found) - 1) if found else None
    last = asked_last or "\n\n".join(asked) or None
    return tuple(found), last, transcript(found)[0] or None, _numbered(found) if found else shared


def transcript(turns: Sequence[Turn]) -> tuple[str, list[int]]:
    """Return the turns as text, with questions as Markdown quotes, and the offset of each reply."""
    text, starts = "", []
    for turn in turns:
        text += "\n\n" if text else ""
        if turn.question is not None:
            text += "\n".join(f"> {line}".rstrip() for line in turn.question.splitlines()) + "\n\n"
        starts.append(len(text))
        text += turn.answer
    return text, starts


def _numbered(turns: Sequence[Turn]) -> tuple[Chunk, ...]:
    """Return each distinct source or user statement, with the turns that contain it."""
    found: dict[str, tuple[list[str], Mapping[str, Any]]] = {}
    for number, turn in enumerate(turns, 1):
        said = [Chunk(0, turn.said, {"said_by": "user"})] if turn.said else []
        for chunk in (*said, *turn.context):
            places, _ = found.setdefault(chunk.text, ([], chunk.metadata))
            if str(number) not in places:
                places.append(str(number))
    return tuple(
        Chunk(id, text, {"turn": ", ".join(places), **metadata})
        for id, (text, (places, metadata)) in enumerate(found.items())
    )


@dataclass(frozen=True, slots=True, init=False)
class Sample:
    """One row to grade.

    Attributes:
        context: The retrieved chunks in the given order, numbered from 0.
        id: Identifies the row in results; if None, an id is derived from the content.
        turns: The turns of a conversation, whose transcript is `answer` and whose sources are
            `context`; empty for a single question.
    """

    question: str | None
    answer: str | None
    context: tuple[Chunk, ...]
    reference: str | None
    id: str | None
    language: str | None
    relevant_ids: tuple[str, ...] | None
    turns: tuple[Turn, ...]

    def __init__(
        self,
        *,
        question: TextInput = None,
        answer: TextInput = None,
        context: ContextInput = None,
        reference: TextInput = None,
        id: str | None = None,
        language: str | None = None,
        relevant_ids: RelevantIds = None,
        turns: Any = None,
    ) -> None:
        """Validate every field, and number the chunks.

        Args:
            question: The user's question; if there are turns, the question that follows them.
            answer: The RAG system's answer; if there are turns, the reply that follows them.
            context: The retrieved chunks; if there are turns, sources shared by all replies.
            reference: The correct answer, if known.
            id: Identifies the row in results.
            language: Two-letter code of the answer's language.
            relevant_ids: Ids of the chunks that a search should return.
            turns: Messages from OpenAI, Anthropic, LangChain or OpenTelemetry, optionally as JSON;
                or mappings with question, answer and context.

        Raises:
            DataError: A field does not contain text, or contains a lone surrogate.
        """
        talk: tuple[Turn, ...] = ()
        if turns is not None:
            talk, question, answer, context = _read_conversation(turns, question, answer, context)
        object.__setattr__(self, "turns", talk)
        for name, value in (("question", question), ("answer", answer), ("reference", reference)):
            object.__setattr__(self, name, None if value is None else text_of(value, name))
        for name, word in (("id", id), ("language", language)):
            object.__setattr__(self, name, None if word is None else required_text(word, name))
        object.__setattr__(self, "context", chunks_from(context))
        object.__setattr__(self, "relevant_ids", _ids_from(relevant_ids))

    def __repr__(self) -> str:
        names = ("id", "question", "answer", "reference", "language")
        texts = {name: text for name in names if (text := getattr(self, name))}
        parts = [f"{name}={shortened(text, 60)!r}" for name, text in texts.items()]
        if self.turns:
            parts.append(f"turns={len(self.turns)}")
        count = len(self.context)
        parts.append(f"context=[{count} chunk{'' if count == 1 else 's'}]")
        return f"Sample({', '.join(parts)})"

    def turn_sample(self, number: int, earlier: Sequence[str]) -> "Sample":
        """Return a turn as a sample; `number` starts at 0, and `earlier` contains extra sources."""
        turn = self.turns[number]
        said = [one.said for one in self.turns[: number + 1]]
        return Sample(
            question=_asked_in(self.turns, number),
            answer=turn.answer,
            context=[*turn.context, *filter(None, [*said, *earlier])],
            language=self.language,
        )

    def content_hash(self) -> str:
        """Return a 16-digit hexadecimal hash of the content, the same on every machine."""
        return fingerprint(*self._texts())[:_ID_DIGITS]

    def fingerprint(self) -> str:
        """Return a 16-digit hexadecimal hash of all texts, the language and the metadata.

        Raises:
            DataError: The metadata contains itself, or is nested too deeply.
        """
        more = [self.language, [dict(chunk.metadata) for chunk in self.context]]
        if not any(chunk.metadata for chunk in self.context):
            return fingerprint_of_texts(*self._texts(), *more)[:_ID_DIGITS]
        try:
            return fingerprint(*self._texts(), *more)[:_ID_DIGITS]
        except (ValueError, RecursionError) as error:
            raise DataError(f"the metadata of a chunk cannot be written as JSON: {error}") from None

    def _texts(self) -> list[Any]:
        more = [] if self.relevant_ids is None else [self.relevant_ids]
        texts = [chunk.text for chunk in self.context]
        return [self.question, self.answer, texts, self.reference, *more]
