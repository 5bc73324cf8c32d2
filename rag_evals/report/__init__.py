"""How is a run shown? One self-contained HTML page, and the same numbers as Markdown, JSON, CSV."""

from rag_evals import lazy_names

NAMES = {
    "build": ("build_warnings", "junit_xml"),
    "failures": ("Fault", "faults_of", "outcome_lines", "record_lines"),
    "numbers": ("GraderNumbers", "View", "grader_numbers"),
    "page.render": ("comparison_html", "report_html", "write_private", "write_report"),
    "sampling": ("rows_to_label",),
    "tables": (
        "comparison_markdown",
        "group_cells",
        "report_csv",
        "report_json",
        "report_markdown",
    ),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
