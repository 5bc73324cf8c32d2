"""Every grader's result is read in one form, and shows the same in every place."""

import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any, Literal
from zlib import crc32

import pytest
from pydantic import BaseModel, create_model

from rag_evals import (
    ContextEvaluation,
    FaithfulnessResult,
    Grader,
    Result,
    agreement,
    evaluate,
    load_run,
)
from rag_evals.catalog import GRADERS, RUBRICS
from rag_evals.core.finding import (
    EvidencePassage,
    Finding,
    Quote,
    findings_line,
    findings_lines,
    findings_of,
    has_statements,
    result_html,
    statements_in,
    with_statements,
)
from rag_evals.core.wording import phrases
from rag_evals.errors import ConfigurationError
from rag_evals.judge.clients.build import close_shared_loop
from rag_evals.report import report_html
from rag_evals.report.tables import report_markdown
from rag_evals.report.terminal import show_run
from rag_evals.run import Run
from rag_evals.score_faithfulness_audited import AuditedFaithfulnessResult, AuditedStatement
from rag_evals.score_relevance import AspectEvaluation
from rag_evals.testing import JudgeRequest, Script
from tests.report.page_rows import rows_of
from tests.scripted import ScriptedJudge, fill_by_words

ROW = {
    "id": "eiffel",
    "question": "Where is the Eiffel Tower, and when was it finished?",
    "answer": "The Eiffel Tower stands in Paris [1]. A famous prize went to its architect [2].",
    "context": ["The Eiffel Tower stands in Paris.", "It was completed in 1889."],
    "reference": "The Eiffel Tower stands in Paris. Gustave was born in Dijon.",
}
RUSSIAN = {
    "id": "башня",
    "language": "ru",
    "question": "Где стоит Эйфелева башня?",
    "answer": "Эйфелева башня стоит в Париже [1]. Её архитектор получил известную премию [2].",
    "context": ["Эйфелева башня стоит в Париже.", "Её достроили в 1889 году."],
    "reference": "Эйфелева башня стоит в Париже. Гюстав родился в Дижоне.",
}


def every_grader() -> dict[str, tuple[Grader[Any], str]]:
    """Name each grader of the catalog and each rubric, with the judge that it is tried with."""
    shipped = {
        name: (grader, "openai/scripted")
        for name, grader in GRADERS.items()
        # One needs the weights of a classifier, and has the results of the two-step grader; one
        # asks no judge: it needs gold ids.
        if name not in ("faithfulness_hhem", "retrieval_ranks")
    }
    criteria = {"polite": "It is polite.", "short": "It is short."}
    rubrics: dict[str, tuple[Grader[Any], str]] = {
        name: (
            ContextEvaluation(
                "Check the answer.",
                model,
                name=name,
                criteria=criteria if name == "checklist" else None,
            ),
            "openai/scripted",
        )
        for name, model in RUBRICS.items()
    }
    embedded = {
        f"{name} embedded": (GRADERS[name], "embedded")
        for name in ("faithfulness", "faithfulness_two_step")
    }
    return {**shipped, **rubrics, **embedded}


CASES = every_grader()


@pytest.fixture(scope="module", params=CASES, ids=list(CASES))
def graded_once(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, Path]:
    """Grade an English and a Russian row with one grader, and keep the run."""
    grader, judge = CASES[request.param]
    folder = tmp_path_factory.mktemp("kept")
    with ScriptedJudge() as scripted, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", scripted.base_url)
        patch.setenv("OPENAI_API_KEY", "sk-test-SECRET")
        run = evaluate([ROW, RUSSIAN], [grader], judge, out=folder, progress=False)
        close_shared_loop()
    assert [outcome.status for outcome in run.outcomes] == ["scored", "scored"]
    return run, folder


@pytest.fixture
def graded(graded_once: tuple[Run, Path]) -> Run:
    """Return the run, whose folder is `kept`."""
    run, folder = graded_once
    copytree(folder, "kept")
    return run


