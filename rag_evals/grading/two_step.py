"""Two-step faithfulness: extract the statements from the answer, then verify each one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Unpack

from pydantic import Field

from rag_evals.cache import StatementCache, cached
from rag_evals.core import (
    CacheMode,
    Finding,
    Flow,
    JudgeCall,
    JudgeSettings,
    OptionalList,
    Sample,
    Step,
    Tallies,
    Verdict,
    VerifiedTexts,
    Verifier,
    VerifierChanges,
    check_settings,
    check_verdicts,
)
from rag_evals.errors import ConfigurationError, NotScorableReason
from rag_evals.grading.extract import Extraction, Extractor, SentenceExtractor, StatementExtractor
from rag_evals.grading.grader import Grader, require_fields, with_steps
from rag_evals.prompt import Prompt, check_language
from rag_evals.response_models import FaithfulnessResult, PassedOverSentence, StatementEvaluation
from rag_evals.text import READ_WELL, language_in
from rag_evals.verify import LLMVerifier
from rag_evals.verify.cascade import described_stages, with_tunings
from rag_evals.verify.llm import PromptedPart

if TYPE_CHECKING:
    from rag_evals.verify import Tuning

P = TypeVar("P", bound=PromptedPart)

_AS_DECIDED = ("support", "windows", "from_cache", "taken_from", "similarity")


class VerifiedStatement(StatementEvaluation):
    """A statement and how its verdict was reached.

    Attributes:
        windows: Number of context windows that a classifier read.
        taken_from: The similar statement whose verdict was reused; None if no verdict was reused or
            the statements were identical.
        similarity: Cosine similarity of the two statements.
    """

    support: float | None = None
    decided_by: str | None = None
    windows: int | None = None
    from_cache: bool = False
    taken_from: str | None = None
    similarity: float | None = None

    @property
    def finding(self) -> Finding:
        return replace(super().finding, support=self.support, decided_by=self.decided_by)


class VerifiedFaithfulnessResult(FaithfulnessResult):
    """The statements in the answer, and the verifier that judged each of them.

    Attributes:
        language: Two-letter code of the answer's language; `und` if it was not recognised, None if
            the texts are too short to detect it.
        is_unread: True if there is no score because the verifier does not support the language.
        answer_support: Probability that all statements are supported; None for most verifiers.
        deciders: Names of a cascade's verifiers; empty for a single verifier.
        cache: How cached verdicts are looked up; None without a cache.
        verification_calls: Number of judge calls for verification, excluding re-asks.
        calls_saved: Number of judge calls saved by a cascade or a cache.
    """

    # Lists are invariant, but these results contain only statements of this type.
    statements: list[VerifiedStatement]  # type: ignore[assignment]
    language: str | None = None
    language_warning: str | None = None
    is_unread: bool = False
    answer_support: float | None = None
    verifier: str | None = None
    deciders: OptionalList[str] = Field(default_factory=list)
    cache: CacheMode | None = None
    verification_calls: int = 0
    calls_saved: int = 0

    @property
    def warnings(self) -> list[str]:
        more = [] if self.language_warning is None else [self.language_warning]
        return [*super().warnings, *more]

    @property
    def not_scorable(self) -> NotScorableReason | None:
        return super().not_scorable or ("unread_language" if self.is_unread else None)

    @cached_property
    def decided_by(self) -> str | None:
        return self.verifier

    @property
    def ranking_score(self) -> float | None:
        """`answer_support`, which ranks answers that have the same score."""
        return self.answer_support

    @property
    def tallies(self) -> Tallies:
        """Statement counts per verifier, statements from the cache, and calls saved."""
        total = len(self.statements)
        decided_by = Counter(statement.decided_by for statement in self.statements)
        counted = {f"decided by {name}": (decided_by[name], total) for name in self.deciders}
        if self.cache is not None:
            counted["from the cache"] = (sum(s.from_cache for s in self.statements), total)
        if self.cache == "semantic":
            similar = sum(s.taken_from is not None for s in self.statements)
            counted["by a similar statement"] = (similar, total)
        made = self.verification_calls
        calls = made + self.calls_saved
        return counted | ({"calls saved": (self.calls_saved, calls)} if calls else {})


class VerifiedFaithfulness(Grader[VerifiedFaithfulnessResult]):
    """Breaks an answer into statements and verifies each one; both steps can be replaced.

    Args:
        extractor: Extracts the statements; by default, the judge does so if there is one, and
            otherwise the answer's sentences are used.
        verifier: Judges each statement; by default, the judge, or the verifier that replaces it.
        cache: Stores and reuses verdicts; by default, there is no cache.
        name: Name in results; must be unique within a run.
        description: One line that describes what the grader measures.
        language: Language of samples that do not specify one, such as `ru`; None means English.
        prompts: Prompts for the default extractor and verifier, keyed by the file stem of the
            shipped prompt: `extract_statements` or `verify_statements`.
        settings: Judge settings for the default extractor and verifier.
    """

    shapes: ClassVar[tuple[str, ...]] = ("extractor", "verifier")
    requires = FaithfulnessResult.requires
    result_model = VerifiedFaithfulnessResult

    def __init__(
        self,
        *,
        extractor: Extractor | None = None,
        verifier: Verifier | None = None,
        cache: StatementCache | None = None,
        name: str = "faithfulness",
        description: str = "",
        language: str | None = None,
        prompts: Mapping[str, Prompt] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._parts: dict[str, Any] = {"extractor": extractor, "verifier": verifier}
        self._prompts = dict(prompts or {})
        self.name = name
        self.description = description
        self.language = language
        self.cache = cache
        self.settings = dict(settings or {})
        _require_kind("extractor", extractor, Extractor, "SentenceExtractor()")
        _require_kind("verifier", verifier, Verifier, "EmbeddedVerifier()")
        if cache is not None and not isinstance(cache, StatementCache):
            raise ConfigurationError(f"cache is {cache!r}; expected a StatementCache, or None")
        self.extractor = self._own(StatementExtractor) if extractor is None else extractor
        decider = self._own(LLMVerifier) if verifier is None else verifier
        self.verifier = decider if cache is None else cached(decider, cache)
        traits = self.verifier.traits
        self.wants_cache = traits.cache_mode is None and not traits.is_instant
        self.asks_judge = self.extractor.asks_judge or traits.asks_judge
        self.endpoints = traits.endpoints
        self.untuned = traits.untuned
        self.judge_rounds = int(self.extractor.asks_judge) + int(bool(traits.batches))
        self._in_language: dict[str, Verifier] = {}

    def with_verifier(self, verifier: Verifier) -> Self:
        """Return a copy with this default verifier; parts passed to the constructor are kept."""
        verifier = verifier.adapt(VerifierChanges(settings=self.settings))
        extractor = self._parts["extractor"]
        if extractor is None:
            asks_judge = verifier.traits.asks_judge
            extractor = self._own(StatementExtractor) if asks_judge else SentenceExtractor()
        changed = self._changed(extractor=extractor, verifier=self._parts["verifier"] or verifier)
        if changed.asks_judge and not verifier.traits.asks_judge:
            raise ConfigurationError(
                f"grader {self.name!r} calls a judge model, and {verifier.name!r} is not one; pass "
                "a client such as 'openai/gpt-4o-mini', or use SentenceExtractor and a verifier "
                "that does not call a model"
            )
        return changed

    @property
    def stages(self) -> list[dict[str, Any]]:
        prompt = self.extractor.fingerprint()
        return [{**stage, "prompt": prompt} for stage in described_stages(self.verifier)]

    def with_tunings(self, tunings: "Sequence[Tuning]") -> Self:
        own = self._parts["verifier"] or self._own(LLMVerifier)
        return self._changed(
            verifier=with_tunings(own, tunings, prompt=self.extractor.fingerprint())
        )

    def with_cache(self, cache: StatementCache) -> Self:
        return self._changed(cache=cache)

    def with_parts(
        self,
        *,
        extractor: Extractor | None = None,
        verifier: Verifier | None = None,
        name: str | None = None,
        prompts: Mapping[str, Prompt] | None = None,
    ) -> Self:
        """Return a copy with different parts; a part that is None stays as it is."""
        if verifier is not None and self.language is not None:
            verifier = verifier.adapt(VerifierChanges(language=self.language))
        parts = {"extractor": extractor, "verifier": verifier, "name": name, "prompts": prompts}
        return self._changed(**{part: value for part, value in parts.items() if value is not None})

    def with_language(self, language: str) -> Self:
        check_language(language)
        return self._adapted(VerifierChanges(language=language), language=language)

    def with_settings(self, **settings: Unpack[JudgeSettings]) -> Self:
        wanted = check_settings(settings)
        changes = VerifierChanges(settings=wanted)
        return self._adapted(changes, settings={**self.settings, **wanted})

    def _adapted(self, changes: VerifierChanges, **own: object) -> Self:
        given = {part: one.adapt(changes) for part, one in self._parts.items() if one is not None}
        return self._changed(**given, **own)

    def check(self) -> None:
        if check := self.verifier.traits.check:
            check()

    def flow(self, sample: Sample) -> Flow[VerifiedFaithfulnessResult]:
        require_fields(sample, self.requires)
        extraction = yield from self.extractor.flow(sample)
        faults: dict[str, Any] = {
            "drift": list(extraction.drift),
            "left_out": list(extraction.left_out),
        }
        if not extraction.statements:
            silent = list(extraction.passed_over)
            return VerifiedFaithfulnessResult(statements=[], no_claim_sentences=silent, **faults)
        claims = [one.claim for one in extraction.statements]
        made: list[Step] = []
        chunks = [chunk.text for chunk in sample.context]
        verifier = self._verifier_for(sample)
        language = self._language_of(sample, chunks)
        verdicts = yield from with_steps(verifier.flow(claims, chunks), partial(_counted, made))
        check_verdicts(claims, chunks, verdicts)
        traits = verifier.traits
        most_calls = sum(-(-len(claims) // size) for _, size in traits.batches)
        clear = (one.support for one in verdicts if one.doubt != "yes_no")
        answer_support = traits.answer_support(clear) if traits.answer_support else None
        return VerifiedFaithfulnessResult(
            **_evaluated(extraction, verdicts, self.verifier.name),
            **faults,
            answer_support=answer_support,
            language=language,
            language_warning=language_warning(verifier, sample, language, chunks),
            is_unread=traits.languages is not None and language not in traits.languages,
            verifier=self.verifier.name,
            deciders=traits.deciders,
            cache=traits.cache_mode,
            verification_calls=len(made),
            calls_saved=max(0, most_calls - len(made)),
        )

    def _language_of(self, sample: Sample, sources: Sequence[str]) -> str | None:
        # "en" and "ru" may only name the language of the prompts, so the text itself decides.
        told = sample.language or (self.language if self.language not in READ_WELL else None)
        return told or language_in(sample.answer or "", sample.question, sources)

    def _verifier_for(self, sample: Sample) -> Verifier:
        language = sample.language
        if language is None or language == self.language:
            return self.verifier
        # Cached by language, because computing a verifier's fingerprint is slow.
        if language not in self._in_language:
            self._in_language[language] = self.verifier.adapt(VerifierChanges(language=language))
        return self._in_language[language]

    def _own(self, kind: type[P]) -> P:
        prompt = self._prompts.get(kind.shipped)
        return kind(language=self.language, prompt=prompt, settings=self.settings)

    def _changed(self, **arguments: object) -> Self:
        kept = ("name", "description", "language", "cache", "settings")
        given: dict[str, Any] = {name: getattr(self, name) for name in kept}
        given |= {**self._parts, "prompts": self._prompts, **arguments}
        changed = self._copy_with(_finished=False)
        VerifiedFaithfulness.__init__(changed, **given)
        return changed._copy_with(_finished=True)


def language_warning(
    verifier: Verifier, sample: Sample, language: str | None, chunks: Sequence[str]
) -> str | None:
    """Return the reason not to trust verdicts in the sample's language, or None."""
    warn = verifier.traits.warn
    if warn is None:
        return None
    texts = VerifiedTexts(
        question=sample.question, answer=sample.answer or "", chunks=chunks, language=language
    )
    return "; ".join(warn(texts)) or None


