"""What does a page carry? Its rows, read back from the file as the page's script reads them."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rag_evals.report

_DATA = re.compile(r'<script type="application/octet-stream" id="data">(.*?)</script>', re.DOTALL)
_NAMES = re.compile(r"items: items\.map\(\(\[([^\]]*)\]\)")


@dataclass(frozen=True)
class PageRow:
    """One grading of the page: its sample, and its findings by the names that the script gives."""

    sample_id: str
    items: list[dict[str, Any]]


def rows_of(page: str) -> Iterator[PageRow]:
    """Read the gradings of a page of one run."""
    (coded,) = _DATA.findall(page)
    script = (Path(rag_evals.report.__file__).parent / "page.js").read_text(encoding="utf-8")
    names = _NAMES.findall(script)[0].split(", ")
    data = json.loads(gzip.decompress(base64.b64decode(coded)))
    for ((place, gradings),) in data["rows"]:
        for grading in gradings:
            items = [dict(zip(names, item, strict=True)) for item in grading[5]]
            yield PageRow(data["samples"][place][0], items)