def test_findings_are_there_and_agree_with_the_score(graded: Run) -> None:
    """The score is the share of yes, or the mean of ratings; each finding has text and label."""
    for outcome in graded.outcomes:
        decided = [one.verdict for one in outcome.findings if one.verdict is not None]
        rated = [one.support for one in outcome.findings if one.support is not None]
        values = decided or rated

        assert values
        assert outcome.score == pytest.approx(sum(map(float, values)) / len(values))
        assert all(one.text and one.label for one in outcome.findings)
        assert pickle.loads(pickle.dumps(outcome.findings)) == outcome.findings


def any_labels(request: JudgeRequest) -> Any:
    """Reply with labels and ids by lot, also such as contradict each other."""
    seed = crc32(json.dumps(request.body, sort_keys=True).encode())
    return _rolled(fill_by_words(request), request.schema, request.schema, random.Random(seed))


def _rolled(value: Any, node: Any, root: Any, dice: random.Random) -> Any:
    while "$ref" in node or "allOf" in node:
        name = node["allOf"][0]["$ref"] if "allOf" in node else node["$ref"]
        node = root["$defs"][name.rpartition("/")[2]]
    if "anyOf" in node:
        half = dice.random() < 0.5
        return value if half else _rolled(None, dice.choice(node["anyOf"]), root, dice)
    if "enum" in node:
        return dice.choice(node["enum"])
    match node.get("type"):
        case "object":
            fields = node.get("properties", {}).items()
            given = value or {}
            return {name: _rolled(given.get(name), one, root, dice) for name, one in fields}
        case "array" if node.get("items", {}).get("type") == "integer":
            return dice.choice([[0], [1], [0, 1], []])
        case "array":
            return [_rolled(one, node["items"], root, dice) for one in value or []]
        case "boolean":
            return dice.random() < 0.5
        case _:
            return "scripted" if value is None else value


@pytest.mark.parametrize(
    "name", [name for name, (_, judge) in CASES.items() if judge != "embedded"]
)
def test_two_fields_never_say_opposites(
    name: str, scripted: Callable[[Script], ScriptedJudge]
) -> None:
    """Whatever a judge replies: status, score, words, verdicts, labels and counts agree."""
    scripted(any_labels)
    rows = [
        {**row, "id": f"{row['id']}{n}", "question": f"{row['question']} ({n})"}
        for row in (ROW, RUSSIAN)
        for n in range(12)
    ]
    run = evaluate(rows, [CASES[name][0]], "openai/scripted", max_failures=100, progress=False)
    scores = [one.score for one in run.outcomes if one.score is not None]

    assert len(set(scores)) > 1 or name == "rag"
    assert sum(one.scored for one in run.summary().graders.values()) == len(scores)
    labels: dict[bool, set[str]] = {True: set(), False: set()}
    for one in run.outcomes:
        words = [one.words(), repr(one.result)]
        has_score = one.status == "scored"
        assert has_score == (one.score is not None) == (one.reason is None and one.error is None)
        if one.result is None:
            assert (one.status, one.findings, one.facts.statements) == ("failed", (), None)
            continue
        verdicts = [found.verdict for found in one.findings]
        decided = [found.verdict for found in one.findings if found.about == "statement"]
        assert all(("not scorable" in text) == (not has_score) for text in words)
        if one.score is not None:
            assert f"{one.score:.2f}" in words[0]
            assert f"score={one.score:.2f}" in words[1]
            assert (one.score == 1) == (not any(found.counts_against for found in one.findings))
            is_correctness = any(found.about == "reference" for found in one.findings)
            right = 0 if is_correctness else decided.count(True)
            counted = len(decided) - decided.count(None), right
            assert (one.facts.statements or 0, one.facts.supported or 0) == counted
        for found, verdict in zip(one.findings, verdicts, strict=True):
            if verdict is not None:
                labels[verdict].add(found.label)
            assert found.support is None or verdict is None or (found.support >= 0.5) == verdict
        assert all(0 <= part <= whole for part, whole in one.tallies.values())
        assert all(0 <= value <= 1 for value in one.further_scores.values())
    assert labels[True].isdisjoint(labels[False])
    assert not any(label.startswith(("no", "contradicted", "un")) for label in labels[True])


