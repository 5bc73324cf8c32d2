"""Labels teach a judge by its prompt; only a gain proved on other questions is written."""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_evals import evaluate
from rag_evals.analysis import prepare_teaching, suspicious_labels
from rag_evals.analysis.teaching import (
    SIZES,
    LabelledRow,
    Lesson,
    Receipt,
    choose_examples,
    count_calls,
    learn,
    split_questions,
)
from rag_evals.catalog import grader_from_file
from rag_evals.core import fingerprint
from rag_evals.errors import ConfigurationError, TooFewLabelsError
from rag_evals.prompt import Prompt
from rag_evals.run import Run, StoredSample
from rag_evals.stats import Interval, compare_paired
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.scripted import Answer
from tests.analysis.runs import faithfulness, record
from tests.analysis.runs import graded as graded_row
from tests.analysis.test_exam import verdict
from tests.benchmarks.teaching import gain, simulated
from tests.conftest import Command
from tests.labelled import labelled_rows

Start = Callable[[Script], ScriptedJudge]
NOTE = "A price without VAT is not supported."


def shop_rows(count: int = 40) -> list[dict[str, Any]]:
    """Return prices that the chunks have; a third of the chunks has them without VAT."""
    rows = []
    for number in range(count):
        price, bare = 10 + number, number % 3 == 0
        wrong = number % 3 == 1 and number % 2 == 0
        rows.append(
            {
                "id": f"r{number}",
                "question": f"What does item {number} cost?",
                "answer": f"Item {number} costs {price + 500 * wrong} euros.",
                "context": [f"Item {number}: {price} euros{' without VAT' if bare else ''}."],
                "label": int(not bare and not wrong),
            }
        )
    return rows


def shop_judge(request: JudgeRequest) -> Any:
    """Compare the price; heed VAT only when an example about it is not supported."""
    chunk, answer = request.chunks[0], str(request.answer)
    price = re.findall(r"\d+", answer)[-1]
    shown = str(request.messages).partition("</examples>")[0]
    taught = "without VAT" in shown and "not_supported_because" in shown
    return verdict(request, price in chunk and not (taught and "without VAT" in chunk))


def graded(rows: list[dict[str, Any]]) -> None:
    """Grade the rows with the judge, and write the labels of people."""
    unlabelled = [{k: v for k, v in row.items() if k != "label"} for row in rows]
    evaluate(unlabelled, client="openai/m", out="run", progress=False)
    noted = [
        {"id": r["id"], "label": r["label"], "note": NOTE if "VAT" in r["context"][0] else ""}
        for r in rows
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, noted)))


@pytest.mark.slow
def test_a_rule_of_the_house_is_taught_and_proved(command: Command, scripted: Start) -> None:
    """The prompt has examples, the people's words and a receipt; with it the judge agrees."""
    rows = shop_rows()
    scripted(shop_judge)
    graded(rows)
    ended = command("judge", "teach", "run", "labels.jsonl", "-o", "taught.jinja", "-q")

    assert ended.code == 0, ended.err
    assert "agreement before    65.0%" in ended.out
    assert "agreement after     100.0%, on questions left out of teaching" in ended.out
    written = Path("taught.jinja").read_text()
    header = yaml.safe_load(written.split("---")[1])
    assert NOTE in written.partition("{% block criteria %}")[2]
    assert header["receipt"]["gain"][1] > 0
    assert header["receipt"]["judge"] == "openai/m"
    assert header["receipt"]["labels"] == 40
    again = evaluate(rows, grader_from_file(Path("taught.jinja")), "openai/m", progress=False)
    assert [outcome.score for outcome in again.outcomes] == [row["label"] for row in rows]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    grade = ("grade", "rows.jsonl", "--prompt", "taught.jinja", "-q", "--judge")
    assert (
        "its gain was measured with openai/m, not with openai/n" in command(*grade, "openai/n").err
    )
    assert "its gain" not in command(*grade, "openai/m").err


