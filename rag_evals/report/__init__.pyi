# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.report.html_page import comparison_html as comparison_html
from rag_evals.report.html_page import report_html as report_html

__all__: list[str]
