"""How does a Mermaid flowchart become a picture? SVG, drawn when the site is built.

Mermaid's own script would be fetched from another host by every reader's browser. Read is what
the pages use: `flowchart TD`, boxes as `name[label]`, and arrows, also of several boxes by `&`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

_BOX = re.compile(r"(\w+)(?:\[(.*?)\])?")
_CHAR, _LINE, _PAD = 6.6, 16, 10
_GAP_X, _GAP_Y = 18, 38
_MAX_CHARS = 24


class Flowchart(NamedTuple):
    """Boxes and arrows of a picture.

    Attributes:
        labels: Text of each box, by its name.
        arrows: Pairs of names.
    """

    labels: Mapping[str, str]
    arrows: Sequence[tuple[str, str]]


class _Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    lines: Sequence[str]


def flowchart(source: str) -> Flowchart:
    """Read a flowchart.

    Raises:
        ValueError: It uses something that is not drawn.
    """
    kind, *lines = [line.strip() for line in source.strip().splitlines()]
    if kind != "flowchart TD":
        raise ValueError(f"{kind!r} is not drawn; only 'flowchart TD' is")
    labels: dict[str, str] = {}
    arrows: list[tuple[str, str]] = []
    for line in filter(None, lines):
        sides = [[_box(text, labels) for text in side.split(" & ")] for side in line.split(" --> ")]
        for starts, ends in pairwise(sides):
            arrows += [(start, end) for start in starts for end in ends]
    return Flowchart(labels, arrows)


def as_svg(source: str) -> str:
    """Draw a flowchart, in the colours of the page."""
    chart = flowchart(source)
    boxes = _placed(chart)
    width = max(box.x + box.width for box in boxes.values()) + 1
    height = max(box.y + box.height for box in boxes.values()) + 1
    drawn = [_arrow(boxes[start], boxes[end]) for start, end in chart.arrows]
    drawn += map(_drawn, boxes.values())
    arrows = "; ".join(f"{start} to {end}" for start, end in chart.arrows)
    return (
        f'<svg class="diagram" role="img" aria-label="Arrows: {escape(arrows)}" '
        f'viewBox="-1 -1 {width + 1:.0f} {height + 1:.0f}" '
        f'style="max-width:{width:.0f}px;width:100%" font-size="12">'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" '
        'fill="var(--md-default-fg-color--light)"/></marker></defs>'
        f"{''.join(drawn)}</svg>"
    )


# Any: what the Markdown extension gives to a fence besides its source.
def fence(source: str, *_: Any, **__: Any) -> str:
    """Draw a fenced block of a page."""
    return as_svg(source)


def _box(text: str, labels: dict[str, str]) -> str:
    found = _BOX.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not drawn; a box is name or name[label]")
    name, label = found.groups()
    if label is not None or name not in labels:
        labels[name] = label or name
    return name


def _ranks(chart: Flowchart) -> dict[str, int]:
    """Return how far down each box stands: below everything that points at it."""
    ranks = dict.fromkeys(chart.labels, 0)
    for _ in chart.labels:
        for start, end in chart.arrows:
            ranks[end] = max(ranks[end], ranks[start] + 1)
    return ranks


def _placed(chart: Flowchart) -> dict[str, _Box]:
    ranks = _ranks(chart)
    rows: dict[int, list[str]] = {}
    for name in chart.labels:
        rows.setdefault(ranks[name], []).append(name)
    texts = {name: _wrapped(label) for name, label in chart.labels.items()}
    widths = {name: max(map(len, lines)) * _CHAR + 2 * _PAD for name, lines in texts.items()}
    row_widths = {r: sum(widths[n] + _GAP_X for n in names) - _GAP_X for r, names in rows.items()}
    widest = max(row_widths.values())
    centres: dict[str, float] = {}
    boxes: dict[str, _Box] = {}
    y = 0.0
    for rank in sorted(rows):
        above = {n: [centres[a] for a, b in chart.arrows if b == n and a in centres] for n in texts}
        names = sorted(rows[rank], key=lambda name: _mean(above[name], widest / 2))
        height = max(len(texts[name]) for name in names) * _LINE + _PAD
        x = (widest - row_widths[rank]) / 2
        for name in names:
            boxes[name] = _Box(x, y, widths[name], height, texts[name])
            centres[name] = x + widths[name] / 2
            x += widths[name] + _GAP_X
        y += height + _GAP_Y
    return boxes


def _wrapped(label: str) -> list[str]:
    head, colon, rest = label.partition(": ")
    lines = [head]
    for word in rest.split() if colon else ():
        if len(lines) > 1 and len(lines[-1]) + len(word) < _MAX_CHARS:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _mean(numbers: Iterable[float], default: float) -> float:
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else default


def _arrow(start: _Box, end: _Box) -> str:
    x1, y1 = start.x + start.width / 2, start.y + start.height
    x2, y2 = end.x + end.width / 2, end.y
    middle = (y1 + y2) / 2
    return (
        f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} '
        f'{x2:.0f} {y2:.0f}" fill="none" stroke="var(--md-default-fg-color--light)" '
        'marker-end="url(#arrow)"/>'
    )


def _drawn(box: _Box) -> str:
    middle = box.x + box.width / 2
    first = box.y + box.height / 2 - (len(box.lines) - 1) * _LINE / 2 + 4
    lines = "".join(
        f'<tspan x="{middle:.0f}" y="{first + place * _LINE:.0f}" '
        f'font-weight="{400 if place else 700}">{escape(line)}</tspan>'
        for place, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" '
        'rx="4" fill="var(--md-code-bg-color)" stroke="var(--md-primary-fg-color)"/>'
        f'<text text-anchor="middle" fill="var(--md-default-fg-color)">{lines}</text>'
    )
