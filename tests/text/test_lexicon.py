"""The word lists are whole, and a damaged line is named."""

from pathlib import Path

import pytest

from rag_evals.text import lexicon
from rag_evals.text.word_forms import synonyms

LISTS = sorted((Path(lexicon.__file__).parents[1] / "_data" / "lexicon").glob("*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_list_is_plain_lower_case(path: Path) -> None:
    """A capital would never be found, because words are looked up in lower case."""
    assert lexicon.words_in(path.stem)
    assert all(word == word.lower() for word in lexicon.words_in(path.stem))


@pytest.mark.parametrize("name", ["citations", "claims", "leaning", "questions", "sources"])
def test_every_pattern_compiles_and_has_something_to_match(name: str) -> None:
    """An inserted name is always known, and no pattern matches the empty string by mistake."""
    may_be_empty = {"empty_topic", "frame", "frame_ru", "item", "lead", "leads"}
    patterns = lexicon.patterns_in(name)
    assert patterns
    assert [
        key for key, one in patterns.items() if one.fullmatch("") and key not in may_be_empty
    ] == []


def test_the_lists_of_pairs_and_groups_are_well_formed() -> None:
    """Every line has the form that its reader checks, with words on both sides."""
    assert list(lexicon.pairs_in("opposites_english", "opposites_russian"))
    assert all(words for _, words in lexicon.named_groups_in("quantifiers"))
    assert all(group and others for group, others in lexicon.rivals_in("alternatives"))


def test_groups_reach_over_line_ends() -> None:
    """The group "discuss debate talk" stands on two lines of its file."""
    assert {"debat", "talk"} <= synonyms()["discuss"]
