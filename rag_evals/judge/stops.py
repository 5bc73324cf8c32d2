"""Did a reply stop early? Each provider has its own place and its own word for it."""

from typing import Any

from rag_evals.errors import GradingError, JudgeOutputError, JudgeRefusedError

_TOO_LONG = frozenset("length max_tokens max_output_tokens model_context_window_exceeded".split())
_REFUSED = frozenset(
    "refusal content_filter content_filtered guardrail_intervened error_toxic safety "
    "prohibited_content blocklist recitation spii".split()
)
_PLACES = (
    ("choices", 0, "finish_reason"),  # OpenAI, and those who speak as it does; Mistral
    ("stop_reason",),  # Anthropic
    ("stopReason",),  # Bedrock
    ("candidates", 0, "finish_reason"),  # Gemini
    ("prompt_feedback", "block_reason"),
    ("incomplete_details", "reason"),  # OpenAI's Responses
    ("finish_reason",),  # Cohere
)


# Replies of SDKs that may not be installed have no type here.
def early_stop(response: Any) -> GradingError | None:
    """Say why a reply stopped before its end; None where it did not."""
    for place in _PLACES:
        # Most places are of other providers; this is asked for every reply.
        if isinstance(response, dict) and place[0] not in response:
            continue
        word = _word(response, place)
        if word in _TOO_LONG:
            return JudgeOutputError(
                "the reply was cut off at the token limit; allow more output tokens"
            )
        if word in _REFUSED or (word and place[0] == "prompt_feedback"):
            return JudgeRefusedError(f"the provider stopped the reply: {word}")
    said = _refusal(response)
    return None if said is None else JudgeRefusedError(f"the judge refused: {said}")


def _word(source: Any, place: tuple[str | int, ...]) -> str:
    for name in place:
        if isinstance(name, int):
            source = source[name] if isinstance(source, list) and len(source) > name else None
        else:
            source = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        if source is None:
            return ""
    word = getattr(source, "value", source)
    return word.lower() if isinstance(word, str) else ""


def _refusal(response: Any) -> str | None:
    """Find the words of a refusal in the parts of a reply of OpenAI's Responses."""
    output = getattr(response, "output", None)
    for item in output if isinstance(output, list) else ():
        for part in getattr(item, "content", None) or ():
            if isinstance(getattr(part, "refusal", None), str):
                return str(part.refusal)
    return None
