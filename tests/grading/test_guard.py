"""What code finds between the sentences of an answer and a judge's statements of them."""

from typing import Any

import pytest

from rag_evals import Faithfulness, Sample
from rag_evals.core import JudgeReply
from rag_evals.grading.guarding import Guard, claiming_sentences, distinct
from rag_evals.response_models.statements import Stated

SENTENCES = (
    "The tower of Riga is 65 metres tall.",
    "Its old clock was built by Anna Berg in 1889.",
)


def test_a_statement_of_two_sentences_leaves_none_out() -> None:
    """Without ids a statement covers each sentence whose words it has, not only the nearest."""
    guard = Guard(SENTENCES, claiming=lambda: {0, 1})
    both = Stated(" and ".join(one.rstrip(".") for one in SENTENCES))

    assert guard.faults([both]) == []
    assert [fault.name for fault in guard.faults([Stated(SENTENCES[0])])] == ["left out"]


def test_a_sentence_is_covered_by_three_of_its_ten_words() -> None:
    """Three of the statement's ten words too; with two of them the sentence is left out."""
    sentences = (
        "Red brick towers guard old Riga harbour.",
        "Anna Berg repaired seven copper bells, wooden stairs, iron doors.",
    )
    guard = Guard(sentences, claiming=lambda: {0, 1})

    def left_out(added: str) -> list[int | None]:
        said = Stated(f"{sentences[0][:-1]}, {added}.")
        return [one.sentence for one in guard.faults([said]) if one.name == "left out"]

    assert left_out("copper bells, doors") == []
    assert left_out("copper bells, mortar") == [1]


def test_a_statement_covers_its_sentence_by_three_of_ten_words() -> None:
    """However short it is itself: with two of them, the sentence is left out."""
    sentence = "Anna Berg repaired seven copper bells, wooden stairs, iron doors."
    guard = Guard([sentence], claiming=lambda: {0})
    found = [guard.faults([Stated(said)]) for said in ("Copper bells, doors.", "Copper bells.")]

    assert ["left out" in [one.name for one in faults] for faults in found] == [False, True]


def test_a_long_word_in_capitals_is_a_name() -> None:
    """Up to three letters stand for what the answer writes out; "UNESCO" is somebody."""
    guard = Guard(SENTENCES[:1])
    added = [guard.faults([Stated(f"The {who} tower of Riga is 65 metres tall.", (0,))])
             for who in ("TV", "UNESCO")]  # fmt: skip

    assert [[fault.name for fault in faults] for faults in added] == [[], ["changed name"]]


def test_a_name_in_another_form_is_no_other_name() -> None:
    """Five first letters are enough to know a name of the answer again, but not four."""
    guard = Guard(["It stands in Parisian suburbs."])

    def is_changed(name: str) -> bool:
        faults = guard.faults([Stated(f"It stands in {name} suburbs.", (0,))])
        return "changed name" in [fault.name for fault in faults]

    assert list(map(is_changed, ["Paris", "Parisienne", "Parish", "Paros", "Parikot"])) == [
        False, False, False, True, True
    ]  # fmt: skip


def test_a_name_that_begins_a_sentence_must_be_kept_in_part() -> None:
    """Both words are one name, of which one is enough."""
    guard = Guard(["Anna Berg repaired the old bells."])

    def lost(said: str) -> list[str]:
        return [str(one) for one in guard.faults([Stated(said, (0,))]) if one.name == "lost name"]

    assert lost("Berg repaired the old bells.") == []
    (told,) = lost("Somebody repaired the old bells.")
    assert "no statement of sentence 0 has Anna Berg" in told


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ("Anna Berg was met by Berg.", []),
        ("They met Berg.", ["Anna Berg"]),
        ("They met Anna.", ["Berg"]),
        ("They met.", ["Anna Berg", "Berg"]),
    ],
)
def test_a_name_that_is_told_twice_must_be_kept_once(said: str, lost: list[str]) -> None:
    """What one name shares with the other tells them apart only if it has a word of its own."""
    guard = Guard(["There Anna Berg met Berg."])
    told = [one.told for one in guard.faults([Stated(said, (0,))]) if one.name == "lost name"]

    assert told == ([f"no statement of sentence 0 has {', '.join(lost)}"] if lost else [])


def test_twenty_statements_of_a_sentence_are_not_too_many() -> None:
    """Fewer than one sentence in two thousand was broken into more by people."""
    guard = Guard(SENTENCES[:1])
    found = [guard.faults([Stated(SENTENCES[0], (0,))] * count) for count in (20, 21)]

    assert [[fault.name for fault in faults] for faults in found] == [[], ["too many statements"]]


