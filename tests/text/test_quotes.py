"""A quote is found however it is written, and only where its words really stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.text.quotes import Quotable

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


# What a document holds, what a judge quotes of it, and the document's own words in that place.
DOCUMENTS: dict[str, tuple[str, str, list[str]]] = {
    "bold and italic": (
        "**The tower** is in *Paris*.", "The tower is in Paris.", ["The tower** is in *Paris*."]
    ),
    "half a pair of signs": (
        "The **tower is old**, he said.", "The **tower is old, he", ["The **tower is old**, he"]
    ),
    "code": ("run `make install` now", "run make install now", ["run `make install` now"]),
    "escapes": ("It costs \\$5 \\* 2 here", "It costs $5 * 2 here", ["It costs \\$5 \\* 2 here"]),
    "headings, quotations, lists": (
        "# Title here\n\n> quoted words\n- first item\n- second item",
        "Title here quoted words first item second item",
        ["Title here\n\n> quoted words\n- first item\n- second item"],
    ),
    "a row of a table": (
        "| City | Height |\n|------|:------:|\n| Paris | 330 m |\n| Rome | 20 m |",
        "Paris 330 m",
        ["Paris | 330 m"],
    ),
    "a row with its borders": (
        "| Город | Высота |\n|---|---|\n| **Париж** | 330 м |",
        "| Париж | 330 м |",
        ["Париж** | 330 м"],
    ),
    "heading and row of a table": (
        "City | Height\n---|---\nParis | 330 m",
        "City | Height\nParis | 330 m",
        ["City | Height\n---|---\nParis | 330 m"],
    ),
    "a table in HTML": (
        "<table><tr><td>Paris</td><td>330 m</td></tr></table>",
        "Paris | 330 m",
        ["Paris</td><td>330 m"],
    ),
    "HTML": (
        "<p>The tower <b>stands</b>&nbsp;in <a href='x'>Paris</a>.</p>",
        "The tower stands in Paris.",
        ["The tower <b>stands</b>&nbsp;in <a href='x'>Paris</a>."],
    ),
    "a comment": (
        "The tower<!-- ad --> stands", "The tower stands", ["The tower<!-- ad --> stands"]
    ),
    "entities": (
        "AT&amp;T&#8217;s tower &mdash; 330&nbsp;m",
        "AT&T's tower — 330 m",
        ["AT&amp;T&#8217;s tower &mdash; 330&nbsp;m"],
    ),
    "small digits": ("CO<sub>2</sub> on 5 km<sup>2</sup>", "CO2 on 5 km²", [
        "CO<sub>2</sub> on 5 km<sup>2</sup>"
    ]),
    "a hyphen at a line end": (
        "It was com-\npleted in Paris.", "completed in Paris", ["com-\npleted in Paris"]
    ),
    "a compound at a line end": (
        "A well-\nknown tower.", "A well-known tower", ["A well-\nknown tower"]
    ),
    "hyphens in Russian print": (
        "Это инфор-\nмация о баш-\n   не.", "информация о башне", ["инфор-\nмация о баш-\n   не"]
    ),
    "a Russian compound": (
        "Знает ли кто-\nнибудь ответ?", "кто-нибудь ответ", ["кто-\nнибудь ответ"]
    ),
    "a soft hyphen at a line end": (
        "of infor\u00ad\nmation here", "information here", ["infor\u00ad\nmation here"]
    ),
    "a link": (
        'See [the tower](https://x.y/a_(b) "T") in Paris.',
        "See the tower in Paris.",
        ['See [the tower](https://x.y/a_(b) "T") in Paris.'],
    ),
    "links of a wiki": (
        "The [[Eiffel Tower|tower]] in [[Paris]].", "tower in Paris", ["tower]] in [[Paris"]
    ),
    "marks of sources": (
        "It is tall[1] and old.[2][3] So", "It is tall and old.", ["It is tall[1] and old."]
    ),
    "footnotes": (
        "It is tall[^1], old<sup><a href='#c'>[2]</a></sup> and red.",
        "It is tall, old and red",
        ["It is tall[^1], old<sup><a href='#c'>[2]</a></sup> and red"],
    ),
    "a raised mark": ("Париж¹ — столица", "Париж — столица", ["Париж¹ — столица"]),
    "a digit below": ("The rate<SUB>1</SUB> is old.", "rate1 is old", ["rate<SUB>1</SUB> is old"]),
    "a raised digit": ("The rate<sup>1</sup> is old.", "rate is old", ["rate<sup>1</sup> is old"]),
    "two comments": (
        "It<!-- a --><!-- not --> stands", "It stands", ["It<!-- a --><!-- not --> stands"]
    ),
    "a tag in a comment": (
        "It<!-- <style> --> stands </style> here", "It stands", ["It<!-- <style> --> stands"]
    ),
    "a number beside a word in a row": ("| 1 | person here |", "1 person", ["1 | person"]),
    "a soft hyphen before a capital": ("Mc\u00ad\nDonald here", "McDonald", ["Mc\u00ad\nDonald"]),
    "an ellipsis over a sentence of its own": (
        "Built in 1889. It was not cheap. It stands in Paris.",
        "Built in 1889 ... It stands in Paris",
        ["Built in 1889", "It stands in Paris"],
    ),
    "an ellipsis over a sentence between those of both parts": (
        "The tower is old. It was not cheap. In Paris it stands tall.",
        "The tower ... it stands tall",
        ["The tower", "it stands tall"],
    ),
    "an ellipsis after the end of a sentence": (
        "The tower is old. It was not cheap. In Paris it stands tall.",
        "The tower is old. ... it stands tall",
        ["The tower is old.", "it stands tall"],
    ),
    "an ellipsis with a denial elsewhere": (
        "The tower, not tall, was red. The tower, old, was blue.",
        "The tower ... was blue",
        ["The tower", "was blue"],
    ),
}  # fmt: skip
# Quotes that a document does not hold, though its letters are there.
NOT_HELD = {
    "a denial behind an ellipsis": (
        "The tower was not opened in 1889.",
        "The tower was ... opened in 1889",
    ),
    "a short denial": ("The tower isn't in Rome.", "The tower ... in Rome"),
    "a Russian denial": ("Башня никогда не была открыта.", "Башня ... была открыта"),
    "an exception": ("Everyone except Anna came to Paris.", "Everyone ... came to Paris"),
    "a denial before the second part": (
        "It is so. It was never opened in Paris.",
        "It is so. ... opened in Paris",
    ),
    "a power": ("2<sup>10</sup> bytes of memory", "210 bytes of memory"),
    "a raised power": ("10² metres of cable", "102 metres of cable"),
    "a base": ("101₂ is five", "1012 is five"),
    "a power cut off": ("It costs 10² euros.", "It costs 10"),
    "an exponent alone": ("They laid 10² metres of cable", "2 metres of cable"),
    "a number cut off before a single decimal": ("It cost 3.1 million", "It cost 3"),
    "a unit cut off": ("500 km² of land", "500 km of land"),
    "a unit cut off in HTML": ("500 km<sup>2</sup> of land", "500 km of land"),
    "cells as one number": ("| 1 | 000 people |", "1 000 people"),
    "cells of HTML as one number": ("<td>1</td><td>000 people</td>", "1 000 people"),
    "cells as one word": ("<td>un</td><td>happy people</td>", "unhappy people"),
    "struck out words": ("The price is ~~5 euros~~ 7 euros.", "The price is 5 euros 7"),
    "deleted words": ("The price is <del>5</del> 7 euros.", "The price is 5 7 euros"),
    "a hyphen inside a line": ("They re-sign the contract.", "They resign the contract"),
    "a product": ("5*3*2 is thirty", "532 is thirty"),
    "names with lines below": ("x_1 and x_2 are equal", "x1 and x2 are equal"),
    "written tags": ("a &lt;b&gt; c are words", "a c are words"),
    "a word of a comment": ("It does<!-- not --> stand there", "It does not stand there"),
    "years as one number": ("the war of 1914-\n1918 ended", "the war of 19141918 ended"),
    "a name and a number": ("It is COVID-\n19 here", "It is COVID19 here"),
    "a digit before a hyphen": ("It is a B2-\nclass one", "It is a B2class one"),
    "a soft hyphen in a name": ("Mc\u00ad\nDonald here", "Mc-Donald here"),
    "a double name": ("Then Anna-\nMaria came", "Then AnnaMaria came"),
    "a sign at a line end": ("It was\n-5 degrees there", "It was 5 degrees there"),
    "the address of a link": ("The [tower](x) in Rome", "The x in Rome"),
    "an index": ("The array a[1] is one", "The array a is one"),
    "an interval": ("All x in [0, 1] hold it", "All x in hold it"),
    "two prices": ("It costs 3 | 4 euros a day", "It costs 3 4 euros a day"),
    "half a fraction": ("Es kostet 2½ Euro heute", "Es kostet 2"),
    "a comparison": ("if a<b and c>d then stop", "if a d then stop"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_quote_of_a_real_document_is_found(name: str) -> None:
    """Signs of Markdown, HTML and print do not count; offsets are those of the document."""
    source, quote, expected = DOCUMENTS[name]
    spans = Quotable(source).find(quote)

    assert spans is not None
    assert [span.text for span in spans] == expected
    assert all(source[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize("name", NOT_HELD)
def test_a_quote_that_a_document_does_not_hold_is_refused(name: str) -> None:
    """No sign is taken out that changes what is said."""
    source, quote = NOT_HELD[name]

    assert Quotable(source).find(quote) is None


def test_the_denial_that_was_left_out_is_named() -> None:
    """A judge that is asked again learns which word it jumped; other faults have none."""
    tower = Quotable("The **tower** was not opened in 1889.")

    assert tower.denial_left_out("The tower was ... opened in 1889") == "not"
    assert tower.denial_left_out("The tower was ... closed in 1889") is None
    assert tower.denial_left_out("") is None


@pytest.mark.parametrize("signs", ["<", "[", "*", "| ", "a-\n", "&", "<!--", "<b ", "   ", "-"])
def test_signs_without_end_do_not_run_away(signs: str) -> None:
    """Twenty thousand signs are searched to their end."""
    assert Quotable(signs * (20_000 // len(signs))).find("nothing ... of this") is None


def test_parts_that_stand_often_do_not_run_away() -> None:
    """After two hundred pairs of their places the search ends."""
    assert Quotable("a b").find("a ... b") is not None
    assert Quotable("a not b " * 100 + "a b").find("a ... b") is None


@pytest.mark.parametrize(
    ("source", "quote", "enough"),
    [
        (SOURCE, "in Paris", False),
        (SOURCE, "stands in Paris", True),
        (SOURCE, "The ... It ... at", False),
        (SOURCE, "The ... stands in Paris", True),
        (SOURCE, "stands in Paris ... It", False),
        (SOURCE, "stands in Paris ... at", False),
        ("Paris.", "Paris.", True),
        ("埃菲尔铁塔位于巴黎。", "位于巴黎", True),
        ("埃菲尔铁塔位于巴黎。", "于巴黎", False),
        ("[1] So it.", "So it.", True),
        ("<!-- a -->So it.", "So it.", True),
        ("This is not the one that was there.", "is not the one that was", False),
        ("А это было не то, что там было.", "это было не то", False),
        ("This is not that.", "This is not that.", True),
        ("**This** is not that.", "This is not that.", True),
        ("<td class='number'>5</td> pieces", "<td class='number'>5", False),
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


@pytest.mark.parametrize("quote", ["iPhone の価格", "私のiPhone"])
def test_latin_words_beside_japanese_ones_have_borders(quote: str) -> None:
    """A quote begins and ends where the script changes, on either side."""
    spans = Quotable("これは私のiPhone の価格です。").find(quote)

    assert spans is not None
    assert [span.text for span in spans] == [quote]
    assert Quotable("これは私のiPhone の価格です。").find("私のiPho") is None


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


@pytest.mark.parametrize(
    ("source", "quote", "is_whole"),
    [
        # Parts of a number with a separator, a sign or an exponent.
        ("It cost 3,5 here", "It cost 3", False),
        ("It is at 3:15 here", "It is at 3", False),
        ("It is at 3:15 here", "15 here", False),
        ("It is at 3.5 here", "5 here", False),
        ("It was -5 here", "5 here", False),
        ("-5 here", "5 here", False),
        ("3.5 here", "5 here", False),
        ("It was −5 here", "It was -5 here", True),
        ("In 3-5 days", "5 days", True),
        ("In x-5 days", "5 days", True),
        ("It has 2^10 bytes", "10 bytes", False),
        ("It has 2^n bytes", "It has 2", False),
        ("Then a^b here", "b here", True),
        ("Then a^b here", "Then a", True),
        # A number beside other signs is whole.
        ("It is 3, 5 or 6", "It is 3", True),
        ("It is 3/5 here", "It is 3", True),
        ("It is 3.Then it fell", "It is 3", True),
        ("It is 3.Then it fell", "Then it fell", True),
        ("It is 3/5 here", "5 here", True),
        ("It is -abc here", "abc here", True),
        ("See rule a.5 here", "5 here", True),
        ("See rule a.5 here", "See rule a", True),
        ("See (5 here", "5 here", True),
        ("It was x5 here", "5 here", False),
        # The beginning and the end of the text.
        ("5 here", "5 here", True),
        ("It is 5", "It is 5", True),
        # Scripts without spaces.
        ("abc東京 here", "東京 here", True),
        ("abc東京 here", "abc", True),
        ("東京abc here", "abc here", True),
        ("タワーabc", "abc", True),
        ("abc한국", "abc", False),
        # A later place is whole.
        ("The abc, ab c here", "ab", True),
        ("It cost 3.5, then 3 euros", "3", True),
    ],
)
def test_a_quote_cuts_no_word_and_no_number(source: str, quote: str, is_whole: bool) -> None:
    """At either end of it, wherever it stands in the text."""
    assert (Quotable(source).find(quote) is not None) is is_whole


@pytest.mark.parametrize(
    ("source", "quote", "starts"),
    [
        ("a b a b c", "a ... c", [0, 8]),
        ("aba ab", "ab", [4]),
        ("a not b a b", "a ... b", [8, 10]),
        ("a not b. So a b", "b ... a", [6, 12]),
        ("a a a b", "a ... a ... b", [0, 2, 6]),
        ("a b. a c", "a ... a c", [0, 5]),
        ("a bc d", "a ... bc d", [0, 2]),
        ("a never b. So it is. Here c", "a ... c", None),
        ("a b", "a ... b ... c", None),
        ("a", "a ... a", None),
        ("a never b", "a ... b", None),
        ("a never b, c b", "a ... c", None),
        ("a. Never. b", "a ... b", [0, 10]),
        ("a. It is so. b never c", "a ... c", None),
    ],
)
def test_the_parts_of_a_quote_stand_in_order(
    source: str, quote: str, starts: list[int] | None
) -> None:
    """At the first places where no negation is left out between them."""
    spans = Quotable(source).find(quote)

    assert (None if spans is None else [span.start for span in spans]) == starts
