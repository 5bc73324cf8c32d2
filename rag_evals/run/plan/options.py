"""Run options for Python, the command line and the config file.

Only `model`, `settings`, `repeat` and `tuned` can affect scores.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args

from rag_evals.cache.database import default_path
from rag_evals.core import require_fraction, require_positive, require_whole
from rag_evals.dataset import Columns
from rag_evals.errors import ConfigurationError, NotScorableReason, UnknownNameError
from rag_evals.judge import DEFAULT_REASKS, DEFAULT_TIMEOUT_SECONDS, AskOptions
from rag_evals.judge.pace.retry import DEFAULT_MAX_WAIT_SECONDS
from rag_evals.judge.session import SessionSettings
from rag_evals.run.plan.progress import Report
from rag_evals.verify import Tuned

# Each grading in flight uses memory, and no endpoint serves more requests per client at once.
MAX_CONCURRENCY = 4096
DEFAULT_ERROR = 0.05
_FEWEST_FOR_A_SHARE = 20
_MOST_ERROR = 0.5
_ALL = 100
# Limits the number of digits, because int() rejects numbers with thousands of them.
_LIMIT = re.compile(r"(\d{1,18})(%?)")


def parse_share(text: str) -> float:
    """Parse a share such as `0.9` or `90%`."""
    shown = text.strip()
    try:
        share = float(shown.removesuffix("%")) / (100 if shown.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ConfigurationError(
            f"{text!r} is neither a number from 0 to 1 nor a percentage, such as 0.9 or 90%"
        )
    return share


def require_share(name: str, share: object) -> None:
    """Raise `ConfigurationError` unless the value is a number from 0 to 1."""
    require_fraction(name, share, otherwise="; 90 % is written 0.9")


def require_counts(count: Mapping[str, float]) -> None:
    """Raise `ConfigurationError` if a reason is not recognised or a score is not in 0..1."""
    for reason, value in count.items():
        if reason not in get_args(NotScorableReason):
            raise UnknownNameError.of(
                "reason of rows without a score", reason, get_args(NotScorableReason)
            )
        require_share(f"count[{reason!r}]", value)


def require_gate(name: str, gate: float, error: float) -> None:
    """Raise `ConfigurationError` unless `0 <= gate <= 1` and `0 < error <= 0.5`."""
    require_share(name, gate)
    if not 0 < require_fraction("error", error) <= _MOST_ERROR:
        raise ConfigurationError(
            f"error is {error!r}; expected a number above 0 and at most 0.5, such as 0.05"
        )


@dataclass(frozen=True, slots=True)
class FailureLimit:
    """Limit on failed gradings, as a number or as a percentage of the finished gradings."""

    number: int
    is_percentage: bool

    @classmethod
    def parse(cls, text: int | str) -> "FailureLimit":
        """Parse `10` or `"50%"`."""
        found = _LIMIT.fullmatch(str(text).strip())
        if not found or (found[2] and int(found[1]) > _ALL):
            raise ConfigurationError(
                f"max_failures is {text!r}; expected a number or a percentage, such as 10 or '50%'"
            )
        return cls(int(found[1]), bool(found[2]))

    def is_passed(self, failed: int, ended: int, *, at_the_end: bool = False) -> bool:
        if not self.is_percentage:
            return failed > self.number
        counts = at_the_end or ended >= _FEWEST_FOR_A_SHARE
        return counts and failed * _ALL > self.number * ended

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percentage else str(self.number)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to grade only some rows; set exactly one of `sample`, `budget` and `gate`.

    Attributes:
        sample: Number of random rows for the judge to grade. The embedded judge grades every row,
            so the mean and its interval apply to all rows.
        budget: Amount in US dollars to spend on a random sample, such as `"5usd"` or 5.0.
        gate: Required mean, 0 to 1; rows are graded in random order until it is clear whether the
            mean over all rows reaches it.
        error: Probability of a wrong gate decision, at most 0.5; 0.05 by default.
        count: Scores to assign to rows without one, by reason, such as `{"empty_context": 0.0}`;
            requires `gate`.

    Raises:
        ConfigurationError: A value is out of range, or the values contradict each other.
    """

    sample: int | None = None
    budget: float | str | None = None
    gate: float | None = None
    error: float | None = None
    count: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        ways = {"sample": self.sample, "budget": self.budget, "gate": self.gate}
        chosen = [name for name, value in ways.items() if value is not None]
        if not chosen:
            raise ConfigurationError("Sampling needs sample, budget or gate")
        if len(chosen) > 1:
            raise ConfigurationError(f"{chosen[0]} and {chosen[1]} cannot be combined; use one")
        if self.gate is None and (self.error, self.count) != (None, None):
            idle = "count" if self.error is None else "error"
            raise ConfigurationError(f"{idle} does nothing without gate")
        if self.sample is not None:
            require_whole("sample", self.sample)
        if self.budget is not None:
            _read_dollars(self.budget)
        if self.gate is not None:
            require_gate("gate", self.gate, self.error_chance)
            require_counts(self.count or {})

    @property
    def dollars(self) -> float | None:
        """The budget in US dollars."""
        return None if self.budget is None else _read_dollars(self.budget)

    @property
    def error_chance(self) -> float:
        """Probability of a wrong gate decision."""
        return DEFAULT_ERROR if self.error is None else self.error


def _read_dollars(budget: object) -> float:
    text = str(budget).strip().lower()
    try:
        dollars = float(text.removeprefix("$").removesuffix("usd"))
    except ValueError:
        dollars = 0.0
    # This also rejects NaN.
    if not 0 < dollars < math.inf:
        raise ConfigurationError(f"budget is {budget!r}; expected US dollars above 0, such as 5usd")
    return dollars


