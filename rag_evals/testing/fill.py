"""The default script, which labels by shared words."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

from rag_evals.testing.wire import Answer, HttpError, JudgeRequest

_SENTENCE = re.compile(r"[^.!?…。！？]+(?:[.!?…](?=\S)[^.!?…。！？]*)*[.!?…。！？]*")
_SENTENCE_KEY = re.compile(r"s\d+")
_CRITERION = re.compile(r"^- ([^:\n]+): ", re.MULTILINE)
_CITATION = re.compile(r"sentence (\d+), chunk (\d+)")
_DECLINES = re.compile(
    r"don't know|do not know|does not say|not sure|не знаю|не сказано", re.IGNORECASE
)


def fill_by_words(request: JudgeRequest) -> Answer:
    """Fill any response model from the request.

    The answer's sentences become statements, supported if one chunk has more than half of their
    words. Unknown fields get their first allowed value.
    """
    schema = request.schema
    if not schema:
        return HttpError(400, "the request asks for no schema")
    filled: dict[str, Any] = _fill(schema, schema)
    for name, text in zip(_keys(schema), request.sentences, strict=False):
        filled[name] = _keyed(text, request.chunks)
    if filled.keys() == {"reasoning", "verdict"}:
        filled = _keyed(request.answer or request.reference or "", request.chunks)
    for name in filled:
        if name in _FILLERS:
            filled[name] = _FILLERS[name](request)
    return filled


def _keys(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in schema.get("properties", {}) if _SENTENCE_KEY.fullmatch(name)]


def _keyed(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    """Return a verdict on a sentence or answer; a question claims nothing."""
    if text.rstrip().endswith("?"):
        return {"claims_nothing": "It is a question."}
    decided = _supported(text, chunks)
    ids = decided["supporting_chunk_ids"]
    verdict = {"supported_by": ids} if ids else {"not_supported_because": "not_in_context"}
    return {"reasoning": decided["reasoning"], "verdict": verdict}


def _statements(request: JudgeRequest) -> list[dict[str, Any]]:
    texts = request.sentences or _sentences(request.answer or "")
    kind = str(request.schema)
    found = []
    for number, text in enumerate(texts):
        if "no_claim_sentences" in kind and "evidence" not in kind:
            found.append({"sentence_id": number, "statement": text})
            continue
        decided = _supported(text, request.chunks)
        if "sentence_ids" in kind:
            filled = {"statement": text, "reasoning": decided["reasoning"]}
            found.append({"sentence_ids": [number], **filled, **_verdict(text, request.chunks)})
        else:
            found.append({"statement": text, **decided})
    return found


def _verdicts(request: JudgeRequest) -> list[dict[str, Any]]:
    found = []
    for number, text in enumerate(request.statements):
        if "is_supported" in str(request.schema):
            verdict = _supported(text, request.chunks)
        else:
            verdict = {"reasoning": "scripted", **_verdict(text, request.chunks)}
        found.append({"statement_id": number, **verdict})
    return found


def _supported(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    share, chunk_id = _best(text, chunks)
    return {
        "reasoning": f"{share:.0%} of the words are in one chunk",
        "supporting_chunk_ids": [chunk_id] if share > 0.5 else [],
        "is_supported": share > 0.5,
    }


def _verdict(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    """Return a verdict that quotes the sentence with most of the words; it needs more than half."""
    share, chunk_id = _best(text, chunks)
    if share <= 0.5:
        return {"evidence": [], "verdict": "not_in_context"}
    sentences = _sentences(chunks[chunk_id])
    quote = sentences[_best(text, sentences)[1]].replace("&lt;", "<")
    return {"evidence": [{"chunk_id": chunk_id, "quote": quote}], "verdict": "supported"}


def _graded_chunks(request: JudgeRequest) -> list[dict[str, Any]]:
    return [
        {"id_chunk": number, "reasoning": "scripted", "score": True}
        for number in range(len(request.chunks))
    ]


def _used_chunks(request: JudgeRequest) -> list[dict[str, Any]]:
    shares = [_share(chunk, request.answer or "") for chunk in request.chunks]
    return [
        {
            "chunk_id": number,
            "reasoning": f"{share:.0%} of its words are in the answer",
            "is_used": share > 0.3,
        }
        for number, share in enumerate(shares)
    ]


def _labels(request: JudgeRequest) -> list[dict[str, Any]]:
    return [
        {"chunk_id": number, "reasoning": "scripted", "passed": True}
        for number in range(len(request.chunks))
    ]


def _checks(request: JudgeRequest) -> list[dict[str, Any]]:
    return [
        {"criterion": name, "reasoning": "scripted", "is_met": True}
        for name in _CRITERION.findall(request.instructions)
    ]


def _citations(request: JudgeRequest) -> list[dict[str, Any]]:
    found = []
    for number, text in enumerate(request.statements):
        sentence_id, chunk_id = map(int, _CITATION.findall(text)[0])
        share = _share(request.sentences[sentence_id], request.chunks[chunk_id])
        reasoning = f"{share:.0%} of the words are in the chunk"
        found.append({"citation_id": number, "reasoning": reasoning, "is_supported": share > 0.5})
    return found


def _answerable(request: JudgeRequest) -> dict[str, str]:
    share, _ = _best(request.question or "", request.chunks)
    label = "yes" if share > 0.3 else "no"
    return {"reasoning": f"{share:.0%} of the question is in one chunk", "label": label}


def _abstained(request: JudgeRequest) -> dict[str, str]:
    declines = _DECLINES.search(request.answer or "") is not None
    return {"reasoning": "scripted", "label": "yes" if declines else "no"}


_FILLERS: Mapping[str, Callable[[JudgeRequest], Any]] = {
    "statements": _statements,
    "no_claim_sentences": lambda _: [],
    "verdicts": _verdicts,
    "graded_chunks": _graded_chunks,
    "chunks": _used_chunks,
    "labels": _labels,
    "checks": _checks,
    "citations": _citations,
    "answerable": _answerable,
    "abstained": _abstained,
}


def _sentences(text: str) -> list[str]:
    return [s.strip() for s in _SENTENCE.findall(text) if s.strip()]


def _best(text: str, others: Sequence[str]) -> tuple[float, int]:
    """Return the largest share of the words, and the index of the text that has it."""
    shares = [_share(text, other) for other in others]
    best = max(shares, default=0.0)
    return best, shares.index(best) if shares else 0


def _share(text: str, other: str) -> float:
    words = set(re.findall(r"\w+", text.lower()))
    return len(words & set(re.findall(r"\w+", other.lower()))) / len(words or "-")


def _fill(node: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the simplest value that the schema allows."""
    # pydantic up to 2.8 writes a reference with other keywords this way.
    if "allOf" in node:
        return _fill(node["allOf"][0], root)
    if "$ref" in node:
        return _fill(root["$defs"][str(node["$ref"]).rpartition("/")[2]], root)
    if "enum" in node or "const" in node:
        return node["enum"][0] if "enum" in node else node["const"]
    if "anyOf" in node:
        return _fill(node["anyOf"][0], root)
    match node.get("type"):
        case "object":
            return {name: _fill(inner, root) for name, inner in node.get("properties", {}).items()}
        case "array":
            return [_fill(node["items"], root)] if "items" in node else []
        case "boolean":
            return True
        case "integer" | "number":
            return node.get("minimum", 0)
        case _:
            return "scripted"


def vector_by_words(text: str) -> list[float]:
    vector = [0.0] * 64
    for word in re.findall(r"\w+", text.casefold()):
        # Not `hash`, which differs between processes.
        vector[crc32(word.encode()) % len(vector)] += 1.0
    return vector
