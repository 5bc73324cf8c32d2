"""Marks such as [1] are read, and belong to the sentence that they are about."""

import pytest

from rag_evals.text import split_sentences
from rag_evals.text.citations import (
    citation_marks,
    citing_sentences,
    without_final_citations,
)

READ: list[tuple[str, list[int]]] = [
    ("It is tall [1].", [1]),
    ("It is tall.[2][3]", [2, 3]),
    ("It is tall [1, 3–5].", [1, 3, 4, 5]),
    ("它很高【2】。", [2]),
    ("It is tall [1] and old [1].", [1]),
    ("It is tall [3-22].", list(range(3, 23))),
    ("It is tall [1](https://example.com/a_(b)).", [1]),
    ('It is tall [[4]](https://example.com) and [5](x "Title").', [4, 5]),
    ("It is tall[^1], it is old [^2].", [1, 2]),
    ("Paris¹ is the capital.² It is old.¹²", [1, 2, 12]),
    ("Москва¹ — столица², и это так.³⁻⁵", [1, 2, 3, 4, 5]),
    ("[Doc 1] [Docs 2, 3] [doc_4] [Document #5] [Doc 6, Doc 7]", [1, 2, 3, 4, 5, 6, 7]),
    ("Это так [Документ 1], [Источник 2] и [Фрагмент №3].", [1, 2, 3]),
    ("It is tall【4†source】.", [4]),
    ("Москва[1] — столица[2].", [1, 2]),
    ("As shown in [1, 3], it is tall.", [1, 3]),
    ("Between [1] and [2] there is no difference.", [1, 2]),
    ("Paris¹ is old [2].", [1, 2]),
    ("It is `so`[1].", [1]),
    ("Plan A[1](https://x.y) is so.", [1]),
    ("The rate [1] = 5 is old.", [1]),
]
LEFT_ALONE = [
    "See [note] and a[i].",
    "In [1889] it was built.",
    "The values are `x[1]` and ``y[2]``.",
    "```python\nrows[1] = rows[2]\n```",
    "Then a[1] grows, row_ids[2] too, and getItem[3], f(x)[4].",
    "Write items[1] = 5, items[2] += 1 or items[3].name = 'x'.",
    "Here x in [0, 1], and the interval [2, 5] is open.",
    "The score lies in [0, 1] on a scale of [1, 5].",
    "Значения на отрезке [0, 1] и в диапазоне [1, 3], а x из [2, 4].",
    "Pages [1-300], [3-23] and [9-3] are no sources.",
    "It is 10² m, 5 m², 3 km², x³, sin² x and (a+b)².",
    "In Paris¹²³ it is old.",
    "Радиоуглерод ¹⁴C и площадь 5 км².",
]


def citations_in(text: str) -> list[int]:
    """Return the numbers that a text cites, in order, each once."""
    return list(dict.fromkeys(n for mark in citation_marks(text) for n in mark.numbers))


@pytest.mark.parametrize(("text", "numbers"), READ)
def test_marks_are_read(text: str, numbers: list[int]) -> None:
    """Lists and ranges count each number, however the mark is written."""
    assert citations_in(text) == numbers


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_only_looks_like_a_mark_is_left_alone(text: str) -> None:
    """Code, indexes, intervals, powers, years and long ranges cite nothing."""
    assert citations_in(text) == []


def test_marks_can_be_taken_out() -> None:
    """The sentence without its marks reads as it was written."""
    (sentence,) = citing_sentences("It is tall [1], they say.[2]")

    assert sentence.claim == "It is tall, they say."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is so.[1] Two is not. [2] Three.", ["One is so.[1]", "Two is not. [2]", "Three."]),
        ("Это так [1]. А это нет.[2, 3] Всё.", ["Это так [1].", "А это нет.[2, 3]", "Всё."]),
        ("它很高。【1】它很老。", ["它很高。【1】", "它很老。"]),
        ("See [1](x). Then [2](y).", ["See [1](x).", "Then [2](y)."]),
    ],
)
def test_a_mark_behind_the_stop_belongs_to_its_sentence(text: str, sentences: list[str]) -> None:
    """The next sentence does not begin with the citation of the one before."""
    assert [span.text for span in split_sentences(text)] == sentences


