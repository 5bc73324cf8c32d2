"""What does a grader return that has its statements verified? Who decided each, and how surely."""

from collections import Counter
from dataclasses import replace

from pydantic import Field

from rag_evals.core import CacheMode, Finding, OptionalList, Tallies
from rag_evals.response_models import FaithfulnessResult, PassedOverSentence, StatementEvaluation


class VerifiedStatement(StatementEvaluation):
    """One statement, and who decided it how."""

    support: float | None = Field(default=None, description="From 0, nothing speaks for it, to 1.")
    decided_by: str | None = Field(default=None, description="Name of the verifier that decided.")
    sentence_id: int | None = Field(default=None, description="Its sentence in the answer, from 0.")
    start: int | None = Field(default=None, description="Where the sentence begins, in characters.")
    end: int | None = Field(default=None, description="Where the sentence ends, in characters.")
    windows: int | None = Field(
        default=None, description="Pieces of context that a classifier read."
    )
    from_cache: bool = Field(
        default=False, description="True when it was decided earlier and kept."
    )
    taken_from: str | None = Field(
        default=None, description="The statement it was decided for, where that is another one."
    )
    similarity: float | None = Field(default=None, description="Cosine between the two statements.")

    @property
    def finding(self) -> Finding:
        """The statement as results show it, with who decided it how surely."""
        sentence_ids = () if self.sentence_id is None else (self.sentence_id,)
        return replace(
            super().finding,
            sentence_ids=sentence_ids,
            support=self.support,
            decided_by=self.decided_by,
        )


class VerifiedFaithfulnessResult(FaithfulnessResult):
    """Which statements the context supports, who decided each, and what that saved."""

    # A list cannot be narrowed; nobody puts a plain StatementEvaluation into a result.
    statements: list[VerifiedStatement] = Field(  # type: ignore[assignment]
        description="Every claim of the answer, in the order of the answer."
    )
    drift: OptionalList[str] = Field(
        default_factory=list,
        description="How extracted statements differ from their sentences, though asked again.",
    )
    no_claim_sentences: OptionalList[PassedOverSentence] = Field(
        default_factory=list, description="The sentences of the answer that claim nothing."
    )
    language: str | None = Field(
        default=None, description="Two-letter code of the answer's language; None when unclear."
    )
    language_warning: str | None = Field(
        default=None, description="Why verdicts on this language are not to be trusted, if so."
    )
    answer_support: float | None = Field(
        default=None,
        description="How surely all statements hold together, 0 to 1; None from most verifiers.",
    )
    verifier: str | None = Field(
        default=None, description="Name of the verifier; `A>B` for a cascade."
    )
    deciders: OptionalList[str] = Field(
        default_factory=list, description="The verifiers of a cascade; empty for one alone."
    )
    cache: CacheMode | None = Field(
        default=None, description="How verdicts were looked for before; None where none are kept."
    )
    verification_calls: int = Field(
        default=0, description="Judge calls made to verify, re-asks left out."
    )
    stage_calls: dict[str, int] = Field(
        default_factory=dict,
        description="Those calls by the verifier of a cascade, where more than one makes any.",
    )
    calls_saved: int = Field(
        default=0, description="Judge calls that a cascade or a cache made unnecessary."
    )

    @property
    def warnings(self) -> list[str]:
        """Oddities of the verdicts, drift, and a language that the verifier was not made for."""
        more = [] if self.language_warning is None else [self.language_warning]
        return [*super().warnings, *self.drift, *more]

    @property
    def ranking_score(self) -> float | None:
        """`answer_support`: it tells a doubtful answer from a sure one where scores are equal."""
        return self.answer_support

    @property
    def tallies(self) -> Tallies:
        """Who decided, what came from the cache, and the calls that were saved."""
        total = len(self.statements)
        decided_by = Counter(statement.decided_by for statement in self.statements)
        counted = {f"decided by {name}": (decided_by[name], total) for name in self.deciders}
        if self.cache is not None:
            counted["from the cache"] = (sum(s.from_cache for s in self.statements), total)
        if self.cache == "semantic":
            similar = sum(s.taken_from is not None for s in self.statements)
            counted["by a similar statement"] = (similar, total)
        made = self.verification_calls
        counted |= {f"calls of {name}": (n, made) for name, n in self.stage_calls.items()}
        calls = made + self.calls_saved
        return counted | ({"calls saved": (self.calls_saved, calls)} if calls else {})
