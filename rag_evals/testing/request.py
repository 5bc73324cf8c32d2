"""What did a judge receive? A request, read back into the parts of its data block."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evals.testing.decisions import AskedQuestion, is_for_decisions, questions_of, state_of
from rag_evals.testing.wires import WIRES

_FIELD = {
    tag: re.compile(rf"<{tag}>\n(.*?)\n</{tag}>", re.DOTALL)
    for tag in ("question", "answer", "reference")
}
_ITEMS = {
    tag: re.compile(rf'<{tag} id="(\d+)">\n(.*?)\n</{tag}>', re.DOTALL)
    for tag in ("chunk", "sentence", "statement")
}


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One request as the server saw it.

    Attributes:
        number: From 0, in the order of arrival.
        path: Such as `/v1/chat/completions`.
        headers: Names in lower case.
        body: The JSON that was sent.
        dialect: Whose wire it came on.
    """

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    dialect: str = "openai"

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The chat messages, in OpenAI's form whatever the wire; of decisions, the state."""
        if is_for_decisions(self.path):
            return [{"role": "user", "content": state_of(self.body)}]
        return WIRES[self.dialect].messages(self.body)

    @property
    def data(self) -> str:
        """The first user message, without few-shot examples: the graded data."""
        texts = [str(m["content"]) for m in self.messages if m["role"] == "user"]
        return texts[0].rpartition("</examples>")[2] if texts else ""

    @property
    def instructions(self) -> str:
        """The system message, or nothing."""
        return "\n".join(str(m["content"]) for m in self.messages if m["role"] == "system")

    @property
    def question(self) -> str | None:
        """The question in the standard data block, or None."""
        return self._field("question")

    @property
    def answer(self) -> str | None:
        """The answer in the standard data block, or None; numbered sentences are lines."""
        return "\n".join(self.sentences) if self.sentences else self._field("answer")

    @property
    def reference(self) -> str | None:
        """The reference in the standard data block, or None."""
        return self._field("reference")

    @property
    def sentences(self) -> list[str]:
        """The numbered sentences of the answer, in order; empty where they are not numbered."""
        return [text for _, text in _ITEMS["sentence"].findall(self.data)]

    @property
    def statements(self) -> list[str]:
        """The numbered statements, in order; empty where none are sent."""
        return [text for _, text in _ITEMS["statement"].findall(self.data)]

    @property
    def chunks(self) -> list[str]:
        """The chunks in the standard data block, in order."""
        return [text for _, text in _ITEMS["chunk"].findall(self.data)]

    @property
    def questions(self) -> list[AskedQuestion]:
        """The questions to a decision model, in order; empty in any other request."""
        return questions_of(self.body) if is_for_decisions(self.path) else []

    @property
    def texts(self) -> list[str]:
        """The texts whose vectors are asked for; empty in any other request."""
        given = self.body.get("input", [])
        return [given] if isinstance(given, str) else list(given)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the reply that was asked for; empty when none was."""
        return WIRES[self.dialect].schema(self.body)

    @property
    def is_reask(self) -> bool:
        """True when the client says that an earlier reply was invalid."""
        return any(message["role"] in ("assistant", "tool") for message in self.messages)

    def _field(self, tag: str) -> str | None:
        found = _FIELD[tag].findall(self.data)
        return found[-1] if found else None
