"""Two runs are compared row by row, and the answer says how sure it is."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evals import evaluate
from rag_evals.analysis import compare
from rag_evals.analysis.comparing import interval_words
from rag_evals.core import phrases
from rag_evals.errors import ConfigurationError, DataError, UnknownNameError, UnpairedScoresError
from rag_evals.run import Run
from rag_evals.stats import Interval
from tests.analysis.runs import record, scores_run


def test_a_run_is_not_distinguishable_from_itself() -> None:
    """No difference, p = 1, and no interval as of independent rows: they are the same ones."""
    run = scores_run([1.0, 0.5, 0.75, 0.0])
    (grader,) = compare(run, run).graders

    assert grader.verdict == "not distinguishable"
    assert (grader.paired.significance.p_value, grader.paired.ties) == (1.0, 4)
    assert (grader.paired.difference.low, grader.paired.difference.high) == (0, 0)
    assert "  difference      +0.000: both are the same outcomes" in str(compare(run, run))
    assert grader.changed == ()


def test_equal_scores_of_two_runs_are_no_proof_of_equality() -> None:
    """Graded twice with the same scores: the interval says what so few rows cannot rule out."""
    one = Run([record(n, f"r{n}", 0.5, seconds=1.0) for n in range(4)])
    other = Run([record(n, f"r{n}", 0.5, seconds=2.0) for n in range(4)])
    (grader,) = compare(one, other).graders

    assert grader.paired.difference.low < 0 < grader.paired.difference.high


def test_a_part_of_a_run_is_not_that_run() -> None:
    """Where one run has more rows, equal scores of the others are no proof of equality."""
    part, whole = [1.0, 0.5, 0.75, 0.0], [1.0, 0.5, 0.75, 0.0, 1.0, 1.0]
    for pair in ((part, whole), (whole, part)):
        (grader,) = compare(*map(scores_run, pair), gate=0.1).graders
        assert not grader.coverage.same
        assert grader.paired.difference.low < 0 < grader.paired.difference.high
        assert grader.gate is not None
        assert grader.gate.verdict == "not decided"
    (same,) = compare(scores_run(part), scores_run(part), gate=0.1).graders
    assert same.coverage.same
    assert same.gate is not None
    assert same.gate.verdict == "passed"


def test_rows_are_paired_by_id_in_any_order() -> None:
    """Runs list their rows differently; the difference, wins and losses are of the same rows."""
    one = scores_run({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
    other = scores_run({"d": 0.6, "a": 0.1, "c": 0.6, "b": 0.1})
    (there,), (back,) = compare(one, other).graders, compare(other, one).graders

    assert there.paired.difference.estimate == pytest.approx(0.4 / 4)
    assert (there.paired.wins, there.paired.ties, there.paired.losses) == (2, 1, 1)
    assert (there.baseline.estimate, there.candidate.estimate) == pytest.approx((0.25, 0.35))
    assert [(row.sample_id, row.baseline, row.candidate) for row in there.changed] == [
        ("c", 0.3, 0.6), ("d", 0.4, 0.6), ("b", 0.2, 0.1),
    ]  # fmt: skip
    assert [row.baseline - row.candidate for row in back.changed] == pytest.approx([0.3, 0.2, -0.1])


def test_the_margin_of_a_gate_is_a_difference() -> None:
    """A loss of 0.3 in every row: bounds and gate are of the difference, not of shares."""
    old, new = [0.9, 0.7] * 60, [0.6, 0.4] * 60
    strict, mild = (
        compare(scores_run(old), scores_run(new), gate=margin).graders[0].gate
        for margin in (0.1, 0.6)
    )

    with pytest.raises(ConfigurationError, match="gate"):
        compare(scores_run(old), scores_run(new), gate=2)
    assert strict is not None
    assert mild is not None
    assert (strict.verdict, mild.verdict) == ("failed", "passed")
    assert (strict.gate, mild.gate) == (-0.1, -0.6)
    assert strict.estimate == pytest.approx(-0.3)
    assert -0.6 < strict.low < -0.3 < strict.high < -0.1


def test_ends_next_to_0_are_not_written_as_0() -> None:
    """Below 0.0005 one digit is kept; what is 0 but for rounding is 0."""
    assert interval_words(Interval(0.1, 0.0004, 0.0005)) == "0.100 [0.0004, 0.001]"
    assert interval_words(Interval(0.0, 1e-10, 2e-9), "+") == "+0.000 [+0.000, +2e-09]"


def test_a_clear_loss_is_found_with_its_size() -> None:
    """Every row one fifth worse: the interval lies below zero, and the text says so."""
    rng = random.Random(1)
    before = [rng.choice([0.4, 0.6, 0.8, 1.0]) for _ in range(60)]
    after = [score - rng.choice([0.1, 0.2, 0.3]) for score in before]
    compared = compare(scores_run(before), scores_run(after))
    (grader,) = compared.graders

    assert grader.verdict == "worse"
    assert grader.paired.losses == 60
    assert [missed.rule for missed in compared.missed(margin=0.1)] == ["fail-if-worse"]
    assert compared.missed(margin=0.3) == []
    assert "the candidate is worse" in str(compared)
    assert len(grader.changed) == 20
    assert grader.changed[0].baseline - grader.changed[0].candidate == pytest.approx(0.3)
    sizes = [abs(row.candidate - row.baseline) for row in grader.changed]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] > 0


def test_rows_of_one_run_only_are_listed() -> None:
    """Nothing is dropped silently: rows in one run, and rows that only one run could score."""
    one = scores_run({"a": 1.0, "b": 0.5, "c": None, "d": 1.0})
    other = scores_run({"b": 0.5, "c": 1.0, "d": 1.0, "e": 0.0})
    compared = compare(one, other)
    (grader,) = compared.graders

    assert grader.left_out == (
        ("c", "empty_context in the baseline"),
        ("a", "only in the baseline"),
        ("e", "only in the candidate"),
    )
    assert grader.paired.samples == 2
    assert "  no pair: a (only in the baseline)" in str(compared)
    assert "  no pair: c (empty_context in the baseline)" in str(compared)


def test_several_graders_are_adjusted_together() -> None:
    """Holm: the smallest of two p-values counts twice."""

    def run(first: float) -> Run:
        rows = [record(n, f"r{n}", first * (1 - n / 100), grader="one") for n in range(6)]
        return Run([*rows, *(record(n, f"r{n}", 0.5, grader="two") for n in range(6))])

    one, two = compare(run(0.2), run(0.9)).graders

    assert one.paired.significance.p_value == pytest.approx(2 / 64)
    assert one.adjusted_p == pytest.approx(4 / 64)
    assert two.adjusted_p == 1
    assert "Holm" in one.words(2)["p"]
    assert "Holm" not in one.words(1)["p"]
    assert one.paired.verdict == "better"
    assert one.verdict == "not distinguishable"
    assert one.words(2)["verdict"] == (
        "not distinguishable: better on its own, but p = 0.062 after correction for all graders "
        "(Holm)"
    )


def test_groups_are_compared_each() -> None:
    """One line for each value of the column; rows without it are a group too."""
    columns = {f"r{n}": {"topic": "x" if n < 6 else None} for n in range(12)}
    one = scores_run([0.2] * 12, columns=columns)
    other = scores_run([0.9] * 6 + [0.2] * 6, columns=columns)
    (grader,) = compare(one, other, by="topic").graders

    assert [(g.group, g.paired.samples, g.paired.wins) for g in grader.groups] == [
        ("x", 6, 6),
        (None, 6, 0),
    ]
    assert "(none): +0.000" in str(compare(one, other, by="topic"))


def test_rows_of_one_document_count_as_one() -> None:
    """With clusters the same difference is less sure."""
    columns = {f"r{n}": {"document": f"d{n % 3}"} for n in range(30)}
    one = scores_run([0.5] * 30, columns=columns)
    other = scores_run([0.5 + 0.1 * (n % 3) for n in range(30)], columns=columns)
    alone = compare(one, other).graders[0].paired
    clustered = compare(one, other, cluster="document").graders[0].paired

    assert clustered.clusters == 3
    assert clustered.difference.width > 3 * alone.difference.width


def test_rows_without_a_question_share_none() -> None:
    """What no row has is no cluster, beside rows that do share a question."""
    shared = [*[7] * 6, *[None] * 6]
    one, other = (
        Run(
            record(n, f"r{n}", (n % 3) / 4 + lift * (n % 2), facts={"question": hashed})
            if hashed
            else record(n, f"r{n}", (n % 3) / 4 + lift * (n % 2))
            for n, hashed in enumerate(shared)
        )
        for lift in (0, 0.1)
    )
    (grader,) = compare(one, other).graders

    assert grader.paired.clusters == 7


def test_other_differences_are_named() -> None:
    """A changed judge, prompt or limit is said before the numbers; so are other answers."""
    old = {"judge": "embedded", "graders": {"faithfulness": "1"}, "limit": None, "data": "x"}
    new = {"judge": "openai/m", "graders": {"faithfulness": "2"}, "limit": 4, "data": "y"}
    one, other = scores_run([1.0], identity=old), scores_run([1.0], identity=new)

    assert compare(one, other).notes() == [
        "the judge differs: 'embedded' and 'openai/m'",
        "the limit differs: None and 4",
        "the prompt, the judge's engine or the grading method of faithfulness differs",
        "the data differs",
    ]
    assert compare(one, one).notes() == []
    # A run in memory has no settings that could differ.
    for pair in ((one, scores_run([1.0])), (scores_run([1.0]), one)):
        assert compare(*pair).notes() == ["the data differs"]


def _answered(by: str = "", judge: str = "openai/m", **identity: Any) -> Run:
    """Make a run of one row whose judge named this model in its reply, or none."""
    row = record(0, "a", 1.0, answered_by=[by] if by else [])
    return Run([row], manifest={"identity": {"judge": judge, **identity}})


def test_a_model_that_changed_behind_its_name_is_named() -> None:
    """The provider said which model answered; another build of it is no other model."""
    said = "the judge 'openai/m' is now a different model: 'm-1' before, 'm-2' now"
    graders, chosen = {"faithfulness": "1"}, {"faithfulness": "m-2"}

    assert compare(_answered("m-1 fp_1"), _answered("m-2 fp_1")).notes() == [said]
    assert compare(_answered("m-1 fp_1"), _answered("m-1 fp_2")).notes() == []
    # Replies that named no model say nothing of another one.
    assert compare(_answered(), _answered("m-2")).notes() == []
    assert compare(_answered("m-1"), _answered()).notes() == []
    # Another judge, or another model for this grader, is said as what it is.
    assert compare(_answered("m-1"), _answered("m-2", "openai/n")).notes() == [
        "the judge differs: 'openai/m' and 'openai/n'"
    ]
    (note,) = compare(
        _answered("m-1", graders=graders), _answered("m-2", graders=graders, models=chosen)
    ).notes()
    assert "'m-2'" in note
    assert "is now a different" not in note


def test_two_engines_of_the_embedded_judge_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdicts may change with its version, which is in the fingerprint of every outcome."""
    rows = [{"id": "a", "question": "q", "answer": "It is.", "context": ["It is."]}]
    evaluate(rows, out="new")
    monkeypatch.setattr("rag_evals.embedded.verifier._ENGINE", 1)
    evaluate(rows, out="old")

    assert compare("old", "new").notes() == [
        "the prompt, the judge's engine or the grading method of faithfulness differs",
    ]


