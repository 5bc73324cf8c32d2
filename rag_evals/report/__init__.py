"""How is a run shown? One self-contained HTML page, and the same numbers as Markdown and JSON."""

from rag_evals import lazy_names

NAMES = {
    "failures": ("build_warnings", "junit_xml", "outcome_lines", "record_lines"),
    "html_page": (
        "comparison_html",
        "report_html",
        "write_private",
    ),
    "label_page": ("Labelling", "label_html", "rows_to_label"),
    "tables": (
        "View",
        "comparison_markdown",
        "grader_numbers",
        "group_cells",
        "report_json",
        "markdown_text",
        "report_markdown",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
