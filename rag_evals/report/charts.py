"""Small charts as inline SVG, coloured by the page's CSS classes."""

import json
from collections.abc import Mapping, Sequence
from html import escape

from rag_evals.report.tables import View
from rag_evals.run import GraderSummary
from rag_evals.stats import Interval, band_of
from rag_evals.stats.intervals import equal_values

_WIDTH, _HEIGHT = 300, 96
_BINS = 10


def histogram(counted: GraderSummary, view: View) -> str:
    """Draw the number of rows in ten score ranges; the last includes 1.0."""
    counts = [0] * _BINS
    for score, times in equal_values(counted.scores):
        counts[min(int(score * _BINS + 1e-9), _BINS - 1)] += times
    order, say = [band.name for band in view.bands], view.say
    bars = []
    for place, count in enumerate(counts):
        low, high = place / _BINS, (place + 1) / _BINS
        band = order.index(band_of(low, bands=view.bands).name)
        ends = {"low": say.number(low, 1), "high": say.number(high, 1)}
        chosen = {"grader": counted.grader, "low": low, "high": high}
        bars.append((say("page.bar", count=count, **ends), count, f"band{min(band, 3)}", chosen))
    labels = ["0", "", "", "", "", say.number(0.5, 1), "", "", "", "1"]
    return _bars(bars, labels, say("page.by_score_chart"))


def interval_bar(interval: Interval, view: View) -> str:
    ticks = "".join(
        f'<line class="tick" x1="{_x(band.lower)}" x2="{_x(band.lower)}" y1="4" y2="20"/>'
        for band in view.bands
        if band.lower
    )
    words = view.say(
        "page.interval_chart",
        mean=view.number(interval.estimate),
        low=view.number(interval.low),
        high=view.number(interval.high),
    )
    return (
        f'<svg class="chart line" viewBox="0 0 {_WIDTH} 24" role="img" aria-label="{words}">'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="12" y2="12"/>{ticks}'
        f'<rect class="range" x="{_x(interval.low)}" width="{_x(interval.width)}" y="7" '
        f'height="10" rx="3"/><circle class="mean" cx="{_x(interval.estimate)}" cy="12" r="6"/>'
        "</svg>"
    )


def _bars(
    bars: Sequence[tuple[str, float, str, Mapping[str, object]]],
    labels: Sequence[str],
    title: str,
) -> str:
    top = max((value for _, value, *_ in bars), default=0) or 1
    step = _WIDTH / max(len(bars), 1)
    drawn = []
    for place, ((words, value, name, chosen), label) in enumerate(zip(bars, labels, strict=True)):
        # Even a bar for one row among thousands must be visible.
        height = max(value / top * (_HEIGHT - 24), 2.0) if value else 0.0
        drawn.append(
            f'<g role="button" tabindex="0" aria-label="{escape(words)}" '
            f'data-words="{escape(words)}" data-narrow="{escape(json.dumps(chosen))}">'
            f'<rect class="{name}" x="{place * step + 2:.1f}" width="{step - 4:.1f}" '
            f'y="{_HEIGHT - 16 - height:.1f}" height="{height:.1f}" rx="2">'
            f"<title>{escape(words)}</title></rect>"
            f'<text x="{(place + 0.5) * step:.1f}" y="{_HEIGHT - 4}">{escape(label)}</text></g>'
        )
    said = escape(f"{title}: " + "; ".join(words for words, value, *_ in bars if value))
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="{said}">'
        f"{''.join(drawn)}</svg>"
    )


def _x(share: float) -> str:
    return f"{share * _WIDTH:.1f}"
