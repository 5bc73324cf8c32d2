"""Options of a run for Python, the command line and the config file.

Only `model`, `settings`, `repeat` and `tuned` can change a score.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args

from rag_evals.cache.database import default_path
from rag_evals.core import require_whole
from rag_evals.dataset import Columns
from rag_evals.errors import ConfigurationError, NotScorableReason, UnknownNameError
from rag_evals.judge import DEFAULT_REASKS, DEFAULT_TIMEOUT_SECONDS, AskOptions
from rag_evals.judge.pace.retry import DEFAULT_MAX_WAIT_SECONDS
from rag_evals.judge.session import SessionSettings
from rag_evals.run.plan.progress import Report
from rag_evals.verify import Tuned

DEFAULT_CONCURRENCY = 16
# Each grading in flight takes memory, and no endpoint serves more to one client.
MAX_CONCURRENCY = 4096
DEFAULT_MAX_FAILURES = "50%"
DEFAULT_ERROR = 0.05
_FEWEST_FOR_A_SHARE = 20
_MOST_DIGITS = 18
_MOST_ERROR = 0.5
_ALL = 100
_MONEY = re.compile(r"\$?(\d+(?:\.\d+)?) ?(?:usd)?", re.IGNORECASE | re.ASCII)


def parse_share(text: str) -> float:
    """Parse a share such as `0.9` or `90%`."""
    shown = text.strip()
    try:
        share = float(shown.removesuffix("%")) / (100 if shown.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ConfigurationError(
            f"{text!r} is neither a share from 0 to 1 nor a percentage, as in 0.9 or 90%"
        )
    return share


def require_number(name: str, value: object) -> None:
    if not isinstance(value, Real):
        raise ConfigurationError(f"{name}={value!r} is not a number; expected one such as 0.9")


def require_share(name: str, share: float) -> None:
    """Raise `ConfigurationError` unless a value is a number from 0 to 1."""
    require_number(name, share)
    if not 0 <= share <= 1:
        raise ConfigurationError(f"{name}={share!r} is outside 0..1; 90 % is written 0.9")


def require_counts(count: Mapping[str, float]) -> None:
    """Raise `ConfigurationError` for an unknown reason or a score outside 0..1."""
    for reason, value in count.items():
        if reason not in get_args(NotScorableReason):
            raise UnknownNameError.of(
                "reason of rows without a score", reason, get_args(NotScorableReason)
            )
        require_share(f"count[{reason!r}]", value)


def require_gate(name: str, gate: float, error: float) -> None:
    """Raise `ConfigurationError` unless `0 <= gate <= 1` and `0 < error <= 0.5`."""
    require_share(name, gate)
    require_number("error", error)
    if not 0 < error <= _MOST_ERROR:
        raise ConfigurationError(f"error={error!r} is not above 0 and up to 0.5; 5 % is 0.05")


@dataclass(frozen=True, slots=True)
class FailureLimit:
    """Limit of failed gradings: a count, or a share (0 to 1) of the finished gradings."""

    count: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: int | str) -> "FailureLimit":
        """Parse `10` or `"50%"`."""
        shown = str(text).strip()
        digits = shown.removesuffix("%")
        # isdigit() would accept "²", and int() refuses thousands of digits.
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
        if self.count is not None:
            return failed > self.count
        counts = at_the_end or ended >= _FEWEST_FOR_A_SHARE
        return counts and failed > (self.share or 0.0) * ended

    def __str__(self) -> str:
        return str(self.count) if self.count is not None else f"{100 * (self.share or 0):g}%"


@dataclass(frozen=True, slots=True)
class Sampling:
    """A way to grade only some rows: exactly one of `sample`, `budget` and `gate`.

    Attributes:
        sample: Number of random rows for the judge; the embedded judge grades every row, so mean
            and interval describe all rows.
        budget: US dollars to spend on a random sample, such as `"5usd"` or 5.0.
        gate: Required mean, 0 to 1; rows are graded in random order until it is decided whether
            the mean of all rows reaches it.
        error: Probability of a wrong decision on the gate, at most 0.5; 0.05 by default.
        count: Scores for rows without one, by reason, such as `{"empty_context": 0.0}`; only with
            a gate.

    Raises:
        ConfigurationError: The values are out of range or contradict each other.
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
            raise ConfigurationError("Sampling draws no rows without sample, budget or gate")
        if len(chosen) > 1:
            raise ConfigurationError(f"{chosen[0]} and {chosen[1]} both choose the rows; give one")
        for name, value in (("error", self.error), ("count", self.count)):
            if self.gate is None and value is not None:
                raise ConfigurationError(f"{name} does nothing without gate")
        if self.sample is not None:
            require_whole("sample", self.sample)
        if self.budget is not None:
            _read_dollars(self.budget)
        if self.gate is not None:
            require_gate("gate", self.gate, self.error_chance)
            require_counts(self.count or {})

    @property
    def dollars(self) -> float | None:
        """The budget as a number."""
        return None if self.budget is None else _read_dollars(self.budget)

    @property
    def error_chance(self) -> float:
        """Probability of a wrong decision on the gate."""
        return DEFAULT_ERROR if self.error is None else self.error


# The value comes from the user.
def _read_dollars(budget: Any) -> float:
    is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
    found = None if is_number else _MONEY.fullmatch(str(budget).strip())
    dollars = float(budget) if is_number else float(found[1]) if found else 0.0
    # This also rejects NaN.
    if not 0 < dollars < float("inf"):
        raise ConfigurationError(
            f"budget {budget!r} is not a sum of US dollars above 0, as in 5usd"
        )
    return dollars


