"""The page in a real browser: it renders, filters, opens, highlights, labels and exports."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from rag_evals.analysis import agreement, compare
from rag_evals.errors import DataError
from rag_evals.report import comparison_html, report_html
from rag_evals.run import Run
from rag_evals.score_abstention import AbstentionLabel, AbstentionResult
from rag_evals.score_relevance import AnswerRelevanceResult, AspectEvaluation
from tests.analysis.runs import graded, record, scores_run, statements_run
from tests.report.browser import Browser
from tests.report.pages import TOWER, stored, write_page


def test_the_top_says_what_the_score_rests_on(browser: Browser, tmp_path: Path) -> None:
    """Score, percent, interval, counts with reasons, bands, charts, groups and settings."""
    browser.open(write_page(tmp_path, by="topic"))
    card = browser.texts(".card")[0]

    assert "faithfulness" in card
    assert "0.67 66.7 %" in card
    assert "95 % interval 0." in card
    assert "0.444 with failed rows as 0" in card
    assert "2 scored of 4; 1 JudgeOutputError, 1 empty_context; 1 warnings" in card
    assert "high 1" in card
    assert "towers" in card
    assert len(browser.texts(".card:first-child svg")) == 2
    facts = browser.texts(".facts")[0]
    assert "embedded" in facts
    assert "f" * 64 in facts


def test_rows_come_worst_first_and_sort_by_any_column(browser: Browser, tmp_path: Path) -> None:
    """Failed rows, then low scores; a click on a heading sorts, a second one turns it round."""
    browser.open(write_page(tmp_path))
    assert [name.split(" ")[0] for name in browser.ids()] == [
        "lost", "eiffel", "eiffel", "canberra", "canberra", "empty",
    ]  # fmt: skip

    for direction in ("ascending", "descending"):
        browser.run("document.querySelector('[data-sort=id]').click()")
        names = [name.split(" ")[0] for name in browser.ids()]
        assert names == sorted(names, reverse=direction == "descending")
        assert browser.run(
            "return document.querySelector(`[aria-sort=${arguments[0]}]`)", direction
        )


def test_rows_can_be_filtered(browser: Browser, tmp_path: Path) -> None:
    """By words of any text, band, outcome, verdict and grader; the count says how many are left."""
    browser.open(write_page(tmp_path))
    browser.driver.find_element(By.ID, "search").send_keys("gustave ALONE")
    browser.wait("return document.querySelectorAll('#rows .row').length === 2")
    assert browser.ids() == ["eiffel · faithfulness", "eiffel · chunk_precision"]
    assert browser.texts("#count") == ["2 of 6 rows"]
    browser.search("")
    for control, value, left in (
        ("band", "0", ["canberra · faithfulness"]),
        ("outcome", "failed", ["lost · faithfulness"]),
        ("verdict", "c", ["eiffel · faithfulness"]),
        ("verdict", "s", ["canberra · faithfulness"]),
        ("verdict", "w", ["eiffel · faithfulness"]),
        ("grader", "chunk_precision", ["eiffel · chunk_precision"]),
    ):
        browser.choose(control, value)
        assert browser.ids() == left, (control, value)
        browser.choose(control, "")
    assert browser.texts("#count") == ["6 rows"]


def test_a_row_opens_into_its_evidence(browser: Browser, tmp_path: Path) -> None:
    """Sentences have the colour of their verdict, cited chunks are marked, quotes highlighted."""
    browser.open(write_page(tmp_path))
    browser.choose("verdict", "c")
    browser.open_row()

    assert browser.texts(".sent.v-s") == ["The Eiffel Tower stands in Paris. "]
    assert browser.texts(".sent.v-c") == ["It was completed in 1923. "]
    # Reworded: found by its words.
    assert browser.texts(".sent.v-n") == ["Gustave designed it alone."]
    assert browser.texts(".item .tag") == [
        "supported · chunk 0", "contradicted", "not in context",
    ]  # fmt: skip
    assert len(browser.texts(".chunk")) == 2
    assert browser.texts(".chunk.cited .tag") == [
        "chunk 0 · title: Guide; url: javascript:alert(1) · cited"
    ]
    # Two signs outside the basic plane stand before the first quote: offsets are code points.
    assert browser.texts("mark:not(.near)") == ["stands in Paris", "in 1889"]
    # Of what the judge quoted nothing for, the nearest passage is found, and what differs.
    assert all(text in TOWER.chunks[0] for text in browser.texts("mark.near"))
    assert any(text.startswith("differs: ") for text in browser.texts(".why-text"))
    assert "Why: It was completed in 1923." in browser.texts(".why-text")
    assert browser.run("return document.querySelectorAll('#detail a').length") == 0


def test_hovering_lights_the_evidence_and_back(browser: Browser, tmp_path: Path) -> None:
    """A statement lights its sentence, chunk and quote; a quote lights its statement."""
    browser.open(write_page(tmp_path))
    browser.choose("verdict", "c")
    browser.open_row()
    hover = (
        "document.querySelectorAll(arguments[0])[arguments[1]]"
        ".dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    browser.run(hover, ".item", 0)
    assert browser.texts(".sent.lit, mark.lit") == [
        "The Eiffel Tower stands in Paris. ", "stands in Paris",
    ]  # fmt: skip
    assert len(browser.texts(".chunk.lit")) == 1

    browser.run(hover, "mark:not(.near)", 1)
    assert browser.texts(".sent.lit") == ["It was completed in 1923. "]
    assert len(browser.texts(".item.lit")) == 1


def test_the_keyboard_is_enough(browser: Browser, tmp_path: Path) -> None:
    """Arrows choose, Enter opens, Escape closes, slash searches, a question mark lists the keys."""
    browser.open(write_page(tmp_path))
    browser.run("document.getElementById('scroll').focus()")
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait("return document.querySelector('#detail .sides')")
    assert browser.texts("#detail h2") == ["eiffel · faithfulness"]
    browser.press("j")
    browser.wait("return document.querySelector('#detail h2').textContent.includes('precision')")
    browser.press(Keys.ESCAPE)
    assert browser.run("return document.getElementById('detail').hidden")
    browser.press("?")
    assert browser.run("return document.getElementById('keys').open")
    browser.run("document.getElementById('close-keys').click()")
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "search"


def test_labels_are_given_by_key_kept_and_exported(browser: Browser, tmp_path: Path) -> None:
    """Keys a and d label one statement after the other; the export is what `agreement` reads."""
    run = stored()
    page = write_page(tmp_path, run)
    browser.open(page)
    browser.choose("verdict", "c")
    browser.open_row()
    browser.press("n", "a", "a", "d", "e")
    browser.press("No source says so.", Keys.TAB)
    browser.driver.find_element(By.ID, "annotator").send_keys("Anna")

    # A reload keeps them; the page of another run does not show them.
    browser.open(page)
    assert browser.texts("#labels") == ["3 labels"]
    browser.choose("verdict", "l")
    assert browser.ids() == ["eiffel · faithfulness"]
    browser.driver.find_element(By.ID, "annotator").send_keys("Anna")
    browser.run("document.getElementById('export').click()")
    exported = browser.downloads / "labels.jsonl"
    for _ in range(300):
        if exported.exists() and exported.stat().st_size:
            break
        browser.run("return new Promise(done => setTimeout(done, 10))")
    lines = [json.loads(line) for line in exported.read_text().splitlines()]
    assert [(line["statement"], line["agrees"], line["label"]) for line in lines] == [
        (0, True, True), (1, True, False), (2, False, True),
    ]  # fmt: skip
    assert lines[2]["note"] == "No source says so."
    assert {line["annotator"] for line in lines} == {"Anna"}
    (statements, _) = agreement(run, exported).tables
    assert statements.agreement.confusion.false_negatives == 1

    other = Run(run.records, manifest={"identity": {"judge": "another"}})
    browser.open(write_page(tmp_path, other))
    assert browser.texts("#labels") == [""]
    exported.unlink()


def labels_of(browser: Browser) -> dict[str, Any]:
    """Return what the browser keeps, by row id and place of the finding."""
    kept = browser.run(
        "return Object.entries(localStorage).find(([name]) => name.startsWith('rag-evals:'))[1]"
    )
    entries = json.loads(kept).values()
    return {f"{entry['sample_id']} {entry['statement']}": entry for entry in entries}


def one_statement_rows() -> Run:
    """Make a run of four rows with one statement each, lowest score first."""
    return statements_run({name: [(f"{name} is so.", name > "b")] for name in ("a", "b", "c", "d")})


def key(browser: Browser, sign: str, code: str, *, repeat: bool = False) -> None:
    """Press a key of another keyboard: what it writes, and where it lies."""
    browser.run(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', "
        "{key: arguments[0], code: arguments[1], repeat: arguments[2], bubbles: true}))",
        sign,
        code,
        repeat,
    )


def shows(browser: Browser, name: str) -> None:
    """Wait until a row is open."""
    browser.wait(f"return document.querySelector('#detail h2').textContent.startsWith('{name} ')")


def test_a_key_labels_and_goes_on_to_the_next_row(browser: Browser, tmp_path: Path) -> None:
    """Rows with one statement too; the last row stays, and the same key again changes nothing."""
    browser.open(write_page(tmp_path, one_statement_rows()))
    browser.open_row()
    for name, pressed in (("a", "a"), ("b", "d"), ("c", "a"), ("d", "d")):
        shows(browser, name)
        browser.press(pressed)
    browser.press("d", "d")
    said = labels_of(browser)

    assert browser.texts("#labels") == ["4 labels"]
    assert {name: (e["agrees"], e["label"]) for name, e in said.items()} == {
        "a 0": (True, False), "b 0": (False, True), "c 0": (True, True), "d 0": (False, False),
    }  # fmt: skip
    browser.press("k", "k")
    shows(browser, "b")
    browser.press("d")
    shows(browser, "c")
    assert labels_of(browser) == said
    browser.press("k", "c")
    assert browser.texts("#labels") == ["3 labels"]
    assert "b 0" not in labels_of(browser)


def test_ratings_between_are_passed_over(browser: Browser, tmp_path: Path) -> None:
    """A key labels the first finding that has a yes or no; a row without any takes no label."""
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
    browser.open(write_page(tmp_path, Run(rows)))
    browser.open_row(0)
    assert browser.texts("#detail h2") == ["a · answer_relevance"]
    assert browser.texts(".item .tag") == ["yes · support 1.00", "partly · support 0.50",
                                           "no · support 0.00"]  # fmt: skip
    browser.press("a", "n", "a")
    assert browser.texts("#labels") == [""]
    browser.press("j")
    shows(browser, "b")
    browser.press("a")

    assert list(labels_of(browser)) == ["b 0"]


def test_a_note_alone_is_no_verdict(browser: Browser, tmp_path: Path) -> None:
    """It is kept and exported, counts as no label, and `agreement` does not take it for one."""
    run = one_statement_rows()
    browser.open(write_page(tmp_path, run))
    browser.open_row()
    browser.press("e", "Which year?", Keys.TAB)
    (entry,) = labels_of(browser).values()

    assert (entry["agrees"], entry["label"], entry["note"]) == (None, None, "Which year?")
    assert browser.texts("#labels") == [""]
    assert browser.run("return document.querySelectorAll('[aria-pressed=true]').length") == 0
    exported = tmp_path / "labels.jsonl"
    exported.write_text(json.dumps(entry) + "\n")
    with pytest.raises(DataError, match="there are no labels"):
        agreement(run, exported)
    browser.choose("verdict", "l")
    assert browser.ids() == []
    browser.choose("verdict", "")
    browser.open_row()
    browser.press("d")
    assert [(e["agrees"], e["note"]) for e in labels_of(browser).values()] == [
        (False, "Which year?")
    ]


@pytest.mark.parametrize(
    ("sign", "code", "agrees"),
    [
        ("ф", "KeyA", True), ("в", "KeyD", False),  # Russian
        ("α", "KeyA", True), ("ش", "KeyA", True),  # Greek, Arabic
        ("A", "KeyA", True), ("Ф", "KeyA", True),  # with Shift or Caps Lock
        ("a", "KeyQ", True),  # French: the key with an A on it
        ("d", "KeyH", False),  # Dvorak
    ],
)  # fmt: skip
def test_keys_work_on_any_keyboard(
    sign: str, code: str, agrees: bool, browser: Browser, tmp_path: Path
) -> None:
    """The letter on the key where it is Latin, else its place."""
    browser.open(write_page(tmp_path, one_statement_rows()))
    browser.open_row()
    key(browser, sign, code)

    assert labels_of(browser)["a 0"]["agrees"] is agrees


def test_a_key_held_down_labels_once(browser: Browser, tmp_path: Path) -> None:
    """Repeats of the keyboard label nothing, nor do keys that mean something else."""
    browser.open(write_page(tmp_path, one_statement_rows()))
    browser.open_row()
    key(browser, "a", "KeyA")
    shows(browser, "b")
    for _ in range(5):
        key(browser, "a", "KeyA", repeat=True)
    key(browser, "q", "KeyQ")

    assert list(labels_of(browser)) == ["a 0"]


def test_twenty_thousand_rows_are_a_handful_of_elements(browser: Browser, tmp_path: Path) -> None:
    """Only what is in sight is in the page; the last row is one key away."""
    rows = [record(n, f"row-{n}", (n % 100) / 100) for n in range(20_000)]
    browser.open(write_page(tmp_path, Run(rows)))
    assert browser.texts("#count") == ["20000 rows"]
    assert len(browser.ids()) < 80
    browser.run("document.getElementById('scroll').focus()")
    browser.press(Keys.END)
    browser.wait("return [...document.querySelectorAll('[aria-selected=true]')].length")
    assert (
        browser.run("return +document.querySelector('[aria-selected=true]').ariaRowIndex") == 20_000
    )
    assert len(browser.ids()) < 80


def test_two_runs_stand_side_by_side(browser: Browser, tmp_path: Path) -> None:
    """Rows with both scores, what changed most first; a row opens into both sides."""
    one, other = stored(), scores_run({"eiffel": 1.0, "canberra": 1.0, "new": 0.5})
    compared = compare(one, other)
    page = tmp_path / "compared.html"
    page.write_text(comparison_html(compared, one, other))
    browser.open(page)

    assert "not distinguishable" in browser.texts(".card")[0]
    (eiffel,) = [t for t in browser.texts("#rows .row") if "0.331.00+0.67" in t]
    assert "eiffel" in eiffel
    place = browser.texts("#rows .row").index(eiffel)
    browser.open_row(place)
    assert browser.texts(".side > h2") == ["baseline", "candidate"]
    assert browser.run("return document.querySelectorAll('.ask').length") == 0


def test_colours_follow_the_system_and_the_button(browser: Browser, tmp_path: Path) -> None:
    """Light and dark differ, and the button overrides what the system says."""
    colour = "return getComputedStyle(document.body).backgroundColor"
    browser.open(write_page(tmp_path))
    light = browser.run(colour)
    browser.dark(wanted=True)
    dark = browser.run(colour)
    browser.run("document.getElementById('theme').click()")

    assert light == "rgb(255, 255, 255)"
    assert dark != light
    assert browser.run(colour) == light


def test_a_phone_shows_everything_in_its_width(browser: Browser, tmp_path: Path) -> None:
    """Nothing is wider than the screen, with and without an open row."""
    browser.size(390, 800)
    browser.open(write_page(tmp_path, by="topic"))
    wide = "return document.documentElement.scrollWidth"
    assert browser.run(wide) <= 390
    browser.open_row(1)
    assert browser.run(wide) <= 390
    assert browser.run("return document.getElementById('detail').scrollWidth") <= 390


def test_paper_has_the_rows_and_the_open_one(browser: Browser, tmp_path: Path) -> None:
    """Printing lists the rows of the view; controls stay away."""
    browser.open(write_page(tmp_path))
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.run("return getComputedStyle(document.querySelector('.controls')).display")
    printed = browser.texts("#printed")[0]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    assert shown == "none"
    assert "6 of 6 rows" in printed
    assert "Where is the Eiffel Tower" in printed


def test_the_page_asks_for_nothing(tmp_path: Path) -> None:
    """No address of another place, one policy, and at most 150 kB without the rows."""
    page = report_html(stored())
    without_rows = re.sub(r"<script type=\"application/octet-stream\".*?</script>", "", page)

    assert len(without_rows.encode()) <= 150_000
    assert not re.search(
        r"""(?:src|href)\s*=\s*["']?(?!data:,)\w""", without_rows.split("<body>")[0]
    )
    assert "http://" not in without_rows
    assert "https://" not in without_rows
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert html.unescape(policy.group(1)).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.group(1)
