"""What stands between graders and their drivers: claims, verdicts, usage and who watches."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rag_evals import FaithfulnessResult
from rag_evals.core import (
    Claim,
    JudgeCall,
    JudgeReply,
    Meter,
    Usage,
    Verdict,
    VerifierChanges,
    VerifierTraits,
    VerifyCall,
    Work,
    as_claims,
    check_verdicts,
    stages_in,
    text_before,
    watched,
    watching,
)
from rag_evals.core.flow import watch
from rag_evals.errors import VerifierError
from rag_evals.score_precision import ChunkPrecisionResult
from tests.conftest import PlainVerifier

ALONE, LEANS = "The tower stands in Paris.", "It is old."


@pytest.mark.parametrize(
    ("texts", "before"),
    [
        ([], None),
        ([ALONE], ALONE),
        ([LEANS], LEANS),
        ([ALONE, LEANS], f"{ALONE} {LEANS}"),
        (["Cats purr at home.", ALONE, LEANS], f"{ALONE} {LEANS}"),
        (["Cats purr at home.", ALONE], ALONE),
        ([ALONE, "It is red.", "It is big.", LEANS], f"It is red. It is big. {LEANS}"),
        ([ALONE, "It is red.", LEANS], f"{ALONE} It is red. {LEANS}"),
    ],
)
def test_a_claim_may_lean_on_what_was_said_since_the_last_that_stands_alone(
    texts: list[str], before: str | None
) -> None:
    """Three claims back at most."""
    assert text_before(as_claims(texts)) == before


@pytest.mark.parametrize(
    ("claim", "setting"),
    [
        (Claim(ALONE, "It does.", "Before.", "Where?"), (None, None, None)),
        (Claim(LEANS, LEANS, "Before.", "Where?"), (None, "Before.", "Where?")),
        (
            Claim(LEANS, "It is old, I think.", "Before.", None),
            ("It is old, I think.", "Before.", None),
        ),
        (Claim(LEANS, None, None, "Where?"), (None, None, "Where?")),
        (Claim(LEANS), (None, None, None)),
    ],
)
def test_a_claim_that_stands_alone_has_no_setting(claim: Claim, setting: Any) -> None:
    """Any other has its question, what was said before, and its sentence if that says more."""
    assert claim.setting == setting
    assert str(claim) == claim.text


def test_usage_adds_up_field_by_field() -> None:
    """Cached tokens are among those that were sent."""
    one, other = Usage(1, 2, 3, 4, 5, 6, 7, 8), Usage(10, 20, 30, 40, 50, 60, 70, 80)

    assert one + other == Usage(11, 22, 33, 44, 55, 66, 77, 88)
    assert (one.tokens, other.tokens, Usage().tokens) == (9, 90, 0)


def test_a_meter_counts_by_endpoint_and_model() -> None:
    """None is the judge of the run, or its own model; models that answered are named once."""
    meter = Meter(20.0)
    assert (meter.total, meter.seconds_left) == (Usage(), 20.0)
    meter.add(Usage(calls=1), answered_by=["m1"])
    assert meter.total == Usage(calls=1)
    meter.add(Usage(calls=2), answered_by=["m2", "m1"])
    meter.add(Usage(calls=4), endpoint="openai/a")
    meter.add(Usage(calls=8), endpoint="openai/a", model="x")
    meter.add(Usage(calls=16), model="x", answered_by=["m3"])
    meter.add(Usage(calls=32), model="y")

    assert meter.by_judge == {
        (None, None): Usage(calls=3),
        ("openai/a", None): Usage(calls=4),
        ("openai/a", "x"): Usage(calls=8),
        (None, "x"): Usage(calls=16),
        (None, "y"): Usage(calls=32),
    }
    assert meter.total == Usage(calls=63)
    assert list(meter.answered_by) == ["m1", "m2", "m3"]
    meter.waited_seconds = 19.5
    assert meter.seconds_left == 0.5
    assert Meter().seconds_left is None


@pytest.mark.parametrize(
    ("verdicts", "fault"),
    [
        ([Verdict(0.0, False, (), ""), Verdict(1.0, True, (0, 1), "")], None),
        ([Verdict(0.5, True, (), "")], "returned 1 verdicts for 2 statements"),
        ([Verdict(0.5, True, (), "")] * 3, "returned 3 verdicts for 2 statements"),
        ([Verdict(0.5, True, (), ""), Verdict(1.01, True, (), "")], "gave 'b' a support of 1.01"),
        ([Verdict(-0.01, True, (), ""), Verdict(1.0, True, (), "")], "gave 'a' a support of -0.01"),
        ([Verdict(float("nan"), True, (), "")] * 2, "gave 'a' a support of nan"),
        (
            [Verdict(0.5, True, (), ""), Verdict(0.5, True, (0, 2, 3), "")],
            r"gave 'b' the chunk ids \[2, 3\]; there are 2 chunks",
        ),
        ([Verdict(0.5, True, (-1,), "")] * 2, r"gave 'a' the chunk ids \[-1\]"),
    ],
)
def test_a_verdict_is_possible(verdicts: list[Verdict], fault: str | None) -> None:
    """One for each statement, a support from 0 to 1, and chunks that there are."""

    class Local:
        def verify(self, claims: Any, chunks: Any) -> list[Verdict]:
            return verdicts

    claims, chunks = as_claims(["a", "b"]), ["x", "y"]
    call = VerifyCall(Local(), claims, chunks)
    if fault is None:
        check_verdicts(claims, chunks, verdicts)
        assert call.run() == verdicts
        return
    with pytest.raises(VerifierError, match=fault):
        check_verdicts(claims, chunks, verdicts)
    with pytest.raises(VerifierError, match=fault):
        call.run()


def test_a_reply_belongs_to_its_call() -> None:
    """One of another model, or none at all, is an error and no result."""
    call = JudgeCall(({"role": "user", "content": "a"},), FaithfulnessResult)
    right = FaithfulnessResult(statements=[])
    assert call.read(JudgeReply(right)) is right
    for wrong in (JudgeReply(ChunkPrecisionResult(graded_chunks=[])), right, None):
        with pytest.raises(TypeError, match="expected a reply of FaithfulnessResult"):
            call.read(wrong)


def test_one_verifier_is_its_only_stage_and_decides_alone() -> None:
    """Several are named in order."""
    one, two = PlainVerifier(), PlainVerifier()
    one.name, two.name = "a", "b"  # type: ignore[attr-defined]  # as a verifier has
    whole = PlainVerifier()
    whole.traits = VerifierTraits(stages=(one, two))  # type: ignore[arg-type]  # as above

    assert stages_in(one) == (one,)  # type: ignore[arg-type, comparison-overlap]  # as above
    assert stages_in(whole) == (one, two)  # type: ignore[arg-type, comparison-overlap]  # as above
    assert whole.traits.deciders == ["a", "b"]
    assert VerifierTraits(stages=(one,)).deciders == []  # type: ignore[arg-type]  # as above
    assert VerifierTraits().deciders == []


def test_watchers_are_entered_in_order_and_left_alone_when_one_stops() -> None:
    """Each sees the result, and none is asked after it was stopped, even twice."""
    seen: list[str] = []

    def watcher(name: str) -> Any:
        @contextmanager
        def watches(work: Work) -> Iterator[None]:
            seen.append(f"{name} begins")
            yield
            seen.append(f"{name} sees {work.result}")

        return watches

    async def doing() -> int:
        return 7

    stops = [watch(watcher(name)) for name in "ab"]
    try:
        with watched(Work("call", "", None)) as work:
            work.result = 1
        assert asyncio.run(watching(Work("call", "", None), doing())) == 7
        assert seen == [
            *("a begins", "b begins", "b sees 1", "a sees 1"),
            *("a begins", "b begins", "b sees 7", "a sees 7"),
        ]
        stops[0]()
        stops[0]()
        seen.clear()
        with watched(Work("row", "n", None)):
            pass
        assert seen == ["b begins", "b sees None"]
    finally:
        for stop in stops:
            stop()
    assert asyncio.run(watching(Work("call", "", None), doing())) == 7
    assert len(seen) == 2


def test_without_a_change_nothing_changes() -> None:
    """Data stays escaped, and no statement may be declined."""
    changes = VerifierChanges()

    assert (changes.language, changes.settings) == (None, None)
    assert (changes.hardened, changes.may_decline) == (True, False)
