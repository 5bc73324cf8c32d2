"""Reading: what a number, a month, a doubt and a denial are, however they are written."""

import pytest

from rag_evals.embedded import EmbeddedVerifier
from rag_evals.text.word_forms import numbers_of


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Once identified, the fault is repaired.", set()),
        ("Take it once a day, twice on Sundays.", {"1", "2"}),
        ("It must be checked at least once per year.", {"1"}),
        ("One dog chased this", {"1"}),
        ("No one chased this one", set()),
        ("Between one thousand and five thousand people came.", {"1000", "5000"}),
        ("One hundred and five thousand people came.", {"105000"}),
        ("Between one hundred and five hundred people came.", {"100", "500"}),
        ("Between one hundred and one hundred and five people came.", {"100", "105"}),
        ("He counted one hundred and five", {"105"}),
        ("He counted one hundred and", {"100"}),
        ("It cost 3.2M dollars.", {"3200000"}),
        ("It cost $3.2M.", {"3200000"}),
        ("It cost $3.2m, then €5bn.", {"3200000", "5000000000"}),
        ("It cost 3.2 million dollars.", {"3200000"}),
        ("Оно стоило 3,2 млн рублей.", {"3200000"}),
        ("It is 5 m long.", {"5"}),
        ("Apply steps 1,2,3 in order.", {"1", "2", "3"}),
        ("Apply steps 1, 2, 3 in order.", {"1", "2", "3"}),
        ("Шаги 1,2,3 и 10.", {"1", "2", "3", "10"}),
        ("It cost 1,234.56 dollars.", {"1234.56"}),
        ("They ran 1.2.3 million times.", {"1.2.3", "1000000"}),
        ("It has 1,500,000 seats and 3,5 stars.", {"1500000", "3.5"}),
        ("Версия 1.2.3 и 12,34 евро.", {"1.2.3", "12.34"}),
    ],
)
def test_numbers_are_read_as_meant(text: str, numbers: set[str]) -> None:
    """Before a clause "once" is no number, "1,2,3" is three of them, and 3.2M is millions."""
    assert numbers_of(text) == numbers


@pytest.mark.parametrize(
    ("chunk", "statement", "supported"),
    [
        ("In may 2014 the museum opened.", "The museum opened in May 2014.", True),
        ("In may 2014 the museum opened.", "The museum opened in 2014.", True),
        ("The fair is held every may.", "The fair is held every May.", True),
        ("May cause drowsiness.", "It causes drowsiness.", False),
        ("The company earned $3.2 million.", "The company earned 3.2M dollars.", True),
        ("The company earned $3.2 million.", "The company earned $3.2 billion.", False),
        ("Apply steps 1,2,3 in order.", "Apply steps 1, 2, 3 in order.", True),
        (
            "When identified, the fault is repaired.",
            "Once identified, the fault is repaired.",
            True,
        ),
        ("Do not use a hose to clean it.", "A hose can be effective to clean it.", False),
        ("Never use bleach on wool.", "Bleach can be used on wool.", False),
        ("Не используйте шланг для мытья пола.", "Шланг подходит для мытья пола.", False),
        ("Его подозревают в том, что он совершил кражу.", "Он совершил кражу.", False),
        ("Do not use a hose to clean it.", "A hose should not be used to clean it.", True),
        ("Полиция подозревает, что кражу совершил Иванов.", "Кражу совершил Иванов.", False),
        ("Police suspect that Ivan committed the theft.", "Ivan committed the theft.", False),
        ("Police believe Ivan committed the theft.", "Ivan committed the theft.", False),
        (
            "Police believe Ivan committed the theft.",
            "Ivan is believed to have committed the theft.",
            True,
        ),
        ("Мэр сообщил, что мост построен в 1907 году.", "Мост построен в 1907 году.", True),
        ("The trip takes 2 hours and 15 minutes.", "The trip takes 135 minutes.", True),
        ("The trip takes 2 hours, by bus through the old town 15 minutes.",
         "The trip takes 135 minutes.", False),
        ("The box weighs 3 kg and 5 m of rope hold it.", "3005 m of rope hold it.", False),
        ("14 adults and 11 children came to the fair.",
         "25 adults and children came to the fair in total.", True),
        ("14 adults and 11 children came to the fair.",
         "36 adults and children came to the fair in total.", False),
    ],
)  # fmt: skip
def test_small_forms_do_not_mislead(chunk: str, statement: str, supported: bool) -> None:
    """Months, amounts, lists, forbidden tools and beliefs, in English and Russian."""
    (verdict,) = EmbeddedVerifier().verify([statement], [chunk])

    assert verdict.is_supported is supported, verdict


def test_a_reason_shows_an_amount_with_its_scale() -> None:
    """The same figure twice, "3.2" for "3.2", would explain nothing."""
    (verdict,) = EmbeddedVerifier().verify(
        ["The company earned $3.2 billion in 2019."], ["The company earned $3.2 million in 2019."]
    )

    assert "'3.2 billion' is not in any chunk; chunk 0 says '3.2 million'" in verdict.reason