# Checking an object against a protocol is slow, and most objects are of a few classes.
_CHECKED: set[tuple[type, type]] = set()


def _require_kind(name: str, part: object, kind: type, example: str) -> None:
    if part is None or (type(part), kind) in _CHECKED:
        return
    if not isinstance(part, kind):
        raise ConfigurationError(
            f"{name} is {part!r}; expected an object such as {example}, or a custom object with "
            f"the members of {kind.__name__}"
        )
    _CHECKED.add((type(part), kind))


def _evaluated(extraction: Extraction, verdicts: Sequence[Verdict], name: str) -> dict[str, Any]:
    statements, passed_over = [], list(extraction.passed_over)
    for one, verdict in zip(extraction.statements, verdicts, strict=True):
        if verdict.doubt == "yes_no":
            id, text = one.sentence_id, one.span.text
            passed_over.append(
                PassedOverSentence(sentence_id=id, reason="unclear_yes_no", text=text)
            )
            continue
        evaluated = VerifiedStatement(
            statement=one.text,
            reasoning=verdict.reason,
            supporting_chunk_ids=[] if one.fault else list(verdict.chunk_ids),
            is_supported=verdict.is_supported and one.fault is None,
            decided_by=verdict.decided_by or name,
            sentence_id=one.sentence_id,
            start=one.span.start,
            end=one.span.end,
            fault=one.fault,
            **{field: getattr(verdict, field) for field in _AS_DECIDED},
        )
        statements.append(evaluated)
    passed_over.sort(key=lambda one: one.sentence_id)
    return {"statements": statements, "no_claim_sentences": passed_over}


def _counted(made: list[Step], steps: Sequence[Step]) -> Sequence[Step]:
    made += [step for step in steps if isinstance(step, JudgeCall)]
    return steps
