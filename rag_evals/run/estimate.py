"""What will a run cost? Counted from the calls it would make; nothing is sent."""

from dataclasses import dataclass
from typing import Any

from rag_evals.errors import NotScorableError
from rag_evals.grader import Grader
from rag_evals.judge import JudgeCall, Usage
from rag_evals.run.plan import Plan
from rag_evals.sample import Sample
from rag_evals.text import token_counter

# Measured with the scripted judge of the benchmarks: statements repeat the answer and reason on it.
_REPLY_PER_ANSWER = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would ask for.

    Attributes:
        rows: Rows to grade.
        calls: Calls of the first round; a flow that asks again after a reply makes more.
        prompt_tokens: Tokens to send.
        completion_tokens: Tokens to receive, a rough guess.
        cost_usd: List price; None when it is not known for every grader's model.
        counted_by: `tiktoken`, or what stood in for it.
        price_as_of: Month of the price list, or None.
    """

    rows: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    counted_by: str
    price_as_of: str | None

    def __str__(self) -> str:
        """One line."""
        money = "price of the model not known"
        if self.cost_usd is not None:
            money = f"about ${self.cost_usd:.4f} at list prices of {self.price_as_of}"
        return (
            f"{self.rows} rows, {self.calls} calls, {self.prompt_tokens} tokens to send and about "
            f"{self.completion_tokens} to receive ({self.counted_by}), {money}; nothing was sent"
        )


def estimate(plan: Plan) -> Estimate:
    """Count what a plan would ask for.

    Args:
        plan: A plan over a file, or over rows that can be read more than once.
    """
    count, counted_by = token_counter(plan.default_model)
    rows = calls = 0
    usages = {grader.name: Usage() for grader in plan.graders}
    for row in plan.data:
        rows += 1
        for grader in plan.graders:
            for call in _first_calls(grader, row.sample):
                calls += 1
                schema = count(str(call.reply_model.model_json_schema()))
                sent = schema + sum(count(message["content"]) for message in call.messages)
                received = _REPLY_PER_ANSWER * count(str(call.facts.get("answer") or ""))
                added = Usage(prompt_tokens=sent, completion_tokens=received)
                usages[grader.name] = usages[grader.name] + added
    prices = {grader.name: plan.price(grader) for grader in plan.graders}
    known = [(price, usages[name]) for name, price in prices.items() if price is not None]
    total = sum(usages.values(), Usage())
    return Estimate(
        rows,
        calls,
        total.prompt_tokens,
        total.completion_tokens,
        sum(price.cost_usd(usage) for price, usage in known) if len(known) == len(prices) else None,
        counted_by,
        known[0][0].as_of if known else None,
    )


def _first_calls(grader: Grader[Any], sample: object) -> list[JudgeCall[Any]]:
    if not isinstance(sample, Sample):
        return []
    flow = grader.flow(sample)
    try:
        steps = next(flow)
    except (NotScorableError, StopIteration):
        return []
    finally:
        flow.close()
    return [step for step in steps if isinstance(step, JudgeCall)]
