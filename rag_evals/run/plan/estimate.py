"""What will a run cost? Counted from the calls it would make; nothing is sent."""

from collections.abc import Callable, Iterator
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
from rag_evals.judge import DecisionCall
from rag_evals.run.plan.plan import Plan
from rag_evals.text import token_counter

# Measured with the scripted judge of the benchmarks: statements repeat the answer and reason on it.
_REPLY_PER_ANSWER = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would ask for.

    Attributes:
        rows: Rows to grade.
        calls: Calls of the first round.
        prompt_tokens: Tokens to send.
        completion_tokens: Tokens to receive, a rough guess.
        cost_usd: List price; None when it is not known for every grader's model.
        counted_by: `tiktoken`, or what replaced it.
        price_as_of: Month of the price list, or None.
        at_least: True when replies to these calls lead to more of them.
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
        """One line."""
        return self.line(phrases())

    def line(self, say: Phrases) -> str:
        """Say it in one line, in a reader's language."""
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
    """Count what a plan would ask for."""
    count, counted_by = token_counter(plan.default_model)
    rows = calls = 0
    meters = [Meter() for _ in plan.graders]
    for row in plan.in_turn():
        rows += 1
        for grader, meter in zip(plan.graders, meters, strict=True):
            for call in _first_requests(grader, row.sample):
                calls += 1
                meter.add(_usage_of(call, count), endpoint=call.endpoint, model=call.model)
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


def _first_requests(grader: Grader[Any], sample: object) -> Iterator[JudgeCall[Any]]:
    for call in _first_calls(grader, sample):
        yield from call.in_requests() if isinstance(call, DecisionCall) else (call,)


def _usage_of(call: JudgeCall[Any], count: Callable[[str], int]) -> Usage:
    """Guess the tokens of one call."""
    if isinstance(call, DecisionCall):
        return Usage(prompt_tokens=sum(count(message["content"]) for message in call.messages))
    schema = count(str(call.reply_model.model_json_schema()))
    sent = schema + sum(count(message["content"]) for message in call.messages)
    return Usage(
        prompt_tokens=sent, completion_tokens=_REPLY_PER_ANSWER * count(_judged_text(call))
    )


def _first_calls(grader: Grader[Any], sample: object) -> list[JudgeCall[Any]]:
    """Return the calls that come before any reply; what this machine decides first is decided."""
    if not isinstance(sample, Sample) or not grader.judge_rounds:
        return []
    if sample.turns and grades_turns(grader):
        # Each turn as if the replies before it were supported.
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


def _judged_text(call: JudgeCall[Any]) -> str:
    """Return what the reply will go through: the answer, or the part of it that a call is about."""
    parts = call.facts.get("statements") or call.facts.get("sentences") or ()
    return str(call.facts.get("answer") or " ".join(parts))


def _done_here(step: Step) -> Any:
    if isinstance(step, VerifyCall):
        return step.run()
    assert isinstance(step, LocalCall), "the caller looked for judge calls"
    # A look-up in a cache may ask an endpoint for vectors.
    return step.reply_when_skipped
