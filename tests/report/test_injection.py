"""Whatever data says, the page shows it as text: nothing runs, nothing is fetched."""

import json
from pathlib import Path

import pytest

from rag_evals import Result
from rag_evals.analysis import compare
from rag_evals.core.finding import Finding, Quote
from rag_evals.report import comparison_html, report_html
from rag_evals.report.label_page import RowToLabel, label_html
from rag_evals.report.tables import View
from rag_evals.run import Run, StoredSample
from rag_evals.stats import build_bands
from tests.analysis.runs import graded, record
from tests.report.browser import Browser

_RUN = "window.pwned=(window.pwned||0)+1"
CORPUS = [
    f"<script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"</style><script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>",
    f"--><script>{_RUN}</script><!--",
    f"<!--<script>{_RUN}</script>-->",
    f"]]><script>{_RUN}</script>",
    f"<SCRIPT>{_RUN}</SCRIPT>",
    f"<script >{_RUN}</script >",
    f"<script\n>{_RUN}</script\n>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    f"<script type=module>{_RUN}</script>",
    "<script src=data:text/javascript,window.pwned=1></script>",
    "<script src=//127.0.0.1:9/x.js></script>",
    f"<img src=x onerror={_RUN}>",
    f"<img src=x onerror='{_RUN}'>",
    f'"><img src=x onerror="{_RUN}">',
    f"'><img src=x onerror='{_RUN}'>",
    f"<img/src=x/onerror={_RUN}>",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<math><mtext><script>{_RUN}</script></mtext></math>",
    f"<body onload={_RUN}>",
    f"<details open ontoggle={_RUN}>x</details>",
    f"<input autofocus onfocus={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<audio src=x onerror={_RUN}>",
    f"<iframe srcdoc='<script>parent.{_RUN}</script>'></iframe>",
    f"<iframe src=\"javascript:parent.{_RUN}\"></iframe>",
    f"<object data=\"javascript:{_RUN}\"></object>",
    f"<embed src=\"javascript:{_RUN}\">",
    f"<a href=\"javascript:{_RUN}\" autofocus onfocus={_RUN}>x</a>",
    f"javascript:{_RUN}",
    f"<form action=\"javascript:{_RUN}\"><input type=submit></form>",
    "<meta http-equiv=refresh content='0;url=javascript:window.pwned=1'>",
    "<base href=//127.0.0.1:9/>",
    "<link rel=stylesheet href=data:text/css,*{display:none}>",
    "<style>*{display:none}</style>",
    f"<marquee onstart={_RUN}>x</marquee>",
    f"<template><script>{_RUN}</script></template>",
    f"<noscript><p title=\"</noscript><script>{_RUN}</script>\">",
    f"{{{{ [].__class__ }}}}{{% if 1 %}}<script>{_RUN}</script>{{% endif %}}",
    f"${{{_RUN}}}`+{_RUN}+`",
    f"\\\";{_RUN};//",
    f"\u2028{_RUN}\u2029",
    f"\x00<script>{_RUN}</script>",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"\ufeff<\u200bscript>{_RUN}</script>",
]  # fmt: skip


