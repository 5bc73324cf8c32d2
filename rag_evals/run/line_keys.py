"""Which grading is a stored line? Read from its two ends, without what stands between.

Going on with a run of a million rows looks at every line first. Reading all of a line takes ten
times as long as its ends; the whole line is read and checked when its row comes up.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_HEAD = re.compile(
    rb'\{"index":(\d+),"sample_id":"([^"\\]+)","grader":"([^"\\]+)","status":"(?:scored|not_scorable)",'
)
_TAIL = re.compile(rb'"sample_fingerprint":"([^"\\]*)","grader_fingerprint":"([^"\\]*)"\}\r?\n')
_TAIL_BEGINS, _CALLS = b'"sample_fingerprint":"', b'"usage":{"calls":'


class LineKey(NamedTuple):
    """What a stored line says before its result is read.

    Attributes:
        grading: As `Outcome.key`.
        error: Type of the error; None where the grading did not fail.
        answered: The endpoint took part, and the grading did not fail.
        row: The `index` of the outcome.
    """

    grading: tuple[str, str, str, str]
    error: str | None
    answered: bool
    row: int


def key_in_line(line: bytes) -> LineKey | None:
    """Read the ends of a line as `Outcome.to_line` writes it; None where it is otherwise."""
    head = _HEAD.match(line)
    tail = _TAIL.fullmatch(line, max(line.rfind(_TAIL_BEGINS), 0))
    if head is None or tail is None:
        return None
    grading = (
        head[2].decode(),
        head[3].decode(),
        tail[1].decode(),
        tail[2].decode(),
    )
    calls = line.rfind(_CALLS)
    answered = calls > 0 and line[calls + len(_CALLS)] != ord("0")
    return LineKey(grading, None, answered, int(head[1]))


def key_of_record(record: Mapping[str, Any]) -> LineKey:
    """Return the same of a line that was read whole.

    Args:
        record: A line of `results.jsonl`, parsed.
    """
    error = record.get("error")
    grading = (
        record["sample_id"],
        record["grader"],
        record.get("sample_fingerprint", ""),
        record.get("grader_fingerprint", ""),
    )
    calls = (record.get("usage") or {}).get("calls", 0)
    answered = record["status"] != "failed" and calls > 0
    return LineKey(grading, None if error is None else error["type"], answered, record["index"])
