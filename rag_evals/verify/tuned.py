"""Tuned verifiers, whose support and confidence are calibrated with labels.

`judge tune` fits a map from a verifier's support to a probability, and a logistic map from several
signals, such as the support and the quotes, to the probability that a verdict is right.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_evals.core import (
    Claim,
    Finding,
    Flow,
    Verdict,
    VerifiedTexts,
    Verifier,
    VerifierChanges,
    VerifierTraits,
    fault_of,
    fingerprint,
    phrases,
    private_file,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.stats import LEFT_OPEN
from rag_evals.stats.tuned import SupportMap, log_odds, probability
from rag_evals.text import LANGUAGE_NAMES, has_russian, language_of, words_of

_Share = Field(ge=0, le=1)
_EMBEDDED = "embedded"
_READER = EmbeddedVerifier()
_MOST_ODDS = 0.99
_CHANGES_NOTHING = {"agreement_before", "agreement_after", "spread", "worth", "confidence"}


class _TunedPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AgreementFigures(_TunedPart):
    """How well verdicts agree with human labels; all values are between 0 and 1.

    `low` and `high` are the 95 % interval of the balanced accuracy, and `calibration_error` is the
    expected calibration error of the support.
    """

    balanced_accuracy: float = _Share
    low: float = _Share
    high: float = _Share
    calibration_error: float = _Share

    def __str__(self) -> str:
        return f"{self.balanced_accuracy:.3f} [{self.low:.3f}, {self.high:.3f}]"


class Promise(_TunedPart):
    """When a cascade may accept a verifier's verdict as final.

    Attributes:
        max_error: Maximum share of wrong verdicts among the final ones, on each side.
        confidence: Probability that this holds for both sides at once, over all draws of labels.
            It may fail more often among the draws in which any verdict is final.
        supported_from: Minimum support of a final "supported"; None if there is none.
        unsupported_up_to: Maximum support of a final "not supported"; None if there is none.
        expected_error: Share of wrong verdicts among those that are final for labelled statements;
            None if there are none.
        decided_share: Share of the labelled statements whose verdict is final.
    """

    max_error: float = Field(gt=0, lt=1)
    confidence: float = Field(gt=0, lt=1)
    supported_from: float | None = Field(default=None, ge=0, le=1)
    unsupported_up_to: float | None = Field(default=None, ge=0, le=1)
    expected_error: float | None = Field(default=None, ge=0, le=1)
    decided_share: float = _Share

    def covers(self, support: float) -> bool:
        """True if a verdict with this support is final."""
        low, high = self.unsupported_up_to, self.supported_from
        return (high is not None and support >= high) or (low is not None and support <= low)

    def __str__(self) -> str:
        if self.expected_error is None:
            return (
                "decides nothing: no limit keeps the share of wrong verdicts at or below "
                f"{self.max_error:.1%}"
            )
        low, high = self.unsupported_up_to, self.supported_from
        limits = [] if high is None else [f"supported from {high:.3f}"]
        limits += [] if low is None else [f"not supported up to {low:.3f}"]
        return (
            f"decides {self.decided_share:.0%} alone ({', '.join(limits)}); wrong in "
            f"{self.expected_error:.1%} of these labels, promised at most {self.max_error:.1%} "
            f"({self.confidence:.0%} confidence, over all draws of labels, including those that "
            "decide nothing)"
        )


class Confidence(_TunedPart):
    """A fitted map from signals to the probability that a verdict is right.

    Attributes:
        auroc: How often a wrong verdict is less certain than a right one, on held-out rows;
            `auroc_low` and `auroc_high` are its 95 % interval.
        weights: Weight of each signal, in log-odds; empty if the interval includes 0.5.
        limit: Confidence below which a verdict is among the least certain.
        skipped: Share of the labelled verdicts below the limit.
        error: Share of wrong verdicts, on held-out rows.
        error_kept: The same share, excluding the least certain verdicts.
        bound: Upper bound of `error_kept`, with 95 % confidence.
    """

    auroc: float = Field(ge=0, le=1)
    auroc_low: float = Field(ge=0, le=1)
    auroc_high: float = Field(ge=0, le=1)
    weights: Mapping[str, float] = {}
    intercept: float = 0.0
    limit: float = 0.0
    skipped: float = 0.0
    error: float = 0.0
    error_kept: float = 0.0
    bound: float = 1.0

    def of(self, finding: Finding, chunks: Sequence[str], attempts: int = 0) -> float | None:
        """Return the probability that a verdict is right; None without weights or a verdict."""
        if not self.weights or finding.verdict is None:
            return None
        return sureness(self.weights, self.intercept, read_signals(finding, chunks, attempts))

    def __str__(self) -> str:
        auroc = f"AUROC {self.auroc:.2f} [{self.auroc_low:.2f}, {self.auroc_high:.2f}]"
        if not self.weights:
            return f"no signal: the {auroc} of being wrong includes 0.5"
        return (
            f"{auroc} of being wrong; without the least certain {self.skipped:.0%}, "
            f"{self.error_kept:.1%} of verdicts are wrong instead of {self.error:.1%}, and at most "
            f"{self.bound:.1%} (95 % confidence)"
        )


class Tuning(_TunedPart):
    """A verifier's map and threshold, fitted on labels by `judge tune`.

    Attributes:
        stage: Name of the verifier, such as `embedded`.
        judge: The verifier's fingerprint when it was tuned.
        prompt: Fingerprint of the extractor.
        languages: Two-letter codes of the answers' languages; empty if unknown.
        before: Fingerprints of the verifiers before this one in a cascade, in order.
        threshold: Minimum support for a "supported" verdict, before mapping.
        level: What was labelled: statements, or rows, each judged by its weakest statement.
        labels_from: Files or columns from which the labels were read.
        agreement_before: Agreement with the labels before tuning.
        agreement_after: Agreement with the labels after tuning, on held-out rows.
        promise: When a cascade may accept a verdict; None if only rows are labelled.
        spread: Quantiles of the labelled statements' support, before mapping.
        worth: Effective number of independent labelled rows.
        confidence: The map to the probability that a verdict is right; None if there are too few
            labels to fit it.
    """

    format: Literal[1] = 1
    stage: str
    judge: str
    prompt: str
    languages: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    map_kind: Literal["platt"] = "platt"
    slope: float = Field(gt=0, allow_inf_nan=False)
    intercept: float = Field(allow_inf_nan=False)
    threshold: float = _Share
    objective: Literal["balanced accuracy"] = "balanced accuracy"
    labels: int = Field(ge=1)
    rows: int = Field(ge=1)
    level: Literal["statement", "row"] = "statement"
    labels_from: tuple[str, ...] = ()
    agreement_before: AgreementFigures
    agreement_after: AgreementFigures
    promise: Promise | None = None
    spread: tuple[Annotated[float, _Share], ...] = ()
    worth: float = Field(default=1, gt=0, allow_inf_nan=False)
    confidence: Confidence | None = None

    @property
    def support_map(self) -> SupportMap:
        """The map from a support to a probability."""
        return SupportMap(self.slope, self.intercept)

    @property
    def threshold_shown(self) -> float:
        """The threshold as a probability, like the support shown in results."""
        return self.support_map(self.threshold)

    @property
    def source(self) -> str:
        """A description of the labels, for example "40 labels from gold.csv"."""
        named = f" from {', '.join(self.labels_from)}" if self.labels_from else ""
        noun = "labels" if self.level == "statement" else "labels of rows"
        return f"{self.labels} {noun}{named}"

    def fingerprint(self) -> str:
        """Return a hash of everything that can change a verdict."""
        return fingerprint(self.model_dump_json(exclude=_CHANGES_NOTHING))

    def write(self, path: str | Path) -> None:
        """Write the tuning to a file for `--tuned`."""
        with private_file(Path(path)) as file:
            file.write(self.model_dump_json(indent=1, exclude_none=True).encode() + b"\n")

    def __str__(self) -> str:
        before, after = self.agreement_before, self.agreement_after
        return "\n".join(
            [
                f"{self.stage}: tuned with {self.source} in {self.rows} rows",
                f"  map                 {self.map_kind} (slope {self.slope:.2f}, "
                f"intercept {self.intercept:.2f})",
                f"  threshold           {self.threshold:.3f}, "
                f"mapped to {self.threshold_shown:.3f}; best for {self.objective}",
                f"  balanced accuracy   {before} before, {after} after",
                f"  calibration error   {before.calibration_error:.3f} before, "
                f"{after.calibration_error:.3f} after",
                "  after: on held-out rows, each tenth with a fit to the other nine",
                f"  in a cascade        {self.promise or 'no promise: only rows are labelled'}",
                f"  confidence          {self.confidence or 'not fitted: too few are wrong'}",
            ]
        )


Tuned = str | Path | Tuning | Sequence[str | Path | Tuning] | None
"""Values of `tuned=`: files or results of `tune`, one per stage."""


def read_tunings(given: Tuned) -> tuple[Tuning, ...]:
    """Read the value of `tuned=`.

    Raises:
        DataError: A file is not a tuned file.
        ConfigurationError: The value has the wrong type, or two tunings are for the same stage.
    """
    if given is None:
        return ()
    read = tuple(map(_read, given if isinstance(given, list | tuple) else [given]))
    stages = [one.stage for one in read]
    for stage in stages:
        if stages.count(stage) > 1:
            raise ConfigurationError(f"two tuned files are for {stage!r}; give only one per stage")
    return read


def _read(path: object) -> Tuning:
    if isinstance(path, Tuning):
        return path
    if not isinstance(path, str | Path):
        raise ConfigurationError(
            f"tuned has {path!r}; expected a file written by `rag-evals judge tune`, or a result "
            "of tune"
        )
    shown = repr(str(path))
    if fault := fault_of(Path(path)):
        raise DataError(f"{shown} {fault}; expected a file written by `rag-evals judge tune`")
    try:
        return Tuning.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{shown} was not written by `rag-evals judge tune`: {where + ': ' if where else ''}"
            f"{first['msg']}"
        ) from None


@dataclass(frozen=True, eq=False)
class TunedVerifier:
    """Maps a verifier's support to a probability, and applies a tuned threshold.

    Args:
        verifier: The verifier that was tuned.
        tuning: The map and threshold, which do not apply to answers in languages without labels.
        goes_first: Whether statements not covered by the promise go to another verifier.

    Raises:
        ConfigurationError: The verifier goes first, but has no promise, or one that covers nothing.
    """

    verifier: Verifier
    tuning: Tuning
    _: KW_ONLY
    goes_first: bool = False

    def __post_init__(self) -> None:
        # This raises an error if the verifier goes first but has no promise.
        _ = self._promise

    @property
    def name(self) -> str:
        """The verifier's name."""
        return self.verifier.name

    @property
    def traits(self) -> VerifierTraits:
        """The verifier's traits, with the tuned threshold as a probability."""
        languages = self.verifier.traits.languages
        return replace(
            self.verifier.traits,
            threshold=self._map(self._limit),
            stages=(self,),
            untuned=(),
            warn=self._warnings,
            languages=languages and languages.union(self.tuning.languages),
        )

    def adapt(self, changes: VerifierChanges) -> "TunedVerifier":
        """Return a copy with the changes applied to its verifier."""
        return replace(self, verifier=self.verifier.adapt(changes))

    def described(self) -> dict[str, Any]:
        """Describe the tuning for the manifest."""
        tuning, promise = self.tuning, self._promise
        return {
            "labels": tuning.labels,
            "level": tuning.level,
            "labels_from": list(tuning.labels_from),
            "map": tuning.map_kind,
            "threshold": tuning.threshold_shown,
            "confidence": tuning.confidence and tuning.confidence.model_dump(),
            "promise": promise and promise.model_dump(),
            "spread": [
                self._map(one) if promise is None or promise.covers(one) else LEFT_OPEN
                for one in tuning.spread
            ],
            "worth": tuning.worth,
        }

    @cached_property
    def _map(self) -> SupportMap:
        return self.tuning.support_map

    @cached_property
    def _promise(self) -> Promise | None:
        if not self.goes_first:
            return None
        tuning, promise = self.tuning, self.tuning.promise
        if promise is None:
            raise ConfigurationError(
                f"the tuned file for {tuning.stage!r} makes no promise, because only whole rows "
                "are labelled; label statements, or rows with one statement, and tune again"
            )
        if promise.supported_from is None and promise.unsupported_up_to is None:
            raise ConfigurationError(
                f"the {tuning.stage} judge decides nothing here: in {tuning.source}, no limit "
                f"keeps the share of wrong verdicts at or below {promise.max_error:.1%}; use only "
                "the judge after it, add labels, or raise --max-error"
            )
        return promise

    @cached_property
    def _limit(self) -> float:
        """The threshold, moved so that every undecided statement goes to the next verifier."""
        limit = self.tuning.threshold
        if self._promise is None:
            return limit
        low, high = self._promise.unsupported_up_to, self._promise.supported_from
        if high is not None:
            limit = min(limit, high)
        # "not supported" is final up to and including the lower limit.
        if low is not None and limit <= low:
            limit = high if high is not None else (low + 1) / 2
        return limit

    def _warnings(self, texts: VerifiedTexts) -> list[str]:
        warn, language, own = self.verifier.traits.warn, texts.language, []
        if not self._knows(language):
            names = " and ".join(LANGUAGE_NAMES.get(one, one) for one in self.tuning.languages)
            name = LANGUAGE_NAMES.get(language or "", language)
            own = [f"the answer is in {name}, and {self.name} was tuned on {names}: not calibrated"]
            texts = replace(texts, language=None)
        return own + list(warn(texts) if warn else ())

    def fingerprint(self) -> str:
        """Return a hash of the verifier and the tuning."""
        own = self.verifier.fingerprint()
        return fingerprint("tuned", own, self.tuning.fingerprint(), self.goes_first)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Run the verifier, then apply the map and the tuned threshold."""
        verdicts = yield from self.verifier.flow(claims, chunks)
        language = language_of(" ".join(claim.text for claim in claims))
        if not self._knows(language):
            return [replace(one, is_sure=False) for one in verdicts]
        pairs = zip(claims, verdicts, strict=True)
        return [self._tuned(claim, verdict) for claim, verdict in pairs]

    def _knows(self, language: str | None) -> bool:
        known = self.tuning.languages
        return language is None or not known or language in known

    def _tuned(self, claim: Claim, verdict: Verdict) -> Verdict:
        raw, own = verdict.support, self.verifier.traits.threshold
        is_supported, reason = verdict.is_supported, verdict.reason
        # Leave verdicts unchanged if they do not depend on the threshold.
        if own is None or is_supported == (raw >= own):
            is_supported = raw >= self._limit
        if verdict.doubt is not None:
            is_supported = verdict.is_supported
        is_sure = self._promise is None or (
            self._promise.covers(raw) and is_supported == (raw >= self._limit)
        )
        ids = verdict.chunk_ids if is_supported else ()
        if is_supported != verdict.is_supported:
            say, limit = phrases("ru" if has_russian(claim.text) else "en"), self._map(self._limit)
            reason = say("stages.by_tuned_threshold", limit=limit, reason=reason)
            if is_supported:
                ids = tuple(dict.fromkeys(one.chunk_id for one in verdict.evidence))
        return replace(
            verdict,
            support=self._map(raw),
            is_supported=is_supported,
            chunk_ids=ids,
            reason=reason,
            is_sure=is_sure and verdict.doubt is None,
        )


def sureness(weights: Mapping[str, float], intercept: float, signals: Mapping[str, float]) -> float:
    """Return the probability that a verdict with these signals is right."""
    parts = (weight * signals.get(name, 0.0) for name, weight in weights.items())
    return probability(intercept + math.fsum(parts))


def stage_confidences(stages: Sequence[Mapping[str, Any]]) -> dict[str, Confidence]:
    """Return the confidence maps from a run's tuned files, keyed by verifier name."""
    stored = {one["name"]: (one.get("tuned") or {}).get("confidence") for one in stages}
    found = {name: Confidence.model_validate(one) for name, one in stored.items() if one}
    return {name: one for name, one in found.items() if one.weights}


