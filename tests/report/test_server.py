"""`rag-evals view`: pages from loopback, for who has the token, of the runs of one folder."""

import json
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import urlsplit

import pytest

from rag_evals import agreement, evaluate, load_run
from rag_evals.errors import ConfigurationError
from rag_evals.report.server import ViewServer, list_run
from rag_evals.run.record.index import RunIndex
from tests.labelled import labelled_rows
from tests.report.browser import Browser
from tests.report.page_rows import rows_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grade two runs, and leave a secret next to them."""
    folder = tmp_path_factory.mktemp("work")
    rows = list(labelled_rows(30))
    for name in ("first", "<b>second"):
        evaluate(rows, client="embedded", out=folder / "runs" / name, progress=False)
    (folder / "secret.txt").write_text("secret")
    return folder / "runs"


@pytest.fixture
def server(folder: Path) -> Iterator[ViewServer]:
    """Serve them."""
    with ViewServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def get(address: str, body: object = None, **headers: str) -> tuple[int, str]:
    """Send a request, a POST with a body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_list_has_every_run_with_its_scores(server: ViewServer, browser: Browser) -> None:
    """Names are text; a run opens by a click, two are compared, and each links to the others."""
    browser.driver.get(server.address)
    assert sorted(browser.texts("tbody a")) == ["<b>second", "first"]
    mean = load_run(server.runs["first"]).mean()
    assert mean is not None
    assert f"{mean:.3f}" in browser.texts("tbody tr")[0]
    assert len(browser.run("return document.querySelector('.trend').points")) == 2
    browser.run("document.querySelector('button[type=submit]').click()")
    browser.wait(
        "return document.body.dataset.ready === 'yes' && document.querySelector('.compare')"
    )
    assert sorted(browser.texts(".bar a")) == ["<b>second", "first"]
    browser.run("document.querySelector('.bar a').click()")
    browser.wait("return document.querySelectorAll('#rows .row').length > 5")


def test_only_who_has_the_token_is_answered(server: ViewServer) -> None:
    """Loopback alone; no token, a wrong one, another host or origin: 403; no file but pages."""
    assert server.server_address[0] == "127.0.0.1"
    base = server.address.rsplit("/", 2)[0]
    assert get(f"{base}/")[0] == 403
    assert get(f"{base}/wrong/")[0] == 403
    assert get(server.address, Host="evil.example")[0] == 403
    assert get(server.address, Origin="https://evil.example")[0] == 403
    for place in ("../secret.txt", "runs/first/results.jsonl", "%2e%2e/secret.txt", "x"):
        status, text = get(server.address + place)
        assert (status, "secret" in text) == (404, False), place
    for name in ("../../secret.txt", "..", "/etc", "first/.."):
        status, text = get(f"{server.address}run?run={name}")
        assert (status, text.startswith("no run")) == (400, True), name
    assert server.token not in get(server.address)[1]


def test_a_large_run_is_shown_in_parts(folder: Path) -> None:
    """The numbers of all, some rows at a time; as the whole report has them."""
    with ViewServer(folder) as server:
        server.whole_page, server.on_a_page = 10, 8
        seen = [
            row.sample_id
            for begin in (0, 8, 16, 24)
            for row in rows_of(server.run_page("first", begin))
        ]
        assert sorted(seen) == sorted(load_run(folder / "first").samples)
        assert "Outcomes 9 to 16 of 30" in server.run_page("first", 8)


def test_an_index_that_is_behind_is_not_believed(tmp_path: Path) -> None:
    """A log that grew, or no index: the log is read."""
    evaluate(list(labelled_rows(3)), client="embedded", out=tmp_path / "run", progress=False)
    log = tmp_path / "run" / "results.jsonl"
    assert RunIndex.open_unchecked(tmp_path / "run") is not None
    log.write_bytes(log.read_bytes() + log.read_bytes().splitlines(keepends=True)[0])
    assert RunIndex.open_unchecked(tmp_path / "run") is None
    (tmp_path / "run" / "index.sqlite").unlink()
    assert RunIndex.open_unchecked(tmp_path / "run") is None
    with ViewServer(tmp_path) as server:
        assert len(list(rows_of(server.start_page()))) == 3


