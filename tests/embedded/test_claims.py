"""Preparation: what an answer claims, in its own words, and which sentences claim nothing."""

import pytest

from rag_evals import Faithfulness
from rag_evals.embedded import prepare_answer
from rag_evals.embedded.sources import absence_of
from rag_evals.grading import VerifiedFaithfulnessResult
from tests.work import work_of
from tools.train_embedded.cases import claims_of


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Based on the context, the bridge opened in 1907.", "The bridge opened in 1907."),
        ("According to Passage 2, it is red.", "It is red."),
        ("The passages state that cats purr.", "Cats purr."),
        ("Cats purr [1, 2].", "Cats purr."),
        ("Cats purr.[^2]", "Cats purr."),
        ("Cats purr (source: doc 2).", "Cats purr."),
        ("Cats purr (Smith et al., 2021).", "Cats purr."),
        ("**Cats** purr (passage 3).", "Cats purr."),
        ("Yes, cats purr.", "Cats purr."),
        ("Passage 2: Cats purr.", "Cats purr."),
        ("Note: Cats purr.", "Cats purr."),
        ("The text says the price was $5.", "The price was $5."),
        ("However, it can be inferred that cats purr.", "Cats purr."),
        ("The passages do not say when, but it opened in May.", "It opened in May."),
        (
            "The context does not mention the price; however, passage 2 states that it is free.",
            "It is free.",
        ),
        ("В тексте не указана дата, но мост построен в мае.", "Мост построен в мае."),
        ("No child was hurt.", "No child was hurt."),
        ("The passage describes that cats purr.", "Cats purr."),
        ("Cats purr, as stated in passage 2.", "Cats purr."),
        ("Cats, as stated in the text, purr.", "Cats purr."),
        ('The answer to the question "What do cats do?" is: Cats purr.', "Cats purr."),
        ("Обратите внимание, что кошки мурлычут.", "Кошки мурлычут."),
        ("Согласно тексту, мост построен в 1907 году.", "Мост построен в 1907 году."),
        ("В документе говорится, что мост закрыт.", "Мост закрыт."),
    ],
)
def test_leads_are_cut_from_the_claim(sentence: str, claim: str) -> None:
    """The claim loses lead, emphasis and citations; the text stays the answer's own words."""
    (statement,) = claims_of(sentence)

    assert (statement.text, statement.claim) == (sentence, claim)


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("Is that all?", "question"),
        ("# Opening hours", "heading"),
        ("The passages provide conflicting information.", "about_sources"),
        ("(Passage 3)", "about_sources"),
        ("To reset it, you can follow the steps mentioned in passage 3.", "about_sources"),
        ("This is mentioned in passage 2.", "about_sources"),
        ("Об этом говорится в отрывке 2.", "about_sources"),
        ("There is no clear answer to the question.", "about_sources"),
        ("I'm not able to find the answer in the passages.", "about_sources"),
        ("Ни в одном из отрывков об этом не говорится.", "about_sources"),
        ("Я не нашёл ответа.", "about_sources"),
        ("As an AI language model, I have no opinion.", "talk"),
        ("I'm sorry.", "talk"),
        ("I hope this helps!", "talk"),
        ("Sure, I can help you with that!", "talk"),
        ("That's it!", "talk"),
        ("Here's a concise summary of the passage, with the main points:", "announcement"),
        ("Step 2:", "announcement"),
        ("Here are the steps:", "announcement"),
        ("Вот шаги:", "announcement"),
    ],
)
def test_sentences_that_claim_nothing_say_why(sentence: str, why: str) -> None:
    """Questions, headings, politeness and sentences about the passages are named as such."""
    (statement,) = prepare_answer(sentence)

    assert statement.no_claim == why
    assert claims_of(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "topic"),
    [
        ("Passage 3 does not say how to fold a quilt.", "fold a quilt"),
        ("The context does not mention her age.", "her age"),
        ("There is no information about the price in the passages.", "price"),
        ("None of the passages specify the exact location.", "location"),
        ("The context does not mention the price, but only the date.", "price"),
        ("It is not mentioned in the passages whether dogs may enter.", "dogs may enter"),
        ("The side effects are not mentioned in passage 2.", "The side effects"),
        ("Цена в тексте не указана.", "Цена"),
        ("В контексте нет сведений о цене.", "цене"),
        ("В отрывке 2 не сказано, как сложить одеяло.", "сложить одеяло"),
    ],
)
def test_what_the_sources_leave_out_is_a_claim(sentence: str, topic: str) -> None:
    """It keeps its words, and says what to look for."""
    (statement,) = claims_of(sentence)

    assert statement.claim == sentence
    assert absence_of(sentence) == topic


