"""Other languages: told apart, warned about, and read as well as word counts allow."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, evaluate, guard_sync
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader, VerifiedFaithfulnessResult
from rag_evals.pytest_plugin import assert_faithful
from rag_evals.run import Gate
from rag_evals.score_rag import Rag
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import LANGUAGE_NAMES, has_russian, language_in, language_of, script_of

Start = Callable[[Script], ScriptedJudge]
SAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "languages.jsonl")
    .read_text(encoding="utf-8")
    .split("\n")
    if line
]
KINDS = {"copy": True, "paraphrase": True, "number": False, "negation": False, "invented": False}
LANGUAGES = sorted({sample["language"] for sample in SAMPLES})


def right(language: str) -> Counter[str]:
    """Count by kind the statements of a language that are decided right."""
    found: Counter[str] = Counter()
    for sample in SAMPLES:
        if sample["language"] == language:
            texts = [sample[kind] for kind in KINDS]
            verdicts = EmbeddedVerifier().verify(texts, [sample["context"]])
            for (kind, expected), verdict in zip(KINDS.items(), verdicts, strict=True):
                found[kind] += verdict.is_supported is expected
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_copies_and_changes_are_told_apart(language: str) -> None:
    """Of four each: copies, changed numbers, negations and inventions; paraphrase is harder."""
    found = right(language)

    assert all(found[kind] == 4 for kind in ("copy", "number", "negation", "invented")), found
    assert found["paraphrase"] >= 3


def test_each_language_is_told() -> None:
    """By five sentences always right; one is taken for English or Russian only where it is."""
    for sample in SAMPLES:
        told = {language_of(sample[kind]) for kind in KINDS}
        together = " ".join(sample[kind] for kind in KINDS)

        assert language_of(together) == sample["language"]
        assert told & {"en", "ru"} <= {sample["language"]}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", None),
        ("1987.", None),
        ("Paris", None),
        ("He's doing great! I'm not sure, but I do know Larry.", "en"),
        ("The German word 'Angst' and the dish 東京 are known in English.", "en"),
        ("Файл README.md лежит в папке docs.", "ru"),
        ("Объект открыли, т. е. съезд готов.", "ru"),
        ("Кулата има 500 стъпала.", None),
        ("Торањ има 500 степеника.", None),
        ("Міст відкрили у 1907 році.", "uk"),
        ("De brug over de rivier werd in 1907 geopend en is van de stad.", "nl"),
        ("서울은 대한민국의 수도이다.", "ko"),
    ],
)
def test_mixed_and_short_texts(text: str, language: str | None) -> None:
    """A quoted word makes no text foreign, and too little text is no language."""
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Der Turm stand 1889 in Köln.", "latin"),
        ("Die Stadt Тула liegt an der Upa.", "latin"),
        ("Башня Eiffel стоит с 1889 года.", "ru"),
        ("Київ їде", "ru"),
        ("埃菲尔铁塔于1889年建成。", "zh"),
        ("エッフェル塔は1889年に建てられた。", "zh"),
        ("Ο πύργος", "el"),
        ("თბილისი", "other"),
        ("1889", None),
    ],
)
def test_each_script_is_told(text: str, script: str | None) -> None:
    """Most letters decide; languages that share letters are of one script."""
    assert script_of(text) == script
    assert has_russian(text) == (script == "ru" or "Тула" in text)


@pytest.mark.parametrize("sample", SAMPLES[::4], ids=lambda sample: sample["language"])
def test_a_foreign_answer_is_warned_about(sample: dict[str, str]) -> None:
    """One line in the result names the language; English and Russian get none."""
    is_read = sample["language"] in ("en", "ru")
    with nullcontext() if is_read else pytest.warns(UserWarning, match="does not count$"):
        result = Faithfulness.grade(
            answer=f"{sample['copy']} {sample['paraphrase']}",
            context=[sample["context"]],
            client="embedded",
        )
    assert isinstance(result, VerifiedFaithfulnessResult)
    assert result.language == sample["language"]
    assert ("score=1.00" in repr(result), "not scorable" in str(result)) == (is_read, not is_read)
    if is_read:
        assert result.warnings == []
    else:
        (warning,) = result.warnings
        assert str(result).endswith(f"\nwarning: {warning}")
        assert LANGUAGE_NAMES[sample["language"]] in warning
        assert "\n" not in warning


UNREAD = {
    "de": ("Berlin hat 500 Stufen.", "Der Turm in Berlin hat 300 Stufen und steht an der Spree."),
    "it": ("Il Colosseo ha 80 archi", "Il Colosseo a Roma ha 240 archi e fu costruito nel 80."),
    "und": (
        "Kule 1890 tamamlandı.",
        "Kule 1889 yılında Paris'te tamamlandı ve 330 metre yüksekliğindedir.",
    ),
    None: ("Aspirin senkt Fieber.", "Aspirin senkt Fieber."),
}


@pytest.mark.parametrize("language", UNREAD)
def test_a_language_that_is_not_read_passes_nothing(language: str | None) -> None:
    """Nor does an unknown one, or too little text; `languages=` lets verdicts count."""
    answer, chunk = UNREAD[language]
    row = {"answer": answer, "context": [chunk]}
    allowed = {"und": ["any"], None: ["en"]}.get(language, [str(language)])

    run = evaluate([row], client="embedded")
    (outcome,) = run.outcomes
    assert (outcome.status, outcome.reason) == ("not_scorable", "unread_language")
    assert getattr(outcome.result, "language", "") == language
    assert "built for English and Russian" in outcome.warnings[0]
    assert Gate(0.0).missed(run.summary())
    assert not guard_sync(chunk, [chunk]).passed
    assert "unless you name the language" in guard_sync(chunk, [chunk]).warnings[0]
    with pytest.raises(AssertionError, match="unread_language"):
        assert_faithful(row)

    assert_faithful(row, at_least=0, languages=allowed)
    guarded = guard_sync(chunk, [chunk], languages=allowed)
    assert guarded.passed
    judged = evaluate([row], client=f"embedded?languages={allowed[0]}").outcomes[0]
    assert judged.status == "scored"
    assert judged.warnings == ()


@pytest.mark.parametrize("plain", [Faithfulness, Rag], ids=["faithfulness", "rag"])
@pytest.mark.parametrize(("language", "reason"), [("de", "unread_language"), ("ru", None)])
def test_the_language_of_a_run_is_that_of_its_rows(
    plain: Grader[Any], language: str, reason: str | None
) -> None:
    """German rows are not read; English rows of a run with Russian prompts are read as English."""
    text = "The tower is in Paris."
    rows = [{"question": "Where?", "answer": text, "context": [text], "reference": text}]
    grader = plain.with_language(language)
    run = evaluate(rows, grader, client="embedded", progress=False)

    assert run.outcomes[0].reason == reason
    assert run.outcomes[0].score == (None if reason else 1.0)


@pytest.mark.parametrize(
    ("answer", "chunk"),
    [
        ("In 1889.", "The tower opened in 1889."),
        ("1889", "Der Turm wurde 1889 gebaut."),
        ("42 %", "42 %"),
        ("Paris.", "Paris is in France."),
        ("Shipping costs 5 euros.", "Shipping costs 5 euros."),
        ("Refunds require receipts.", "Refunds require receipts, without exception."),
        ("Revenue grew 12%.", "Revenue grew 12%."),
        ("Пчёлы делают мёд.", "Пчёлы делают мёд."),
        ("Nectar, pollen, wax, royal jelly, brood, comb, hive", "Of the hive: nectar, pollen, wax, "
         "royal jelly, brood and comb."),
    ],
)  # fmt: skip
def test_a_short_answer_is_of_the_language_around_it(answer: str, chunk: str) -> None:
    """Question, chunks and English words tell it; a list has half of its words from them."""
    assert Faithfulness.grade(answer=answer, context=[chunk], client="embedded").score == 1


@pytest.mark.parametrize(
    "text",
    ["Versand kostet 5 Euro.", "Livraison gratuite demain.", "Ventas subieron 12%.",
     "Spedizione costa 5 euro.", "Honden eten vlees.", "Livrarea costa 5 euro.",
     "Anjing makan daging.", "Paris reste magnifique."],
)  # fmt: skip
def test_a_few_words_shared_with_english_are_not_english(text: str) -> None:
    """More than two thirds of the words must be English."""
    assert language_in(text, None, [text]) != "en"


def test_a_number_is_read_with_its_question() -> None:
    """A wrong year is no year, and a German question makes a German answer of it."""
    german: dict[str, Any] = {
        "question": "Wann wurde der Turm zerstört?",
        "context": ["Gebaut wurde er 1889."],
    }
    short: dict[str, Any] = {"question": "Where?", "answer": "Paris.", "context": ["Paris, France"]}

    assert Faithfulness.grade(answer="1890", context=["Der Turm: 1889"]).score == 0
    with pytest.warns(UserWarning, match="not scorable: unread_language; the score of 1.00 does"):
        assert Faithfulness.grade(answer="1889", **german).not_scorable == "unread_language"
    assert Faithfulness.grade(**short).not_scorable is None


VERDICT = {
    "verdicts": [
        {"statement_id": 0, "reasoning": "r", "supporting_chunk_ids": [], "is_supported": False}
    ]
}


def test_a_cascade_leaves_an_unread_language_to_its_second_judge(scripted: Start) -> None:
    """However sure the embedded judge seems; what the second decides has a score."""
    judge = scripted(VERDICT)
    answer, chunk = UNREAD["de"]

    result = Faithfulness.grade(answer=answer, context=[chunk], client="embedded>openai/m")

    assert len(judge.requests) == 1
    assert (result.score, result.not_scorable) == (0, None)


def test_a_language_must_be_a_code() -> None:
    """A name is refused, in the judge string and in Python."""
    for wrong in ("German", ""):
        with pytest.raises(ConfigurationError, match="not a two-letter code such as 'de'"):
            EmbeddedVerifier(languages=[wrong])


def test_reasons_name_no_small_words() -> None:
    """An article in the place of another explains nothing."""
    chunk = "Der Zug nach Bremen fährt um 9 Uhr ab. Der Bahnhof ist alt."
    statements = ["Die Stadt Bremen ist sehr alt.", "Ein Bus fährt um 11 Uhr nach Bremen ab."]
    for verdict in EmbeddedVerifier().verify(statements, [chunk]):
        assert not {"'Die'", "'Der'", "'Ein'", "'nach'", "'Stadt'"} & set(verdict.reason.split())
        assert "Die," not in verdict.reason


def test_names_of_people_deny_nothing_in_english() -> None:
    """In Italian "mai" denies, in Polish "ani" does."""
    (verdict,) = EmbeddedVerifier().verify(
        ["Mai and Ani won the race in Boston."], ["The race in Boston was won by Mai and Ani."]
    )

    assert verdict.is_supported