def test_labels_are_saved_as_they_are_given(server: ViewServer, browser: Browser) -> None:
    """Each decision is in the run folder at once; the report and `agreement` have it."""
    browser.driver.get(server.address + "label?run=first&decisions=9")
    browser.wait("return document.body.dataset.ready === 'yes'")
    browser.run("document.getElementById('start').click()")
    assert "enter your name" in browser.texts("#told")[0]
    browser.run("document.getElementById('name').value = 'Анна ../x'")
    browser.run("document.getElementById('start').click()")
    browser.wait("return !document.getElementById('ask').hidden")
    browser.press("1", "2", "2", "u")
    for _ in range(100):
        files = sorted(server.runs["first"].glob("labels*.jsonl"))
        if files and len(files[0].read_text().splitlines()) == 2:
            break
        browser.run("return new Promise(done => setTimeout(done, 30))")
    (file,) = sorted(server.runs["first"].glob("labels*.jsonl"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["annotator"], one["answer"]) for one in lines] == [
        ("Анна ../x", "yes"), ("Анна ../x", "no"),
    ]  # fmt: skip
    assert file.stat().st_mode & 0o777 == 0o600
    assert agreement(server.runs["first"]).tables
    assert any(item["said"] for row in rows_of(server.run_page("first", 0)) for item in row.items)

    # The same name again: it says so before it goes on.
    browser.driver.get(server.address + "label?run=first&decisions=9")
    browser.wait("return document.body.dataset.ready === 'yes'")
    browser.run("document.getElementById('name').value = 'Анна ../x'")
    browser.run("document.getElementById('start').click()")
    browser.wait("return document.getElementById('told').textContent.includes('already')")
    browser.run("document.getElementById('start').click()")
    browser.wait("return document.getElementById('done').textContent.includes('(2 done)')")
    file.unlink()


@pytest.mark.parametrize(
    "body",
    [
        {}, [], "x", {"annotator": "A"}, {"annotator": " ", "entries": []},
        {"annotator": "A", "entries": [{}]}, {"annotator": "A" * 99, "entries": []},
        {"annotator": "A", "entries": [1]},
    ],
)  # fmt: skip
def test_what_is_no_label_is_refused(server: ViewServer, body: object) -> None:
    """Said in one line; nothing is written."""
    status, text = get(server.address + "labels?run=first", body)
    assert status in (400, 404)
    assert "\n" not in text
    assert not list(server.runs["first"].glob("labels*.jsonl"))


def test_a_torn_line_of_a_labels_file_is_kept(server: ViewServer) -> None:
    """What was there and cannot be read stays behind what is new."""
    line = {"sample_id": "row-0", "grader": "faithfulness", "statement": 0, "text": "t",
            "label": True, "answer": "yes", "note": ""}  # fmt: skip
    file = server.runs["first"] / "labels-A.jsonl"
    file.write_text(json.dumps(line) + '\n{"sample_id": "row-1", "gr')
    entry = {**line, "label": False, "answer": "no"}
    assert (
        get(server.address + "labels?run=first", {"annotator": "A", "entries": [entry]})[0] == 200
    )
    first, torn = file.read_text().splitlines()
    assert json.loads(first)["label"] is False
    assert torn == '{"sample_id": "row-1", "gr'
    file.unlink()


def test_a_folder_without_runs_is_one_error(tmp_path: Path) -> None:
    """It says what is expected."""
    with pytest.raises(ConfigurationError, match="contains no run; expected a run folder"):
        ViewServer(tmp_path)
    assert urlsplit("http://127.0.0.1/").hostname == "127.0.0.1"


def entry(name: str = "row-0", *, place: int = 0, **more: Any) -> dict[str, Any]:
    """Return a label as the page sends it."""
    base = {"sample_id": name, "grader": "faithfulness", "statement": place, "text": "t"}
    return base | {"label": True, "answer": "yes", "note": ""} | more


