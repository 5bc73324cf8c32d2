"""Run plans, checked before the first call."""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from rag_evals.cache import StatementCache, configured_cache
from rag_evals.catalog import grader_named
from rag_evals.core import Meter, fingerprint, require_whole
from rag_evals.dataset import (
    CheckedFile,
    ColumnMap,
    Data,
    FileData,
    NumberedSample,
    RowData,
    data_from,
)
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader, default_judge, resolve
from rag_evals.grading.grader import judge_name, warn_of_default
from rag_evals.judge import Client, as_instructor, judge_for, model_of, wanted_settings
from rag_evals.judge.batches import BatchHost
from rag_evals.judge.clients.build import address_of, check_endpoint
from rag_evals.judge.clients.strings import Price, price_of
from rag_evals.judge.wire.ask import client_settings
from rag_evals.run.plan.options import ASKING_OPTIONS, RunOptions, RunSettings, refuse_idle
from rag_evals.run.record.outcome import Outcome, short_fingerprint
from rag_evals.run.record.store import FORMAT, kept_checks
from rag_evals.run.record.summary import Summary
from rag_evals.verify import read_judge, read_tunings

Graders = Grader[Any] | str | Sequence[Grader[Any] | str]
"""One or more graders, or names of built-in ones."""

SEED = 0
"""Seed for drawing rows; constant, so that the same command resumes the same draw."""

# Only one slash, because `Path` drops the second.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_RUNS_FOLDER = Path("runs")
_STEM_CHARS = 50


Admission = Literal["begin", "wait", "stop"]
"""Start the row, wait until another grading finishes, or start no more rows."""


class RunPolicy:
    """Decides which rows of a run are graded: all of them, unless a subclass overrides this."""

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Decide whether to start a row; called again after `"wait"`.

        A `resumed` row has outcomes from an earlier start, so it must be started.
        """
        del position, resumed
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        """Count an outcome from this start or an earlier one; they arrive in any order."""
        del outcome

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Complete the summary, and return entries for the manifest."""
        del summary
        return {}


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that has been checked but not started.

    Attributes:
        checked: The checked data file; None if the data is not a file.
        client: None if a verifier decides alone.
        model: None for the grader's or the client's own model.
        identity: A run folder can be resumed only by a plan with the same identity.
        drawn: Number of rows to grade in random order; None for all rows in file order.
        policy: Creates the policy, given `lost_usd`: the cost of failed outcomes in earlier starts.
        batched: True if requests are sent in batches, which cost less.
        free: Plan for the embedded judge to grade all rows, if this plan draws a sample.
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
    policy: Callable[..., RunPolicy] | None = None
    batched: bool = False
    free: "Plan | None" = None
    budget: float | None = None

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
            # The file may have shrunk; the run checks that at the end.
            if place in found:
                yield found.pop(place)

    @property
    def stages(self) -> dict[str, list[dict[str, Any]]]:
        of_graders = {grader.name: grader.stages for grader in self.graders}
        return {name: stages for name, stages in of_graders.items() if stages}

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

    @property
    def price_as_of(self) -> str | None:
        """Month of the list price; None if no price is known."""
        endpoints = [endpoint for grader in self.graders for endpoint in grader.endpoints]
        known = [self.price(grader) for grader in self.graders]
        known += [price_of(model_of(endpoint)) for endpoint in endpoints]
        return next((price.as_of for price in known if price is not None), None)

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
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return {
            "format": FORMAT,
            "rag_evals": version("rag-evals"),
            "created": created,
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
        """Return a folder named after the data and settings, the same for equal runs."""
        path = self.data.path if isinstance(self.data, FileData) else Path("rows")
        return _RUNS_FOLDER / f"{_stem(path)}-{fingerprint(self.identity)[:8]}"


def random_order(rows: int) -> list[int]:
    order = list(range(rows))
    random.Random(SEED).shuffle(order)
    return order


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
    # A folder name can have at most 255 bytes, and a character takes up to four.
    return path.name.split(".")[0][:_STEM_CHARS]


def make_plan(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    options: RunOptions | None = None,
    folders: Iterable[Path] = (),
) -> Plan:
    """Plan a run, and check everything that can be checked without a judge; see `evaluate`.

    A file already checked by a run in `folders` is checked again only if it has changed.
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
    asked = resolved[0][1]
    check_endpoint(asked)
    judge = judge_name(client, model)
    made = tuple(grader for grader, _ in resolved)
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
    return Plan(rows, checked, made, asked, model, settings, identity)


def _statement_cache(
    settings: RunSettings, options: RunOptions, client: Client, graders: Sequence[Grader[Any]]
) -> StatementCache | None:
    """Open the verdict cache, which is in the same file as cached replies."""
    if settings.cache is None and options.get("cache") is not None:
        return None
    # Check judges first, so that one that cannot be called leaves no cache file behind.
    own = read_judge(client).endpoint if isinstance(client, str) else None
    for endpoint in [own, *(name for grader in graders for name in grader.endpoints)]:
        if endpoint is not None:
            judge_for(endpoint)
    return (
        configured_cache() if settings.cache is None else configured_cache("exact", settings.cache)
    )


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
