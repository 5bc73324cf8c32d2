"""What will be graded, by whom, and with which settings? Fully checked before the first call."""

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
"""One order for each number of rows: the same command draws the same rows, and can be continued."""

# A path of Python has lost the second slash.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_RUNS_FOLDER = Path("runs")
_STEM_CHARS = 50


Admission = Literal["begin", "wait", "stop"]
"""A row may begin; it may once another grading has ended; or no row after it is needed."""


class RunPolicy(Protocol):
    """Decides how many rows of a run are graded, by default all. One object serves one run."""

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Say whether all graders of a row may begin; asked again after `"wait"`.

        Args:
            position: Place in the data of the next row that the run would grade.
            resumed: An earlier start has outcomes of it; then it always begins.
        """
        del position, resumed
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        """Count an outcome, of this start or an earlier one; rows end in any order."""
        del outcome

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Complete the numbers of a run that graded all that it had to.

        Returns:
            What the manifest says about it, by key; empty for a run of all rows.
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
        checked: What the first reading of a file found; None for an iterable.
        graders: What grades each row, in the form that fits the judge.
        client: Who is asked; None when a verifier decides alone.
        model: Model to ask, or None for the graders' or the client's own.
        settings: Limits, time-outs, the cache.
        identity: What identifies this run; a store continues only a run with an equal one.
        drawn: How many rows are graded, in random order; None for all, in theirs.
        policy: Makes what decides how many of these rows are graded, given the US dollars that
            earlier starts spent on outcomes that do not count; None for all.
        batched: Judges are asked in batches, which cost less.
        free: The same rows for a judge that costs nothing, where these are a sample; else None.
        budget: US dollars that the sample was chosen for; None for none.
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
        """Rows of the data; None when the data does not say."""
        counted = self.data if isinstance(self.data, RowData) else self.checked
        return None if counted is None else counted.count

    @property
    def total(self) -> int | None:
        """Gradings in all; None when the data does not say."""
        rows = self.rows if self.drawn is None else self.drawn
        return None if rows is None else rows * len(self.graders)

    def in_turn(self) -> Iterator[NumberedSample]:
        """Yield the rows as they are to be graded: in their order, or as they are drawn."""
        if self.drawn is None:
            yield from self.data
            return
        assert self.rows is not None, "only rows that can be counted are drawn"
        chosen = random_order(self.rows)[: self.drawn]
        wanted = set(chosen)
        # By their own places: rows of one document may come together, out of their order.
        found = {row.position: row for row in self.data if row.position in wanted}
        for place in chosen:
            # A file that became shorter is noticed at the end of the run.
            if place in found:
                yield found.pop(place)

    @property
    def presets(self) -> tuple[str, ...]:
        """Tools by whose column names the data is read; of an iterable, the rows read so far."""
        return self.checked.presets if self.checked else tuple(getattr(self.data, "presets", ()))

    @property
    def default_model(self) -> str | None:
        """The model that is asked where neither plan nor grader names one; None when unknown."""
        return model_of(self.client)

    @property
    def stages(self) -> dict[str, list[dict[str, Any]]]:
        """For each grader with a verifier: who decides, by which labels, and what that promises."""
        of_graders = {grader.name: grader.stages for grader in self.graders}
        return {name: stages for name, stages in of_graders.items() if stages}

    @property
    def fingerprints(self) -> dict[str, str]:
        """The beginning of each grader's fingerprint, by name, as outcomes have it."""
        return {name: short_fingerprint(full) for name, full in self.identity["graders"].items()}

    def asked_with(self, grader: Grader[Any]) -> dict[str, Any] | None:
        """Return what judges are asked with for a grader, as its outcomes have it."""
        if self.identity["settings"] is None:
            return None
        own = {} if grader.model is None else {"model": grader.model}
        return {**self.identity["settings"], "address": self.identity["address"], **own}

    @property
    def untuned(self) -> list[str]:
        """Names of verifiers whose threshold nobody has fitted."""
        return sorted({name for grader in self.graders for name in grader.untuned})

    def price(self, grader: Grader[Any]) -> Price | None:
        """Find what a grader's calls cost; None when the model or its price is not known."""
        return price_of(self.model or grader.model or self.default_model)

    @property
    def price_as_of(self) -> str | None:
        """Month of the price list; None when no grader's price is known."""
        endpoints = [endpoint for grader in self.graders for endpoint in grader.endpoints]
        known = [self.price(grader) for grader in self.graders]
        known += [price_of(model_of(endpoint)) for endpoint in endpoints]
        return next((price.as_of for price in known if price is not None), None)

    def cost_usd(self, grader: Grader[Any], meter: Meter) -> float | None:
        """Return what one grading cost; None when a price or a number of tokens is unknown."""
        if not meter.by_judge:
            return None if self.price(grader) is None else 0.0
        cost = 0.0
        for (endpoint, model), usage in meter.by_judge.items():
            asked = self.model or model or self.default_model
            price = price_of(asked if endpoint is None else model_of(endpoint))
            if price is None or usage.uncounted:
                return None
            cost += self._price_share(endpoint) * price.cost_usd(usage)
        return cost

    def _price_share(self, endpoint: str | None) -> float:
        spec = self.client if endpoint is None else endpoint
        return BatchHost.share_of(spec) if self.batched and isinstance(spec, str) else 1.0

    def manifest(self) -> dict[str, Any]:
        """Return what `manifest.json` holds."""
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
        """Name a folder after the data and the settings: the same run, the same folder."""
        path = self.data.path if isinstance(self.data, FileData) else Path("rows")
        return _RUNS_FOLDER / f"{_stem(path)}-{fingerprint(self.identity)[:8]}"


