"""Run analysis: comparison, agreement, bias correction, tuning, teaching, exams, attacks."""

from rag_evals.analysis.agreement import agreement
from rag_evals.analysis.comparing import Comparison, compare
from rag_evals.analysis.labels import RunInput
from rag_evals.analysis.teaching import (
    Lesson,
    Receipt,
    SuspiciousLabel,
    Teaching,
    prepare_teaching,
    suspicious_labels,
)
from rag_evals.analysis.trials import (
    AttackReport,
    ExamPair,
    ExamReport,
    attack,
    exam,
    exam_numbers,
    exam_pairs,
)

__all__ = [
    "AttackReport",
    "Comparison",
    "ExamPair",
    "ExamReport",
    "Lesson",
    "Receipt",
    "RunInput",
    "SuspiciousLabel",
    "Teaching",
    "agreement",
    "attack",
    "compare",
    "exam",
    "exam_numbers",
    "exam_pairs",
    "prepare_teaching",
    "suspicious_labels",
]