@pytest.mark.slow
def test_random_labels_are_refused(command: Command, scripted: Start) -> None:
    """Exit 1 and no file; --anyway writes it, and the file says that nothing is proved."""
    draw = random.Random(1)
    rows = [{**row, "label": int(draw.random() < 0.5)} for row in shop_rows()]
    scripted(shop_judge)
    graded(rows)
    asked = ("judge", "teach", "run", "labels.jsonl", "-o", "taught.jinja", "-q")
    ended = command(*asked)

    assert ended.code == 1
    assert "not proved, the interval includes 0" in ended.out
    assert not Path("taught.jinja").exists()
    assert command(*asked, "--anyway", "--json").code == 0
    assert "warning: 'the gain is not proved" in Path("taught.jinja").read_text()
    lesson = prepare_teaching("run", "labels.jsonl", budget=40).learn()
    with pytest.raises(ConfigurationError, match="nothing was written"):
        lesson.write("other.jinja")


@pytest.mark.slow
def test_no_example_is_of_the_question_that_is_asked(scripted: Start) -> None:
    """Neither the row nor its question is among the examples that it is judged with."""
    rows = shop_rows()
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        other["question"] = one["question"]
    scripted(shop_judge)
    graded(rows)
    judge = scripted(shop_judge)
    teaching = prepare_teaching("run", "labels.jsonl", settings={"seed": 1})
    teaching.learn()

    assert len(judge.requests) == teaching.calls == count_calls(teaching.rows, SIZES)
    for request in judge.requests:
        examples = str(request.messages[-1]["content"]).partition("</examples>")[0]
        assert "<example>" in examples
        assert str(request.question) not in examples


@pytest.mark.slow
def test_answers_to_one_question_teach_each_other_and_never_themselves(scripted: Start) -> None:
    """A labelled answer is an example for other answers to its question, and for no other row."""
    rows = shop_rows()
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        other["question"] = one["question"]
    scripted(shop_judge)
    graded(rows)
    lesson = prepare_teaching("run", "labels.jsonl").learn()
    lesson.write("taught.jinja", anyway=True)
    judge = scripted(shop_judge)
    evaluate(rows, grader_from_file(Path("taught.jinja")), "openai/m", progress=False)
    everyone = {one["answer"] for one in yaml.safe_load(lesson.text.split("---")[1])["examples"]
                if not one.get("same_question")}  # fmt: skip

    assert lesson.receipt.peers == 40 - lesson.receipt.examples
    assert f"{lesson.receipt.peers} more for other answers to the same" in str(lesson.receipt)
    assert len(judge.requests) == 40
    for request in judge.requests:
        shown = str(request.messages[-1]["content"]).partition("</examples>")[0]
        peer = next(
            one["answer"]
            for one in rows
            if one["question"] == request.question and one["answer"] != request.answer
        )
        assert peer in shown
        assert str(request.answer) not in shown
        others = {one["answer"] for one in rows} - {peer, str(request.answer)}
        assert {one for one in others if one in shown} == everyone - {peer, request.answer}


def test_errors_come_first_among_the_answers_to_one_question(scripted: Start) -> None:
    """Four answers are shown for each question, and none that was judged wrongly is left out."""
    rows = [{**row, "question": f"What costs {n // 8}?"} for n, row in enumerate(shop_rows())]
    scripted(shop_judge)
    graded(rows)
    lesson = prepare_teaching("run", "labels.jsonl", budget=40).learn()
    shown = yaml.safe_load(lesson.text.split("---")[1])["examples"]
    wrong = {row["answer"] for row in rows if "VAT" in row["context"][0]}

    # What is shown for every row is not shown again for those of its question.
    assert len({one["answer"] for one in shown}) == len(shown)
    assert lesson.receipt.peers == 5 * 4
    # Fourteen of 40 rows are without VAT; once taught, the judge gets them right.
    assert (lesson.receipt.before, lesson.receipt.after) == (26 / 40, 1)
    assert lesson.receipt.gain.estimate == pytest.approx(14 / 40)
    # Five questions are too few for sign flips: the interval reaches 0, which proves nothing.
    assert (lesson.receipt.gain.low, lesson.receipt.proved) == (0, False)
    header = yaml.safe_load(lesson.text.split("---")[1])
    receipt = header["receipt"]
    assert list(header) == [
        "name", "version", "description", "response_model", "receipt", "examples",
    ]  # fmt: skip
    assert [one.get("same_question") for one in header["examples"]] == [True] * 20 + [None] * 5
    assert f"- {NOTE}\n" in lesson.text.partition("{% block criteria %}")[2]
    assert replace(lesson.receipt, before=2 / 3).header()["before"] == 0.6667
    assert [receipt[name] for name in ("before", "labels", "questions")] == [0.65, 40, 5]
    low, high = lesson.receipt.gain.low, lesson.receipt.gain.high
    assert receipt["gain"] == [0.35, round(low, 4), round(high, 4)]
    assert wrong <= {example["answer"] for example in shown}


