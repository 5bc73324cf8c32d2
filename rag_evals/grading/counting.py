"""How many judge calls did each round of a flow make?"""

from rag_evals.core import Flow, JudgeCall, Verdict


def counting(flow: Flow[list[Verdict]], made: list[int]) -> Flow[list[Verdict]]:
    """Hand a flow's steps on, and note in `made` how many judge calls each round had."""
    try:
        steps = next(flow)
        while True:
            made.append(sum(isinstance(step, JudgeCall) for step in steps))
            try:
                replies = yield steps
            except Exception as error:  # noqa: BLE001 - whatever a driver throws belongs to the flow
                steps = flow.throw(error)
            else:
                steps = flow.send(replies)
    except StopIteration as stop:
        verdicts: list[Verdict] = stop.value
        return verdicts
