"""Sources that are longer than the judge's window: packs of the best passages, nothing unsaid."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rag_evals import (
    AuditedFaithfulness,
    ContextRecall,
    Faithfulness,
    Sample,
    TwoStepFaithfulness,
    evaluate,
)
from rag_evals.core import Chunk, Flow, JudgeCall, LocalCall
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import JudgeRequestError
from rag_evals.grading.packing import (
    _best_by_sentence,
    _filled,
    _other_tokens,
    _packs,
    _Passage,
    _passages,
    _tokens,
    packed_flow,
)
from rag_evals.response_models import FaithfulnessResult
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from tests.conftest import Command

Start = Callable[[Script], ScriptedJudge]

FACTS = [
    "The Severin bridge was opened in 1959.",
    "Gustav Lohmer designed its lonely pylon.",
    "Two thousand swallows nest below every spring.",
    "Repainting consumed forty tonnes of green lacquer.",
]
FILLER = "Harbour cranes, barges and warehouses line this river, and nothing else is told here. "
# 60 chunks of about 250 tokens, four of which say something.
CHUNKS = [f"Berth {n} is here. {FILLER * 10}" for n in range(60)]
for place, fact in zip((7, 23, 41, 59), FACTS, strict=True):
    CHUNKS[place] = f"{FILLER * 8}{fact} {FILLER * 2}"
ANSWER = " ".join([FACTS[0], FACTS[3], "Zebras invented yoghurt quickly."])


def sized(window: int) -> Callable[[JudgeRequest], Any]:
    """Refuse what is longer than a window, as vLLM does; answer by the sentences of chunks."""

    def answer(request: JudgeRequest) -> Any:
        tokens = sum(len(one["content"]) for one in request.messages) // 4
        if tokens > window:
            words = f"This model's maximum context length is {window} tokens. However, you asked"
            return HttpError(400, words)
        kept = [one for one in request.sentences if any(one in chunk for chunk in request.chunks)]
        return {
            f"s{n}": {
                "reasoning": "r",
                "verdict": {"supported_by": [_place(request, text)]}
                if text in kept
                else {"not_supported_because": "not_in_context"},
            }
            for n, text in enumerate(request.sentences)
        }

    return answer


def _place(request: JudgeRequest, text: str) -> int:
    return next(n for n, chunk in enumerate(request.chunks) if text in chunk)


@pytest.mark.parametrize("settings", [{"window": 5000}, None], ids=["set", "learned"])
def test_a_call_reads_the_best_chunks_that_fit(scripted: Start, settings: Any) -> None:
    """The window is set, or what the refusal says; chunk ids are those of the row."""
    judge = scripted(sized(5000))
    result = Faithfulness.grade(answer=ANSWER, context=CHUNKS, client="openai/m", settings=settings)

    assert [one.supporting_chunk_ids for one in result.statements] == [[7], [59], []]
    assert len(judge.requests) == (1 if settings else 2)
    shown = judge.requests[-1].chunks
    assert [chunk for chunk in CHUNKS if chunk in shown] == shown
    (told,) = result.unread
    read = {place for place, chunk in enumerate(CHUNKS) if chunk in shown}
    assert (told.read, told.passages) == (len(shown), 60)
    assert set(told.chunk_ids) == set(range(60)) - read
    assert str(told) in result.warnings
    assert str(told).startswith(f"read {len(shown)} of 60 passages; not read in full: chunks 1")
    assert str(told).endswith("-58")
    assert "window" not in judge.requests[-1].body


def test_what_fits_is_graded_as_ever(scripted: Start) -> None:
    """A window that is long enough changes nothing that is sent."""
    judge = scripted(None)
    for settings in (None, {"window": 100_000}):
        result = Faithfulness.grade(
            answer=FACTS[0], context=FACTS, client="openai/m", settings=settings
        )
        assert result.unread == []
    assert judge.requests[0].messages == judge.requests[1].messages


def test_sentences_that_need_more_than_one_window_get_several_packs(scripted: Start) -> None:
    """Each has the verdict of the best pack; no sentence is lost, none is twice."""
    names = "Alder Birch Cedar Dogwood Elder Fir Ginkgo Hazel Ivy Juniper Larch Maple".split()
    facts = [f"{name} logs weigh {place + 200} kilos each." for place, name in enumerate(names)]
    context = [f"{FILLER * 8}{fact} {FILLER * 2}" for fact in facts]
    judge = scripted(sized(4000))
    result = Faithfulness.grade(
        answer=" ".join([*facts, "Zebras invented yoghurt quickly."]),
        context=context,
        client="openai/m",
        settings={"window": 4000},
    )

    assert len(judge.requests) > 1
    assert all(len(one.chunks) < len(facts) for one in judge.requests)
    ids = [one.supporting_chunk_ids for one in result.statements]
    assert ids == [*([place] for place in range(12)), []]
    assert [one.sentence_id for one in result.statements] == list(range(13))
    assert result.unread == []
    # The sources are long, not the answer.
    assert result.warnings == []


def test_a_sentence_that_one_pack_leaves_out_counts_by_another(scripted: Start) -> None:
    """Each call is silent on what its passages do not hold; only what all leave out is missing."""
    facts = [
        *FACTS,
        "Alder logs were dried for 210 days.",
        "Brass kettles were sold by the dozen.",
        "Copper roofs turned turquoise after decades.",
        "Dutch tulips covered every April meadow.",
        "Elm tables seated fourteen guests at once.",
        "Flint knives pierced thick leather easily.",
        "Granite steps climbed upwards past a chapel.",
        "Hazel hedges sheltered wrens and dormice.",
    ]
    read = sized(4000)

    def answer(request: JudgeRequest) -> Any:
        said = read(request)
        return {key: one for key, one in said.items() if "supported_by" in one["verdict"]}

    judge = scripted(answer)
    result = Faithfulness.grade(
        answer=" ".join(facts),
        context=[f"{FILLER * 8}{fact} {FILLER * 2}" for fact in facts],
        client="openai/m",
        settings={"window": 4000},
    )

    assert all(len(one.chunks) < len(facts) for one in judge.requests)
    assert [one.sentence_id for one in result.statements] == list(range(12))
    assert (result.left_out, result.not_scorable, result.score) == ([], None, 1.0)


def test_verdicts_of_packs_stand_in_the_order_of_the_sentences() -> None:
    """Of each sentence the better part: one of two supported beats none, one of one beats both."""

    def said(sentence: int | None, *verdicts: bool) -> list[dict[str, Any]]:
        return [{"sentence_id": sentence, "is_supported": verdict} for verdict in verdicts]

    def pack(statements: list[Any], calls: int, left_out: list[int], *silent: int) -> Any:
        nothing = [{"sentence_id": number} for number in silent]
        counted = {"left_out": left_out, "no_claim_sentences": nothing, "calls": calls}
        return {"statements": statements, **counted}

    first = pack(said(8, False) + said(1, True, False) + said(5, True, False), 2, [16, 9, 2], 4, 32)
    better = said(None, True) + said(8, True, False) + said(2, False) + said(5, True)
    other = pack(better, 1, [9], 1, 32)
    best = _best_by_sentence([first, other], "is_supported")

    assert best["statements"] == [
        *said(None, True), *said(1, True, False), *said(2, False), *said(5, True),
        *said(8, True, False),
    ]  # fmt: skip
    assert best["left_out"] == [9, 16]
    assert best["no_claim_sentences"] == [{"sentence_id": 4}, {"sentence_id": 32}]
    assert best["calls"] == 2


def test_what_claims_nothing_in_one_pack_is_told_by_the_first() -> None:
    """The longest pack says in how many calls it was graded, whichever it is."""

    def pack(calls: int, reason: str) -> Any:
        silent = {"sentence_id": 3, "reason": reason}
        return {"statements": [], "left_out": [], "no_claim_sentences": [silent], "calls": calls}

    best = _best_by_sentence([pack(1, "first"), pack(3, "then"), pack(2, "last")], "is_supported")
    assert best["calls"] == 3
    assert [one["reason"] for one in best["no_claim_sentences"]] == ["first"]
    assert _best_by_sentence([pack(2, "only")], "is_supported")["calls"] == 2


def test_sentences_share_a_pack_while_their_passages_fit() -> None:
    """To the last token; each pack has what its sentences need before anything else."""
    texts = ["Alder logs are wet.", "Birch logs are dry.", "Cats purr at home."]
    passages = [_Passage(n, text, 10) for n, text in enumerate(texts)]

    assert _packs(texts[:2], passages, 40) == [{0, 1, 2}]
    assert _packs(texts[:2], passages, 20) == [{0, 1}]
    words = ["Alder", "Birch", "Cedar", "Dogwood", "Elder"]
    many = [f"{word} logs were weighed on day {n + 40}." for n, word in enumerate(words)]
    tens = [_Passage(n, text, 10) for n, text in enumerate(many)]
    assert _packs(many[:4], tens[:4], 40) == [{0, 1, 2, 3}]
    assert [4 in pack for pack in _packs(many, tens, 40)] == [False, True]
    small = [passage._replace(tokens=5) for passage in passages]
    assert _packs(texts, small, 15) == [{0, 1, 2}]


def test_one_chunk_that_is_too_long_is_read_in_passages(scripted: Start) -> None:
    """Its best passages, with the id of the chunk; so is a text without a stop."""
    judge = scripted(sized(4000))
    context = ["".join(CHUNKS), "x" * 60_000]
    result = Faithfulness.grade(
        answer=ANSWER, context=context, client="openai/m", settings={"window": 4000}
    )

    assert [one.supporting_chunk_ids for one in result.statements] == [[0], [0], []]
    assert str(result.unread[0]).endswith(" passages; not read in full: chunks 0-1")
    assert all("".join(context).count(chunk) for chunk in judge.requests[0].chunks)


def test_a_passage_has_as_many_whole_sentences_as_fit(scripted: Start) -> None:
    """It ends where a sentence ends, and the next sentence would make it too long."""
    sentences = [f"Berth number {n} of this harbour has {n + 300} bollards." for n in range(400)]
    judge = scripted(sized(4000))
    Faithfulness.grade(
        answer=sentences[77],
        context=[" ".join(sentences)],
        client="openai/m",
        settings={"window": 4000},
    )

    shown = [one for one in judge.requests[-1].chunks if sentences[-1] not in one]
    sizes = [len(one.strip()) for one in shown]
    assert len(shown) >= 3
    for passage in shown:
        whole = [one for one in sentences if one in passage]
        assert passage.strip() == " ".join(whole)
    assert max(sizes) - min(sizes) < 2 * len(sentences[-1])


def test_a_text_without_a_stop_is_cut_into_pieces_that_fit_in_any_script(scripted: Start) -> None:
    """A quarter of the bytes that a passage may have, as a character has up to four of them."""
    judge = scripted(sized(4000))
    words = "berth " * 10_000
    Faithfulness.grade(
        answer="A berth.", context=[words], client="openai/m", settings={"window": 4000}
    )

    assert 16 <= len(judge.requests[-1].chunks) <= 20


def test_a_sentence_that_leans_on_the_one_before_is_ranked_with_it(scripted: Start) -> None:
    """Of many lengths that of its own subject is read, which only the sentence before names."""
    names = "Alder Birch Cedar Dogwood Elder Fir Ginkgo Hazel Ivy Juniper Larch Maple".split()
    facts = [f"The Maple bridge was repainted {number} times." for number in range(2, 9)]
    facts += [f"The {name} bridge is 691 metres long." for name in names]
    context = [f"{FILLER * 8}{fact} {FILLER * 2}" for fact in facts]
    judge = scripted(sized(3000))
    Faithfulness.grade(
        answer="The Maple bridge was repainted. It is 691 metres long.",
        context=context,
        client="openai/m",
        settings={"window": 3000},
    )

    (request,) = judge.requests
    assert context[-1] in request.chunks
    assert len(request.chunks) < len(names)


@pytest.mark.parametrize("grader", [TwoStepFaithfulness, AuditedFaithfulness, ContextRecall])
def test_every_grader_of_statements_is_packed(scripted: Start, grader: Any) -> None:
    """Theirs are the same warnings, and quotes are found in the chunks of the row."""
    judge = scripted(None)
    result = grader.grade(
        answer=FACTS[0],
        reference=FACTS[0],
        context=[FILLER * 20 for _ in range(20)] + [FACTS[0]],
        client="openai/m",
        settings={"window": 6000},
    )

    assert result.score == 1.0
    assert result.findings[0].chunk_ids == (20,)
    assert [quote.chunk_id for quote in result.findings[0].quotes] in ([], [20])
    assert any(one.startswith("read ") for one in result.warnings)
    assert max(len(one.chunks) for one in judge.requests) < 21


def test_a_run_packs_and_says_so(
    scripted: Start, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--set window=5000`; the warning is counted, and a run with another window is another run."""
    scripted(sized(5000))
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(json.dumps({"id": "a", "answer": ANSWER, "context": CHUNKS}))
    grade = ("grade", "a.jsonl", "--judge", "openai/m", "--out", "r", "--set")
    ended = command(*grade, "window=5000")
    assert ended.code == 0, ended.err
    assert "faithfulness: 0.67" in ended.out
    assert "warning" in ended.out
    assert "settings" in command(*grade, "window=6000").err
    refused = command("grade", "a.jsonl", "--judge", "embedded", "--set", "window=5000")
    assert "does not call a model" in refused.err
    assert "at least 1" in command(*grade, "window=0").err