def test_changed_answers_are_counted(tmp_path: Path) -> None:
    """Two systems on the same questions: the note says how many answers differ."""
    rows = [{"id": f"{n}", "question": "q", "answer": "It is.", "context": ["c"]} for n in "ab"]
    evaluate(rows, out="one")
    evaluate([{**rows[0], "answer": "It was."}, rows[1]], out="two")

    assert compare("one", "two").notes() == [
        "the data differs: of 2 rows with the same id, a different answer in 1",
    ]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_changed_answers_without_ids_are_a_warning(language: str) -> None:
    """Only the unchanged rows have a pair, so the comparison says what it leaves out, and why."""
    rows = [{"question": "q", "answer": f"It is {n}.", "context": ["c"]} for n in range(3)]
    one = evaluate(rows, client="embedded")
    compared = compare(one, evaluate([{**rows[0], "answer": "It was."}, *rows[1:]]))

    assert compared.graders[0].coverage.scored == 2
    assert "id" in compared.notes(say=phrases(language))[-1]
    assert not compare(one, evaluate(rows[:2])).notes()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (scores_run({"x": 1.0}), "need an id column"),
        (
            scores_run([1.0], grader="relevance"),
            "no grader in common: faithfulness and relevance; specify a pair, as in "
            "--pair faithfulness=relevance",
        ),
    ],
)
def test_runs_without_a_common_row_are_refused(other: Run, message: str) -> None:
    """The message says what would make them comparable."""
    with pytest.raises(UnpairedScoresError, match=message):
        compare(scores_run([1.0]), other)