def test_a_stored_result_is_what_grade_returned(graded: Run) -> None:
    """The same class with the same values, and so the same score, findings and warnings."""
    for kept, outcome in zip(load_run("kept").outcomes, graded.outcomes, strict=True):
        assert type(kept.result) is type(outcome.result)
        assert kept.result == outcome.result
        assert kept == outcome
        assert isinstance(kept.result, Result)
        assert kept.result.findings == outcome.findings


def test_findings_show_in_every_place(graded: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Page, Markdown and terminal show the words of each finding, and count them alike."""
    stored = load_run("kept")
    page = {row.sample_id: row for row in rows_of(report_html(stored))}
    markdown = report_markdown(stored)
    show_run(graded)
    terminal = "".join(capsys.readouterr().out.split())
    for outcome in graded.outcomes:
        verdicts = [one.verdict for one in outcome.findings]
        items = page[outcome.sample_id].items

        assert [(item["text"], item["label"]) for item in items] == [
            (one.text, phrases().label(one.label)) for one in outcome.findings
        ]
        assert [item["verdict"] in "s" for item in items] == [one is True for one in verdicts]
        for finding in outcome.findings:
            if finding.counts_against:
                # A long cell is cut.
                assert finding.label.split()[0] in markdown
                assert finding.label.split()[0] in terminal


def test_people_who_agree_with_every_verdict_are_agreed_with(graded: Run) -> None:
    """Labels as the page exports them, all "agree", give no error of the judge at all."""
    labels = [
        {"sample_id": outcome.sample_id, "grader": outcome.grader, "statement": place,
         "text": finding.text, "label": finding.verdict}
        for outcome in graded.outcomes
        for place, finding in enumerate(outcome.findings)
        if finding.verdict is not None
    ]  # fmt: skip
    if not labels:
        assert {one.verdict for outcome in graded.outcomes for one in outcome.findings} == {None}
        return
    Path("labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    measured = agreement("kept", "labels.jsonl")
    counts = measured.tables[0].agreement.confusion

    assert measured.unmatched == 0
    assert counts.true_positives + counts.true_negatives == len(labels)
    assert counts.false_positives == counts.false_negatives == 0


def test_quotes_of_the_audited_grader_reach_the_page() -> None:
    """Evidence of a statement is the finding's quotes, with offsets; contradicted is its label."""
    quote = Quote(0, 4, 12, "in Paris")
    result = AuditedFaithfulnessResult(
        statements=[
            AuditedStatement(
                statement="It stands in Rome.", is_supported=False, verdict="contradicted",
                evidence=[quote], sentence_ids=[0],
            )
        ]
    )  # fmt: skip

    assert result.findings == (
        Finding(
            "It stands in Rome.", False, "contradicted", quotes=(quote,), sentence_ids=(0,),
            about="statement",
        ),
    )  # fmt: skip


class Claim(BaseModel):
    """One claim of a model of a user's own."""

    reason: str
    claim: str
    chunk_ids: list[int] = []
    is_wrong: bool


class ClaimsResult(Result):
    """A model of a user's own that says nothing of findings; true counts against its score."""

    claims: list[Claim]

    @property
    def score(self) -> float:
        """Claims that are not wrong, divided by all."""
        return 1 - sum(claim.is_wrong for claim in self.claims) / len(self.claims)


@pytest.mark.parametrize("notes", [list[int | str], list[str], tuple[Any, ...], dict[str, bool]])
def test_a_list_of_anything_else_beside_it_has_no_findings(notes: Any) -> None:
    """Lists of no models, and mappings, label nothing."""

    class Beside(ClaimsResult):
        notes: Any

    Beside.model_fields["notes"].annotation = notes
    claim = Claim(reason="r", claim="It is.", is_wrong=True)
    found = findings_of(Beside(claims=[claim], notes=None))

    assert [(one.text, one.verdict) for one in found] == [("It is.", False)]


class PlainChunk(BaseModel):
    """One chunk, good or not."""

    chunk_id: int
    good: bool


class PlainResult(BaseModel):
    """No `Result` at all."""

    chunks: list[PlainChunk]

    @property
    def score(self) -> float:
        """Good chunks divided by all."""
        return sum(chunk.good for chunk in self.chunks) / len(self.chunks)


def test_a_model_that_says_nothing_has_the_findings_of_its_list() -> None:
    """Texts, labels, reasons and chunk ids are found; what true means is tried out on the score."""
    claims = [
        Claim(reason="No.", claim="It is in Rome.", is_wrong=True),
        Claim(reason="Yes.", claim="It is in Paris.", chunk_ids=[1], is_wrong=False),
    ]
    chunks = [PlainChunk(chunk_id=0, good=True), PlainChunk(chunk_id=1, good=False)]

    assert findings_of(ClaimsResult(claims=claims)) == (
        Finding("It is in Rome.", False, "wrong", "No.", about="statement"),
        Finding("It is in Paris.", True, "not wrong", "Yes.", (1,), about="statement"),
    )
    assert findings_of(PlainResult(chunks=chunks)) == (
        Finding("chunk 0", True, "good", None, (0,), about="chunk"),
        Finding("chunk 1", False, "not good", None, (1,), about="chunk"),
    )
    assert findings_of(PlainResult(chunks=[])) == ()


def test_a_model_whose_score_does_not_depend_on_its_list_gives_no_verdicts() -> None:
    """What cannot be known is not made up: such findings have a label and no verdict."""

    class Rated(Result):
        """A number, and remarks beside it."""

        claims: list[Claim]
        points: int

        @property
        def score(self) -> float:
            """Points in ten."""
            return self.points / 10

    rated = Rated(claims=[Claim(reason="r", claim="c", is_wrong=True)], points=3)

    assert [(one.verdict, one.label) for one in rated.findings] == [(None, "wrong")]


class Tone(Result):
    """Labels that are fields of their own."""

    kind: bool
    style: Literal["dry", "warm"] = "dry"
    length: AspectEvaluation | None = None
    remark: str = "none"

    @property
    def score(self) -> float:
        """One or zero."""
        return float(self.kind)


def test_a_model_without_one_list_shows_its_labels_and_no_verdict() -> None:
    """True or false, one of some words, and models with a label; two lists are not chosen from."""

    class Two(Tone):
        """Two lists."""

        some: list[Claim]
        others: list[Claim]

    length = AspectEvaluation(reasoning="Long.", label="partly")
    labels = [("kind", "yes"), ("style", "dry"), ("length", "partly")]
    for tone in (Tone(kind=True, length=length), Two(kind=True, length=length, some=[], others=[])):
        assert [(one.text, one.label) for one in tone.findings] == labels
        assert {one.verdict for one in tone.findings} == {None}
        assert tone.findings[-1].reasoning == "Long."
    assert Tone(kind=False).findings == (Finding("kind", None, "no"), Finding("style", None, "dry"))


@pytest.mark.parametrize("name", ["score", "findings", "not_scorable", "warnings", "tallies"])
def test_a_field_with_a_taken_name_is_refused_at_once(name: str) -> None:
    """One error when the class is made, which names class and field and says how to rename it."""
    with pytest.raises(
        ConfigurationError, match=rf"Tone has a field '{name}'.*rename the field.*'own_{name}'"
    ):
        type("Tone", (Result,), {"__annotations__": {name: str}, "__module__": __name__})


def test_findings_of_another_kind_are_refused() -> None:
    """A property of the user's own must give `Finding` values; the message shows what it gave."""

    class Wrong(BaseModel):
        """Texts where findings should be."""

        @property
        def findings(self) -> list[str]:
            """Texts."""
            return ["It is."]

    with pytest.raises(ConfigurationError, match=r"Wrong.findings contains 'It is.'; expected"):
        findings_of(Wrong())


class WrongStatement(BaseModel):
    """A statement, and whether it is wrong."""

    statement: str
    is_wrong: bool


class WrongResult(Result):
    """True counts against its score, or for nothing."""

    counts: bool = True
    statements: list[WrongStatement]

    @property
    def score(self) -> float:
        """Statements that are not wrong, divided by all."""
        wrong = sum(one.is_wrong for one in self.statements) if self.counts else 0
        return 1 - wrong / len(self.statements)


def test_statements_are_kept_and_denied_by_their_places() -> None:
    """One that is denied lowers the score, whatever its label means; others stay as they are."""
    said = [("a", True), ("b", True), ("c", False), ("d", True)]
    right: Any = FaithfulnessResult.model_validate(
        {"statements": [{"statement": text, "is_supported": label} for text, label in said]}
    )
    wrong, idle = (
        WrongResult(
            statements=[WrongStatement(statement=text, is_wrong=label) for text, label in said],
            counts=counts,
        )
        for counts in (True, False)
    )
    every = range(4)

    assert statements_in(right) == statements_in(wrong) == said
    assert with_statements(right, every, ()) is right
    assert statements_in(with_statements(right, [0, 2], [0])) == [("a", False), ("c", False)]
    assert statements_in(with_statements(right, every, [1])) == [
        *(("a", True), ("b", False), ("c", False), ("d", True))
    ]
    assert statements_in(with_statements(right, [3, 1], ())) == [("b", True), ("d", True)]
    assert statements_in(with_statements(wrong, [1, 2], [2])) == [("b", True), ("c", True)]
    assert statements_in(with_statements(idle, [1, 2], [2])) == [("b", True), ("c", False)]
    assert statements_in(right) == said


def of_list(**fields: Any) -> type[BaseModel]:
    """Return a model with a list of items that have these fields."""
    kinds: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    item = create_model("Item", **kinds)
    return create_model("Model", items=(list[item], ...))  # type: ignore[valid-type]  # made here


def test_only_a_text_named_statement_is_one() -> None:
    """And one label beside it: two are not chosen from, and a reason is no text."""
    assert has_statements(FaithfulnessResult)
    assert has_statements(WrongResult)
    assert has_statements(of_list(statement=str, reason=str, ok=bool))
    assert has_statements(of_list(note=str, statement=str, ok=bool))
    for fields in (
        {"claim": str, "ok": bool},
        {"statement": str, "ok": bool, "good": bool},
        {"statement": str},
        {"statement": int, "ok": bool},
        {"reason": str, "ok": bool},
    ):
        assert not has_statements(of_list(**fields))


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"has_evidence": True, "text": "t"}, Finding("t", None, "evidence", about="answer")),
        ({"is_a_good_one": False, "name": "n"}, Finding("n", None, "not a good one")),
        ({"ok": True, "note": "n", "text": "t"}, Finding("t", None, "ok")),
        ({"ok": True, "note": "n", "other": "o"}, Finding("n", None, "ok")),
        ({"ok": True, "reason": "r", "note": "n"}, Finding("n", None, "ok", "r")),
        ({"ok": True, "sentence": "s"}, Finding("s", None, "ok", about="statement")),
        ({"ok": True, "chunk_id": 3}, Finding("chunk 3", None, "ok", None, (3,), about="chunk")),
        ({"ok": True, "id_chunk": 3}, Finding("chunk 3", None, "ok", None, (3,), about="chunk")),
        ({"ok": True, "chunk_id": 3, "text": "t"}, Finding("t", None, "ok", None, (3,))),
        (
            {"ok": True, "chunk_id": 3, "chunk_ids": [5, 4], "text": "t"},
            Finding("t", None, "ok", None, (5, 4)),
        ),
        (
            {"ok": True, "chunk_id": 3, "chunk_ids": [], "text": "t"},
            Finding("t", None, "ok", None, (3,)),
        ),
    ],
)
def test_a_finding_is_read_from_the_fields_of_an_item(item: dict[str, Any], found: Finding) -> None:
    """Its text by the usual names, its label without "is" and "has", and the chunks of it."""
    kinds = {name: list[int] if name == "chunk_ids" else type(one) for name, one in item.items()}

    assert findings_of(of_list(**kinds)(items=[item])) == (found,)


