"""The page to label, in a real browser: by key, click and touch, from its own words alone."""

import json
import time
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from rag_evals import agreement, evaluate, load_run
from rag_evals.analysis.labels import read_labels
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.report.label_page import RowToLabel, label_html, rows_to_label
from rag_evals.report.tables import View
from rag_evals.run import Run, StoredSample
from rag_evals.score_abstention import AbstentionLabel, AbstentionResult
from rag_evals.score_relevance import AnswerRelevanceResult, AspectEvaluation
from tests.analysis.runs import graded, record, statements_run
from tests.conftest import Command
from tests.labelled import labelled_rows
from tests.report.browser import Browser

IN_SIGHT = """
const mark = document.querySelector('#passages mark').getBoundingClientRect();
const area = document.querySelector('#passages').getBoundingClientRect();
const buttons = document.querySelector('.answers').getBoundingClientRect();
return mark.height > 0 && mark.top >= area.top - 1 && mark.bottom <= area.bottom + 1
    && area.bottom <= buttons.top + 1 && buttons.bottom <= innerHeight
    && document.documentElement.scrollWidth <= innerWidth
"""
LONG = " ".join(f"Room {number} is open on weekdays." for number in range(300))


@pytest.fixture(scope="module")
def labelled() -> Run:
    """Grade 60 rows, each with a chunk that is longer than a screen."""
    rows = [{**row, "context": [*row["context"], LONG + row["context"][1]]}
            for row in labelled_rows()]  # fmt: skip
    return evaluate(rows, client="embedded", progress=False)


def one_statement_rows() -> Run:
    """Make a run of four rows with one statement each, lowest score first."""
    return statements_run({name: [(f"{name} is so.", name > "b")] for name in ("a", "b", "c", "d")})


def sure_and_unsure_rows(sure: float = 0.99) -> Run:
    """Make a run of 80 rows with one statement each; every fourth verdict is a coin's."""
    supports = {f"r{n}": 0.55 if n % 4 == 0 else sure for n in range(80)}
    records = [
        record(n, name, 1.0, findings=[
            {"text": f"{name} is so.", "verdict": True, "label": "supported", "support": support,
             "decided_by": "embedded", "about": "statement"}
        ])
        for n, (name, support) in enumerate(supports.items())
    ]  # fmt: skip
    return Run(records, samples={name: StoredSample(name) for name in supports})


@pytest.mark.slow
def test_the_focus_draws_what_is_unsure_and_keeps_its_chance() -> None:
    """A row is drawn as often as one over its weight says; a decision more is never asked."""
    run = sure_and_unsure_rows()
    drawn = [rows_to_label(run, 20, focus="uncertain", seed=seed) for seed in range(400)]
    weights = {one.sample_id: one.weight or 0 for rows in drawn for one in rows}
    times = Counter(one.sample_id for rows in drawn for one in rows)

    assert {len(rows) for rows in drawn} == {20}
    assert weights["r0"] < 2 < 5 < weights["r1"]
    for name in ("r0", "r1", "r2", "r40", "r79"):
        assert times[name] / 400 == pytest.approx(1 / weights[name], abs=0.08)
    totals = [sum(one.weight or 0 for one in rows) for rows in drawn]
    assert sum(totals) / 400 == pytest.approx(80, rel=0.02)
    assert {one.weight for one in rows_to_label(run, 20)} == {None}
    with pytest.raises(ConfigurationError, match="does not record how certain its verdicts are"):
        rows_to_label(one_statement_rows(), 2, focus="uncertain")


def test_weights_travel_with_labels(browser: Browser, tmp_path: Path) -> None:
    """The saved line has the row's weight, and agreement weighs by it."""
    run = sure_and_unsure_rows()
    drawn = rows_to_label(run, 20, focus="uncertain", seed=1)
    (tmp_path / "label.html").write_text(label_html(run, drawn, View()), encoding="utf-8")
    browser.open(tmp_path / "label.html")
    begin(browser)
    right = [number % 3 > 0 for number in range(len(drawn))]
    for says in right:
        browser.press("y" if says else "n")
    lines = saved(browser)
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    weights = [one.weight for one in drawn]

    assert [line["weight"] for line in lines] == weights
    found = agreement(run, file).tables[0]
    share = sum(w for w, says in zip(weights, right, strict=True) if w and says) / sum(
        w or 0 for w in weights
    )
    assert found.agreement.raw_agreement.estimate == pytest.approx(share)
    assert share != pytest.approx(sum(right) / len(right), abs=0.01)
    assert found.agreement.confusion.true_positives == sum(right)
    assert "rates are weighted, because rows were drawn" in str(agreement(run, file))
    for line in lines[:3]:
        del line["weight"]
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DataError, match="17 of 20 labels were drawn with --focus uncertain"):
        agreement(run, file)


