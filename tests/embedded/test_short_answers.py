"""A question helps to read a short answer; it never turns a copy or a doubt into a number."""

import warnings
from typing import Any

import pytest

from rag_evals import Faithfulness
from rag_evals.errors import NotScorableError
from rag_evals.text import leaning_of


def grade(question: str | None, answer: str, chunk: str) -> float | None:
    """Return the score; None where the answer is too unclear for one."""
    try:
        with warnings.catch_warnings():
            # A language that the judge does not read has a score, which does not count.
            warnings.filterwarnings("ignore", "not scorable: unread_language")
            result: Any = Faithfulness.grade(question, answer, [chunk], client="embedded")
    except NotScorableError:
        return None
    score: float | None = result.score
    return score


@pytest.mark.parametrize(
    ("question", "copy"),
    [
        ("Wann wurde der Turm gebaut?", "Der Turm wurde 1889 gebaut."),
        ("Quand la tour fut-elle construite ?", "La tour fut construite en 1889."),
        ("¿Cuándo se construyó la torre?", "La torre se construyó en 1889."),
        ("Quando fu costruita la torre?", "La torre fu costruita nel 1889."),
        ("Quando foi construída a torre?", "A torre foi construída em 1889."),
        ("Kiedy zbudowano wieżę?", "Wieżę zbudowano w 1889 roku."),
        ("Коли збудували вежу?", "Вежу збудували 1889 року."),
        ("Is there a discount for students?", "Students get 20 % off."),
        ("Tell me about Anna.", "Anna plays the violin."),
        ("Can I get a refund?", "Refunds take five days."),
        ("Do you ship to Canada?", "Yes, we ship to Canada and Mexico."),
        ("Is delivery free?", "Delivery: 5 EUR."),
        ("Есть ли доставка?", "Доставка — 300 ₽."),
        ("Когда закрылась пекарня?", "Её брат Карл переехал в Осло."),
    ],
)
def test_a_copy_is_taken_at_its_word(question: str, copy: str) -> None:
    """A sentence of a chunk is supported whatever was asked; case, space, final stop aside."""
    for answer in (copy, copy.rstrip("."), copy.replace(" ", "  ")):
        assert grade(question, answer, f"Anna had a shop there. {copy} Then it rained.") == 1.0


def test_a_near_copy_is_not_lowered() -> None:
    """Its words are all that it needs, though no verb of them is known."""
    assert grade("Can I get a refund?", "A refund takes five days.", "Refunds take five days.")
    assert not grade("Can I get a refund?", "A refund takes nine days.", "Refunds take five days.")


WARRANTY = "All appliances carry a 24-month warranty."
GARANTIYA = "На всю технику действует гарантия 24 месяца."


@pytest.mark.parametrize(
    "question",
    [
        "How long is the warranty?",
        "Hi! How long is the warranty?",
        "Dear team, how long is the warranty?",
        "How long is the warranty? Thanks!",
        "How long is the warranty, please?",
        "How long is the warranty? I bought a fridge.",
        "I bought a fridge, how long is the warranty?",
        "Could you tell me how long the warranty is?",
        "Tell me about the warranty.",
        "Explain the warranty",
        "What about the warranty?",
        "Warranty length",
        "Сколько длится гарантия?",
        "Здравствуйте! Сколько длится гарантия?",
        "Сколько длится гарантия? Спасибо!",
        "Я купил холодильник. Сколько длится гарантия?",
        "Подскажите, пожалуйста, какая гарантия?",
        "Расскажите о гарантии.",
        "Объясните условия гарантии",
        "Срок гарантии",
    ],
)
def test_courtesy_and_company_change_no_verdict(question: str) -> None:
    """Greetings, thanks, requests and what stands beside the question are not read."""
    is_english = question.isascii()
    chunk = WARRANTY if is_english else GARANTIYA
    right = ["The warranty lasts 24 months.", "24 months.", "A 24-month warranty."]
    wrong = ["The warranty lasts 36 months.", "36 months."]
    if not is_english:
        right = ["Гарантия длится 24 месяца.", "24 месяца.", "Гарантия 24 месяца."]
        wrong = ["Гарантия длится 36 месяцев.", "36 месяцев."]

    assert [grade(question, one, f"It opens at 9. {chunk}") for one in right] == [1.0] * 3
    assert [grade(question, one, f"It opens at 9. {chunk}") for one in wrong] == [0.0] * 2


