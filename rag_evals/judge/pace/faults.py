"""What does an SDK's exception say? Its status, words and wait, wherever the SDK keeps them."""

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Names, because no SDK but OpenAI's need be installed. Each is a class or a base of classes.
_TIMED_OUT = frozenset(
    "APITimeoutError TimeoutException ReadTimeoutError ConnectTimeoutError TimeoutError".split()
)
_NOT_CONNECTED = frozenset(
    "APIConnectionError TransportError HTTPClientError ClientConnectionError NoResponseError "
    "OSError EndpointConnectionError".split()
)


@dataclass(frozen=True, slots=True)
class SdkFault:
    """What an exception of any SDK says.

    Attributes:
        status: HTTP status of the reply; None when there was none.
        message: The provider's words.
        code: The provider's word for the fault, such as `insufficient_quota`; or nothing.
        parameter: The parameter that the fault is about; or nothing.
        wait_seconds: How long the endpoint asks to wait; None when it does not say.
        headers: Headers of the reply, names in lower case.
        timed_out: There was no reply in time.
        not_connected: There was no reply, whatever the reason.
    """

    status: int | None
    message: str
    code: str
    parameter: str
    wait_seconds: float | None
    headers: Mapping[str, str]
    timed_out: bool
    not_connected: bool


def beneath_litellm(error: BaseException) -> BaseException:
    """Return the broken connection that LiteLLM calls an answer with status 500.

    Args:
        error: What an SDK raised; anything else is returned as it is.
    """
    below: BaseException | None = error
    while below is not None and type(below).__module__.startswith("litellm."):
        below = below.__cause__ or below.__context__
    if below is None or below is error:
        return error
    names = {kind.__name__ for kind in type(below).__mro__}
    return below if names & (_NOT_CONNECTED | _TIMED_OUT) else error


def distrusts(error: BaseException | None) -> bool:
    """Say whether no connection was made because nobody trusted knows the endpoint."""
    while error is not None:
        # OpenSSL's word, which every library passes on.
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


# Exceptions of SDKs that may not be installed have no type here.
def read_fault(error: Any) -> SdkFault:
    """Read what an SDK raised."""
    error = beneath_litellm(error)
    names = {kind.__name__ for kind in type(error).__mro__}
    status = next(_statuses(error), None)
    inner = _inner(error)
    headers = _headers(error)
    wait = retry_after_seconds(headers)
    timed_out = status is None and bool(names & _TIMED_OUT)
    return SdkFault(
        status=status,
        message=_message(error, inner),
        code=_code(error, inner),
        parameter=str(getattr(error, "param", None) or inner.get("param") or ""),
        wait_seconds=_google_delay(inner) if wait is None else wait,
        headers=headers,
        timed_out=timed_out,
        not_connected=timed_out or (status is None and bool(names & _NOT_CONNECTED)),
    )


def _statuses(error: Any) -> Iterator[int]:
    response = getattr(error, "response", None)
    # botocore keeps the reply as a dictionary.
    kept = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    for value in (
        getattr(error, "status_code", None),
        getattr(error, "status", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
        kept.get("HTTPStatusCode"),
    ):
        if isinstance(value, int) and value > 0:
            yield value


def _headers(error: Any) -> dict[str, str]:
    response = getattr(error, "response", None)
    kept = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    for found in (
        getattr(response, "headers", None),
        getattr(error, "headers", None),
        kept.get("HTTPHeaders"),
        getattr(error, "litellm_response_headers", None),
    ):
        if found:
            return {str(name).lower(): str(value) for name, value in found.items()}
    return {}


def _inner(error: Any) -> dict[str, Any]:
    """Find the dictionary in the body that has the provider's words."""
    response = getattr(error, "response", None)
    for body in (
        getattr(error, "body", None),
        getattr(error, "details", None),
        response if isinstance(response, dict) else None,
    ):
        parsed = _parsed(body)
        if isinstance(parsed, dict):
            inner = parsed.get("error", parsed.get("Error", parsed))
            return inner if isinstance(inner, dict) else {"message": inner}
    return {}


def _parsed(body: Any) -> Any:
    if isinstance(body, str | bytes):
        try:
            return json.loads(body)
        except ValueError:
            return None
    return body


def _message(error: Any, inner: Mapping[str, Any]) -> str:
    for name in ("message", "Message", "detail"):
        if isinstance(inner.get(name), str) and inner[name]:
            return str(inner[name])
    return str(getattr(error, "message", None) or error)


def _code(error: Any, inner: Mapping[str, Any]) -> str:
    found = (getattr(error, "code", None), inner.get("code"), inner.get("Code"))
    words = (getattr(error, "status", None), inner.get("status"), inner.get("type"))
    return next((word for word in (*found, *words) if isinstance(word, str) and word), "")


def _google_delay(inner: Mapping[str, Any]) -> float | None:
    """Read Gemini's `retryDelay`: it stands in the body, not in a header."""
    details = inner.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return parse_duration(detail["retryDelay"])
    return None


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
