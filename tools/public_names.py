"""Write `rag_evals/__init__.pyi`, what type checkers read, from the table in `__init__.py`.

`python tools/public_names.py` writes it; a test fails while it is stale.
"""

from collections import defaultdict
from pathlib import Path

import rag_evals

STUB = Path(__file__).parent.parent / "rag_evals" / "__init__.pyi"


def stub() -> str:
    """Return the text of the stub: each public name, imported from its room."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for name, home in rag_evals.HOMES.items():
        rooms[home].append(name)
    lines = [
        "# Written by tools/public_names.py from the table in __init__.py.",
        *(
            f"from {home} import {name} as {name}"
            for home, names in sorted(rooms.items())
            for name in sorted(names)
        ),
        "",
        "HOMES: dict[str, str]",
        "__version__: str",
        "__all__: list[str]",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
