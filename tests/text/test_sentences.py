"""Where sentences begin and end, in English and Russian."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.text import split_sentences

CASES = {
    "two sentences": ("It rained. We left.", ["It rained.", "We left."]),
    "titles": (
        "Dr. Smith met Mrs. Jones. They talked.",
        ["Dr. Smith met Mrs. Jones.", "They talked."],
    ),
    "initials": ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien wrote it."]),
    "decimals": ("It cost 3.14 euros. Then 2,5.", ["It cost 3.14 euros.", "Then 2,5."]),
    "latin": ("Use a tool, e.g. Excel. It helps.", ["Use a tool, e.g. Excel.", "It helps."]),
    "year at the end": ("It began in 1967. It ended.", ["It began in 1967.", "It ended."]),
    "time of day": ("We met at 3 p.m. on Monday.", ["We met at 3 p.m. on Monday."]),
    "signs": ("Really?! Yes. So it is…", ["Really?!", "Yes.", "So it is…"]),
    "quotation": ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
    "list": ("Facts:\n- One is red.\n- Two is blue", ["Facts:", "One is red.", "Two is blue"]),
    "numbered list": ("1. Red\n2. Blue\n10) Green", ["Red", "Blue", "Green"]),
    "heading": ("## Results\nIt works.", ["Results", "It works."]),
    "wrapped line": (
        "This line was wrapped by hand after sixty or more characters of\ntext. Next.",
        ["This line was wrapped by hand after sixty or more characters of\ntext.", "Next."],
    ),
    "domain": ("See example.com for more. Thanks.", ["See example.com for more.", "Thanks."]),
    "russian": (
        "Он родился в 1879 г. в Ульме. Потом уехал.",
        ["Он родился в 1879 г. в Ульме.", "Потом уехал."],
    ),
    "russian year ends": (
        "Это было в 1961 г. Затем он умер.",
        ["Это было в 1961 г.", "Затем он умер."],
    ),
    "russian abbreviations": (
        "Есть кофе, чай и т. д. Цена 5 тыс. руб. за кг. Дорого.",
        ["Есть кофе, чай и т. д.", "Цена 5 тыс. руб. за кг.", "Дорого."],
    ),
    "russian initials": ("А. С. Пушкин жил в г. Москве.", ["А. С. Пушкин жил в г. Москве."]),
    "russian i.e.": ("Он врач, т.е. лечит. Вот.", ["Он врач, т.е. лечит.", "Вот."]),
    "chinese": ("今天下雨。我们走了!", ["今天下雨。", "我们走了!"]),
    "only signs": ("... !!! ???", []),
    "empty": ("", []),
}


@pytest.mark.parametrize("name", CASES)
def test_sentences_are_split_as_a_reader_would(name: str) -> None:
    """Abbreviations, numbers, lists and lines do not mislead the splitter."""
    text, expected = CASES[name]

    assert [span.text for span in split_sentences(text)] == expected


@given(st.text())
def test_offsets_point_at_the_text(text: str) -> None:
    """Spans lie in order, do not overlap, are not empty, and quote the text exactly."""
    last = 0
    for span in split_sentences(text):
        assert text[span.start : span.end] == span.text
        assert span.text.strip() == span.text != ""
        assert span.start >= last
        last = span.end


@given(st.lists(st.sampled_from("Ab1. !?…\n-#) «»\"'т.е.г。　")).map("".join))
def test_no_letter_is_lost(text: str) -> None:
    """Every letter and digit outside list markers stands in some sentence."""
    kept = "".join(span.text for span in split_sentences(text))
    wanted = sum(c.isalpha() for c in text)

    assert wanted - sum(c.isalpha() for c in kept) <= text.count(")")


def test_a_megabyte_takes_a_moment() -> None:
    """Time grows with the length of the text, not with its square."""
    text = "word " * 200_000 + "." * 1000

    assert len(split_sentences(text)) == 1
