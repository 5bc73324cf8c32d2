"""Scores are drawn when somebody asks: how they lie, by group, two runs, judge against people."""

import re
import sys
from functools import cache
from typing import Any

import pytest
from matplotlib.figure import Figure

from rag_evals import Run, agreement, compare, evaluate
from rag_evals.errors import ConfigurationError, DataError
from tests.labelled import labelled_rows


@cache
def labelled(*graders: str) -> Run:
    """Grade labelled rows."""
    return evaluate(list(labelled_rows(20)), graders or "faithfulness", client="embedded")


def axes() -> Any:
    """Make axes that no window shows."""
    return Figure().subplots()


def test_the_scores_of_a_run_are_drawn() -> None:
    """One histogram for each grader, every score in it."""
    drawn = labelled("faithfulness", "faithfulness_two_step").plot(axes=axes())

    assert [text.get_text() for text in drawn.get_legend().get_texts()] == [
        "faithfulness (n = 20)",
        "faithfulness_two_step (n = 20)",
    ]
    assert [sum(one.get_height() for one in bars) for bars in drawn.containers] == [20, 20]
    assert drawn.get_xlabel() == "score"


def test_groups_are_drawn_with_their_intervals() -> None:
    """One point for each value of a column, the first on top."""
    drawn = labelled().plot(by="topic", axes=axes())
    labels = [label.get_text() for label in drawn.get_yticklabels()]

    assert sorted(labels) == ["denied", "reworded", "right", "unsupported", "wrong year"]
    assert drawn.yaxis_inverted()
    with pytest.raises(DataError, match="no column 'topics'"):
        labelled().plot(by="topics", axes=axes())


def test_the_difference_of_two_runs_is_drawn() -> None:
    """Candidate minus baseline, beside a line at 0."""
    drawn = compare(labelled(), labelled()).plot(axes=axes())

    assert [label.get_text() for label in drawn.get_yticklabels()] == ["faithfulness"]
    assert drawn.get_xlabel() == "candidate minus baseline, 95 % interval"


def test_calibration_is_drawn_from_the_labels() -> None:
    """The share of right rows in each range of scores is that of the labelled rows."""
    run = labelled()
    drawn = agreement(run, resamples=20).plot(axes=axes())
    label = {row["id"]: row["label"] for row in labelled_rows(20)}
    shares = {
        score: [label[one.sample_id] for one in run if one.score == score]
        for score in sorted({one.score or 0.0 for one in run})
    }
    line = drawn.containers[0].lines[0]

    assert list(line.get_xdata()) == list(shares)
    assert list(line.get_ydata()) == [sum(of) / len(of) for of in shares.values()]


def test_plots_are_russian() -> None:
    """Axes, legends and graders of every plot; values of the data stay as they are."""
    run, graders = labelled(), ("faithfulness", "faithfulness_two_step")
    drawn = [
        run.plot(axes=axes(), language="ru"),
        labelled(*graders).plot(by="topic", axes=axes(), language="ru"),
        compare(run, run).plot(axes=axes(), language="ru"),
        agreement(run, resamples=20).plot(axes=axes(), language="ru"),
    ]
    seen = []
    for one in drawn:
        legend = one.get_legend()
        texts = [*one.get_yticklabels(), *([] if legend is None else legend.get_texts())]
        seen += [one.get_xlabel(), one.get_ylabel(), *(text.get_text() for text in texts)]
    topics = {word for row in labelled_rows(20) for word in row["topic"].split()}

    assert set(re.findall("[A-Za-z]+", " ".join(seen))) == topics
    for words in ("верность контексту (строк: 20)", "средняя оценка, 95 % интервал"):
        assert words in seen
    with pytest.raises(ConfigurationError, match="'de' cannot be shown; there are en, ru"):
        run.plot(language="de")


def test_names_of_the_data_are_text() -> None:
    """A dollar sign begins no formula, and a long name is cut."""
    rows = [
        {"answer": "A tower.", "context": ["A tower."], "topic": topic}
        for topic in ("$\\frac{1}$", "long " * 50)
    ]
    drawn = evaluate(rows, client="embedded", max_failures="100%").plot(by="topic", axes=axes())
    drawn.figure.canvas.draw()

    assert max(len(label.get_text()) for label in drawn.get_yticklabels()) <= 40


def test_what_cannot_be_drawn_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No score, too many groups, no matplotlib."""
    empty = evaluate([{"answer": "", "context": ["c"]}], client="embedded")
    with pytest.raises(ConfigurationError, match="there are no scores to draw"):
        empty.plot()
    rows = [{**row, "place": place} for place, row in enumerate(labelled_rows())]
    with pytest.raises(ConfigurationError, match="60 groups cannot be read in one plot; at most"):
        evaluate(rows, client="embedded").plot(by="place", axes=axes())
    # What Python does for a package that is not installed.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'rag-evals\[plot\]'"):
        labelled().plot()
