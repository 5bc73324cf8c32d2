"""Which rows does a user ask for, where not all of the data? Read from the options, and planned."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rag_evals.core import require_whole
from rag_evals.dataset import Columns, Data, FileData
from rag_evals.errors import ConfigurationError
from rag_evals.judge import Client
from rag_evals.run.decision import DEFAULT_ERROR, require_gate
from rag_evals.run.draw import until_decided
from rag_evals.run.gate import require_counts
from rag_evals.run.plan import Graders, Plan, make_plan
from rag_evals.run.sampled import bought_by, sample_of
from rag_evals.run.settings import DEFAULT_CONCURRENCY, RunOptions, StopRule
from rag_evals.verify import EMBEDDED, EMBEDDED_GRADERS, read_judge

OptionName = Callable[[str], str]
"""Says what a user calls an option, such as `--stop-early`."""

_MONEY = re.compile(r"\$?(\d+(?:\.\d+)?) ?(?:usd)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class AskedDraw:
    """What the options ask, checked as far as can be without the data.

    Attributes:
        stop: The gate that ends the run; None for none.
        sample: Rows of the sample; None for none.
        budget: US dollars for it; None for none.
    """

    stop: StopRule | None
    sample: int | None
    budget: float | None

    @classmethod
    def of(cls, options: RunOptions, named: OptionName = str) -> "AskedDraw":
        """Check the options that draw rows.

        Raises:
            ConfigurationError: Two that cannot be together, or one that cannot be read.
        """
        sample, budget = options.get("sample"), options.get("budget")
        stop = _stop_rule(options, named)
        given = {"stop_early": stop, "sample": sample, "budget": budget}
        names = [named(name) for name, value in given.items() if value is not None]
        if len(names) > 1:
            raise ConfigurationError(f"{names[0]} and {names[1]} both choose the rows; give one")
        if sample is not None:
            require_whole(named("sample"), sample)
        return cls(stop, sample, None if budget is None else _dollars(budget, named("budget")))

    def planned(self, make: Callable[[Client, bool], Plan], client: Client) -> Plan:
        """Make the plan of the rows that are drawn, with that of the free judge if there is one.

        Args:
            make: Makes the plan of all rows for a judge; without its tuned files where told so.
            client: Who is asked.

        Raises:
            ConfigurationError: The data, the judge or its price does not allow it.
        """
        plan = make(client, True)
        if self.stop is not None:
            return until_decided(plan, self.stop)
        if self.budget is not None:
            # Rows that can be read only once are counted in a plan of their own.
            counted = plan if isinstance(plan.data, FileData) else make(client, True)
            drawn = bought_by(plan, self.budget, counted)
        elif self.sample is not None and plan is not (found := sample_of(plan, self.sample)):
            drawn = found
        else:
            return plan
        try:
            every = make(EMBEDDED, False)
        except ConfigurationError as error:
            raise _no_free_form(drawn) or error from None
        if asked := [name for grader in every.graders for name in grader.endpoints]:
            raise ConfigurationError(
                f"{asked[0]!r} would be asked about every row; a sample needs graders that the "
                "embedded judge can decide alone"
            )
        return replace(drawn, free=every)


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


def plan_draw(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    model: str | None = None,
    columns: Columns = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    options: RunOptions | None = None,
    named: OptionName = str,
    folders: Iterable[Path] = (),
) -> Plan:
    """Plan a run as `make_plan` does, of the rows that the options draw.

    Args:
        data: As for `make_plan`.
        graders: As for `make_plan`.
        client: As for `make_plan`.
        model: As for `make_plan`.
        columns: As for `make_plan`.
        concurrency: As for `make_plan`.
        options: As for `make_plan`, and those that draw rows.
        named: Says what messages call an option.
        folders: As for `make_plan`.

    Raises:
        ConfigurationError: A setting cannot work, or rows cannot be drawn so.
        DataError: A row of the file cannot be graded.
    """
    given: RunOptions = options or {}
    asked = AskedDraw.of(given, named)
    planned = partial(
        make_plan, data, graders, columns=columns, concurrency=concurrency, folders=list(folders)
    )

    def make(judge: Client, as_asked: bool) -> Plan:
        if as_asked:
            return planned(judge, model=model, options=given)
        free: RunOptions = {**given, "tuned": None, "repeat": 1}
        return planned(judge, options=free)

    return asked.planned(make, client)


def _stop_rule(options: RunOptions, named: OptionName) -> StopRule | None:
    gate, error = options.get("gate"), options.get("error", DEFAULT_ERROR)
    count: Mapping[str, float] = options.get("count") or {}
    if not options.get("stop_early"):
        if gate is not None:
            raise ConfigurationError(
                f"{named('gate')} does nothing without {named('stop_early')}; ask run.gate({gate})"
            )
        return None
    if gate is None:
        raise ConfigurationError(f"{named('stop_early')} does nothing without {named('gate')}")
    require_gate(named("gate"), gate, error)
    require_counts(count)
    return StopRule(gate, error, count)


# A user may give anything.
def _dollars(budget: Any, name: str) -> float:
    """Read `5usd`, `$5`, `5` or a number.

    Raises:
        ConfigurationError: None of them, or nothing at all.
    """
    is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
    found = None if is_number else _MONEY.fullmatch(str(budget).strip())
    dollars = float(budget) if is_number else float(found[1]) if found else 0.0
    # Written so that NaN is refused as well.
    if not 0 < dollars < float("inf"):
        raise ConfigurationError(f"{name} {budget!r} is no sum of US dollars above 0, as in 5usd")
    return dollars
