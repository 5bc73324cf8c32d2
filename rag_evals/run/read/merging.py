"""Merge parts of a run that were graded separately."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import groupby, repeat
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rag_evals.dataset import read_rows
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run.read.run import Run, load_run
from rag_evals.run.record.index import RESULTS
from rag_evals.run.record.lines import fault_of, placed_lines
from rag_evals.run.record.outcome import OUTCOME, Outcome, Record, record_of_row, short_fingerprint
from rag_evals.run.record.samples import SAMPLES, read_sample_key
from rag_evals.run.record.store import (
    FORMAT,
    MANIFEST,
    RunStore,
    read_manifest,
    require_empty,
)

# These must be identical in every part; otherwise, scores are not comparable.
_COMMON = ("judge", "address", "models", "settings")


@dataclass(frozen=True, slots=True)
class _Part:
    """A run folder, or a file of outcome rows.

    The `identity` is as in the manifest; for a file, it contains the judge and the graders' short
    fingerprints. `samples` reads the samples as lines of `samples.jsonl`.
    """

    path: Path
    identity: Mapping[str, Any]
    is_finished: bool
    records: Callable[[], Iterable[Record]]
    samples: Callable[[], Iterable[bytes]]
    versions: Sequence[str] = ()


def merge(parts: Sequence[str | Path], out: str | Path) -> Run:
    """Merge run folders, and files of outcome rows such as Parquet files, into one run.

    Args:
        parts: Run folders, and files or folders of files whose rows have the columns of
            `Outcome.to_row`; their order is preserved.
        out: Folder for the merged run; it must be empty or missing.

    Returns:
        The merged run. If a row has several outcomes from one grader, the last non-failed outcome
        is used. The summary reports how many gradings appear in more than one part.

    Raises:
        ConfigurationError: There are no parts, `out` is not empty, the parts have different graders
            or judges, or a part graded only a sample of its rows.
        DataError: A part cannot be read, or two parts have different rows with the same id.
    """
    named = _checked_paths(parts, out)
    every = [_opened(file) for part in named for file in _files_of(part)]
    # Data engines write a file for each block, even for an empty block.
    opened = [part for part in every if part.identity["graders"]]
    if not opened:
        raise DataError(f"{str(every[0].path)!r} has no rows")
    for part in opened[1:]:
        _require_alike(opened[0], part)
    folder = Path(out)
    require_empty(folder, "name a new folder for the run")
    overlaps = _count_overlaps(opened)
    with RunStore(folder, _manifest(opened, overlaps)) as store:
        for record in _renumbered(opened, failed_first=overlaps > 0):
            store.append(Outcome.from_record(record), to_json(record) + b"\n")
            if store.index.is_due:
                store.commit()
        for part in opened:
            for line in part.samples():
                store.append_sample(read_sample_key(line), line)
        if all(part.is_finished for part in opened):
            store.finish()
    return load_run(folder)


def _checked_paths(parts: Sequence[str | Path], out: str | Path) -> list[Path]:
    if isinstance(parts, str | os.PathLike):
        one = os.fspath(parts)
        raise ConfigurationError(f"parts is one path, {one!r}; expected a list, as in [{one!r}]")
    for path in (*parts, out):
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise ConfigurationError(f"{path!r} is not a path of a run folder or a file")
    if not parts:
        raise ConfigurationError("no parts to merge; name at least one run folder or file")
    return [Path(part) for part in parts]


def _files_of(part: Path) -> list[Path]:
    """List the files in a folder written by a data engine; return a run folder or file as is."""
    if not part.is_dir() or (part / MANIFEST).exists():
        return [part]
    if runs := sorted(str(found.parent) for found in part.rglob(MANIFEST)):
        raise DataError(f"{str(part)!r} contains run folders; list each of them: {', '.join(runs)}")
    if (part / RESULTS).exists():
        raise DataError(f"{str(part)!r} is a run folder without its {MANIFEST}")
    # Spark and Ray write marker files such as _SUCCESS.
    return sorted(file for file in part.rglob("*.*") if file.name[0] not in "._") or [part]


def _opened(path: Path) -> _Part:
    if path.is_dir():
        manifest = read_manifest(path)
        _require_all_rows(path, manifest)
        # Format 1 does not record whether a run is finished.
        is_finished = manifest["format"] == 1 or manifest.get("finished") is not None
        last = [manifest["rag_evals"]] if "rag_evals" in manifest else []
        versions = manifest.get("versions") or last
        records = partial(_lines_in, path / RESULTS, OUTCOME.validate_json)
        samples = partial(_lines_in, path / SAMPLES, bytes)
        return _Part(path, manifest["identity"], is_finished, records, samples, versions)

    def read() -> Iterator[Record]:
        return (record for record, _ in _rows_in(path))

    def samples_read() -> Iterator[bytes]:
        # The sample is repeated for each of a row's graders.
        return (line for line, _ in groupby(line for _, line in _rows_in(path) if line))

    graders: dict[str, str] = {}
    judged: dict[str, Any] = {}
    models: dict[str, str | None] = {}
    for record in read():
        name, found = record["grader"], record.get("grader_fingerprint", "")
        # Earlier versions did not record the judge.
        if record.get("judge"):
            by, model = _judged(record)
            own = {name: models.setdefault(name, model)}
            judged = judged or by
            _require_equal(judged | {"models": own}, by | {"models": {name: model}}, str(path))
        if graders.setdefault(name, found) != found:
            raise DataError(
                f"{str(path)!r} has outcomes of two graders named {name!r}: its prompt or a "
                "setting changed between them"
            )
    if judged:
        judged["models"] = {name: model for name, model in models.items() if model is not None}
    return _Part(path, {"graders": graders, **judged}, True, read, samples_read)


def _lines_in(path: Path, read: Callable[[bytes], Any]) -> Iterator[Any]:
    return (found for *_, found in placed_lines(path, read))


def _rows_in(path: Path) -> Iterator[tuple[Record, bytes | None]]:
    """Yield each outcome in a file, and its sample, if any, as a line of `samples.jsonl`."""
    for place, row in read_rows(path, wanted=repeat(1)):
        where = f"{str(path)!r}, {place}"
        written, sample = to_json(record_of_row(row, where)), None
        try:
            record = OUTCOME.validate_json(written)
            if row.get("sample") is not None:
                sample = str(row["sample"]).encode() + b"\n"
                read_sample_key(sample)
        except ValueError as error:
            part = "" if sample is None else "sample: "
            raise DataError(f"{where}: {part}{fault_of(error)}") from error
        yield record, sample


def _judged(record: Record) -> tuple[dict[str, Any], str | None]:
    """Return an outcome's judge as recorded in a run's identity, and its grader-specific model."""
    settings = dict(record.get("settings") or {})
    address, model = settings.pop("address", None), settings.pop("model", None)
    asked = None if record.get("settings") is None else settings
    return {"judge": record["judge"], "address": address, "settings": asked}, model


def _require_all_rows(path: Path, manifest: Mapping[str, Any]) -> None:
    """Reject a run that graded only some of its rows, because the merged mean would be wrong."""
    sampled = manifest["identity"].get("sample")
    if drawn := sampled or manifest.get("stopped"):
        how = "a random sample" if sampled else "in random order, and stopped early"
        raise ConfigurationError(
            f"{str(path)!r} graded {drawn['rows']} of {drawn['of']} rows, {how}; merge runs in "
            "which every row was graded"
        )


def _require_alike(first: _Part, other: _Part) -> None:
    ours, theirs = _graders(first), _graders(other)
    between = f"{str(first.path)!r} and {str(other.path)!r}"
    if set(ours) != set(theirs):
        raise ConfigurationError(
            f"{between} have different graders: {', '.join(sorted(ours))}, and "
            f"{', '.join(sorted(theirs))}; merge parts of one run"
        )
    _require_equal(first.identity, other.identity, between)
    changed = sorted(name for name in ours if ours[name] != theirs[name])
    if changed:
        raise ConfigurationError(
            f"{between} were graded by different graders: the prompt or a setting of "
            f"{', '.join(changed)} is not the same"
        )


def _require_equal(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    for name in _COMMON:
        if name in before and name in now and before[name] != now[name]:
            raise ConfigurationError(
                f"outcomes in {where} differ in {name}: {before[name]!r} and {now[name]!r}; "
                "merge parts of one run"
            )


def _graders(part: _Part) -> dict[str, str]:
    graders = part.identity["graders"]
    return {name: short_fingerprint(fingerprint) for name, fingerprint in graders.items()}


def _manifest(parts: Sequence[_Part], overlaps: int) -> dict[str, Any]:
    full = min(parts, key=lambda part: ("data" not in part.identity, "judge" not in part.identity))
    identity = {**full.identity, "data": "rows", "file": None, "limit": None}
    versions = list(dict.fromkeys(one for part in parts for one in part.versions))
    return {
        "format": FORMAT,
        "rag_evals": versions[-1] if versions else version("rag-evals"),
        "versions": versions,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "finished": None,
        "rows": None,
        "columns": {},
        "identity": identity,
        "merged": [str(part.path) for part in parts],
        "overlaps": overlaps,
    }


def _count_overlaps(parts: Sequence[_Part]) -> int:
    """Count gradings that appear in more than one part, or more than once in a file.

    Raises:
        DataError: Two parts have different rows with the same id.
    """
    # Stored as hashes, because a million ids would use too much memory.
    rows: dict[int, int] = {}
    before: set[int] = set()
    overlaps: set[int] = set()
    for part in parts:
        here_rows: dict[int, int] = {}
        here: set[int] = set()
        for record in part.records():
            key, row = hash(record["sample_id"]), hash(record.get("sample_fingerprint", ""))
            if rows.get(key, row) != row:
                raise DataError(
                    f"{str(part.path)!r} and an earlier part have different rows with the id "
                    f"{record['sample_id']!r}; give each row a unique id"
                )
            here_rows[key] = row
            grading = hash((key, record["grader"]))
            # A run folder may also contain earlier gradings of a row; these are not overlaps.
            if grading in before or (grading in here and not part.path.is_dir()):
                overlaps.add(grading)
            here.add(grading)
        rows |= here_rows
        before |= here
    return len(overlaps)


def _renumbered(parts: Sequence[_Part], *, failed_first: bool) -> Iterator[Record]:
    """Yield the outcomes of every part, renumbered in the order of the parts.

    With `failed_first`, failed outcomes come first, because the last line of a grading is used and
    a failure must not replace a score.
    """
    for wanted in ((True,), (False,)) if failed_first else ((True, False),):
        begin = 0
        for part in parts:
            after = begin
            for record in part.records():
                place = begin + record["index"]
                after = max(after, place + 1)
                if (record["status"] == "failed") in wanted:
                    yield {**record, "index": place}
            begin = after
