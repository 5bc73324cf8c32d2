"""The page that says what works with which provider says what this suite has found."""

import os
from pathlib import Path

import pytest

from tests.providers.cases import ASKED, CASES, FOUND

PAGE = Path(__file__).parents[2] / "docs" / "providers" / "what-works.md"
BEGIN, END = "<!-- table of the suite: begin -->\n", "<!-- table of the suite: end -->\n"
COMMAND = "UPDATE_SNAPSHOTS=1 .venv-providers/bin/python -m pytest tests/providers"


def parts() -> tuple[str, str, str]:
    """Return the page before the table, the table, and the page behind it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table, _, after = rest.partition(END)
    return before, table, after


def rendered() -> str:
    """Write what was found as a table: one line a case, one column a provider."""
    names = [asked.name for asked in ASKED]
    lines = [["case", *names], ["---"] * (len(names) + 1)]
    lines.append(["judge", *(f"`{asked.judge}`" for asked in ASKED)])
    lines.append(["library", *(f"`{asked.sdk}`" for asked in ASKED)])
    lines += [
        [case.name, *("yes" if FOUND[name, case.name] else "**no**" for name in names)]
        for case in CASES
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_the_table_says_what_was_found() -> None:
    """Every `yes` was seen in this run, and every `no`."""
    if len(FOUND) < len(ASKED) * len(CASES):
        pytest.skip("not every provider was asked in this run")
    before, table, after = parts()
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PAGE.write_text(f"{before}{BEGIN}{rendered()}{END}{after}", encoding="utf-8")
        return
    assert table == rendered(), f"out of date; run: {COMMAND}"


def test_the_table_names_every_provider_and_every_case() -> None:
    """A provider or a case that is new stands in the table; this needs no SDK."""
    head, *lines = parts()[1].splitlines()
    names = [asked.name for asked in ASKED]
    assert head.strip("| ").split(" | ") == ["case", *names], COMMAND
    assert [line.split(" | ")[0].strip("| ") for line in lines[3:]] == [
        case.name for case in CASES
    ], COMMAND
