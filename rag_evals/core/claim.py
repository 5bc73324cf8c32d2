"""What is verified? One claim of an answer, with what it takes to understand it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evals.text import Leaning, leaning_of, stands_alone

_MOST_BEFORE = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of an answer, and where its words get their meaning from.

    Two claims are equal when all four fields are: "It was completed in 1889." behind one question
    is another claim than behind another.

    Attributes:
        text: What is decided.
        sentence: The sentence of the answer that it comes from, word for word; None for a claim
            that comes from no answer.
        before: What the answer says before it, as far as it leans on that; None where there is
            nothing.
        question: What was asked; None where nothing was.
    """

    text: str
    sentence: str | None = None
    before: str | None = None
    question: str | None = None

    @property
    def leaning(self) -> Leaning | None:
        """What keeps the text from being understood by itself; None where nothing does."""
        return leaning_of(self.text)

    @property
    def setting(self) -> tuple[str | None, str | None, str | None]:
        """Sentence, before and question where the text leans on them, else None each.

        A verdict may be shared by claims of equal text and equal setting.
        """
        if stands_alone(self.text):
            return None, None, None
        sentence = None if self.sentence == self.text else self.sentence
        return sentence, self.before, self.question

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def text_before(claims: Sequence[Claim]) -> str | None:
    """Return what the next claim of an answer may lean on.

    Args:
        claims: All claims before it, in the order of the answer.

    Returns:
        The texts from the last claim that stands alone on, at most three; None where there are
        none.
    """
    texts: list[str] = []
    for claim in reversed(claims[-_MOST_BEFORE:]):
        texts.insert(0, claim.text)
        if stands_alone(claim.text):
            break
    return " ".join(texts) or None


def as_claims(statements: Sequence[str | Claim]) -> list[Claim]:
    """Return claims as they are, and texts as claims that come from no answer."""
    return [one if isinstance(one, Claim) else Claim(one) for one in statements]
