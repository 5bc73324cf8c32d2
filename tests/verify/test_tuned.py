"""What a tuned file does to verdicts, and the signals of how sure one is."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_evals.core import (
    Claim,
    Evidence,
    Finding,
    Flow,
    Meter,
    Verdict,
    VerifiedTexts,
    VerifierChanges,
    VerifierTraits,
)
from rag_evals.core.finding import Quote
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.grading.grader import drive
from rag_evals.stats import LEFT_OPEN
from rag_evals.verify import CascadeVerifier, LLMVerifier, Promise, Tuning
from rag_evals.verify.cascade import described_stages, with_tunings
from rag_evals.verify.tuned import (
    AgreementFigures,
    Confidence,
    TunedVerifier,
    read_signals,
    read_tunings,
    stage_confidences,
    sureness,
)
from tests.conftest import PlainVerifier

CHUNKS = ["The tower stands in Rome since 1889.", "Cats purr."]
TEXT = "The tower stands in Paris since 1923."
FOUND, LOST = Quote(0, 0, 9, "The tower"), Quote(0, None, None, "The towers")


def signals(verdict: bool | None = False, **more: Any) -> dict[str, float]:
    """Return the signals of a verdict on the text above, with five of its seven words found."""
    attempts = more.pop("attempts", 0)
    text, chunks = more.pop("text", TEXT), more.pop("chunks", CHUNKS)
    return read_signals(Finding(text, verdict, "label", **more), chunks, attempts)


@pytest.mark.parametrize(("verdict", "side"), [(True, 1.0), (False, -1.0)])
def test_signals_count_for_the_side_of_the_verdict(verdict: bool, side: float) -> None:
    """Words that stand in the evidence speak for "supported", a number that is missing does not."""
    found = signals(verdict, support=0.8)

    assert found["is_yes"] == side
    assert found["coverage"] == pytest.approx(side * (5 / 7 - 0.5))
    assert found["missing_number"] == -side
    assert found["margin"] == pytest.approx(side * math.log(0.8 / 0.2))
    assert found["length"] == pytest.approx(math.log(8) - 3)
    (own,) = EmbeddedVerifier().verify([TEXT], CHUNKS)
    assert found["embedded"] == pytest.approx(side * math.log(own.support / (1 - own.support)))


@pytest.mark.parametrize(
    ("more", "name", "value"),
    [
        ({"support": None}, "margin", 0.0),
        ({"support": 1.0}, "margin", -math.log(0.99 / 0.01)),
        ({"support": 0.0}, "margin", math.log(0.99 / 0.01)),
        ({"decided_by": "embedded"}, "embedded", 0.0),
        ({"quotes": ()}, "quote_found", 0.0),
        ({"quotes": (FOUND,)}, "quote_found", 0.5),
        ({"quotes": (FOUND, LOST)}, "quote_found", -0.5),
        ({"attempts": 0}, "asked_again", 0.0),
        ({"attempts": 1}, "asked_again", 0.0),
        ({"attempts": 3}, "asked_again", math.log(3)),
        ({"text": "The tower stands since 1889."}, "missing_number", 0.0),
        ({"text": "Purr 1889."}, "missing_number", 0.0),
        ({"text": "Cats purr 1889."}, "missing_number", 0.0),
        ({"text": "Cats 1900.", "chunks": ["Cats.", "Born 1900."]}, "missing_number", 0.0),
        ({"text": "Cats purr.", "chunks": ["Cats purr at night in a barn."]}, "coverage", -0.5),
        ({"text": "Cats bark at dawn.", "chunks": ["Cats purr."]}, "coverage", 0.25),
        ({"text": "Cats purr 1890 or 1891."}, "missing_number", 1.0),
        ({"text": "The tower stands since 1889, 3.5 m wide."}, "missing_number", 1.0),
        ({"text": "..."}, "coverage", 0.5),
        ({"chunks": [" ", ""]}, "coverage", 0.0),
        ({"chunks": [" ", ""]}, "missing_number", 0.0),
        ({"chunks": []}, "embedded", 0.0),
    ],
    ids=str,
)
def test_a_signal_that_says_nothing_is_nought(more: Any, name: str, value: float) -> None:
    """What is not known counts for neither side, and no support for more than 99 percent."""
    assert signals(**more)[name] == pytest.approx(value)


def test_weights_of_signals_add_up_to_a_probability() -> None:
    """A signal that is not there counts as nought, and so does one without a weight."""
    given = {"a": 2.0, "b": -1.0, "c": 9.0}

    assert sureness({}, 0.0, given) == 0.5
    assert sureness({"gone": 5.0}, 0.0, given) == 0.5
    assert sureness({"a": 1.0, "b": 3.0}, 0.5, given) == pytest.approx(1 / (1 + math.exp(0.5)))


FIGURES = AgreementFigures(balanced_accuracy=0.7, low=0.6, high=0.8, calibration_error=0.1)
KEPT = Promise(
    max_error=0.05,
    confidence=0.95,
    supported_from=0.7,
    unsupported_up_to=0.2,
    expected_error=0.01,
    decided_share=0.6,
)


def tuning(**changes: Any) -> Tuning:
    """Return a tuned file with a map of its own, written by hand."""
    own: dict[str, Any] = {
        "stage": "given",
        "judge": "j",
        "prompt": "p",
        "slope": 2.0,
        "intercept": -1.0,
        "threshold": 0.4,
        "labels": 40,
        "rows": 20,
        "agreement_before": FIGURES,
        "agreement_after": FIGURES,
    }
    return Tuning(**own | changes)


class Given(PlainVerifier):
    """Returns verdicts that are given to it."""

    name = "given"
    traits = VerifierTraits(threshold=0.5)

    def __init__(self, *verdicts: Verdict) -> None:
        self.verdicts = verdicts

    def fingerprint(self) -> str:
        return "given"

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        yield from ()
        return list(self.verdicts)


def by(
    tuned: Tuning, *verdicts: Verdict, goes_first: bool = False, text: str = "It is so."
) -> list[Verdict]:
    """Return what becomes of verdicts."""
    verifier = TunedVerifier(Given(*verdicts), tuned, goes_first=goes_first)
    return drive(verifier.flow([Claim(text)] * len(verdicts), ["c"]), None, Meter())


def raw(support: float, is_supported: bool | None = None, **more: Any) -> Verdict:
    """Return a verdict of a verifier whose threshold is 0.5."""
    counts = support >= 0.5 if is_supported is None else is_supported
    evidence = (Evidence(3, 0, 1, "a"), Evidence(3, 2, 3, "b"), Evidence(1, 0, 1, "c"))
    return Verdict(support, counts, (0,) if counts else (), "own", evidence, **more)


def test_the_threshold_of_a_tuned_file_decides() -> None:
    """From it on a statement is supported, by the chunks of its evidence if it was not before."""
    below, at, own = by(tuning(), raw(0.39), raw(0.4), raw(0.5))

    assert [one.is_supported for one in (below, at, own)] == [False, True, True]
    assert [one.chunk_ids for one in (below, at, own)] == [(), (3, 1), (0,)]
    assert [one.reason == "own" for one in (below, at, own)] == [True, False, True]
    (raised,) = by(tuning(threshold=0.6), raw(0.5))
    assert (raised.is_supported, raised.chunk_ids) == (False, ())
    limit = tuning(threshold=0.6).threshold_shown
    assert raised.reason.startswith(f"counted so by the threshold {limit:.2f}")
    assert raised.reason.endswith("own")
    assert at.support == pytest.approx(tuning().support_map(0.4))


def test_without_a_threshold_the_tuned_one_decides_everything() -> None:
    """A verifier that says yes or no has none, so nothing it said was for another reason."""
    judge = Given(raw(0.9, is_supported=False), raw(0.1, is_supported=True))
    judge.traits = VerifierTraits()
    flow = TunedVerifier(judge, tuning()).flow([Claim("It is so.")] * 2, ["c"])
    found = drive(flow, None, Meter())

    assert [one.is_supported for one in found] == [True, False]
    assert [one.chunk_ids for one in found] == [(3, 1), ()]


def test_a_verdict_for_another_reason_than_its_support_stays() -> None:
    """Unsupported at 0.9 is not a matter of the threshold; nor is what is in doubt."""
    refused, doubted = by(tuning(), raw(0.9, is_supported=False), raw(0.45, doubt="fragment"))

    assert [one.is_supported for one in (refused, doubted)] == [False, False]
    assert (refused.is_sure, doubted.is_sure) == (True, False)


def test_a_first_verifier_is_sure_of_what_it_promised() -> None:
    """Both limits are inside; a verdict that contradicts its support, or is in doubt, is not."""
    promised = tuning(promise=KEPT)
    supports = (0.2, 0.21, 0.69, 0.7)
    found = by(promised, *map(raw, supports), goes_first=True)
    odd = by(
        promised, raw(0.9, is_supported=False), raw(0.9, doubt="pronoun"), goes_first=True
    )  # fmt: skip

    assert [one.is_sure for one in found] == [True, False, False, True]
    assert [one.is_sure for one in odd] == [False, False]
    assert [one.is_sure for one in by(promised, *map(raw, supports))] == [True] * 4
    high = tuning(promise=KEPT, threshold=0.8)
    (at_both,) = by(high, raw(0.7), goes_first=True)
    assert (at_both.is_supported, at_both.is_sure) == (True, True)


@pytest.mark.parametrize(
    ("threshold", "low", "high", "limit"),
    [
        (0.4, 0.2, 0.7, 0.4),
        (0.7, 0.2, 0.7, 0.7),
        (0.8, 0.2, 0.7, 0.7),
        (0.2, 0.2, 0.7, 0.7),
        (0.1, 0.2, 0.7, 0.7),
        (0.1, None, 0.7, 0.1),
        (0.8, None, 0.7, 0.7),
        (0.4, 0.2, None, 0.4),
        (0.2, 0.2, None, 0.6),
    ],
)
def test_the_threshold_of_a_first_verifier_lies_between_its_limits(
    threshold: float, low: float | None, high: float | None, limit: float
) -> None:
    """Below the upper one and above the lower one, so that whatever is final stays as it is."""
    promise = KEPT.model_copy(update={"unsupported_up_to": low, "supported_from": high})
    tuned = tuning(threshold=threshold, promise=promise)
    first, alone = (TunedVerifier(Given(), tuned, goes_first=first) for first in (True, False))

    assert first.traits.threshold == tuned.support_map(limit)
    assert alone.traits.threshold == tuned.support_map(threshold)


def test_a_promise_is_told_with_the_limits_that_it_has() -> None:
    """Either of them may be missing, and both are where it decides nothing."""
    sides = ({"unsupported_up_to": None}, {"supported_from": None})
    above, below = (str(KEPT.model_copy(update=one)) for one in sides)
    nothing = KEPT.model_copy(update={"expected_error": None})

    assert str(KEPT).startswith(
        "decides 60% alone (supported from 0.700, not supported up to 0.200); wrong in 1.0% of "
        "these labels, promised at most 5.0% (95% confidence"
    )
    assert above.startswith("decides 60% alone (supported from 0.700); wrong")
    assert below.startswith("decides 60% alone (not supported up to 0.200); wrong")
    assert str(nothing).startswith("decides nothing: no limit keeps the share of wrong verdicts")


def test_a_language_without_labels_is_left_to_the_verifier_itself() -> None:
    """Nothing is mapped and nothing is sure; a text too short to tell counts as known."""
    english, russian = tuning(languages=("en",)), "Башня стоит в Париже, и она очень старая."
    (left,) = by(english, raw(0.45), text=russian)
    (short,) = by(english, raw(0.45), text="0.45")
    (anywhere,) = by(tuning(), raw(0.45), text=russian)

    assert (left.support, left.is_supported, left.is_sure) == (0.45, False, False)
    assert [(one.is_supported, one.is_sure) for one in (short, anywhere)] == [(True, True)] * 2


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", []),
        (None, []),
        ("de", ["the answer is in German, and given was tuned on English and Russian"]),
    ],
)
def test_a_language_without_labels_is_warned_of(language: str | None, told: list[str]) -> None:
    """Both by their names."""
    verifier = TunedVerifier(Given(), tuning(languages=("en", "ru")))
    warn = verifier.traits.warn
    assert warn is not None
    texts = VerifiedTexts(question=None, answer="a", chunks=["c"], language=language)

    assert list(warn(texts)) == [f"{line}: not calibrated" for line in told]


def test_the_warnings_of_the_verifier_itself_come_last() -> None:
    """A language without labels is told once; the verifier is not asked about it again."""
    asked: list[str | None] = []

    def warns(texts: VerifiedTexts) -> list[str]:
        asked.append(texts.language)
        return ["own"]

    given = Given()
    given.traits = VerifierTraits(warn=warns, languages=frozenset({"fr", None}))
    traits = TunedVerifier(given, tuning(languages=("en",))).traits
    assert traits.warn is not None
    for language, told in (("de", 2), ("en", 1), (None, 1)):
        texts = VerifiedTexts(question="q", answer="a", chunks=["c"], language=language)
        assert list(traits.warn(texts))[told - 1 :] == ["own"]

    assert asked == [None, "en", None]
    assert traits.languages == frozenset({"fr", None, "en"})
    assert TunedVerifier(Given(), tuning(languages=("en",))).traits.languages is None


def test_the_traits_of_a_tuned_verifier_are_its_own_but_for_what_was_tuned() -> None:
    """Its threshold is no longer untuned, and it is a stage by itself."""
    given = Given()
    given.traits = VerifierTraits(
        threshold=0.5,
        untuned=("given",),
        reads_question=True,
        batches=(("given", 3),),
        endpoints=("openai/m",),
    )
    verifier = TunedVerifier(given, tuning())

    assert replace(verifier.traits, warn=None) == VerifierTraits(
        threshold=tuning().support_map(0.4),
        stages=(verifier,),
        reads_question=True,
        batches=(("given", 3),),
        endpoints=("openai/m",),
    )
    assert verifier.adapt(VerifierChanges(language="ru")).fingerprint() == verifier.fingerprint()


def test_only_what_changes_a_verdict_is_in_the_fingerprint() -> None:
    """How well a tuning did is not; map, threshold, promise and place in a cascade are."""
    same = tuning(worth=3, spread=(0.1,), agreement_after=FIGURES.model_copy(update={"low": 0.5}))
    others = [tuning(slope=3), tuning(intercept=0), tuning(threshold=0.5), tuning(promise=KEPT)]
    prints = {one.fingerprint() for one in (tuning(), *others)}
    first, alone = (
        TunedVerifier(Given(), tuning(promise=KEPT), goes_first=first) for first in (True, False)
    )

    assert same.fingerprint() == tuning().fingerprint()
    assert len(prints) == 5
    assert first.fingerprint() != alone.fingerprint()
    others = [
        tuning(languages=("en",)),
        tuning(before=("x",)),
        tuning(labels=41),
        tuning(stage="s"),
    ]
    assert len({one.fingerprint() for one in others} | prints) == 9
    sure = Confidence(auroc=0.8, auroc_low=0.7, auroc_high=0.9, weights={"is_yes": 1.0})
    assert tuning(confidence=sure).fingerprint() == tuning().fingerprint()
    assert tuning(agreement_before=FIGURES.model_copy(update={"high": 0.9})).fingerprint() == (
        tuning().fingerprint()
    )
    verifiers = [TunedVerifier(Named(name), one) for name in "ab" for one in (tuning(), others[0])]
    assert len({one.fingerprint() for one in verifiers}) == 4


def test_a_tuned_stage_has_its_promise_in_place_of_the_band() -> None:
    """The band is not what decides, and may even lie beside the threshold."""
    tuned = TunedVerifier(Given(), tuning(promise=KEPT, spread=(0.1, 0.5)), goes_first=True)
    cascade = CascadeVerifier(tuned, LLMVerifier(), unsure=(0.9, 1.0))
    first, then = described_stages(cascade)

    assert "unsure" not in first
    assert (first["fingerprint"], first["as_used"]) == ("given", tuned.fingerprint())
    assert first["tuned"]["promise"] == KEPT.model_dump()
    assert first["tuned"]["threshold"] == tuning().threshold_shown
    assert first["tuned"]["spread"] == [tuning().support_map(0.1), LEFT_OPEN]
    assert then["tuned"] is None
    assert (first["has_support"], then["has_support"]) == (True, False)
    judge = Given()
    judge.traits = VerifierTraits()
    (alone,) = described_stages(TunedVerifier(judge, tuning()))
    assert not alone["has_support"]
    with pytest.raises(ConfigurationError, match="outside unsure"):
        CascadeVerifier(TunedVerifier(Given(), tuning()), LLMVerifier(), unsure=(0.9, 1.0))


def test_the_labels_of_a_tuned_file_are_told() -> None:
    """How many of what, and from where."""
    assert tuning().source == "40 labels"
    assert tuning(labels_from=("a.csv", "b.csv")).source == "40 labels from a.csv, b.csv"
    assert tuning(level="row").source == "40 labels of rows"


def test_a_file_that_is_not_a_tuned_file_is_told_by_its_first_fault(tmp_path: Path) -> None:
    """With the place of the fault, if it has one."""
    path = tmp_path / "t.json"
    tuning().write(path)
    assert read_tunings(path) == (tuning(),)
    assert "null" not in path.read_text()
    path.write_text("{}")
    with pytest.raises(DataError, match="judge tune`: stage: Field required$"):
        read_tunings([path])
    path.write_text("[]")
    with pytest.raises(DataError, match="judge tune`: Input should be an object"):
        read_tunings(path)
    with pytest.raises(ConfigurationError, match="two tuned files are for 'given'"):
        read_tunings([tuning(), tuning(slope=3)])
    assert read_tunings(None) == ()


def test_confidence_is_read_from_the_stages_of_a_run() -> None:
    """A stage without a tuned file, without a map, or whose map says nothing, has none."""
    useful = Confidence(auroc=0.8, auroc_low=0.7, auroc_high=0.9, weights={"is_yes": 1.0})
    useless = Confidence(auroc=0.5, auroc_low=0.4, auroc_high=0.6)
    stages: list[dict[str, Any]] = [
        {"name": "a", "tuned": {"confidence": useful.model_dump()}},
        {"name": "b", "tuned": {"confidence": useless.model_dump()}},
        {"name": "c", "tuned": {"confidence": None}},
        {"name": "d", "tuned": None},
        {"name": "e"},
    ]

    assert stage_confidences(stages) == {"a": useful}
    assert useful.of(Finding(TEXT, True, "label"), CHUNKS) == pytest.approx(1 / (1 + math.exp(-1)))
    sure = useful.model_copy(update={"intercept": 1.0, "weights": {"asked_again": -1.0}})
    assert sure.of(Finding(TEXT, True, "label"), CHUNKS) == pytest.approx(1 / (1 + math.exp(-1)))
    assert sure.of(Finding(TEXT, True, "label"), CHUNKS, 3) == pytest.approx(math.e / (math.e + 3))
    assert useful.of(Finding(TEXT, None, "label"), CHUNKS) is None
    assert useless.of(Finding(TEXT, True, "label"), CHUNKS) is None


class Named(Given):
    """A verifier with a name and a fingerprint of its own, unsure of everything."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def fingerprint(self) -> str:
        return f"{self.name} now"


