"""Do the quotes that a judge gives stand in the chunks? What is asked again, and what stays open.

A quote that fails is asked again with its fault. On the last attempt the reply is taken all the
same, and the statement is unverified: nobody knows what the chunks say of it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import ChunkId, JudgeModel, Quote, facts_of, is_last_attempt
from rag_evals.text import MIN_QUOTE_LETTERS, Quotable, has_russian

VerdictOfThree = Literal["supported", "contradicted", "not_in_context"]
"""What the chunks say of a statement: that it is so, that it is not so, or nothing."""

# The quotes of one reply are of a few chunks, and each may be asked for several times.
_quotable = lru_cache(maxsize=32)(Quotable)
_WISHES = {
    "absent": "copy the chunk's own words, whole words only",
    "denial": "quote the words between as well",
    "short": f"quote at least {MIN_QUOTE_LETTERS} letters with a word that says something, or the "
    "whole chunk",
}
_ENGLISH = {
    "absent": "the quote {quote!r} does not occur in chunk {chunk_id}",
    "denial": "the quote {quote!r} leaves out {denial!r}, which turns it round",
    "short": "the quote {quote!r} is too short to show anything",
    "none": "it quotes nothing",
    "unverified": "the judge says {verdict}, but {fault}",
}
_RUSSIAN = {
    "absent": "цитаты «{quote}» нет во фрагменте {chunk_id}",
    "denial": "цитата «{quote}» пропускает слово «{denial}», и смысл меняется",
    "short": "цитата «{quote}» слишком коротка и ничего не показывает",
    "none": "не приводит цитаты",
    "unverified": "судья отвечает «{verdict}», но {fault}",
    "supported": "подтверждено",
    "contradicted": "опровергнуто",
}


class ClaimedQuote(JudgeModel):
    """Words of a chunk that decide a statement, as the judge copied them."""

    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    quote: str = Field(
        description="Words of that chunk, copied letter for letter; ... stands for words left out."
    )

    @model_validator(mode="after")
    def _occurs(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is None or is_last_attempt(info):
            return self
        chunks: Sequence[str] = facts["chunks"]
        fault = _fault_of(self, chunks)
        if fault is not None:
            others = [n for n, text in enumerate(chunks) if _quotable(text).find(self.quote)]
            elsewhere = fault.kind == "absent" and others
            hint = f"; it stands in chunk {others[0]}" if elsewhere else ""
            raise ValueError(f"{fault.told(_ENGLISH)}{hint}; {_WISHES[fault.kind]}")
        return self


class _Fault(NamedTuple):
    """Why a quote is no evidence."""

    kind: Literal["absent", "denial", "short"]
    quote: str
    chunk_id: int
    denial: str | None = None

    def told(self, words: dict[str, str]) -> str:
        return words[self.kind].format(**self._asdict())


def _fault_of(claimed: ClaimedQuote, chunks: Sequence[str]) -> _Fault | None:
    named = _quotable(chunks[claimed.chunk_id])
    if named.find(claimed.quote) is None:
        denial = named.denial_left_out(claimed.quote)
        kind: Literal["absent", "denial"] = "denial" if denial else "absent"
        return _Fault(kind, claimed.quote, claimed.chunk_id, denial)
    if not named.is_long_enough(claimed.quote):
        return _Fault("short", claimed.quote, claimed.chunk_id)
    return None


def check_agreement(
    verdict: VerdictOfThree, evidence: Sequence[ClaimedQuote], info: ValidationInfo
) -> None:
    """Refuse a verdict whose evidence is missing, or that should have none.

    Raises:
        ValueError: With what the judge is to change.
    """
    if verdict == "not_in_context" and evidence:
        raise ValueError(
            "the verdict is not_in_context, yet evidence is quoted; leave evidence empty, or "
            "change the verdict"
        )
    if verdict != "not_in_context" and not evidence and not is_last_attempt(info):
        raise ValueError(
            f"the verdict is {verdict}, yet evidence is empty; quote the words of a chunk that "
            "show it, or change the verdict to not_in_context"
        )


def quotes_of(evidence: Sequence[ClaimedQuote], chunks: Sequence[str]) -> list[Quote]:
    """Find the places of quotes; a quote in parts has several, one that fails has none."""
    return [
        Quote(chunk_id=claimed.chunk_id, start=span.start, end=span.end, text=span.text)
        for claimed in evidence
        if _fault_of(claimed, chunks) is None
        for span in _quotable(chunks[claimed.chunk_id]).find(claimed.quote) or ()
    ]


def why_unverified(
    statement: str,
    verdict: VerdictOfThree,
    evidence: Sequence[ClaimedQuote],
    chunks: Sequence[str],
) -> str | None:
    """Say why quotes do not show what a judge says, in the statement's language.

    Returns:
        None when all of them stand in their chunks, and where no quote is needed.
    """
    if verdict == "not_in_context":
        return None
    words = _RUSSIAN if has_russian(statement) else _ENGLISH
    faults = [fault for one in evidence if (fault := _fault_of(one, chunks)) is not None]
    if evidence and not faults:
        return None
    told = faults[0].told(words) if faults else words["none"]
    return words["unverified"].format(verdict=words.get(verdict, verdict), fault=told)