def test_the_budget_is_kept_and_known_before_anything_is_asked(scripted: Start) -> None:
    """The search shrinks to what the budget allows; below one call a label it is refused."""
    scripted(shop_judge)
    graded(shop_rows())
    judge = scripted(shop_judge)

    assert prepare_teaching("run", "labels.jsonl", budget=40).calls == 40
    assert 40 < prepare_teaching("run", "labels.jsonl", budget=300).calls <= 300
    assert prepare_teaching("run", "labels.jsonl").calls <= 400
    with pytest.raises(ConfigurationError, match="budget is 39 calls; 40 labelled rows need"):
        prepare_teaching("run", "labels.jsonl", budget=39)
    Path("few.jsonl").write_text("\n".join(Path("labels.jsonl").read_text().splitlines()[:29]))
    with pytest.raises(TooFewLabelsError, match="29 labelled rows"):
        prepare_teaching("run", "few.jsonl")
    lines = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    for count, value in ((4, 0), (4, 1)):
        odd = [{**one, "label": value ^ (n >= count), "note": ""} for n, one in enumerate(lines)]
        Path("odd.jsonl").write_text("\n".join(map(json.dumps, odd)))
        with pytest.raises(TooFewLabelsError, match=f"40 labelled rows, {4 if value else 36} of"):
            prepare_teaching("run", "odd.jsonl")
    assert not judge.requests


def test_what_a_row_teaches_is_what_people_said_of_each_statement(scripted: Start) -> None:
    """By index, by text, or by the row alone; a row with a statement that nobody labelled is none.

    What is supported shows the chunk that the judge cited, or else the one with the most words.
    """
    texts = {"two": ["It is red.", "It is tall."], "one": ["It is old."]}
    chunks = ("Nothing of that kind.", "It is red and tall.")
    found = {f"plain{n}": (texts["one"], [True], n % 2) for n in range(30)}
    found |= {
        "by_index": (texts["two"], [True, False], 0),
        "by_text": (texts["two"], [False, False], 0),
        "half": (texts["two"], [True, True], 0),
        "all": (texts["two"], [False, True], 1),
        "tie": (texts["one"], [True], 0),
    }
    labels: list[dict[str, Any]] = [{"id": name, "label": row[2]} for name, row in found.items()]
    labels += [{"id": "by_index", "statement": n, "label": value} for n, value in ((0, 0), (1, 1))]
    labels += [
        {"id": "by_text", "text": text, "label": text == "It is red."} for text in texts["two"]
    ]
    labels += [{"id": "half", "statement": 0, "label": 1}, {"id": "by_text", "label": 0}]
    labels[0]["note"] = NOTE
    labels += [{"id": "tie", "label": 1, "annotator": "ann"}]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    run = Run(
        [
            graded_row(n, name, faithfulness(list(zip(row[0], row[1], strict=True))))
            for n, (name, row) in enumerate(found.items())
        ],
        manifest={"identity": {"judge": "openai/m", "graders": {"faithfulness": "1"}}},
        samples={
            name: StoredSample(
                name, question=f"{name[:6]}?", answer=" ".join(row[0]), chunks=chunks
            )
            for name, row in found.items()
        },
    )
    teaching = prepare_teaching(run, "labels.jsonl", budget=len(found))
    rows = {row.id: row for row in teaching.rows}

    def script(request: JudgeRequest) -> Answer:
        if request.question == "half?":
            return HttpError(400, "too long")
        return verdict(request, "tall" not in str(request.answer))

    judge = scripted(script)
    receipt = teaching.learn().receipt

    def shown(name: str) -> list[tuple[bool, list[int]]]:
        example = rows[name].example
        assert example is not None
        return [
            (one["is_supported"], one["supporting_chunk_ids"])
            for one in example["result"]["statements"]
        ]

    assert list(rows) == [name for name in found if name != "tie"]
    assert shown("by_index") == [(False, []), (True, [1])]
    assert shown("by_text") == [(True, [1]), (False, [])]
    assert shown("all") == [(True, [1]), (True, [0])]
    assert shown("plain0") == [(False, [])]
    assert shown("plain1") == [(True, [0])]
    assert rows["half"].example is None
    assert [rows[name].judged for name in ("plain0", "by_index", "all", "half")] == [
        True, False, False, True,
    ]  # fmt: skip
    reasons = [
        (rows[name].example or {})["result"]["statements"][0]["reasoning"]
        for name in ("plain0", "plain1", "by_index")
    ]
    assert reasons == [NOTE, "People decided: supported.", "People decided: not supported."]
    assert [rows[name].note for name in ("plain0", "plain1")] == [NOTE, ""]
    # Chunks without metadata are asked about too. Wrong before: 15 plain rows, "half" and "all";
    # after: the same, as the judge fails on "half", and agreement with nobody is none.
    assert [tuple(request.chunks) for request in judge.requests] == [chunks] * 34
    assert (receipt.before, receipt.after) == (1 / 2, 1 / 2)


