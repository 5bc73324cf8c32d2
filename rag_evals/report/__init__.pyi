# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.report.failures import build_warnings as build_warnings
from rag_evals.report.failures import junit_xml as junit_xml
from rag_evals.report.failures import outcome_lines as outcome_lines
from rag_evals.report.failures import record_lines as record_lines
from rag_evals.report.html_page import comparison_html as comparison_html
from rag_evals.report.html_page import report_html as report_html
from rag_evals.report.html_page import write_private as write_private
from rag_evals.report.label_page import Labelling as Labelling
from rag_evals.report.label_page import label_html as label_html
from rag_evals.report.label_page import rows_to_label as rows_to_label
from rag_evals.report.tables import View as View
from rag_evals.report.tables import comparison_markdown as comparison_markdown
from rag_evals.report.tables import grader_numbers as grader_numbers
from rag_evals.report.tables import group_cells as group_cells
from rag_evals.report.tables import markdown_text as markdown_text
from rag_evals.report.tables import report_json as report_json
from rag_evals.report.tables import report_markdown as report_markdown

__all__: list[str]
