"""Run reports: a self-contained HTML page, and the same metrics as Markdown and JSON."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
