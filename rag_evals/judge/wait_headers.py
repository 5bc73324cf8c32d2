"""How long does an endpoint ask to wait? Read from the headers of its reply."""

import math
import re
import time
from collections.abc import Mapping

DEFAULT_MAX_WAIT_SECONDS = 600.0
"""The longest single wait that an endpoint may ask of a run."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
# `float` takes more than headers may hold: "nan", "1_000", digits of any script.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Read `retry-after-ms` or `retry-after`, seconds or an HTTP date.

    Returns:
        At least 0; None when there is neither, or nothing that can be read.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        number = read_number(headers.get(name, ""))
        if number is not None:
            return max(0.0, number * unit)
    return _seconds_until(headers.get("retry-after", ""))


def parse_duration(text: str) -> float | None:
    """Read "20ms", "6m0s", "1m30.5s" or plain seconds; None for anything else."""
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        return seconds if math.isfinite(seconds) else None
    number = read_number(text)
    return None if number is None or number < 0 else number


def read_number(text: str) -> float | None:
    """Read a decimal number of ASCII digits; None for anything else, and for one too large."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    if not date:
        return None
    from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415 - 10 ms, and seldom needed

    try:
        parsed = parsedate_tz(date)
        return None if parsed is None else max(0.0, mktime_tz(parsed) - time.time())
    except (TypeError, ValueError, OverflowError, IndexError, OSError):
        return None
