"""A run folder: its manifest, and its logs of outcomes and samples.

Each outcome is one line, written when its grading finishes. If several lines have the same key
(sample and grader, with their fingerprints), the last line is used.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NotRequired, Self

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict  # before 3.12, pydantic rejects Python's own

from rag_evals.dataset import KeptCheck
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run.record.extras import REPLIES
from rag_evals.run.record.index import LOCK, RESULTS, RunIndex, remove_index
from rag_evals.run.record.lines import LineLog, LogReader, fault_of, replace_file
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.samples import SAMPLES, SampleKey

MANIFEST = "manifest.json"
DATA_CHECK = ".data-check.json"
BATCH = "batch"
"""Subfolder of a run folder with the files of its batches."""
FORMAT = 2
"""Format version of a run's files; earlier formats can still be read."""


class _StoredSampling(TypedDict):
    rows: int
    of: int


class _Identity(TypedDict):
    graders: dict[str, str]
    data: NotRequired[str]
    file: NotRequired[str | None]
    judge: NotRequired[str]
    address: NotRequired[str | None]
    models: NotRequired[dict[str, str]]
    columns: NotRequired[dict[str, str]]
    limit: NotRequired[int | None]
    settings: NotRequired[dict[str, Any] | None]
    sample: NotRequired[_StoredSampling]
    order: NotRequired[str]


class _StoredPromise(TypedDict):
    supported_from: float | None
    unsupported_up_to: float | None
    expected_error: float
    max_error: float
    confidence: float


class _StoredTuning(TypedDict):
    labels: int
    level: str
    labels_from: list[str]
    map: str
    threshold: float
    promise: _StoredPromise | None
    spread: NotRequired[list[float]]
    worth: NotRequired[Annotated[float, Field(gt=0)]]


class _StoredStage(TypedDict):
    name: str
    fingerprint: str
    as_used: str
    has_support: bool
    prompt: str
    unsure: NotRequired[tuple[float, float]]
    tuned: _StoredTuning | None


class _StoredBudget(TypedDict):
    budget_usd: float
    spent_usd: float | None
    rows: int
    drawn: int


class _StoredManifest(TypedDict):
    # Preserves fields written by newer versions; pydantic also applies it to nested dictionaries.
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic looks for it

    identity: _Identity
    format: NotRequired[int]
    rag_evals: NotRequired[str]
    versions: NotRequired[list[str]]
    created: NotRequired[str]
    finished: NotRequired[str | None]
    rows: NotRequired[int | None]
    columns: NotRequired[dict[str, str]]
    stages: NotRequired[dict[str, list[_StoredStage]]]
    stopped: NotRequired[_StoredSampling | None]
    budget: NotRequired[_StoredBudget | None]
    pending: NotRequired[Annotated[int, Field(ge=0)]]
    overlaps: NotRequired[Annotated[int, Field(ge=0)]]


RUN_MANIFEST = TypeAdapter(_StoredManifest)
"""Parses `manifest.json`."""


