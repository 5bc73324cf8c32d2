"""Where sentences begin and end, in English and Russian."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.text import split_sentences
from rag_evals.text.sentences import finite_verb, leaning_of, stands_alone

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
    "an abbreviation before a name": ("See Prof. Li. He left.", ["See Prof. Li.", "He left."]),
    "an abbreviation that may end": (
        "They sell pens, ink etc. Then they left Acme Inc. Last year.",
        ["They sell pens, ink etc.", "Then they left Acme Inc.", "Last year."],
    ),
    "a letter that is no initial": (
        "He took vitamin C. It helped the plan b. Then (J. Smith) and Anna K. Smith came.",
        ["He took vitamin C.", "It helped the plan b.", "Then (J. Smith) and Anna K. Smith came."],
    ),
    "an initial after a full stop or a dash": (
        "By J. R. Smith, A. Li — B. Li, “C. Li”.",
        ["By J. R. Smith, A. Li — B. Li, “C. Li”."],
    ),
    "a number at the beginning": (
        "It is so. 12. First. 123. Last.",
        ["It is so.", "12. First.", "123.", "Last."],
    ),
    "a number of an item": ("12. First of all.", ["First of all."]),
    "an item in the middle": ("Facts! 12. First.", ["Facts!", "12. First."]),
    "a name with a sign": ("Yahoo! said so. Really? No.", ["Yahoo! said so.", "Really?", "No."]),
    "a mark without a space": ("It cost 5.Then he left. So", ["It cost 5.Then he left.", "So"]),
    "a place and a century": (
        "Он жил в г. Туле в XX в. Потом уехал. Это было в V в. до н. э.",
        ["Он жил в г. Туле в XX в.", "Потом уехал.", "Это было в V в. до н. э."],
    ),
    "abbreviations of two letters": (
        "Есть чай и т. п. Потом ушли, и т. д. и т. п. Всё.",
        ["Есть чай и т. п.", "Потом ушли, и т. д. и т. п.", "Всё."],
    ),
    "marks of sources": (
        "It is so [1, 2]. It fell.[3] It rose. [4-5] “So.” [1](x) is a link.",
        ["It is so [1, 2].", "It fell.[3]", "It rose. [4-5]", "“So.”", "[1](x) is a link."],
    ),
    "bullets and letters": (
        "* red\n+ blue\n• green\na) one\n(2) two\n> - deep\n1) top",
        ["red", "blue", "green", "one", "two", "deep", "top"],
    ),
    "lines that belong together": (
        "The tower\nstands here\n“and there”.\nIt is old.",
        ["The tower\nstands here\n“and there”.", "It is old."],
    ),
    "lines that do not": (
        "The tower\nStands here;\nand there\n\nand so on:\nit is “old”\r\nIt fell\u2028Then",
        ["The tower", "Stands here;", "and there", "and so on:", "it is “old”", "It fell", "Then"],
    ),
    "a line that ends in a closed quotation": (
        "He said “**so.**”\nand left",
        ["He said “**so.**”", "and left"],
    ),
    "a blank line, and one with a carriage return": (
        "The tower\n\nstands\r\nhere\n \nnow",
        ["The tower", "stands\r\nhere", "now"],
    ),
    "a line that begins with a name in lower case": (
        "The new\niPhone is old",
        ["The new\niPhone is old"],
    ),
    "a closed abbreviation": (
        "They call “Dr.” Smith (Dr. Smith).",
        ["They call “Dr.” Smith (Dr. Smith)."],
    ),
    "a dash at the end": ("So it is. —\n\nand then", ["So it is.", "and then"]),
    "numbers that end a sentence": (
        "He saw 12. Then 5%. So.\u00a012. First.\u00a0123. Last.",
        ["He saw 12.", "Then 5%.", "So.", "12. First.", "123.", "Last."],
    ),
    "a share alone": ("It is so. 5%. Then.", ["It is so.", "5%.", "Then."]),
    "capitals that are no initial": (
        "He ran Team GB. Then take these: B. Then go.",
        ["He ran Team GB.", "Then take these: B.", "Then go."],
    ),
    "indented lines": (" The tower\n\tstands here", ["The tower\n\tstands here"]),
    "a heading above a line": ("# Hours\nopen from 9", ["Hours", "open from 9"]),
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


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        # A noun follows a determiner, a preposition, a number, "and" or "of".
        ("Prices rose", "rose"), ("the rose", None), ("of works here", None),
        ("and works here", None), ("who works here", None),
        ("5 walked", None), ("3rd walked", None),
        ("two visits", None), ("visits Bern daily", None), ("Anna Visits", None),
        # The past; "by" makes it a participle, unless a number follows.
        ("A tower designed by Eiffel", None), ("Prices rose by 12%", "rose"),
        ("Prices rose by 5%", "rose"),
        ("Sales fell by about 12 points", "fell"), ("Sales fell by half", None),
        ("A door red inside", None), ("children red outside", None), ("Snow melted", "melted"),
        # Auxiliaries, also contracted.
        ("Anna can swim", "can"), ("he's here", "he's"), ("I'd go", "I'd"), ("Anna's dog", None),
        # After "I", "we", "you" and "they", any other word.
        ("we gloat", "gloat"), ("we the people", None), ("So we gloat", None),
        # The third person, and the plain form after a plural.
        ("He carries bags", "carries"), ("He plays the violin", "plays"), ("He goes", "goes"),
        ("Anna publishes it", "publishes"), ("children play outside", "play"),
        ("Members pay nothing", "pay"), ("glass pay nothing", None), ("Lions' pay", None),
        ("virus pay nothing", None), ("basis pay nothing", None), ("Anna's pay grew", "grew"),
        ("always go", "go"), ("child go", None),
        # A form that may be a noun needs a word that follows verbs.
        ("Anna backs Bern", None), ("Anna backs the club", "backs"),
        ("Anna backs 5 clubs", "backs"), ("Anna backs 5% cuts", "backs"),
        ("plays up", None), ("Anna backs of it", None),
        ("Anna backs off", "backs"), ("Old drops", None),
    ],
)  # fmt: skip
def test_a_verb_is_told_by_its_form_and_its_neighbours(text: str, verb: str | None) -> None:
    """The first word that is probably a finite verb."""
    found = text.split()
    place = finite_verb(found)

    assert (None if place is None else found[place]) == verb


@pytest.mark.parametrize("first", ["", "The tower is old,\nand "])
def test_a_line_of_sixty_characters_was_wrapped(first: str) -> None:
    """The next one goes on after it, though it begins with a capital; after 59 it does not."""
    begun = first.rpartition("\n")[2]
    for length in (59, 60):
        text = f"{first}{begun}{'a' * (length - 2 * len(begun))}\nParis is here"
        line = text.split("\n")[-2]

        assert len(line) == length
        assert len(split_sentences(text)) == (1 if length == 60 else 2)


@pytest.mark.parametrize(
    ("text", "leaning"),
    [
        # Yes and no, alone or with an echo.
        ("Yes.", "yes_no"), ("No, it is not.", "yes_no"), ("No — they do not!", "yes_no"),
        ("Yes it is", "yes_no"), ("Нет, не является.", "yes_no"), ("Да, это так", "yes_no"),
        ("Yes, the shop is open.", None), ("No/it is", None), ("No shop is open.", None),
        ("Nobody is here.", None),
        # Pronouns.
        ("And it fell.", "pronoun"), ("It is known that cats purr.", None),
        ("Его брат уехал.", "pronoun"), ("“They” left.", "pronoun"),
        # Up to seven words without a verb.
        ("", None), ("—", None), ("1889", "fragment"), ("東京", None), ("42 %", "fragment"),
        ("one two three four five six seven", "fragment"),
        ("one two three four five six seven eight", None),
        ("one-two three four five six seven eight", "fragment"),
        ("one, two, three, four, five, six, seven, eight", None),
        ("one, two, three, four, five, six, seven", "fragment"), ("Мы вместе", None),
        ("В 1889 году", "fragment"), ("Башня — в Париже", None), ("Башня-маяк", "fragment"),
        ("Мы за мир", None), ("Мы", "fragment"), ("Для ты", "fragment"),
        ("Есть места", None), ("Был дом", "fragment"), ("Башня стоит", None),
        ("der alte Turm und die Stadt", None), ("The old tower", "fragment"),
    ],
)  # fmt: skip
def test_what_a_claim_lacks(text: str, leaning: str | None) -> None:
    """A subject, a verb, or everything; what is not known is no lack."""
    assert leaning_of(text) == leaning


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("The tower stands in Paris.", True), ("It is known that cats purr.", True),
        ("It stands in Paris.", False), ("The latter stands in Paris.", False),
        ("  Both towers stand in Paris.", False), ("There it was sold.", False),
        ("There are two.", True), ("Там он жил.", False), ("Башня стоит в Париже.", True),
        ("In 1889.", False), ("Yes.", False),
    ],
)  # fmt: skip
def test_a_claim_stands_alone_where_nothing_points_back(text: str, alone: bool) -> None:
    """A pronoun, "the latter", a fragment and an answer need what is before them."""
    assert stands_alone(text) is alone
