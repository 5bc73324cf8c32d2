"""Which of our errors is this failure of a client? Read from names and status codes of any SDK.

Keys are removed from what other libraries say, in errors and logs.
"""

import logging
import re
from contextvars import ContextVar

from pydantic import ValidationError

from rag_evals.errors import (
    ConfigurationError,
    EventLoopError,
    GradingError,
    JudgeOutputError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeRequestError,
    JudgeUnavailableError,
    JudgeUnreachableError,
    RagEvalsError,
)
from rag_evals.judge.pace.retry import SdkFault, beneath_litellm, distrusts, read_fault

_MAX_MESSAGE_CHARS = 300
_NO_SERVER = frozenset(
    "ConnectError ConnectTimeout ConnectTimeoutError ConnectionRefusedError ClientConnectorError "
    "EndpointConnectionError NewConnectionError".split()
)
_NO_CREDENTIALS = frozenset({"NoCredentialsError", "PartialCredentialsError", "RefreshError"})
_SERVER_HUNG_UP = frozenset({"ClientOSError", "ServerDisconnectedError", "ConnectionResetError"})
_NO_MODEL = (
    "no model named: pass model= to grade, or model= to the grader, or use a client that has one, "
    "such as instructor.from_provider('openai/gpt-4o-mini')"
)

_OTHER_LOOP = (
    "this async client was used in another event loop before, and its connections belong to that "
    "one; make a client in each loop that uses it (each asyncio.run, and each evaluate, has its "
    "own), or pass a string such as 'openai/gpt-4o-mini'"
)

_CLOSED = "this client has been closed; grade before it is closed, or make another"


def translate(error: BaseException, *, attempts: int, key: str | None = None) -> RagEvalsError:
    """Turn what a client raised into the error that says what to do.

    Args:
        error: What instructor raised; its cause is what matters.
        attempts: Replies received before it gave up.
        key: The client's own, which the message will not hold.
    """
    cause = _cause(error)
    names = {kind.__name__ for kind in type(cause).__mro__}
    if isinstance(cause, RagEvalsError):
        return cleaned(cause, key)
    if "IncompleteOutputException" in names:
        return JudgeOutputError(
            "the reply was cut off at the token limit; allow more output tokens"
        )
    if isinstance(cause, AssertionError) and "Unable to generate" in str(cause):
        return JudgeRefusedError(f"the judge refused: {_short(str(cause), key)}")
    if isinstance(cause, ValidationError):
        return JudgeOutputError(f"invalid after {attempts} attempts: {_first_fault(cause)}")
    if names & {"ResponseParsingError", "JSONDecodeError", "AsyncValidationError"}:
        return JudgeOutputError(f"invalid after {attempts} attempts: {_short(str(cause), key)}")
    # What instructor's handlers ask of a reply of Gemini or Vertex: one function call.
    if isinstance(cause, AssertionError):
        return JudgeOutputError(f"the reply is not what was asked for: {_short(str(cause), key)}")
    if isinstance(cause, TypeError) and "'model'" in str(cause):
        return ConfigurationError(_NO_MODEL)
    fault = read_fault(cause)
    if names & _NO_CREDENTIALS:
        return JudgeRejectedError(f"no key that the endpoint takes: {_short(fault.message, key)}")
    if fault.not_connected:
        return _by_connection(cause, fault, key)
    return _by_status(cause, fault, key)


def cleaned(error: RagEvalsError, key: str | None) -> RagEvalsError:
    """Take the key out of the words of an error that holds some of the endpoint's."""
    if error.args and isinstance(error.args[0], str):
        error.args = (redact(error.args[0], key), *error.args[1:])
    return error


def _by_connection(cause: BaseException, fault: SdkFault, key: str | None) -> RagEvalsError:
    reason = cause.__cause__ or cause
    if isinstance(reason, RagEvalsError):
        return cleaned(reason, key)
    if _is_about_the_loop(reason):
        return EventLoopError(_OTHER_LOOP)
    said = _short(str(reason), key)
    if isinstance(reason, RuntimeError) and "client has been closed" in said:
        return ConfigurationError(_CLOSED)
    if distrusts(reason):
        return JudgeUnreachableError(
            f"the endpoint's certificate is not trusted: {said}; SSL_CERT_FILE names a file with "
            "the certificates of those to trust"
        )
    # The aiohttp transport reports every fault of a connection as a time-out of connecting.
    names_no_server = bool({type(reason).__name__, type(cause).__name__} & _NO_SERVER)
    if names_no_server and type(reason.__cause__).__name__ not in _SERVER_HUNG_UP:
        return JudgeUnreachableError(
            f"no connection to the endpoint: {said}; check its address ({address_name.get()}) and "
            "that it runs"
        )
    if names_no_server:
        return JudgeUnavailableError(f"the connection broke, after all retries: {said}")
    if fault.timed_out:
        return JudgeUnavailableError("no reply within the time-out, after all retries")
    return JudgeUnavailableError(f"the connection broke, after all retries: {said}")