class PoisonedResult(Result):
    """A result of a user's own model, in which everything is one of the strings."""

    bad: str

    @property
    def score(self) -> float:
        """Half."""
        return 0.5

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One statement, and one rating."""
        quotes = (Quote(0, 0, 4, self.bad), Quote(0, None, None, self.bad))
        statement = Finding(
            self.bad, False, self.bad, self.bad, (0,), quotes, decided_by=self.bad,
            about="statement",
        )  # fmt: skip
        return statement, Finding(self.bad, None, self.bad, self.bad, support=0.5)

    @property
    def warnings(self) -> list[str]:
        """The string."""
        return [self.bad]


def poisoned() -> Run:
    """Make a run in which every field of every row is one of the strings."""
    records, samples = [], {}
    for number, bad in enumerate(CORPUS):
        name = f"{number} {bad}"
        made = graded(number, name, PoisonedResult(bad=bad), grader="g " + CORPUS[0])
        if number % 5 == 0:
            error = {"type": bad, "message": bad}
            made = record(number, name, None, grader="g " + CORPUS[0], warnings=[bad])
            made |= {"status": "failed", "reason": None, "error": error}
        records.append(made)
        samples[name] = StoredSample(
            name, bad, f"{bad} {bad}", (bad, bad), ({bad: bad}, {"url": bad}), reference=bad,
            columns={"topic": bad},
        )  # fmt: skip
    identity = {"judge": CORPUS[0], "graders": {CORPUS[16]: CORPUS[17]}, CORPUS[3]: CORPUS[5]}
    manifest = {"identity": identity, "created": CORPUS[1]}
    return Run(records, folder=Path("<img src=x onerror=window.pwned=1>"), manifest=manifest,
                     samples=samples)  # fmt: skip


@pytest.mark.slow
def test_nothing_in_data_runs(browser: Browser, tmp_path: Path) -> None:
    """Fifty attacks in every field: no script, no request, no element; text stays text."""
    assert len(CORPUS) >= 40
    run = poisoned()
    bands = build_bands({"<b>high</b>": 0.9, CORPUS[15]: 0.0})
    page = tmp_path / "report.html"
    page.write_text(report_html(run, view=View(by="topic", bands=bands)), encoding="utf-8")
    browser.open(page)
    browser.run("document.querySelector('[data-sort=number]').click()")
    for number, bad in enumerate(CORPUS):
        browser.search(f"{number} ")
        names = [name == f"{number} {bad}" for name in browser.ids()]
        place = names.index(True)
        browser.open_row(place)
        shown = browser.texts("#detail .pre, #detail .item")
        assert bad.replace("\x00", "�") in [text.replace("\x00", "�") for text in shown], bad
    made = browser.run(
        "return [...document.querySelectorAll('script:not([type]), iframe, object, embed, img, "
        "#detail a, #detail svg, form, base, link[rel=stylesheet], style')].map(e => e.tagName)"
    )

    assert browser.run("return window.pwned") is None
    assert sorted(made) == ["SCRIPT", "STYLE"]
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.slow
def test_the_page_to_label_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    """Statements, questions, passages and verdicts are text there, and so is a note."""
    run = poisoned()
    drawn = [RowToLabel(one["sample_id"], one["grader"]) for one in run.records if one["score"]]
    page = tmp_path / "label.html"
    page.write_text(label_html(run, drawn, View()), encoding="utf-8")
    browser.open(page)
    browser.run("document.getElementById('start').click()")
    for row in drawn:
        bad = row.sample_id.partition(" ")[2].replace("\x00", "\ufffd")
        (shown,) = browser.texts("#statement")
        assert shown.replace("\x00", "\ufffd") == bad
        browser.press("e", CORPUS[17], "\t", "1")
    assert browser.run("return document.getElementById('ask').hidden")

    assert browser.run("return window.pwned") is None
    assert browser.run("return document.querySelectorAll('main img, iframe').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def test_a_comparison_of_poisoned_runs_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    """Both sides of a page are text."""
    run = poisoned()
    compared = compare(run, run, by="topic")
    page = tmp_path / "compared.html"
    page.write_text(comparison_html(compared, run, run), encoding="utf-8")
    browser.open(page)
    browser.open_row()

    assert browser.run("return window.pwned") is None
    assert browser.run("return document.querySelectorAll('img, iframe').length") == 0


@pytest.mark.parametrize("bad", CORPUS)
def test_no_attack_leaves_its_place_in_the_file(bad: str) -> None:
    """The file itself holds none of the strings as markup: rows are coded, the rest is escaped."""
    run = Run([record(0, bad, 0.5, grader=bad)], manifest={"identity": {"judge": bad}})
    page = report_html(run)

    assert page.count("<script") == 3
    assert page.count("</script>") == 3
    assert page.count("<style>") == 1
    assert json.dumps(bad)[1:-1] not in page or "<" not in bad