def test_a_prompt_that_shows_metadata_is_taught_with_it(scripted: Start) -> None:
    """Each row is judged with its own chunk and its metadata, as in the run."""
    Path("dated.jinja").write_text(
        "---\nname: dated\nresponse_model: pass_fail\n---\n"
        "Pass what is of its year.\n\nQuestion: {{ question }}\nAnswer: {{ answer }}\n"
        "{% for chunk in chunks %}\n[{{ chunk.metadata.date }}] {{ chunk.text }}\n{% endfor %}\n"
    )
    rows = [
        {
            "id": f"r{n}",
            "question": f"Question {n}?",
            "answer": "It opened.",
            "context": [{"text": f"Text {n}.", "date": f"year {1800 + n}"}],
        }
        for n in range(30)
    ]
    labels = [{"id": row["id"], "label": n % 2} for n, row in enumerate(rows)]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    scripted(lambda _: {"reasoning": "It is.", "passed": True})
    path = Path("dated.jinja")
    evaluate(rows, grader_from_file(path), "openai/m", out="run", progress=False)
    judge = scripted(lambda _: {"reasoning": "It is.", "passed": True})
    prepare_teaching("run", "labels.jsonl", prompt=path, budget=30).learn()

    asked = [str(request.messages) for request in judge.requests]
    assert len(asked) == 30
    for n in range(30):
        assert sum(f"[year {1800 + n}] Text {n}." in one for one in asked) == 1


def _plain_rows(count: int = 40) -> list[LabelledRow]:
    """Return rows of questions of their own, of which the judge gets one in four wrong."""
    return [
        LabelledRow(f"r{n}", f"q{n}", n % 2 == 0, (n % 2 == 0) is not (n % 4 == 0), {"answer": "a"})
        for n in range(count)
    ]


@pytest.mark.parametrize("sizes", [(8,), (4,), SIZES])
def test_the_gain_is_that_on_questions_that_were_not_taught(sizes: Sequence[int]) -> None:
    """Four examples make a judge right: agreement rises by 1/4 with four, and falls with eight.

    The size that works is found, if it may be searched, and as many rows are asked as were told.
    """
    rows, asked = _plain_rows(), 0

    def ask(examples: Sequence[LabelledRow], tested: Sequence[LabelledRow]) -> list[bool]:
        nonlocal asked
        asked += len(tested)
        assert not {row.question for row in examples} & {row.question for row in tested}
        return [row.label is (len(examples) == 4) for row in tested]

    examples, gain = learn(rows, ask, sizes=sizes)

    assert len(examples) == (8 if sizes == (8,) else 4)
    assert gain.estimate == pytest.approx(-3 / 4 if sizes == (8,) else 1 / 4)
    assert asked == count_calls(rows, sizes)


