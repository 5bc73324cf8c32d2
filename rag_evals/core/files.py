"""Is there an ordinary file at this path? Others are not read: a pipe or a device may never end."""

import stat
from pathlib import Path

MISSING = "does not exist"


def fault_of(path: Path) -> str | None:
    """Say why a path cannot be read as a file; None for an ordinary file.

    Args:
        path: Of a data file, a prompt or labels.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return MISSING
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISDIR(mode):
        return "is a folder"
    if not stat.S_ISREG(mode):
        return "is a pipe or a device, which may never end; write what it gives into a file first"
    return None
