"""Analysis of runs: comparison, agreement with labels, correction, tuning, teaching, attacks."""

from rag_evals.analysis.agreement import agreement
from rag_evals.analysis.attack import AttackReport, attack
from rag_evals.analysis.comparing import Comparison, compare
from rag_evals.analysis.exam import ExamPair, ExamReport, exam, exam_numbers, exam_pairs
from rag_evals.analysis.labels import RunInput
from rag_evals.analysis.teaching import (
    Lesson,
    Receipt,
    SuspiciousLabel,
    Teaching,
    prepare_teaching,
    suspicious_labels,
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
