"""Where is a run kept? A folder with `manifest.json` and `results.jsonl`, whole after any end.

Every outcome is one line, written when it ends. The last line of a key (sample id, grader) wins.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout
from pydantic_core import from_json

from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run.outcome import Outcome
from rag_evals.run.samples import SAMPLES

MANIFEST = "manifest.json"
RESULTS = "results.jsonl"
_PRIVATE = 0o600


class RunStore:
    """The folder of one run, held by one process at a time."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], *, restart: bool = False) -> None:
        self.folder = folder
        self._manifest = manifest
        self._restart = restart
        self._lock = FileLock(folder / ".lock", timeout=0)
        self._file: int | None = None

    def __enter__(self) -> Self:
        """Take the folder: make it, or go on with the run that is in it.

        Raises:
            ConfigurationError: Another process holds it, or it holds another run.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
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
            self._repair()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            self._file = os.open(self.folder / RESULTS, flags, _PRIVATE)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Give the folder back."""
        if self._file is not None:
            os.close(self._file)
        self._lock.release()

    def append(self, outcome: Outcome) -> None:
        """Write one outcome, past all buffers of this process."""
        assert self._file is not None, "the store is not open"
        line = outcome.to_line()
        # One write call, so that a kill leaves a whole line or a torn last one, never a mix.
        while line:
            line = line[os.write(self._file, line) :]

    def records(self) -> Iterator[dict[str, Any]]:
        """Read the outcomes that are there, in the order they ended; a key may come again."""
        return read_records(self.folder)

    def _check_manifest(self) -> None:
        path = self.folder / MANIFEST
        if not path.exists():
            if (self.folder / RESULTS).exists():
                raise ConfigurationError(f"{str(self.folder)!r} has results but no {MANIFEST}")
            temporary = path.with_suffix(".tmp")
            temporary.touch(_PRIVATE)
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(self._manifest, file, indent=2, ensure_ascii=False)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            return
        differences = _differences(
            read_manifest(self.folder)["identity"], self._manifest["identity"]
        )
        if differences:
            raise ConfigurationError(
                f"{str(self.folder)!r} holds another run: {'; '.join(differences)}; "
                "use the same settings to go on with it, another folder, or restart"
            )

    def _set_aside(self) -> None:
        """Move the files of an earlier run into a folder beside the new ones."""
        files = [self.folder / name for name in (MANIFEST, RESULTS, SAMPLES)]
        if not any(file.exists() for file in files):
            return
        number = 1
        while (aside := self.folder / f"before-{number}").exists():
            number += 1
        aside.mkdir()
        for file in files:
            if file.exists():
                file.rename(aside / file.name)

    def _repair(self) -> None:
        """Cut off a last line that was torn by a kill; its row is graded again."""
        path = self.folder / RESULTS
        if not path.exists():
            return
        with path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            end = _end_of_last_line(file, size)
            if end < size:
                file.truncate(end)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run.

    Raises:
        DataError: The folder holds no run.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{str(folder)!r} holds no run: {MANIFEST}: {error}") from error
    if not isinstance(manifest, dict) or "identity" not in manifest:
        raise DataError(f"{str(path)!r} is not the manifest of a run")
    return manifest


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """Read `results.jsonl`, in the order the outcomes ended; a torn last line is passed over."""
    path = folder / RESULTS
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield from_json(line)
            except ValueError as error:
                raise DataError(f"{str(path)!r}, line {number}: {error}") from error


def _end_of_last_line(file: Any, size: int) -> int:
    """Return the offset behind the last line end, reading backwards; 0 when there is none."""
    position = size
    while position > 0:
        step = min(position, 65536)
        position -= step
        file.seek(position)
        found = file.read(step).rfind(b"\n")
        if found >= 0:
            return int(position + found + 1)
    return 0


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Name each setting that differs, with both values; a hash says nothing to a reader."""
    return [
        _changed_graders(before, now)
        if name == "graders" and isinstance(before, Mapping) and isinstance(now, Mapping)
        else f"{name} was {before!r} and is now {now!r}"
        for name in sorted({*stored, *wanted})
        if (before := stored.get(name)) != (now := wanted.get(name))
    ]


def _changed_graders(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    if sorted(before) != sorted(now):
        return f"graders were {', '.join(before)} and are now {', '.join(now)}"
    changed = ", ".join(name for name in now if before[name] != now[name])
    return f"the prompt or a setting of {changed} is not what it was"
