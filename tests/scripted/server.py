"""Who answers as any provider? The package's scripted judge with more wires, and batches."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

from rag_evals import testing
from rag_evals.testing import Raw, Reply, Stall, Wire, scripted
from rag_evals.testing.scripted import Answer
from tests.scripted.batches import DESKS, BatchDesk, BatchEnd, is_for_batches
from tests.scripted.decisions import (
    AskedQuestion,
    decided_by_words,
    decision_wire,
    is_for_decisions,
    questions_of,
    tokens_of,
)
from tests.scripted.wires import WIRES


class JudgeRequest(testing.JudgeRequest):
    """One request as the server saw it, also one to a decision model."""

    @property
    def questions(self) -> list[AskedQuestion]:
        """The questions to a decision model, in order; empty in any other request."""
        return questions_of(self.body) if is_for_decisions(self.path) else []


EVERY_SENTENCE = "every sentence of the answer"
"""As the text of a scripted statement: its verdict is on each sentence of the row."""


def _of_every_sentence(answer: Any, request: JudgeRequest) -> Any:
    if isinstance(answer, Stall):
        return replace(answer, then=answer.then and _of_every_sentence(answer.then, request))
    if isinstance(answer, Reply):
        if isinstance(answer.content, str):
            return answer
        return replace(answer, content=_of_every_sentence(answer.content, request))
    keys = [key for key in request.schema.get("properties", {}) if re.fullmatch(r"s\d+", key)]
    if not keys:
        text = request.answer or "It stands in Paris."
        return {"statements": [one | {"statement": text} for one in answer["statements"]]}
    (one,) = answer["statements"]
    ids = one["supporting_chunk_ids"] if one["is_supported"] else []
    verdict = {"supported_by": ids} if ids else {"not_supported_because": "not_in_context"}
    return {key: {"reasoning": one["reasoning"], "verdict": verdict} for key in keys}


Script = Answer | Sequence[Answer] | Callable[[JudgeRequest], Answer] | None


def fill_by_words(request: testing.JudgeRequest) -> Answer:
    """Fill any response model, and answer any question of a decision: the default script."""
    if is_for_decisions(request.path):
        return decided_by_words(questions_of(request.body), request.chunks)
    return scripted.fill_by_words(request)


class ScriptedJudge(testing.ScriptedJudge):
    """A judge on loopback that speaks as any provider, with batches, and a decision model.

    `/v1/decisions` is answered with `{name: value}`: see `tests.scripted.decisions`. `/v1/files`
    and `/v1/batches` take batches, whose lines are requests to the same script.

    Args:
        script: As for the package's scripted judge.
        dialect: Whose wire it speaks: a key of `WIRES`.
        batches: How batches end, in the order in which they are created; the rest complete.

    Attributes:
        desk: Files and batches that were made.
    """

    request_type = JudgeRequest
    requests: list[JudgeRequest]  # type: ignore[assignment]  # all are of this type

    def __init__(
        self,
        script: Script = None,
        *,
        dialect: str = "openai",
        batches: Sequence[BatchEnd] = (),
    ) -> None:
        # The requests that a script gets are those of this class.
        given: Any = fill_by_words if script is None else script
        super().__init__(given)
        self._wire = WIRES[dialect]
        self.desk = DESKS.get(dialect, BatchDesk)(self._wire, batches, self._answer_line)

    def wire(self, path: str) -> Wire:
        """Return the wire of the dialect, or of a decision model."""
        return decision_wire(self._wire) if is_for_decisions(path) else self._wire

    def route(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> Answer | None:
        """Answer requests about files and batches."""
        if method == "GET":
            return self.desk.get(path)
        return self.desk.post(path, headers, content) if is_for_batches(path) else None

    def answer(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Answer:
        """Count the tokens of a decision by its texts; make vectors for `/embeddings`."""
        answer = super().answer(path, headers, body)
        if path.endswith("/embeddings"):
            vectors = [
                {"index": n, "embedding": _vector(text)} for n, text in enumerate(body["input"])
            ]
            return Raw({"object": "list", "model": "m", "data": vectors})
        if isinstance(answer, Mapping | Reply | Stall) and EVERY_SENTENCE in str(answer):
            answer = _of_every_sentence(answer, self.requests[-1])
        if is_for_decisions(path) and isinstance(answer, Mapping):
            return Reply(answer, "", None, tokens_of(body))
        return answer

    def _answer_line(self, path: str, body: Mapping[str, Any]) -> Answer:
        return self.answer(path, {}, body)


def _vector(text: str) -> list[float]:
    """Count the words of a text."""
    vector = [0.0] * 64
    for word in re.findall(r"\w+", text.casefold()):
        # Not `hash`, which differs between processes.
        vector[crc32(word.encode()) % len(vector)] += 1.0
    return vector
