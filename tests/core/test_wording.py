"""Phrases: numbers, plurals and names in English and Russian."""

import pytest

from rag_evals.core.wording import Phrase, Phrases, notebook_phrases, phrases
from rag_evals.errors import ConfigurationError

SPACE = "\u00a0"


@pytest.mark.parametrize(
    ("share", "english", "russian"),
    [
        (0.0, "0 %", "0 %"),
        (0.5, "50 %", "50 %"),
        (0.29, "29 %", "29 %"),
        (0.123, "12.3 %", "12,3 %"),
        (0.1234, "12.3 %", "12,3 %"),
        (0.12004, "12 %", "12 %"),
        (0.9996, "100 %", "100 %"),
        (0.9994, "99.9 %", "99,9 %"),
        (1.0, "100 %", "100 %"),
    ],
)
def test_a_share_is_a_percentage(share: float, english: str, russian: str) -> None:
    """With one decimal place, unless that is nought."""
    assert [phrases(code).percent(share) for code in ("en", "ru")] == [english, russian]


def test_numbers_are_written_as_each_language_does() -> None:
    """Two decimal places unless told otherwise; thousands apart; intervals with semicolons."""
    en, ru = phrases("en"), phrases("ru")

    assert [en.number(0.1256), en.number(2, 0), en.number(0.5, 3)] == ["0.13", "2", "0.500"]
    assert [ru.number(0.1256), ru.number(2, 0), ru.number(-0.5, 1)] == ["0,13", "2", "-0,5"]
    assert [en.whole(999), en.whole(1000), en.whole(1234567)] == ["999", "1,000", "1,234,567"]
    assert [ru.whole(999), ru.whole(1234567)] == ["999", f"1{SPACE}234{SPACE}567"]
    written = "0.68 [0.62, 0.72], run a.b"
    assert en.written(written) == written
    assert ru.written(written) == "0,68 [0,62; 0,72]; run a.b"


@pytest.mark.parametrize(
    ("counts", "form"),
    [
        ((1, 21, 31, 101, 121, 1001), "one"),
        ((2, 3, 4, 22, 23, 24, 102, 132), "few"),
        ((0, 5, 9, 10, 11, 12, 13, 14, 15, 19, 20, 25, 100, 111, 112, 113, 114, 211, 212), "many"),
    ],
)
def test_russian_has_three_plurals(counts: tuple[int, ...], form: str) -> None:
    """English has two, and nought is many."""
    table = {"a": {"b": {"one": "one", "few": "few", "many": "many"}}}
    russian, english = Phrases("ru", table), Phrases("en", table)

    assert [russian("a.b", count=count) for count in counts] == [form] * len(counts)
    found = [english("a.b", count=count) for count in counts]
    assert found == ["one" if count == 1 else "many" for count in counts]


@pytest.mark.parametrize(
    ("reason", "english", "russian"),
    [
        ("empty_context in both", "empty_context in both", "пустой контекст в обоих"),
        ("empty_answer in the baseline", "empty_answer in the baseline", "пустой ответ в базовом"),
        ("only in the candidate", "only in the candidate", "только в кандидате"),
        ("no_statements", "no_statements", "нет утверждений"),
        ("own reason", "own reason", "own reason"),
        ("no_statements in a place", "no_statements", "нет утверждений"),
    ],
)
def test_a_reason_says_where_it_holds(reason: str, english: str, russian: str) -> None:
    """One that is not known stays as it is."""
    assert [phrases(code).reason(reason) for code in ("en", "ru")] == [english, russian]


@pytest.mark.parametrize(
    ("label", "russian"),
    [
        ("4 of 5", "4 из 5"),
        ("supported", "подтверждено"),
        ("turn 2", "реплика 2"),
        ("no_statements", "нет утверждений"),
        ("4 of 5 doors", "4 of 5 doors"),
        ("own label", "own label"),
    ],
)
def test_a_label_is_translated_whole_or_not_at_all(label: str, russian: str) -> None:
    """Steps of a rating, turns and reasons too; English ones stay."""
    assert (phrases("en").label(label), phrases("ru").label(label)) == (label, russian)


@pytest.mark.parametrize(
    ("text", "russian"),
    [
        ("chunk 12", "фрагмент 12"),
        ("turn 3", "реплика 3"),
        ("completeness", "полнота"),
        ("chunk 12 of it", "chunk 12 of it"),
        ("supported", "supported"),
    ],
)
def test_only_texts_of_its_own_are_translated(text: str, russian: str) -> None:
    """What the data says stays as it is."""
    assert (phrases("en").text(text), phrases("ru").text(text)) == (text, russian)


def test_a_tally_says_who_decided() -> None:
    """Whatever that verifier is called."""
    assert phrases("ru").tally("calls saved") == "вызовов сэкономлено"
    assert phrases("en").tally("from the cache") == "statements from the cache"
    assert phrases("en").tally("own tally") == "own tally"
    assert phrases("en").tally("decided by contradicted") == phrases("en")(
        "summary.decided_by", name="contradicted"
    )


def test_a_phrase_is_said_with_its_values_in_one_language() -> None:
    """Phrases in it too; a grader has its name in that language, and other values stay."""
    inner = Phrase.of("items.chunk", id="3")
    phrase = Phrase.of("compare.in_both", reason=inner)

    assert str(phrase) == "chunk 3 in both"
    assert phrase.said(phrases("ru")) == "фрагмент 3 в обоих"
    told = Phrase.of("compare.head", grader="faithfulness", verdict="faithfulness")
    ru = phrases("ru")
    named = ru.named("graders", "faithfulness")
    assert named != "faithfulness"
    assert told.said_values(ru) == {"grader": named, "verdict": "faithfulness"}


def test_a_notebook_speaks_the_language_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """English where none is, or one that has no phrases; a command refuses that one."""
    assert notebook_phrases().language == "en"
    for named, language in (("ru", "ru"), ("en", "en"), ("de", "en"), ("", "en")):
        monkeypatch.setenv("RAG_EVALS_LANGUAGE", named)
        assert notebook_phrases().language == language
    with pytest.raises(ConfigurationError, match="'de' is not supported; expected en or ru"):
        phrases("de")