def _accept(_: str, __: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a run.

    Attributes:
        check: Called with name and value; raises `ConfigurationError`.
        in_session: True if a session accepts it.
        asks: True if it has no effect without an endpoint.
    """

    help: str
    default: object = None
    check: Callable[[str, Any], object] = _accept
    in_session: bool = True
    asks: bool = False


def _check_model(name: str, value: object) -> None:
    if not (isinstance(value, str) and value):
        raise ConfigurationError(f"{name} is {value!r}; expected a name, such as 'gpt-4o-mini'")


def _check_above_zero(name: str, value: object) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 < float(value) < math.inf):  # type: ignore[arg-type]  # it is a number
        raise ConfigurationError(f"{name} is {value!r}; expected a number above 0")


def _check_sampling(name: str, value: object) -> None:
    if not isinstance(value, Sampling):
        raise ConfigurationError(f"{name} is {value!r}; expected Sampling(sample=200) or the like")


def _check_failures(_: str, value: int | str) -> None:
    FailureLimit.parse(value)


class RunOptions(TypedDict, total=False):
    """The options of `evaluate` and everything else that grades rows; see `OPTIONS`."""

    model: Annotated[
        str | None,
        Option(
            "Model to ask; by default the grader's, else the client's own.",
            check=_check_model,
            asks=True,
        ),
    ]
    columns: Annotated[
        Columns,
        Option(
            "Where the fields are: field and column, path or function, as in "
            "`{'answer': 'response'}`; by default the usual names."
        ),
    ]
    concurrency: Annotated[
        int,
        Option(
            "Gradings at a time, at most 4096.", default=DEFAULT_CONCURRENCY, check=require_whole
        ),
    ]
    progress: Annotated[
        Report | bool | None,
        Option(
            "A function that is given `Progress`; True or False; None shows it on a terminal and "
            "in a notebook.",
            in_session=False,
        ),
    ]
    limit: Annotated[
        int | None, Option("Grade the first rows only.", check=require_whole, in_session=False)
    ]
    sampling: Annotated[
        Sampling | None,
        Option(
            "Grade fewer rows, as `Sampling` says; None grades all.",
            check=_check_sampling,
            in_session=False,
        ),
    ]
    timeout: Annotated[
        float,
        Option(
            "Seconds for all calls of one row.",
            default=DEFAULT_TIMEOUT_SECONDS,
            check=_check_above_zero,
            asks=True,
        ),
    ]
    rpm: Annotated[
        float | None,
        Option(
            "Requests a minute, at most; by default what the endpoint's headers say.",
            check=_check_above_zero,
            asks=True,
        ),
    ]
    tpm: Annotated[
        float | None,
        Option(
            "Tokens a minute, at most; by default what the endpoint's headers say.",
            check=_check_above_zero,
            asks=True,
        ),
    ]
    max_wait: Annotated[
        float,
        Option(
            "Seconds that the endpoint may ask to wait, for one wait.",
            default=DEFAULT_MAX_WAIT_SECONDS,
            check=_check_above_zero,
            asks=True,
        ),
    ]
    max_failures: Annotated[
        int | str,
        Option(
            "More failures end the run: a number, or a share such as 50% that counts once 20 "
            "gradings have ended, and at the end.",
            default=DEFAULT_MAX_FAILURES,
            check=_check_failures,
            in_session=False,
        ),
    ]
    reasks: Annotated[
        int,
        Option("How often an invalid reply is asked again.", default=DEFAULT_REASKS, asks=True),
    ]
    repeat: Annotated[
        int,
        Option(
            "How often each row is graded; shows how far verdicts differ.",
            default=1,
            check=require_whole,
        ),
    ]
    settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "What the judge is asked with, as in `{'temperature': 0, 'seed': 7}`, before those of "
            "a grader; without any, the temperature is 0."
        ),
    ]
    tuned: Annotated[
        Tuned,
        Option("Files of `rag-evals judge tune`, or what `tune` returned: one for each verifier."),
    ]
    cache: Annotated[
        bool | str | Path | None,
        Option(
            "True keeps answers in the user's cache file, a path in that file, False nothing; "
            "None keeps no answers, and verdicts where the environment asks for it."
        ),
    ]
    keep_replies: Annotated[
        bool,
        Option(
            "Keep what the judge is sent and replies in the run folder; `rag-evals show` has it.",
            default=False,
            in_session=False,
        ),
    ]
    restart: Annotated[
        bool,
        Option(
            "Start over; an earlier run in the folder is moved to before-1.",
            default=False,
            in_session=False,
        ),
    ]


OPTIONS: Mapping[str, Option] = {
    name: kind.__metadata__[0] for name, kind in RunOptions.__annotations__.items()
}
"""The options of `RunOptions` by name."""


def check_options(options: RunOptions) -> None:
    for name, value in options.items():
        if name not in OPTIONS:
            raise UnknownNameError.of("option", name, OPTIONS)
        option = OPTIONS[name]
        if not (value is None and option.default is None):
            option.check(name, value)


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
        check_options(options)
        # Any, since mypy cannot type values by name.
        given: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
        given |= options
        return cls(
            SessionSettings(
                min(given["concurrency"], MAX_CONCURRENCY),
                given["timeout"],
                given["rpm"],
                given["tpm"],
                given["max_wait"],
                AskOptions.of(given["settings"], given["reasks"]),
            ),
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
