"""A run shown in Russian: every phrase has both languages, and no English word is left over."""

import json
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals.catalog import GRADERS
from rag_evals.core import LANGUAGES, Phrases, phrases
from tests.conftest import Command
from tests.report.browser import Browser

PACKAGE = Path(__file__).parents[2] / "rag_evals"
TABLES = {
    language: json.loads((PACKAGE / f"_data/phrases/{language}.json").read_text(encoding="utf-8"))
    for language in LANGUAGES
}

ROWS: list[dict[str, Any]] = [
    {
        "id": "башня",
        "Вопрос": "Где стоит Эйфелева башня и когда её достроили?",
        "Ответ": "Эйфелева башня стоит в Париже. Её достроили в 1923 году.",
        "Контекст": ["Эйфелева башня стоит в Париже.", "Её достроили в 1889 году."],
        "тема": "башни",
    },
    {
        "id": "столица",
        "Вопрос": "Какой город столица Австралии?",
        "Ответ": "Столица Австралии — Канберра.",
        "Контекст": ["Столица Австралии — Канберра."],
        "тема": "города",
    },
    {"id": "пусто", "Вопрос": "Кто?", "Ответ": "Никто.", "Контекст": [], "тема": "города"},
]

NAMES = {
    *("answers", "jsonl", "csv", "runs", "report", "html", "scores", "run"),  # files and folders
    *("embedded", "HHEM"),  # judges
    *("JavaScript", "labels", "Enter", "Esc"),  # what the page and the keyboard call things
    *("temperature", "rag_evals", "russian", "id"),  # settings, presets, columns of the data
}
"""Latin words that a Russian reader sees: they are names, the same in every language."""


@pytest.fixture
def data() -> Path:
    path = Path("answers.jsonl")
    lines = (json.dumps(row, ensure_ascii=False) for row in ROWS)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def english(text: str) -> set[str]:
    """Return the Latin words of a text that are no names; a letter is a key, hex a hash.

    Commands and options that a reader may copy are no words either.
    """
    text = re.sub(r"\brag-evals .*|--at lower|--[a-z][a-z-]+", " ", text)
    text = re.sub(r"\b[0-9a-f]{8,64}\b|\d{4}-\d\d-\d\dT[\d:+]+", " ", text)
    return set(re.findall(r"[A-Za-z_]{2,}", text)) - NAMES


def leaves(table: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{section}.{name}": phrase for section in table for name, phrase in table[section].items()
    }


def forms(phrase: Any) -> list[str]:
    return [phrase] if isinstance(phrase, str) else list(phrase.values())


def test_every_phrase_has_both_languages() -> None:
    """The same sections and names; a Russian plural has three forms, an English one two."""
    english_phrases, russian_phrases = leaves(TABLES["en"]), leaves(TABLES["ru"])

    assert english_phrases.keys() == russian_phrases.keys()
    for plural, language in ((("one", "many"), "en"), (("one", "few", "many"), "ru")):
        plurals = [one for one in leaves(TABLES[language]).values() if not isinstance(one, str)]
        assert {tuple(one) for one in plurals} == {plural}


@pytest.mark.parametrize("key", leaves(TABLES["en"]))
def test_both_languages_say_the_same_things(key: str) -> None:
    """A Russian phrase has words, and no braces but the English one's and another form of them."""
    said = {name for form in forms(leaves(TABLES["en"])[key]) for name in fields(form)}
    other = {"percent", "low_percent", "high_percent", "majority_percent"} | said
    for form in forms(leaves(TABLES["ru"])[key]):
        assert fields(form) <= other
        assert not english(re.sub(r"\{\w+\}", "", form)) - {"UTF", "encoding"}


def fields(phrase: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(phrase) if name}


def test_all_phrases_that_are_said_exist() -> None:
    """What code, page and script ask for by name is in the tables."""
    for path in PACKAGE.rglob("*.py"):
        for key in re.findall(r"""\bsay\("([a-z_]+\.[a-z_0-9]+)\"""", path.read_text("utf-8")):
            assert key in leaves(TABLES["en"]), (path, key)
    script = (PACKAGE / "report/page/page.js").read_text("utf-8")
    for name in re.findall(r'\bsay\("([a-z_]+)"', script):
        assert name in TABLES["en"]["script"], name