@pytest.mark.parametrize("count", [2, 5, 10])
def test_errors_are_spread_over_the_folds(count: int) -> None:
    """Of 40 rows ten are judged wrongly: as many of them are tested in each fold."""
    rows = _plain_rows()
    folds = list(split_questions(rows, count))

    assert len(folds) == count
    for taught, tested in folds:
        assert sum(row.judged != row.label for row in tested) == 10 / count
        assert sum(row.judged != row.label for row in taught) == 10 - 10 / count
        assert len(tested) == 40 / count


def test_calls_counted_by_hand() -> None:
    """Each of 40 rows once; in a search each size is tried on half of 32 rows five times, and 40.

    Halves of the questions are tested: 16 of each 32, and 20 of all 40.
    """
    assert count_calls(_plain_rows(), (8,)) == 40
    assert count_calls(_plain_rows(), (8, 4)) == 40 + 2 * (5 * 16 + 20)
    # Of 11 questions, 8 are left for one fold and 9 for four; the larger half is tested.
    assert count_calls(_plain_rows(11), (8, 4)) == 11 + 2 * (4 + 4 * 5 + 6)


def test_examples_take_turns_by_kind() -> None:
    """Wrongly accepted, wrongly rejected, rightly rejected, rightly accepted, and again."""
    kinds = [(True, True), (False, False), (True, False), (False, True)]
    rows = [
        LabelledRow(f"r{n}{m}", f"q{n}{m}", label, judged, {"answer": f"{n} {m}"})
        for n, (label, judged) in enumerate(kinds)
        for m in range(2)
    ]
    chosen = choose_examples(rows, 8)

    assert [(row.label, row.judged) for row in chosen] == [*kinds[::-1], *kinds[::-1]]
    assert choose_examples(rows, 3) == chosen[:3]
    assert choose_examples(rows, 20) == chosen


def test_errors_differ_and_right_rows_are_like_them() -> None:
    """Of more errors the one with the fewest words in common comes next; of right rows the most."""
    wrong = [
        LabelledRow(name, name, False, True, {"answer": words})
        for name, words in (("a", "red blue"), ("b", "red blue green"), ("c", "white black"))
    ]
    right = [
        LabelledRow(name, name, False, False, {"answer": words})
        for name, words in (
            ("long", f"red blue {'more ' * 9}of it"),
            ("d", "white"),
            ("e", "red blue"),
        )
    ]
    chosen = choose_examples([*wrong, *right], 6)

    # What is long has words in common with anything: their share counts.
    assert [row.id for row in chosen] == ["a", "e", "c", "d", "b", "long"]


@pytest.mark.slow
def test_a_planted_rule_is_proved_and_random_labels_are_not() -> None:
    """Of 20 draws with 50 labels nearly all are proved; of 40 with random labels nearly none."""
    found = sum(gain(seed).low > 0 for seed in range(20))
    chance = sum(gain(seed, is_random=True).low > 0 for seed in range(40))

    assert found >= 18
    assert chance <= 3


def test_examples_are_errors_of_both_kinds_and_rows_like_them() -> None:
    """The kinds take turns, one row a question; rows without an example are left out."""
    rows, _ = simulated(3, share=0.35)
    rows[0] = LabelledRow("r0", "q0", True, False, None)
    chosen = choose_examples(rows, 8)

    assert len(chosen) == len({row.question for row in chosen}) == 8
    assert (chosen[0].label, chosen[0].judged) == (False, True)
    assert len({(row.label, row.judged) for row in chosen}) >= 3
    assert all(row.example is not None for row in chosen)
    for taught, tested in split_questions(rows, 5):
        assert not {row.question for row in taught} & {row.question for row in tested}
        assert len(taught) + len(tested) == 50


