"""The grader base class, the drivers that run graders, and two-step grading."""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