def test_a_conversation_packs_its_turns(scripted: Start) -> None:
    """The turn is named where something is unread."""
    scripted(sized(5000))
    talk = [("user", "Opened?"), ("tool", FACTS[0]), ("assistant", FACTS[0]), ("user", "And?")]
    turns: list[Any] = [*talk, {"role": "assistant", "content": ANSWER, "context": CHUNKS}]
    result = Faithfulness.grade(Sample(turns=turns), client="openai/m", settings={"window": 5000})
    assert [one.supported for one in result.turns] == [1, 2]
    (told,) = result.unread
    assert " passages of turn 2; not read in full: chunks " in str(told)


def test_a_window_without_room_is_one_clear_error(scripted: Start) -> None:
    """Nothing is sent; in a run the row fails."""
    judge = scripted(None)
    with pytest.raises(JudgeRequestError, match="a window of 300 tokens leaves no room"):
        Faithfulness.grade(
            answer=ANSWER, context=CHUNKS, client="openai/m", settings={"window": 300}
        )
    rows = [{"answer": ANSWER, "context": CHUNKS}, {"answer": "a", "context": ["a"]}]
    run = evaluate(rows, client="openai/m", settings={"window": 300}, max_failures=2)
    assert {one.status for one in run.outcomes} == {"failed"}
    assert judge.requests == []


