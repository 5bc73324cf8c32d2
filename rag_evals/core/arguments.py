"""Checks for arguments, judge settings, environment variables and files."""

import difflib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from sys import float_info
from typing import IO, Any, NamedTuple, TypedDict

from rag_evals.errors import ConfigurationError, UnknownArgumentError, UnknownNameError

_OTHER_TOOLS = {
    "judge": "client", "metrics": "graders", "threshold": "min_support", "dataset": "data",
    "input": "question", "actual_output": "answer", "retrieval_context": "context",
}  # fmt: skip
"""Keywords of similar tools, and what they are called here."""


def require_known(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Reject unknown keywords and suggest the closest known one."""
    for name in given:
        if name not in known:
            meant = _OTHER_TOOLS.get(name, name)
            near = next(iter(difflib.get_close_matches(meant, known, n=1)), None)
            raise UnknownArgumentError.of(function, name, near, known)


def require_fraction(name: str, value: object, *, otherwise: str = "") -> float:
    """Return a number from 0 to 1; reject text, True and NaN. Errors end with `otherwise`."""
    return _require_number(name, value, 1, otherwise)


def _require_number(name: str, value: object, most: float, otherwise: str = "") -> float:
    if not isinstance(value, bool) and isinstance(value, Real) and 0 <= value <= most:  # type: ignore[operator]  # numbers.Real has no type for it
        return float(value)
    raise ConfigurationError(f"{name} is {value!r}; expected a number from 0 to {most}{otherwise}")


def require_positive(name: str, value: object, *, otherwise: str = "") -> float:
    """Return a finite number above 0; reject text, True and NaN. Errors end with `otherwise`."""
    if not isinstance(value, bool) and isinstance(value, Real) and 0 < value <= float_info.max:  # type: ignore[operator]  # as above
        return float(value)
    raise ConfigurationError(f"{name} is {value!r}; expected a number above 0{otherwise}")


def require_whole(name: str, value: object, *, least: int = 1) -> int:
    """Return an integer of at least `least`; reject strings, True and 3.0."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigurationError(f"{name} is {value!r}; expected a whole number, at least {least}")
    if int(value) < least:
        raise ConfigurationError(f"{name} is {value!r}; expected at least {least}")
    return int(value)


class JudgeSettings(TypedDict, total=False):
    """Settings for requests to a judge model.

    Attributes:
        temperature: 0 to 2, default 0; None means the model's own default.
        max_tokens: Maximum number of tokens in a reply.
        seed: The same seed gives the same reply, if the provider supports it.
        top_p: Probability mass for nucleus sampling, 0 to 1.
        window: The model's context window in tokens, for prompt and reply together; longer contexts
            are graded in several packs. This setting is not sent to the provider.
        reasoning_effort: `low`, `medium`, `high`, or another value that your provider supports.
    """

    temperature: float | None
    max_tokens: int
    seed: int
    top_p: float
    window: int
    reasoning_effort: str


SETTING_NAMES = tuple(JudgeSettings.__annotations__)
_LEAST = {"max_tokens": 1, "seed": 0, "window": 1}
_MOST = {"temperature": 2, "top_p": 1}
_CACHE_VARIABLES = ("RAG_EVALS_STATEMENT_CACHE", "RAG_EVALS_CACHE_MAX_MB")
_DEFAULT_MAX_MB = 1000.0


def check_settings(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check judge settings and return them as a new dictionary."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(
            f"settings is {given!r}; expected a dictionary, such as {{'temperature': 0}}"
        )
    return {name: _checked(name, value) for name, value in (given or {}).items()}


def parse_settings(texts: Sequence[str] | None) -> dict[str, Any]:
    """Parse `NAME=VALUE` settings from the command line; a repeated name is an error."""
    settings: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise ConfigurationError(f"--set {text!r} is not NAME=VALUE, as in temperature=0")
        read = _checked(name, _value(name, value))
        if settings.get(name, read) != read:
            raise ConfigurationError(f"--set {name} is both {settings[name]!r} and {read!r}")
        settings[name] = read
    return settings


def _value(name: str, text: str) -> Any:
    if name == "temperature" and text.lower() == "none":
        return None
    kind = int if name in _LEAST else float if name in _MOST else str
    try:
        return kind(text)
    except ValueError:
        return text


def _checked(name: str, value: Any) -> Any:
    if name not in SETTING_NAMES:
        raise UnknownNameError.of("setting", str(name), SETTING_NAMES)
    if name in _LEAST:
        return require_whole(name, value, least=_LEAST[name])
    if name == "reasoning_effort":
        if isinstance(value, str) and value.strip():
            return value
        raise ConfigurationError(f"{name} is {value!r}; expected a word, such as 'low'")
    if name == "temperature" and value is None:
        return None
    _require_number(name, value, _MOST[name])
    return value


class CacheVariables(NamedTuple):
    """`RAG_EVALS_STATEMENT_CACHE` (`off`, `exact` or empty), and `RAG_EVALS_CACHE_MAX_MB`."""

    mode: str
    megabytes: float


def cache_variables() -> CacheVariables:
    """Read the environment variables for caches; raise `ConfigurationError` for invalid values."""
    mode, written = (os.environ.get(name) or "" for name in _CACHE_VARIABLES)
    try:
        megabytes = float(written or _DEFAULT_MAX_MB)
    except ValueError:
        megabytes = 0.0
    if not megabytes > 0:
        raise ConfigurationError(
            f"{_CACHE_VARIABLES[1]} is {written!r}; expected a number of megabytes above 0"
        )
    if mode not in ("", "off", "exact"):
        raise ConfigurationError(f"{_CACHE_VARIABLES[0]} is {mode!r}; expected off or exact")
    return CacheVariables(mode, megabytes)


MISSING = "does not exist"

_PRIVATE = 0o600


def fault_of(path: Path) -> str | None:
    """Return the reason why a path cannot be read as a file, or None for a regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return MISSING
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISDIR(mode):
        return "is a folder"
    if not stat.S_ISREG(mode):
        return "is a pipe or a device, which may never end; save its output to a file first"
    return None


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, readable only by its owner; create its folder if necessary.

    Raises:
        ConfigurationError: The file cannot be written, or it is a symbolic link.
    """
    try:
        if path.is_symlink() and (path.is_file() or not path.exists()):
            raise ConfigurationError(
                f"{str(path)!r} is a symbolic link, which is not followed; use its target "
                f"{str(path.resolve())!r}"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        # With O_NONBLOCK, opening a pipe without a reader fails instead of blocking forever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
        number = os.open(path, flags, _PRIVATE)
        os.set_blocking(number, True)
        if stat.S_ISREG(os.fstat(number).st_mode) and hasattr(os, "fchmod"):
            os.fchmod(number, _PRIVATE)  # `os.open` keeps the mode of an existing file
        with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
            yield file
    except OSError as error:
        raise ConfigurationError(f"{str(path)!r} cannot be written: {error.strerror}") from error
