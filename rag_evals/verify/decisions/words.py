"""What is a decision model asked of one statement, and how are its answers told? In two languages.

A question names its statement in full: these models err where they must look something up.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rag_evals.core import Claim
from rag_evals.verify.decisions.state import tagged

NO_CHUNK = "none"
"""The option of a choice that names no chunk."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language.

    Attributes:
        supported: Asks whether all chunks support the statement.
        carrier: Asks which chunk does.
        pair: Asks whether one chunk does, which stands for `{chunk}`.
        question: Leads in the question that a statement leans on.
        before: Leads in the words before it.
        sentence: Leads in the sentence that it comes from.
        probability: Tells the support.
        carried: Tells the chunk.
        declined: Tells that the model does not say which chunk it is.
    """

    supported: str
    carrier: str
    pair: str
    question: str
    before: str
    sentence: str
    probability: str
    carried: str
    declined: str

    def asked(self, lead: str, claim: Claim, *, hardened: bool) -> str:
        """Return a question about a claim, with what the claim leans on."""
        sentence, before, question = claim.setting
        leads = (
            (self.question, "question", question),
            (self.before, "before", before),
            (self.sentence, "sentence", sentence),
        )
        parts = [lead, tagged("statement", claim.text, hardened=hardened)]
        for words, tag, text in leads:
            if text is not None:
                parts += [words, tagged(tag, text, hardened=hardened)]
        return "\n".join(parts)


_ENGLISH = Words(
    supported="The chunks alone, taken together, show this statement to be so.",
    carrier="Which chunk shows this statement to be so?",
    pair="Chunk {chunk} alone shows this statement to be so.",
    question="It answers this question:",
    before="It follows these words:",
    sentence="It comes from this sentence:",
    probability="P(supported) {support:.2f}",
    carried="; carried by chunk {chunk}",
    declined="; the model declined to say which chunk carries it",
)
_RUSSIAN = Words(
    supported="Фрагменты сами по себе, взятые вместе, показывают, что это так.",
    carrier="Какой фрагмент показывает, что это так?",
    pair="Фрагмент {chunk} сам по себе показывает, что это так.",
    question="Это ответ на вопрос:",
    before="Перед этим сказано:",
    sentence="Это часть предложения:",
    probability="P(подтверждено) {support:.2f}",
    carried="; подтверждает фрагмент {chunk}",
    declined="; модель отказалась назвать фрагмент, который это подтверждает",
)
_BY_LANGUAGE: Mapping[str, Words] = {"ru": _RUSSIAN}


def words_in(language: str | None) -> Words:
    """Return the words of a language; the English ones where there are no others."""
    return _BY_LANGUAGE.get((language or "").partition("-")[0], _ENGLISH)


def option_of(chunk: int) -> str:
    """Name a chunk as an option of a choice."""
    return f"chunk_{chunk}"


def chunk_in(option: str | None) -> int | None:
    """Read the chunk that an option names; None where it names none."""
    return None if option in (None, NO_CHUNK) else int(str(option).rpartition("_")[2])
