"""How is a model asked? Everything that talks to an endpoint lives behind this door.

`openai` and `instructor` are imported inside functions here, and nowhere else: they cost 1.4 s.
"""

from rag_evals import lazy_names

NAMES = {
    "ask": (
        "DEFAULT_OPTIONS",
        "DEFAULT_REASKS",
        "AskOptions",
        "AsyncJudge",
        "Judge",
        "model_in",
    ),
    "batches": (
        "ENDED",
        "BatchApi",
        "BatchHost",
        "BatchState",
        "BatchResult",
        "batch_host",
        "batch_price_share",
        "open_batch_api",
        "read_result",
    ),
    "call_settings": ("wanted_settings",),
    "clients": (
        "Client",
        "address_of",
        "async_judge_for",
        "endpoint_of",
        "is_async",
        "judge_for",
        "model_of",
    ),
    "decisions": ("DecisionAnswer", "DecisionCall", "Question", "most_options"),
    "deadline": ("DEFAULT_TIMEOUT_SECONDS", "check_timeout"),
    "embeddings": ("embed_texts",),
    "endpoint": ("check_endpoint",),
    "own_settings": ("client_settings",),
    "providers": ("PROVIDERS", "read_endpoint"),
    "raw_clients": ("as_instructor",),
    "prices": ("Price", "price_of"),
    "replay": ("ArrivedReplies", "Attempt", "ReplayedJudge", "replayed_judge"),
    "repeated": ("AsyncRepeatedJudge", "RepeatedJudge"),
    "session": ("LimitedJudge", "SessionSettings", "judge_session"),
    "wait_headers": ("DEFAULT_MAX_WAIT_SECONDS",),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
