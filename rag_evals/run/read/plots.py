"""How are scores drawn? On demand, with matplotlib, which only this file imports.

Each function draws into axes that it is given, or makes a figure, and returns the axes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evals.core import phrases
from rag_evals.dataset import required_module
from rag_evals.errors import ConfigurationError
from rag_evals.run.record.reading import Record
from rag_evals.stats import Interval, calibration_error, mean_interval, wilson_interval
from rag_evals.text import shortened

_BINS = 20
_MOST_LABEL = 40
_MOST_GROUPS = 30


def plot_records(
    graders: Mapping[str, Sequence[Record]],
    groups: Mapping[str, str | None] | None = None,
    axes: Any = None,
    *,
    language: str = "en",
) -> Any:
    """Draw the scores of each grader, or the mean of each group.

    Args:
        graders: Records by grader.
        groups: The group of each row, by sample id; None draws how the scores lie.
        axes: Where to draw; None makes a figure.
        language: Of the words on the plot: `en` or `ru`.

    Raises:
        ConfigurationError: matplotlib is not installed, or there is nothing to draw.
    """
    say = phrases(language)
    scores: dict[str, list[float]] = {}
    for grader, records in graders.items():
        shown = say.named("graders", grader)
        for record in records:
            name = shown
            if groups is not None:
                name = groups.get(record["sample_id"]) or say("table.no_group")
                if len(graders) > 1:
                    name = say("plots.group_of", group=name, grader=shown)
            if record["score"] is not None:
                scores.setdefault(name, []).append(record["score"])
    if groups is None:
        return plot_distribution(scores, axes, language=language)
    means = {name: mean_interval(values) for name, values in scores.items()}
    return plot_means(means, axes, language=language)


def plot_distribution(
    scores: Mapping[str, Sequence[float]], axes: Any = None, *, language: str = "en"
) -> Any:
    """Draw a histogram of scores for each name.

    Args:
        scores: By name, each 0 to 1.
        axes: Where to draw; None makes a figure.
        language: Of the words on the plot: `en` or `ru`.

    Raises:
        ConfigurationError: matplotlib is not installed, or there is no score.
    """
    shown = {name: list(values) for name, values in scores.items() if values}
    _require_any(shown, "scores")
    axes = _axes(axes)
    edges = [number / _BINS for number in range(_BINS + 1)]
    say = phrases(language)
    labels = [
        say("plots.scores_of", grader=_label(name), count=len(values))
        for name, values in shown.items()
    ]
    axes.hist(list(shown.values()), bins=edges, label=labels)
    axes.set(xlabel=say("plots.score"), ylabel=say("plots.rows"), xlim=(0, 1))
    axes.legend()
    return axes


def plot_means(means: Mapping[str, Interval], axes: Any = None, *, language: str = "en") -> Any:
    """Draw the mean of each group, with its interval.

    Args:
        means: By group, the first on top.
        axes: Where to draw; None makes a figure.
        language: Of the words on the plot: `en` or `ru`.

    Raises:
        ConfigurationError: matplotlib is not installed, there is no group, or there are too many
            to be read.
    """
    _require_any(means, "groups with a score")
    if len(means) > _MOST_GROUPS:
        raise ConfigurationError(
            f"{len(means)} groups cannot be read in one plot; at most {_MOST_GROUPS} can"
        )
    axes = _axes(axes)
    _draw_intervals(axes, means)
    axes.set(xlabel=phrases(language)("plots.means"), xlim=(-0.02, 1.02))
    return axes


def plot_differences(
    differences: Mapping[str, Interval], axes: Any = None, *, language: str = "en"
) -> Any:
    """Draw candidate minus baseline for each grader, with its interval and a line at 0.

    Args:
        differences: By grader, the first on top.
        axes: Where to draw; None makes a figure.
        language: Of the words on the plot: `en` or `ru`.

    Raises:
        ConfigurationError: matplotlib is not installed, or there is nothing to compare.
    """
    _require_any(differences, "differences")
    axes = _axes(axes)
    axes.axvline(0, color="grey", linestyle="--")
    say = phrases(language)
    named = {say.named("graders", name): each for name, each in differences.items()}
    _draw_intervals(axes, named)
    axes.set(xlabel=say("plots.differences"))
    return axes


def plot_calibration(
    labelled: Mapping[str, tuple[Sequence[bool], Sequence[float]]],
    axes: Any = None,
    *,
    language: str = "en",
) -> Any:
    """Draw how often people call rows right, by the judge's score, in ten ranges of scores.

    Args:
        labelled: By grader, what people say and the scores, aligned.
        axes: Where to draw; None makes a figure.
        language: Of the words on the plot: `en` or `ru`.

    Raises:
        ConfigurationError: matplotlib is not installed, or no labelled row has a score.
    """
    points = {name: _calibrated(*pair) for name, pair in labelled.items() if pair[1]}
    _require_any(points, "labelled rows with a score")
    axes = _axes(axes)
    say = phrases(language)
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label=say("plots.agree"))
    for name, pairs in points.items():
        shares = [share for _, share in pairs]
        axes.errorbar(
            [score for score, _ in pairs],
            [share.estimate for share in shares],
            yerr=_whiskers(shares),
            marker="o",
            capsize=3,
            label=_label(say.named("graders", name)),
        )
    axes.set(xlabel=say("plots.score"), ylabel=say("plots.people"), xlim=(-0.02, 1.02))
    axes.set_ylim(-0.02, 1.02)
    axes.legend()
    return axes


def _calibrated(labels: Sequence[bool], scores: Sequence[float]) -> list[tuple[float, Interval]]:
    """Return the mean score of each range, and the share of right rows in it."""
    return [
        (one.mean_score, wilson_interval(round(one.true_rate * one.rows), one.rows))
        for one in calibration_error(labels, scores).bins
        if one.mean_score is not None and one.true_rate is not None
    ]


def _axes(axes: Any) -> Any:
    """Return the axes given, else those of a new figure that a notebook shows by itself."""
    if axes is not None:
        return axes
    plots = required_module("matplotlib.pyplot", "plot", "draw")
    return plots.subplots(figsize=(6.4, 3.6), layout="constrained")[1]


def _draw_intervals(axes: Any, intervals: Mapping[str, Interval]) -> None:
    places = range(len(intervals))
    axes.errorbar(
        [interval.estimate for interval in intervals.values()],
        places,
        xerr=_whiskers(list(intervals.values())),
        fmt="o",
        capsize=3,
    )
    axes.set_yticks(places, [_label(name) for name in intervals])
    axes.invert_yaxis()


def _whiskers(intervals: Sequence[Interval]) -> list[list[float]]:
    return [
        [interval.estimate - interval.low for interval in intervals],
        [interval.high - interval.estimate for interval in intervals],
    ]


def _label(name: str) -> str:
    # A dollar sign begins a formula in matplotlib; one of the data is a dollar sign.
    return shortened(name, _MOST_LABEL).replace("$", r"\$")


def _require_any(values: Mapping[str, Any], noun: str) -> None:
    if not values:
        raise ConfigurationError(f"there are no {noun} to draw")
