"""Which English words say little in any text?

An answer frames its facts in words of its own: "additionally", "various factors", "the article
discusses". Such words are rare in sources, so their rarity alone would make them weigh like facts.
Written from general knowledge.
"""

from functools import lru_cache

from rag_evals.text import stem, words_in

_FRAME_FACTOR, _GENERAL_FACTOR = 0.2, 0.5


@lru_cache(maxsize=1)
def vague_factors() -> dict[str, float]:
    """Return the factor for the weight of each vague word key, 0 to 1."""
    factors = {stem(word): _GENERAL_FACTOR for word in words_in("vague_general")}
    return factors | {stem(word): _FRAME_FACTOR for word in words_in("vague_frame")}
