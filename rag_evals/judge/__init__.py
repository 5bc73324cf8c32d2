"""How is a model asked? Everything that talks to an endpoint lives behind this door.

`openai` and `instructor` are imported inside functions here, and nowhere else: they cost 1.4 s.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evals.judge.ask import AsyncJudge, Judge
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
from rag_evals.judge.wait_headers import DEFAULT_MAX_WAIT_SECONDS

if TYPE_CHECKING:
    from rag_evals.judge.session import GatedJudge, SessionSettings, judge_session

_HOMES = {
    "GatedJudge": "rag_evals.judge.session",
    "SessionSettings": "rag_evals.judge.session",
    "judge_session": "rag_evals.judge.session",
}

__all__ = [
    "DEFAULT_MAX_WAIT_SECONDS",
    "DEFAULT_TIMEOUT_SECONDS",
    "AsyncJudge",
    "Client",
    "GatedJudge",
    "Judge",
    "Price",
    "SessionSettings",
    "address_of",
    "async_judge_for",
    "check_endpoint",
    "check_timeout",
    "embed_texts",
    "endpoint_of",
    "is_async",
    "judge_for",
    "judge_session",
    "model_of",
    "price_of",
    "split_spec",
]


def __getattr__(name: str) -> Any:
    """Import a name from its home when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evals.judge' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