ANSWERS: dict[str, tuple[str, list[tuple[str, tuple[int, ...]]]]] = {
    "marks behind stops": (
        "It is in Paris.[1] It is old. [2] It is tall.",
        [("It is in Paris.", (1,)), ("It is old.", (2,)), ("It is tall.", ())],
    ),
    "marks on lines of their own": (
        "It is in Paris.\n[1]\nIt is tall.\n\n[2], [3]\n",
        [("It is in Paris.", (1,)), ("It is tall.", (2, 3))],
    ),
    "leading marks": (
        "[1] It is in Paris. [2] It is tall.",
        [("It is in Paris.", (1,)), ("It is tall.", (2,))],
    ),
    "leading marks without spaces": (
        "[1]It is in Paris. [2]It is tall.",
        [("It is in Paris.", (1,)), ("It is tall.", (2,))],
    ),
    "a heading without a list": (
        "It is tall [1].\nSources:",
        [("It is tall.", (1,)), ("Sources:", ())],
    ),
    "leading marks on lines": (
        "- [1] Он в Париже.\n- [2] Он высок.",
        [("Он в Париже.", (1,)), ("Он высок.", (2,))],
    ),
    "a list of references": (
        "It is tall [1]. It is old [2].\n\n## References\n[1] Title one. Other.\n[2] https://x.y",
        [("It is tall.", (1,)), ("It is old.", (2,))],
    ),
    "a list under a Russian heading": (
        "Он высок.¹ Он стар.²\n\n**Источники:**\n1. Книга\n2. Сайт",
        [("Он высок.", (1,)), ("Он стар.", (2,))],
    ),
    "a list without a heading": (
        "It is tall [1]. It is old [2].\n\n[1] Tower history.\n[2] Paris guide.",
        [("It is tall.", (1,)), ("It is old.", (2,))],
    ),
    "sources in one line": (
        "It is tall [1].\nSources: [1] Guide, [2] Map",
        [("It is tall.", (1,))],
    ),
    "footnotes": ("It is tall[^1].\n\n[^1]: Guide.", [("It is tall.", (1,))]),
    "steps are no references": (
        "Steps:\n1. Open it [1]\n2. Close it [2]",
        [("Steps:", ()), ("Open it", (1,)), ("Close it", (2,))],
    ),
    "links": (
        "It is tall [1](https://example.com/a). It is old.",
        [("It is tall.", (1,)), ("It is old.", ())],
    ),
    "raised digits behind the stop": (
        "It is in Paris.¹ It is tall.²",
        [("It is in Paris.", (1,)), ("It is tall.", (2,))],
    ),
    "a leading mark on one line": (
        "It is in Paris.\n- [2] It is tall.\nIt is red.",
        [("It is in Paris.", ()), ("It is tall.", (2,)), ("It is red.", ())],
    ),
    "a mark on a line of its own between others": (
        "So.\n\nIt is in Paris.\n[1]\nIt is tall.",
        [("So.", ()), ("It is in Paris.", (1,)), ("It is tall.", ())],
    ),
    "marks before, between and behind": (
        "[1] It is in Paris. [2] It is tall. [3]",
        [("It is in Paris.", (1, 2)), ("It is tall.", (3,))],
    ),
    "the same mark twice": ("It is tall [1] and old [2, 1].", [("It is tall and old.", (1, 2))]),
    "what cites nothing": (
        "Pages [9-3] are lost. So is Paris²⁻¹.",
        [("Pages [9-3] are lost.", ()), ("So is Paris²⁻¹.", ())],
    ),
    "a list whose numbers are not cited": (
        "It is tall [3].\n[1] Tower history.\n[2] Paris guide.",
        [("It is tall.", (3,)), ("Tower history.", (1,)), ("Paris guide.", (2,))],
    ),
    "a list of which one number is cited": (
        "It is tall [2].\n\n- [1] Tower history.\n\n- [2] Paris guide.",
        [("It is tall.", (2,))],
    ),
    "definitions that are not cited": (
        "It is tall.\n[^1]: Guide.\n[^2]: Map.",
        [("It is tall.", ())],
    ),
    "only a list": ("Sources:\n1. Guide\n2. Map", []),
    "numbered lines without a heading": (
        "It is tall [1].\n1. Guide\n2. Map",
        [("It is tall.", (1,)), ("Guide", ()), ("Map", ())],
    ),
    "a heading in the middle": (
        "Sources:\n1. Guide\nIt is tall [1].",
        [("Sources:", ()), ("Guide", ()), ("It is tall.", (1,))],
    ),
    "nothing": ("", []),
    "only marks": ("[1] [2]", []),
}


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("It is in Paris.[1] It is old. [2] So.", ["It is in Paris.[1]", "It is old. [2]", "So."]),
        ("[1] It is [2] old. So [3].", ["[1] It is [2] old.", "So [3]."]),
        ("- [1] Он в Париже.\n- [2] Он высок.", ["[1] Он в Париже.", "[2] Он высок."]),
    ],
)
def test_a_sentence_is_shown_with_its_marks(answer: str, texts: list[str]) -> None:
    """From the first to the last of them, as written."""
    assert [one.text for one in citing_sentences(answer)] == texts


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("It is tall [1].", "It is tall."),
        ("It is tall.[1][2]", "It is tall."),
        ("It is tall [1], [2].", "It is tall,."),
        ("It is [1] tall.", "It is [1] tall."),
        ("It is [1] tall [2].", "It is [1] tall."),
        ("“It is tall” [1].", "“It is tall”."),
        ("Two houses stand there; see [1].", "Two houses stand there; see [1]."),
        ("See the old houses of it [1].", "See the old houses of it."),
        ("Башня стара [1]; см. [2].", "Башня стара [1]; см. [2]."),
    ],
)
def test_only_marks_at_the_end_are_left_out(text: str, plain: str) -> None:
    """Not those in the middle, nor those that a word points at."""
    assert without_final_citations(text) == plain


