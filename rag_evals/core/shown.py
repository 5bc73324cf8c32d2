"""How does a result show itself? One line, some lines, or small HTML with its findings coloured."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from rag_evals.core.finding import CONTRADICTED, Finding
from rag_evals.core.phrases import Phrases, notebook_phrases, phrases
from rag_evals.text import MOST_ITEMS, html_head, html_note, html_text, shortened

_Tone = Literal["good", "bad", "wrong", "plain"]
# Nearly transparent: the text stays readable on a light and on a dark page.
_COLOURS: dict[_Tone, str] = {
    "good": "46,160,67",
    "bad": "229,83,75",
    "wrong": "163,59,176",
    "plain": "128,128,128",
}


def findings_line(findings: Iterable[Finding], say: Phrases | None = None) -> str:
    """Count findings by their labels: "2 supported, 1 not supported"."""
    say = say or phrases()
    counts = Counter(finding.label for finding in findings)
    return ", ".join(
        say("notebook.counted", count=count, label=say.label(label))
        for label, count in counts.items()
    )


def findings_lines(findings: Iterable[Finding]) -> list[str]:
    """Write a line for each finding: a sign, the text, the label, and why."""
    return [
        "  ".join(
            part
            for part in (_sign(one), shortened(one.text), f"[{_label(one, phrases())}]", _why(one))
            if part
        )
        for one in findings
    ]


def _findings_html(findings: Sequence[Finding]) -> str:
    """Write findings as coloured lines; of many, those that count against the score come first.

    Args:
        findings: All of them, in order.
    """
    places = sorted(range(len(findings)), key=lambda place: not findings[place].counts_against)
    shown = [findings[place] for place in sorted(places[:MOST_ITEMS])]
    say = notebook_phrases()
    items = "".join(
        _item_html(_tone(one), say.text(one.text), _label(one, say), _notes(one, say))
        for one in shown
    )
    return items + html_note(more_said("findings", len(findings), len(shown), say))


def more_said(what: str, total: int, shown: int, say: Phrases) -> str:
    """Say how many are not shown; nothing where all are.

    Args:
        what: Which phrase of notebooks says it.
        total: All of them.
        shown: Those that are shown.
        say: In which language.
    """
    return say(f"notebook.more_{what}", count=say.whole(total - shown)) if total > shown else ""


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
    say = notebook_phrases()
    shown = "".join(html_note(say("notebook.warning", text=one)) for one in warnings[:MOST_ITEMS])
    more = html_note(more_said("warnings", len(warnings), MOST_ITEMS, say))
    return f"<div>{html_head(name, rest)}{_findings_html(findings)}{shown}{more}</div>"


def _item_html(tone: _Tone, text: str, label: str, notes: Iterable[str]) -> str:
    """Write one coloured line with its label, and notes below it; all are plain text."""
    colour = _COLOURS[tone]
    below = "".join(f"<br><small>{html_text(note)}</small>" for note in notes if note)
    return (
        f'<div style="margin:2px 0;padding:1px 8px;border-left:4px solid rgb({colour});'
        f'background:rgba({colour},.15)">{html_text(text)} <small><b>{html_text(label)}</b>'
        f"</small>{below}</div>"
    )


def _tone(finding: Finding) -> _Tone:
    if finding.label == CONTRADICTED:
        return "wrong"
    if finding.verdict is None and finding.support is None:
        return "plain"
    return "bad" if finding.counts_against else "good"


def _sign(finding: Finding) -> str:
    return {"good": "+", "bad": "-", "wrong": "x", "plain": "·"}[_tone(finding)]


def _label(finding: Finding, say: Phrases) -> str:
    label = say.label(finding.label)
    if not finding.chunk_ids or finding.about == "chunk":
        return label
    ids = ", ".join(map(str, finding.chunk_ids[:MOST_ITEMS]))
    one = len(finding.chunk_ids) == 1
    chunks = say("items.chunk", id=ids) if one else say("notebook.chunks", ids=ids)
    return say("notebook.label", label=label, chunks=chunks)


def _why(finding: Finding) -> str:
    return shortened(finding.reasoning or "")


def _notes(finding: Finding, say: Phrases) -> list[str]:
    quotes = [
        say("notebook.quote", id=one.chunk_id, text=shortened(one.text, 120))
        for one in finding.quotes[:2]
    ]
    return [_why(finding), *quotes]