def read_signals(finding: Finding, chunks: Sequence[str], attempts: int = 0) -> dict[str, float]:
    """Return signals of how certain a verdict is, as numbers around 0; no labels are needed."""
    side = 1.0 if finding.verdict else -1.0
    coverage, missing, support = _compared(finding.text, tuple(chunks))
    own = 0.0 if finding.support is None else _clear_odds(finding.support)
    found = [one.start is not None for one in finding.quotes]
    return {
        "is_yes": side,
        "margin": side * own,
        "coverage": side * coverage,
        "missing_number": -side * missing,
        "quote_found": (min(found) - 0.5) if found else 0.0,
        "asked_again": math.log(max(1, attempts)),
        "embedded": 0.0 if finding.decided_by == _EMBEDDED else side * _clear_odds(support),
        "length": math.log(1 + len(words_of(finding.text))) - 3,
    }


def _clear_odds(support: float) -> float:
    return log_odds(min(max(support, 1 - _MOST_ODDS), _MOST_ODDS))


@lru_cache(maxsize=2_048)
def _compared(text: str, chunks: tuple[str, ...]) -> tuple[float, float, float]:
    """Return the word coverage minus 0.5, whether a number is missing, and the embedded support."""
    if not any(map(str.strip, chunks)):
        return 0.0, 0.0, 0.5
    (verdict,) = _READER.verify([text], chunks)
    words = set(words_of(text))
    near = {word for one in verdict.evidence for word in words_of(one.text)}
    numbers = {word for word in words if any(map(str.isdigit, word))}
    everywhere = {word for chunk in chunks for word in words_of(chunk)} if numbers else set()
    coverage = len(words & near) / len(words) if words else 0.0
    return coverage - 0.5, float(bool(numbers - everywhere)), verdict.support