@pytest.mark.parametrize(
    ("statement", "chunk"),
    [
        ("The warranty lasts 24 months.", WARRANTY),
        ("Support answers within 2 hours.", "Support answers every mail within 2 hours."),
        ("Parcels arrive in two days.", "Most parcels arrive in two days or less."),
        ("We ship to Peru.", "Since May we ship to Peru."),
        ("Мы отвечаем за два часа.", "Обычно мы отвечаем за два часа."),
        ("Музей закрыт в среду.", "В среду музей закрыт."),
    ],
)
def test_a_whole_sentence_needs_no_question(statement: str, chunk: str) -> None:
    """A question that nobody can read does not hurt a statement with a subject and a verb."""
    for question in (None, "Which is it, and why?", "Что это, и почему?", "?", "Hello!"):
        assert grade(question, statement, chunk) == 1.0


@pytest.mark.parametrize(
    ("text", "leaning"),
    [
        ("The kettle whistles at noon.", None),
        ("Members pay nothing.", None),
        ("It's ours.", "pronoun"),
        ("I'd take the train.", None),
        ("Дети учатся в школе.", None),
        ("Two hundred euros.", "fragment"),
        ("Built in 1889.", "fragment"),
        ("A tower designed by Eiffel.", "fragment"),
        ("The opening hours of the shop.", "fragment"),
        ("Free returns of all parcels.", "fragment"),
        ("Two tickets for the show.", "fragment"),
        ("In a complicated way.", "fragment"),
        ("Two visits.", "fragment"),
        ("До конца месяца.", "fragment"),
    ],
)
def test_a_sentence_is_told_from_a_fragment(text: str, leaning: str | None) -> None:
    """A verb is one by its form and its neighbours: "two visits", "she visits Bern"."""
    assert leaning_of(text) == leaning


def test_a_greeting_in_a_question_of_yes_and_no() -> None:
    """The statement is made from the question alone."""
    for question in ("Hi! Is the shop open on Sunday?", "Is the shop open on Sunday? Thank you!"):
        assert grade(question, "Yes.", "The shop is open on Sunday.") == 1.0
        assert grade(question, "No.", "The shop is closed on Sunday.") == 1.0
        assert grade(question, "No.", "The shop is open on Sunday.") == 0.0


def test_an_indirect_question_names_its_subject() -> None:
    """A request for "when" is no question of yes and no."""
    chunk = "The new bridge was built in 1998. The old bridge was built in 1902."
    question = "Can you tell me when the old bridge was built?"

    assert [grade(question, answer, chunk) for answer in ("In 1902.", "In 1998.")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("question", "answer", "reading"),
    [
        ("When was the Tower of London built?", "In 1078.",
         "The Tower of London was built in 1078."),
        ("When was the Bank of England founded?", "In 1694.",
         "The Bank of England was founded in 1694."),
        ("Where is the tower visible?", "From Bern.", "The tower is visible from Bern."),
    ],
)  # fmt: skip
def test_a_question_and_its_answer_make_a_sentence(
    question: str, answer: str, reading: str
) -> None:
    """The subject ends with its last capitalised word; the rest follows the verb."""
    result: Any = Faithfulness.grade(question, answer, [reading], client="embedded")

    assert result.statements[0].reasoning.startswith(f"read as '{reading}'")


def test_a_short_answer_in_another_language_is_taken_at_its_word() -> None:
    """Questions are taken apart in English and Russian only."""
    chunk = "Der Turm wurde 1889 gebaut."

    assert grade("Wann wurde der Turm gebaut?", "1889.", chunk) == 1.0
    assert grade("Wann wurde der Turm gebaut?", "1989.", chunk) == 0.0


@pytest.mark.parametrize(
    ("question", "chunk"),
    [
        ("Does it avoid plastic?", "It avoids plastic."),
        ("Did the pump fail?", "The pump failed."),
        ("Does the coating prevent rust?", "The coating prevents rust."),
        ("Did Anna refuse the offer?", "Anna refused the offer."),
        ("Did Anna deny the claim?", "Anna denied the claim."),
        ("Does the plan lack support?", "The plan lacks support."),
        ("Is it not open?", "It is not open."),
        ("Is it true that the shop is not open?", "The shop is not open."),
        ("Are there no lifts?", "There are no lifts."),
        ("Has Anna never lived in Bern?", "Anna has never lived in Bern."),
        ("Отказалась ли Анна от приза?", "Анна отказалась от приза."),
        ("Правда ли, что магазин не открыт?", "Магазин не открыт."),
    ],
)
def test_yes_and_no_are_unclear_where_the_question_denies(question: str, chunk: str) -> None:
    """Both may mean the same there; only the whole statement says which."""
    for answer in ("Yes.", "No.", "Да.", "Нет."):
        assert grade(question, answer, chunk) != 1.0
    assert grade(question, chunk, chunk) == 1.0


