"""Can this text be written as UTF-8?"""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def lone_surrogate(text: str) -> int | None:
    """Find the first lone half of a UTF-16 pair.

    Args:
        text: Any string; `json.loads` lets such halves through.

    Returns:
        Its offset, or None when the text can be encoded.
    """
    if text.isascii():
        return None
    found = _SURROGATE.search(text)
    return found.start() if found else None
