"""What the documentation site adds to its text: pictures without a script, llms.txt, and checks."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tools.pages.check import broken_promises, main
from tools.pages.diagrams import as_svg, flowchart
from tools.pages.llms import llms_text

ROOT = Path(__file__).parents[2]
PICTURES = [
    (page.relative_to(ROOT).as_posix(), source)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for source in re.findall(r"(?s)```mermaid\n(.*?)```", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "source"), PICTURES, ids=[page for page, _ in PICTURES])
def test_every_picture_is_drawn_whole(page: str, source: str) -> None:
    """One box for each name and one line for each arrow; nothing stands outside of the picture."""
    chart = flowchart(source)
    svg = ET.fromstring(as_svg(source))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    boxes = svg.findall("rect")

    assert len(boxes) == len(chart.labels)
    assert len([line for line in svg.findall("path") if "marker-end" in line.attrib]) == len(
        chart.arrows
    )
    assert all(float(b.attrib["x"]) + float(b.attrib["width"]) <= width for b in boxes)
    assert all(float(b.attrib["y"]) + float(b.attrib["height"]) <= height for b in boxes)


def test_there_are_pictures() -> None:
    """The architecture is one of them."""
    assert "docs/architecture.md" in [page for page, _ in PICTURES]


@pytest.mark.parametrize(
    "source", ["sequenceDiagram\n a->>b: hi", "flowchart TD\n a{choice} --> b"]
)
def test_what_cannot_be_drawn_is_refused(source: str) -> None:
    """The site is not built with half a picture."""
    with pytest.raises(ValueError, match="is not drawn"):
        as_svg(source)


def test_labels_are_text() -> None:
    """Nothing in a label is markup; a name without a label is its own."""
    svg = as_svg("flowchart TD\n a[x: <b>&c] --> d")

    assert [one.text for one in ET.fromstring(svg).iter("tspan")] == ["x", "<b>&c", "d"]


def test_programs_find_every_page_of_the_menu() -> None:
    """`llms.txt` has a line with a sentence for each page, under the menu's sections."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    text = llms_text(settings, ROOT / "docs")
    pages = re.findall(r"(?m)^      - .+: \S+\.md$", settings)
    lines = [line for line in text.splitlines() if line.startswith("- [")]

    assert len(lines) == len(pages) > 40
    assert [line for line in lines if not re.search(r"\): \S.{15}", line)] == []
    assert "- [Quickstart](quickstart/): " in text


@pytest.mark.parametrize(
    ("html", "host"),
    [
        ('<script src="https://unpkg.com/x.js">', "https://unpkg.com/x.js"),
        ('<link rel="stylesheet" href="https://fonts.example/a.css">', "https://fonts.example"),
        ('<img alt="" src=https://example.org/a.png>', "https://example.org/a.png"),
        ('<pre class="mermaid">', "Mermaid's script"),
        ('<a href="https://example.org">', None),
        ('<script src="assets/x.js"></script>', None),
    ],
)
def test_a_request_to_another_host_is_named(html: str, host: str | None, tmp_path: Path) -> None:
    """What a browser fetches by itself counts; a link that a reader may follow does not."""
    (tmp_path / "index.html").write_text(html)
    found = list(broken_promises(tmp_path))

    assert [f"index.html asks another host for {host}" in line for line in found] == [True] * (
        host is not None
    )
    assert main([str(tmp_path)]) == (host is not None)