def test_runs_without_scores_do_not_blame_the_ids() -> None:
    """A run beside itself, or another of the same rows: what is missing are scores."""
    for name in ("one", "two"):
        evaluate([{"id": "x", "answer": "", "context": ["c"]}], client="embedded", out=name)
    for other in ("one", "two"):
        with pytest.raises(UnpairedScoresError, match="in both$"):
            compare("one", other)


def test_a_folder_without_a_run_is_refused() -> None:
    """The message names the folder."""
    with pytest.raises(DataError, match="'nowhere' has no run"):
        compare("nowhere", "nowhere")


def _two_graders(first: Sequence[float], second: Sequence[float]) -> Run:
    rows = [record(n, f"r{n}", score, grader="strict") for n, score in enumerate(first)]
    rows += [record(n, f"r{n}", score, grader="mild") for n, score in enumerate(second)]
    return Run(rows, manifest={"identity": {"graders": {"strict": "1", "mild": "2"}}})


def test_two_graders_of_one_run_are_compared() -> None:
    """Two prompts, graded in one run: their rows are paired, and only the pair is compared."""
    run = _two_graders([0.2, 0.3, 0.1, 0.2, 0.3, 0.2], [0.9, 0.8, 0.9, 1.0, 0.9, 1.0])
    compared = compare(run, pairs={"strict": "mild"})
    (grader,) = compared.graders

    assert (grader.grader, grader.verdict, grader.paired.wins) == ("strict -> mild", "better", 6)
    assert compared.notes() == [
        "the prompt, the judge's engine or the grading method of strict -> mild differs",
    ]
    assert "strict -> mild: the candidate is better" in str(compared)
    (back,) = compare(run, pairs={"mild": "strict"}).graders
    assert back.verdict == "worse"


