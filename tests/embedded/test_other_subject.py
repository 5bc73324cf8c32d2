"""Words of a sentence about something else do not support a claim; data and lists stand alone."""

from pathlib import Path

import pytest

import rag_evals
from rag_evals import evaluate
from rag_evals.embedded import EmbeddedVerifier
from tools.train_embedded.cases import verify_answer

COLOURS = "The house is red. The car is blue."
BIRTHS = "Tom Reed was born in 1982. Anna Weiss was born in 1970."
PLANS = "The Basic plan costs $10. The Pro plan costs $20."
FEES = "The fee for adults is 12 euros. The fee for children is 8 euros."
TABLE = "| Plan | Price |\n|---|---|\n| Basic | {} |\n| Pro | {} |"


@pytest.mark.parametrize(
    ("question", "answer", "chunk", "is_supported"),
    [
        ("What colour is the car?", "Red.", COLOURS, False),
        ("What colour is the car?", "Blue.", COLOURS, True),
        ("What colour is the car?", "The car is red.", COLOURS, False),
        ("What colour is the house?", "The house is red.", COLOURS, True),
        ("Какого цвета машина?", "Синяя.", "Дом красный. Машина синяя.", True),
        ("When was he born?", "Tom Reed was born in 1970.", BIRTHS, False),
        ("When was he born?", "Tom Reed was born in 1982.", BIRTHS, True),
        (
            "Когда?",
            "Том Рид родился в 1970 году.",
            "Том Рид родился в 1982 году. Анна Вайс родилась в 1970 году.",
            False,
        ),
        # What a pronoun stands for, and what only one sentence adds, is no other subject.
        (None, "Tom was born in Bern in 1970.", "Tom is from Bern. He was born in 1970.", True),
        ("Compare", TABLE.format("$20", "$10"), PLANS, False),
        ("Compare", TABLE.format("$10", "$20"), PLANS, True),
        ("When?", "It opened on 2019-03-05.", "The mill opened on March 5, 2019.", True),
        # Words in brackets behind a name are of that name.
        (None, "Ada Byron was born in Kent.", "Ada Byron (born 14 March 1879, Kent) wrote.", True),
        (None, "Oslo has 5 parks.", "Oslo (3 parks) and Bergen (5 parks) are green.", False),
        (None, "Oslo has 3 parks.", "Oslo (3 parks) and Bergen (5 parks) are green.", True),
        # What is denied may be said in another word.
        (None, "Завтрак не входит в цену.", "Завтрак включён в цену номера.", False),
        ("Fee?", "The fee for adults is 8 euros.", FEES, False),
        ("Fee?", "The fee for children is 8 euros.", FEES, True),
        ("Rooms?", "The inn has 4 rooms.", "The inn has 12 rooms. The hut has 4 rooms.", False),
        ("Какой лимит?", "Лимит — 50 запросов.", "Лимит равен 50 запросам.", True),
        ("Какова плата?", "Плата для детей 8 евро.", "Плата для детей 8 евро в день.", True),
        ("Нужна ли виза?", "Нет, виза не нужна.", "Для поездок виза не нужна.", True),
        # A purpose is no doubt, a wish is.
        (None, "Отключите роутер.", "Чтобы сбросить роутер, отключите роутер.", True),
        (None, "Магазин закрыли.", "Жители требуют, чтобы магазин закрыли.", False),
        (None, "Отрывок 1 не говорит, как чинить мост.", "Чтобы чинить мост, нужен кран.", False),
        (None, "Завтрак входит в цену.", "Завтрак включён в цену номера.", True),
        # The first of several is no less clear than the others.
        ("Which countries?", "1. France\n2. Spain", "It is sold in France and Spain.", True),
        ("As JSON?", '{"city": "Paris", "house": 12}', "The shop is in Paris, house 12.", True),
        ("Is it open?", '{"open_on_sunday": false}', "The shop is not open on Sunday.", True),
        (
            "Как сбросить роутер?",
            "1. Отключите роутер от сети.\n2. Подождите 30 секунд.",
            "Отключите роутер от сети, подождите 30 секунд и включите его.",
            True,
        ),
    ],
)  # fmt: skip
def test_words_about_something_else_do_not_support(
    question: str | None, answer: str, chunk: str, is_supported: bool
) -> None:
    """All statements of an answer are supported, or at least one is not."""
    verdicts = verify_answer(EmbeddedVerifier(), answer, [chunk], question)

    assert all(verdict.is_supported for _, verdict in verdicts) is is_supported, verdicts


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but the provided context does not contain this information.",
        "К сожалению, контекст не содержит этой информации.",
    ],
)
def test_an_absence_of_nothing_named_claims_nothing(answer: str) -> None:
    """A refusal that names nothing cannot be looked up in the chunks."""
    assert verify_answer(EmbeddedVerifier(), answer, ["The tower is tall."], "Who owns it?") == []


DEMO = {
    **dict.fromkeys(("super-bowl-date", "eiffel-designer", "moon-negated", "water-number"), 0.0),
    **dict.fromkeys(("refund-invented", "baikal-number-ru", "pluto-ru"), 0.0),
    **dict.fromkeys(("einstein-date", "eiffel", "whale-added", "eiffel-ru"), 0.5),
    **dict.fromkeys(("no-claims", "no-context")),
}
"""What the shipped rows deserve; all others are supported."""


def test_the_demo_is_right() -> None:
    """The first rows that a user sees get the scores that a person would give."""
    path = Path(rag_evals.__file__).parent / "_data" / "demo.jsonl"
    run = evaluate(path, client="embedded", progress=False)
    assert {one.sample_id: one.score for one in run.outcomes} == {
        one.sample_id: DEMO.get(one.sample_id, 1.0) for one in run.outcomes
    }
