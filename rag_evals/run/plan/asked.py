"""Which rows does a run grade, where not all of the data? Planned as its `sampling` says."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rag_evals.dataset import Data, FileData
from rag_evals.errors import ConfigurationError
from rag_evals.judge import Client
from rag_evals.run.plan.draw import until_decided
from rag_evals.run.plan.options import RunOptions
from rag_evals.run.plan.plan import Graders, Plan, make_plan
from rag_evals.run.plan.sampled import bought_by, sample_of
from rag_evals.verify import EMBEDDED, EMBEDDED_GRADERS, read_judge


def plan_draw(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    options: RunOptions | None = None,
    folders: Iterable[Path] = (),
) -> Plan:
    """Plan a run as `make_plan` does, of the rows that its `sampling` draws.

    With a sample or a budget, the plan has that of the free judge, which grades every row.

    Args:
        data: As for `make_plan`.
        graders: As for `make_plan`.
        client: As for `make_plan`.
        options: As for `make_plan`, and `sampling`.
        folders: As for `make_plan`.

    Raises:
        ConfigurationError: A setting cannot work, or rows cannot be drawn so.
        DataError: A row of the file cannot be graded.
    """
    given: RunOptions = options or {}
    known = list(folders)
    plan = make_plan(data, graders, client, options=given, folders=known)
    sampling = given.get("sampling")
    if sampling is None:
        return plan
    if sampling.gate is not None:
        return until_decided(plan, sampling)
    if (dollars := sampling.dollars) is not None:
        # Rows that can be read only once are counted in a plan of their own.
        again = isinstance(plan.data, FileData)
        counted = plan if again else make_plan(data, graders, client, options=given)
        drawn = bought_by(plan, dollars, counted)
    else:
        assert sampling.sample is not None, "one of the three ways was checked"
        drawn = sample_of(plan, sampling.sample)
        if drawn is plan:
            return plan
    return replace(drawn, free=_free_plan(drawn, data, graders, given, known))


def _free_plan(
    drawn: Plan, data: Data, graders: Graders, options: RunOptions, folders: list[Path]
) -> Plan:
    """Plan every row for the embedded judge."""
    without: RunOptions = {"model": None, "rpm": None, "tpm": None, "tuned": None, "repeat": 1}
    mine: RunOptions = {**options, **without, "sampling": None}
    try:
        every = make_plan(data, graders, EMBEDDED, options=mine, folders=folders)
    except ConfigurationError as error:
        raise _no_free_form(drawn) or error from None
    if asked := [name for grader in every.graders for name in grader.endpoints]:
        raise ConfigurationError(
            f"{asked[0]!r} would be asked about every row; a sample needs graders that the "
            "embedded judge can decide alone"
        )
    return every


def _no_free_form(plan: Plan) -> ConfigurationError | None:
    """Name the grader that the free judge cannot be; the client that grades was given."""
    free, _ = read_judge(EMBEDDED)
    assert free is not None, "the embedded judge is a verifier"
    for grader in plan.graders:
        try:
            grader.with_verifier(free)
        except ConfigurationError:
            return ConfigurationError(
                f"a sample needs a free judge that grades every row, and grader {grader.name!r} "
                f"has no form for {EMBEDDED!r}; grade all rows, the first ones (limit), or use "
                f"{' or '.join(map(repr, EMBEDDED_GRADERS))}"
            )
    return None