def test_a_claim_has_five_words_or_a_number() -> None:
    """A judge may pass over four words without a number, but not over five."""
    answer = "Lions sleep in dry grass. Lions sleep on grass. Lions ate 3 hens."

    assert claiming_sentences(answer) == [0, 2]


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("It has 3 doors.", True),
        ("Therefore 3 doors are there.", True),
        ("Room 12 costs 300 euros.", True),
        ("Lion 3 sleeps in dry grass today.", True),
        ("The room costs 300 euros.", True),
        ("About 10 requests per minute.", False),
        ("Room 12 of the house.", False),
        ("The context does not say how old the tower is.", True),
        ("However, the tower stands in Riga today.", True),
        ("Hope this helps you with your 3 questions.", False),
        ("Please let me know if you have any other questions.", False),
        ("Is the tower of Riga really 65 metres tall?", False),
        ("Here are the 3 doors:", False),
        ("And 3 doors.", False),
        ("I hope the tower opens at nine.", False),
        ("We think that the tower has 3 doors.", False),
    ],
)
def test_talk_and_questions_claim_nothing(sentence: str, claims: bool) -> None:
    """However many words and numbers they have; so do what one thinks, and what is no sentence."""
    assert claiming_sentences(sentence) == ([0] if claims else [])


def named(sentence: str, text: str, chunk: str) -> list[str]:
    """Name the faults of one statement of one sentence, beside one chunk."""
    guard = Guard([sentence], chunks=[chunk])
    return [fault.name for fault in guard.faults([Stated(text, (0,))])]


def test_two_words_of_eight_that_only_a_chunk_has_are_copied() -> None:
    """A quarter of a statement's words, and two at least; one word more is the judge's own."""
    sentence = "The red tower of Riga has seven copper bells."
    chunk = "Seven copper bells of the tower are visible nightly."

    assert named(sentence, f"{sentence[:-1]}, visible nightly.", chunk) == ["of the context"]
    assert named(sentence, f"{sentence[:-1]}, visible.", chunk) == []
    less = "Seven copper bells are visible nightly."
    assert named(sentence, f"{sentence[:-1]}, visible nightly.", less) == []


def test_a_long_statement_that_a_chunk_has_too_may_add_two_words() -> None:
    """Of 20 words an eighth would be three; it is most of its sentence, so it is no copy."""
    sentence = (
        "The old red brick tower of Riga has seven large copper bells, twelve stone steps, "
        "three iron doors and green glass windows"
    )
    two, three = f"{sentence}, visible nightly.", f"{sentence}, visible nightly everywhere."

    assert named(f"{sentence}.", two, two) == []
    assert named(f"{sentence}.", three, three) == ["of the context"]


def test_a_statement_of_a_short_sentence_keeps_its_language() -> None:
    """Fewer than five words say little of a language: of the sentence, but not of the statement."""
    sentence = "Eiffel stands in Paris."

    assert named(sentence, "Eiffel steht heute noch Paris.", "") == ["other language"]
    assert named(sentence, "Eiffel steht noch Paris.", "") == []


def test_names_and_words_of_the_question_are_no_drift() -> None:
    """An answer need not repeat them; without the question they are somebody's else."""
    sentence, said = (
        "It stands in Paris.",
        Stated("The Eiffel Tower of 1889 stands in Paris.", (0,)),
    )
    question = "Where does the Eiffel Tower of 1889 stand?"
    found = [Guard([sentence], asked).faults([said]) for asked in (question, None)]

    assert [[fault.name for fault in faults] for faults in found] == [
        [],
        ["changed number", "changed name"],
    ]


@pytest.mark.parametrize(("name", "is_other"), [("TV", False), ("USA", False), ("USSR", True)])
def test_three_capitals_may_be_short_for_words(name: str, is_other: bool) -> None:
    """Four are a name."""
    faults = Guard(SENTENCES[:1]).faults(
        [Stated(f"The {name} tower of Riga is 65 metres tall.", (0,))]
    )

    assert [fault.name for fault in faults] == (["changed name"] if is_other else [])


def test_statements_cover_a_sentence_together() -> None:
    """Each with two of its ten words: one alone leaves it out."""
    sentence = "Anna Berg repaired seven copper bells, wooden stairs, iron doors."
    guard = Guard([sentence], claiming=lambda: {0})
    said = [Stated("Copper bells."), Stated("Iron doors.")]

    def left_out(statements: list[Stated]) -> bool:
        return "left out" in [fault.name for fault in guard.faults(statements)]

    assert [left_out(said), left_out(said[:1]), left_out(said[1:])] == [False, True, True]
    assert left_out([said[0], said[0]])


def test_a_statement_is_placed_by_the_words_that_it_shares() -> None:
    """The first of those with the most; none where it shares no word."""
    guard = Guard(["Cats purr.", "Cats purr at home.", "Dogs bark at home."])

    assert [
        guard.place(text) for text in ("Home.", "Cats.", "Dogs and cats at home.", "Birds.")
    ] == [*(1, 0, 1, None)]