def test_chunks_are_ranked_by_what_they_hold_of_a_statement() -> None:
    """The chunk with the sentence first, then those that share words, then the rest in order."""
    ranked = EmbeddedVerifier().rank([FACTS[0], FACTS[3]], ["No.", *FACTS])
    assert [order[0] for order in ranked] == [1, 4]
    assert ranked[0][1:] == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 1), ("abc", 1), ("abcd", 2), ("a" * 7, 3), ("a" * 350, 101), ("я" * 7, 5), ("\ud800", 1)],
)
def test_tokens_are_told_by_bytes(text: str, tokens: int) -> None:
    """Three and a half bytes each, and one more, so that a pack fits at the first try."""
    assert _tokens(text) == tokens


class Asking:
    """A grader of one answer that keeps what it is given, and asks in two calls."""

    result_model: ClassVar[type[FaithfulnessResult]] = FaithfulnessResult

    def __init__(self) -> None:
        self.seen: list[Sample] = []

    def flow(self, sample: Sample) -> Flow[FaithfulnessResult]:
        self.seen.append(sample)
        short, long = ({"role": "user", "content": text} for text in ("a" * 7, "b" * 35))
        one: Any = JudgeCall((short,), FaithfulnessResult)  # type: ignore[arg-type]  # a message
        two: Any = JudgeCall((short, long), FaithfulnessResult)  # type: ignore[arg-type]  # as above
        yield [one, two, LocalCall(lambda _: 1, 1)]
        said = [{"statement": "s", "is_supported": True, "sentence_id": 0}]
        return FaithfulnessResult.model_validate({"statements": said})

    def graded(self, sample: Sample, window: int) -> FaithfulnessResult:
        """Run a packed grading to its end; whatever is asked has no reply."""
        flow = packed_flow(self, sample, window)
        try:
            next(flow)
            while True:
                flow.send([None, None, None])
        except StopIteration as stop:
            return FaithfulnessResult.model_validate(stop.value.model_dump())


