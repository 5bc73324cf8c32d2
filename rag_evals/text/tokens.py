"""How many tokens has a text? Counted by tiktoken if installed, else estimated."""

from collections.abc import Callable

_CHARACTERS_PER_TOKEN = 4


def token_counter(model: str | None = None) -> tuple[Callable[[str], int], str]:
    """Choose how tokens are counted.

    Args:
        model: Whose tokens; None takes those of `gpt-4o`.

    Returns:
        The counter, and in words what it rests on: tiktoken where it is installed and knows the
        model, else an estimate.
    """
    try:
        import tiktoken  # noqa: PLC0415 - optional, and reads files when it is loaded

        encoding = tiktoken.encoding_for_model(model or "gpt-4o")
    # It raises KeyError for an unknown model, and requests' errors when it cannot load its tables.
    except (ImportError, KeyError, OSError):
        return lambda text: len(text) // _CHARACTERS_PER_TOKEN, "estimated, 4 characters a token"
    return lambda text: len(encoding.encode(text, disallowed_special=())), "counted by tiktoken"