def test_the_last_word_on_each_finding_is_kept(folder: Path, tmp_path: Path) -> None:
    """A label without an answer and a note is withdrawn; the person's name is that of the file."""
    copytree(folder / "first", tmp_path / "first")
    with ViewServer(tmp_path) as server:

        def save(*entries: dict[str, Any], name: str = "Anna") -> list[tuple[Any, ...]]:
            server.save("first", {"annotator": f" {name} ", "entries": list(entries)})
            lines = map(json.loads, server.labels("first", name).splitlines())
            return [(one["sample_id"], one["statement"], one["answer"]) for one in lines]

        one, two = entry(), entry(place=1)
        assert save(one, two) == [("row-0", 0, "yes"), ("row-0", 1, "yes")]
        assert save(entry(answer="no")) == [("row-0", 0, "no"), ("row-0", 1, "yes")]
        assert save(entry("row-1"), entry(text="u"))[2:] == [
            ("row-1", 0, "yes"),
            ("row-0", 0, "yes"),
        ]
        assert len(save(entry(grader="other"))) == 5
        assert save(entry(place=1, answer=None, note="why"))[1] == ("row-0", 1, None)
        assert len(save(entry(place=1, answer=None))) == 4
        assert save(entry(annotator="Boris"), name="Clara") == [("row-0", 0, "yes")]
        assert json.loads(server.labels("first", "Clara"))["annotator"] == "Clara"
        assert server.labels("first", "nobody") == ""
        names = sorted(path.name for path in (tmp_path / "first").glob("labels*"))
        assert names == ["labels-Anna.jsonl", "labels-Clara.jsonl"]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Anna", "labels-Anna.jsonl"),
        ("a.b/../c%", "labels-a_2Eb_2F_2E_2E_2Fc_25.jsonl"),
        ("Я", "labels-_D0_AF.jsonl"),
        ("x" * 60, f"labels-{'x' * 60}.jsonl"),
        ("", None),
        ("x" * 61, None),
    ],
)
def test_a_name_is_a_part_of_a_file_name(folder: Path, name: str, file: str | None) -> None:
    """Whatever signs it has; of 1 to 60 characters."""
    with ViewServer(folder) as server:
        if file is not None:
            assert server._labels_file("first", name) == folder / "first" / file
            return
        with pytest.raises(ConfigurationError, match="a name must have 1 to 60 characters"):
            server._labels_file("first", name)


def test_a_part_of_a_run_links_to_its_neighbours(folder: Path) -> None:
    """The first has no worse one, the last no better one."""
    with ViewServer(folder) as server:
        server.whole_page, server.on_a_page = 29, 10
        for begin, said, starts in (
            (0, "Outcomes 1 to 10 of 30", ["10"]),
            (5, "Outcomes 6 to 15 of 30", ["0", "15"]),
            (20, "Outcomes 21 to 30 of 30", ["10"]),
            (25, "Outcomes 26 to 30 of 30", ["15"]),
        ):
            page = server.run_page("first", begin)
            assert said in page
            assert re.findall(r"run\?run=first&amp;from=(\d+)", page) == starts
    with ViewServer(folder) as server:
        server.whole_page = 30
        assert "from=" not in server.run_page("first", 0)


def test_a_page_is_kept_until_its_run_or_its_labels_change(folder: Path, tmp_path: Path) -> None:
    """The log and each file of labels count."""
    copytree(folder / "first", tmp_path / "first")
    copytree(folder / "first", tmp_path / "other")
    with ViewServer(tmp_path) as server:
        misses: list[int] = []
        for change in (None, "results.jsonl", "labels-A.jsonl", "labels-A.jsonl", "notes.txt"):
            if change is not None:
                path = tmp_path / "first" / change
                path.touch()
                os.utime(path, ns=(10**18, 10**18 + len(misses)))
            server.run_page("first", 0)
            misses.append(server.page.cache_info().misses)

        assert misses == [1, 2, 3, 4, 4]
        server.run_page("other", 0)
        server.run_page("first", 5)
        assert server.page.cache_info().misses == 6


def test_a_run_is_listed_with_its_means_and_rows(folder: Path) -> None:
    """And its judge, and when it was made."""
    found = list_run("x", folder / "first")
    run = load_run(folder / "first")

    assert found == {
        "name": "x",
        "created": run.manifest["created"],
        "judge": "embedded",
        "means": {"faithfulness": run.mean()},
        "rows": 30,
    }


def test_a_run_that_came_later_is_found(folder: Path, tmp_path: Path) -> None:
    """One that is not there is named in the message, as far as its name goes."""
    copytree(folder / "first", tmp_path / "a")
    with ViewServer(tmp_path) as server:
        copytree(folder / "first", tmp_path / "b")
        assert server.run_folder("b") == tmp_path / "b"
        with pytest.raises(ConfigurationError) as caught:
            server.run_folder("x" * 99)
        assert f"no run named {'x' * 60!r} in" in str(caught.value)
