"""Short answers, pronouns, yes and no are read with their question, or named as unclear."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness
from rag_evals.core import Claim
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.setting import leading_subject, read_question, stand_alone
from rag_evals.errors import NotScorableError
from rag_evals.testing import Script, ScriptedJudge
from tools.train_embedded.cases import verify_answer

Start = Callable[[Script], ScriptedJudge]
DATA = Path(__file__).parents[1] / "data"
QUESTION = "When was the Louvre Pyramid completed?"
CONTEXT = ["The Eiffel Tower was completed in 1889.", "The Louvre Pyramid was completed in 1989."]


@pytest.mark.parametrize(
    ("question", "before", "text", "read"),
    [
        (QUESTION, None, "In 1889.", "The Louvre Pyramid was completed in 1889."),
        (QUESTION, None, "Completed in 1889.", "The Louvre Pyramid was completed in 1889."),
        (QUESTION, None, "It opened in 1889.", "The Louvre Pyramid opened in 1889."),
        ("Who designed it?", None, "Ann Lee.", "Ann Lee designed it."),
        ("What is the capital of France?", None, "Paris.", "The capital of France is Paris."),
        ("How tall is the tower?", None, "330 metres.", "The tower is 330 metres tall."),
        ("How many floors does it have?", None, "Three.", "It have three floors."),
        ("Was Ann born in Bern?", None, "Yes.", "Ann was born in Bern."),
        (None, "The mill stood here.", "It burned down.", "The mill burned down."),
        ("Кто построил мост?", None, "Иван Ли.", "Построил мост Иван Ли."),
        ("Когда построена пирамида?", None, "Она построена в 1889.", "Пирамида построена в 1889."),
        # These stand alone, or nobody can say more than they do.
        (QUESTION, None, "The tower is tall.", "The tower is tall."),
        ("Is it tall?", None, "It is tall.", "It is tall."),
        ("How do I open it?", None, "Open the settings.", "Open the settings."),
        (None, "These are its parts:", "A long handle", "A long handle"),
    ],
)
def test_what_a_claim_says(question: str | None, before: str | None, text: str, read: str) -> None:
    """The question, or the sentence before, gives what the words leave out."""
    reading = stand_alone(Claim(text, text, before, question))

    assert (reading.text, reading.unresolved) == (read, None)


@pytest.mark.parametrize(
    ("question", "text", "asked"),
    [
        ("Is the mill private?", "No, it is not.", "The mill is private."),
        ("Открыт ли музей?", "Нет.", "Открыт музей."),
    ],
)
def test_a_no_denies_what_was_asked(question: str, text: str, asked: str) -> None:
    """It holds where the chunks contradict the statement that a "yes" would make."""
    reading = stand_alone(Claim(text, text, None, question))

    assert reading.text == asked
    assert reading.denied is not None


@pytest.mark.parametrize(
    ("question", "text", "leaning"),
    [
        ("Is it old, or is it new?", "Yes.", "yes_no"),
        ("When was it built, and by whom?", "In 1889.", "fragment"),
        ("What is known of the mill and the bridge?", "It burned down.", "pronoun"),
        (None, "No.", "yes_no"),
    ],
)
def test_what_is_not_plain_stays_unresolved(question: str | None, text: str, leaning: str) -> None:
    """A question of two parts gives no statement: none is made up."""
    assert stand_alone(Claim(text, text, None, question)).unresolved == leaning


@pytest.mark.parametrize("answer", ["In 1889.", "1889", "It was completed in 1889."])
def test_an_answer_about_something_else_is_not_supported(answer: str) -> None:
    """The words stand in a chunk, of another building than the question names."""
    result = Faithfulness.grade(QUESTION, answer, CONTEXT, client="embedded")
    right = Faithfulness.grade(QUESTION, answer.replace("18", "19"), CONTEXT, client="embedded")

    assert (result.score, right.score) == (0.0, 1.0)
    assert "1989" in str(result.statements[0].reasoning)


def test_a_bare_text_is_taken_at_its_word() -> None:
    """A statement that comes from no answer has nothing to lean on."""
    (verdict,) = EmbeddedVerifier().verify(["It was completed in 1889."], CONTEXT)

    assert verdict.is_supported
    assert verdict.doubt is None


def test_unclear_claims_say_so_and_are_supported_less() -> None:
    """The reason names what is unclear; a value without a question is no longer supported."""
    texts = ["In 1889.", "It was completed in 1889."]
    claims = [Claim(text, text, None, "When, and by whom?") for text in texts]
    bare = EmbeddedVerifier().verify(texts, CONTEXT)
    value, pronoun = EmbeddedVerifier().verify(claims, CONTEXT)

    assert (value.doubt, pronoun.doubt) == ("fragment", "pronoun")
    assert not value.is_supported
    assert "unclear" in value.reason
    assert "unclear what 'It' refers to" in pronoun.reason
    assert value.support < bare[0].support
    assert pronoun.support < bare[1].support


@pytest.mark.parametrize("answer", ["Yes.", "No.", "Да.", "Нет, не так."])
def test_yes_and_no_without_a_readable_question_are_not_scored(answer: str) -> None:
    """No score is made up for an answer that claims nothing by itself."""
    result: Any = Faithfulness.grade("Or, and when?", answer, CONTEXT, client="embedded")

    assert result.not_scorable == "no_statements"
    assert [one.reason for one in result.no_claim_sentences] == ["unclear_yes_no"]


def test_a_cascade_asks_the_judge_with_the_question(scripted: Start) -> None:
    """The judge reads what was asked beside an answer that cannot stand alone."""
    judge = scripted(None)
    question = "When was it built, and by whom?"
    result: Any = Faithfulness.grade(question, "In 1889.", CONTEXT, client="embedded>openai/m")

    assert result.statements[0].decided_by == "openai/m"
    assert f"Question: {question}" in str(judge.requests[0].body)


def test_a_cascade_supports_nothing_that_is_said_of_something_else(scripted: Start) -> None:
    """What the embedded judge finds of another building is refused, or asked."""
    scripted(None)
    result: Any = Faithfulness.grade(QUESTION, "In 1889.", CONTEXT, client="embedded>openai/m")

    assert result.statements[0].decided_by == "openai/m" or result.score == 0.0


def rows(name: str) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Yield each answer of a hand-made set, and whether the chunks support it."""
    for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield row, row["right"], True
        yield row, row["wrong"], False


