"""Is a classifier asked here as its makers ask it? Its scores, beside those that they published."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from rag_evals.analysis.model_rows import model_rows
from rag_evals.core import Claim, Meter, Verdict, Verifier
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.grading.drivers import drive
from rag_evals.verify import ClassifierVerifier, YesNoVerifier, from_string

DEFAULT_TOLERANCE = 0.02
"""How far a score may be from the published one: half precision and other libraries move it."""

_BESPOKE = "bespoke-minicheck"


class GoldenScore(BaseModel):
    """A pair whose score is known, as a row of `--golden` has it."""

    model_config = ConfigDict(extra="forbid")

    premise: str
    hypothesis: str
    support: float = Field(ge=0, le=1)
    question: str | None = None


@dataclass(frozen=True, slots=True)
class PairCheck:
    """One pair, asked here.

    Attributes:
        hypothesis: What was decided.
        expected: The published score, 0 to 1; None where only the label is published.
        expected_label: What the makers say.
        support: The score here.
        is_supported: The label here.
        differs: The score is too far from the published one, or the label is another.
    """

    hypothesis: str
    expected: float | None
    expected_label: bool
    support: float
    is_supported: bool
    differs: bool


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was checked of a model, and what differs.

    Attributes:
        facts: What the model is and how it is asked, by name.
        pairs: Every pair with a published score; empty where none is known.
        batch_difference: The most that a score changes when pairs are read together.
        tolerance: How far scores may lie apart.
    """

    facts: dict[str, str]
    pairs: list[PairCheck]
    batch_difference: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """True when nothing differs."""
        alike = self.batch_difference <= self.tolerance
        return alike and not any(pair.differs for pair in self.pairs)


def check_up(
    judge: str,
    *,
    golden: Sequence[GoldenScore] | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> Checkup:
    """Load a model, ask it about pairs whose scores are known, and compare.

    Args:
        judge: `hf:MODEL`, or `yes-no:PROVIDER/MODEL`, options included.
        golden: Your own pairs; None takes those that the makers published.
        tolerance: How far a score may lie from the published one.

    Raises:
        ConfigurationError: The string names no such model, or it cannot be loaded.
        GradingError: The model fails.
    """
    verifier = from_string(judge)
    if not isinstance(verifier, ClassifierVerifier | YesNoVerifier):
        raise ConfigurationError(
            f"doctor checks classifiers and yes/no checkers, and {judge!r} is neither; expected "
            "'hf:MODEL' or 'yes-no:PROVIDER/MODEL'"
        )
    verifier.check()
    facts, published = _described(verifier)
    if golden is not None:
        published = [
            (Claim(one.hypothesis, question=one.question), one.premise, one.support, None)
            for one in golden
        ]
    pairs = [_pair(verifier, one, tolerance) for one in published]
    return Checkup(facts, pairs, _batch_difference(verifier, published, pairs), tolerance)


def read_golden(path: Path) -> list[GoldenScore]:
    """Read pairs from a file with `premise`, `hypothesis`, `support` and perhaps `question`.

    Raises:
        DataError: A row is no such pair, or there is none.
    """
    expected = f"a golden pair has {', '.join(GoldenScore.model_fields)}"
    found = [pair for _, pair in model_rows(path, GoldenScore, expected)]
    if not found:
        raise DataError(f"{path} has no rows; a golden pair has premise, hypothesis and support")
    return found


_Published = tuple[Claim, str, float | None, bool | None]


def _described(
    verifier: ClassifierVerifier | YesNoVerifier,
) -> tuple[dict[str, str], list[_Published]]:
    # Importing it has a budget, and few programs look at a model.
    from rag_evals.verify.classifier import GOLDEN, known_model  # noqa: PLC0415

    if isinstance(verifier, YesNoVerifier):
        name = _BESPOKE if _BESPOKE in verifier.endpoint.lower() else None
        facts = {"model": verifier.endpoint, "form": verifier.form}
    else:
        facts = _facts(verifier)
        known = known_model(verifier.model)
        name = facts["form"] if known is None else known.golden
    pairs: list[_Published] = [
        (Claim(one.hypothesis, question=one.question), one.premise, one.support, one.is_supported)
        for one in GOLDEN.get(name or "", ())
    ]
    return facts, pairs


def _facts(verifier: ClassifierVerifier) -> dict[str, str]:
    adapter = verifier.load().adapter
    return {
        "model": verifier.model,
        "weights": verifier.weights(),
        "form": adapter.form,
        "structure": adapter.structure,
        "label": adapter.label,
        "window": f"{verifier.window_tokens(adapter)} tokens",
        "chunks joined": verifier.joining(adapter),
        "dtype": verifier.dtype,
        "device": verifier.device,
        "threshold": f"{verifier.threshold:g}",
    }


def _pair(verifier: Verifier, published: _Published, tolerance: float) -> PairCheck:
    claim, premise, expected, label = published
    verdict = _decide(verifier, [claim], premise)[0]
    limit = verifier.threshold or 0.5
    wanted = (expected or 0.0) >= limit if label is None else label
    too_far = expected is not None and abs(verdict.support - expected) > tolerance
    # A score beside the threshold may fall on either side of it.
    other = expected is None and verdict.is_supported != wanted
    return PairCheck(
        claim.text, expected, wanted, verdict.support, verdict.is_supported, too_far or other
    )


def _batch_difference(
    verifier: Verifier, published: Sequence[_Published], pairs: Sequence[PairCheck]
) -> float:
    """Read each claim among all others, which are longer and shorter, and compare with it alone."""
    if not isinstance(verifier, ClassifierVerifier):
        # Calls are not batched.
        return 0.0
    claims = [one[0] for one in published]
    among = [
        _decide(verifier, claims, one[1])[place].support for place, one in enumerate(published)
    ]
    return max((abs(a - b.support) for a, b in zip(among, pairs, strict=True)), default=0.0)


def _decide(verifier: Verifier, claims: Sequence[Claim], premise: str) -> list[Verdict]:
    return drive(verifier.flow(claims, [premise]), None, Meter())
