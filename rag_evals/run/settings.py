"""How is a run carried out? Limits, time-outs, the cache: nothing here can change a score."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, TypedDict

from rag_evals.cache import Database, default_path, open_calls
from rag_evals.core import require_whole
from rag_evals.errors import ConfigurationError
from rag_evals.judge import (
    DEFAULT_MAX_WAIT_SECONDS,
    DEFAULT_REASKS,
    DEFAULT_TIMEOUT_SECONDS,
    AskOptions,
    SessionSettings,
)
from rag_evals.verify import Tuned

DEFAULT_CONCURRENCY = 16
# Each grading at work takes memory; no endpoint serves more of them for one client.
MAX_CONCURRENCY = 4096
DEFAULT_MAX_FAILURES = "50%"
_FEWEST_FOR_A_SHARE = 20
_MOST_DIGITS = 18
_ALL = 100


class RunOptions(TypedDict, total=False):
    """Limits, time-outs and the cache of a run, as `evaluate` and the command line take them.

    Attributes:
        limit: Grade the first rows only.
        timeout: Seconds for all calls of one row; default 120.
        rpm: Requests a minute, at most; default: what the endpoint's headers say.
        tpm: Tokens a minute, at most; as above.
        max_wait: Seconds that the endpoint may ask to wait, for one wait; default 600.
        max_failures: A number, or a share such as `"50%"` (the default) that counts once 20
            gradings have ended; more failures end the run.
        cache: True keeps answers in the user's cache file, a path in that file, False nothing;
            None keeps no answers, and verdicts where the environment asks for it.
        restart: Begin anew, and move a run that is in `out` aside.
        settings: What the judge is asked with, such as `{"temperature": 0}`.
        reasks: How often an invalid reply is asked again; default 3.
        repeat: How often each row is graded; default once.
        tuned: Files of `rag-evals judge tune`, or what `tune` returned: one for each verifier.
        stop_early: Grade rows in random order, and stop when `gate` is decided for all of them.
        gate: The mean that `stop_early` asks for, 0 to 1.
        error: Chance that the gate is decided wrongly; default 0.05.
        count: Numbers for reasons of rows without a score, for the gate.
        sample: Let the judge grade so many rows, drawn at random, and the embedded one all.
        budget: The same, with as many rows as these US dollars pay for, such as `"5usd"`.
    """

    limit: int | None
    timeout: float
    rpm: float | None
    tpm: float | None
    max_wait: float
    max_failures: int | str
    cache: bool | str | Path | None
    restart: bool
    settings: Mapping[str, Any] | None
    reasks: int
    repeat: int
    tuned: Tuned
    stop_early: bool
    gate: float | None
    error: float
    count: Mapping[str, float] | None
    sample: int | None
    budget: float | str | None


@dataclass(frozen=True, slots=True)
class FailureLimit:
    """How many gradings may fail.

    Attributes:
        count: So many at most, or None.
        share: This share of those that ended, 0 to 1, or None.
    """

    count: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: int | str) -> "FailureLimit":
        """Read `10` or `"50%"`.

        Raises:
            ConfigurationError: Neither, or out of range.
        """
        shown = str(text).strip()
        digits = shown.removesuffix("%")
        # Not isdigit(), which takes "²" for a digit; and no more digits than int() reads.
        if digits.isdecimal() and len(digits) <= _MOST_DIGITS:
            number = int(digits)
            if digits == shown:
                return cls(count=number)
            if number <= _ALL:
                return cls(share=number / _ALL)
        raise ConfigurationError(
            f"max failures {text!r} is neither a number nor a percentage, as in 10 or '50%'"
        )

    def is_passed(self, failed: int, ended: int, *, at_the_end: bool = False) -> bool:
        """Say whether too many gradings failed.

        Args:
            failed: Gradings that failed.
            ended: Gradings that ended.
            at_the_end: Nothing more will come: a share counts however few there are.
        """
        if self.count is not None:
            return failed > self.count
        counts = at_the_end or ended >= _FEWEST_FOR_A_SHARE
        return counts and failed > (self.share or 0.0) * ended

    def __str__(self) -> str:
        """As it is written on the command line."""
        return str(self.count) if self.count is not None else f"{100 * (self.share or 0):g}%"


@dataclass(frozen=True, slots=True)
class StopRule:
    """The gate that ends a draw when it is decided.

    Attributes:
        mean: The mean that is asked for, 0 to 1.
        error: Chance of a wrong answer.
        count: Numbers for reasons of rows without a score.
    """

    mean: float
    error: float
    count: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The options of a run, checked.

    Attributes:
        session: How the judge is used.
        max_failures: When to give up.
        cache: Where answers are kept, or None.
        limit: Rows to grade, or None for all.
        restart: Move an earlier run aside.
    """

    session: SessionSettings
    max_failures: FailureLimit
    cache: Path | None = None
    limit: int | None = None
    restart: bool = False

    @classmethod
    def of(cls, concurrency: int, options: RunOptions) -> "RunSettings":
        """Check the options.

        Raises:
            ConfigurationError: A number is out of its range.
        """
        require_whole("concurrency", concurrency)
        if (limit := options.get("limit")) is not None:
            require_whole("limit", limit)
        numbers = {
            "timeout": options.get("timeout", DEFAULT_TIMEOUT_SECONDS),
            "rpm": options.get("rpm"),
            "tpm": options.get("tpm"),
            "max_wait": options.get("max_wait", DEFAULT_MAX_WAIT_SECONDS),
        }
        for name, value in numbers.items():
            is_absent = value is None and name in ("rpm", "tpm")
            if not is_absent and not _is_above_zero(value):
                raise ConfigurationError(f"{name} is {value!r}; expected a number above 0")
        return cls(
            SessionSettings(
                min(concurrency, MAX_CONCURRENCY),
                options.get("timeout", DEFAULT_TIMEOUT_SECONDS),
                options.get("rpm"),
                options.get("tpm"),
                options.get("max_wait", DEFAULT_MAX_WAIT_SECONDS),
                AskOptions.of(
                    options.get("settings"),
                    options.get("reasks", DEFAULT_REASKS),
                ),
            ),
            FailureLimit.parse(options.get("max_failures", DEFAULT_MAX_FAILURES)),
            _cache_path(options.get("cache")),
            limit,
            options.get("restart", False),
        )

    def open_cache(self) -> Database | None:
        """Open the cache, if there is to be one."""
        return None if self.cache is None else open_calls(self.cache)


def _is_above_zero(value: object) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and 0 < float(value) < math.inf  # type: ignore[arg-type]  # it is a number


def _cache_path(wanted: bool | str | Path | None) -> Path | None:
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return default_path()
    if not isinstance(wanted, str | os.PathLike):
        raise ConfigurationError(f"cache is {wanted!r}; expected True, False, None or a path")
    return Path(wanted)
