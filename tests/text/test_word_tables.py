"""Words that were read are kept for the next text, but not more than a few megabytes of them."""

import tracemalloc

from rag_evals.text.numbers import plain_keys
from rag_evals.text.word_forms import words_of_pieces

MOST_BYTES = 8_000_000


def test_words_of_many_texts_do_not_pile_up() -> None:
    """Numbers, which no two rows share: 30,000 of them took 12 MB."""
    tracemalloc.start()
    for number in range(30_000):
        words_of_pieces(f"{number},")
        plain_keys(f"{number}", 0, most_words=99)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert held < MOST_BYTES
