"""What a page holds, read back from its file: no number, text or passage of another row."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rag_evals.analysis import compare
from rag_evals.core import Finding, phrases
from rag_evals.core.finding import Quote
from rag_evals.report import comparison_html, html_page, report_html
from rag_evals.report.html_page import _about, _band_meanings, _bars, _facts, _PageData, run_name
from rag_evals.report.label_page import RowToLabel, label_html, rows_to_label
from rag_evals.report.tables import View, grader_numbers
from rag_evals.run import Run, StoredSample
from rag_evals.score_faithfulness import FaithfulnessResult
from tests.analysis.runs import graded, record, scores_run, statements_run
from tests.report.pages import CANBERRA, TOWER, stored

ANSWER = str(TOWER.answer)
_DATA = re.compile(r'<script type="application/octet-stream" id="data">(.*?)</script>', re.DOTALL)


def unpacked(coded: str) -> Any:
    """Decode a block of a page."""
    return json.loads(gzip.decompress(base64.b64decode(coded)))


def data_of(page: str) -> dict[str, Any]:
    """Read the table of a page."""
    (coded,) = _DATA.findall(page)
    table: dict[str, Any] = unpacked(coded)
    return table


def gradings(data: Mapping[str, Any], side: int = 0) -> dict[str, list[list[Any]]]:
    """Return the gradings of one side by the ids of the rows."""
    return {
        data["samples"][row[side][0]][0]: row[side][1]
        for row in data["rows"]
        if row[side] is not None
    }


def numbers_run(count: int, **columns: Any) -> Run:
    """Make a run of rows with rising scores, and columns of the data."""
    names = [f"r{number:03}" for number in range(count)]
    return scores_run(
        {name: number / count for number, name in enumerate(names)},
        columns=dict.fromkeys(names, columns),
    )


def test_a_page_has_each_grading_of_each_row() -> None:
    """Status, score, reason or error, findings, warnings, seconds: as the run has them."""
    data = data_of(report_html(stored(), view=View(by="topic")))
    found = gradings(data)
    alone = "The tower was designed by Gustave alone."

    assert data["graders"] == ["faithfulness", "chunk_precision", "answer_relevance"]
    assert data["sides"] == ["a run in memory"]
    assert (data["columns"], data["inBlock"], data["language"]) == (["topic"], 100, "en")
    assert [one[:5] for one in found["eiffel"]] == [
        [0, "scored", 1 / 3, None, None],
        [1, "scored", 0.5, None, None],
    ]
    assert [one[6:] for one in found["eiffel"]] == [
        [["lost name: no statement of sentence 2 has Gustave"], 1.5, []],
        [[], 0.0, []],
    ]
    assert [one[:5] for one in found["canberra"]] == [
        [0, "scored", 1.0, None, None],
        [2, "scored", 5 / 6, None, None],
    ]
    failed = [0, "failed", None, "JudgeOutputError", "the reply stayed invalid", [], [], 0.0, []]
    assert found["lost"] == [failed]
    assert found["empty"] == [[0, "not_scorable", None, "empty_context", None, [], [], 0.0, []]]
    assert [item[:6] for item in found["eiffel"][0][5]] == [
        [
            ANSWER[:33],
            "s",
            "supported",
            f"Why: {ANSWER[:33]}",
            [0],
            [[0, 20, 35, False]],
        ],
        [
            *("It was completed in 1923.", "c", "contradicted", "Why: It was completed in 1923."),
            *([], [[1, 17, 24, False]]),
        ],
        [alone, "n", "not in context", f"Why: {alone}", [], [[0, 0, 44, True]]],
    ]
    assert [item[6:10] for item in found["eiffel"][0][5]] == [
        [[], "", True, ANSWER[:33]],
        [[], "", True, "It was completed in 1923."],
        [[], "", True, alone],
    ]
    assert found["eiffel"][0][5][2][10].startswith("'Gustave' is not in any chunk; chunk 0 says")
    assert [item[7] for item in found["canberra"][1][5]] == [
        *("support 1.00", "support 0.50", "support 1.00")
    ]
    assert {item[8] for item in found["canberra"][1][5]} == {False}
    assert [item[1] for item in found["canberra"][1][5]] == ["o", "o", "o"]


def test_a_page_has_each_sample_once() -> None:
    """Its texts, its number of chunks and its columns; the chunks are in blocks of their own."""
    run = stored()
    data = data_of(report_html(run, view=View(by="topic")))
    blocks = [unpacked(one) for one in _PageData([run], ["x"], View()).chunks]

    assert data["samples"] == [
        ["eiffel", TOWER.question, TOWER.answer, TOWER.reference, 2, None, ["towers"]],
        ["canberra", CANBERRA.question, CANBERRA.answer, None, 1, None, ["cities"]],
        ["lost", None, None, None, 0, None, [None]],
        ["empty", None, None, None, 0, None, [None]],
    ]
    assert blocks == [
        [
            [
                [
                    [TOWER.chunks[0], "title: Guide; url: javascript:alert(1)"],
                    [TOWER.chunks[1], ""],
                ],
                [],
            ],
            [[[CANBERRA.chunks[0], ""]], []],
            [[], []],
            [[], []],
        ]
    ]


def test_sentences_are_marked_where_a_finding_names_them() -> None:
    """By their offsets in the answer, and only in its own row."""
    result = FaithfulnessResult.model_validate(
        {
            "statements": [
                {"statement": "Paris.", "is_supported": True, "sentence_ids": [0]},
            ]
        }
    )
    named = graded(0, "eiffel", result)
    named["findings"] = [{**named["findings"][0], "sentence_ids": [1]}]
    run = Run(
        [named, graded(1, "canberra", result)],
        samples={"eiffel": TOWER, "canberra": CANBERRA},
    )
    samples = data_of(report_html(run))["samples"]

    assert samples[0][5] == [[0, 33], [34, 59], [60, 86]]
    assert samples[1][5] is None
    assert gradings(data_of(report_html(run)))["eiffel"][0][5][0][6] == [1]
    plain = Run([graded(0, "eiffel", result), graded(1, "canberra", result)], samples=run.samples)
    both = comparison_html(compare(plain, run), plain, run)
    places = [sample[5] for sample in data_of(both)["samples"]]
    assert places == [[[0, 33], [34, 59], [60, 86]], None]


def test_the_scores_of_repeats_and_the_time_are_told() -> None:
    """To a thousandth of a second; a row that was graded once has none."""
    rows = [record(0, "a", 0.5, repeats=[0.25, None, 0.75], seconds=1.23456), record(1, "b", 1.0)]
    found = gradings(data_of(report_html(Run(rows))))

    assert [one[0][7:] for one in found.values()] == [[1.235, [0.25, None, 0.75]], [0.0, []]]


def test_a_column_of_groups_may_lie_in_another_one() -> None:
    """The page has the group of each row, as the table of groups has it."""
    columns = {name: {"meta": {"topic": name.upper()}} for name in "ab"}
    run = scores_run({"a": 0.5, "b": 1.0}, columns=columns)
    data = data_of(report_html(run, view=View(by="meta.topic")))

    assert data["columns"] == ["meta.topic", "meta"]
    assert [sample[6][0] for sample in data["samples"]] == ["A", "B"]


def test_labels_and_replies_are_those_of_their_row(tmp_path: Path) -> None:
    """A label belongs to one finding of one grader, a reply to its row."""
    base = {"sample_id": "eiffel", "grader": "faithfulness", "statement": 1, "text": "t"}
    lines = [
        base | {"label": False, "note": "In 1889."},
        base | {"label": True, "annotator": "Boris"},
        base | {"grader": "chunk_precision", "statement": 0, "label": True},
        base | {"sample_id": "canberra", "statement": 0, "label": True},
    ]
    (tmp_path / "labels-Anna.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    replies = [
        {
            "sample_id": name,
            "grader": grader,
            "messages": [
                {"role": "system", "content": f"Judge {name}."},
                {"role": "user", "content": "It."},
            ],
            "reply": {"a": [1]},
        }
        for name, grader in (("eiffel", "faithfulness"), ("canberra", "f"), ("eiffel", "g"))
    ]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies))
    run = stored(tmp_path)
    found = gradings(data_of(report_html(run)))

    assert [item[11] for item in found["eiffel"][0][5]] == [
        [],
        [["Anna", False, "In 1889."], ["Boris", True, None]],
        [],
    ]
    assert [item[11] for item in found["eiffel"][1][5]] == [[["Anna", True, None]], []]
    assert [item[11] for item in found["canberra"][0][5]] == [[["Anna", True, None]]]
    (block,) = [unpacked(one) for one in _PageData([run], ["x"], View()).chunks]
    reply = '{\n  "a": [\n    1\n  ]\n}'
    assert [kept for _, kept in block] == [
        [
            ["faithfulness", "[system]\nJudge eiffel.\n\n[user]\nIt.", reply],
            ["g", "[system]\nJudge eiffel.\n\n[user]\nIt.", reply],
        ],
        [["f", "[system]\nJudge canberra.\n\n[user]\nIt.", reply]],
        [],
        [],
    ]


def test_twelve_columns_are_shown_and_the_group_is_one_of_them() -> None:
    """The column of the groups comes first; a long cell is cut, an empty one stays empty."""
    columns = {f"c{number}": number for number in range(20)}
    run = numbers_run(2, **(columns | {"c1": "x" * 81, "c2": None, "c19": "g"}))
    data = data_of(report_html(run))

    assert data["columns"] == [f"c{number}" for number in range(12)]
    assert data["samples"][0][6] == ["0", "x" * 80, None, *map(str, range(3, 12))]
    grouped = data_of(report_html(run, view=View(by="c19")))
    assert grouped["columns"] == ["c19", *(f"c{number}" for number in range(11))]
    assert grouped["samples"][0][6][:3] == ["g", "0", "x" * 80]


def test_columns_are_those_of_the_first_hundred_rows_that_are_shown() -> None:
    """Not those of rows further down, nor of rows that are left out."""
    names = [f"r{number:03}" for number in range(102)]
    columns = {name: {f"c{int(name[1:]) // 100}": 1, name: 1} for name in names}
    for name in names[1:]:
        del columns[name][name]
    run = scores_run(dict.fromkeys(names, 0.5), columns=columns)

    assert data_of(report_html(run))["columns"] == ["c0", "r000"]
    assert data_of(report_html(run, only=["r100", "r001"]))["columns"] == ["c1", "c0"]


def test_only_the_lowest_rows_have_their_nearest_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding them takes time; what a judge quoted is there in every row."""
    rows = {"a": [("It was completed in 1923.", False)], "b": [("It stands in Rome.", False)]}
    run = statements_run(rows | {"c": [("It stands in Rome.", False), ("Yes.", True)]})
    chunks = ("It stands in Paris. It was completed in 1889.",)
    samples = {name: StoredSample(name, chunks=chunks, metadata=({},)) for name in "abc"}
    run = Run(run.records, samples=samples)

    def found() -> list[int]:
        data = gradings(data_of(report_html(run)))
        return [len(data[name][0][5][0][5]) for name in "abc"]

    assert found() == [1, 1, 1]
    monkeypatch.setattr(html_page, "MOST_SEARCHED", 2)
    assert found() == [1, 1, 0]
    monkeypatch.setattr(html_page, "MOST_SEARCHED", 1)
    assert found() == [1, 0, 0]


