"""Reports of runs: a self-contained HTML page, and the same metrics as Markdown and JSON."""

from rag_evals import lazy_names

NAMES = {
    "html_page": (
        "comparison_html",
        "report_html",
    ),
}
"""The public names of this package, keyed by the module that defines them."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
