"""How is a model asked? Everything that talks to an endpoint lives behind this door.

`openai` and `instructor` are imported inside functions here, and nowhere else: they cost 1.4 s.
"""

from rag_evals.judge.ask import AsyncJudge, Judge
from rag_evals.judge.call import JudgeCall, JudgeReply, Message
from rag_evals.judge.clients import (
    Client,
    async_judge_for,
    async_judge_session,
    is_async,
    judge_for,
)
from rag_evals.judge.usage import Meter, Usage

__all__ = [
    "AsyncJudge",
    "Client",
    "Judge",
    "JudgeCall",
    "JudgeReply",
    "Message",
    "Meter",
    "Usage",
    "async_judge_for",
    "async_judge_session",
    "is_async",
    "judge_for",
]