def test_a_window_holds_instructions_the_schema_and_a_long_reply_as_well() -> None:
    """Those of the longest call, and twice the answer; less than 100 tokens more are no room."""
    sample = Sample(question="Q?", answer="z" * 70, context=["c" * 343])
    schema = _tokens(str(FaithfulnessResult.model_json_schema()))
    other = 3 + 11 + schema + 300 + 2 * 21

    assert _other_tokens(Asking(), sample) == other
    assert _other_tokens(Asking(), Sample(context=["c"])) == other - 40
    with pytest.raises(JudgeRequestError, match=f"need about {other}; nothing was sent"):
        Asking().graded(sample, other + 99)
    fits, packed = Asking(), Asking()
    fits.graded(Sample(answer="z" * 70, context=["c" * 349]), other + 100)
    assert (fits.seen[-1].context[0].text, len(fits.seen)) == ("c" * 349, 2)
    packed.graded(Sample(answer="z" * 70, context=["c" * 350]), other + 100)
    assert all(len(chunk.text) < 100 for chunk in packed.seen[-1].context)


def test_a_pack_keeps_the_rest_of_its_row() -> None:
    """All fields, and the metadata of the chunk that each passage is from."""
    context = [Chunk(0, f"{FILLER * 9}", {"page": 1}), Chunk(1, f"{FACTS[0]}", {"page": 2})]
    sample = Sample(
        question="Q?", answer=FACTS[0], context=context, reference="R.", language="de", id="a"
    )
    grader = Asking()
    result = grader.graded(sample, _other_tokens(grader, sample) + 100)

    shown = grader.seen[-1]
    assert (shown.question, shown.answer, shown.reference) == ("Q?", FACTS[0], "R.")
    assert (shown.language, shown.turns) == ("de", ())
    pages = [chunk.metadata["page"] for chunk in shown.context]
    assert pages == sorted(pages)
    assert set(pages) == {1, 2}
    every = len(list(_passages(sample.context, 25)))
    assert every > len(pages)
    assert [(one.read, one.passages, one.chunk_ids) for one in result.unread] == [
        (len(pages), every, [0])
    ]


