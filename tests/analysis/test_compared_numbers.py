"""Each number of a comparison is worked out again, from the same scores, clusters and sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag_evals.analysis import compare
from rag_evals.analysis.comparing import (
    Comparison,
    GraderComparison,
    GroupComparison,
    SizeChange,
    interval_words,
)
from rag_evals.core import phrases
from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.run import Run, StoredSample
from rag_evals.run.plan.gate import GraderDecision
from rag_evals.stats import (
    Interval,
    compare_paired,
    count_interval,
    gate_test,
    holm_adjusted,
    mean_interval,
)
from rag_evals.stats.paired import count_difference
from tests.analysis.runs import record, scores_run

ROWS = 16
OLD = [n % 5 / 4 for n in range(ROWS)]
NEW = [min(1.0, one + (n % 3) / 8) for n, one in enumerate(OLD)]
# The second grader's scores fall; row 15 has none in the candidate, and counts as 0.
HIGH = [0.9 - n % 4 / 10 for n in range(ROWS)]
FALLEN = [one - 0.2 - n % 3 / 10 for n, one in enumerate(HIGH[:-1])]
DOCUMENTS = [f"d{n // 2}" if n < 12 else None for n in range(ROWS)]
TOPICS = ["x"] * 7 + ["y"] * 8 + [None]


def _facts(n: int, side: int) -> dict[str, int]:
    return {
        "words": 30 + n % 7 - 3 * side,
        "statements": 5 - side * (n % 2),
        "supported": 3 + n % 2,
    }


def _samples(side: int) -> dict[str, StoredSample]:
    """Return the rows whose columns a run knows: every second one, and both runs that of row 0."""
    found = {}
    for n in range(ROWS):
        if n == 0 or n % 2 == side:
            document = "another" if side and n == 0 else DOCUMENTS[n]
            columns = {"document": document, "topic": TOPICS[n]}
            found[f"r{n}"] = StoredSample(f"r{n}", columns=columns)
    return found


def _run(side: int) -> Run:
    """Make a run of two graders, and of rows that fail, are unscored or missing in the other."""
    records = []
    for grader, scores in (("one", (OLD, NEW)[side]), ("two", (HIGH, FALLEN)[side])):
        own = [record(0, f"only{side}", 0.7, grader=grader)] if side else []
        own += [
            record(n, f"r{n}", score, grader=grader, facts=_facts(n, side))
            for n, score in enumerate(scores)
        ]
        if len(scores) < ROWS:
            own.append(
                record(15, "r15", None, grader=grader, facts=_facts(15, side))
                | {"reason": "no_statements"}
            )
        own.append(record(16, "empty", None, grader=grader, facts={"words": 4}))
        failed = {"error": {"type": "HttpError", "message": "400"}, "status": "failed"}
        own.append(
            record(17, "failed", None if side else 0.5, grader=grader, facts={"words": 90})
            | (failed | {"reason": None} if side else {})
        )
        records += own if side else [*own, record(18, "only0", 0.1, grader=grader)]
    return Run(records, samples=_samples(side), manifest={"identity": {}})


def _compared(**more: Any) -> tuple[GraderComparison, GraderComparison]:
    asked = {"count": {"no_statements": 0.0}, "cluster": "document", **more}
    first, second = compare(_run(0), _run(1), **asked).graders
    return first, second


def test_means_and_difference_are_those_of_the_paired_rows() -> None:
    """Clustered by the documents that either run knows; the baseline's word comes first."""
    graders, tables = _compared(), ((OLD, NEW), (HIGH, [*FALLEN, 0.0]))
    p_values = [compare_paired(*each, clusters=DOCUMENTS).significance.p_value for each in tables]

    for found, (old, new), p_value in zip(graders, tables, holm_adjusted(p_values), strict=True):
        assert found.baseline == mean_interval(old, clusters=DOCUMENTS)
        assert found.candidate == mean_interval(new, clusters=DOCUMENTS)
        assert found.paired == compare_paired(old, new, clusters=DOCUMENTS)
        assert found.adjusted_p == p_value
        assert (found.clustered_by, found.paired.clusters) == ("document", 6 + 4)
        changes = {f"r{n}": (a, b) for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b}
        assert {row.sample_id: (row.baseline, row.candidate) for row in found.changed} == changes
        assert (found.coverage.scored, found.coverage.rows) == (16, 20)
        assert found.coverage.missing == {
            "empty_context in both": 1, "HttpError in the candidate": 1,
            "only in the candidate": 1, "only in the baseline": 1,
        }  # fmt: skip
    # Without the option, a row that has no score in the candidate is none of them.
    two = compare(_run(0), _run(1), cluster="none").graders[1]
    assert two.paired == compare_paired(HIGH[:-1], FALLEN)
    assert two.coverage.missing["no_statements in the candidate"] == 1
    assert (two.clustered_by, two.paired.clusters) == (None, 15)


