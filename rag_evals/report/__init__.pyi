# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.report.html_page import comparison_html as comparison_html
from rag_evals.report.html_page import report_html as report_html

__all__: list[str]