@pytest.mark.parametrize(
    ("question", "answer", "chunk", "supported"),
    [
        # Where the subject ends is unsure.
        ("Is the Basic plan free?", "No.", "The Basic plan is free.", False),
        ("Was the Basic plan introduced in May?", "No.", "The Basic plan was introduced in May.",
         False),
        ("Is the Basic plan free?", "Yes.", "The Basic plan is free.", True),
        ("Is Bern big?", "No.", "Bern is not big.", True),
        # The opposite of what was asked is a no.
        ("Is the shop open on Sunday?", "No.", "The shop is closed on Sunday.", True),
        ("Is the shop open on Sunday?", "No.", "The shop is open on Sunday.", False),
        ("Is the shop open on Sunday?", "No.", "The bakery is closed on Sunday.", False),
        ("Is the new shop open?", "No.", "The old shop is open.", False),
        ("Открыт ли магазин?", "Нет.", "Магазин закрыт.", True),
        ("Открыт ли магазин?", "Нет.", "Магазин открыт.", False),
        # What follows yes or no is an echo, or says something else.
        ("Открыт ли магазин?", "Да, открыт.", "Магазин открыт.", True),
        ("Открыт ли магазин?", "Да, закрыт.", "Магазин открыт.", False),
        ("Выросли ли цены?", "Да, упали.", "Цены выросли.", False),
        ("Можно ли курить?", "Нет, нельзя.", "Курить нельзя.", True),
        ("Можно ли курить?", "Нет, можно.", "Курить нельзя.", False),
        ("Есть ли комнаты в отеле?", "Да, трижды.", "Комнаты в отеле есть.", False),
        ("Are there rooms in it?", "Yes, 99.", "There are 12 rooms in it.", False),
        ("Is the shop open?", "Yes, yes.", "The shop is open.", True),
        ("Is the shop open?", "No, no.", "The shop is closed.", True),
        ("Is the shop open?", "No, it is.", "The shop is not open.", False),
        ("Is the shop open?", "No, it is not.", "The shop is not open.", True),
        # The word that is denied is no denial itself.
        ("Are the tickets free?", "No.", "The tickets are free.", False),
        (None, "The tickets are not free.", "The tickets are free for children.", False),
        (None, "The pump did not fail.", "The pump failed.", False),
        # Nothing but words of the question.
        ("Who killed Caesar?", "Caesar.", "Brutus killed Caesar.", False),
        ("Who killed Caesar?", "Brutus.", "Brutus killed Caesar.", True),
        ("When was the 2012 report published?", "In 2012.",
         "The 2012 report was published in 2013.", False),
        ("How many rooms are on floor 3?", "3", "There are 12 rooms on floor 3.", False),
        ("How many rooms are on floor 3?", "12", "There are 12 rooms on floor 3.", True),
        # A verb that denies ends with its clause.
        (None, "The seal was worn.", "The firm denied that the seal was worn.", False),
        (None, "The shop was closed.", "Anna lacked milk, so the shop was closed.", True),
    ],
)  # fmt: skip
def test_short_answers(question: str | None, answer: str, chunk: str, supported: bool) -> None:
    """What is unclear is never supported; what is plain is decided as before."""
    assert (grade(question, answer, chunk) == 1.0) is supported


@pytest.mark.parametrize(
    ("question", "answer", "chunk", "score"),
    [
        ("Do you ship to Canada?", "Yes, in 5 days.", "We ship to Canada within 5 days.", 1.0),
        ("Do you ship to Canada?", "Yes, in 9 days.", "We ship to Canada within 5 days.", 0.0),
        ("Do you ship to Canada?", "Yes, in 5 days.", "We ship to Mexico in 5 days.", 0.0),
        ("Can I rent a bike?", "Yes, for 10 euros.", "You can rent a bike for 10 euros.", 1.0),
        ("Can I rent a bike?", "Yes, for 20 euros.", "You can rent a bike for 10 euros.", 0.0),
        ("Is the shop open?", "Yes, on Sundays.", "The shop is open on Mondays.", 0.0),
    ],
)
def test_a_yes_with_more_is_what_was_asked_with_it(
    question: str, answer: str, chunk: str, score: float
) -> None:
    """Both halves must be said."""
    assert grade(question, answer, chunk) == score


def test_a_no_is_not_shown_by_a_source_that_says_yes() -> None:
    """What another sentence denies of something else does not outweigh the plain yes."""
    for question, yes, other in (
        ("Is the museum free for children?", "The museum is free for children.",
         "The museum is not free for adults."),
        ("Was the bridge built in 1907?", "The bridge was built in 1907.",
         "The bridge was repaired in 1909."),
        ("Открыт ли музей в воскресенье?", "Музей открыт в воскресенье.",
         "Музей не открыт в понедельник."),
    ):  # fmt: skip
        no = "No." if question.isascii() else "Нет."
        result: Any = Faithfulness.grade(
            question=question, answer=no, context=[yes, other], client="embedded"
        )
        assert result.score == 0.0
        # The plain yes is surely supported, so the no surely is not.
        (found,) = result.statements
        assert found.support < 0.3