def random_order(rows: int) -> list[int]:
    """Return the places of the rows in the order of the draw."""
    order = list(range(rows))
    random.Random(SEED).shuffle(order)
    return order


def folders_of(out: str | Path | None) -> list[Path]:
    """Return the folders that may know the data of a run; none where it is kept nowhere.

    Raises:
        ConfigurationError: `out` is an address, such as `s3://bucket/run`.
    """
    if out is not None and (found := _ADDRESS.match(str(out))):
        raise ConfigurationError(
            f"out is {str(out)!r}, and a run is kept in a folder of this machine; write it to a "
            f"folder, then copy that to {found[1]}"
        )
    return [] if out is None else [Path(out)]


def default_folders(path: Path) -> list[Path]:
    """Return the folders of earlier runs of a data file that have the names of `default_folder`."""
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
    """Check everything that can be checked without asking a judge.

    Args:
        data: A path, or an iterable of mappings or samples; `()` for a session, whose rows come
            later.
        graders: One or more graders, or names of shipped ones.
        client: As for `Grader.grade`.
        options: Model, columns, limits, time-outs, the cache.
        folders: Runs that may know the file: one that was checked, and has not changed by a byte,
            need not be checked again.

    Raises:
        ConfigurationError: A setting cannot work.
        DataError: A row of the file cannot be graded.
    """
    given: RunOptions = options or {}
    settings = RunSettings.of(given)
    model = given.get("model")
    is_named = client is not None
    client = as_instructor(client if is_named else default_judge(), asynchronous=True)
    columns = ColumnMap.of(given.get("columns"))
    chosen = _repeated(_chosen(graders), given.get("repeat", 1))
    _check_graders(chosen)
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
    if asked is None and not any(grader.endpoints for grader in made):
        _refuse_rates(given, judge)
    required = frozenset(field for grader in chosen for field in grader.requires)
    rows = data_from(data, columns, required, settings.limit)
    checked = rows.check(kept_checks(folders)) if isinstance(rows, FileData) else None
    identity = {
        "data": "rows" if checked is None else checked.data_hash,
        "file": rows.path.name if isinstance(rows, FileData) else None,
        "judge": judge,
        "address": _addresses(asked, made),
        "graders": {grader.name: grader.fingerprint() for grader in made},
        "models": {grader.name: grader.model for grader in made if grader.model},
        "columns": columns.described(),
        "limit": settings.limit,
        "settings": _settings(asked, made, of_judge),
    }
    if sources := {grader.name: grader.source for grader in chosen if grader.source}:
        identity["sources"] = sources
    return Plan(rows, checked, made, asked, model, settings, identity)


def _refuse_rates(options: RunOptions, judge: str) -> None:
    """Refuse options that only mean something where an endpoint is asked.

    Raises:
        ConfigurationError: One was given.
    """
    of_endpoints = [name for name, option in OPTIONS.items() if option.asks]
    refuse_idle(options, *of_endpoints, where=f"with {judge!r}, which asks no endpoint")


def _statement_cache(
    settings: RunSettings, options: RunOptions, client: Client, graders: Sequence[Grader[Any]]
) -> StatementCache | None:
    """Open the cache for verdicts: next to the answers of judges, and not where none is wanted."""
    if settings.cache is None and options.get("cache") is not None:
        return None
    # First: a judge that cannot be asked must leave no cache file.
    own = read_judge(client).endpoint if isinstance(client, str) else None
    for endpoint in [own, *(name for grader in graders for name in grader.endpoints)]:
        if endpoint is not None:
            judge_for(endpoint)
    return (
        configured_cache() if settings.cache is None else configured_cache("exact", settings.cache)
    )


def _chosen(graders: object) -> list[Grader[Any]]:
    """Take one grader or several, by name or as they are."""
    several = list(graders) if isinstance(graders, Sequence | set | frozenset) else [graders]
    chosen = [graders] if isinstance(graders, str) else several
    return [grader_named(one) if isinstance(one, str) else _as_grader(one) for one in chosen]


def _repeated(graders: list[Grader[Any]], times: int) -> list[Grader[Any]]:
    """Have each grader asked so many times for a row."""
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


def _check_graders(graders: Sequence[Grader[Any]]) -> None:
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


def _addresses(client: Client, graders: Sequence[Grader[Any]]) -> str | None:
    """Name where judges are asked: the same model elsewhere is another judge. None: nobody is."""
    asked: list[Client] = [] if client is None else [client]
    asked += [endpoint for grader in graders for endpoint in grader.endpoints]
    return " and ".join(dict.fromkeys(address_of(each) for each in asked)) or None


def _settings(
    client: Client, graders: Sequence[Grader[Any]], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return what all judges are asked with, those of single graders left out; None: nobody is."""
    if client is None and not any(grader.endpoints for grader in graders):
        return None
    return wanted_settings({}, given, client_settings(client))