def of_stage(stage: str, *before: str, **changes: Any) -> Tuning:
    """Return the tuned file of a stage, made after verifiers with these fingerprints."""
    own = {"stage": stage, "judge": f"{stage} now", "before": before, "promise": KEPT}
    return tuning(**own | changes)


def test_each_tuned_file_is_for_the_stages_before_it() -> None:
    """All that come before, as they are used; the last one is used as it was tuned, alone."""
    a, b, c = (Named(name) for name in "abc")
    cascade = CascadeVerifier(a, CascadeVerifier(b, c))
    first = TunedVerifier(a, of_stage("a"), goes_first=True)
    second = TunedVerifier(b, of_stage("b", first.fingerprint()), goes_first=True)
    third = of_stage("c", first.fingerprint(), second.fingerprint())
    tuned = with_tunings(cascade, [third, first.tuning, second.tuning], prompt="p")

    stages = tuned.traits.stages
    assert [one.traits.deciders for one in (tuned, cascade)] == [["a", "b", "c"]] * 2
    assert [one.goes_first for one in stages if isinstance(one, TunedVerifier)] == [
        True,
        True,
        False,
    ]
    assert [one.fingerprint() for one in stages[:2]] == [first.fingerprint(), second.fingerprint()]
    only = with_tunings(cascade, [of_stage("c", "a now", "b now")], prompt="p")
    assert [isinstance(one, TunedVerifier) for one in only.traits.stages] == [False, False, True]
    assert with_tunings(cascade, [], prompt="p") is cascade


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            of_stage("d"),
            "is for 'd', but the judge has no such stage; expected one of 'a', 'b'",
        ),
        (of_stage("a", judge="a then"), "for another version of the verifier"),
        (of_stage("a", prompt="q"), "for statements extracted differently"),
        (of_stage("a", "c now"), "for a cascade with other verifiers before this one"),
        (of_stage("b"), "for a cascade with other verifiers before this one"),
        (of_stage("c", "a now"), "for a cascade with other verifiers before this one"),
        (of_stage("c", "b now"), "for a cascade with other verifiers before this one"),
        (of_stage("c", "b now", "a now"), "for a cascade with other verifiers before this one"),
    ],
)
def test_a_tuned_file_of_another_judge_is_refused(given: Tuning, message: str) -> None:
    """With what is different."""
    cascade = CascadeVerifier(Named("a"), CascadeVerifier(Named("b"), Named("c")))
    with pytest.raises(ConfigurationError, match=message):
        with_tunings(cascade, [given], prompt="p")
