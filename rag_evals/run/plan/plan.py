"""Run plans, which are checked before the first call, and their estimated costs."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rag_evals.cache import StatementCache, configured_cache
from rag_evals.catalog import grader_named
from rag_evals.core import (
    JudgeCall,
    LocalCall,
    Meter,
    Phrases,
    Sample,
    Step,
    Usage,
    VerifyCall,
    fingerprint,
    phrases,
    require_whole,
)
from rag_evals.dataset import (
    CheckedFile,
    ColumnMap,
    Data,
    FileData,
    NumberedSample,
    RowData,
    data_from,
)
from rag_evals.errors import ConfigurationError, DataError, GradingError, NotScorableError
from rag_evals.grading import Grader, default_judge, resolve, sample_flow
from rag_evals.grading.conversation import grades_turns
from rag_evals.grading.grader import judge_name, warn_of_default
from rag_evals.judge import (
    Client,
    DecisionCall,
    as_instructor,
    judge_for,
    model_of,
    wanted_settings,
)
from rag_evals.judge.batches import BatchHost
from rag_evals.judge.clients.build import address_of, check_endpoint
from rag_evals.judge.clients.strings import Price, price_of
from rag_evals.judge.wire.ask import client_settings
from rag_evals.run.plan.options import ASKING_OPTIONS, RunOptions, RunSettings, refuse_idle
from rag_evals.run.plan.progress import Report
from rag_evals.run.plan.sampling import (
    FEWEST_SAMPLED,
    FREE_FOLDER,
    SEED,
    Budget,
    EarlyStop,
    RunPolicy,
    budget_text,
    random_order,
)
from rag_evals.run.record.outcome import short_fingerprint
from rag_evals.run.record.store import FORMAT, kept_checks
from rag_evals.run.record.summary import Summary
from rag_evals.text import token_counter
from rag_evals.verify import EMBEDDED, read_judge, read_tunings

Graders = Grader[Any] | str | Sequence[Grader[Any] | str]
"""One or more graders, or names of built-in ones."""

# Matches only one slash, because `Path` drops the second.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_RUNS_FOLDER = Path("runs")
_STEM_CHARS = 50
# Replies repeat the answer and add reasons; in our benchmarks, they were about three times as long.
_REPLY_PER_ANSWER = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that has been checked but not started.

    Attributes:
        checked: The checked data file; None if the data is not a file.
        client: None if only a verifier is used.
        model: None to use the grader's or the client's model.
        identity: Identifies the run; only a plan with the same identity can resume its folder.
        drawn: Number of rows to grade in random order; None to grade all rows in file order.
        batched: True if requests are sent in batches, which cost less.
        free: Plan in which the embedded judge grades all rows, if this plan draws a sample.
        budget: Budget in US dollars, if any.
    """

    data: FileData | RowData
    checked: CheckedFile | None
    graders: tuple[Grader[Any], ...]
    client: Client
    model: str | None
    settings: RunSettings
    identity: dict[str, Any]
    drawn: int | None = None
    policy: Callable[[Summary], RunPolicy] = RunPolicy
    batched: bool = False
    free: "Plan | None" = None
    budget: float | None = None
    out: Path | None = None
    progress: Report | bool | None = None

    def into(
        self, out: str | Path | None = None, *, progress: Report | bool | None = None
    ) -> "Plan":
        """Return a copy with a run folder and a progress display; see `evaluate`."""
        folder = None if out is None else Path(out)
        free = self.free
        if free is not None:
            free = free.into(folder and folder / FREE_FOLDER, progress=progress)
        return replace(self, out=folder, progress=progress, free=free)

    @property
    def rows(self) -> int | None:
        counted = self.data if isinstance(self.data, RowData) else self.checked
        return None if counted is None else counted.count

    @property
    def total(self) -> int | None:
        rows = self.rows if self.drawn is None else self.drawn
        return None if rows is None else rows * len(self.graders)

    def in_turn(self) -> Iterator[NumberedSample]:
        """Yield the rows to grade, in file order or draw order."""
        if self.drawn is None:
            yield from self.data
            return
        assert self.rows is not None, "rows are drawn only if they can be counted"
        chosen = random_order(self.rows)[: self.drawn]
        wanted = set(chosen)
        # Collect rows by position, because a reader may group them by document.
        found = {row.position: row for row in self.data if row.position in wanted}
        for place in chosen:
            # The file may have shrunk, which the run checks at the end.
            if place in found:
                yield found.pop(place)

    @property
    def stages(self) -> dict[str, list[dict[str, Any]]]:
        return {grader.name: grader.stages for grader in self.graders if grader.stages}

    @property
    def fingerprints(self) -> dict[str, str]:
        return {name: short_fingerprint(full) for name, full in self.identity["graders"].items()}

    def asked_with(self, grader: Grader[Any]) -> dict[str, Any] | None:
        if self.identity["settings"] is None:
            return None
        own = {} if grader.model is None else {"model": grader.model}
        return {**self.identity["settings"], "address": self.identity["address"], **own}

    def price(self, grader: Grader[Any]) -> Price | None:
        return price_of(self.model or grader.model or model_of(self.client))

    def cost_usd(self, grader: Grader[Any], meter: Meter) -> float | None:
        """Return the cost of one grading; None if a price or token count is unknown."""
        if not meter.by_judge:
            return None if self.price(grader) is None else 0.0
        cost = 0.0
        for (endpoint, model), usage in meter.by_judge.items():
            asked = self.model or model or model_of(self.client)
            price = price_of(asked if endpoint is None else model_of(endpoint))
            if price is None or usage.uncounted:
                return None
            spec = self.client if endpoint is None else endpoint
            is_batch = self.batched and isinstance(spec, str)
            cost += price.cost_usd(usage) * (BatchHost.share_of(str(spec)) if is_batch else 1.0)
        return cost

    def manifest(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "rag_evals": version("rag-evals"),
            "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "finished": None,
            "rows": None if self.checked is None else self.checked.count,
            "columns": {} if self.checked is None else dict(self.checked.taken),
            "stages": self.stages,
            "prompts": {
                each.name: prompt
                for each in self.graders
                if isinstance(prompt := getattr(each, "prompt", None), str)
            },
            "identity": self.identity,
        }

    def default_folder(self) -> Path:
        """Return a folder named after the data and settings; identical runs get the same folder."""
        path = self.data.path if isinstance(self.data, FileData) else Path("rows")
        return _RUNS_FOLDER / f"{_stem(path)}-{fingerprint(self.identity)[:8]}"