def test_every_grader_has_a_russian_name() -> None:
    """The names of shipped graders are said, those of a user's own stay."""
    assert set(TABLES["ru"]["graders"]) == set(GRADERS)
    assert phrases("ru").named("graders", "тон") == "тон"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 строк"),
        (1, "1 строка"),
        (2, "2 строки"),
        (4, "4 строки"),
        (5, "5 строк"),
        (11, "11 строк"),
        (12, "12 строк"),
        (21, "21 строка"),
        (22, "22 строки"),
        (111, "111 строк"),
        (114, "114 строк"),
        (122, "122 строки"),
    ],
)
def test_russian_plurals(count: int, said: str) -> None:
    """One, few and many, with the teens of every hundred apart."""
    assert phrases("ru")("script.rows", count=count) == said


@pytest.mark.parametrize(
    ("share", "said"), [(1.0, "100 %"), (0.5, "50 %"), (2 / 3, "66,7 %"), (0.0, "0 %")]
)
def test_percent_in_russian(share: float, said: str) -> None:
    """A comma, and no digits that say nothing."""
    assert phrases("ru").percent(share) == said


def test_the_terminal_is_russian(data: Path, command: Command) -> None:
    """Columns, rows, numbers, groups and the places of files."""
    options = ("--language", "ru", "--out", "run", "--by", "тема", "--report")
    first = command("grade", str(data), *options)
    again = command("grade", str(data), *options)

    assert first.code == 0, first.err
    assert english(first.out + first.err + again.out + again.err) == set()
    for words in ("50 %", "не подтверждено", "пустой контекст", "1 строку нельзя оценить"):
        assert words in first.out
    assert "Высокая достоверность – 1" in first.out
    assert "вопрос=Вопрос" in first.err
    assert "делать нечего" in again.err


@pytest.mark.parametrize("name", ["md", "csv"])
def test_reports_are_russian(data: Path, command: Command, name: str) -> None:
    """Markdown and CSV, headers among them."""
    command("grade", str(data), "--out", "run", "--quiet")
    told = command("report", "run", "--format", name, "--language", "ru")

    assert english(told.out) == set()
    assert "Высокая достоверность" in told.out


@pytest.mark.parametrize("shape", ["wide", "long"])
def test_the_export_is_russian(data: Path, command: Command, shape: str) -> None:
    """Headers, bands, outcomes and reasons."""
    command("grade", str(data), "--out", "run", "--quiet")
    said = command("export", "run", "--to", "scores.csv", "--shape", shape, "--language", "ru")
    table = Path("scores.csv").read_text(encoding="utf-8-sig")

    assert english(said.out + table) - {"True", "False"} == set()
    assert "верность контексту" in table


def test_the_page_is_russian(data: Path, command: Command, browser: Browser) -> None:
    """Every text, hint and label of the page, each row opened; each row has its percent."""
    command("grade", str(data), "--out", "run", "--quiet")
    command("report", "run", "--language", "ru", "--by", "тема")
    browser.open(Path("run/report.html").absolute())
    seen = list(shown_on(browser))

    assert set().union(*map(english, seen)) == set()
    assert "3 строки" in seen[0]
    for words in ("50 %", "90–100 %: все утверждения подтверждены", "Средняя достоверность: 1"):
        assert words in seen[0]
    assert browser.run("return document.documentElement.lang") == "ru"


def shown_on(browser: Browser) -> Iterator[str]:
    """Yield all that people read on the page, first as it opens, then with each row open."""
    everything = """
        document.querySelectorAll("details").forEach((one) => { one.open = true; });
        const parts = [document.title, document.body.innerText];
        for (const one of document.querySelectorAll("body *")) {
          if (one.tagName === "SCRIPT") continue;
          for (const name of ["title", "aria-label", "placeholder"])
            if (one.getAttribute(name)) parts.push(one.getAttribute(name));
          if (["OPTION", "DT", "DD", "H2", "NOSCRIPT"].includes(one.tagName))
            parts.push(one.textContent.replace(/<[^>]*>/g, ""));
          if (one.tagName === "title") parts.push(one.textContent);
        }
        return parts.join("\\n");
    """
    yield browser.run(everything)
    for place in range(len(ROWS)):
        browser.run("document.querySelectorAll('#rows .row')[arguments[0]].click()", place)
        browser.wait("return !document.getElementById('detail').hidden")
        yield browser.run(everything)


