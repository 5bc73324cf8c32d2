"""Calls to model endpoints.

`openai` and `instructor` take 1.4 s to import, so functions import them only when needed.
"""

from rag_evals import lazy_names

NAMES = {
    "clients.build": ("endpoint_of", "judge_for", "model_of"),
    "clients.decisions": ("DecisionCall",),
    "clients.sdks": ("Client", "as_instructor"),
    "pace.row_time": ("DEFAULT_TIMEOUT_SECONDS",),
    "wire.ask": ("DEFAULT_REASKS", "AskOptions", "AsyncJudge", "model_in", "wanted_settings"),
}
"""The public names of this package, by the file that defines them."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
