"""Cost estimates for runs, made without sending anything."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rag_evals.core import (
    JudgeCall,
    LocalCall,
    Meter,
    Phrases,
    Sample,
    Step,
    Usage,
    VerifyCall,
    phrases,
)
from rag_evals.errors import DataError, GradingError, NotScorableError
from rag_evals.grading import Grader, sample_flow
from rag_evals.grading.conversation import grades_turns
from rag_evals.judge import DecisionCall, model_of
from rag_evals.run.plan.plan import Plan
from rag_evals.text import token_counter

# Replies repeat the answer and add reasons; in our benchmarks, they are about three times as long.
_REPLY_PER_ANSWER = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """Number, tokens and list price of a run's first calls.

    If `at_least` is true, their replies lead to further calls.
    """

    rows: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    counted_by: str
    price_as_of: str | None
    at_least: bool = False

    def __str__(self) -> str:
        return self.line(phrases())

    def line(self, say: Phrases) -> str:
        if not self.calls and not self.at_least:
            return say("estimate.nothing", rows=self.rows)
        money = say("estimate.unknown")
        if self.cost_usd is not None:
            cost = say.number(self.cost_usd, 4)
            price = "estimate.price_at_least" if self.at_least else "estimate.price"
            money = say(price, cost=cost, month=self.price_as_of)
        tokens = say(
            "estimate.tokens",
            sent=self.prompt_tokens,
            received=self.completion_tokens,
            counted_by=self.counted_by,
        )
        line = "estimate.line_at_least" if self.at_least else "estimate.line"
        return say(line, rows=self.rows, calls=self.calls, tokens=tokens, money=money)


def estimate(plan: Plan) -> Estimate:
    count, counted_by = token_counter(model_of(plan.client))
    rows = calls = 0
    meters = [Meter() for _ in plan.graders]
    for row in plan.in_turn():
        rows += 1
        for grader, meter in zip(plan.graders, meters, strict=True):
            for call in _first_calls(grader, row.sample):
                for one in call.in_requests() if isinstance(call, DecisionCall) else (call,):
                    calls += 1
                    meter.add(_usage_of(one, count), endpoint=one.endpoint, model=one.model)
    pairs = list(zip(plan.graders, meters, strict=True))
    costs = [cost for pair in pairs if (cost := plan.cost_usd(*pair)) is not None]
    total = sum((meter.total for meter in meters), Usage())
    return Estimate(
        rows,
        calls,
        total.prompt_tokens,
        total.completion_tokens,
        sum(costs) if len(costs) == len(pairs) else None,
        counted_by,
        plan.price_as_of,
        at_least=any(grader.judge_rounds > 1 for grader in plan.graders),
    )


def _usage_of(call: JudgeCall[Any], count: Callable[[str], int]) -> Usage:
    sent = sum(count(message["content"]) for message in call.messages)
    if isinstance(call, DecisionCall):
        return Usage(prompt_tokens=sent)
    schema = count(str(call.reply_model.model_json_schema()))
    # The reply covers the answer, or the part of it that this call contains.
    parts = call.facts.get("statements") or call.facts.get("sentences") or ()
    judged = str(call.facts.get("answer") or " ".join(parts))
    return Usage(prompt_tokens=schema + sent, completion_tokens=_REPLY_PER_ANSWER * count(judged))


def _first_calls(grader: Grader[Any], sample: object) -> list[JudgeCall[Any]]:
    """Return the calls that a grader makes before it needs a reply."""
    if not isinstance(sample, Sample) or not grader.judge_rounds:
        return []
    if sample.turns and grades_turns(grader):
        # Assume that earlier replies are supported.
        replies = [turn.answer for turn in sample.turns]
        turns = (sample.turn_sample(place, replies[:place]) for place in range(len(replies)))
        return [call for turn in turns for call in _first_calls(grader, turn)]
    try:
        flow = sample_flow(grader, sample)
        steps = next(flow)
        while not any(isinstance(step, JudgeCall) for step in steps):
            steps = flow.send([_done_here(step) for step in steps])
    except (NotScorableError, GradingError, DataError, StopIteration):
        return []
    flow.close()
    return [step for step in steps if isinstance(step, JudgeCall)]


def _done_here(step: Step) -> Any:
    if isinstance(step, VerifyCall):
        return step.run()
    assert isinstance(step, LocalCall), "the caller filters out judge calls"
    # Skip it, because a cache lookup may request embeddings from an endpoint.
    return step.reply_when_skipped