def folders_of(out: str | Path | None) -> list[Path]:
    """Return `out` as a list; raise `ConfigurationError` if it is a URL."""
    if out is not None and (found := _ADDRESS.match(str(out))):
        raise ConfigurationError(
            f"out is {str(out)!r}; expected a local folder, which you can copy to {found[1]} later"
        )
    return [] if out is None else [Path(out)]


def default_folders(path: Path) -> list[Path]:
    """Return the default folders of earlier runs on a data file."""
    begin = f"{_stem(path)}-"
    there = _RUNS_FOLDER.iterdir() if _RUNS_FOLDER.is_dir() else ()
    return sorted(folder for folder in there if folder.name.startswith(begin))


def _stem(path: Path) -> str:
    # A folder name can have at most 255 bytes, and a character up to four.
    return path.name.split(".")[0][:_STEM_CHARS]


def make_plan(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    options: RunOptions | None = None,
    folders: Sequence[Path] = (),
) -> Plan:
    """Plan a run and check everything that can be checked without a judge; see `evaluate`.

    A file that a run in `folders` has already checked is checked again only if it has changed.
    """
    given: RunOptions = options or {}
    settings, model, is_named = RunSettings.of(given), given.get("model"), client is not None
    client = as_instructor(client if is_named else default_judge(), asynchronous=True)
    columns = ColumnMap.of(given.get("columns"))
    chosen = _chosen(graders, given.get("repeat", 1))
    open_cache = partial(_statement_cache, settings, given, client, chosen)
    of_judge = settings.session.options.settings
    tunings = read_tunings(given["tuned"]) if given.get("tuned") else ()
    resolved = [
        resolve(grader, client, model, settings=of_judge, tunings=tunings, open_cache=open_cache)
        for grader in chosen
    ]
    made, (asked, *_) = zip(*resolved, strict=True)
    check_endpoint(asked)
    judge = judge_name(client, model)
    if not is_named:
        warn_of_default(made)
    judges = [] if asked is None else [asked]
    judges += [endpoint for grader in made for endpoint in grader.endpoints]
    if not judges:
        refuse_idle(given, *ASKING_OPTIONS, where=f"with {judge!r}, which calls no endpoint")
    required = frozenset(field for grader in chosen for field in grader.requires)
    rows = data_from(data, columns, required, settings.limit)
    checked = rows.check(kept_checks(folders)) if isinstance(rows, FileData) else None
    identity = {
        "data": "rows" if checked is None else checked.data_hash,
        "file": rows.path.name if isinstance(rows, FileData) else None,
        "judge": judge,
        "address": " and ".join(dict.fromkeys(map(address_of, judges))) or None,
        "graders": {grader.name: grader.fingerprint() for grader in made},
        "models": {grader.name: grader.model for grader in made if grader.model},
        "columns": columns.described(),
        "limit": settings.limit,
        "settings": wanted_settings({}, of_judge, client_settings(asked)) if judges else None,
    }
    if sources := {grader.name: grader.source for grader in chosen if grader.source}:
        identity["sources"] = sources
    plan = Plan(rows, checked, made, asked, model, settings, identity)
    return _draw_rows(plan, client, given, partial(make_plan, data, graders, folders=folders))


