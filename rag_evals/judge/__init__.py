"""How is a model asked? Everything that talks to an endpoint lives behind this door.

`openai` and `instructor` are imported inside functions here, and nowhere else: they cost 1.4 s.
"""

from rag_evals import lazy_names

NAMES = {
    "batches": (
        "BatchApi",
        "BatchHost",
        "BatchResult",
        "BatchState",
    ),
    "clients.build": (
        "address_of",
        "async_judge_for",
        "check_endpoint",
        "embed_texts",
        "endpoint_of",
        "judge_for",
        "model_of",
    ),
    "clients.decisions": ("MOST_OPTIONS", "DecisionAnswer", "DecisionCall", "Question"),
    "clients.sdks": ("Client", "as_instructor", "is_async"),
    "clients.strings": ("Price", "price_of", "read_endpoint"),
    "pace.retry": (
        "DEFAULT_MAX_WAIT_SECONDS",
        "DEFAULT_TIMEOUT_SECONDS",
        "seconds_before_poll",
    ),
    "session": ("JudgePipeline", "ReplyStore", "SessionSettings", "batch_session", "judge_session"),
    "wire.ask": (
        "DEFAULT_REASKS",
        "AskOptions",
        "AsyncJudge",
        "Judge",
        "check_timeout",
        "client_settings",
        "model_in",
        "wanted_settings",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
