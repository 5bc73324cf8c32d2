"""Does a stored outcome have verdicts that people can agree with?"""

from rag_evals.run import Record, findings_in


def has_verdicts(record: Record) -> bool:
    """Say whether an outcome has anything that people can agree with or not."""
    return any(finding.verdict is not None for finding in findings_in(record))
