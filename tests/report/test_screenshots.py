"""The pictures in the docs are made here: `pytest --update-examples` writes them anew."""

import struct
from base64 import b64decode
from pathlib import Path

import pytest

import rag_evals
from rag_evals import evaluate
from rag_evals.report import report_html
from rag_evals.report.tables import View
from tests.report.browser import Browser

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
DEMO = Path(rag_evals.__file__).parent / "_data" / "demo.jsonl"
SIZES = {
    "report-top": (1100, 640),
    "report-row": (1100, 720),
    "report-dark": (1100, 720),
    "report-phone": (390, 760),
}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Grade the shipped rows and write their report."""
    evaluate(DEMO, client="embedded", out="demo")
    path = tmp_path / "report.html"
    path.write_text(report_html("demo", view=View(by="language")), encoding="utf-8")
    return path


def picture(browser: Browser) -> bytes:
    """Return what is in sight, as PNG."""
    return b64decode(browser.driver.get_screenshot_as_base64())


@pytest.mark.parametrize("name", SIZES)
def test_the_docs_have_a_picture_of(
    name: str, browser: Browser, page: Path, request: pytest.FixtureRequest
) -> None:
    """The page looks like something, and the committed picture has the size of a new one."""
    width, height = SIZES[name]
    browser.size(width, height)
    browser.dark(wanted=name == "report-dark")
    browser.open(page)
    if name != "report-top":
        browser.search("Eiffel Tower stands")
        browser.open_row(0)
        browser.run("document.querySelector('.item.v-n').focus({preventScroll: true})")
        browser.run("document.querySelector('main').scrollIntoView()")
    taken = picture(browser)
    target = IMAGES / f"{name}.png"
    if request.config.getoption("update_examples"):
        target.write_bytes(taken)

    assert struct.unpack(">II", target.read_bytes()[16:24]) == (width, height)
    assert struct.unpack(">II", taken[16:24]) == (width, height)
    # A blank page of this size is below 10 kB.
    assert len(taken) > 20_000
    assert target.stat().st_size < 200_000
