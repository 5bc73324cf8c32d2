"""Which weights are these? A hash of a folder's files, or the commit of a model on the hub."""

import hashlib
import re
import threading
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}")
# What can change a verdict: weights, configuration, tokenizer.
_READ = frozenset({".safetensors", ".bin", ".json", ".model", ".txt"})
_BLOCK = 1 << 20

_lock = threading.Lock()
_hashes: dict[tuple[str, int, int], str] = {}
_commits: dict[tuple[str, str | None, bool], str | None] = {}


def weights_identity(model: str, revision: str | None, *, local_files_only: bool) -> str:
    """Name the weights that a model has now; another training is another identity.

    Args:
        model: Name on the hub, or a folder.
        revision: Branch, tag or commit on the hub; None is the newest.
        local_files_only: Ask no hub which commit a name stands for.

    Returns:
        A hash of the folder's files, or the commit; the name alone where nobody can tell it now.
    """
    folder = Path(model)
    if folder.is_dir():
        return _folder_hash(folder)
    return resolve_revision(model, revision, local_files_only=local_files_only) or (
        f"{model}@{revision or 'main'}"
    )


def resolve_revision(model: str, revision: str | None, *, local_files_only: bool) -> str | None:
    """Return the commit that a name on the hub stands for; asked once for a process."""
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    key = (model, revision, local_files_only)
    with _lock:
        if key not in _commits:
            _commits[key] = _commit_of(model, revision, local_files_only=local_files_only)
        return _commits[key]


def _commit_of(model: str, revision: str | None, *, local_files_only: bool) -> str | None:
    try:
        from huggingface_hub import hf_hub_download  # noqa: PLC0415 - comes with the extra `hf`

        file = hf_hub_download(
            model, "config.json", revision=revision, local_files_only=local_files_only
        )
    # Not installed, no such model, no network: loading the model says which.
    except Exception:  # noqa: BLE001
        return None
    # The cache of the hub: models--OWNER--NAME/snapshots/COMMIT/config.json
    commit = Path(file).parent.name
    return commit if _COMMIT.fullmatch(commit) else None


def _folder_hash(folder: Path) -> str:
    files = sorted(file for file in folder.iterdir() if file.suffix in _READ and file.is_file())
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.name}\0{_file_hash(file)}\0".encode())
    return whole.hexdigest()


def _file_hash(file: Path) -> str:
    """Hash a file once: gigabytes of weights take seconds, and every row asks."""
    seen = file.stat()
    key = (str(file.resolve()), seen.st_size, seen.st_mtime_ns)
    if key not in _hashes:
        found = hashlib.sha256()
        with file.open("rb") as read:
            while block := read.read(_BLOCK):
                found.update(block)
        _hashes[key] = found.hexdigest()
    return _hashes[key]
