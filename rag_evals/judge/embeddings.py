"""How are texts turned into vectors? One batched request of an OpenAI-compatible endpoint."""

from collections.abc import Sequence
from typing import Any

from rag_evals.errors import JudgeOutputError
from rag_evals.judge.clients import judge_for
from rag_evals.judge.failures import translate
from rag_evals.judge.providers import read_endpoint

_TEXTS_A_REQUEST = 256


def embed_texts(spec: str, texts: Sequence[str]) -> list[list[float]]:
    """Ask `/v1/embeddings` through the same client that judges are asked with.

    Args:
        spec: Such as `openai/text-embedding-3-small`.
        texts: Any number; they are sent in batches.

    Returns:
        One vector for each text, in order.

    Raises:
        GradingError: The endpoint does not answer, refuses, or returns another number of vectors.
    """
    model = read_endpoint(spec).model
    sdk = judge_for(spec).sdk
    vectors: list[list[float]] = []
    for first in range(0, len(texts), _TEXTS_A_REQUEST):
        batch = list(texts[first : first + _TEXTS_A_REQUEST])
        vectors += _embed_batch(sdk, model, batch)
    return vectors


def _embed_batch(sdk: Any, model: str, batch: list[str]) -> list[list[float]]:
    import openai  # noqa: PLC0415 - 1.4 s of CPU

    try:
        # As numbers: the library's own default, packed text, is not spoken by every server.
        reply = sdk.embeddings.create(model=model, input=batch, encoding_format="float")
    except openai.OpenAIError as error:
        # Not `from error`: it may hold the request.
        raise translate(error, attempts=1, key=sdk.api_key) from None
    found = sorted(reply.data, key=lambda one: one.index)
    if len(found) != len(batch):
        raise JudgeOutputError(f"the endpoint returned {len(found)} vectors for {len(batch)} texts")
    return [list(one.embedding) for one in found]
