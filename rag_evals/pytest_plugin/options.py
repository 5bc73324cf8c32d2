"""What do the command line and the ini file of pytest ask of gradings?"""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

_CONCURRENCY = 16
_TIMEOUT_SECONDS = 120
_ROWS_SHOWN = 20

OPTIONS = {
    "judge": ("JUDGE", "Judge of tests that name none. Default: $RAG_EVALS_JUDGE, else embedded."),
    "graders": ("NAMES", "Graders of tests that name none, with commas. Default: faithfulness."),
    "cache": ("on|off|FILE", "Where a judge's replies are kept. Default: on, the user's cache."),
    "concurrency": (
        "N", f"Gradings at a time in one process, at most. Default: {_CONCURRENCY}."
    ),
    "timeout": ("SECONDS", f"For all calls of one grading. Default: {_TIMEOUT_SECONDS}."),
    "rows": ("N", f"Rows of the table at the end, 0 for no table. Default: {_ROWS_SHOWN}."),
}  # fmt: skip
"""What each option is called behind `--rag-evals-`, what it takes, and what it does."""


@dataclass(frozen=True, slots=True)
class PluginOptions:
    """What was asked for: on the command line, else in the ini file.

    Attributes:
        judge: Of tests that name none; None leaves it to the environment.
        graders: Names, of tests that name none.
        cache: Whether replies are kept, or the file in which they are.
        concurrency: Gradings at a time in this process.
        timeout: Seconds for one grading.
        rows: Rows of the table at the end.
    """

    judge: str | None
    graders: tuple[str, ...]
    cache: bool | str
    concurrency: int
    timeout: float
    rows: int

    @classmethod
    def of(cls, config: pytest.Config) -> "PluginOptions":
        """Read them.

        Raises:
            pytest.UsageError: A number is none, or too small.
        """
        told = {name: _told(config, f"rag_evals_{name}") for name in OPTIONS}
        graders = tuple(filter(None, (name.strip() for name in told["graders"].split(","))))
        return cls(
            told["judge"] or None,
            graders or ("faithfulness",),
            {"": True, "on": True, "off": False}.get(told["cache"], told["cache"]),
            int(_number("concurrency", told, _CONCURRENCY)),
            _number("timeout", told, _TIMEOUT_SECONDS, whole=False),
            int(_number("rows", told, _ROWS_SHOWN, least=0)),
        )


def _told(config: pytest.Config, name: str) -> str:
    option = config.getoption(name)
    return str(config.getini(name) if option is None else option).strip()


def _number(
    name: str, told: Mapping[str, str], default: float, *, least: float = 1, whole: bool = True
) -> float:
    text = told[name]
    try:
        number = float(text or default)
    except ValueError:
        number = -1.0
    if not least <= number < float("inf") or (whole and number != int(number)):
        raise pytest.UsageError(
            f"--rag-evals-{name} (in an ini file: rag_evals_{name}) is {text!r}; expected a "
            f"{'whole ' if whole else ''}number, at least {least:g}"
        )
    return number