def test_a_second_look_replaces_a_label(
    browser: Browser, tmp_path: Path, command: Command, labelled: Run
) -> None:
    """The page asks about suspicious labels only, and its decisions count; both are kept."""
    run = evaluate(labelled_rows(), client="embedded", progress=False, out=tmp_path / "run")
    placed = [(o.sample_id, n, one) for o in run for n, one in enumerate(o.findings)]
    flipped = [(name, one.text) for name, _, one in placed if one.verdict][:2]
    (tmp_path / "run" / "labels.jsonl").write_text("\n".join(
        json.dumps({"sample_id": name, "grader": "faithfulness", "statement": n, "text": one.text,
                    "label": bool(one.verdict) is not ((name, one.text) in flipped)})
        for name, n, one in placed
    ))  # fmt: skip
    command("judge", "label", str(tmp_path / "run"), "--focus", "suspicious", "--decisions", "2")
    browser.open(tmp_path / "run" / "label.html")
    begin(browser)
    for _ in flipped:
        browser.press("y")
    lines = saved(browser)
    (tmp_path / "run" / "labels-again.jsonl").write_text("\n".join(map(json.dumps, lines)))

    assert {(line["sample_id"], line["text"]) for line in lines} == set(flipped)
    assert all(line["second_look"] for line in lines)
    read = read_labels((), load_run(tmp_path / "run"))
    assert len(read) == len(placed)
    assert {one.value for one in read if (one.sample_id, one.text) in flipped} == {1.0}


def opened(browser: Browser, folder: Path, run: Run, most: int = 50, **how: Any) -> Path:
    """Write the page, open it, and start."""
    language = how.pop("language", "en")
    page = folder / "label.html"
    drawn = rows_to_label(run, most)
    html = label_html(run, drawn, View(language=language), **how)
    page.write_text(html, encoding="utf-8")
    browser.open(page)
    return page


def begin(browser: Browser) -> None:
    """Press the button that starts."""
    browser.driver.find_element(By.ID, "start").click()


def key(browser: Browser, sign: str, code: str, *, repeat: bool = False) -> None:
    """Press a key of another keyboard: what it writes, and where it lies."""
    browser.run(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', "
        "{key: arguments[0], code: arguments[1], repeat: arguments[2], bubbles: true}))",
        sign,
        code,
        repeat,
    )


def kept(browser: Browser) -> dict[str, Any]:
    """Return what the browser keeps, by row id."""
    text = browser.run(
        "return Object.entries(localStorage).find(([name]) => name.startsWith('rag-evals:'))[1]"
    )
    return {entry["sample_id"]: entry for entry in json.loads(text)["said"]}


def saved(browser: Browser) -> list[dict[str, Any]]:
    """Save the labels, and read the file."""
    browser.driver.find_element(By.ID, "save").click()
    file = browser.downloads / "labels.jsonl"
    for _ in range(300):
        if file.exists() and file.stat().st_size:
            break
        browser.run("return new Promise(done => setTimeout(done, 10))")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    file.unlink()
    return lines


@pytest.mark.slow
def test_an_expert_decides_from_the_pages_own_words(
    browser: Browser, tmp_path: Path, labelled: Run
) -> None:
    """50 decisions, each with its passage in sight; then a plain sentence."""
    right = {
        (row["id"], one["text"]): bool(one["label"])
        for row in labelled_rows()
        for one in row["statements"]
    }
    opened(browser, tmp_path, labelled)
    assert "There are 50 decisions; they take about 12 min." in browser.texts("#intro")[0]
    browser.driver.find_element(By.ID, "name").send_keys("Anna")
    begin(browser)
    total, agreed, denied, passed = 0, 0, 0, 0
    verdicts = {
        (outcome.sample_id, one.text): one.verdict
        for outcome in labelled.outcomes
        for one in outcome.findings
    }
    order = [
        (row.sample_id, one.text)
        for row in rows_to_label(labelled, 50)
        for one in labelled[row.sample_id][0].findings
    ]
    spent = []
    for number, decision in enumerate(order):
        browser.size(*((1440, 900) if number % 2 else (390, 844)))
        browser.run("dispatchEvent(new Event('resize'))")
        assert browser.texts("#statement") == [decision[1]]
        assert browser.run(IN_SIGHT), decision
        says = right[decision]
        began = time.perf_counter()
        browser.press("1" if says else "2")
        spent.append(time.perf_counter() - began)
        total, agreed = total + 1, agreed + (says == verdicts[decision])
        denied, passed = denied + (not says), passed + (not says and bool(verdicts[decision]))

    assert browser.texts("#closing") == [f"You and the judge agree on {agreed} of {total}."]
    assert browser.texts("#passing") == [
        f"The judge passes {passed} of {denied} claims that you marked as unsupported."
    ]
    # No test reads the clock to decide: `pytest -s` shows it.
    print(f"median time of a decision: {sorted(spent)[len(spent) // 2]:.3f} s")
    lines = saved(browser)
    assert {line["annotator"] for line in lines} == {"Anna"}
    assert len(lines) == total == 50
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (statements, _) = agreement(labelled, file).tables
    counted = statements.agreement.confusion
    assert sum(astuple(counted)) == total
    assert counted.false_positives == passed


