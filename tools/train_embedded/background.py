"""Counts of chunks by word, for the fixed idf of the shipped weights."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rag_evals.text import read_words
from tools.train_embedded.rows import Labelled

_LEAST_COUNT = 3
_LONGEST_KEY = 20


def count_background(statements: Iterable[Labelled]) -> dict[str, Any]:
    """Count the different chunks that contain each word, by language.

    Words in fewer than three chunks are left out. The result is read by `model.read_idf`.
    """
    seen: set[str] = set()
    chunks: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {"en": Counter(), "ru": Counter()}
    for statement in statements:
        language = "ru" if statement.language == "ru" else "en"
        for chunk in statement.chunks:
            if chunk not in seen:
                seen.add(chunk)
                chunks[language] += 1
                counts[language].update(_keys(chunk))
    return {
        language: {"chunks": chunks[language], "words": _by_count(counts[language])}
        for language in ("en", "ru")
    }


def _keys(chunk: str) -> set[str]:
    return {
        word.key
        for word in read_words(chunk)
        if word.kind != "stop" and len(word.key) <= _LONGEST_KEY
    }


def _by_count(counts: Mapping[str, int]) -> dict[str, str]:
    grouped: dict[int, list[str]] = {}
    for key, count in counts.items():
        if count >= _LEAST_COUNT and " " not in key:
            # Steps of about ten percent: the idf changes by less than 0.1, the file halves.
            grouped.setdefault(_rounded(count), []).append(key)
    return {str(count): " ".join(sorted(grouped[count])) for count in sorted(grouped)}


def _rounded(count: int) -> int:
    step = 1
    while step * 12 <= count:
        step *= 2
    return count // step * step
