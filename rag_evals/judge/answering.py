"""Which model answered? What the reply says, because providers move names to other models."""

from typing import Any

from rag_evals.text import shortened

_LONGEST_NAME = 200


def answering_model(completion: object) -> str | None:
    """Return the model that a reply says it is from; None where it does not say.

    Providers move a name such as `gpt-4o-mini` to another model, and their replies name the new one
    (OpenAI `gpt-4o-mini-2024-07-18`). With it the fingerprint of the provider's system, if any.
    """
    model = _word(completion, "model") or _word(completion, "model_version")
    if model is None:
        return None
    system = _word(completion, "system_fingerprint")
    return model if system is None else f"{model} {system}"


def _word(completion: Any, name: str) -> str | None:
    said = completion.get(name) if isinstance(completion, dict) else getattr(completion, name, None)
    return shortened(said, _LONGEST_NAME) if isinstance(said, str) and said.strip() else None