def test_sizes_are_of_all_rows_that_did_not_fail() -> None:
    """Also of rows without a score; each with its clusters, and of no size below 0."""
    for grader in _compared():
        tables = {name: [(_facts(n, 0)[name], _facts(n, 1)[name]) for n in range(ROWS)]
                  for name in ("words", "statements", "supported")}  # fmt: skip
        pairs = zip(tables["statements"], tables["supported"], strict=True)
        tables["unsupported"] = [(a - b, c - d) for (a, c), (b, d) in pairs]
        tables["words"].append((4, 4))
        assert [size.name for size in grader.sizes] == [
            "statements", "supported", "unsupported", "words",
        ]  # fmt: skip
        for size in grader.sizes:
            old, new = ([pair[side] for pair in tables[size.name]] for side in (0, 1))
            keys = [*DOCUMENTS, None][: len(old)]
            assert size.rows == len(old)
            assert size.baseline == count_interval(old, clusters=keys, lowest=0.0)
            assert size.candidate == count_interval(new, clusters=keys, lowest=0.0)
            assert size.difference == count_difference(old, new, clusters=keys)


def test_lines_tell_every_size_and_no_cluster_of_one_row() -> None:
    """A column that has another value in each row makes no clusters."""
    said = str(compare(_run(0), _run(1), cluster="none")).splitlines()
    for name in ("statements per row", "supported per row", "unsupported per row", "words per row"):
        assert sum(line.startswith(f"  {name} ") for line in said) == 2
    columns = {f"r{n}": {"own": n} for n in range(4)}
    runs = [scores_run([0.1, 0.2, 0.5, one], columns=columns) for one in (0.6, 0.7)]
    assert "  scored in both  4 rows" in str(compare(*runs, cluster="own")).splitlines()


