"""The default script, which decides verdicts by the words that texts share."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evals.testing.wire import Answer, HttpError, JudgeRequest

_SENTENCE = re.compile(r"[^.!?…。！？]+(?:[.!?…](?=\S)[^.!?…。！？]*)*[.!?…。！？]*")
_SENTENCE_KEY = re.compile(r"s\d+")
_CRITERION = re.compile(r"^- ([^:\n]+): ", re.MULTILINE)
_CITATION = re.compile(r"sentence (\d+), chunk (\d+)")
_DECLINES = re.compile(
    r"don't know|do not know|does not say|not sure|не знаю|не сказано", re.IGNORECASE
)


def fill_by_words(request: JudgeRequest) -> Answer:
    """Fill in any response model from the request.

    The answer's sentences become statements, supported if a single chunk contains more than half
    of their words. Unknown fields get their first allowed value.
    """
    schema = request.schema
    if not schema:
        return HttpError(400, "the request does not contain a schema")
    filled: dict[str, Any] = _fill(schema, schema)
    keys = [name for name in schema.get("properties", {}) if _SENTENCE_KEY.fullmatch(name)]
    for name, text in zip(keys, request.sentences, strict=False):
        filled[name] = _keyed(text, request.chunks)
    if filled.keys() == {"reasoning", "verdict"}:
        filled = _keyed(request.answer or request.reference or "", request.chunks)
    for name, fill in _FILLERS.items():
        if name in filled:
            filled[name] = fill(request)
    for name, found in _items(request).items():
        if name in filled:
            example = next(iter(filled[name]), None)
            filled[name] = [
                item if example is None else {key: item.get(key, example[key]) for key in example}
                for item in found
            ]
    return filled


def _keyed(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    """Return a verdict on a sentence or answer; questions do not claim anything."""
    if text.rstrip().endswith("?"):
        return {"claims_nothing": "It is a question."}
    decided = _decided(text, chunks)
    ids = decided["supporting_chunk_ids"]
    verdict = {"supported_by": ids} if ids else {"not_supported_because": "not_in_context"}
    return {"reasoning": decided["reasoning"], "verdict": verdict}


def _items(request: JudgeRequest) -> dict[str, list[dict[str, Any]]]:
    """Return each list's items, with the fields of all response models."""
    chunks, answer = request.chunks, request.answer or ""
    texts = request.sentences or _sentences(answer)
    return {
        "statements": [
            {"statement": text, "sentence_id": n, "sentence_ids": [n], **_decided(text, chunks)}
            for n, text in enumerate(texts)
        ],
        "verdicts": [
            {"statement_id": n, **_decided(text, chunks)}
            for n, text in enumerate(request.statements)
        ],
        "graded_chunks": [{"id_chunk": n} for n in range(len(chunks))],
        "labels": [{"chunk_id": n} for n in range(len(chunks))],
        "chunks": [
            {"chunk_id": n, "is_used": _share(chunk, answer) > 0.3}
            for n, chunk in enumerate(chunks)
        ],
        "checks": [{"criterion": name} for name in _CRITERION.findall(request.instructions)],
    }


def _decided(text: str, chunks: Sequence[str]) -> dict[str, Any]:
    """Return a verdict; the quote is the sentence that contains most of the text's words."""
    share, chunk_id = _best(text, chunks)
    evidence = []
    if is_supported := share > 0.5:
        sentences = _sentences(chunks[chunk_id])
        quote = sentences[_best(text, sentences)[1]].replace("&lt;", "<")
        evidence = [{"chunk_id": chunk_id, "quote": quote}]
    return {
        "reasoning": f"{share:.0%} of the words are in one chunk",
        "supporting_chunk_ids": [chunk_id] if is_supported else [],
        "is_supported": is_supported,
        "evidence": evidence,
        "verdict": "supported" if is_supported else "not_in_context",
    }


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
    "no_claim_sentences": lambda _: [],
    "citations": _citations,
    "answerable": _answerable,
    "abstained": _abstained,
}


def _sentences(text: str) -> list[str]:
    return [s.strip() for s in _SENTENCE.findall(text) if s.strip()]


def _best(text: str, others: Sequence[str]) -> tuple[float, int]:
    """Return the largest share of words found in another text, and that text's index."""
    shares = [_share(text, other) for other in others]
    best = max(shares, default=0.0)
    return best, shares.index(best) if shares else 0


def _share(text: str, other: str) -> float:
    words = set(re.findall(r"\w+", text.lower()))
    return len(words & set(re.findall(r"\w+", other.lower()))) / len(words or "-")


def _fill(node: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the simplest value allowed by the schema."""
    # Up to version 2.8, pydantic writes a reference with other keywords this way.
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