def test_repeated_statements_are_one() -> None:
    """In other letters too, but not of other sentences; the first is kept, with how often."""
    said = [
        Stated("It is red.", (1, 0), True),
        Stated("It is old.", (0,), True),
        Stated("IT is red.", (0, 1, 0), True),
        Stated("It is red.", (0,), True),
        Stated("It is old.", (0,), False),
        Stated("It is old.", (0,), True),
    ]
    places, faults = distinct(said)

    assert places == [0, 1, 3]
    assert [(one.name, one.statement, one.sentence) for one in faults] == [
        ("merged", None, None),
        ("two verdicts", 1, None),
    ]
    assert [str(one) for one in faults] == [
        "merged: statement 'It is red.' was given 2 times",
        "two verdicts: statement 'It is old.' was given 3 times, with different verdicts",
    ]


@pytest.mark.parametrize(("count", "told"), [(200, []), (201, ["201"]), (1200, ["1,200"])])
def test_a_sentence_of_more_than_two_hundred_words_is_long(count: int, told: list[str]) -> None:
    """It may have more claims than a judge lists."""
    answer = f"It is {'very ' * (count - 3)}old."
    flow = Faithfulness.flow(Sample(answer=answer, context=["c"]))
    (call,) = next(flow)
    reply = getattr(call, "reply_model", None)
    assert reply is not None
    one = {"s0": {"reasoning": "r", "verdict": {"supported_by": [0]}}}
    with pytest.raises(StopIteration) as stop:
        flow.send([JudgeReply(reply.model_validate(one))])

    assert [line.partition(" has ")[2].partition(" ")[0] for line in stop.value.value.drift] == told


def test_what_any_statement_without_an_id_says_is_not_lost() -> None:
    """Words may have put it in another sentence; where ids are given, each sentence is held."""
    sentences = ["Anna Berg built the tower in 1889.", "It is an old red brick house."]
    said = ["The tower was built.", "An old red brick house, says Anna Berg in 1889."]
    guard = Guard(sentences)
    by_words = guard.faults([Stated(text) for text in said])
    by_ids = guard.faults([Stated(text, (n,)) for n, text in enumerate(said)])

    assert [fault.name for fault in by_words] == []
    names = [fault.name for fault in by_ids if fault.sentence == 0]
    assert names == ["lost number", "lost name"]


def test_one_statement_without_an_id_puts_all_of_them_by_their_words() -> None:
    """What the judge passed over may be covered by it."""
    guard = Guard(SENTENCES, claiming=lambda: {0, 1})
    clock = "Anna Berg built its old clock in 1889."
    mixed = [Stated(SENTENCES[0], (0,)), Stated(clock)]

    assert guard.faults(mixed, [1]) == []
    assert [str(one) for one in guard.faults(mixed[:1], [1])] == [
        "left out: sentence 1 makes a claim; state it, with a verdict"
    ]
    assert guard.faults([mixed[0], Stated(clock, (1,))]) == []


def test_a_statement_without_letters_is_in_any_script() -> None:
    """A number is the same in all of them."""
    for sentence in ("It was built in 1889.", "Её построили в 1889 году."):
        faults = Guard([sentence]).faults([Stated("1889.", (0,))])
        assert "other language" not in [fault.name for fault in faults]


def test_calls_share_the_sentences_of_a_long_answer_evenly() -> None:
    """Of 41 sentences 21 and 20; each has its own place in the answer, left out or not."""
    answer = "Hello! " + " ".join(f"The lion has {number} cubs." for number in range(1, 41))
    flow = Faithfulness.flow(Sample(answer=answer, context=["c"]))
    steps: Any = next(flow)
    shapes = [call.reply_model.shape for call in steps]
    assert [(shape.sentences, shape.chunks) for shape in shapes] == [(21, 1), (20, 1)]
    yes = {"reasoning": "r", "verdict": {"supported_by": [0]}}
    replies: list[dict[str, Any]] = [
        {f"s{n}": yes for n in range(21)},
        {f"s{n}": yes for n in range(19)},
    ]
    replies[0]["s0"] = replies[1]["s0"] = {"claims_nothing": "It is an aside."}
    read = [
        JudgeReply(call.reply_model.model_validate(reply))
        for call, reply in zip(steps, replies, strict=True)
    ]
    again: Any = flow.send(read)
    told = again[0].messages[-1]["content"]
    assert len(again) == 1
    assert ["sentence 0 makes" in told, "sentence 19 makes" in told] == [True, True]
    with pytest.raises(StopIteration) as stop:
        flow.send(read[1:])
    result = stop.value.value

    assert [one.sentence_id for one in result.statements] == [*range(1, 21), *range(22, 40)]
    assert [answer[one.start : one.end] for one in result.statements[19:21]] == [
        "The lion has 20 cubs.",
        "The lion has 22 cubs.",
    ]
    assert (result.left_out, result.calls, result.not_scorable) == (
        [21, 40],
        2,
        "answer_not_covered",
    )