def _draw_rows(
    plan: Plan, client: Client, options: RunOptions, make_again: Callable[..., Plan]
) -> Plan:
    """Return a plan that grades only the rows drawn by the `sampling` option."""
    sampling = options.get("sampling")
    if sampling is None:
        return plan
    if plan.rows is None:
        raise ConfigurationError(
            "sampling needs the number of rows; pass a file, a table or a list"
        )
    if sampling.gate is not None:
        ahead = 2 * plan.settings.session.concurrency
        names = [grader.name for grader in plan.graders]
        policy = partial(EarlyStop, rule=sampling, population=plan.rows, graders=names, ahead=ahead)
        order = {**plan.identity, "order": f"random, seed {SEED}"}
        return replace(plan, drawn=plan.rows, identity=order, policy=policy)
    if plan.client is None and not any(grader.endpoints for grader in plan.graders):
        raise ConfigurationError(
            f"judge {plan.identity['judge']!r} is free, so grade all rows instead of a sample"
        )
    whole: RunOptions = {**options, "sampling": None}
    if (dollars := sampling.dollars) is not None:
        # Some data can be read only once, so estimate the cost with a second plan.
        is_file = isinstance(plan.data, FileData)
        counted = plan if is_file else make_again(client, options=whole)
        drawn = _sample(plan, rows_for_budget(counted, dollars), dollars)
    elif sampling.sample == plan.rows:
        return plan
    else:
        drawn = _sample(plan, sampling.sample or 0)
    return replace(drawn, free=_free_plan(whole, make_again))


def _sample(plan: Plan, rows: int, dollars: float | None = None) -> Plan:
    """Return a plan that grades random rows and stops when the budget is spent."""
    total = plan.rows or 0
    if rows > total:
        raise ConfigurationError(
            f"a sample of {rows} rows is larger than the data, which has {total} rows"
        )
    if rows < min(FEWEST_SAMPLED, total):
        bought = ""
        if dollars is not None:
            bought = f"the budget of ${budget_text(dollars)} pays for {rows} rows, and "
        raise ConfigurationError(
            f"{bought}a sample of {rows} rows is too small; at least {FEWEST_SAMPLED} are needed "
            "to measure the error of the cheap judge"
        )
    note = {"rows": rows, "of": total, "probability": rows / max(total, 1), "seed": SEED}
    drawn = replace(plan, drawn=rows, identity={**plan.identity, "sample": note})
    if dollars is None:
        return drawn
    policy = partial(Budget, dollars=dollars, graders=len(plan.graders), drawn=rows)
    return replace(drawn, budget=dollars, policy=policy)


def _free_plan(options: RunOptions, make_again: Callable[..., Plan]) -> Plan:
    """Return a plan in which the embedded judge grades all rows."""
    mine = {name: value for name, value in options.items() if name not in ASKING_OPTIONS}
    try:
        every = make_again(EMBEDDED, options=mine | {"tuned": None, "repeat": 1})
    except ConfigurationError as error:
        raise ConfigurationError(
            f"a sample needs a cheap judge that grades every row; {error}"
        ) from None
    if asked := [name for grader in every.graders for name in grader.endpoints]:
        raise ConfigurationError(
            f"a grader calls {asked[0]!r} for every row; a sample needs graders that can use the "
            "embedded judge alone"
        )
    return every


def rows_for_budget(plan: Plan, dollars: float) -> int:
    told = estimate(plan)
    if not told.cost_usd:
        raise ConfigurationError(
            f"the budget cannot be enforced, because the price of judge {plan.identity['judge']!r} "
            "is unknown; add it to the file in RAG_EVALS_PRICES, or use --sample"
        )
    return min(told.rows, int(told.rows * dollars / told.cost_usd))


def _statement_cache(
    settings: RunSettings, options: RunOptions, client: Client, graders: Sequence[Grader[Any]]
) -> StatementCache | None:
    """Open the verdict cache, which is stored in the same file as cached replies."""
    if settings.cache is None and options.get("cache") is not None:
        return None
    # Check judges first, so that no cache file is created if a judge cannot be opened.
    own = read_judge(client).endpoint if isinstance(client, str) else None
    for endpoint in [own, *(name for grader in graders for name in grader.endpoints)]:
        if endpoint is not None:
            judge_for(endpoint)
    return configured_cache("off" if settings.cache is None else "exact", settings.cache)


