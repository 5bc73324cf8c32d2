"""Is a user's own client asked again in a single grading? Where its SDK sends each request once."""

from typing import Any

from tenacity import AsyncRetrying, RetryCallState, Retrying

from rag_evals.core import JudgeCall, JudgeReply, Meter
from rag_evals.judge.ask import AsyncJudge, Judge
from rag_evals.judge.retry import call_rules, never_repeats


class RepeatedJudge:
    """Asks through a user's own client, and again as a run would.

    Args:
        judge: Asks through the client.
        client: An instructor client; its SDK says whether it repeats by itself.
    """

    def __init__(self, judge: Judge, client: object) -> None:
        self._judge = judge
        self._client = client

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers; None when nobody knows."""
        return getattr(self._judge, "identity", None)

    def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the row has time; as the judge otherwise."""
        if not never_repeats(self._client):
            return self._judge.ask(call, meter)
        reply: JudgeReply = Retrying(**_rules(self._client, meter))(self._judge.ask, call, meter)
        return reply


class AsyncRepeatedJudge:
    """Awaits a user's own client; as `RepeatedJudge` otherwise."""

    def __init__(self, judge: AsyncJudge, client: object) -> None:
        self._judge = judge
        self._client = client

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers; None when nobody knows."""
        return getattr(self._judge, "identity", None)

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, and ask again while the row has time; as the judge otherwise."""
        if not never_repeats(self._client):
            return await self._judge.ask(call, meter)
        retrying = AsyncRetrying(**_rules(self._client, meter))
        reply: JudgeReply = await retrying(self._judge.ask, call, meter)
        return reply


def _rules(client: object, meter: Meter) -> dict[str, Any]:
    """Make waits as long as the endpoint asks, and a part of the time that the grading has."""
    rules = call_rules(client)

    def seconds(state: RetryCallState) -> float:
        error = None if state.outcome is None else state.outcome.exception()
        asked = getattr(error, "retry_after_seconds", None)
        return float(rules["wait"](state) if asked is None else asked)

    def is_over(state: RetryCallState) -> bool:
        left = meter.seconds_left
        return rules["stop"](state) or (left is not None and state.upcoming_sleep >= left)

    def count(state: RetryCallState) -> None:
        meter.waited_seconds += state.upcoming_sleep

    return {**rules, "wait": seconds, "stop": is_over, "before_sleep": count}
