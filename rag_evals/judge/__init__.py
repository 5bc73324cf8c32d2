"""How is a model asked? Everything that talks to an endpoint lives behind this door.

`openai` and `instructor` are imported inside functions here, and nowhere else: they cost 1.4 s.
"""

from rag_evals.judge.ask import AsyncJudge, Judge
from rag_evals.judge.call import JudgeCall, JudgeReply, Message
from rag_evals.judge.clients import (
    Client,
    address_of,
    async_judge_for,
    endpoint_of,
    is_async,
    judge_for,
    model_of,
    split_spec,
)
from rag_evals.judge.deadline import DEFAULT_TIMEOUT_SECONDS, check_timeout
from rag_evals.judge.embeddings import embed_texts
from rag_evals.judge.endpoint import check_endpoint
from rag_evals.judge.prices import Price, price_of
from rag_evals.judge.tries import DEFAULT_MAX_WAIT_SECONDS
from rag_evals.judge.usage import Meter, Usage

__all__ = [
    "DEFAULT_MAX_WAIT_SECONDS",
    "DEFAULT_TIMEOUT_SECONDS",
    "AsyncJudge",
    "Client",
    "Judge",
    "JudgeCall",
    "JudgeReply",
    "Message",
    "Meter",
    "Price",
    "Usage",
    "address_of",
    "async_judge_for",
    "check_endpoint",
    "check_timeout",
    "embed_texts",
    "endpoint_of",
    "is_async",
    "judge_for",
    "model_of",
    "price_of",
    "split_spec",
]
