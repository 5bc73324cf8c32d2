"""Keys that are looked up piece by piece are those of the sentence read as a whole."""

from hypothesis import given
from hypothesis import strategies as st

from rag_evals.text import expand_dates, normalise_numbers, plain_keys, words

_PIECES = (
    "The tower, (1889) 5 m 5m 10 000 1,200 2019-03-05 05.03.2019 3.2M $3.2 million dollars US us "
    "twenty-five hundred second 2nd nd May may 1990s B2 В 1961 г. пять 5 г г. тыс км/ч it's don't "
    "well-known 12% a.m. U.S. 't naïve 東京 なかった l'eau 7- -7 h/day IT once 1,2,3 м th 3 st."
).split()


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=12))
def test_plain_keys_are_those_of_the_whole_sentence(pieces: list[str]) -> None:
    """A sentence is either read as a whole, or its pieces give the same keys."""
    text = " ".join(pieces)
    whole = normalise_numbers(words(expand_dates(text)))

    keys = plain_keys(text, 0, most_words=120)

    assert keys is None or list(keys) == list(
        dict.fromkeys(word.key for word in whole if word.kind != "stop")
    )


def test_a_year_needs_no_reading_as_a_whole() -> None:
    """Numbers alone do not make a sentence slow to read; units of one letter behind them do."""
    assert plain_keys("It opened in 1889, in Paris.", 0, most_words=120) == {
        "open": 0, "1889": 0, "paris": 0,
    }  # fmt: skip
    assert plain_keys("It is 5 m tall.", 0, most_words=120) is None