@pytest.mark.parametrize(
    ("name", "count", "least"), [("question_dependent", 60, 52), ("yes_no", 40, 40)]
)
def test_hand_made_answers(name: str, count: int, least: int) -> None:
    """Of 60 answers that need their question and 40 of yes and no, so many are decided right."""
    decided = []
    for row, answer, supported in rows(name):
        try:
            result = Faithfulness.grade(row["question"], answer, row["context"], client="embedded")
        except NotScorableError:
            decided.append(False)
            continue
        decided.append(bool(result.statements) and (result.score == 1.0) == supported)

    assert len(decided) == count
    assert sum(decided) >= least


@pytest.mark.parametrize(
    ("answer", "chunks", "score"),
    [
        ("The Eiffel Tower stands in Paris. It was completed in 1889.",
         ["The Eiffel Tower stands in Paris.", "It was completed in 1889."], 1.0),
        ("Башня стоит в Париже. Она построена в 1889 году.",
         ["Башня стоит в Париже.", "Она построена в 1889 году."], 1.0),
        ("The first Super Bowl was held in 1967. It was played in the Memorial Coliseum.",
         ["The first Super Bowl was held in 1967.",
          "The game was held in the Memorial Coliseum."], 1.0),
        ("The Louvre stands in Paris. It was completed in 1889.",
         ["The Eiffel Tower stands here.", "It was completed in 1889."], 0.0),
    ],
)  # fmt: skip
def test_a_chunk_may_lean_on_the_chunk_before(answer: str, chunks: list[str], score: float) -> None:
    """Splitters cut behind any sentence: "it" in a chunk is what the chunk before speaks of."""
    result = Faithfulness.grade(answer=answer, context=chunks, client="embedded")

    assert result.score == score


