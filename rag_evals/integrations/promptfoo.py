"""How does a promptfoo suite use a grader? As a Python assertion, `get_assert`.

In the configuration: `type: python`, and as `value` a file with
`from rag_evals.integrations.promptfoo import get_assert`.
"""

from functools import cache
from typing import Any

from rag_evals.core import Finding
from rag_evals.integrations.rows import ToolGrader, explanation


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Grade one output.

    Args:
        output: The answer.
        context: Of promptfoo: `vars` with `question`, `context` and perhaps `reference`; `config`
            with `grader`, `judge` and `threshold`, all optional.

    Returns:
        promptfoo's grading result: `pass`, `score`, `reason`, and a part for each finding.

    Raises:
        NotScorableError: There is nothing to grade; promptfoo shows it as an error.
        GradingError: It could not be graded; as above.
    """
    config = context.get("config") or {}
    rows = _rows(config.get("grader", "faithfulness"), config.get("judge"))
    outcome = rows.score({**(context.get("vars") or {}), "answer": output})
    score = outcome.score or 0.0
    return {
        "pass": score >= config.get("threshold", 0.5),
        "score": score,
        "reason": explanation(outcome),
        "componentResults": [_part(finding) for finding in outcome.findings],
    }


# One judge and one session for all assertions of a process.
@cache
def _rows(grader: str, judge: str | None) -> ToolGrader:
    return ToolGrader(grader, judge)


def _part(finding: Finding) -> dict[str, Any]:
    passed = not finding.counts_against
    return {"pass": passed, "score": float(passed), "reason": f"{finding.label}: {finding.text}"}