def test_passages_end_between_sentences_where_they_can() -> None:
    """As many sentences as have at most so many tokens; a chunk that has no more is one passage."""
    text = "Ann has ten. Bob has two. Cid has six."
    assert list(_passages([Chunk(4, text), Chunk(5, " "), Chunk(6, "Ok.")], 11)) == [
        _Passage(4, text, 11),
        _Passage(6, "Ok.", 1),
    ]
    assert list(_passages([Chunk(4, text)], 8)) == [
        _Passage(4, "Ann has ten. Bob has two. ", 8),
        _Passage(4, "Cid has six.", 4),
    ]
    assert [one.text for one in _passages([Chunk(4, text)], 7)] == [
        "Ann has ten. ",
        "Bob has two. ",
        "Cid has six.",
    ]
    assert [one.text for one in _passages([Chunk(0, "abcdefghij")], 2)] == list("abcdefghij")
    assert [len(one.text) for one in _passages([Chunk(0, "x" * 70)], 16)] == [14] * 5


def test_a_pack_is_filled_from_each_ranking_in_turn() -> None:
    """With whatever still fits, to the last token; what is taken before counts."""
    passages = [_Passage(0, "a", 5), _Passage(0, "b", 3), _Passage(1, "c", 4), _Passage(2, "d", 1)]

    assert _filled(set(), [[0, 1, 2, 3]], passages, 8) == {0, 1}
    assert _filled(set(), [[0, 1, 2, 3]], passages, 7) == {0, 3}
    assert _filled(set(), [[0, 1, 2, 3], [2, 3, 1, 0]], passages, 10) == {0, 2, 3}
    assert _filled({2}, [[0, 1, 2, 3]], passages, 8) == {1, 2, 3}
    assert _filled({2}, [[2, 0, 1, 3]], passages, 9) == {0, 2}
    assert _filled({0}, [], passages, 3) == {0}
