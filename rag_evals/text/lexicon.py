"""Functions that read the word lists in `_data/lexicon/` and the patterns in `_data/patterns/`.

The words are in lowercase, separated by whitespace; lines that begin with `#` are comments.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "_data"


def words_in(name: str) -> list[str]:
    return " ".join(lines_in(name)).split()


def lines_in(name: str, folder: str = "lexicon") -> list[str]:
    text = (_FOLDER / folder / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def groups_in(*names: str) -> Iterator[list[str]]:
    """Yield the word groups in lists, in which semicolons separate groups."""
    for name in names:
        for group in " ".join(lines_in(name)).split(";"):
            yield group.split()


def pairs_in(*names: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words on each side of every `left words|right words` line."""
    for name in names:
        for line in lines_in(name):
            left, _, right = line.partition("|")
            yield left.split(), right.split()


def rivals_in(name: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each group of words with the words in the other groups on the same line."""
    for line in lines_in(name):
        groups = [group.split() for group in line.split(";")]
        for number, group in enumerate(groups):
            others = groups[:number] + groups[number + 1 :]
            yield group, [word for other in others for word in other]


def named_groups_in(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and words of each `name: words` line."""
    for line in lines_in(name):
        group, _, words = line.partition(":")
        yield group, words.split()


def group_of_words(name: str) -> dict[str, str]:
    """Map each word to the name of its group; a word in several groups maps to the last."""
    return {word: group for group, words in named_groups_in(name) for word in words}


def patterns_in(name: str) -> dict[str, re.Pattern[str]]:
    """Compile the named patterns in a file, ignoring case.

    A name is followed by indented lines, which are joined; `@name@` inserts an earlier pattern.
    """
    texts: dict[str, str] = {}
    label, parts = "", set()
    for line in lines_in(name, "patterns"):
        if line.startswith("    "):
            parts.update(re.findall(r"@(\w+)@", line))
            texts[label] += re.sub(r"@(\w+)@", lambda found: texts[found[1]], line[4:])
        else:
            label = line
            texts[label] = ""
    return {
        label: re.compile(text, re.IGNORECASE)
        for label, text in texts.items()
        if label not in parts
    }
