"""Whom does a ragas script ask? Its ways to name a model become judge strings or clients."""

from typing import Any

from rag_evals.compat.judges import JudgeChoice, judge_of
from rag_evals.compat.spelling import check_arguments, say

__all__ = ["LangchainLLMWrapper", "llm_factory"]


def llm_factory(
    model: str, provider: str = "openai", client: Any = None, **others: Any
) -> JudgeChoice:
    """Name a judge by model and provider, or by model and client.

    Raises:
        ConfigurationError: An argument has no counterpart.
    """
    check_arguments("llm_factory", others, idle=frozenset({"adapter", "cache", "run_config"}))
    chosen = JudgeChoice(f"{provider}/{model}") if client is None else JudgeChoice(client, model)
    say(f"llm_factory({model!r}, ...) is the judge {chosen.spelled()}")
    return chosen


def LangchainLLMWrapper(langchain_llm: Any, run_config: None = None) -> JudgeChoice:  # noqa: N802 - ragas' name
    """Name the judge that a chat model of LangChain holds."""
    del run_config
    return judge_of(langchain_llm, "llm")