def test_what_true_means_is_tried_on_the_whole_list() -> None:
    """A score may need more than one of its items."""

    class Two(PlainResult):
        @property
        def score(self) -> float:
            return float(sum(chunk.good for chunk in self.chunks) >= 2)

    chunks = [PlainChunk(chunk_id=number, good=number == 1) for number in range(3)]
    assert [one.verdict for one in findings_of(Two(chunks=chunks))] == [False, True, False]


def test_a_field_without_a_label_is_none() -> None:
    """Neither a model of something else, nor a label that was not given."""

    class Bare(BaseModel):
        note: str = "n"

    class Odd(Result):
        bare: Bare = Bare()
        kind: bool = None  # type: ignore[assignment]  # not given
        style: Literal["dry"] = "dry"

        @property
        def score(self) -> float:
            return 1.0

    assert Odd().findings == (Finding("style", None, "dry"),)


@pytest.mark.parametrize(
    ("finding", "line", "against"),
    [
        (Finding("t", True, "supported"), "+  t  [supported]", False),
        (Finding("t", False, "not met", "Why."), "-  t  [not met]  Why.", True),
        (Finding("t", False, "contradicted"), "x  t  [contradicted]", True),
        (Finding("t", None, "yes"), "·  t  [yes]", False),
        (Finding("t", None, "5 of 5", support=1.0), "+  t  [5 of 5]", False),
        (Finding("t", None, "4 of 5", support=0.75), "-  t  [4 of 5]", True),
        (Finding("t", True, "ok", support=0.2), "+  t  [ok]", False),
        (Finding("t", True, "ok", chunk_ids=(4,)), "+  t  [ok, chunk 4]", False),
        (Finding("t", True, "ok", chunk_ids=(4, 1)), "+  t  [ok, chunks 4, 1]", False),
        (
            Finding("t", True, "ok", chunk_ids=tuple(range(12))),
            "+  t  [ok, chunks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
            False,
        ),
        (Finding("chunk 4", True, "ok", chunk_ids=(4,), about="chunk"), "+  chunk 4  [ok]", False),
    ],
)
def test_a_finding_is_one_line(finding: Finding, line: str, against: bool) -> None:
    """A sign, its text, its label with its chunks, and why."""
    assert findings_lines([finding]) == [line]
    assert finding.counts_against is against


