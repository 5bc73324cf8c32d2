"""Whatever an answer and its chunks hold, the embedded judge ends in a named outcome."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals import Faithfulness
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import NotScorableError
from rag_evals.grading import VerifiedFaithfulnessResult

pytestmark = pytest.mark.filterwarnings("ignore:.*does not count")

# What the reading of words, numbers, names and marks takes apart, drawn in any order.
PIECES = (
    "IT WHO IS DO US OR Information Technology World Health Organization the of one of once Once "
    "not never no No, all most some only may May can if 1,000 2.5 3.2M million dollars $ € % ° kg "
    "five twenty-one 2019-03-05 99.99.9999 1.2.3.4 ½ ² Ⅳ ٣ 日本 \uff9f 不 ё ИТ НЕ нет Анна два млн "
    "г. и т. д. illegal ' ’ O'Neil 's - — … . ! ? : ; | |---| ``` ## * ** __ [1] [1,2] 【7】 "
    '( ) [ ] { } " “ « \\ 😀 \u202e नहीं İ ß ﬁ 𝔸 Yes. Passage 3 says that does not say Step 1. b) '
    '{"a": 1, "b": [true, null]} - City: Paris 999999999999999999999 hundred half dozen second לא'
).split(" ")
ANY_TEXT = st.text(max_size=60) | st.builds(
    lambda pieces, gap: gap.join(pieces),
    st.lists(st.sampled_from(PIECES), max_size=25),
    st.sampled_from([" ", " ", " ", "", "\n", " \n\n"]),
)
# Answers and chunks that raised once, or look as if they might.
ODD = [
    ("Alice works in IT.", "She works in Information Technology."),
    ("The WHO praised it.", "The World Health Organization praised it."),
    ("Alice studies IS.", "Alice studies Information Systems."),
    ("They formed a DO.", "They formed a District Office."),
    ("НЕ работает там.", "Новая Энергия работает там."),
    ("It is \uff9f there.", "It is there."),
    ("THE WHO IS IT AND DO", "The Who Is It And Do"),
    ('{"city": "Paris", "open": [true, null, 1e9]}', "Paris is open."),
    ("[]", "Paris"),
    ("٣٤ and ४२ and ²", "34 and 42"),
    ("99.99.9999 or 2019-13-45", "2019-12-31"),
]


def check_outcome(answer: str, chunks: list[str]) -> None:
    """Grade: either the row cannot be scored, or its verdicts are probabilities."""
    try:
        result = Faithfulness.grade(answer=answer, context=chunks, client="embedded")
    except NotScorableError:
        return
    assert isinstance(result, VerifiedFaithfulnessResult)
    assert all(0 <= (statement.support or 0) <= 1 for statement in result.statements)


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3))
def test_any_answer_ends_in_verdicts_or_a_named_outcome(answer: str, chunks: list[str]) -> None:
    """No answer raises; the same words in capitals, or turned round, raise no more."""
    check_outcome(answer, chunks)
    check_outcome(answer.upper(), [answer.title(), answer])


@given(st.lists(ANY_TEXT, max_size=3), st.lists(ANY_TEXT, max_size=3))
def test_any_statement_gets_one_verdict(statements: list[str], chunks: list[str]) -> None:
    """No text raises, and no statement is lost."""
    verdicts = EmbeddedVerifier().verify(statements, chunks)

    assert len(verdicts) == len(statements)
    assert all(0 <= verdict.support <= 1 for verdict in verdicts)


@pytest.mark.parametrize(("answer", "chunk"), ODD, ids=[repr(answer)[:20] for answer, _ in ODD])
def test_odd_answers_end_in_verdicts(answer: str, chunk: str) -> None:
    """Acronyms that are function words, accents without a letter, data."""
    check_outcome(answer, [chunk])
    check_outcome(chunk, [answer])