def test_the_verdict_is_hidden_until_the_decision(browser: Browser, tmp_path: Path) -> None:
    """It is said of the last one; with `shown` it is there before."""
    run = one_statement_rows()
    opened(browser, tmp_path, run)
    begin(browser)
    assert "supported" not in browser.run("return document.getElementById('ask').innerText")
    browser.press("y")
    assert browser.texts("#last") == ["Last decision: you said yes; the judge says: not supported."]
    browser.run("localStorage.clear()")
    opened(browser, tmp_path, run, shown=True)
    begin(browser)
    assert browser.texts("#last") == ["The judge says: not supported."]


def test_back_undo_note_stop_and_go_on(browser: Browser, tmp_path: Path) -> None:
    """A reload continues; undo takes the last one back; "partly" counts as no."""
    run = one_statement_rows()
    page = opened(browser, tmp_path, run)
    begin(browser)
    browser.press("3", "e")
    browser.press("Which year?", Keys.ENTER)
    browser.press("4")
    assert browser.texts("#done") == ["3 of 4 (2 done)"]
    browser.press("u")
    assert browser.texts("#statement") == ["b is so."]
    browser.press("1", Keys.ARROW_LEFT)
    assert browser.texts("[data-answer][aria-pressed=true]") == ["Yes 1"]
    browser.open(page)
    assert "2 labels found" in browser.texts("#told")[0]
    begin(browser)
    assert browser.texts("#statement") == ["c is so."]
    browser.driver.find_element(By.ID, "stop").click()
    assert browser.texts("#closing") == ["You and the judge agree on 1 of 2."]
    browser.driver.find_element(By.ID, "continue").click()
    browser.press("4", "1")
    said = kept(browser)
    assert {name: (e["answer"], e["label"], e["agrees"]) for name, e in said.items()} == {
        "a": ("partly", False, True), "b": ("yes", True, False), "c": ("unsure", None, None),
        "d": ("yes", True, True),
    }  # fmt: skip
    assert said["b"]["note"] == "Which year?"


def test_cannot_tell_is_no_label(browser: Browser, tmp_path: Path) -> None:
    """It is saved, and `agreement` counts it as none."""
    run = one_statement_rows()
    opened(browser, tmp_path, run)
    begin(browser)
    browser.press("4", "4", "4", "4")
    assert browser.texts("#closing") == ["You and the judge agree on 0 of 0."]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in saved(browser)))
    with pytest.raises(DataError, match="there are no labels"):
        agreement(run, file)


@pytest.mark.parametrize(
    ("sign", "code", "answer"),
    [
        ("н", "KeyY", "yes"), ("т", "KeyN", "no"),  # Russian
        ("υ", "KeyY", "yes"), ("ى", "KeyN", "no"),  # Greek, Arabic
        ("Y", "KeyY", "yes"), ("&", "Digit1", "yes"),  # Shift; digits of a French keyboard
        ("y", "KeyZ", "yes"),  # German: the key with a Y on it
        ("3", "Numpad3", "partly"), ("c", "KeyC", "unsure"),
    ],
)  # fmt: skip
def test_keys_work_on_any_keyboard(
    sign: str, code: str, answer: str, browser: Browser, tmp_path: Path
) -> None:
    """The letter on the key where it is Latin, else its place; digits by their place."""
    opened(browser, tmp_path, one_statement_rows())
    begin(browser)
    key(browser, sign, code)

    assert kept(browser)["a"]["answer"] == answer


def test_a_key_held_down_decides_once(browser: Browser, tmp_path: Path) -> None:
    """Repeats of the keyboard decide nothing, nor do keys that mean something else."""
    opened(browser, tmp_path, one_statement_rows())
    begin(browser)
    key(browser, "1", "Digit1")
    for _ in range(5):
        key(browser, "1", "Digit1", repeat=True)
    key(browser, "q", "KeyQ")

    assert list(kept(browser)) == ["a"]


