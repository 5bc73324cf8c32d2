"""How many tokens did a reply cost, and how likely were they? From the provider's reply object."""

from typing import Any

from rag_evals.core import TextReply, Usage


def _paths(*written: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split(".")) for path in written)


# What each provider calls it; a dot leads into an object or a dictionary.
_SENT = _paths(
    "usage.prompt_tokens",  # OpenAI, and those who speak as it does; Mistral; LiteLLM
    "usage.input_tokens",  # Anthropic; OpenAI's Responses
    "usage_metadata.prompt_token_count",  # Gemini
    "usage.inputTokens",  # Bedrock
    "usage.tokens.input_tokens",  # Cohere
    "meta.tokens.input_tokens",  # Cohere's first interface
)
_RECEIVED = _paths(
    "usage.completion_tokens",
    "usage.output_tokens",
    "usage_metadata.candidates_token_count",
    "usage.outputTokens",
    "usage.tokens.output_tokens",
    "meta.tokens.output_tokens",
)
_CACHED = _paths(
    "usage.prompt_tokens_details.cached_tokens",
    "usage.input_tokens_details.cached_tokens",
    "usage.cache_read_input_tokens",
    "usage_metadata.cached_content_token_count",
    "usage.cacheReadInputTokens",
)
# Sent as well, and not within what the provider calls its input.
_SENT_BESIDE = _paths(
    "usage.cache_read_input_tokens",
    "usage.cache_creation_input_tokens",
    "usage.cacheReadInputTokens",
    "usage.cacheWriteInputTokens",
)
# No reply has so many tokens; infinity is above it, and what is no number is not below it.
_NO_COUNT = 2**53
_THOUGHTS = ("usage_metadata", "thoughts_token_count")


def usage_of(completion: object) -> Usage:
    """Read the tokens of one reply.

    Args:
        completion: The provider's reply, an object or a dictionary, with or without token counts.
    """
    sent, received = _first(completion, _SENT), _first(completion, _RECEIVED)
    thoughts = _count(completion, _THOUGHTS) or 0
    # LiteLLM repeats Anthropic's counts beside an OpenAI-like sum that holds them.
    is_sum = _count(completion, _SENT[0]) is not None
    beside = 0 if is_sum else sum(_count(completion, path) or 0 for path in _SENT_BESIDE)
    return Usage(
        calls=1,
        prompt_tokens=(sent or 0) + beside,
        completion_tokens=(received or 0) + thoughts,
        cached_tokens=_first(completion, _CACHED) or 0,
        uncounted=int(sent is None and received is None),
    )


def _first(completion: object, paths: tuple[tuple[str, ...], ...]) -> int | None:
    found = (_count(completion, path) for path in paths)
    return next((count for count in found if count is not None), None)


# Replies of SDKs that may not be installed have no type here.
def _count(source: Any, path: tuple[str, ...]) -> int | None:
    for name in path:
        source = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        if source is None:
            return None
    # Cohere counts in floats. A count below zero, or without an end, is none.
    is_number = isinstance(source, int | float) and not isinstance(source, bool)
    return int(source) if is_number and 0 <= source < _NO_COUNT else None


def text_reply(completion: Any) -> TextReply:
    """Read the text of one reply, and the tokens that could have stood in it.

    Args:
        completion: A chat completion of OpenAI's kind, with or without `logprobs`.
    """
    choice = completion.choices[0]
    logprobs = getattr(choice, "logprobs", None)
    return TextReply(
        text=choice.message.content or "",
        alternatives=[
            [(one.token, one.logprob) for one in place.top_logprobs or [place]]
            for place in getattr(logprobs, "content", None) or []
        ],
    )
