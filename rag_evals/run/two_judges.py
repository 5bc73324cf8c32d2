"""How is a sample graded by one judge, and every row by a free one? Two runs, one in the other."""

from pathlib import Path

from rag_evals.run.designs import choose_designs
from rag_evals.run.plan import Plan
from rag_evals.run.progress import Report
from rag_evals.run.run import Run
from rag_evals.run.runner import aexecute
from rag_evals.run.sampled import free_folder


async def aexecute_sampled(
    plan: Plan, free: Plan, *, out: str | Path, progress: Report | bool | None = None
) -> Run:
    """Carry out the plan of a sample, and one of every row, in the running event loop.

    Args:
        plan: As `sample_of` makes it.
        free: The same rows and graders, with a judge that costs nothing.
        out: Folder of the run; that of every row is kept in it.
        progress: As for `evaluate`.
    """
    folder = Path(out)
    # First: a judge that cannot be opened must leave no folder that refuses the right one.
    run = await aexecute(plan, out=folder, progress=progress)
    every = await aexecute(free, out=free_folder(folder), progress=progress)
    choose_designs(run.summary(), run.of_grader, None, every)
    return run
