"""The plan of a run: rows, graders, judge and settings, checked before the first call."""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol

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
from rag_evals.run.plan.options import OPTIONS, RunOptions, RunSettings, refuse_idle
from rag_evals.run.record.outcome import Outcome, short_fingerprint
from rag_evals.run.record.store import FORMAT, kept_checks
from rag_evals.run.record.summary import Summary
from rag_evals.verify import read_judge, read_tunings

Graders = Grader[Any] | str | Sequence[Grader[Any] | str]
"""One grader or several: objects, or names of shipped ones."""

SEED = 0
"""Fixes the order for each number of rows, so that the same command resumes the same draw."""

# A `Path` has lost the second slash.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_RUNS_FOLDER = Path("runs")
_STEM_CHARS = 50


Admission = Literal["begin", "wait", "stop"]
"""A row may begin; it must wait until another grading has ended; or no further row is needed."""


class RunPolicy(Protocol):
    """Decides how many rows of one run are graded, by default all."""

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Decide whether a row may begin with all graders; called again after `"wait"`.

        Args:
            position: Index of the row in the data.
            resumed: True if an earlier start has outcomes of it; then it always begins.
        """
        del position, resumed
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        """Count an outcome of this or an earlier start; rows end in any order."""
        del outcome

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Complete the summary of a finished run.

        Returns:
            Entries for the manifest; empty for a run of all rows.
        """
        del summary
        return {}