class RunStore:
    """A run folder, used by one process at a time."""

    index: RunIndex

    def __init__(self, folder: Path, manifest: Mapping[str, Any], *, restart: bool = False) -> None:
        self.folder = folder
        self.is_new = True
        self._manifest = {"versions": [], **manifest}
        self._restart = restart
        self._results = LineLog(folder / RESULTS)
        self._samples = LineLog(folder / SAMPLES)
        self._reader: LogReader | None = None
        self._held = ExitStack()
        self._finished: str | None = None

    def __enter__(self) -> Self:
        """Lock the folder, and open the existing run or create a new one.

        Raises:
            ConfigurationError: The folder is in use, not writable, or contains a different run.
            DataError: The existing run is damaged.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._held.enter_context(FileLock(self.folder / LOCK, timeout=0))
        except Timeout:
            raise ConfigurationError(
                f"{str(self.folder)!r} is in use by another run; wait for it, or use another folder"
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"run folder {str(self.folder)!r} cannot be used: {error.strerror or error}"
            ) from error
        try:
            if self._restart:
                self._set_aside()
            self._check_manifest()
            for log in (self._results, self._samples):
                self._held.enter_context(log)
            self.index = RunIndex.write(self.folder, self._hash_log)
            self._held.callback(self._close_index)
            self.is_new = not (self._results.size or self._samples.size)
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def append(self, outcome: Outcome, line: bytes | None = None) -> None:
        self._finished = None
        if (version := self._manifest["rag_evals"]) not in self.versions:
            self._manifest["versions"] = [*self.versions, version]
            self._write_manifest()
        self.index.add(outcome, self._results.append(line or outcome.to_line()))

    def append_sample(self, key: SampleKey, line: bytes, before: int | None = None) -> None:
        """Store a sample unless it is unchanged: `before` is the hash of its last line."""
        if key.line != before:
            self.index.add_sample(key, self._samples.append(line))

    def outcome_at(self, place: int, known: Mapping[str, type[BaseModel]]) -> Outcome:
        self._reader = self._reader or LogReader(self.folder / RESULTS)
        return Outcome.from_record(self._reader.read_at(place), known)

    def keep_check(self, check: KeptCheck) -> None:
        """Record that the data was checked, which lets the next run skip the check."""
        # If this fails, the next run simply checks the data again.
        with suppress(OSError):
            replace_file(self.folder / DATA_CHECK, check.model_dump_json().encode(), sync=False)

    def _hash_log(self, path: Path, size: int) -> str:
        log = self._results if path.name == RESULTS else self._samples
        return log.follow(size)

    @property
    def versions(self) -> list[str]:
        """The versions of rag_evals that graded rows in this run, in order of first use."""
        versions: list[str] = self._manifest["versions"]
        return versions

    def commit(self) -> None:
        """Bring the index up to date with the logs."""
        self.index.commit(self._results.written, self._samples.written)

    def _close_index(self) -> None:
        self.commit()
        self.index.seal()
        self.index.close()

    def finish(
        self,
        *,
        stopped: Mapping[str, Any] | None = None,
        budget: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that the run is finished, and how many rows it graded if it stopped early."""
        self._manifest |= {"stopped": stopped} | ({} if budget is None else {"budget": budget})
        # A finished run without new outcomes retains its finish time. The time includes
        # milliseconds, because several runs may finish within one second.
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._manifest["finished"] = self._finished or now
        self._manifest.pop("pending", None)
        self._write_manifest()

    def wait(self, pending: int) -> None:
        """Record how many gradings are still waiting for replies."""
        self._manifest["pending"] = pending
        self._write_manifest()

    def _check_manifest(self) -> None:
        if not (self.folder / MANIFEST).exists():
            if (self.folder / RESULTS).exists():
                raise ConfigurationError(f"{str(self.folder)!r} has results but no {MANIFEST}")
        else:
            stored = require_same_run(self.folder, self._manifest)
            # The stored value remains valid until this command replaces it.
            self._manifest |= {name: stored[name] for name in ("pending",) if name in stored}
            self._manifest["created"] = stored.get("created", self._manifest["created"])
            self._finished = stored.get("finished")
            # Manifests from earlier versions record only the last version that graded.
            graded = [stored["rag_evals"]] if "rag_evals" in stored else []
            self._manifest["versions"] = stored.get("versions", graded)
        self._write_manifest()

    def _write_manifest(self) -> None:
        written = json.dumps(self._manifest, indent=2, ensure_ascii=False)
        replace_file(self.folder / MANIFEST, written.encode(), sync=True)

    def _set_aside(self) -> None:
        """Move the files of an earlier run into a subfolder."""
        files = [self.folder / name for name in (MANIFEST, RESULTS, SAMPLES, BATCH, REPLIES)]
        if not any(file.exists() for file in files):
            return
        number = 1
        while (aside := self.folder / f"before-{number}").exists():
            number += 1
        aside.mkdir()
        for file in files:
            if file.exists():
                file.rename(aside / file.name)
        remove_index(self.folder)


def require_empty(folder: Path, hint: str) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(f"{str(folder)!r} is not empty; {hint}")


def kept_checks(folders: Iterable[Path]) -> Iterator[KeptCheck]:
    for folder in folders:
        with suppress(OSError, ValueError):
            yield KeptCheck.model_validate_json((folder / DATA_CHECK).read_bytes())


def require_same_run(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Check that a folder's run matches a manifest, and return the stored manifest.

    Raises:
        ConfigurationError: The folder contains a different run.
    """
    stored = read_manifest(folder)
    if differences := _differences(stored, manifest):
        raise ConfigurationError(
            f"{str(folder)!r} has a different run: {'; '.join(differences)}; "
            "use the same settings to continue it, another folder, or restart"
        )
    return stored


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a run's manifest.

    Raises:
        DataError: The folder does not contain a run, or the run is damaged or of a newer format.
    """
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except OSError as error:
        why = "it is a file" if folder.is_file() else f"{MANIFEST}: {error.strerror}"
        raise DataError(f"{str(folder)!r} has no run: {why}") from error
    try:
        manifest: dict[str, Any] = {"format": 1, **RUN_MANIFEST.validate_json(text)}
    except ValueError as error:
        raise DataError(f"{str(path)!r} is not the manifest of a run: {fault_of(error)}") from error
    if manifest["format"] > FORMAT:
        raise DataError(
            f"{str(path)!r} has format {manifest['format']}, written by a newer rag_evals; "
            f"this version reads formats up to {FORMAT}"
        )
    return manifest


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Describe each setting that differs, with its old and new value.

    Changed rows are not reported, because they are simply graded again. The data are considered
    different only if both their content and their file name changed.
    """
    if stored["format"] != wanted["format"]:
        return [f"its format is {stored['format']}, this version writes {wanted['format']}"]
    before, now = dict(stored["identity"]), dict(wanted["identity"])
    if before.pop("data", None) == now.pop("data", None):
        before["file"] = now["file"]
    return identity_differences(before, now)


def identity_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        _difference(name, before.get(name), now.get(name))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _difference(name: str, before: Any, now: Any) -> str:
    if name == "sources":
        return f"the Python code of {', '.join(now or before)} changed"
    if name != "graders":
        return f"{name} was {before!r} and is now {now!r}"
    if sorted(before) != sorted(now):
        return f"graders were {', '.join(before)} and are now {', '.join(now)}"
    changed = ", ".join(grader for grader in now if before[grader] != now[grader])
    return f"the prompt or a setting of {changed} changed"
