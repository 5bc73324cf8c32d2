"""How do several graders ask a decision model about one row? In one request, each with its own end.

A grading that comes to its questions waits until every other one of the row has come to its own, or
has ended. The answers are handed back by name, so that a fault of one grader's is no other's.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag_evals.cache import CachedJudge
from rag_evals.core import (
    DecisionCall,
    Decisions,
    JudgeCall,
    JudgeReply,
    Meter,
    Usage,
    merged_state,
    renamed,
)
from rag_evals.errors import JudgeRequestError
from rag_evals.grading import Grader, NamedJudge
from rag_evals.judge import AsyncJudge, is_decision_model

_SEPARATOR = "_"


@dataclass(slots=True, eq=False)
class _Waiting:
    """A call that waits for those of the other gradings."""

    place: int
    call: DecisionCall
    meter: Meter
    reply: "asyncio.Future[JudgeReply]"


class RowQuestions:
    """The questions of all gradings of one row.

    Args:
        named: Finds the judge that a call names.
        gradings: How many gradings there are; each leaves when it has ended.
    """

    def __init__(self, named: NamedJudge, gradings: int) -> None:
        self._named = named
        self._under_way = gradings
        self._waiting: list[_Waiting] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def judge(self, endpoint: str) -> AsyncJudge:
        """Return the judge that a call names, with its cache, if it has one."""
        return await self._named(endpoint)

    def leave(self) -> None:
        """Say that a grading has ended, and asks nothing more."""
        self._under_way -= 1
        self._send_when_all_wait()
        if not self._under_way:
            for task in self._sending:
                task.cancel()

    async def ask(self, place: int, call: DecisionCall, meter: Meter) -> JudgeReply:
        """Wait for the others, and return the answers to the questions of this call.

        Args:
            place: Of the grading among those of the row.
            call: Its questions.
            meter: Of the grading.
        """
        waiting = _Waiting(place, call, meter, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._send_when_all_wait()
        try:
            return await waiting.reply
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _send_when_all_wait(self) -> None:
        if self._waiting and len(self._waiting) >= self._under_way:
            # In one order, whoever came first: else the same request would look like another one.
            together, self._waiting = sorted(self._waiting, key=lambda one: one.place), []
            for group in grouped([one.call for one in together]):
                task = asyncio.ensure_future(self._send([together[place] for place in group]))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _send(self, together: Sequence[_Waiting]) -> None:
        try:
            await self._answer(together)
        except JudgeRequestError as error:
            if len(together) == 1:
                _end(together, error)
                return
            # Too long, or one question that the host refuses: no other grader's fault.
            await asyncio.gather(*(self._send([one]) for one in together))
        except BaseException as error:
            _end(together, error)
            if not isinstance(error, Exception):
                raise

    async def _answer(self, together: Sequence[_Waiting]) -> None:
        first = together[0]
        named = await self._named(str(first.call.endpoint))
        judge = named.judge if isinstance(named, CachedJudge) else named
        if len(together) == 1:
            _take(first, await judge.ask(first.call, first.meter))
            return
        meter = Meter()
        calls = [one.call for one in together]
        merged = merged_call(calls)
        try:
            reply = await judge.ask(merged, meter)
        finally:
            shares = shared_out(meter.total, calls)
            for one, usage in zip(together, shares, strict=True):
                one.meter.add(
                    usage,
                    endpoint=one.call.endpoint,
                    model=one.call.model,
                    answered_by=meter.answered_by,
                )
                one.meter.waited_seconds += meter.waited_seconds
        decisions = merged.read(reply)
        for place, one in enumerate(together):
            _take(one, JudgeReply(_own(decisions, place), shares[place]))


class RowMember:
    """One grading of a row that shares its questions with others.

    Args:
        questions: What it shares.
        place: Which of them it is.
    """

    def __init__(self, questions: RowQuestions, place: int) -> None:
        self._questions = questions
        self._place = place

    async def named(self, endpoint: str) -> AsyncJudge:
        """Return the judge that a call names; questions for a decision model wait for others."""
        judge = await self._questions.judge(endpoint)
        if not isinstance(judge, CachedJudge):
            return _JoiningJudge(self._questions, self._place, judge)
        # Each grader's answers are kept by themselves, whoever asked beside it.
        return judge.asking(_JoiningJudge(self._questions, self._place, judge.judge))

    def leave(self) -> None:
        """Say that the grading has ended, and asks nothing more."""
        self._questions.leave()


class _JoiningJudge:
    """Asks questions together with the other gradings of a row, and all else by itself."""

    def __init__(self, questions: RowQuestions, place: int, judge: AsyncJudge) -> None:
        self._questions = questions
        self._place = place
        self._judge = judge

    @property
    def identity(self) -> str | None:
        """Which model of which endpoint answers; None when the judge below does not say."""
        return getattr(self._judge, "identity", None)

    async def ask(self, call: JudgeCall[Any], meter: Meter) -> JudgeReply:
        """Ask, alone or with others."""
        if isinstance(call, DecisionCall):
            return await self._questions.ask(self._place, call, meter)
        return await self._judge.ask(call, meter)


def questions_together(
    graders: Sequence[Grader[Any]], named: NamedJudge, most: int
) -> list[RowMember | None]:
    """Say with whom each grading of a row asks its questions.

    Args:
        graders: Those that grade the row, in the order in which they begin.
        named: Finds the judge that a call names.
        most: So many gradings go on at a time: more of them would wait for each other for ever.

    Returns:
        For each grader what it shares with others; None where nobody shares its decision model.
    """
    asked = [place for place, grader in enumerate(graders) if _asks_decisions(grader)]
    shared: list[RowMember | None] = [None] * len(graders)
    for first in range(0, len(asked), most):
        group = asked[first : first + most]
        if len(group) > 1:
            questions = RowQuestions(named, len(group))
            for place in group:
                shared[place] = RowMember(questions, place)
    return shared


def _asks_decisions(grader: Grader[Any]) -> bool:
    return any(is_decision_model(endpoint) for endpoint in grader.endpoints)


def grouped(calls: Sequence[DecisionCall]) -> list[list[int]]:
    """Say which calls may go in one request: those to one model, about the same texts.

    Returns:
        Places of calls, each in one group.
    """
    groups: list[list[int]] = []
    for place, call in enumerate(calls):
        for group in groups:
            states = [calls[other].state for other in group]
            same_model = calls[group[0]].endpoint == call.endpoint
            if same_model and merged_state([*states, call.state]) is not None:
                group.append(place)
                break
        else:
            groups.append([place])
    return groups


def merged_call(calls: Sequence[DecisionCall]) -> DecisionCall:
    """Make one call of several that may go in one request."""
    state = merged_state(call.state for call in calls)
    assert state is not None, "the calls were grouped"
    questions = [
        question
        for place, call in enumerate(calls)
        for question in renamed(call.questions, f"g{place}{_SEPARATOR}")
    ]
    return DecisionCall.of(state, questions, str(calls[0].endpoint))


def _own(decisions: Decisions, place: int) -> Decisions:
    prefix = f"g{place}{_SEPARATOR}"
    return Decisions(
        answers={
            name.removeprefix(prefix): answer
            for name, answer in decisions.answers.items()
            if name.startswith(prefix)
        },
        faults={
            name.removeprefix(prefix): fault
            for name, fault in decisions.faults.items()
            if name.startswith(prefix)
        },
    )


def shared_out(usage: Usage, calls: Sequence[DecisionCall]) -> list[Usage]:
    """Share what one request cost among its calls: tokens by length, the request to the first.

    Returns:
        One for each call; their sum is the whole.
    """
    lengths = [sum(len(message["content"]) for message in call.messages) for call in calls]
    total = sum(lengths) or 1
    shares, so_far, given = [], 0, Usage()
    for length in lengths:
        so_far += length
        upto = Usage(
            prompt_tokens=usage.prompt_tokens * so_far // total,
            completion_tokens=usage.completion_tokens * so_far // total,
            cached_tokens=usage.cached_tokens * so_far // total,
        )
        shares.append(
            Usage(
                prompt_tokens=upto.prompt_tokens - given.prompt_tokens,
                completion_tokens=upto.completion_tokens - given.completion_tokens,
                cached_tokens=upto.cached_tokens - given.cached_tokens,
            )
        )
        given = upto
    requests = Usage(
        usage.calls,
        usage.reasks,
        usage.retries,
        cache_hits=usage.cache_hits,
        uncounted=usage.uncounted,
    )
    return [shares[0] + requests, *shares[1:]]


def _take(one: _Waiting, reply: JudgeReply) -> None:
    if not one.reply.done():
        one.reply.set_result(reply)


def _end(together: Sequence[_Waiting], error: BaseException) -> None:
    for one in together:
        if not one.reply.done():
            one.reply.set_exception(error)
