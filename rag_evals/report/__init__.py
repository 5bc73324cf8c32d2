"""How is a run shown? One self-contained HTML page, and the same numbers as Markdown, JSON, CSV."""

from rag_evals.report.failures import Fault, faults_of, outcome_lines, record_lines
from rag_evals.report.numbers import GraderNumbers, View, grader_numbers
from rag_evals.report.page.render import comparison_html, report_html, write_private, write_report
from rag_evals.report.sampling import rows_to_label
from rag_evals.report.tables import (
    comparison_markdown,
    group_cells,
    report_csv,
    report_json,
    report_markdown,
)

__all__ = [
    "Fault",
    "GraderNumbers",
    "View",
    "comparison_html",
    "comparison_markdown",
    "faults_of",
    "grader_numbers",
    "group_cells",
    "outcome_lines",
    "record_lines",
    "report_csv",
    "report_html",
    "report_json",
    "report_markdown",
    "rows_to_label",
    "write_private",
    "write_report",
]
