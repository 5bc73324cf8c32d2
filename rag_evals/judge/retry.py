"""When is a call made again as a whole? Only where the client under it never tries twice.

Three layers can retry: the transport (the client's SDK), the output (instructor's re-ask), and the
call. They are never multiplied: a client with retries of its own gets none from here.
"""

from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from rag_evals.errors import JudgeUnavailableError

CALL_ATTEMPTS = 5
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 8.0


def call_retrying(client: object) -> AsyncRetrying | None:
    """Make a controller for one call; it holds that call's state, so no two calls may share it.

    Args:
        client: An instructor client; its SDK says how often it retries.

    Returns:
        None when the SDK retries by itself, or does not say.
    """
    if getattr(getattr(client, "client", None), "max_retries", None) != 0:
        return None
    return AsyncRetrying(
        stop=stop_after_attempt(CALL_ATTEMPTS),
        wait=wait_random_exponential(multiplier=_FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
        retry=retry_if_exception_type(JudgeUnavailableError),
        reraise=True,
    )
