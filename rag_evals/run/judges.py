"""Which judges does a run ask? The judge of its plan, and those that single calls name."""

import asyncio
from contextlib import AsyncExitStack, closing
from itertools import product

from rag_evals.cache import CachedJudge
from rag_evals.judge import (
    AsyncJudge,
    Client,
    LimitedJudge,
    ReplayedJudge,
    client_settings,
    endpoint_of,
    judge_session,
    model_of,
    replayed_judge,
)
from rag_evals.run.batch_answers import RoundAnswers
from rag_evals.run.plan import Plan


class RunJudges:
    """Opens each judge of a run once: within the run's limits, and with its cache.

    Args:
        plan: The run.
        stack: Closes the judges with the run.
        answers: What has come of a run's batches; None asks the judges.
    """

    def __init__(
        self,
        plan: Plan,
        stack: AsyncExitStack,
        *,
        answers: RoundAnswers | None = None,
    ) -> None:
        self._plan = plan
        self._answers = answers
        self._stack = stack
        self._named: dict[str, AsyncJudge] = {}
        self._lock = asyncio.Lock()
        self._limited: list[LimitedJudge | ReplayedJudge] = []

    @property
    def waiting_seconds(self) -> float:
        """How long an endpoint has asked to wait, from now; 0 when none has."""
        return max((judge.waiting_seconds for judge in self._limited), default=0.0)

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        return sorted({one for judge in self._limited for one in judge.models_without_temperature})

    async def open(self) -> AsyncJudge | None:
        """Open the judge of the plan, and those that graders name; None when none is asked."""
        client, model = self._plan.client, self._plan.model
        judge = await self._open(client, model)
        if judge is not None and isinstance(client, str) and model is None:
            self._named[client] = judge
        for limited, grader in product(self._limited, self._plan.graders):
            # Such as `seed`: a grader of prompts has its own.
            own = getattr(grader, "settings", {})
            limited.check_settings(own, model or grader.model or model_of(client))
        for grader in self._plan.graders:
            for endpoint in grader.endpoints:
                await self.named(endpoint)
        return judge

    async def named(self, endpoint: str) -> AsyncJudge:
        """Return the judge that a call names, such as `openai/gpt-4o`; opened when first asked."""
        async with self._lock:
            if endpoint not in self._named:
                judge = await self._open(endpoint, None)
                assert judge is not None, "a session over a string has a judge"
                self._named[endpoint] = judge
            return self._named[endpoint]

    async def _open(self, client: Client, model: str | None) -> AsyncJudge | None:
        if self._answers is not None:
            return await self._replayed(client, model, self._answers)
        judge = await self._stack.enter_async_context(
            judge_session(client, model, self._plan.settings.session)
        )
        if judge is None:
            return None
        self._limited.append(judge)
        return self._cached(judge, client, model) or judge

    async def _replayed(
        self, client: Client, model: str | None, answers: RoundAnswers
    ) -> AsyncJudge | None:
        options = self._plan.settings.session.options
        judge = await self._stack.enter_async_context(
            replayed_judge(client, model, options, answers)
        )
        if judge is None:
            return None
        self._limited.append(judge)
        return answers.over(judge, self._cached(judge, client, model))

    def _cached(self, judge: AsyncJudge, client: Client, model: str | None) -> CachedJudge | None:
        settings = self._plan.settings
        if (cache := settings.open_cache()) is None:
            return None
        self._stack.enter_context(closing(cache))
        return CachedJudge(
            judge,
            cache,
            endpoint=endpoint_of(client),
            default_model=model_of(client),
            model=model,
            settings=settings.session.options.settings,
            own=client_settings(client),
        )