@dataclass(frozen=True, slots=True)
class Option:
    """A run option; `check` raises `ConfigurationError` for an invalid value."""

    help: str
    default: object = None
    check: Callable[[str, Any], object] | None = None


def _check_model(name: str, value: object) -> None:
    if not (isinstance(value, str) and value):
        raise ConfigurationError(f"{name} is {value!r}; expected a model, such as 'gpt-4o-mini'")


def _check_sampling(name: str, value: object) -> None:
    if not isinstance(value, Sampling):
        raise ConfigurationError(f"{name} is {value!r}; expected, for example, Sampling(sample=20)")


class RunOptions(TypedDict, total=False):
    """Options of `evaluate` and every other function that grades rows; see `OPTIONS`."""

    model: Annotated[
        str | None,
        Option("Model to call; by default the grader's or the client's own.", None, _check_model),
    ]
    columns: Annotated[
        Columns,
        Option(
            "Column, path or function for each field, such as `{'answer': 'response'}`; common "
            "column names are recognised without it."
        ),
    ]
    concurrency: Annotated[
        int, Option("Maximum concurrent gradings, up to 4096.", 16, require_whole)
    ]
    progress: Annotated[
        Report | bool | None,
        Option(
            "A function that receives `Progress`, or whether to show progress; None shows it in "
            "terminals and notebooks."
        ),
    ]
    limit: Annotated[int | None, Option("Grade only the first N rows.", None, require_whole)]
    sampling: Annotated[
        Sampling | None, Option("Grade only some rows; see `Sampling`.", None, _check_sampling)
    ]
    timeout: Annotated[
        float, Option("Total seconds for a row's calls.", DEFAULT_TIMEOUT_SECONDS, require_positive)
    ]
    rpm: Annotated[
        float | None,
        Option(
            "Maximum requests per minute; by default the endpoint's limit.", None, require_positive
        ),
    ]
    tpm: Annotated[
        float | None,
        Option(
            "Maximum tokens per minute; by default the endpoint's limit.", None, require_positive
        ),
    ]
    max_wait: Annotated[
        float,
        Option(
            "Longest single wait, in seconds, that the endpoint may request.",
            DEFAULT_MAX_WAIT_SECONDS,
            require_positive,
        ),
    ]
    max_failures: Annotated[
        int | str,
        Option(
            "Stop the run if more gradings fail than this: a number, or a percentage such as 50%, "
            "which is checked from 20 gradings on and at the end.",
            "50%",
        ),
    ]
    reasks: Annotated[int, Option("How often to re-ask after an invalid reply.", DEFAULT_REASKS)]
    repeat: Annotated[
        int, Option("Number of gradings per row, to see how verdicts vary.", 1, require_whole)
    ]
    settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Judge settings, such as `{'temperature': 0, 'seed': 7}`; they override a "
            "grader's own. The temperature is 0 by default."
        ),
    ]
    tuned: Annotated[
        Tuned,
        Option("Files from `rag-evals judge tune`, or results of `tune`; one for each verifier."),
    ]
    cache: Annotated[
        bool | str | Path | None,
        Option(
            "True caches answers in the user's cache file, a path caches them in that file, and "
            "False disables caching; None caches only verdicts, if the environment enables it."
        ),
    ]
    keep_replies: Annotated[
        bool,
        Option("Store all judge messages in the run folder, for `rag-evals show`.", default=False),
    ]
    restart: Annotated[
        bool,
        Option("Start over; an earlier run in the folder is moved to before-1.", default=False),
    ]


OPTIONS: Mapping[str, Option] = {
    name: kind.__metadata__[0] for name, kind in RunOptions.__annotations__.items()
}
"""The options in `RunOptions`, by name."""

DATA_OPTIONS = ("progress", "limit", "sampling", "max_failures", "keep_replies", "restart")
"""Options that a session rejects."""

ASKING_OPTIONS = ("model", "timeout", "rpm", "tpm", "max_wait", "reasks")
"""Options that have no effect without an endpoint."""


def refuse_idle(options: RunOptions, *names: str, where: str) -> None:
    """Raise `ConfigurationError` if one of these options is set."""
    for name, value in options.items():
        if name in names and value != OPTIONS[name].default:
            raise ConfigurationError(f"{name} does nothing {where}; leave it out")


def refuse_sampling(options: RunOptions, what: str) -> None:
    refuse_idle(options, "sampling", where=f"in {what}, which grades every row")


@dataclass(frozen=True, slots=True)
class RunSettings:
    session: SessionSettings
    max_failures: FailureLimit
    cache: Path | None = None
    limit: int | None = None
    restart: bool = False
    keep_replies: bool = False

    @classmethod
    def of(cls, options: RunOptions) -> "RunSettings":
        for name, value in options.items():
            option = OPTIONS[name]
            if option.check and not (value is None and option.default is None):
                option.check(name, value)
        # Any, because mypy cannot infer the type of each value from its name.
        given: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
        given |= options
        concurrency = min(given["concurrency"], MAX_CONCURRENCY)
        timeout, rpm, tpm, max_wait = (given[n] for n in ("timeout", "rpm", "tpm", "max_wait"))
        asking = AskOptions.of(given["settings"], given["reasks"])
        return cls(
            SessionSettings(concurrency, timeout, rpm, tpm, max_wait, asking),
            FailureLimit.parse(given["max_failures"]),
            _cache_path(given["cache"]),
            given["limit"],
            given["restart"],
            given["keep_replies"],
        )


def _cache_path(wanted: bool | str | Path | None) -> Path | None:
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return default_path()
    if not isinstance(wanted, str | os.PathLike):
        raise ConfigurationError(f"cache is {wanted!r}; expected True, False, None or a path")
    return Path(wanted)
