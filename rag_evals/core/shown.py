"""How does a result show itself? One line, some lines, or small HTML with its findings coloured."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rag_evals.core.finding import CONTRADICTED, Finding
from rag_evals.text import MOST_ITEMS, Tone, and_more, html_head, html_item, html_note, shortened


def findings_line(findings: Iterable[Finding]) -> str:
    """Count findings by their labels: "2 supported, 1 not supported"."""
    counts = Counter(finding.label for finding in findings)
    return ", ".join(f"{count} {label}" for label, count in counts.items())


def findings_lines(findings: Iterable[Finding]) -> list[str]:
    """Write a line for each finding: a sign, the text, the label, and why."""
    return [
        "  ".join(
            part
            for part in (_sign(one), shortened(one.text), f"[{_label(one)}]", _why(one))
            if part
        )
        for one in findings
    ]


def findings_html(findings: Sequence[Finding]) -> str:
    """Write findings as coloured lines; of many, those that count against the score come first.

    Args:
        findings: All of them, in order.
    """
    places = sorted(range(len(findings)), key=lambda place: not findings[place].counts_against)
    shown = [findings[place] for place in sorted(places[:MOST_ITEMS])]
    items = "".join(html_item(_tone(one), one.text, _label(one), _notes(one)) for one in shown)
    return items + html_note(and_more(len(findings), len(shown), "findings"))


def result_html(
    name: str, rest: str, findings: Sequence[Finding], warnings: Sequence[str] = ()
) -> str:
    """Write a result: what it is, its findings, its warnings.

    Args:
        name: Of its class, or of a row.
        rest: The score, and what was counted.
        findings: All of them.
        warnings: Oddities, in words.
    """
    shown = "".join(html_note(f"warning: {one}") for one in warnings[:MOST_ITEMS])
    more = html_note(and_more(len(warnings), MOST_ITEMS, "warnings"))
    return f"<div>{html_head(name, rest)}{findings_html(findings)}{shown}{more}</div>"


def _tone(finding: Finding) -> Tone:
    if finding.label == CONTRADICTED:
        return "wrong"
    if finding.verdict is None and finding.support is None:
        return "plain"
    return "bad" if finding.counts_against else "good"


def _sign(finding: Finding) -> str:
    return {"good": "+", "bad": "-", "wrong": "x", "plain": "·"}[_tone(finding)]


def _label(finding: Finding) -> str:
    if not finding.chunk_ids or finding.about == "chunk":
        return finding.label
    ids = ", ".join(map(str, finding.chunk_ids[:MOST_ITEMS]))
    noun = "chunk" if len(finding.chunk_ids) == 1 else "chunks"
    return f"{finding.label}, {noun} {ids}"


def _why(finding: Finding) -> str:
    return shortened(finding.reasoning or "")


def _notes(finding: Finding) -> list[str]:
    quotes = [f"chunk {one.chunk_id}: “{shortened(one.text, 120)}”" for one in finding.quotes[:2]]
    return [_why(finding), *quotes]
