"""A run shown in Russian: every phrase has both languages, and no English word is left over."""

import json
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import compare, evaluate
from rag_evals.catalog import GRADERS
from rag_evals.core import Phrase, Phrases, phrases
from rag_evals.core.wording import LANGUAGES
from rag_evals.run import Run, StoredSample
from tests.analysis.runs import record, scores_run
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
    *("embedded", "HHEM", "UTC"),  # judges, clocks
    *("JavaScript", "labels", "Enter", "Esc"),  # what the page and the keyboard call things
    "to_pandas",  # a method
    *("temperature", "rag_evals", "id"),  # settings, columns of the data
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


def test_both_languages_say_the_same_things() -> None:
    """A Russian phrase has the braces of the English one, or percent for a share."""
    as_percent = {"percent", "low_percent", "high_percent", "majority_percent"}
    english_phrases = leaves(TABLES["en"])
    for key, phrase in leaves(TABLES["ru"]).items():
        said = {name for form in forms(english_phrases[key]) for name in fields(form)}
        assert all(fields(form) <= said | as_percent for form in forms(phrase)), key


def test_no_russian_phrase_has_an_english_word() -> None:
    """All words but names are Russian."""
    for key, phrase in leaves(TABLES["ru"]).items():
        words = english(re.sub(r"\{\w+(:[^}]+)?\}", "", " ".join(forms(phrase))))
        assert not words - {"UTF", "encoding"}, key


def fields(phrase: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(phrase) if name}


def test_all_phrases_that_are_said_exist() -> None:
    """What code, page and script ask for by name is in the tables."""
    for path in PACKAGE.rglob("*.py"):
        for key in re.findall(r"""\bsay\("([a-z_]+\.[a-z_0-9]+)\"""", path.read_text("utf-8")):
            assert key in leaves(TABLES["en"]), (path, key)
    script = (PACKAGE / "report/page.js").read_text("utf-8")
    for name in re.findall(r'\bsay\("([a-z_]+)"', script):
        assert name in TABLES["en"]["script"], name
    script = (PACKAGE / "report/label.js").read_text("utf-8")
    for name in re.findall(r'\bsay\("([a-z_]+)"', script):
        assert name in TABLES["en"]["deciding"] or name == "said_", name


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


def test_reports_are_russian(data: Path, command: Command) -> None:
    """Markdown, headers among it."""
    command("grade", str(data), "--out", "run", "--quiet")
    told = command("report", "run", "--format", "md", "--language", "ru")

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
    assert (refused.code, "'de' is not one of 'en', 'ru'" in refused.err) == (2, True)


def test_an_unknown_language_is_refused() -> None:
    """Python's `language=` takes those that have a table."""
    assert isinstance(phrases("ru"), Phrases)
    with pytest.raises(Exception, match="'de' is not supported; expected en or ru"):
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
    """Return English words but those of gates, which are options."""
    return english(text) - {"fail", "if", "worse", "under", "min", "scored", "at"}


@pytest.mark.usefixtures("two_runs")
def test_a_comparison_is_russian(command: Command) -> None:
    """Terminal, groups and gates."""
    told = command(
        *("compare", "runs/a", "runs/b", "--language", "ru", "--by", "тема"),
        *("--gate", "0.02", "--min-scored", "0.9"),
    )

    assert of_comparison(told.out + told.err) - {"lower", "mean"} == set()
    for words in ("верность контексту: неотличимо", "без пары: новая (только в кандидате)"):
        assert words in told.out
    assert "пустой контекст в обоих" in told.out
    assert "замечание: данные другие: строк с тем же id – 3, другой ответ – в 1" in told.out
    assert "порог не достигнут: min-scored 0,9" in told.err