def test_of_a_large_run_the_lowest_rows_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as fit, and the page says how many there are; of two runs each has its half."""
    assert html_page.MOST_ROWS == 20_000
    run, names = numbers_run(6), [f"r{number:03}" for number in range(6)]
    other = scores_run({name: 1 - number / 6 for number, name in enumerate(names)})
    monkeypatch.setattr(html_page, "MOST_ROWS", 6)
    page = report_html(run)
    assert list(gradings(data_of(page))) == names
    assert list(gradings(data_of(report_html(other)))) == names
    more = scores_run({**dict.fromkeys(names, 1.0), "a": 0.1, "b": 0.2})
    both = data_of(comparison_html(compare(more, run), more, run))
    assert sorted(gradings(both)) == ["a", "b", "r000", "r001", "r002"]
    assert sorted(gradings(both, 1)) == ["r000", "r001", "r002"]
    assert "of 6 outcomes" not in page
    monkeypatch.setattr(html_page, "MOST_ROWS", 4)
    page = report_html(run)
    assert list(gradings(data_of(page))) == ["r000", "r001", "r002", "r003"]
    said = phrases("en")("page.left_out", shown=4, total=6)
    assert said in unescape(page)
    both = data_of(comparison_html(compare(run, other), run, other))
    assert sorted(gradings(both)) == sorted(gradings(both, 1)) == ["r000", "r001", "r004", "r005"]
    assert said in unescape(comparison_html(compare(run, other), run, other))


def test_rows_that_are_named_are_shown_in_their_order() -> None:
    """Each once, unknown ones not at all; the numbers at the top are those of the whole run."""
    run = numbers_run(4)
    page = report_html(run, only=["r003", "r001", "r003", "none"], note="Two of them.")

    assert list(gradings(data_of(page))) == ["r003", "r001"]
    assert [len(one) for one in gradings(data_of(page)).values()] == [1, 1]
    assert "Two of them." in page
    assert "Two of them." not in report_html(run, note="Two of them.")
    assert "4 scored of 4" in re.sub(r"\s+", " ", page)


def test_two_runs_share_the_samples_that_are_equal() -> None:
    """A row that one of them lacks has an empty side; changed data is a sample of its own."""
    scores = {"canberra": 0.25, "new": 0.5, "eiffel": 0.75}
    samples = {"canberra": replace(CANBERRA), "eiffel": StoredSample("eiffel", "Where?")}
    other = Run(scores_run(scores).records, samples=samples)
    one = stored()
    data = data_of(comparison_html(compare(one, other), one, other))

    assert [sample[:2] for sample in data["samples"]] == [
        *(["eiffel", TOWER.question], ["canberra", CANBERRA.question], ["lost", None]),
        *(["empty", None], ["new", None], ["eiffel", "Where?"]),
    ]
    assert [[None if side is None else side[0] for side in row] for row in data["rows"]] == [
        *([0, 5], [1, 1], [2, None], [3, None], [None, 4])
    ]
    assert {name: one[0][2] for name, one in gradings(data, 1).items()} == {
        "canberra": 0.25,
        "new": 0.5,
        "eiffel": 0.75,
    }
    assert data["sides"] == ["baseline", "candidate"]


def test_samples_are_opened_in_blocks_of_a_hundred() -> None:
    """The last block has the rest."""
    sizes = {
        count: [len(unpacked(one)) for one in _PageData([numbers_run(count)], ["x"], View()).chunks]
        for count in (1, 100, 101, 250)
    }

    assert sizes == {1: [1], 100: [100], 101: [100, 1], 250: [100, 100, 50]}


def test_a_bar_counts_the_scores_of_its_tenth() -> None:
    """Its lower end belongs to it, 1 to the last one; the highest bar is as high as all."""
    scores = [0.0, 0.099, 0.1, 0.3, 0.1 * 3, 0.7, 0.7 - 1e-12, 0.9, 0.999, 1.0, 1.0]
    (numbers,) = grader_numbers(scores_run(scores), View())
    bars = _bars(numbers.counted, View())

    assert [bar["count"] for bar in bars] == [2, 1, 0, 2, 0, 0, 0, 2, 0, 4]
    assert [bar["share"] for bar in bars] == [0.5, 0.25, 0, 0.5, 0, 0, 0, 0.5, 0, 1.0]
    assert [bar["band"] for bar in bars] == [3, 3, 3, 3, 3, 2, 2, 1, 1, 0]
    assert [bar["narrow"]["low"] for bar in bars] == [n / 10 for n in range(10)]
    assert [bar["narrow"]["high"] for bar in bars] == [n / 10 for n in range(1, 11)]
    assert {bar["narrow"]["grader"] for bar in bars} == {"faithfulness"}
    assert [bars[0]["words"], bars[1]["words"], bars[9]["words"]] == [
        *("0.0 to 0.1: 2 rows", "0.1 to 0.2: 1 row", "0.9 to 1.0: 4 rows")
    ]
    (many,) = grader_numbers(scores_run([0.0] * 1000 + [1.0] * 30 + [0.5]), View())
    assert [bar["share"] for bar in _bars(many.counted, View())][::5] == [1.0, 0.025]
    assert _bars(many.counted, View())[9]["share"] == 0.03
    (none,) = grader_numbers(scores_run([None]), View())
    assert [bar["share"] for bar in _bars(none.counted, View())] == [0] * 10


def test_a_band_has_its_meaning_where_all_graders_share_it() -> None:
    """From its limit to that of the band above, in percent."""
    faithful = grader_numbers(stored(), View())[:1]

    assert _band_meanings(View(), faithful) == [
        ("high", "90–100 %: all statements are supported"),
        ("good", "70–90 %: most statements are supported"),
        ("medium", "50–70 %: some statements are not supported"),
        ("low", "0–50 %: a large part of the statements is not supported"),
    ]
    assert _band_meanings(View(), grader_numbers(stored(), View())) == []
    assert _band_meanings(View(), ()) == _band_meanings(View(), faithful)
    assert data_of(report_html(stored()))["bands"][:2] == [
        ["high", 0.9, "all statements are supported", "faithfulness", "high"],
        ["good", 0.7, "most statements are supported", "faithfulness", "good"],
    ]


def test_the_settings_of_a_run_are_told() -> None:
    """Those that are there: of the manifest, the identity, the prompts and the usage."""
    usage = {"calls": 2, "prompt_tokens": 3000, "cache_hits": 1}
    run = Run(
        [record(0, "a", 1.0, usage=usage, seconds=2.5)],
        manifest={
            "created": "2026-11-21T10:00:00+00:00",
            "finished": "2026-11-21T10:01:02.5+00:00",
            "rag_evals": "1.2.3",
            "rows": 0,
            "prompts": {"faithfulness": "Judge it."},
            "identity": {
                "judge": "openai/m",
                "file": "d.jsonl",
                "seed": 0,
                "nothing": None,
                "settings": {"temperature": 0, "stop": [], "top_p": ""},
            },
        },
    )
    say = phrases("en")
    facts = _facts(run, say)

    assert {name: value for name, value in facts.items() if not name.startswith("spent")} == {
        "run": "a run in memory",
        "created": "2026-11-21T10:00:00+00:00",
        "finished": "2026-11-21T10:01:02.5+00:00",
        "version": "1.2.3",
        "rows": 0,
        "judge": "openai/m",
        "file": "d.jsonl",
        "seed": 0,
        "settings: temperature": 0,
        "prompt: faithfulness": "Judge it.",
    }
    assert facts["spent"].startswith("2 ")
    assert "3,000 " in facts["spent"]
    assert _about(run, say) == [
        *("d.jsonl", "judge: openai/m", "2026-11-21 10:00 UTC", say("page.took", seconds="62.5"))
    ]
    begun = Run(run.records, manifest={**run.manifest, "finished": None})
    assert _about(begun, say) == ["d.jsonl", "judge: openai/m", "2026-11-21 10:00 UTC"]
    assert _about(Run([record(0, "a", 1.0)]), say) == []


def test_a_run_has_the_name_of_its_folder() -> None:
    """Without one it is in memory."""
    say = phrases("en")

    assert run_name(Run([record(0, "a", 1.0)], folder=Path("runs/x")), say) == "x"
    assert run_name(Run([record(0, "a", 1.0)], folder=Path()), say) == "."
    assert run_name(Run([record(0, "a", 1.0)]), say) == "a run in memory"


def labelling(run: Run, drawn: Sequence[RowToLabel], **how: Any) -> tuple[dict[str, Any], str]:
    """Read the table of a page to label, and its words."""
    page = label_html(run, drawn, View(), **how)
    return data_of(page), page


def test_a_page_to_label_has_each_decision_with_its_place() -> None:
    """Only of the rows and graders that were drawn; what has no verdict is not asked."""
    run = stored()
    data, page = labelling(run, rows_to_label(run, 99))
    asked = [[TOWER.question, TOWER.answer, place] for place in (0, 0, 0, 1, 1)]
    asked += [[CANBERRA.question, "It is Canberra.", 2]]

    assert [one[:6] for one in data["decisions"]] == [
        ["eiffel", "faithfulness", 0, ANSWER[:33], True, "supported"],
        ["eiffel", "faithfulness", 1, "It was completed in 1923.", False, "contradicted"],
        [
            *("eiffel", "faithfulness", 2, "The tower was designed by Gustave alone."),
            *(False, "not in context"),
        ],
        ["eiffel", "chunk_precision", 0, "chunk 0", True, "relevant"],
        ["eiffel", "chunk_precision", 1, "chunk 1", False, "not relevant"],
        ["canberra", "faithfulness", 0, "It is Canberra.", True, "supported"],
    ]
    assert [one[6] for one in data["decisions"]] == [
        *("statement", "statement", "statement", "chunk", "chunk", "statement")
    ]
    assert [one[7:10] for one in data["decisions"]] == asked
    assert data["chunks"] == [[*TOWER.chunks], [*TOWER.chunks], [*CANBERRA.chunks]]
    assert [one[12] for one in data["decisions"]] == [None] * 6
    assert (data["shown"], data["save"], data["second"]) == (False, None, False)
    assert "There are 6 decisions; they take about 2 min." in page
    (weighted,) = labelling(run, [RowToLabel("canberra", "faithfulness", 1, 2.5)])[0]["decisions"]
    assert (weighted[0], weighted[12]) == ("canberra", 2.5)
    told, saving = labelling(run, [], shown=True, save="/x", is_second=True)
    assert (told["shown"], told["save"], told["second"]) == (True, "/x", True)
    assert "connect-src" in saving
    assert "connect-src" not in page


def test_a_page_to_label_asks_about_the_texts_that_are_named() -> None:
    """With their own places; where none of them is there, about all."""
    run = stored()
    for texts, places in (
        (("It was completed in 1923.",), [1]),
        ((), [0, 1, 2]),
        (("none",), [0, 1, 2]),
    ):
        row = RowToLabel("eiffel", "faithfulness", 3, None, texts)
        assert [one[2] for one in labelling(run, [row])[0]["decisions"]] == places


@pytest.mark.parametrize(
    ("count", "minutes"), [(1, 1), (4, 1), (6, 2), (9, 2), (10, 2), (11, 3), (40, 10)]
)
def test_a_decision_is_said_to_take_a_quarter_of_a_minute(count: int, minutes: int) -> None:
    """And all together at least one."""
    run = statements_run({f"r{number}": [("It is so.", True)] for number in range(count)})
    _, page = labelling(run, rows_to_label(run, 99))

    assert f"about {minutes} min" in page


def test_the_passages_to_check_come_before_the_quotes() -> None:
    """The nearest ones of all chunks, whatever was cited; of a chunk there are none."""
    run = stored()
    decisions = labelling(run, rows_to_label(run, 99))[0]["decisions"]
    near = [[0, 0, 44]]

    assert [one[10] for one in decisions] == [
        [*near, [0, 20, 35]],
        [[1, 0, 35], [1, 17, 24]],
        near,
        [],
        [],
        [[0, 0, 24]],
    ]


def test_the_passages_to_check_are_those_of_all_chunks() -> None:
    """Also of chunks that the judge did not cite, and whatever its verdict was."""
    finding = {"text": "The mill is tall.", "label": "l", "about": "statement", "chunk_ids": [1]}
    for verdict in (True, False):
        run = Run(
            [record(0, "a", 0.5, findings=[finding | {"verdict": verdict}])],
            samples={
                "a": StoredSample("a", chunks=("The mill is tall.", "The mill."), metadata=({}, {}))
            },
        )
        ((*_, places, _, _),) = labelling(run, rows_to_label(run, 9))[0]["decisions"]
        assert places == [[0, 0, 17]]


def test_the_question_of_a_turn_belongs_to_what_follows_it() -> None:
    """Until the next turn; without one the row's own question stands there."""

    def item(text: str, about: str, verdict: bool | None, why: str | None = None) -> dict[str, Any]:
        return {"text": text, "verdict": verdict, "label": "l", "about": about, "reasoning": why}

    findings = [
        item("before.", "statement", True),
        item("turn 1", "turn", None, "First?"),
        item("one.", "statement", True, "because"),
        item("turn 2", "turn", None, "Second?"),
        item("two.", "statement", False),
        item("three.", "statement", True),
    ]
    run = Run([record(0, "a", 0.5, findings=findings)], samples={"a": StoredSample("a", "Whole?")})
    decisions = labelling(run, rows_to_label(run, 9))[0]["decisions"]

    assert [(one[2], one[7]) for one in decisions] == [
        *((0, "Whole?"), (2, "First?"), (4, "Second?"), (5, "Second?"))
    ]