@pytest.mark.parametrize(
    ("chunks", "is_supported"),
    [
        (["It was completed in 1889."], True),
        (["The building was completed in 1889."], False),
        (["The Louvre stands.", "It was completed in 1889."], True),
        (["The Louvre stands.", "The building was completed in 1889."], True),
        (["The tower stands.", "It was completed in 1889."], False),
        (["The tower stands.", "The building was completed in 1889."], False),
        (["The tower stands. It was completed in 1889."], False),
        (["The Louvre stands. It was completed in 1889."], True),
    ],
)
def test_a_pronoun_of_a_chunk_stands_for_what_is_before_it(
    chunks: list[str], is_supported: bool
) -> None:
    """In its chunk or in the one before; at the very start a pronoun may stand for anything."""
    answer = "The Louvre is in Paris. It was completed in 1889."
    _, (text, verdict) = verify_answer(EmbeddedVerifier(), answer, chunks)

    assert text == "It was completed in 1889."
    assert verdict.is_supported is is_supported, verdict.reason


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        # Yes or no: subject and statement.
        ("Is the shop open?", ("the shop", "the shop is open")),
        ("Isn't the shop open?", ("the shop", "the shop isn't open")),
        ("Did the old mill burn?", ("the old mill", "the old mill burn")),
        ("Are you open?", ("you", "you are open")),
        ("Was rust found in it?", ("rust", "rust was found in it")),
        ("Are cats good pets?", ("cats", "cats are good pets")),
        ("Was the tower a success?", ("the tower", "the tower was a success")),
        ("Is Bern a city?", ("Bern", "Bern is a city")),
        ("Was Bank of England founded?", ("Bank of England", "Bank of England was founded")),
        ("Was the tower of the old town built in 1889?",
         ("the tower of the old town", "the tower of the old town was built in 1889")),
        ("Is it 5? No 6", ("it", "it is 5")),
        ("Открыт ли музей?", ("", "Открыт музей")),
        ("Правда ли, что музей открылся в мае?", ("музей", "музей открылся в мае")),
        ("Музей открылся в мае?", ("Музей", "Музей открылся в мае")),
        # A gap: subject, and what stands before and after the answer.
        ("Who designed it?", ("", "", "designed it")),
        ("What causes rust?", ("", "", "causes rust")),
        ("Which big old company bought it?", ("", "", "bought it")),
        ("What was built in 1889?", ("", "", "was built in 1889")),
        ("What is rust?", ("", "", "is rust")),
        ("How many houses were built?", ("", "", "houses were built")),
        ("When was the tower built?", ("the tower", "the tower was built", "")),
        ("In which year was the tower built?", ("the tower", "the tower was built", "")),
        ("What time does it open?", ("it", "it open", "")),
        ("When did Ann Lee of Bern move?", ("Ann Lee of Bern", "Ann Lee of Bern move", "")),
        ("When was the first Super Bowl held?",
         ("the first Super Bowl", "the first Super Bowl was held", "")),
        ("What does Ann do?", ("Ann", "Ann do", "")),
        ("What do cats eat?", ("cats", "cats eat", "")),
        ("When was it?", ("it", "it was", "")),
        ("How tall is the tower?", ("the tower", "the tower is", "tall")),
        ("How many floors does the tower have?", ("the tower", "the tower have", "floors")),
        ("How much did it cost?", ("it", "it cost", "")),
        ("How is it made?", ("it", "it is made", "")),
        ("Who is Ann Lee?", ("Ann Lee", "Ann Lee is", "")),
        ("What's the price?", ("the price", "the price is", "")),
        ("What are cats?", ("cats", "cats are", "")),
        ("What is the town founded in 1889 called?",
         ("the town", "the town is founded in 1889 called", "")),
        # Questions in the order of a statement.
        ("Why the sky is blue?", ("the sky", "the sky is blue", "")),
        ("When the tower was built?", ("the tower", "the tower was built", "")),
        ("how long the warranty is", ("the warranty", "the warranty is", "long")),
        ("where he lives", ("", "he lives", "")),
        ("Where old Ann was born?", ("old Ann", "old Ann was born", "")),
        ("Warranty length", ("Warranty length", "Warranty length is", "")),
        ("Когда построена башня?", ("башня", "построена башня", "")),
        ("Когда был построен замок?", ("замок", "был построен замок", "")),
        ("Где стоит старый замок города Твери?",
         ("старый замок города Твери", "стоит старый замок города Твери", "")),
        ("Где стоит старый большой замок города Твери?",
         ("", "стоит старый большой замок города Твери", "")),
        ("Какой лимит?", ("", "лимит", "")),
    ],
)  # fmt: skip
def test_a_simple_question_makes_a_statement(question: str, asked: tuple[str, ...]) -> None:
    """Of yes or no, or with a gap for the answer, before, behind or in the middle."""
    is_yes_no = len(asked) == 2

    assert read_question(question) == (*asked, *[""] * is_yes_no, is_yes_no)


@pytest.mark.parametrize(
    "question",
    [
        "", "?", "Is it?", "Is the shop?", "What", "Who?", "What happened?", "Where stands it?",
        "How many people live there?", "How to reset it?", "What to do?", "When is?",
        "how it works", "The shop is open?", "What is it, and why?", "Is it old or new?",
        "Когда и где он жил?",
    ],
)  # fmt: skip
def test_other_questions_are_not_taken_apart(question: str) -> None:
    """Of two parts, without a predicate, about steps, or a whole sentence."""
    assert read_question(question) is None


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("The Eiffel Tower stands in Paris.", "The Eiffel Tower"),
        ("Anna is here.", "Anna"),
        ("Старый мост стоит тут.", "Старый мост"),
        ("Башня стоит в Париже.", "Башня"),
        ("Стоит башня.", ""),
        ("It stands.", ""),
        ("These are old.", ""),
        ("This tower is old.", "This tower"),
        ("In Paris it is old.", ""),
        ("The old, tall tower is here.", ""),
        ("Anna (a girl) is here.", ""),
        ("Is here.", ""),
        ("No verb here", ""),
        ("A b c d e f g h is it.", "A b c d e f g h"),
        ("A b c d e f g h i is it.", ""),
        ("", ""),
    ],
)
def test_the_subject_stands_before_the_verb(sentence: str, subject: str) -> None:
    """Without commas or brackets, and it is more than a pronoun."""
    assert leading_subject(sentence) == subject


def test_the_weaker_reading_of_a_pronoun_decides() -> None:
    """A name in place of "it" must not make a sentence better supported than its words."""
    chunks = [
        "The tower attracts ten million visitors each year.",
        "The Louvre attracts visitors, ten million each year.",
    ]
    answers = [
        f"The Louvre is in Paris. {subject} attracts ten million visitors each year."
        for subject in ("It", "The Louvre")
    ]
    by_pronoun, by_name = (
        verify_answer(EmbeddedVerifier(), answer, chunks)[1][1] for answer in answers
    )

    assert by_pronoun.support < by_name.support