def test_a_notebook_is_russian(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small HTML of runs, summaries and results; a wrong language is English."""
    run = evaluate(ROWS, client="embedded")
    result: Any = run.outcomes[0].result
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "ru")
    html = run._repr_html_() + run.summary()._repr_html_()
    of_result = result._repr_html_()
    monkeypatch.setenv("RAG_EVALS_LANGUAGE", "de")

    assert english(re.sub("<[^>]*>", " ", html)) == set()
    for words in ("верность контексту", "медиана", "самые низкие", "уровни"):
        assert words in html
    assert "не подтверждено" in of_result
    assert english(re.sub("<[^>]*>", " ", of_result)) == {type(result).__name__}
    assert "<th>median</th>" in run._repr_html_()


@pytest.mark.usefixtures("two_runs")
def test_the_summary_of_a_build_is_russian(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub's page of a comparison: headings, numbers, verdicts and notes."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    command("compare", "runs/a", "runs/b", "--language", "ru", "--quiet")
    summary = Path("summary.md").read_text(encoding="utf-8")

    assert of_comparison(summary.replace("rag-evals", "")) == set()
    for words in ("Сравнение", "| верность контексту |", "Наименьшая заметная", "данные другие"):
        assert words in summary


def test_the_line_of_the_junit_file_is_russian(data: Path, command: Command) -> None:
    """It says where the file for the build is."""
    words = ["grade", str(data), "--language", "ru", "--quiet", "--junit", "j.xml"]

    assert "файл с итогами строк: j.xml" in command(*words).out


def test_every_difference_of_two_runs_is_russian() -> None:
    """Judge, settings, prompt, model, rows, graders, and the model behind a name."""
    pairs = [
        (run_of(1, "а", "а 1"), run_of(2, "б", "а 1")),
        (run_of(1, "а", "а 1"), run_of(1, "а", "а 2")),
        (run_of(1, "а", "а 1"), run_of(1, "а", "б 1", "в")),
        (scores_run([1.0], identity={"data": 1}), scores_run([1.0], identity={"data": 2})),
        (scores_run({"r": 1.0, "0" * 16: 1.0}), scores_run({"r": 1.0, "1" * 16: 1.0})),
    ]
    found = [each for one, two in pairs for each in compare(one, two).differences]
    said = [each.said(phrases("ru")) for each in found]

    assert english("\n".join(said)) == set()
    assert {key for each in found for key in keys(each)} == {
        f"differs.{name}" for name in TABLES["en"]["differs"]
    }
    for words in (
        "предел числа строк другой: не задано и 2",
        "верность контексту: другой промпт, другая версия судьи или другой способ оценки",
        "за именем судьи 'м' отвечает другая модель: тогда 'а', теперь 'б', 'в'",
    ):
        assert words in said


def run_of(number: int, grader: str, *answered_by: str) -> Run:
    """Make a run whose settings and texts are those of a number."""
    setting = dict.fromkeys(("judge", "address", "columns", "settings", "data"), number)
    models = {"faithfulness": number}
    asked = {"limit": None if number == 1 else number, "graders": models, "models": models}
    return Run(
        [
            record(0, "r", 1.0, answered_by=list(answered_by)),
            record(0, "r", 1.0, grader=grader),
        ],
        manifest={"identity": {**setting, **asked, "judge": "м" if number == 1 else "к"}},
        samples={"r": StoredSample("r", f"{number}", f"{number}", (f"{number}",))},
    )


def keys(phrase: Phrase) -> set[str]:
    """Return the key of a phrase, and of those in it."""
    inner = (value for _, value in phrase.values if isinstance(value, Phrase))
    return {phrase.key}.union(*map(keys, inner))


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


@pytest.mark.parametrize(("language", "written"), [("en", "16,956"), ("ru", "16\u00a0956")])
def test_thousands_are_no_fractions(language: str, written: str) -> None:
    """A comma begins the fraction in Russian, so that 16,956 rows would read as 17."""
    before = scores_run([0.5] * 80)
    after = scores_run([n * 37 % 80 / 80 for n in range(80)])

    assert written in compare(before, after).lines(phrases(language))
