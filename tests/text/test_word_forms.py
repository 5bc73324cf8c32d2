"""The keys of words, numbers, months and units, however they are written."""

import pytest

from rag_evals.text import DENIES, DENIES_SOFTLY
from rag_evals.text.word_forms import (
    INSISTS,
    QUANTIFIES,
    WEAKENS,
    is_name_at,
    read_words,
    stem,
    synonyms,
    unit_at,
    words,
)

# A text, and the keys of its words.
KEYS = [
    # Scales, ordinals and short units change or follow the number before them.
    ("It is 5 m long", "it is 5 met long"),
    ("$5 m were paid", "dollar 5000000 wer pay"),
    ("pay 5 m dollars", "pay 5000000 dollar"),
    ("5 m of rope cost 3 $", "5 met of rop cost 3 dollar"),
    ("from 5M to 5B or 5b", "from 5000000 to 5000000000 or 5 b"),
    ("m 5 and 7: h", "m 5 and 7 hour"),
    ("$5 g, then 5 g, 7 h and 5 m2", "dollar 5 g then 5 gram 7 hour and 5 met 2"),
    ("5 м/с и 3 ч езды", "5 met с и 3 час езд"),
    ("the 21st street, on 5th of May", "the 21 street on 5 of month5"),
    ("5-го числа и 3-й дом", "5 чис и 3 дом"),
    ("3.25 thousand, 2,5 million, 1.005 bn", "3250 2500000 1005000000"),
    ("12345678901 million", "12345678901000000"),
    ("123456789012 million", "123456789012 1000000"),
    # Digits.
    ("1 000 people, 12 345 seats", "1000 person 12345 seat"),
    ("100 000 людей, 1\u00a0234\u202f567 мест", "100000 человек 1234567 мест"),
    ("100 000", "100000"),
    ("0 and 0.0 and 007 and 1.50 and 10", "0 and 0 and 7 and 1.5 and 10"),
    ("1,5 or 1,50 or 1,500 or 1,500.50 or 1,500,000", "1.5 or 1.5 or 1500 or 1500.5 or 1500000"),
    ("1,2,3 or 1,23,45 or 100,200,30", "1 2 3 or 1 23 45 or 10020030"),
    ("1.2.3 or 1.2.30", "1.2.3 or 1.2.30"),
    # Dates and months.
    ("2019-03-05 and 05.12.2019", "5 month3 2019 and 5 month12 2019"),
    ("2019-01-31, 31.01.2019, 2019-13-05, 5.0.2019",
     "31 month1 2019 31 month1 2019 2019 13 5 5.0.2019"),
    ("may 2014 or 5 march or every may", "month5 2014 or 5 month3 or everi month5"),
    ("every may", "everi month5"),
    ("Sunny May came", "sunni month5 com"),
    ("he may go in may", "he may go in month5"),
    ("in town it may go", "in town it may go"),
    ("in it may help", "in it may help"),
    ("May I march to the hill in May", "may i march to the hill in month5"),
    ("mar the 5 in march", "mar the 5 in month3"),
    ("june or Июнь or в мае", "month6 or month6 or в month5"),
    # Numbers in words.
    ("once, once a day, at once", "onc 1 a day at onc"),
    ("once", "onc"),
    ("once painted a door dries", "onc paint a door dry"),
    ("a 5 second delay, the second day", "a 5 second delay the 2 day"),
    ("second of all 5", "2 of all 5"),
    ("10 k, two hundreds or hundreds", "10000 200 or hundr"),
    ("one", "one"),
    ("buy one car", "buy 1 car"),
    ("one fell like this", "1 fall lik this"),
    ("one fell, one of us, one must go", "1 fall one of us one must go"),
    ("the one is, this one is, no one is", "the one is this one is no one is"),
    ("один дом, один из них, одна", "1 дом один из них одн"),
    ("twenty-one, twenty nine, twenty first, twenty ten", "21 29 21 20 10"),
    ("five nine, ten five, twenty five ten", "5 9 15 25 10"),
    ("zero five, fifteen ten, thirty forty", "5 15 10 30 40"),
    ("two hundred and five, two hundred five, two hundred or five", "205 205 200 or 5"),
    ("a hundred and twenty three thousand four hundred", "a 123400"),
    ("two million three hundred thousand", "2300000"),
    ("one hundred and five hundred people", "100 and 500 person"),
    ("one hundred and cats, one hundred and", "100 and cat 100 and"),
    ("ninety and five, one hundred one and five", "90 and 5 101 and 5"),
    ("two and a half million", "2 and a half 1000000"),
    ("first five or third hundred", "1 5 or 3 100"),
    ("сто двадцать пять тысяч и двадцать первый", "125000 и 21"),
    # Words that keep an ending, and scripts without spaces.
    ("the US and us, U.S. law", "the usa and us usa law"),
    ("city army early, tied lied", "citi armi earli tied lied"),
    ("string spring, agreed", "string spring agreed"),
    ("край, айва и яйцо", "край айв и яйц"),
    ("東京は雨 123", "東 京 は 雨 123"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "keys"), KEYS)
