"""How long does an endpoint ask to wait? Read from the headers of its reply."""

import re
from collections.abc import Mapping

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Read `retry-after-ms` or `retry-after`; None when there is neither, or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None


def parse_duration(text: str) -> float | None:
    """Read "20ms", "6m0s", "1m30.5s" or plain seconds; None for anything else."""
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    try:
        return float(text)
    except ValueError:
        return None
