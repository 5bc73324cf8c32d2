"""Where is a run stored? In a folder with `manifest.json`, `results.jsonl` and `samples.jsonl`.

Every outcome is one line, written when it ends. The last line of a key (sample, grader, and what
each of them was) wins.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout
from pydantic import BaseModel

from rag_evals.dataset import KeptCheck
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run.record.extras import REPLIES
from rag_evals.run.record.index import LOCK, RESULTS, RunIndex, remove_index
from rag_evals.run.record.lines import LineLog, fault_of, read_lines, replace_file
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.reading import LogFile, Record
from rag_evals.run.record.samples import SAMPLES, read_sample_key
from rag_evals.run.record.stored_types import OUTCOME, RUN_MANIFEST

MANIFEST = "manifest.json"
DATA_CHECK = ".data-check.json"
BATCH = "batch"
"""Name of the folder, in a run folder, with all that belongs to its batches."""
FORMAT = 2
"""Version of the files of a run; a reader of this version reads older ones too."""


class RunStore:
    """The folder of one run, used by one process at a time."""

    index: RunIndex

    def __init__(self, folder: Path, manifest: Mapping[str, Any], *, restart: bool = False) -> None:
        self.folder = folder
        self.is_new = True
        self._manifest = {"versions": [], **manifest}
        self._restart = restart
        self._results = LineLog(folder / RESULTS)
        self._samples = LineLog(folder / SAMPLES)
        self._reader: LogFile | None = None
        self._held = ExitStack()
        self._finished: str | None = None

    def __enter__(self) -> Self:
        """Lock the folder: make it, or open the run that is in it.

        Raises:
            ConfigurationError: Another process holds it, or it holds another run.
            DataError: It holds a broken run.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._held.enter_context(FileLock(self.folder / LOCK, timeout=0))
        except Timeout:
            raise ConfigurationError(
                f"{str(self.folder)!r} is in use by another run; wait for it, or name another"
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
        """Write the index, and release the folder."""
        self._held.close()

    def append(self, outcome: Outcome, line: bytes | None = None) -> None:
        """Write one outcome."""
        self._finished = None
        if (version := self._manifest["rag_evals"]) not in self.versions:
            self._manifest["versions"] = [*self.versions, version]
            self._write_manifest()
        self.index.add(outcome, self._results.append(line or outcome.to_line()))

    def append_sample(self, line: bytes) -> None:
        """Write a line about a sample."""
        self.index.add_sample(read_sample_key(line), self._samples.append(line))

    def outcome_at(self, place: int, known: Mapping[str, type[BaseModel]]) -> Outcome:
        """Read one stored outcome with its result.

        Raises:
            DataError: The line is no outcome.
        """
        self._reader = self._reader or LogFile(self.folder / RESULTS)
        return Outcome.from_record(self._reader.outcome(place), known)

    def keep_check(self, check: KeptCheck) -> None:
        """Keep what is known of the data, so that the next start need not check it again."""
        # It only saves time: without it the data is read.
        if (written := check.to_json()) is not None:
            with suppress(OSError):
                replace_file(self.folder / DATA_CHECK, written, sync=False)

    def _hash_log(self, path: Path, size: int) -> str:
        log = self._results if path.name == RESULTS else self._samples
        return log.follow(size)

    @property
    def versions(self) -> list[str]:
        """The versions of rag_evals that graded here, the first one first."""
        versions: list[str] = self._manifest["versions"]
        return versions

    @property
    def is_due(self) -> bool:
        """Whether enough was written for `commit`."""
        return self.index.is_due

    def commit(self) -> None:
        """Have the index cover all that was written."""
        self.index.commit(self._results.written, self._samples.written)

    def _close_index(self) -> None:
        self.commit()
        self.index.seal()

    def finish(
        self,
        *,
        stopped: Mapping[str, Any] | None = None,
        budget: Mapping[str, Any] | None = None,
    ) -> None:
        """Note that every row of the data has an outcome."""
        self._manifest |= {"stopped": stopped} | ({} if budget is None else {"budget": budget})
        # What was finished before, and got nothing new, keeps its time.
        self._manifest["finished"] = self._finished or _now()
        self._manifest.pop("pending", None)
        self._write_manifest()

    def wait(self, pending: int) -> None:
        """Note how many gradings have no outcome yet, because their replies have not come."""
        self._manifest["pending"] = pending
        self._write_manifest()

    def _check_manifest(self) -> None:
        if not (self.folder / MANIFEST).exists():
            if (self.folder / RESULTS).exists():
                raise ConfigurationError(f"{str(self.folder)!r} has results but no {MANIFEST}")
        else:
            stored = require_same_run(self.folder, self._manifest)
            # Still so, until this command has found otherwise or was killed.
            self._manifest |= {name: stored[name] for name in ("pending",) if name in stored}
            self._manifest["created"] = stored.get("created", self._manifest["created"])
            self._finished = stored.get("finished")
            # Manifests of earlier versions name the last one alone.
            graded = [stored["rag_evals"]] if "rag_evals" in stored else []
            self._manifest["versions"] = stored.get("versions", graded)
        self._write_manifest()

    def _write_manifest(self) -> None:
        written = json.dumps(self._manifest, indent=2, ensure_ascii=False)
        replace_file(self.folder / MANIFEST, written.encode(), sync=True)

    def _set_aside(self) -> None:
        """Move the files of an earlier run into a folder next to the new ones."""
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
    """Refuse a folder that holds something, where a new one is written.

    Raises:
        ConfigurationError: There is something in it.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(f"{str(folder)!r} is not empty; {hint}")


def kept_checks(folders: Iterable[Path]) -> Iterator[KeptCheck]:
    """Read what runs know of their data."""
    for folder in folders:
        with suppress(OSError, ValueError):
            yield KeptCheck.from_json((folder / DATA_CHECK).read_bytes())


def require_same_run(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Check that a folder holds the run that a manifest is of, and return its own manifest.

    Raises:
        ConfigurationError: It holds another one.
        DataError: It holds a broken one.
    """
    stored = read_manifest(folder)
    if differences := _differences(stored, manifest):
        raise ConfigurationError(
            f"{str(folder)!r} holds another run: {'; '.join(differences)}; "
            "use the same settings to continue it, another folder, or restart"
        )
    return stored


def _now() -> str:
    # Finer than seconds: several runs may end in one.
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run.

    Raises:
        DataError: The folder holds no run, or one of a newer version.
    """
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DataError(f"{str(folder)!r} holds no run: {MANIFEST}: {error.strerror}") from error
    try:
        manifest: dict[str, Any] = {"format": 1, **RUN_MANIFEST.validate_json(text)}
    except ValueError as error:
        raise DataError(f"{str(path)!r} is not the manifest of a run: {fault_of(error)}") from error
    if manifest["format"] > FORMAT:
        raise DataError(
            f"{str(path)!r} has format {manifest['format']}, of a newer rag_evals; "
            f"this one reads formats up to {FORMAT}"
        )
    return manifest


def read_records(folder: Path) -> Iterator[Record]:
    """Read `results.jsonl`, in the order the outcomes ended.

    Raises:
        DataError: A line is no outcome; a torn last one is passed over.
    """
    return read_lines(folder / RESULTS, OUTCOME.validate_json)


def checked_record(line: bytes, where: str) -> Record:
    """Read one outcome that does not come from a run folder.

    Raises:
        DataError: The line is not an outcome.
    """
    try:
        return OUTCOME.validate_json(line)
    except ValueError as error:
        raise DataError(f"{where}: {fault_of(error)}") from error


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Name each setting that differs, with both values; a hash says nothing to a reader.

    Rows may differ: those that changed are graded again. The data as a whole is another only when
    neither its content nor its name is what it was.
    """
    if stored["format"] != wanted["format"]:
        return [f"its format is {stored['format']}, this version writes {wanted['format']}"]
    before, now = dict(stored["identity"]), dict(wanted["identity"])
    if before.pop("data", None) == now.pop("data", None):
        before["file"] = now["file"]
    return identity_differences(before, now)


def identity_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name each setting that differs between two identities, with both values."""
    return [
        _difference(name, before.get(name), now.get(name))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _difference(name: str, before: Any, now: Any) -> str:
    if name == "sources":
        return f"the Python code of {', '.join(now or before)} is not what it was"
    if name != "graders":
        return f"{name} was {before!r} and is now {now!r}"
    if sorted(before) != sorted(now):
        return f"graders were {', '.join(before)} and are now {', '.join(now)}"
    changed = ", ".join(grader for grader in now if before[grader] != now[grader])
    return f"the prompt or a setting of {changed} is not what it was"