def test_a_score_alone_is_no_suspicious_label() -> None:
    """Only rows with verdicts and a label of yes or no are listed."""
    found = {"a": [("It is red.", True)], "b": [("It is old.", True)], "c": [("It is.", True)]}
    records = [
        *(graded_row(n, name, faithfulness(row)) for n, (name, row) in enumerate(found.items())),
        record(3, "d", 1.0),
    ]
    run = Run(
        records, samples={name: StoredSample(name, chunks=("It is red.",)) for name in "abcd"}
    )
    labels = [
        {"id": name, "label": value} for name, value in zip("abcd", (1, 0, 0.5, 1), strict=True)
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    first, second = suspicious_labels(run, "labels.jsonl")

    # The embedded judge and the run's judge support "a"; only the latter supports "b".
    assert (first.sample_id, first.text, first.label, first.judged) == (
        "b",
        "It is old.",
        False,
        True,
    )
    assert (second.sample_id, second.label) == ("a", True)
    assert 0.5 <= first.suspicion < 1
    assert second.suspicion < 0.3


def test_a_label_is_doubted_by_either_judge() -> None:
    """Of equal labels on equal statements, that which the run's judge denies is the first."""
    found = {"a": [("It is red.", True)], "b": [("It is red.", False)]}
    run = Run(
        [graded_row(n, name, faithfulness(row)) for n, (name, row) in enumerate(found.items())],
        samples={name: StoredSample(name, chunks=("It is red.",)) for name in "ab"},
    )
    Path("labels.jsonl").write_text('{"id": "a", "label": 1}\n{"id": "b", "label": 1}\n')
    first, second = suspicious_labels(run, "labels.jsonl")

    assert [(one.sample_id, one.judged) for one in (first, second)] == [("b", False), ("a", True)]
    assert first.suspicion == pytest.approx(second.suspicion + 0.5)


def test_wrong_labels_are_listed_first(command: Command) -> None:
    """Of 16 flipped labels of 100, most are in the first fifth of the list; nothing is asked."""
    rows = list(labelled_rows(100))
    evaluate(rows, client="embedded", out="run", progress=False)
    wrong = set(random.Random(0).sample(range(100), 16))
    labels = [
        {"id": row["id"], "label": int(row["label"]) ^ int(place in wrong)}
        for place, row in enumerate(rows)
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    flipped = {rows[place]["id"] for place in wrong}

    first = suspicious_labels("run", "labels.jsonl")[:20]
    assert len(flipped & {one.sample_id for one in first}) >= 0.6 * len(flipped)
    refused = command("judge", "teach", "run", "labels.jsonl")
    assert refused.code == 2
    assert "the run's judge 'embedded' does not use a prompt" in refused.err


@pytest.mark.parametrize("budget", [None, 40])
def test_labels_of_one_question_are_refused(scripted: Start, budget: int | None) -> None:
    """There is no other question to measure the gain on; two are enough to plan."""
    scripted(shop_judge)
    rows = shop_rows()
    graded([{**row, "question": "What does it cost?"} for row in rows])
    with pytest.raises(TooFewLabelsError, match="all 40 labelled rows have the same question"):
        prepare_teaching("run", "labels.jsonl", budget=budget)

    two = [row | {"question": f"What does it cost in shop {n % 2}?"} for n, row in enumerate(rows)]
    evaluate(two, client="openai/m", out="two", progress=False)
    assert prepare_teaching("two", "labels.jsonl", budget=budget).calls >= 40


def _receipt(**more: Any) -> Receipt:
    values: dict[str, Any] = {
        "judge": "openai/m", "labels": 40, "questions": 12, "before": 0.61234567,
        "after": 0.71234567, "gain": Interval(0.1, 0.0456789, 0.1543211), "examples": 8, "peers": 0,
        "calls": 321, "labels_from": ("a.jsonl", "b.jsonl"), "date": "2026-01-02",
        "fingerprint": "f00",
    }  # fmt: skip
    return Receipt(**(values | more))


def test_a_receipt_says_its_numbers() -> None:
    """In percent; a gain whose interval starts at 0 is not proved."""
    receipt, lost = _receipt(), _receipt(gain=Interval(0.1, 0.0, 0.2), peers=3)

    assert (receipt.proved, lost.proved) == (True, False)
    assert str(receipt).splitlines() == [
        "openai/m: 40 labelled rows of 12 questions, 8 examples, 321 calls",
        "  agreement before    61.2%",
        "  agreement after     71.2%, on questions left out of teaching",
        "  gain                +10.0% [+4.6%, +15.4%]",
    ]
    assert str(lost).splitlines()[0] == (
        "openai/m: 40 labelled rows of 12 questions, 8 examples, 3 more for other answers to the "
        "same question, 321 calls"
    )
    assert str(lost).splitlines()[3] == (
        "  gain                +10.0% [+0.0%, +20.0%]: not proved, the interval includes 0"
    )
    header = {
        "judge": "openai/m", "labels": 40, "questions": 12, "before": 0.6123, "after": 0.7123,
        "gain": [0.1, 0.0457, 0.1543], "examples": 8, "peers": 0, "calls": 321,
        "labels_from": ["a.jsonl", "b.jsonl"], "date": "2026-01-02", "fingerprint": "f00",
    }  # fmt: skip
    assert receipt.header() == header
    assert lost.header()["warning"] == "the gain is not proved: its interval includes 0"
    Lesson(receipt, "text é").write("taught.jinja")
    assert Path("taught.jinja").read_bytes() == "text é".encode()
    told = r"the gain of \+10.0% has an interval from \+0.0% to \+20.0%, which includes 0"
    with pytest.raises(ConfigurationError, match=told):
        Lesson(lost, "other").write("taught.jinja")
    Lesson(lost, "other").write("taught.jinja", anyway=True)
    assert Path("taught.jinja").read_text() == "other"


def test_a_gain_is_compared_by_question() -> None:
    """Each row before and after on its own; all rows of a question are one cluster."""
    rows = [
        LabelledRow(f"r{n}", f"q{n // 2}", n % 3 > 0, (n % 3 > 0) is (n % 4 > 0), {"answer": "a"})
        for n in range(40)
    ]

    def ask(_: Sequence[LabelledRow], tested: Sequence[LabelledRow]) -> list[bool]:
        return [row.label is (int(row.id[1:]) % 5 > 0) for row in tested]

    _, found = learn(rows, ask, sizes=(4,))
    before = [float(n % 4 > 0) for n in range(40)]
    after = [float(n % 5 > 0) for n in range(40)]
    questions = [n // 2 for n in range(40)]
    assert found == compare_paired(before, after, clusters=questions).difference
    assert found != compare_paired(before, after).difference


def test_the_budget_says_how_many_sizes_are_tried(scripted: Start) -> None:
    """Of 40 rows one size takes 40 calls, and each of two or three another 100."""
    scripted(shop_judge)
    graded(shop_rows())
    for budget, sizes in ((40, 1), (239, 1), (240, 2), (339, 2), (340, 3)):
        teaching = prepare_teaching("run", "labels.jsonl", budget=budget)
        assert list(teaching.sizes) == [8, 4, 12][:sizes]
        assert teaching.calls == (40 if sizes == 1 else 40 + 100 * sizes)
        assert (teaching.judge, len(teaching.rows)) == ("openai/m", 40)


def test_a_lesson_is_bound_to_its_labels_judge_and_prompt(scripted: Start) -> None:
    """Its fingerprint is that of all three, and the date and the file of labels are told."""
    scripted(shop_judge)
    graded(shop_rows())
    teaching = prepare_teaching("run", "labels.jsonl", budget=40)
    receipt = teaching.learn().receipt
    labels = [[row.id, row.label] for row in teaching.rows]

    expected = fingerprint(labels, "openai/m", Prompt.shipped("score_faithfulness").sources())
    assert receipt.fingerprint == expected[:16]
    assert receipt.labels_from == ("labels.jsonl",)
    assert (receipt.judge, receipt.labels, receipt.questions) == ("openai/m", 40, 40)
    assert (receipt.calls, receipt.peers, receipt.examples) == (40, 0, 8)
    assert date.fromisoformat(receipt.date).isoformat() == receipt.date
