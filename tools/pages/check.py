"""Does the built site keep its promise? No page asks another host.

python -m tools.pages.check [FOLDER]     exit with 1 and a line for each promise that is broken
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_FOREIGN = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=[\"']?(https?:[^\"'\s>]+)")
_STYLES = re.compile(r"<link\b[^>]*rel=[\"']?stylesheet[^>]*href=[\"']?(https?:[^\"'\s>]+)")
# For such a block, the theme's script fetches another from a foreign host.
_FETCHING = 'class="mermaid"'


def broken_promises(site: Path) -> Iterator[str]:
    """Yield a line for each request to another host."""
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        foreign = [*_FOREIGN.findall(text), *_STYLES.findall(text)]
        foreign += ["Mermaid's script"] * (_FETCHING in text)
        yield from (f"{path.relative_to(site)} asks another host for {one}" for one in foreign)


def main(arguments: list[str]) -> int:
    """Check; return the exit code."""
    broken = list(broken_promises(Path(*arguments or ["site"])))
    for line in broken:
        print(line, file=sys.stderr)
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