def test_graders_of_other_names_are_paired_as_told() -> None:
    """Two runs of two prompts: the pair is compared, and nothing else."""
    one = _two_graders([0.2] * 6, [0.5, 0.6, 0.5, 0.6, 0.5, 0.6])
    other = scores_run([0.9, 0.8, 0.9, 1.0, 0.9, 1.0], grader="strict_2")

    (grader,) = compare(one, other, pairs={"strict": "strict_2"}).graders
    assert (grader.grader, grader.paired.wins) == ("strict -> strict_2", 6)
    both = compare(one, one, pairs={"strict": "strict"}).graders
    assert [each.grader for each in both] == ["strict"]
    with pytest.raises(UnknownNameError, match="no candidate grader 'strict_3'; did you mean"):
        compare(one, other, pairs={"strict": "strict_3"})
    with pytest.raises(ConfigurationError, match="pair two of its graders"):
        compare(one)


def test_graders_that_only_one_run_has_are_named() -> None:
    """A grader in common is compared; the others are named."""
    one = _two_graders([0.2] * 6, [0.5] * 6)
    other = Run(
        [record(n, f"r{n}", 0.4, grader=name) for name in ("strict", "new") for n in range(6)]
    )

    assert compare(one, other).notes() == [
        "mild is in the first run only",
        "new is in the second run only",
    ]


def test_rows_that_nobody_scored_are_counted() -> None:
    """With 95 of 100 contexts empty the comparison says on what it rests, and misses a gate."""
    run = scores_run([1.0] * 5 + [None] * 95)
    other = scores_run([0.99] * 5 + [None] * 95)
    compared = compare(run, other)

    assert "  scored in both  5 of 100 rows (95 empty_context in both)" in str(compared)
    assert [str(missed) for missed in compared.missed()] == [
        "min-scored 0.9: faithfulness has a score from both runs in 5 of 100 rows (5.0%), 85.0 "
        "points too few (95 empty_context in both)"
    ]
    assert compared.missed(min_scored=0.05) == []
    counted = compare(run, other, count={"empty_context": 0.0})
    assert counted.graders[0].coverage.scored == 100
    assert counted.missed() == []


def test_rows_of_one_run_only_count_against_coverage() -> None:
    """A candidate that lost rows, or failed on them, is compared on fewer; each reason is told."""
    one = scores_run({f"r{n}": 1.0 for n in range(10)})
    other = scores_run({"r0": None, **{f"r{n}": 1.0 for n in range(1, 8)}, "new": 1.0})
    (grader,) = compare(one, other).graders

    assert (grader.coverage.scored, grader.coverage.rows) == (7, 11)
    assert grader.coverage.missing == {
        "empty_context in the candidate": 1,
        "only in the baseline": 2,
        "only in the candidate": 1,
    }


def test_a_grader_that_scored_nothing_misses_the_gate() -> None:
    """It is not left out because another grader has scores."""
    rows = [record(n, f"r{n}", 1.0, grader="one") for n in range(6)]
    good = Run([*rows, *(record(n, f"r{n}", 1.0, grader="two") for n in range(6))])
    dead = Run([*rows, *(record(n, f"r{n}", None, grader="two") for n in range(6))])
    compared = compare(good, dead)

    assert str(compared).endswith(
        "two: nothing to compare\n  scored in both  0 of 6 rows (6 empty_context in the candidate)"
    )
    assert [missed.grader for missed in compared.missed()] == ["two"]
    decision = compare(good, dead, gate=0.1).decision(min_scored=0.0)
    assert decision is not None
    assert {each.grader: each.verdict for each in decision.graders}["two"] == "failed"
    assert decision.verdict == "failed"


