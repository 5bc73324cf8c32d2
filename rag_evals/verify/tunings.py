"""Which verifier of a judge does a tuned file belong to? Its stage, if nothing changed since."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_evals.core import Verifier, stages_in
from rag_evals.errors import ConfigurationError
from rag_evals.verify.cascade import CascadeVerifier

if TYPE_CHECKING:
    from rag_evals.verify.tuning_file import Tuning
from rag_evals.verify.tuned import TunedVerifier


def with_tunings(verifier: Verifier, tunings: "Sequence[Tuning]", *, prompt: str) -> Verifier:
    """Return a verifier, or a cascade, whose stages follow their tuned files.

    Args:
        verifier: What decides statements.
        tunings: One for each stage at most; none leaves the verifier as it is.
        prompt: Fingerprint of what finds the statements.

    Raises:
        ConfigurationError: One is of no stage here, or something changed since it was tuned.
    """
    names = [stage.name for stage in stages_in(verifier)]
    for one in tunings:
        if one.stage not in names:
            raise ConfigurationError(
                f"the tuned file is for {one.stage!r}, and the judge has no such stage; "
                f"there is {', '.join(map(repr, names))}"
            )
    by_stage = {one.stage: one for one in tunings}
    return _tuned(verifier, by_stage, prompt, ()) if tunings else verifier


def described_stages(verifier: Verifier) -> list[dict[str, Any]]:
    """Say of each stage who it is, where it decides alone, and by which labels; for a manifest."""
    stages = [_described(stage) for stage in stages_in(verifier)]
    for stage, band in zip(stages, verifier.traits.unsure, strict=False):
        if stage["tuned"] is None:
            stage["unsure"] = list(band)
    return stages


def _described(stage: Verifier) -> dict[str, Any]:
    tuning = stage.tuning if isinstance(stage, TunedVerifier) else None
    own = stage.verifier if isinstance(stage, TunedVerifier) else stage
    first = isinstance(stage, TunedVerifier) and stage.goes_first
    return {
        "name": stage.name,
        "fingerprint": own.fingerprint(),
        "as_used": stage.fingerprint(),
        "has_support": own.traits.threshold is not None,
        "tuned": None
        if tuning is None
        else {
            "labels": tuning.labels,
            "level": tuning.level,
            "labels_from": list(tuning.labels_from),
            "map": tuning.map_kind,
            "threshold": tuning.threshold_shown,
            "promise": tuning.promise.model_dump() if tuning.promise and first else None,
        },
    }


def _tuned(
    verifier: Verifier, by_stage: "dict[str, Tuning]", prompt: str, before: tuple[str, ...]
) -> Verifier:
    if isinstance(verifier, CascadeVerifier):
        first = _tuned(verifier.first, by_stage, prompt, before)
        if isinstance(first, TunedVerifier):
            first = replace(first, goes_first=True)
        then = _tuned(verifier.then, by_stage, prompt, (*before, first.fingerprint()))
        return replace(verifier, first=first, then=then)
    tuning = by_stage.get(verifier.name)
    if tuning is None:
        return verifier
    _require_same(tuning, verifier, prompt, before)
    return TunedVerifier(verifier, tuning)


def _require_same(
    tuning: "Tuning", verifier: Verifier, prompt: str, before: tuple[str, ...]
) -> None:
    changed = None
    if tuning.judge != verifier.fingerprint():
        changed = "of another version of it (its model, settings or threshold differ)"
    elif tuning.prompt != prompt:
        changed = "of statements that were found in another way (prompt, language or extractor)"
    elif tuning.before != before:
        changed = "of statements that other verifiers had left open, or the same ones tuned else"
    if changed:
        raise ConfigurationError(
            f"the tuned file for {tuning.stage!r} is stale or foreign: it is {changed}; run "
            "`rag-evals judge tune` again on a run of this judge"
        )
