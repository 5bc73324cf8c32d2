"""How many tokens did a reply cost? Read from the provider's reply object."""

from rag_evals.core import Usage


def usage_of(completion: object) -> Usage:
    """Read the tokens of one reply; OpenAI's and Anthropic's names are known.

    Args:
        completion: The provider's reply object, with or without `usage`.
    """
    usage = getattr(completion, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        calls=1,
        prompt_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        completion_tokens=_count(usage, "completion_tokens", "output_tokens"),
        cached_tokens=_count(details, "cached_tokens") or _count(usage, "cache_read_input_tokens"),
    )


def _count(source: object, *names: str) -> int:
    for name in names:
        value = getattr(source, name, None)
        if isinstance(value, int):
            return value
    return 0
