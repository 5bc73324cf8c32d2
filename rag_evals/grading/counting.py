"""How many judge calls did a flow make, and of whom?"""

from collections import Counter
from collections.abc import Sequence

from rag_evals.core import Flow, JudgeCall, Verdict

CallsMade = Counter[str | None]
"""Calls by the endpoint that they name; None stands for the judge that grades."""


def counting(flow: Flow[list[Verdict]], made: CallsMade) -> Flow[list[Verdict]]:
    """Hand a flow's steps on, and count its judge calls in `made`."""
    try:
        steps = next(flow)
        while True:
            made.update(step.endpoint for step in steps if isinstance(step, JudgeCall))
            try:
                replies = yield steps
            except Exception as error:  # noqa: BLE001 - whatever a driver throws belongs to the flow
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        verdicts: list[Verdict] = stop.value
        return verdicts


def calls_by_stage(made: CallsMade, callers: Sequence[str]) -> dict[str, int]:
    """Say how many calls each stage of a cascade made.

    Args:
        made: What was counted.
        callers: The stages that make calls, by name, the first one first; only the last asks the
            judge that grades.

    Returns:
        Nothing where fewer than two stages make calls.
    """
    if len(callers) < 2:
        return {}
    counted = dict.fromkeys(callers, 0)
    for endpoint, calls in made.items():
        # A stage has its endpoint at the end of its name, or as its name.
        named = (name for name in callers if endpoint is not None and name.endswith(endpoint))
        counted[next(named, callers[-1])] += calls
    return counted
