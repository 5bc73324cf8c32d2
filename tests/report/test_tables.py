"""Markdown, JSON and CSV of a run: the same numbers for pages and programs."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rag_evals import write_report
from rag_evals.analysis import compare
from rag_evals.core import Finding
from rag_evals.errors import ConfigurationError
from rag_evals.report import report_html
from rag_evals.report.label_page import (
    RowToLabel,
    _doubts,
    _every_kth,
    _wrong,
    rows_to_label,
)
from rag_evals.report.tables import View, comparison_markdown, grader_numbers, report_markdown
from rag_evals.report.terminal import show_json
from rag_evals.run import Run
from rag_evals.verify import Confidence
from tests.analysis.runs import record, scores_run, statements_run
from tests.report.pages import stored


def test_markdown_has_the_numbers_and_the_rows_that_need_a_look() -> None:
    """Mean, interval, reasons, bands, groups; failed rows first, then the lowest scores."""
    text = report_markdown(stored(), view=View(by="topic"))

    assert "| faithfulness | 0.667 (66.7%; 0.444 with failed rows as 0) | 0." in text
    assert "2 of 4 | 1 JudgeOutputError, 1 empty\\_context" in text
    assert "faithfulness by topic:" in text
    assert "| towers | 0.333 |" in text
    assert text.index("| lost |") < text.index(
        "| eiffel | faithfulness | 0.33 | contradicted: It was completed"
    )


def test_a_group_tells_its_rows_without_a_score_and_its_clusters() -> None:
    """Two of three rows are scored; rows of one document count less than rows of many."""
    scores = {"a": 1.0, "b": 0.0, "c": None} | {f"r{n}": float(n % 2) for n in range(40)}
    columns = {
        name: {"topic": "x" if name in "abc" else "y", "doc": ord(name[0])} for name in scores
    }
    run = scores_run(scores, columns=columns)
    for name, row in columns.items():
        row["doc"] = int(name[1:]) // 2 % 2 if name.startswith("r") else name
    found = {
        cluster: grader_numbers(run, View(by="topic", cluster=cluster))[0].groups
        for cluster in (None, "doc")
    }

    assert [(one.scored, one.rows) for one in found[None]] == [(2, 3), (40, 40)]
    assert "| x | 0.500 | " in report_markdown(run, view=View(by="topic"))
    assert " | 2 of 3 | 1 empty\\_context |" in report_markdown(run, view=View(by="topic"))
    alone, clustered = found[None][1].mean, found["doc"][1].mean
    assert alone is not None
    assert clustered is not None
    assert clustered.width > alone.width


def test_markdown_obeys_no_data() -> None:
    """Pipes, links, mentions, HTML and headings in data are text."""
    name = "a|b <img src=x> @user [x](https://e.x) # `c`\n# d"
    text = report_markdown(Run([record(0, name, 0.5)]))

    assert (
        "a\\|b &lt;img src=x&gt; @\u200buser \\[x\\](https:\u200b//e.x) \\# \\`c\\` \\# d" in text
    )
    assert "<img" not in text


def test_json_has_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """One object; no number is NaN."""
    show_json(stored(), view=View(by="topic"))
    told = json.loads(capsys.readouterr().out)
    grader = told["graders"]["faithfulness"]

    assert grader["failed"] == {"JudgeOutputError": 1}
    assert grader["worst_mean"] == pytest.approx(4 / 9)
    assert grader["groups"][0]["group"] == "towers"
    assert told["usage"]["calls"] >= 0
    assert told["judge"] == "embedded"


def test_a_comparison_in_markdown_says_what_could_have_been_seen() -> None:
    """Not distinguishable is not the same as equal."""
    one, other = scores_run([1.0, 0.5, 0.2, 0.4]), scores_run([0.9, 0.7, 0.1, 0.4])
    text = comparison_markdown(compare(one, other))

    assert "| not distinguishable | 4 |" in text
    assert "Minimum detectable effect: 0." in text
    assert "(80 % power)." in text


def test_the_sample_to_label_is_the_same_for_the_same_seed_and_has_every_part() -> None:
    """Low, middle and high scores are there in their shares; other seeds draw other rows."""
    rows = {f"r{n}": [("a", n % 4 > 0), ("b", n % 4 > 1), ("c", n % 4 > 2)] for n in range(200)}
    run = statements_run(rows)
    first, again = rows_to_label(run, 120, seed=1), rows_to_label(run, 120, seed=1)
    scores = {r["sample_id"]: r["score"] for r in run.records}

    assert first == again
    assert first != rows_to_label(run, 120, seed=2)
    assert len(set(first)) == 40
    assert Counter(scores[name] for name, *_ in first) == {0.0: 10, 1 / 3: 10, 2 / 3: 10, 1.0: 10}
    assert len(rows_to_label(run, 600)) == 200
    assert rows_to_label(scores_run([1.0]), 5) == []
    # Decisions are counted, not rows; one row is always drawn.
    assert [len(rows_to_label(run, most)) for most in (50, 3, 1)] == [16, 1, 1]


def test_every_row_has_the_same_chance_to_be_labelled() -> None:
    """Over many seeds each row is drawn about equally often, rare scores too."""
    rows = {f"r{n}": [("a", n != 3)] for n in range(20)}
    run = statements_run(rows)
    drawn = Counter(name for seed in range(600) for name, *_ in rows_to_label(run, 5, seed=seed))

    # 600 draws of 5 in 20 rows: 150 each, standard deviation about 11.
    assert all(105 < drawn[name] < 195 for name in rows)


def test_a_report_is_private_and_made_where_it_is_wanted(tmp_path: Path) -> None:
    """Only the owner can read it; a run in memory needs a path; an impossible one is an error."""
    written = write_report(stored(), tmp_path / "new" / "r.html", bands=View().bands)

    assert written.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigurationError, match="give the path of the report"):
        write_report(stored())
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_report(stored(), tmp_path)


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    """Byte for byte, so that a report can be compared and cached."""
    one = write_report(stored(), tmp_path / "one.html").read_bytes()

    assert one == write_report(stored(), tmp_path / "two.html").read_bytes()


def test_a_page_says_of_relevance_nothing_about_statements() -> None:
    """The meanings of bands are those of faithfulness, and so is "достоверность"."""
    for grader, is_of in (("faithfulness", True), ("answer_relevance", False)):
        run = Run([record(0, "a", 0.0) | {"grader": grader}])
        page = report_html(run, view=View(language="ru"))

        assert ("значительная часть утверждений не подтверждена</td>" in page) is is_of
        assert ("1 Низкая достоверность" in page or "Низкая достоверность: 1" in page) is is_of
        assert ("Низкая достоверность" in report_markdown(run, view=View(language="ru"))) is is_of


@pytest.mark.parametrize(
    ("shares", "count", "start", "drawn"),
    [
        ([1.0] * 10, 10, 0.5, dict.fromkeys(range(10), 1.0)),
        ([1.0] * 10, 5, 0.0, dict.fromkeys((0, 2, 4, 6, 8), 2.0)),
        ([1.0] * 10, 5, 0.49, dict.fromkeys((0, 2, 4, 6, 8), 2.0)),
        ([1.0] * 10, 5, 0.5, dict.fromkeys((1, 3, 5, 7, 9), 2.0)),
        ([1.0] * 10, 5, 0.999, dict.fromkeys((1, 3, 5, 7, 9), 2.0)),
        ([1.0] * 10, 1, 0.35, {3: 10.0}),
        ([2.0, 1.0, 1.0], 2, 0.0, {0: 1.0, 1: 2.0}),
        ([2.0, 1.0, 1.0], 2, 0.75, {0: 1.0, 2: 2.0}),
        # A share is at most one step, so that no row is drawn twice: 10 becomes 3.
        ([10.0, 1.0, 1.0, 1.0], 2, 0.9, {0: 1.0, 3: 3.0}),
        ([0.25, 0.75], 1, 0.2, {0: 4.0}),
        ([0.25, 0.75], 1, 0.25, {1: 4 / 3}),
    ],
)
def test_rows_are_drawn_in_steps_of_equal_share(
    shares: list[float], count: int, start: float, drawn: dict[int, float]
) -> None:
    """A row stands for as many as its chance says, and for itself at least."""
    found = _every_kth(shares, count, start)

    assert list(found) == list(drawn)
    assert found == pytest.approx(drawn, abs=2e-5)
    assert min(found.values()) >= 1.0


def test_graders_and_scores_are_drawn_in_their_shares() -> None:
    """And the drawn rows stand in the order of the data, with the number of their verdicts."""
    names = [f"r{number:02}" for number in range(40)]
    rows = {name: [("a.", int(name[1:]) % 4 > 0), ("b.", True)] for name in names}
    run = statements_run(rows)
    other = [one | {"grader": "other"} for one in map(dict, run.records)]
    both = Run([*run.records, *other])
    places = {(r["sample_id"], r["grader"]): n for n, r in enumerate(both.records)}
    scores = {(r["sample_id"], r["grader"]): r["score"] for r in both.records}
    for seed in range(5):
        drawn = rows_to_label(both, 80, seed=seed)
        keys = [(one.sample_id, one.grader) for one in drawn]
        assert Counter((grader, scores[name, grader]) for name, grader in keys) == {
            ("faithfulness", 0.5): 5,
            ("faithfulness", 1.0): 15,
            ("other", 0.5): 5,
            ("other", 1.0): 15,
        }
        assert keys == sorted(keys, key=lambda key: places[key])
        assert {(one.decisions, one.weight, one.texts) for one in drawn} == {(2, None, ())}


def test_only_scored_outcomes_with_a_verdict_are_drawn() -> None:
    """As many as fit; a single row may have more verdicts than asked for."""
    finding = {"text": "t", "verdict": True, "label": "supported"}
    rows = [
        record(0, "scored", 1.0, findings=[finding] * 3),
        record(1, "none", None, findings=[finding]),
        record(2, "rated", 1.0, findings=[finding | {"verdict": None}]),
        record(3, "mixed", 1.0, findings=[finding | {"verdict": None}, finding]),
        record(4, "empty", 1.0, findings=[]),
    ]
    run = Run(rows)
    every = [RowToLabel("scored", "faithfulness", 3), RowToLabel("mixed", "faithfulness", 1)]

    assert rows_to_label(run, 4) == rows_to_label(run, 99) == every
    for most in (0, 1, 2, 3):
        for seed in range(6):
            (one,) = rows_to_label(run, most, seed=seed)
            assert one in every
    assert rows_to_label(Run(rows[1:3]), 9) == []


def test_no_more_is_asked_than_was_wanted() -> None:
    """Rows of many verdicts count as many, whatever the start is."""
    rows = {f"r{n}": [("a.", True)] * (1 if n % 5 else 9) for n in range(30)}
    run = statements_run(rows)
    for most in (5, 9, 20, 40):
        for seed in range(10):
            drawn = rows_to_label(run, most, seed=seed)
            asked = sum(one.decisions for one in drawn)
            assert asked <= most or len(drawn) == 1
            assert len(drawn) <= max(1, round(most * 30 / 78))
            assert [one.decisions for one in drawn] == [len(rows[one.sample_id]) for one in drawn]
    assert len(rows_to_label(run, 77)) < len(rows_to_label(run, 78)) == 30


def said(verdict: bool | None = True, **more: Any) -> Finding:
    """Return a finding of the embedded judge."""
    return Finding("t", verdict, "l", decided_by="embedded", about="statement", **more)


def test_a_verdict_is_as_likely_wrong_as_its_support_says() -> None:
    """Unless its verifier was tuned; 0 and 1 are what judges say, and say nothing."""
    for finding, wrong in (
        (said(support=0.8), 0.2),
        (said(False, support=0.8), 0.8),
        (said(False, support=0.3), 0.3),
        (said(support=0.0), None),
        (said(support=1.0), None),
        (said(False, support=0.0), None),
        (said(), None),
    ):
        assert _wrong(finding, {}, (), 0) == (None if wrong is None else pytest.approx(wrong))
    even = Confidence(auroc=0.7, auroc_low=0.6, auroc_high=0.8, weights={"support": 0.0})
    tuned = even.model_copy(update={"intercept": math.log(3)})
    for known, wrong in (
        ({"embedded": even}, 0.5),
        ({"embedded": tuned}, 0.25),
        ({"other": tuned}, 0.2),
        ({"": tuned}, 0.2),
        ({"embedded": tuned.model_copy(update={"weights": {}})}, 0.2),
    ):
        assert _wrong(said(support=0.8), known, (), 0) == pytest.approx(wrong)


def test_rows_of_uncertain_verdicts_are_drawn_more_often() -> None:
    """By the root of the mean chance of an error and 0.02; unknown ones as often as the mean."""

    def findings(*supports: float | None) -> list[dict[str, Any]]:
        base = {"text": "t", "verdict": True, "label": "l", "decided_by": "embedded"}
        return [base | {"support": one} for one in supports]

    run = Run(
        [
            record(0, "a", 1.0, findings=findings(0.9, 0.7)),
            record(1, "b", 1.0, findings=findings(0.98, 1.0, None)),
            record(2, "c", 1.0, findings=findings(1.0)),
            record(0, "a", 0.0, grader="other", findings=findings(0.59)),
        ]
    )
    first, second, third = math.sqrt(0.22), math.sqrt(0.04), math.sqrt(0.43)
    doubts = _doubts(run)

    assert dict(doubts) == pytest.approx(
        {("a", "faithfulness"): first, ("b", "faithfulness"): second, ("a", "other"): third}
    )
    mean = (first + second + third) / 3
    assert doubts["c", "faithfulness"] == pytest.approx(mean)
    total = first + second + third + mean
    shares = {"a": first, "b": second, "c": mean}
    for seed in range(20):
        (one,) = rows_to_label(run, 1, focus="uncertain", seed=seed)
        share = third if one.grader == "other" else shares[one.sample_id]
        assert one.weight == pytest.approx(total / share)