class EveryRow(RunPolicy):
    """Grades all rows of a plan."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run, checked and not yet begun.

    Attributes:
        data: The rows.
        checked: Result of the first reading of a file; None for an iterable.
        graders: The graders, in the form that fits the judge.
        client: The judge's client; None if a verifier decides alone.
        model: Model to ask; None for the graders' or the client's own.
        settings: Limits, time-outs and cache.
        identity: Identifies the run; a folder is resumed only with an equal one.
        drawn: Number of rows to grade in random order; None for all rows in their order.
        policy: Makes the policy that decides how many rows are graded, given the US dollars that
            earlier starts spent on outcomes that do not count; None for all rows.
        batched: True if judges are asked in batches, which cost less.
        free: Plan of all rows for a cheap judge, if this one draws a sample; else None.
        budget: Budget of the sample in US dollars; None without one.
    """

    data: FileData | RowData
    checked: CheckedFile | None
    graders: tuple[Grader[Any], ...]
    client: Client
    model: str | None
    settings: RunSettings
    identity: dict[str, Any]
    drawn: int | None = None
    policy: "Callable[[Plan, float], RunPolicy] | None" = None
    batched: bool = False
    free: "Plan | None" = None
    budget: float | None = None

    @property
    def rows(self) -> int | None:
        """Number of rows; None if unknown."""
        counted = self.data if isinstance(self.data, RowData) else self.checked
        return None if counted is None else counted.count

    @property
    def total(self) -> int | None:
        """Number of gradings; None if unknown."""
        rows = self.rows if self.drawn is None else self.drawn
        return None if rows is None else rows * len(self.graders)

    def in_turn(self) -> Iterator[NumberedSample]:
        """Yield the rows to grade, in their order or in that of the draw."""
        if self.drawn is None:
            yield from self.data
            return
        assert self.rows is not None, "only rows that can be counted are drawn"
        chosen = random_order(self.rows)[: self.drawn]
        wanted = set(chosen)
        # By position: rows of one document may come together, out of order.
        found = {row.position: row for row in self.data if row.position in wanted}
        for place in chosen:
            # The end of the run notices a file that became shorter.
            if place in found:
                yield found.pop(place)

    @property
    def presets(self) -> tuple[str, ...]:
        """Tools whose column names the data has; for an iterable, as far as it was read."""
        return self.checked.presets if self.checked else tuple(getattr(self.data, "presets", ()))

    @property
    def default_model(self) -> str | None:
        """Model to ask if neither plan nor grader names one; None if unknown."""
        return model_of(self.client)

    @property
    def stages(self) -> dict[str, list[dict[str, Any]]]:
        """The stages of each grader with a verifier, as in the manifest."""
        of_graders = {grader.name: grader.stages for grader in self.graders}
        return {name: stages for name, stages in of_graders.items() if stages}

    @property
    def fingerprints(self) -> dict[str, str]:
        """Short fingerprint of each grader by name, as in outcomes."""
        return {name: short_fingerprint(full) for name, full in self.identity["graders"].items()}

    def asked_with(self, grader: Grader[Any]) -> dict[str, Any] | None:
        """Return the judge settings of a grader, as in its outcomes."""
        if self.identity["settings"] is None:
            return None
        own = {} if grader.model is None else {"model": grader.model}
        return {**self.identity["settings"], "address": self.identity["address"], **own}

    @property
    def untuned(self) -> list[str]:
        """Names of verifiers without a fitted threshold."""
        return sorted({name for grader in self.graders for name in grader.untuned})

    def price(self, grader: Grader[Any]) -> Price | None:
        """Return the price of a grader's calls; None if the model or its price is unknown."""
        return price_of(self.model or grader.model or self.default_model)

    @property
    def price_as_of(self) -> str | None:
        """Month of the price list; None if no price is known."""
        endpoints = [endpoint for grader in self.graders for endpoint in grader.endpoints]
        known = [self.price(grader) for grader in self.graders]
        known += [price_of(model_of(endpoint)) for endpoint in endpoints]
        return next((price.as_of for price in known if price is not None), None)

    def cost_usd(self, grader: Grader[Any], meter: Meter) -> float | None:
        """Return the cost of one grading; None if a price or a number of tokens is unknown."""
        if not meter.by_judge:
            return None if self.price(grader) is None else 0.0
        cost = 0.0
        for (endpoint, model), usage in meter.by_judge.items():
            asked = self.model or model or self.default_model
            price = price_of(asked if endpoint is None else model_of(endpoint))
            if price is None or usage.uncounted:
                return None
            spec = self.client if endpoint is None else endpoint
            is_batch = self.batched and isinstance(spec, str)
            cost += price.cost_usd(usage) * (BatchHost.share_of(str(spec)) if is_batch else 1.0)
        return cost

    def manifest(self) -> dict[str, Any]:
        """Return the content of `manifest.json`."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return {
            "format": FORMAT,
            "rag_evals": version("rag-evals"),
            "created": created,
            "finished": None,
            "rows": None if self.checked is None else self.checked.count,
            "columns": {} if self.checked is None else dict(self.checked.taken),
            "presets": list(self.presets),
            "stages": self.stages,
            "prompts": {
                each.name: prompt
                for each in self.graders
                if isinstance(prompt := getattr(each, "prompt", None), str)
            },
            "identity": self.identity,
        }

    def default_folder(self) -> Path:
        """Return a folder name made from data and settings; the same run has the same folder."""
        path = self.data.path if isinstance(self.data, FileData) else Path("rows")
        return _RUNS_FOLDER / f"{_stem(path)}-{fingerprint(self.identity)[:8]}"


def random_order(rows: int) -> list[int]:
    """Return the positions of the rows in the order of the draw."""
    order = list(range(rows))
    random.Random(SEED).shuffle(order)
    return order


def folders_of(out: str | Path | None) -> list[Path]:
    """Return folders that may have checked the data; raise `ConfigurationError` for an address."""
    if out is not None and (found := _ADDRESS.match(str(out))):
        raise ConfigurationError(
            f"out is {str(out)!r}, and a run is kept in a folder of this machine; write it to a "
            f"folder, then copy that to {found[1]}"
        )
    return [] if out is None else [Path(out)]


def default_folders(path: Path) -> list[Path]:
    """Return the folders of earlier runs of a data file, as `default_folder` names them."""
    begin = f"{_stem(path)}-"
    there = _RUNS_FOLDER.iterdir() if _RUNS_FOLDER.is_dir() else ()
    return sorted(folder for folder in there if folder.name.startswith(begin))


def _stem(path: Path) -> str:
    # A folder's name has at most 255 bytes, four for some letters.
    return path.name.split(".")[0][:_STEM_CHARS]


def make_plan(
    data: Data,
    graders: Graders,
    client: Client = None,
    *,
    options: RunOptions | None = None,
    folders: Iterable[Path] = (),
) -> Plan:
    """Plan a run, and check everything that can be checked without asking a judge.

    Args:
        data: A path, or an iterable of mappings or samples; `()` for a session.
        graders: One or more graders, or names of shipped ones.
        client: As for `Grader.grade`.
        options: Options of the run.
        folders: Earlier runs: a file that one of them checked is not checked again if it has not
            changed.

    Raises:
        ConfigurationError: A setting is invalid.
        DataError: A row of the file cannot be graded.
    """
    given: RunOptions = options or {}
    settings, model, is_named = RunSettings.of(given), given.get("model"), client is not None
    client = as_instructor(client if is_named else default_judge(), asynchronous=True)
    columns = ColumnMap.of(given.get("columns"))
    chosen = _checked(_repeated(_chosen(graders), given.get("repeat", 1)))
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
        of_endpoints = [name for name, option in OPTIONS.items() if option.asks]
        refuse_idle(given, *of_endpoints, where=f"with {judge!r}, which asks no endpoint")
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
    """Open the cache of verdicts, in the file of the cached replies; None if not wanted."""
    if settings.cache is None and options.get("cache") is not None:
        return None
    # First: a judge that cannot be asked must not leave a cache file.
    own = read_judge(client).endpoint if isinstance(client, str) else None
    for endpoint in [own, *(name for grader in graders for name in grader.endpoints)]:
        if endpoint is not None:
            judge_for(endpoint)
    return (
        configured_cache() if settings.cache is None else configured_cache("exact", settings.cache)
    )


def _chosen(graders: object) -> list[Grader[Any]]:
    """Return the graders of one or several names or objects."""
    several = list(graders) if isinstance(graders, Sequence | set | frozenset) else [graders]
    chosen = [graders] if isinstance(graders, str) else several
    return [grader_named(one) if isinstance(one, str) else _as_grader(one) for one in chosen]


def _repeated(graders: list[Grader[Any]], times: int) -> list[Grader[Any]]:
    """Return graders that grade each row several times."""
    if require_whole("repeat", times) == 1:
        return graders
    from rag_evals.grading.repeat import Repeated  # noqa: PLC0415 - its model takes time to make

    return [Repeated(grader, times) for grader in graders]


def _as_grader(given: object) -> Grader[Any]:
    if isinstance(given, Grader):
        return given
    kind = "is a class" if isinstance(given, type) else "is none"
    raise ConfigurationError(
        f"graders has {given!r}, which {kind}; expected a grader, such as Faithfulness, or a name, "
        "such as 'faithfulness'"
    )


def _checked(graders: list[Grader[Any]]) -> list[Grader[Any]]:
    if not graders:
        raise ConfigurationError("no graders; name at least one, such as Faithfulness")
    names = [grader.name for grader in graders]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"two graders are named {name!r}; give one another name=")
    for grader in graders:
        if not hasattr(grader.result_model, "score"):
            raise ConfigurationError(
                f"{grader.result_model.__name__} has no score; derive it from rag_evals.Result and "
                "write the property"
            )
    return graders