def test_findings_are_counted_by_label_and_turns_are_not() -> None:
    """In the order in which each label came first."""
    labels = ["supported", "not met", "supported", "yes"]
    found = [Finding("t", None, label) for label in labels]
    found.insert(1, Finding("turn 1", None, "1 of 2", about="turn"))

    assert findings_line(found) == "2 supported, 1 not met, 1 yes"
    assert findings_line(found[1:2]) == ""


def test_html_has_two_quotes_and_says_how_many_are_not_shown() -> None:
    """Ten findings, those against it first but in their own order, and ten warnings."""
    quotes = tuple(Quote(number, None, None, f"quote{number}") for number in range(3))
    found = [Finding(f"plain{n}", True, "ok", quotes=quotes if not n else ()) for n in range(10)]
    found += [Finding(f"bad{n}", False, "not ok") for n in range(2)]
    html = result_html("Name", "rest", found, [f"odd{n}" for n in range(12)])
    shown = [f"plain{n}" for n in range(8)] + ["bad0", "bad1"]

    assert [
        text for text in [*(f"plain{n}" for n in range(10)), "bad0", "bad1"] if text in html
    ] == shown
    assert [html.index(text) for text in shown] == sorted(html.index(text) for text in shown)
    assert [f"quote{n}" in html for n in range(3)] == [True, True, False]
    assert [f"odd{n}" in html for n in (9, 10)] == [True, False]
    assert "and 2 more findings" in html
    assert "and 2 more warnings" in html
    few = result_html("Name", "rest", found[:10], ["odd"] * 10)
    assert "more findings" not in few
    assert "more warnings" not in few


def test_a_passage_is_told_in_three_hundred_characters() -> None:
    """The nearest one, or a quote; less if less is asked for."""
    passage = EvidencePassage(3, 0, 400, "x" * 400, is_nearest=True)
    quote = EvidencePassage(3, 0, 3, "abc")
    say = phrases()

    assert passage.words(say) == f"nearest chunk 3: {'x' * 299}…"
    assert passage.words(say, 10) == f"nearest chunk 3: {'x' * 9}…"
    assert quote.words(say) == "chunk 3: “abc”"
    assert repr(Quote(1, 2, 5, "abc")) == "Quote(chunk 1, 2 to 5: 'abc')"
    assert repr(Quote(1, None, None, "abc")) == "Quote(chunk 1: 'abc')"
