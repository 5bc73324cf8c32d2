"""In which script is a text written? By its letters, most of which decide."""

import re
from typing import Literal

WritingScript = Literal["latin", "cyrillic", "other"]

_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_OTHER = re.compile(r"[^\W\d_A-Za-zÀ-ɏЀ-ӿ]")


def script_of(text: str) -> WritingScript | None:
    """Return the script of most letters; None for a text without letters.

    Args:
        text: Any text.
    """
    counts: dict[WritingScript, int] = {
        "latin": len(_LATIN.findall(text)),
        "cyrillic": len(_CYRILLIC.findall(text)),
        "other": len(_OTHER.findall(text)),
    }
    script = max(counts, key=lambda name: counts[name])
    return script if counts[script] else None
