"""The plain form of a statement: typography goes, everything that can be read stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.text import plain_form
from rag_evals.text.language import as_typed, typed_offsets


@pytest.mark.parametrize(
    "written",
    [
        "He called it “art”, a 12% rise — no more.",
        "He called it «art», a 12% rise — no more",
        "  He called\u00a0it „art“,\n a 12\u202f% rise – no more. ",
        "He called it **“art”**, a 12 % rise - no more [1].",
        "*He called it “art”,* a 12% rise — no more.[2, 3]",
        "He called it \ufeff“art”, a 12% rise — no\u00ad more.",
    ],
)
def test_typography_does_not_count(written: str) -> None:
    """Unicode, quotes, spaces, dashes between words, citation marks, emphasis, the final stop."""
    assert plain_form(written) == 'He called it "art", a 12% rise — no more'


def test_composed_and_decomposed_letters_are_one() -> None:
    """A Mac writes "й" as two code points."""
    assert plain_form("Он мо\u0438\u0306.") == plain_form("Он мой.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is -5 °C.", "It is 5 °C."),
        ("It is 5 - 6.", "It is 5-6."),
        ("It is 5 m².", "It is 5 m2."),
        ("Pages 5–6 are lost.", "Pages 5-6 are lost."),
        ("It is 2*3*4.", "It is 234."),
        ("x = 2 * 3 * 4", "x = 2  3  4"),
        ("A is the side.", "a is the side."),
        ("He won?", "He won."),
        ("He left...", "He left."),
        ("Он «победил».", "Он победил."),
        ("The panda eats, shoots and leaves.", "The panda eats shoots and leaves."),
        ("1,500 km", "1500 km"),
        ("1.500 €", "1.5 €"),
        ("5 mg", "5 Mg"),
        ("Цена — 5 ₽", "Цена — 5 рублей"),
        ("They call __init__ first.", "They call init first."),
        ("*args and b", "args and b"),
        ("Die Straße", "Die Strasse"),
        ("Все ушли.", "Всё ушли."),
        ("Мы узнаём его.", "Мы узнаем его."),
        ("U²³⁵ decays fast.", "U²³⁸ decays fast."),
        ("Add ¹⁄₂ of it.", "Add ³⁄₄ of it."),
        ("Option [1] costs 5 EUR.", "Option [2] costs 5 EUR."),
        ("See section [3].", "See section [4]."),
        ("See [3].", "See [4]."),
        ("Cats [1] purr, dogs bark.", "Cats [2] purr, dogs bark."),
        ("Смотрите раздел [3].", "Смотрите раздел [4]."),
    ],
)
def test_what_can_be_read_counts(one: str, other: str) -> None:
    """Signs, case, commas, digits and letters may each change what is said."""
    assert plain_form(one) != plain_form(other)


@given(st.text(max_size=80))
def test_a_plain_form_stands_on_one_line(text: str) -> None:
    """Any text has one, without line breaks or spaces around it."""
    plain = plain_form(text)

    assert "\n" not in plain
    assert plain == plain.strip()


LETTERS = st.text(
    st.sampled_from("aé e\u0301\u0323\u00ad１ｔ가\u1112\u1161\u11ab\u200bй\u0438\u0306ﬁ②\u0958\n")
)


@given(LETTERS)
def test_each_typed_character_has_its_place(text: str) -> None:
    """One offset for each, in order, and the length; only what is written otherwise differs."""
    typed, offsets = as_typed(text), typed_offsets(text)

    assert len(offsets) == len(typed) + 1
    assert offsets == sorted(offsets)
    assert as_typed(typed) == typed
    for number, place in enumerate(offsets):
        if place not in offsets[:number]:
            assert as_typed(text[place:]) == typed[number:]


def test_only_the_form_of_letters_changes() -> None:
    """Full-width letters, digits and signs are narrow; ligatures and signs in circles stay."""
    assert as_typed("Ｐａｒｉｓ １２％ ﬁ ② co\u00adop Zu\u0308rich") == "Paris 12% ﬁ ② coop Zürich"
