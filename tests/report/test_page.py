"""The page in a real browser: it renders, filters, opens, highlights, labels and exports."""

import html
import json
import re
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from rag_evals.quality import agreement, compare
from rag_evals.report import comparison_html, report_html
from rag_evals.run import StoredRun
from tests.quality.runs import record, scores_run
from tests.report.browser import Browser
from tests.report.pages import stored, write_page


def test_the_top_says_what_the_score_rests_on(browser: Browser, tmp_path: Path) -> None:
    """Score, percent, interval, counts with reasons, bands, charts, groups and settings."""
    browser.open(write_page(tmp_path, by="topic"))
    card = browser.texts(".card")[0]

    assert "faithfulness" in card
    assert "0.67 66.7 %" in card
    assert "95 % interval 0." in card
    assert "2 scored of 4; 1 JudgeOutputError, 1 empty_context; 1 warnings" in card
    assert "high 1" in card
    assert "towers" in card
    assert len(browser.texts(".card:first-child svg")) == 3
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
    assert browser.texts("mark") == ["stands in Paris", "in 1889"]
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

    browser.run(hover, "mark", 1)
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

    other = StoredRun(run.records, manifest={"identity": {"judge": "another"}})
    browser.open(write_page(tmp_path, other))
    assert browser.texts("#labels") == [""]
    exported.unlink()


def test_twenty_thousand_rows_are_a_handful_of_elements(browser: Browser, tmp_path: Path) -> None:
    """Only what is in sight is in the page; the last row is one key away."""
    rows = [record(n, f"row-{n}", (n % 100) / 100) for n in range(20_000)]
    browser.open(write_page(tmp_path, StoredRun(rows)))
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