@pytest.mark.parametrize("places", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_sizes_are_of_statements_if_either_run_has_some(places: tuple[int, int]) -> None:
    """A run that says nothing at all has 0 of them; where both do, words are left."""
    facts = ({"words": 3, "statements": 2, "supported": 1},
             {"words": 0, "statements": 0, "supported": 0})  # fmt: skip
    runs = [Run(record(n, f"r{n}", 1.0, facts=facts[one]) for n in range(4)) for one in places]
    (found,) = compare(*runs).graders

    names = ["words"] if places == (1, 1) else ["statements", "supported", "unsupported", "words"]
    assert [(size.name, size.rows) for size in found.sizes] == [(name, 4) for name in names]


def test_a_gate_of_a_comparison_is_tested_by_its_rows() -> None:
    """With the clusters, the error of both verdicts, and a part of it for each wrong failure."""
    for found, (old, new) in zip(
        _compared(gate=0.3, error=0.1), ((OLD, NEW), (HIGH, [*FALLEN, 0.0])), strict=True
    ):
        shares = [(1 + b - a) / 2 for a, b in zip(old, new, strict=True)]
        expected = gate_test(shares, 0.35, error=0.1, fail_error=0.05, clusters=DOCUMENTS)
        assert found.gate == expected.of_differences()
        assert found.gate is not None
        assert (found.gate.gate, found.gate.error) == (-0.3, 0.1)


def test_groups_are_those_of_the_scored_rows() -> None:
    """Each is compared with its own clusters, and Holm is over the groups of one grader."""
    for found, (old, new) in zip(
        _compared(by="topic"), ((OLD, NEW), (HIGH, [*FALLEN, 0.0])), strict=True
    ):
        places = {name: [n for n in range(ROWS) if TOPICS[n] == name] for name in ("x", "y", None)}
        paired = [
            compare_paired(
                [old[n] for n in own], [new[n] for n in own], clusters=[DOCUMENTS[n] for n in own]
            )
            for own in places.values()
        ]
        adjusted = holm_adjusted([each.significance.p_value for each in paired])
        assert found.groups == tuple(map(GroupComparison, places, paired, adjusted))
    # A difference that is one on its own is none after Holm, in the verdict and in the words.
    group = replace(found.groups[0], adjusted_p=0.06, paired=_clear())
    assert (group.paired.verdict, group.verdict) == ("worse", "not distinguishable")
    assert group.words(phrases())["verdict"] == (
        "not distinguishable: worse on its own, but p = 0.06 after correction for all groups (Holm)"
    )
    assert replace(group, adjusted_p=1 - group.paired.difference.confidence).verdict == "worse"


def _clear() -> Any:
    return compare_paired([0.9, 0.8, 0.9, 0.7] * 3, [0.5, 0.4, 0.3, 0.2] * 3)


def test_a_comparison_says_its_numbers() -> None:
    """Every line, of ten rows that changed most and of ten left out."""
    old = [n / 40 for n in range(24)] + [None] * 12
    new = [0.9 - n / 50 for n in range(24)] + [None] * 12
    columns = {f"r{n}": {"topic": "x" if n % 2 else None, "document": n // 4} for n in range(36)}
    runs = [scores_run(each, columns=columns) for each in (old, new)]
    compared = compare(*runs, by="topic", cluster="document")
    (found,) = compared.graders

    assert (len(found.changed), len(found.left_out)) == (20, 12)
    lines = str(compared).splitlines()
    assert lines[:15] == [
        "baseline:  a run in memory",
        "candidate: a run in memory",
        "",
        "faithfulness: not distinguishable",
        "  scored in both  24 of 36 rows (12 empty_context in both) in 6 clusters by document",
        "  baseline        0.288 [0.138, 0.504]",
        "  candidate       0.670 [0.503, 0.803]",
        "  difference      +0.383 [+0.000, +0.736]",
        "  p               0.062 (exact sign-flip)",
        "  rows            20 better, 1 the same, 3 worse",
        "  minimum detectable effect 0.48 (80 % power)",
        "  rows needed     about 33 to detect a difference of this size (80 % power)",
        "  (none): +0.405 [+0.000, +0.758], 12 rows, not distinguishable",
        "  x: +0.360 [+0.000, +0.713], 12 rows, not distinguishable",
        "  changed most:",
    ]
    assert lines[15:17] == ["    r0: 0.00 -> 0.90", "    r1: 0.03 -> 0.88"]
    assert lines[25:] == [f"  no pair: r{n} (empty_context in both)" for n in range(24, 34)]


def test_no_more_than_twenty_rows_are_kept() -> None:
    """Of those that changed, the largest changes; of those left out, the first."""
    old = {f"r{n}": 0.0 if n < 30 else None for n in range(60)}
    new = {f"r{n}": n / 100 if n < 30 else None for n in range(60)}
    (found,) = compare(scores_run(old), scores_run(new)).graders

    assert [row.sample_id for row in found.changed] == [f"r{n}" for n in range(29, 9, -1)]
    assert [name for name, _ in found.left_out] == [f"r{n}" for n in range(30, 50)]
    # Rows without a score do not move the names of those behind them.
    late = [{"a": None, "b": 0.5, "c": None, "d": 0.5, "e": one} for one in (0.25, 0.75)]
    (moved,) = compare(*map(scores_run, late)).graders
    assert [row.sample_id for row in moved.changed] == ["e"]
    # A difference of rounding alone is no change.
    (same,) = compare(scores_run([0.3, 0.5]), scores_run([0.1 + 0.2, 0.6])).graders
    assert [row.sample_id for row in same.changed] == ["r1"]


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (None, "unknown: all differences are equal"),
        (0.123, "0.12 (80 % power)"),
        (1.0, "1 (80 % power)"),
        (1.01, "above 1 (80 % power), so these rows cannot detect any difference"),
    ],
)
def test_the_detectable_difference_is_said(effect: float | None, words: str) -> None:
    """No difference is above 1, so more than that is none."""
    (found,) = compare(scores_run([0.1, 0.5]), scores_run([0.2, 0.9])).graders
    changed = replace(found, paired=replace(found.paired, detectable=effect))

    assert changed.words(1)["detectable"] == words


def _with_sizes(supported: Interval, difference: Interval, **more: Any) -> GraderComparison:
    """Return a clear loss of scores, and this change of supported statements."""
    (found,) = compare(scores_run([0.9, 0.8, 0.7] * 4), scores_run([0.5, 0.6, 0.4] * 4)).graders
    sizes = (
        SizeChange("statements", 12, supported, supported, Interval(-9, -9, -9)),
        SizeChange("supported", 12, supported, Interval(3.5, 3.4, 3.6), difference),
    )
    return replace(found, sizes=sizes, **more)


@pytest.mark.parametrize(
    ("high", "margin", "is_lost"),
    [
        (-0.41, 0.1, True), (-0.4, 0.1, False), (-0.39, 0.1, False),
        (-0.01, 0.0, True), (0.0, 0.0, False), (-1e-10, 0.0, False), (-2e-9, 0.0, True),
    ],
)  # fmt: skip
def test_statements_are_lost_beyond_the_margin(high: float, margin: float, is_lost: bool) -> None:
    """The margin is a share of those of the baseline, and the whole interval is below it."""
    found = _with_sizes(Interval(4.0, 3.8, 4.2), Interval(-0.5, -0.6, high))
    compared = Comparison("old", "new", (found,), (), ())

    assert (found.lost_statements(margin) is not None) is is_lost
    assert found.says_less() is (high < -1e-9)
    rules = [missed.rule for missed in compared.missed(margin=margin)]
    assert rules == ["fail-if-worse", *["says-less"] * is_lost]
    same = replace(found, coverage=replace(found.coverage, same=True))
    assert same.lost_statements(margin) is None
    assert replace(found, sizes=found.sizes[:1]).lost_statements(margin) is None


def test_a_change_of_size_says_its_numbers() -> None:
    """Both means and the difference with a sign, each with its interval, if it has a width."""
    size = SizeChange("words", 9, Interval(4, 3.5, 4.5), Interval(5, 5, 5), Interval(1, 0.5, 1.5))

    assert size.words(phrases()) == "4.00 [3.50, 4.50] and 5.00, +1.00 [+0.50, +1.50]"


def test_a_missed_gate_says_its_numbers() -> None:
    """Of the loss and its best case, and of the statements before."""
    found = _with_sizes(Interval(4.0, 3.8, 4.2), Interval(-0.5, -0.6, -0.4))
    lost = replace(found.paired, difference=Interval(-0.3, -0.4, -0.25))
    compared = Comparison("old", "new", (replace(found, paired=lost),), (), ())

    assert [str(missed) for missed in compared.missed(margin=0.05)] == [
        "fail-if-worse 0.05: faithfulness changed by -0.3000, and by -0.2500 at best, 0.2000 too "
        "low",
        "says-less 0.05: faithfulness had 4.00 supported statements per row, and the candidate has "
        "fewer: -0.50, -0.40 at best; --allow-shorter accepts that",
    ]
    assert len(compared.missed(margin=0.05, allow_shorter=True)) == 1
    # No loss after Holm is none, and neither is one that may be as small as the margin.
    chance = replace(compared, graders=(replace(compared.graders[0], adjusted_p=0.051),))
    assert chance.missed(margin=0.05, allow_shorter=True) == []
    assert compared.missed(margin=0.25, allow_shorter=True) == []
    worse = "not distinguishable: worse on its own, but p = 0.051 after correction for all graders"
    assert chance.graders[0].words(2)["verdict"] == (
        f"{worse} (Holm); fewer statements per row are supported"
    )
    assert compared.graders[0].words(2)["verdict"] == (
        "the candidate is worse; fewer statements per row are supported"
    )


def test_a_decision_has_a_part_for_each_grader() -> None:
    """Its test, the rules that it misses, and that it is of a change; pending runs decide later."""
    runs = [
        Run([*(record(n, f"r{n}", 1.0, grader="one") for n in range(30)),
             *(record(n, f"r{n}", 0.5 if n < used else None, grader="two") for n in range(30)),
             *(record(n, f"r{n}", 0.5 if n < 0 else None, grader="three") for n in range(30))])
        for used in (30, 24)
    ]  # fmt: skip
    compared = compare(*runs, gate=0.4, error=0.2)
    decision, mild = compared.decision(), compared.decision(min_scored=0.8)

    assert decision is not None
    assert mild is not None
    assert [(one.grader, one.subject, len(one.missed)) for one in decision.graders] == [
        ("one", "change", 0), ("two", "change", 1), ("three", "change", 1),
    ]  # fmt: skip
    assert [len(one.missed) for one in mild.graders] == [0, 0, 1]
    assert decision.graders[0] == GraderDecision("one", compared.graders[0].gate, (), "change")
    assert decision.graders[2].test is None
    # Of three graders two have rows: each may fail wrongly in 10 % of cases.
    one = gate_test([0.5] * 30, 0.3, error=0.2, fail_error=0.1)
    assert compared.graders[0].gate == one.of_differences()
    waiting = replace(compared, pending=2)
    assert [len(one.missed) for one in (waiting.decision() or decision).graders] == [0, 0, 0]
    assert compare(*runs).decision() is None
    # What is pending may still say more: statements are not lost before it is there.
    lost = _with_sizes(Interval(4.0, 3.8, 4.2), Interval(-3, -3.5, -2.5), gate=mild.graders[0].test)
    for pending, rules in ((0, ["says-less"]), (2, [])):
        ended = Comparison("old", "new", (lost,), (), (), pending).decision()
        assert ended is not None
        assert [one.rule for one in ended.graders[0].missed] == rules
        assert ended.pending == pending
        assert ended.verdict == ("not decided" if pending else "failed")


def test_only_graders_with_scores_share_the_chance_of_a_wrong_failure() -> None:
    """A loss of 0.4 in 21 rows fails as one of two graders; as one of three it would not."""
    lost = [0.3 + n % 3 / 50 for n in range(21)]
    runs = [
        Run([*(record(n, f"r{n}", score, grader="one") for n, score in enumerate(scores)),
             *(record(n, f"r{n}", score, grader="two") for n, score in enumerate(scores)),
             *(record(n, f"r{n}", None, grader="three") for n in range(21))])
        for scores in ([0.7] * 21, lost)
    ]  # fmt: skip
    compared = compare(*runs, gate=0.1, error=0.2)

    assert [one.gate and one.gate.verdict for one in compared.graders] == ["failed", "failed"]
    shares = [(1 + score - 0.7) / 2 for score in lost]
    assert gate_test(shares, 0.45, error=0.2, fail_error=0.2 / 3).verdict == "not decided"
    with pytest.raises(ConfigurationError, match="0.6"):
        compare(*runs, gate=0.1, error=0.6)
    # Graders come in the order of the baseline.
    back = Run([record for grader in ("two", "one") for record in runs[1].of_grader(grader)])
    assert [one.grader for one in compare(runs[0], back).graders] == ["one", "two"]


def test_equal_scores_are_no_equal_outcomes() -> None:
    """Two runs whose scores are the same have a difference of 0 that may be another one."""
    runs = [Run([record(n, f"r{n}", 0.5, seconds=side) for n in range(4)]) for side in (0.5, 1.0)]
    (found,) = compare(*runs).graders

    assert found.words(1)["difference"].startswith("+0.000 [-0.")


def test_pending_gradings_of_one_run_are_counted_once() -> None:
    """A run that is compared with itself has them once; two runs have theirs both."""
    graded = scores_run([1.0] * 20)
    one, two = (
        Run(graded.records, manifest={"format": 2, "finished": None, "pending": count})
        for count in (3, 4)
    )

    assert [compare(one, one).pending, compare(one, two).pending] == [3, 7]


def test_a_page_of_a_notebook_is_cut_and_holds_no_markup() -> None:
    """10,000 characters of text at most, before markup in them is made harmless."""
    compared = Comparison("<b>" * 5_000, "new\x1b[2J", (), (), ())
    shown = compared._repr_html_()

    assert shown.startswith("<pre>baseline:  &lt;b&gt;")
    assert shown == f"<pre>baseline:  {'&lt;b&gt;' * 3_329}&lt;b</pre>"
    short = Comparison("old", "new\x1b[2J", (), (), ())
    assert "\x1b" not in short._repr_html_()
    assert repr(short) == "Comparison('old' to 'new\\x1b[2J'; )"


def test_a_comparison_is_shown_by_its_differences() -> None:
    """Its grader, verdict and difference, with a sign."""
    compared = compare(scores_run([0.5, 0.6, 0.7]), scores_run([0.6, 0.6, 0.8]))
    words = interval_words(compared.graders[0].paired.difference, sign="+")

    assert repr(compared) == (
        "Comparison('a run in memory' to 'a run in memory'; "
        f"faithfulness: not distinguishable, {words})"
    )
    assert words.startswith("+0.067 [-0.")


def test_settings_that_differ_are_named_each() -> None:
    """Judge, address, columns, limit and settings; the model of each grader; nothing else."""
    same: dict[str, Any] = {"judge": "m", "graders": {"faithfulness": "1"}}
    old = {**same, "address": "here", "columns": {"a": "b"}, "settings": {"seed": 1}}
    new = {**same, "address": "there", "columns": None, "settings": {"seed": 2}, "code": "2"}
    new["models"] = {"faithfulness": "m-2"}

    assert compare(scores_run([1.0], identity=old), scores_run([1.0], identity=new)).notes() == [
        "the judge's address differs: 'here' and 'there'",
        "the columns differ: {'a': 'b'} and None",
        "the judge's settings differ: {'seed': 1} and {'seed': 2}",
        "the model of faithfulness differs: None and 'm-2'",
    ]


def _of_samples(answers: Sequence[str], data: str | None, **more: Sequence[str]) -> Run:
    samples = {
        f"r{n}": StoredSample(
            f"r{n}",
            question=more.get("questions", ("?",) * 9)[n],
            answer=answer,
            chunks=(more.get("chunks", ("c",) * 9)[n],),
        )
        for n, answer in enumerate(answers)
    }
    records = [record(n, name, 1.0, seconds=float(len(more))) for n, name in enumerate(samples)]
    return Run(
        records, samples=samples, manifest={"identity": {} if data is None else {"data": data}}
    )


@pytest.mark.parametrize(
    ("data", "is_told"),
    [
        (("x", "x"), False), (("x", "y"), True), (("rows", "rows"), True), ((None, None), True),
        (("x", None), True),
    ],
)  # fmt: skip
def test_rows_that_differ_are_counted(data: tuple[str | None, str | None], is_told: bool) -> None:
    """Of rows in both runs each kind of change; what came from the same file is not looked at."""
    old = _of_samples("abcdef", data[0])
    new = _of_samples("axydef", data[1], questions="???!!!", chunks="cdcccc")
    notes = [note for note in compare(old, new).notes() if "data differs" in note]

    told = "of 6 rows with the same id, a different question in 3, a different answer in 2, "
    assert notes == [f"the data differs: {told}different chunks in 1"] * is_told
    part = compare(old, _of_samples("ax", data[1])).notes()
    assert [note for note in part if "data" in note] == [
        "the data differs: of 2 rows with the same id, a different answer in 1"
    ] * is_told


@pytest.mark.parametrize(
    ("ids", "is_told"),
    [
        (("0123456789abcdef", "fedcba9876543210"), True),
        (("0123456789abcdef", "0123456789abcdef"), False),
        (("0123456789abcdef-2", "fedcba9876543210"), False),
        (("row-1", "row-2"), False),
    ],
)
def test_rows_without_ids_that_have_no_pair_are_a_warning(
    ids: tuple[str, str], is_told: bool
) -> None:
    """Where each run has a row of its own that is named by its content."""
    runs = [scores_run({"r0": 1.0, name: 1.0}) for name in ids]

    assert any("need an id column" in note for note in compare(*runs).notes()) is is_told


def _three(**identity: Mapping[str, str]) -> Run:
    scores = {"strict": [0.2, 0.3, 0.4], "mild": [0.5, 0.7, 0.6], "odd": [0.9, 0.9, 0.9]}
    rows = [
        record(n, f"r{n}", score, grader=name)
        for name, each in scores.items()
        for n, score in enumerate(each)
    ]
    samples = {f"r{n}": StoredSample(f"r{n}", columns={"topic": "x"}) for n in range(3)}
    return Run(rows, samples=samples, manifest={"identity": dict(identity)})


def test_pairs_of_graders_keep_their_prompts_models_and_columns() -> None:
    """Each pair by its own, and a grader that is paired with itself keeps its name."""
    run = _three(
        graders={"strict": "1", "mild": "1", "odd": "3"}, models={"strict": "a", "odd": "b"}
    )
    compared = compare(run, pairs={"strict": "mild", "odd": "odd"}, by="topic")

    assert [one.grader for one in compared.graders] == ["strict -> mild", "odd"]
    assert [one.paired.difference.estimate for one in compared.graders] == pytest.approx([0.3, 0])
    assert [[group.group for group in one.groups] for one in compared.graders] == [["x"], ["x"]]
    assert compared.notes() == ["the model of strict -> mild differs: 'a' and None"]
    assert compare(run, pairs={"odd": "odd", "strict": "odd"}).notes() == [
        "the prompt, the judge's engine or the grading method of strict -> odd differs",
        "the model of strict -> odd differs: 'a' and 'b'",
    ]
    with pytest.raises(UnknownNameError, match="no baseline grader 'none'"):
        compare(run, pairs={"strict": "mild", "none": "odd"})


def test_rows_cluster_by_what_the_baseline_knows_of_them() -> None:
    """By question, or else by context; a row of the candidate alone is known by that one."""

    def run(values: Sequence[tuple[int, int]], first: int = 0) -> Run:
        return Run(
            record(n, f"r{n}", n % 3 / 4 + first / 9, facts={"question": one, "context": other})
            for n, (one, other) in enumerate(values, first)
        )

    alone, pairs = range(100, 112), [1 + n // 2 for n in range(12)]
    unlike = run([*zip(alone, range(200, 212), strict=True)])
    by_question, by_context = (
        run([*zip(first, second, strict=True)])
        for first, second in ((pairs, alone), (alone, pairs))
    )
    found = [
        compare(one, two).graders[0]
        for one, two in (
            (by_question, unlike), (by_context, unlike), (unlike, by_question), (unlike, unlike),
        )
    ]  # fmt: skip
    assert [(one.clustered_by, one.paired.clusters) for one in found] == [
        ("question", 6), ("context", 6), (None, 12), (None, 12),
    ]  # fmt: skip
    (none,) = compare(by_question, unlike, cluster="none").graders
    assert (none.clustered_by, none.paired.clusters) == (None, 12)


def test_a_row_without_scores_is_told_by_the_last_reason() -> None:
    """Two reasons that differ are not one of both runs."""
    one = scores_run({"a": None, "b": 1.0, "c": None, "d": None})
    other = Run(
        [
            record(0, "a", None) | {"reason": "no_statements"},
            record(1, "b", 1.0),
            record(2, "c", None),
            record(3, "d", 1.0),
        ]
    )

    assert dict(compare(one, other).graders[0].left_out) == {
        "a": "no_statements in the candidate",
        "c": "empty_context in both",
        "d": "empty_context in the baseline",
    }