def test_words_are_read_with_their_keys(text: str, keys: str) -> None:
    """Every word has one, in order; a number or month denies nothing, and a month is a name."""
    found = read_words(text)

    assert " ".join(word.key for word in found) == keys
    for word in found:
        is_month = word.key.startswith("month")
        if is_month or word.kind == "number":
            assert (word.is_capital, word.marks & DENIES) == (is_month, 0)


def test_a_number_in_words_is_shown_whole() -> None:
    """With its scale and "and", but without the words around it."""
    found = read_words("About two hundred and five of 3.2 million people came on the 21st.")

    assert [(word.surface, word.key) for word in found if word.kind == "number"] == [
        ("two hundred and five", "205"), ("3.2 million", "3200000"), ("21", "21"),
    ]  # fmt: skip


# The forms of each word; no two lines share a key.
FORMS = [
    "city City cities city's cities' city’s", "lie lies", "tie ties tie's", "class classes class's",
    "box boxes", "church churches", "dish dishes", "bus buses", "virus", "basis",
    "plan plans planned planning", "fall falls falling fell", "miss missed missing",
    "buzz buzzes buzzed", "sing sings singing sung", "ring rings", "thing things", "red", "bed",
    "carry carried carries carrying", "tried try tries trying", "key keys keyed", "quick quickly",
    "fly", "only", "happy happiness", "move moved moving movement", "pay paid paying", "payment",
    "govern governing government", "action actions", "nation", "invent invention inventive",
    "mass massive", "use uses", "used", "age ages", "bake baked baking", "hop hopped hope hoped",
    "café cafe cafés", "Zürich Zurich", "need needed", "agree agrees", "agreed", "gas gases", "ice",
    "us", "fair fairly", "early", "ear", "on", "ax axes", "end ended ending", "boss bosses boss'",
    "дом дома домов домами", "книга книги книгами", "ёлка елка елки", "красный красного красные",
    "лес леса лесов", "строит строится строились", "строитель", "он", "вся", "東", "京",
    "лось лося лоси", "Олеся Олеси", "моет моется", "мыло мыла мылом", "автор автора",
    "яблоко яблоки",
]  # fmt: skip


def test_the_forms_of_a_word_share_a_key() -> None:
    """Plurals, owners, verb forms, derived words and accents; other words have other keys."""
    keys = [{stem(form) for form in line.split()} for line in FORMS]

    assert [line for line, found in zip(FORMS, keys, strict=True) if len(found) > 1] == []
    assert len({key for found in keys for key in found}) == len(FORMS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Anna met Bob Li in Bern.", ["Bob", "Li", "Bern"]),
        ("Anna Li met him.", ["Anna", "Li"]),
        ("NATO met. IBM too.", ["NATO", "IBM"]),
        ("UN law", ["UN"]),
        ("McDonald met him.", ["McDonald"]),
        ("A Bern house, May 5, 3 Trees", ["Bern", "May", "Trees"]),
        ("K is", []),
        ("Ox ate", []),
        ("Anna Li", ["Anna", "Li"]),
        ("Tea The", []),
        ("I The he", []),
        ("Not It, The", []),
        ("Анна встретила Ивана и ООН", ["Ивана", "ООН"]),
    ],
)
def test_words_with_a_capital_are_names_except_the_first(text: str, names: list[str]) -> None:
    """The first is one before another name, or with a further capital; function words are none."""
    found = read_words(text)

    assert [one.surface for n, one in enumerate(found) if is_name_at(found, n)] == names


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("5 km, 6% and 7", ["km", "%", ""]),
        ("$5, then €6 million", ["$", "€"]),
        ("$5 million dollars", ["$"]),
        ("5 people, 6 kg", ["", "kg"]),
        ("km 5", [""]),
        ("5 people pay $", [""]),
        ("5 m or 3 ч", ["m", "h"]),
        ("5 часов, 6 ₽", ["h", "₽"]),
    ],
)
def test_a_number_has_the_unit_beside_it(text: str, units: list[str]) -> None:
    """The word behind it, or the sign before it."""
    found = read_words(text)

    assert [unit_at(found, n) for n, one in enumerate(found) if one.kind == "number"] == units


def test_what_a_word_does_to_a_statement() -> None:
    """Its kind, whether it has a capital, and its marks; most have none."""
    found = [(one.kind, one.is_capital, one.marks) for one in words("The US may not pay $5, All!")]

    assert found == [
        ("stop", True, 0), ("word", True, 0), ("stop", False, found[2][2]),
        ("stop", False, DENIES), ("word", False, 0), ("unit", False, 0),
        ("number", False, found[6][2]), ("word", True, QUANTIFIES),
    ]  # fmt: skip
    assert found[2][2] & WEAKENS
    assert [one.marks for one in words("indeed Конечно unless")] == [
        INSISTS, INSISTS, DENIES_SOFTLY | WEAKENS,
    ]  # fmt: skip


def test_synonyms_hold_both_ways() -> None:
    """A word is no synonym of itself, and is one of each of its own."""
    table = synonyms()

    assert {"compani"} <= table["firm"]
    assert all(key not in others for key, others in table.items())
    assert all(key in table[other] for key, others in table.items() for other in others)
