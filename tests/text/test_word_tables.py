"""Words that were read are kept for the next text, but not more than a few megabytes of them."""

import gc

from rag_evals.text.numbers import plain_keys
from rag_evals.text.word_forms import Word, words_of_pieces


def held_words() -> int:
    """Count the words in memory."""
    return sum(isinstance(one, Word) for one in gc.get_objects())


def test_words_of_many_texts_do_not_pile_up() -> None:
    """Of numbers, which no two rows share, no more are held than two tables have room for."""
    before = held_words()
    for number in range(18_000):
        words_of_pieces(f"{number},")
        plain_keys(f"{number}", 0, most_words=99)

    assert 0 < held_words() - before <= 2 * 2**14
