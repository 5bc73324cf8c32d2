"""Words that were read are kept for the next text, but not more than a few megabytes of them."""

import gc

import pytest

from rag_evals.text import Word, words


def held_words() -> int:
    """Count the words in memory."""
    return sum(isinstance(one, Word) for one in gc.get_objects())


@pytest.mark.slow
def test_words_of_many_texts_do_not_pile_up() -> None:
    """Of numbers, which no two rows share, no more are held than one table has room for."""
    before = held_words()
    for number in range(40_000):
        words(f"{number}")

    assert 0 < held_words() - before <= 2**15
