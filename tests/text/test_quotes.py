"""A quote is found however it is written, and only where its words really stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.text import Quotable

SOURCE = (
    "The  tower — “built” in 1889 –\nstands in Paris. It cost 3.14 million, at -5 degrees. "
    "Cafe\u0301 noir is ser\u00advied. Don’t go."
)
FOUND = {
    "plain words": ("stands in Paris", ["stands in Paris"]),
    "white space": ("The tower", ["The  tower"]),
    "dashes and quotation marks": ('tower - "built" in', ["tower — “built” in"]),
    "a line end": ("1889 - stands", ["1889 –\nstands"]),
    "composed letters": ("Café noir", ["Cafe\u0301 noir"]),
    "a soft hyphen": ("is servied", ["is ser\u00advied"]),
    "an apostrophe": ("Don't go.", ["Don’t go."]),
    "a ligature and full width": ("Ｐａｒｉｓ", ["Paris"]),
    "an ellipsis": ("built ... stands … Paris", ["built", "stands", "Paris"]),
    "an ellipsis in brackets": ("tower [...] Paris", ["tower", "Paris"]),
    "a leading ellipsis": ("... stands in Paris.", ["stands in Paris."]),
}
ABSENT = {
    "other words": "stands in Rome",
    "another case": "Stands in paris",
    "half a word": "stands in Par",
    "half a number": "It cost 3",
    "the end of a number": "14 million",
    "a number without its sign": "5 degrees",
    "parts in another order": "Paris ... tower",
    "nothing": " ",
    "only an ellipsis": "...",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_quote_is_found_however_it_is_written(name: str) -> None:
    """Spaces, quotation marks, dashes and Unicode forms do not count; offsets do."""
    quote, expected = FOUND[name]
    spans = Quotable(SOURCE).find(quote)

    assert spans is not None
    assert [span.text for span in spans] == expected
    assert all(SOURCE[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize("name", ABSENT)
def test_what_does_not_stand_there_is_not_found(name: str) -> None:
    """Other words, cut words, cut numbers and parts in another order are no quotes."""
    assert Quotable(SOURCE).find(ABSENT[name]) is None


@pytest.mark.parametrize(
    ("source", "quote", "enough"),
    [
        (SOURCE, "in Paris", False),
        (SOURCE, "stands in Paris", True),
        (SOURCE, "It ... is ... go", False),
        ("Paris.", "Paris.", True),
        ("埃菲尔铁塔位于巴黎。", "位于巴黎", True),
        ("埃菲尔铁塔位于巴黎。", "巴黎", False),
    ],
)
def test_a_quote_must_say_something(source: str, quote: str, enough: bool) -> None:
    """A word that stands anywhere shows nothing; the whole chunk is always enough."""
    assert Quotable(source).find(quote) is not None
    assert Quotable(source).is_long_enough(quote) is enough


def test_chinese_words_have_no_borders() -> None:
    """Scripts without spaces are quoted from any character to any other."""
    spans = Quotable("埃菲尔铁塔位于巴黎。").find("铁塔位于")

    assert spans is not None
    assert spans[0].start == 3


@given(st.text(min_size=1), st.data())
def test_every_piece_between_spaces_is_found(text: str, data: st.DataObject) -> None:
    """A quote copied from a text is found in it, at offsets that read the same."""
    words = text.split()
    if words:
        start = data.draw(st.integers(0, len(words) - 1))
        end = data.draw(st.integers(start + 1, len(words)))
        quote = " ".join(words[start:end])
        spans = Quotable(text).find(quote)
        if spans is not None:
            assert all(text[span.start : span.end] == span.text for span in spans)
        elif any(c.isalnum() for c in quote):
            # Only a border that runs through a word or a number is refused.
            assert "..." in quote or "…" in quote or not all(w.isalnum() for w in words)
