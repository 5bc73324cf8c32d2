"""Which judges does a run ask? The judge of its plan, and those that single calls name."""

import asyncio
from contextlib import AsyncExitStack, closing
from itertools import product

from rag_evals.cache import CallCache
from rag_evals.judge import (
    Client,
    JudgePipeline,
    batch_session,
    client_settings,
    endpoint_of,
    judge_for,
    judge_session,
    model_of,
)
from rag_evals.run.engine.batch_table import RoundAnswers
from rag_evals.run.plan.plan import Plan


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
        self._named: dict[str, JudgePipeline] = {}
        self._lock = asyncio.Lock()
        self._opened: list[JudgePipeline] = []

    @property
    def waiting_seconds(self) -> float:
        """How long an endpoint has asked to wait, from now; 0 when none has."""
        return max((judge.waiting_seconds for judge in self._opened), default=0.0)

    @property
    def models_without_temperature(self) -> list[str]:
        """Models that refused a temperature of 0, and were asked at their own."""
        hosts = [judge.host for judge in self._opened]
        return sorted({one for host in hosts for one in host.models_without_temperature})

    async def open(self) -> JudgePipeline | None:
        """Open the judge of the plan, and those that graders name; None when none is asked."""
        client, model = self._plan.client, self._plan.model
        judge = await self._open(client, model)
        if judge is not None and isinstance(client, str) and model is None:
            self._named[client] = judge
        for opened, grader in product(self._opened, self._plan.graders):
            # Such as `seed`: a grader of prompts has its own.
            own = getattr(grader, "settings", {})
            opened.host.check_settings(own, model or grader.model or model_of(client))
        for grader in self._plan.graders:
            for endpoint in grader.endpoints:
                await self.named(endpoint)
        return judge

    async def named(self, endpoint: str) -> JudgePipeline:
        """Return the judge that a call names, such as `openai/gpt-4o`; opened when first asked."""
        async with self._lock:
            if endpoint not in self._named:
                judge = await self._open(endpoint, None)
                assert judge is not None, "a session over a string has a judge"
                self._named[endpoint] = judge
            return self._named[endpoint]

    async def _open(self, client: Client, model: str | None) -> JudgePipeline | None:
        if client is None:
            return None
        if self._answers is None and isinstance(client, str):
            # First: a judge that cannot be asked must leave no cache file.
            judge_for(client, model)
        settings, store = self._plan.settings.session, self._store(client, model)
        if self._answers is None:
            opened = judge_session(client, model, settings, store)
        else:
            assert isinstance(client, str), "whoever asks by batches has looked for a string"
            opened = batch_session(client, model, settings.options, self._answers, store)
        judge = await self._stack.enter_async_context(opened)
        self._opened.append(judge)
        return judge

    def _store(self, client: Client, model: str | None) -> CallCache | None:
        settings = self._plan.settings
        if (cache := settings.open_cache()) is None:
            return None
        self._stack.enter_context(closing(cache))
        return CallCache(
            cache,
            endpoint=endpoint_of(client),
            default_model=model_of(client),
            model=model,
            settings=settings.session.options.settings,
            own=client_settings(client),
        )
