"""A run asks each judge within its limits: the one of the plan, and those that calls name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rag_evals import FaithfulnessResult, TwoStepFaithfulness, base, evaluate
from rag_evals.core import Usage
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.judge.clients.strings import price_of
from rag_evals.run import make_plan
from rag_evals.run.plan.plan import estimate
from rag_evals.testing import JudgeRequest, Reply, Script, ScriptedJudge, Stall
from rag_evals.testing.scripted import Answer, fill_by_words
from rag_evals.verify import LLMVerifier

if TYPE_CHECKING:
    import instructor

Start = Callable[[Script], ScriptedJudge]
ROWS = [
    {"answer": f"The tower has {floors} floors.", "context": [f"The tower has {floors} floors."]}
    for floors in range(6)
]


def slowly(request: JudgeRequest) -> Answer:
    return Stall(0.02, Reply(json.dumps(fill_by_words(request))))


def test_each_judge_has_its_price(scripted: Start) -> None:
    """The tokens of a verifier's own judge cost what that model costs, not what the other does."""
    scripted(None)
    grader = TwoStepFaithfulness.with_parts(verifier=LLMVerifier(endpoint="openai/gpt-4o"))
    run = evaluate(ROWS[:1], [grader], "openai/gpt-4o-mini", progress=False)
    (cheap, dear), usage = map(price_of, ("gpt-4o-mini", "gpt-4o")), run.summary().usage
    half = Usage(
        prompt_tokens=usage.prompt_tokens // 2, completion_tokens=usage.completion_tokens // 2
    )

    assert usage.calls == 2
    assert cheap is not None
    assert dear is not None
    assert run.summary().cost_usd == pytest.approx(cheap.cost_usd(half) + dear.cost_usd(half))


def test_a_model_of_ones_own_has_its_price(scripted: Start) -> None:
    """`LLMVerifier(model=...)` asks another model of the same endpoint: that is what it costs."""
    scripted(None)
    by_endpoint, by_model = (
        TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=verifier)
        for verifier in (LLMVerifier(endpoint="openai/gpt-4o"), LLMVerifier(model="gpt-4o"))
    )
    costs = [
        evaluate(ROWS[:1], [grader], "openai/gpt-4o-mini", progress=False).summary().cost_usd
        for grader in (by_endpoint, by_model)
    ]

    assert costs[0] == costs[1] is not None


def test_the_model_of_a_run_is_what_it_costs(
    scripted: Start, client_of: Callable[..., "instructor.Instructor"]
) -> None:
    """It is asked instead of the grader's own; 100 tokens sent and 20 received, by hand."""
    judge = scripted(None)
    client = client_of(judge)
    for own in (None, "gpt-4o"):
        grader = base.ContextEvaluation("Judge.", FaithfulnessResult, model=own, name="g")
        (outcome,) = evaluate(ROWS[:1], grader, client, model="gpt-4o-mini", progress=False)
        guessed = estimate(make_plan(ROWS[:1], grader, client, options={"model": "gpt-4o-mini"}))
        tokens, received = guessed.prompt_tokens, guessed.completion_tokens

        assert outcome.cost_usd == pytest.approx((100 * 0.15 + 20 * 0.6) / 1_000_000)
        assert guessed.cost_usd == pytest.approx((tokens * 0.15 + received * 0.6) / 1_000_000)
    assert [request.body["model"] for request in judge.requests] == ["gpt-4o-mini"] * 2


def test_an_unknown_price_of_one_judge_leaves_the_sum_open(scripted: Start) -> None:
    """A part of a sum would read like all of it."""
    scripted(None)
    grader = TwoStepFaithfulness.with_parts(verifier=LLMVerifier(endpoint="openai/my-own"))
    run = evaluate(ROWS[:1], [grader], "openai/gpt-4o-mini", progress=False)

    assert [outcome.cost_usd for outcome in run.outcomes] == [None]


def test_a_row_that_asks_nobody_costs_nothing_where_the_price_is_known() -> None:
    """Of a model without a price nobody knows, so that a sum is not claimed."""
    empty = [{"answer": "", "context": ["c"]}]
    for model, cost in (("gpt-4o-mini", 0.0), ("my-own", None)):
        (outcome,) = evaluate(empty, client=f"openai/{model}@http://127.0.0.1:9", progress=False)
        assert (outcome.status, outcome.cost_usd) == ("not_scorable", cost)


def test_answers_of_a_named_judge_are_kept_as_well(
    scripted: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call cache of a run serves both judges, and keeps their answers apart."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "off")
    judge = scripted(None)
    path = tmp_path / "answers.sqlite3"
    for endpoint in ("openai/one", "openai/two", "openai/one"):
        grader = TwoStepFaithfulness.with_parts(
            extractor=SentenceExtractor(), verifier=LLMVerifier(endpoint=endpoint)
        )
        run = evaluate(ROWS, [grader], "openai/m", progress=False, cache=path)
        assert run.summary().graders["faithfulness_two_step"].scored == len(ROWS)

    assert [request.body["model"] for request in judge.requests] == ["one"] * 6 + ["two"] * 6
    assert run.summary().usage.cache_hits == len(ROWS)


def test_a_named_judge_is_asked_within_the_limits_of_the_run(scripted: Start) -> None:
    """One call in flight at a time, also where the judge that grades is never asked."""
    judge = scripted(slowly)
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=LLMVerifier(batch_size=1, endpoint="openai/own")
    )
    rows = [{"answer": " ".join(str(row["answer"]) for row in ROWS), "context": ["c"]}]
    evaluate(rows, [grader], "openai/m", progress=False, concurrency=1)

    assert len(judge.requests) == len(ROWS)
    assert judge.max_in_flight == 1


def test_a_model_of_a_run_is_not_that_of_a_named_judge(scripted: Start) -> None:
    """`model` replaces that of the run's judge, not of a verifier that names the same string."""
    judge = scripted(None)
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=LLMVerifier(endpoint="openai/own")
    )
    other = base.ContextEvaluation("Judge.", FaithfulnessResult, name="g")
    evaluate(ROWS[:1], [grader, other], "openai/own", model="run", progress=False)

    assert sorted(request.body["model"] for request in judge.requests) == ["own", "run"]