def _chosen(graders: Any, times: int) -> list[Grader[Any]]:
    is_one = isinstance(graders, str) or not isinstance(graders, Sequence | set | frozenset)
    chosen: list[Grader[Any]] = []
    for given in [graders] if is_one else list(graders):
        grader = grader_named(given) if isinstance(given, str) else given
        if not isinstance(grader, Grader):
            raise ConfigurationError(
                f"graders contains {given!r}; expected a grader, such as Faithfulness, or a name, "
                "such as 'faithfulness'"
            )
        if grader.name in [other.name for other in chosen]:
            raise ConfigurationError(
                f"two graders are named {grader.name!r}; pass a different name= to one"
            )
        if not hasattr(grader.result_model, "score"):
            raise ConfigurationError(
                f"{grader.result_model.__name__} has no score; derive it from rag_evals.Result and "
                "define the property"
            )
        chosen.append(grader)
    if not chosen:
        raise ConfigurationError("no graders; expected at least one, such as Faithfulness")
    if require_whole("repeat", times) == 1:
        return chosen
    from rag_evals.grading.repeat import Repeated  # noqa: PLC0415 - its model is slow to build

    return [Repeated(grader, times) for grader in chosen]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The number, tokens and list price of a run's first calls.

    If `at_least` is true, more calls will follow, depending on the replies.
    """

    rows: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    counted_by: str
    price_as_of: str | None
    at_least: bool = False

    def __str__(self) -> str:
        return self.line(phrases())

    def line(self, say: Phrases) -> str:
        if not self.calls and not self.at_least:
            return say("estimate.nothing", rows=self.rows)
        money, form = say("estimate.unknown"), "_at_least" if self.at_least else ""
        if self.cost_usd is not None:
            cost = say.number(self.cost_usd, 4)
            money = say(f"estimate.price{form}", cost=cost, month=self.price_as_of)
        tokens = say(
            "estimate.tokens",
            sent=self.prompt_tokens,
            received=self.completion_tokens,
            counted_by=self.counted_by,
        )
        counts = {"rows": self.rows, "calls": self.calls}
        return say(f"estimate.line{form}", tokens=tokens, money=money, **counts)


def estimate(plan: Plan) -> Estimate:
    count, counted_by = token_counter(model_of(plan.client))
    rows = calls = 0
    meters = [Meter() for _ in plan.graders]
    for row in plan.in_turn():
        rows += 1
        for grader, meter in zip(plan.graders, meters, strict=True):
            for call in _first_calls(grader, row.sample):
                for one in call.in_requests() if isinstance(call, DecisionCall) else (call,):
                    calls += 1
                    meter.add(_usage_of(one, count), endpoint=one.endpoint, model=one.model)
    costs = list(map(plan.cost_usd, plan.graders, meters))
    total = sum((meter.total for meter in meters), Usage())
    prices = [plan.price(grader) for grader in plan.graders]
    prices += [price_of(model_of(name)) for grader in plan.graders for name in grader.endpoints]
    cost = None if None in costs else sum(filter(None, costs))
    month = next((price.as_of for price in prices if price is not None), None)
    at_least = any(grader.judge_rounds > 1 for grader in plan.graders)
    tokens = total.prompt_tokens, total.completion_tokens
    return Estimate(rows, calls, *tokens, cost, counted_by, month, at_least)


def _usage_of(call: JudgeCall[Any], count: Callable[[str], int]) -> Usage:
    sent = sum(count(message["content"]) for message in call.messages)
    if isinstance(call, DecisionCall):
        return Usage(prompt_tokens=sent)
    schema = count(str(call.reply_model.model_json_schema()))
    # The reply covers the answer, or the part of the answer in this call.
    parts = call.facts.get("statements") or call.facts.get("sentences")
    judged = " ".join(parts or [call.facts.get("answer") or ""])
    return Usage(prompt_tokens=schema + sent, completion_tokens=_REPLY_PER_ANSWER * count(judged))


def _first_calls(grader: Grader[Any], sample: object) -> list[JudgeCall[Any]]:
    """Return the calls that a grader makes before it needs a judge's reply."""
    if not isinstance(sample, Sample) or not grader.judge_rounds:
        return []
    if sample.turns and grades_turns(grader):
        # Assume that every statement in an earlier reply was supported.
        replies = [turn.answer for turn in sample.turns]
        turns = (sample.turn_sample(place, replies[:place]) for place in range(len(replies)))
        return [call for turn in turns for call in _first_calls(grader, turn)]
    try:
        flow = sample_flow(grader, sample)
        steps = next(flow)
        while not any(isinstance(step, JudgeCall) for step in steps):
            steps = flow.send([_done_here(step) for step in steps])
    except (NotScorableError, GradingError, DataError, StopIteration):
        return []
    flow.close()
    return [step for step in steps if isinstance(step, JudgeCall)]


def _done_here(step: Step) -> Any:
    if isinstance(step, VerifyCall):
        return step.run()
    assert isinstance(step, LocalCall), "the caller filters out judge calls"
    # Skip local calls, because a cache lookup may request embeddings from an endpoint.
    return step.reply_when_skipped