@pytest.mark.parametrize(
    "sentence",
    [
        "Documents are not required for children under six.",
        "There is no evidence that the treatment works.",
        "It is not known who wrote the letter.",
        "Yes Minister was a British comedy.",
        "No data were lost.",
        "Information is free of charge.",
        "None of the houses stood near the river.",
        "The law does not apply to shops, but it applies to banks.",
        "The source: a spring near Bern.",
    ],
)
def test_claims_that_look_like_talk_are_kept(sentence: str) -> None:
    """A claim about documents, evidence or data in the world is still a claim."""
    assert [statement.claim for statement in claims_of(sentence)] == [sentence]


def test_offsets_point_into_the_answer() -> None:
    """`answer[start:end]` is the text, with list marks and headings left out."""
    answer = "## Hours\n\n- Open from 9 to 5.\n- Closed on Sundays.\n"
    prepared = prepare_answer(answer)

    assert [answer[s.start : s.end] for s in prepared] == [s.text for s in prepared]
    assert [s.no_claim for s in prepared] == ["heading", None, None]


def test_code_and_heads_of_tables_claim_nothing() -> None:
    """The rows of a table do, and so does a sentence in bold."""
    answer = (
        "| Year | Book |\n|------|:----:|\n| 1869 | War and Peace |\n\nRun this:\n"
        "```python\nprint(1)\n```\n**It was published in 1869.**\n\n**In short**\nIt is long.\n"
    )

    assert [(s.no_claim, s.claim) for s in prepare_answer(answer)] == [
        ("heading", "| Year | Book |"),
        (None, "1869, book War and Peace"),
        ("announcement", "Run this:"),
        ("code", "python\nprint(1)"),
        (None, "It was published in 1869."),
        ("heading", "In short"),
        (None, "It is long."),
    ]


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        (
            '{"city": "Paris", "heightMetres": 330, "is_open": true, "owner": null}',
            ["city: Paris", "height metres: 330", "is open"],
        ),
        (
            '[{"planet": "Mars", "moons": 2, "rings": false}, {"planet": "Neptune", "moons": 16}]',
            [
                "planet: Mars",
                "Mars, moons 2",
                "Mars, not rings",
                "planet: Neptune",
                "Neptune, moons 16",
            ],
        ),
        (
            'Here it is:\n```json\n{"город": ["Тверь", "Псков"]}\n```',
            ["город: Тверь", "город: Псков"],
        ),
        ("- City: Paris\n- **Completed:** 1889\n", ["city: Paris", "completed: 1889"]),
        ("City: Paris\nURL: example.org", ["city: Paris", "URL: example.org"]),
        ("| Planet | Moons |\n|---|---|\n| Mars | 2 |\n| Venus | - |", ["Mars, moons 2", "Venus"]),
        ("| Планета | Спутники |\r\n| -- | --- |\r\n| Марс | 2 |", ["Марс, спутники 2"]),
        # A line that does not stand right above the rule is no head.
        (
            "| Planet | Moons |\n\n|---|---|\n| Mars | 2 |",
            ["| Planet | Moons |", "| Mars | 2 |"],
        ),
        ('{"broken": "Paris"', ['{"broken": "Paris"']),
    ],
)
def test_data_claim_their_pairs(answer: str, claims: list[str]) -> None:
    """JSON, also fenced, lines of key and value, and rows of tables say what each value is of."""
    assert [one.claim for one in claims_of(answer)] == claims
    assert all(answer[one.start : one.end] == one.text for one in prepare_answer(answer))


def test_a_result_names_the_sentences_that_were_passed_over() -> None:
    """Nothing of an answer disappears: what claims nothing is listed with its reason."""
    result = Faithfulness.grade(
        answer="Based on the text, cats purr. Do you want more?",
        context=["Cats purr."],
        client="embedded",
    )

    assert isinstance(result, VerifiedFaithfulnessResult)
    assert [s.statement for s in result.statements] == ["Based on the text, cats purr."]
    assert [(n.sentence_id, n.text, n.reason) for n in result.no_claim_sentences] == [
        (1, "Do you want more?", "question")
    ]
    assert result.score == 1.0


@pytest.mark.parametrize("odd", [" ", "[", "[ ", "(see ", "`", "**", "|\n", "```", "| - ", ": "])
def test_odd_answers_are_prepared(odd: str) -> None:
    """Thirty thousand of a sign, also inside a sentence, take work in proportion.

    Patterns are run in C, which nothing counts: one that took squares would run for minutes.
    """

    def prepare(count: int) -> None:
        prepare_answer(odd * count)
        prepare_answer(f"It is {odd * count} so.")

    prepare(30_000)
    assert work_of(lambda: prepare(4_000)) < 6 * work_of(lambda: prepare(1_000))