def _is_about_the_loop(reason: BaseException | None) -> bool:
    """Say whether connections of one event loop were used in another."""
    while reason is not None:
        words = ("Event loop is closed", "different loop", "different event loop")
        if isinstance(reason, RuntimeError) and any(word in str(reason) for word in words):
            return True
        reason = reason.__cause__ or reason.__context__
    return False


def _by_status(cause: BaseException, fault: SdkFault, key: str | None) -> GradingError:
    status = fault.status
    message = _short(fault.message, key)
    if status is None:
        return GradingError(f"{type(cause).__name__}: {message}")
    said = f"HTTP {status}: {message}"
    if status in (401, 403) or (status == 400 and _is_about_the_key(fault)):
        return JudgeRejectedError(f"the endpoint refuses the key or its rights ({said})")
    if status in (404, 405, 410, 501) or (status in (400, 422) and _is_about_the_model(fault)):
        return JudgeRejectedError(f"the endpoint does not know this model or path ({said})")
    if status == 402 or (status == 429 and "insufficient_quota" in fault.code + message):
        return JudgeRejectedError(f"the account has no quota left ({said})")
    if status in (408, 409, 429) or status >= 500:
        error = JudgeUnavailableError(f"still failing after all retries ({said})")
        error.status = status
        error.retry_after_seconds = fault.wait_seconds
        return error
    if status in (400, 422) and _is_about_every_call(fault):
        return JudgeRejectedError(f"the endpoint refuses this kind of request ({said})")
    return JudgeRequestError(f"the endpoint refuses this request ({said})")


def _is_about_the_key(fault: SdkFault) -> bool:
    """Say whether a 400 is Gemini's word for a key that is none, or Bedrock's for an old one."""
    words = ("api key not valid", "api_key_invalid", "api key expired", "security token")
    return any(word in fault.message.lower() for word in words)


def _is_about_the_model(fault: SdkFault) -> bool:
    """Say whether a 400 is Mistral's or Bedrock's word for a model that does not exist."""
    said = fault.message.lower()
    return fault.code in ("invalid_model", "model_not_found") or any(
        word in said for word in ("invalid model", "model identifier is invalid", "unknown model")
    )


def _is_about_every_call(fault: SdkFault) -> bool:
    """Say whether a 400 speaks of the schema, the tools or a setting, which every row shares."""
    shared = ("response_format", "tools", "tool_choice", "temperature", "max_tokens", "model")
    return fault.parameter.startswith(shared) or "schema" in fault.message.lower()


def _cause(error: BaseException) -> BaseException:
    """Unwrap instructor's and tenacity's envelopes; what they hold was raised `from` its cause."""
    while type(error).__name__ in ("InstructorRetryException", "RetryError") and error.__cause__:
        error = error.__cause__
    return beneath_litellm(error)


def _first_fault(error: ValidationError) -> str:
    """Say where and what, without the input: it may quote the user's data."""
    faults = error.errors(include_input=False, include_url=False)
    place = ".".join(str(part) for part in faults[0]["loc"]) or "reply"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{place}: {faults[0]['msg']}{more}"


def _short(message: str, key: str | None) -> str:
    line = " ".join(redact(message, key).split())
    return line if len(line) <= _MAX_MESSAGE_CHARS else line[: _MAX_MESSAGE_CHARS - 1] + "…"


# A shorter one is a stand-in for a server without keys ("k", "none"), and stands inside words.
_KEY_CHARS = 8
_SECRETS = re.compile(r"\b(?:sk|pk|rk|gsk|key)-[\w*.-]{3,}|(?i:bearer)\s+\S+|\bAIza[\w-]{10,}")


def redact(text: str, *secrets: str | None) -> str:
    """Replace what looks like a key, and every secret that is known.

    Args:
        text: A provider's error message, or a log line.
        secrets: Values that must not occur whatever they look like; None is skipped.
    """
    for secret in secrets:
        if secret and len(secret) >= _KEY_CHARS:
            text = text.replace(secret, "[key]")
        elif secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "[key]", text)
    return _SECRETS.sub("[key]", text)


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = redact(record.getMessage())
        record.args = ()
        return True


def clean_instructor_logs() -> None:
    """Keep instructor's error lines off the screen, and keys out of them where someone listens.

    It logs every failed attempt as an error, with the provider's message in full; each failure
    reaches the caller as one of our errors anyway.
    """
    listener = logging.getLogger("instructor")
    if any(isinstance(handler, logging.NullHandler) for handler in listener.handlers):
        return
    listener.addHandler(logging.NullHandler())
    for name in ("instructor", "instructor.v2", "instructor.v2.retry"):
        logging.getLogger(name).addFilter(_Redacting())


OF_A_CLIENT = "base_url of the client"

address_name: ContextVar[str] = ContextVar("address_name", default=OF_A_CLIENT)
"""Of the call that is being made, in this thread or task: a variable, or where else it stands."""
