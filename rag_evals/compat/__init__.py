"""How does a script for another tool run here? `compat.ragas` and `compat.deepeval` have its names.

Each warning names our own spelling; what has no counterpart is refused with what to use instead.
"""

from rag_evals.compat.spelling import CompatWarning

__all__ = ["CompatWarning"]