def test_a_loss_beyond_the_margin_is_told_with_its_size() -> None:
    """The rule, the margin, the difference and how far its best case lies below."""
    compared = compare(scores_run([1.0] * 20), scores_run([0.5] * 10 + [0.6] * 10))
    (missed,) = compared.missed(margin=0.1)

    assert missed.rule == "fail-if-worse"
    assert str(missed).startswith("fail-if-worse 0.1: faithfulness changed by -0.4500, and by -0.4")
    assert compared.missed(margin=None) == compared.missed(margin=0.9) == []
    with pytest.raises(ConfigurationError, match="margin"):
        compared.missed(margin=2)
    with pytest.raises(ConfigurationError, match="min_scored is 90"):
        compared.missed(min_scored=90)
    with pytest.raises(ConfigurationError, match="empty_contxt"):
        compare(scores_run([1.0]), scores_run([1.0]), count={"empty_contxt": 0})


def test_several_graders_share_the_chance_of_a_wrong_failure() -> None:
    """A loss that one grader alone would fail for is not decided as one of two."""
    old, new = [0.8 if row % 2 else 0.7 for row in range(45)], [0.5] * 45
    one = compare(scores_run(old), scores_run(new), gate=0.1)
    both = compare(_two_graders(old, old), _two_graders(new, old), gate=0.1)

    assert [grader.gate and grader.gate.verdict for grader in one.graders] == ["failed"]
    verdicts = {grader.grader: grader.gate and grader.gate.verdict for grader in both.graders}
    assert verdicts["strict"] == "not decided"


def test_means_know_of_clusters_too() -> None:
    """With --cluster the intervals of both means are as wide as that of their rows."""
    columns = {f"r{n}": {"document": f"d{n % 3}"} for n in range(30)}
    one = scores_run([0.2 + 0.3 * (n % 3) for n in range(30)], columns=columns)
    alone, clustered = (
        compare(one, one, cluster=name).graders[0].baseline for name in (None, "document")
    )

    assert clustered.width > 2 * alone.width


def test_words_and_interval_never_contradict() -> None:
    """In 40 random comparisons of three graders the line says why where Holm is the reason."""
    rng = random.Random(4)
    explained = 0
    for _ in range(40):
        names, count = ("a", "b", "c"), rng.choice([6, 10, 30])
        lifts = {name: rng.choice([0.0, 0.1, 0.2]) for name in names}
        scores = {name: [rng.randint(0, 4) / 5 for _ in range(count)] for name in names}
        one, other = (
            Run(
                record(n, f"r{n}", min(1.0, score + lift * rng.random()), grader=name, seconds=side)
                for name in names
                for lift in (lifts[name] * side,)
                for n, score in enumerate(scores[name])
            )
            for side in (0, 1)
        )
        for grader in compare(one, other).graders:
            excludes = not grader.paired.difference.contains(0)
            words = grader.words(2)["verdict"]
            assert excludes or words == "not distinguishable"
            assert not excludes or words != "not distinguishable"
            explained += "after correction" in words

    assert explained


def test_a_margin_is_passed_while_the_interval_reaches_it() -> None:
    """A loss of 0.45 that may be 0.43 as well is not shown to be more than 0.44."""
    compared = compare(scores_run([1.0] * 20), scores_run([0.5] * 10 + [0.6] * 10))
    found = compared.graders[0].paired.difference
    within = -(found.estimate + found.high) / 2

    assert found.estimate < -within < found.high
    assert compared.missed(margin=within) == []
    assert len(compared.missed(margin=-found.high - 0.001)) == 1


def test_pending_rows_of_either_run_hold_the_gate_open() -> None:
    """A run is not compared for good before all its replies are there."""
    graded = scores_run([1.0] * 20)
    waiting = Run(graded.records, manifest={"format": 2, "finished": None, "pending": 3})
    for pair in ((waiting, graded), (graded, waiting)):
        compared = compare(*pair, gate=0.1)
        assert compared.pending == 3
        assert [missed.rule for missed in compared.missed()] == ["pending"]
        decision = compared.decision()
        assert decision is not None
        assert decision.verdict == "not decided"