def test_labels_of_another_run_have_another_key() -> None:
    """A browser keeps what was said by it: the settings and the time of the run are in it."""

    def key(judge: str, created: str) -> str:
        manifest = {"identity": {"judge": judge}, "created": created}
        run = Run(scores_run([1.0]).records, manifest=manifest)
        found = labelling(run, [])[0]["key"]
        assert isinstance(found, str)
        return found

    assert key("a", "1") == key("a", "1")
    assert len({key("a", "1"), key("b", "1"), key("a", "2")}) == 3
    assert len(key("a", "1")) == 16


def test_a_verdict_has_the_letter_of_its_colour() -> None:
    """Contradicted is worse than not supported; without a verdict there is none of them."""
    for verdict, label, letter in (
        (True, "supported", "s"),
        (False, "not supported", "n"),
        (False, "contradicted", "c"),
        (None, "4 of 5", "o"),
        (True, "contradicted", "s"),
    ):
        finding = Finding("t", verdict, label, support=0.5, decided_by="embedded")
        item = html_page._item(finding, phrases("en"), ())
        assert (item[1], item[2]) == (letter, label)
        assert item[7] == "support 0.50, decided by embedded"
    quoted = Finding("t", True, "l", quotes=(Quote(0, 0, 1, "x"),))
    assert html_page._item(quoted, phrases("en"), ())[7] == ""
