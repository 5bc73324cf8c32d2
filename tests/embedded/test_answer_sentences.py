"""Preparation, measured: which sentences of answers claim something, by hand-made labels."""

from collections import Counter

import pytest

from tools.train_embedded.sentences import PARTS, read_answers, shares, wrong_by_kind

READ = read_answers()


@pytest.mark.parametrize("part", PARTS)
def test_claims_are_told_from_talk(part: str) -> None:
    """Precision is at least 0.95, recall 0.90, of claims and of what is passed over alike."""
    found = [one for one in READ if one.part == part]
    measured = shares(found)

    assert all(
        share >= (0.95 if name.startswith("precision") else 0.9) for name, share in measured.items()
    ), f"{measured}\n{wrong_by_kind(found)}"


def test_the_labelled_set_holds_every_kind_in_both_languages() -> None:
    """At least 400 sentences; a kind that is missing could not fail."""
    kinds = Counter(
        (one.label, "ru" if any("а" <= c <= "я" for c in one.text.lower()) else "en")
        for one in READ
    )

    assert len(READ) >= 400
    for label in ("world", "absent", "sources", "talk", "step", "list", "question", "references"):
        assert kinds[label, "en"] >= 4
        assert kinds[label, "ru"] >= 2