def test_a_finger_is_enough(browser: Browser, tmp_path: Path) -> None:
    """Touches on a phone decide, and no button is smaller than a finger."""
    browser.size(390, 844)
    opened(browser, tmp_path, one_statement_rows())
    begin(browser)
    for answer in ("yes", "no", "partly", "unsure"):
        x, y, height = browser.run(
            "const r = document.querySelector(`[data-answer=${arguments[0]}]`)"
            ".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2, r.height]",
            answer,
        )
        assert height >= 44
        point = [{"x": x, "y": y}]
        for kind, points in (("touchStart", point), ("touchEnd", [])):
            browser.driver.execute_cdp_cmd(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
            )
        browser.wait(f"return document.querySelector('#progress').value > {len(kept_or(browser))}")
    assert [entry["answer"] for entry in kept(browser).values()] == [
        "yes", "no", "partly", "unsure",
    ]  # fmt: skip


def kept_or(browser: Browser) -> dict[str, Any]:
    """Return what the browser kept before this decision; nothing at first."""
    done = browser.run("return +document.querySelector('#progress').value")
    return dict(list(kept(browser).items())[: done - 1]) if done else {}


def test_a_file_of_labels_is_taken_in(browser: Browser, tmp_path: Path) -> None:
    """What is of other rows or people is kept, a torn line is said, and nothing is lost."""
    line = {"sample_id": "a", "grader": "faithfulness", "statement": 0, "text": "a is so.",
            "label": True, "agrees": False, "annotator": "Anna"}  # fmt: skip
    others = [{**line, "sample_id": "z"}, {**line, "annotator": "Boris", "label": False}]
    file = tmp_path / "before.jsonl"
    text = "\n".join(map(json.dumps, [line, *others])) + '\n{"sample_id": "b", "gra'
    file.write_text(text)
    opened(browser, tmp_path, one_statement_rows())
    browser.driver.find_element(By.ID, "file").send_keys(str(file))
    browser.wait("return document.getElementById('told').textContent")

    assert browser.texts("#told") == [
        "1 label found: continue where you stopped. "
        "2 labels belong to other rows or people and are kept. 1 line cannot be read."
    ]
    begin(browser)
    assert browser.texts("#statement") == ["b is so."]
    browser.press("1")
    browser.driver.find_element(By.ID, "stop").click()
    lines = saved(browser)
    assert [(one["sample_id"], one["annotator"]) for one in lines] == [
        ("z", "Anna"), ("a", "Boris"), ("a", "Anna"), ("b", "Anna"),
    ]  # fmt: skip


def test_what_has_no_yes_or_no_is_not_asked(browser: Browser, tmp_path: Path) -> None:
    """Ratings are left out; a verdict on the whole answer shows the answer."""
    labels = {"answerable": AbstentionLabel(label="yes"), "abstained": AbstentionLabel(label="no")}
    relevance = AnswerRelevanceResult(
        topical_match=AspectEvaluation(label="yes"),
        completeness=AspectEvaluation(label="partly"),
        conciseness=AspectEvaluation(label="no"),
    )
    rows = [
        graded(0, "a", relevance, grader="answer_relevance"),
        graded(1, "b", AbstentionResult(**labels), grader="abstention"),
    ]
    assert [row[:2] for row in rows_to_label(Run(rows), 9)] == [("b", "abstention")]
    opened(browser, tmp_path, Run(rows))
    begin(browser)
    assert browser.texts("#ask-words") == ["Is this correct?"]


def test_huge_answers_and_many_chunks_scroll(browser: Browser, tmp_path: Path) -> None:
    """A statement of 2 MB and 500 chunks: the question stays in sight, and so do the buttons."""
    text = "It was completed in 1923. " + "x " * 1_000_000
    chunks = [f"Chunk {number} says nothing of it." for number in range(499)]
    row = {"id": "a", "answer": "It was completed in 1923.",
           "context": [*chunks, "It was completed in 1889."]}  # fmt: skip
    run = evaluate([row], client="embedded", progress=False)
    html = label_html(run, [RowToLabel("a", "faithfulness")], View())
    page = tmp_path / "label.html"
    page.write_text(html)
    browser.open(page)
    begin(browser)
    browser.run("document.getElementById('statement').textContent = arguments[0]", text)

    assert browser.run(IN_SIGHT)
    assert browser.texts("#passages mark") == ["It was completed in 1889."]
    browser.run("document.querySelector('#passages details').open = true")
    browser.wait("return document.querySelectorAll('#passages .chunk').length === 500")


def test_the_page_speaks_russian(browser: Browser, tmp_path: Path) -> None:
    """Every word of it, the closing sentence with its plural too."""
    opened(browser, tmp_path, one_statement_rows(), language="ru")
    assert "Всего 4 решения" in browser.texts("#intro")[0]
    begin(browser)
    assert browser.texts("#ask-words") == ["Говорят ли это фрагменты?"]
    browser.press("2", "2", "2", "1")

    assert browser.texts("#closing") == ["Вы и судья согласны в 3 из 4."]
    assert browser.texts("#passing") == [
        "Он пропустил 1 из 3 утверждений, которые вы считаете неподтверждёнными."
    ]
