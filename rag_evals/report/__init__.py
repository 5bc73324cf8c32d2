"""Reports of runs: one self-contained HTML page, and the same numbers as Markdown and JSON."""

from rag_evals import lazy_names

NAMES = {
    "html_page": (
        "comparison_html",
        "report_html",
    ),
}
"""The public names of this package, by the file that defines them."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