def test_the_environment_names_the_reader(
    data: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RAG_EVALS_LANGUAGE is the reader's, whatever the rows are; another one is refused."""
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "en")
    english_reader = command("grade", str(data), "--language", "ru", "--out", "run")
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "ru")
    russian_reader = command("report", "run", "--format", "md")
    asked = command("report", "run", "--format", "md", "--language", "en")
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "de")
    refused = command("report", "run", "--format", "md")

    assert "faithfulness: 0.75 over 2 scored of 3" in english_reader.out
    assert "верность контексту" in russian_reader.out
    assert "| faithfulness |" in asked.out
    assert (refused.code, "'de' cannot be shown" in refused.err) == (2, True)


def test_an_unknown_language_is_refused() -> None:
    """Python's `language=` takes those that have a table."""
    assert isinstance(phrases("ru"), Phrases)
    with pytest.raises(Exception, match="'de' cannot be shown; there are en, ru"):
        phrases("de")


@pytest.fixture
def two_runs(data: Path, command: Command) -> None:
    """Grade two versions of the data, of which the second has a better, a worse and a new row."""
    command("grade", str(data), "--out", "runs/a", "--quiet")
    better = [{**ROWS[0], "Ответ": "Эйфелева башня стоит в Париже."}, *ROWS[1:]]
    more = [*better, {**ROWS[1], "id": "новая"}]
    lines = (json.dumps(row, ensure_ascii=False) for row in more)
    Path("answers.csv.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command("grade", "answers.csv.jsonl", "--out", "runs/b", "--quiet")


def of_comparison(text: str) -> set[str]:
    """Return English words but those of warnings, which name settings as files have them."""
    lines = [line for line in text.splitlines() if not line.lower().startswith("замечание")]
    return english("\n".join(lines)) - {"fail", "if", "worse", "under", "min", "scored", "at"}


@pytest.mark.usefixtures("two_runs")
def test_a_comparison_is_russian(command: Command) -> None:
    """Terminal, groups and gates."""
    told = command(
        *("compare", "runs/a", "runs/b", "--language", "ru", "--by", "тема"),
        *("--gate", "0.02", "--min-scored", "0.9"),
    )

    assert of_comparison(told.out + told.err) - {"lower", "mean"} == set()
    for words in ("верность контексту: неотличимо", "только в кандидате, строк 1: новая"):
        assert words in told.out
    assert "пустой контекст в обоих" in told.out
    assert "порог не достигнут: min-scored 0,9" in told.err


@pytest.mark.usefixtures("two_runs")
def test_the_page_of_a_comparison_is_russian(command: Command, browser: Browser) -> None:
    """Numbers and labels of both sides."""
    told = command("compare", "runs/a", "runs/b", "--language", "ru", "-o", "compared.html")
    browser.open(Path("compared.html").absolute())
    seen = next(shown_on(browser))

    assert "отчёт" in told.out
    assert of_comparison(seen) == set()
    assert "базовый" in seen


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--fail-under", "0.9"], 1, "порог не достигнут: fail-under 0,9: среднее"),
        (["--fail-under", "0.9", "--at", "lower"], 1, "нижний конец 95-процентного интервала"),
        (["--min-scored", "0.9"], 1, "не хватает 23,3"),
        (["--gate", "0.9", "--min-scored", "0.5"], 4, "порог: не решён: среднее"),
        (["--gate", "0.9"], 1, "порог: не пройден: min-scored 0,9"),
        (["--dry-run"], 0, "строк: 3, вызовов: 0; модель не спрашивается"),
    ],
)
def test_gates_and_dry_runs_are_russian(
    data: Path, command: Command, options: list[str], code: int, said: str
) -> None:
    """Each rule that is missed, and what is not decided."""
    told = command("grade", str(data), "--language", "ru", *options)

    assert told.code == code
    assert said in told.out + told.err
    names = {"fail", "under", "min", "scored", "at", "lower", "gate"}
    assert english(told.out + told.err) - names == set()