@pytest.mark.parametrize("name", ANSWERS)
def test_each_mark_belongs_to_the_sentence_that_it_is_about(name: str) -> None:
    """Wherever it stands; a list of sources is neither a sentence nor a citation."""
    answer, expected = ANSWERS[name]

    assert [(one.claim, one.numbers) for one in citing_sentences(answer)] == expected


def test_a_long_answer_is_read_in_one_pass() -> None:
    """Five thousand list items with marks, and unclosed brackets, take no time worth noticing."""
    assert len(citing_sentences("- It is so [1]\n" * 5_000)) == 5_000
    assert citations_in("[1, " * 20_000) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("U²³⁵ decays fast.", []),
        ("Add ¹⁄₂ of it.", []),
        ("A dose of vitamin B¹² helps.", []),
        ("Cats purr¹².", [12]),
        ("Cats purr.¹²", [12]),
        ("Кошки мурлычут³.", [3]),
        ("He said “no”².", [2]),
        ("Option [1] costs 5 EUR.", []),
        ("See section [3].", []),
        ("Шаг [2]: налейте воду.", []),
        ("As shown in [3], cats purr.", [3]),
        ("Cats purr [3].", [3]),
    ],
)
def test_isotopes_fractions_and_labels_cite_nothing(text: str, numbers: list[int]) -> None:
    """A raised number is a mark behind a word or a stop only, with all its digits."""
    assert citations_in(text) == numbers
