"""The page in a real browser: it renders, filters, opens, highlights, labels and exports."""

import html
import json
import re
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from rag_evals.analysis import compare
from rag_evals.report import comparison_html, report_html
from rag_evals.run import Run, StoredSample
from tests.analysis.runs import record, scores_run
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
    assert "2 scored of 4; 1 JudgeOutputError, 1 empty_context; 1 warning: " in card
    assert "high 1" in card
    assert "towers" in card
    assert len(browser.texts(".card:first-child svg")) == 2
    facts = browser.texts(".facts")[0]
    assert "embedded" in facts
    assert "f" * 64 in facts


def test_rows_come_worst_first_and_sort_by_any_column(browser: Browser, tmp_path: Path) -> None:
    """Failed rows, then low scores; a click on a heading sorts, a second one turns it round."""
    browser.open(write_page(tmp_path))
    assert browser.ids() == ["lost", "eiffel", "canberra", "empty"]

    for direction in ("ascending", "descending"):
        browser.run("document.querySelector('[data-sort=id]').click()")
        names = browser.ids()
        assert names == sorted(names, reverse=direction == "descending")
        assert browser.run(
            "return document.querySelector(`[aria-sort=${arguments[0]}]`)", direction
        )


def test_rows_can_be_filtered(browser: Browser, tmp_path: Path) -> None:
    """By words of any text, band, outcome, verdict and grader; the count says how many are left."""
    browser.open(write_page(tmp_path))
    browser.driver.find_element(By.ID, "search").send_keys("gustave ALONE")
    browser.wait("return document.querySelectorAll('#rows .row').length === 1")
    assert browser.ids() == ["eiffel"]
    assert browser.texts("#count") == ["1 of 4 rows"]
    browser.search("")
    for control, value, left in (
        ("band", "0", ["canberra"]),
        ("outcome", "failed", ["lost"]),
        ("verdict", "c", ["eiffel"]),
        ("verdict", "s", ["canberra"]),
        ("verdict", "w", ["eiffel"]),
        ("grader", "chunk_precision", ["eiffel"]),
    ):
        browser.choose(control, value)
        assert browser.ids() == left, (control, value)
        browser.choose(control, "")
    assert browser.texts("#count") == ["4 rows"]


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
        "relevant · chunk 0", "not relevant · chunk 1",
    ]  # fmt: skip
    assert len(browser.texts(".chunk")) == 2
    assert browser.texts(".chunk.cited .tag") == [
        "chunk 0 · title: Guide; url: javascript:alert(1) · cited",
        "chunk 1 · cited",
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
    assert browser.texts("#detail h2") == ["eiffel"]
    browser.press("j")
    browser.wait("return document.querySelector('#detail h2').textContent === 'canberra'")
    browser.press(Keys.ESCAPE)
    assert browser.run("return document.getElementById('detail').hidden")
    browser.press("?")
    assert browser.run("return document.getElementById('keys').open")
    browser.run("document.getElementById('close-keys').click()")
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "search"


@pytest.mark.slow
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


def test_a_row_is_one_line_with_a_score_for_each_grader(browser: Browser, tmp_path: Path) -> None:
    """Columns are called as the graders, and sort; a column of the data is there when chosen."""
    browser.open(write_page(tmp_path))
    heads = ["#", "row", "faithfulness", "chunk_precision", "answer_relevance", "question"]
    assert browser.texts("#head [role=columnheader]") == heads
    (eiffel,) = [text for text in browser.texts("#rows .row") if "eiffel" in text]
    assert eiffel.startswith("0eiffel0.330.50–Where is the Eiffel Tower")
    browser.choose("column", "0")
    assert browser.texts("#head [role=columnheader]")[5:] == ["topic", "question"]
    assert any("towers" in text for text in browser.texts("#rows .row"))
    browser.run("document.querySelector('[data-sort=chunk_precision]').click()")
    assert browser.ids()[0] == "eiffel"
    assert browser.errors() == []


def test_a_click_on_a_number_shows_its_rows(browser: Browser, tmp_path: Path) -> None:
    """A band, a bar of the histogram, a group; the mark that says so takes it back."""
    browser.open(write_page(tmp_path, by="topic"))
    browser.run("document.querySelector('.chip.band0').click()")
    assert browser.ids() == ["canberra"]
    browser.choose("band", "")
    browser.choose("grader", "")
    browser.run(
        "[...document.querySelectorAll('g[data-narrow]')].find((one) => one.dataset.narrow"
        ".includes('low\": 0.3')).dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.ids() == ["eiffel"]
    assert browser.texts("#narrowed") == ["0.3 to 0.4: 1 row ×"]
    browser.run("document.getElementById('narrowed').click()")
    assert len(browser.ids()) == 4
    browser.run("document.querySelector('.groups button').click()")
    assert browser.ids() == ["eiffel"]


def test_a_link_opens_its_row(browser: Browser, tmp_path: Path) -> None:
    """`#row=` in the address opens it; whoever opens a row has the link in the address."""
    page = write_page(tmp_path)
    browser.open(page)
    browser.open_row(browser.ids().index("canberra"))
    address = browser.driver.current_url
    assert address.endswith("report.html#row=canberra")
    browser.driver.get("about:blank")
    browser.driver.get(address)
    browser.wait("return document.querySelector('#detail .sides')")
    assert browser.texts("#detail h2") == ["canberra"]


def test_labels_of_people_are_in_the_report(browser: Browser, tmp_path: Path) -> None:
    """Those in the run folder, with who said so; rows can be filtered by them."""
    line = {"sample_id": "eiffel", "grader": "faithfulness", "statement": 0, "text": "t",
            "verdict": True, "label": False, "note": "In France."}  # fmt: skip
    (tmp_path / "labels-Anna.jsonl").write_text(json.dumps(line) + "\n{torn")
    browser.open(write_page(tmp_path, stored(tmp_path)))
    browser.choose("verdict", "x")
    assert browser.ids() == ["eiffel"]
    browser.open_row()
    assert browser.texts(".said") == ["Anna: not supported: In France."]


def test_markdown_of_an_answer_is_rendered(browser: Browser, tmp_path: Path) -> None:
    """Bold, code, heads and bullets; a tag in it stays text."""
    sample = StoredSample("a", answer="# Head\n- **bold** and `code` <b>no</b>")
    run = Run([record(0, "a", 1.0)], samples={"a": sample})
    browser.open(write_page(tmp_path, run))
    browser.open_row()
    assert browser.texts(".answer") == ["Head\n• bold and code <b>no</b>"]
    assert browser.texts(".answer b") == ["Head", "bold"]


def test_two_runs_stand_side_by_side(browser: Browser, tmp_path: Path) -> None:
    """Rows with both scores, what changed most first; a row opens into both sides."""
    one, other = stored(), scores_run({"eiffel": 1.0, "canberra": 1.0, "new": 0.5})
    compared = compare(one, other)
    page = tmp_path / "compared.html"
    page.write_text(comparison_html(compared, one, other))
    browser.open(page)

    assert "not distinguishable" in browser.texts(".card")[0]
    (eiffel,) = [t for t in browser.texts("#rows .row") if "0.33 → 1.00 +0.67" in t]
    assert "eiffel" in eiffel
    place = browser.texts("#rows .row").index(eiffel)
    browser.open_row(place)
    assert browser.texts(".side > h2") == ["baseline", "candidate"]


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
    assert "4 of 4 rows" in printed
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
