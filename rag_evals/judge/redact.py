"""Is there a key in this text? Keys are removed from errors and logs of other libraries."""

import logging
import re

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
