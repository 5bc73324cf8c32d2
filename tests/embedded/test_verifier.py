"""The embedded verifier: offline, bounded, and right on simple cases in two languages."""

import json
import unicodedata
from pathlib import Path

import pytest

from rag_evals import guard_sync
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.verifier import SHIPPED_WEIGHTS, THRESHOLDS
from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.verify import read_judge
from tests.work import work_of
from tools.train_embedded.cases import verify_answer

CHUNKS = [
    "The Eiffel Tower stands in Paris. It was completed in 1889.",
    "Collins never landed on the Moon.",
    "Глубина озера Байкал составляет 1642 метра.",
]


@pytest.mark.parametrize(
    ("statement", "supported", "chunk_ids"),
    [
        ("The Eiffel Tower is in Paris.", True, (0,)),
        ("The tower was completed in 1889.", True, (0,)),
        ("The tower was completed in 1923.", False, ()),
        ("The Eiffel Tower stands in Berlin.", False, ()),
        ("Collins landed on the Moon.", False, ()),
        ("Collins did not land on the Moon.", True, (1,)),
        ("Глубина Байкала 1642 метра.", True, (2,)),
        ("Глубина Байкала 2642 метра.", False, ()),
        ("Bananas grow on trees.", False, ()),
    ],
)
def test_plain_cases_come_out_right(
    statement: str, supported: bool, chunk_ids: tuple[int, ...]
) -> None:
    """Paraphrase, wrong number, wrong name, denial: the verdict and the chunk that shows it."""
    (verdict,) = EmbeddedVerifier().verify([statement], CHUNKS)

    assert (verdict.is_supported, verdict.chunk_ids) == (supported, chunk_ids)
    assert 0 <= verdict.support <= 1
    assert verdict.reason


@pytest.mark.parametrize(
    ("chunk", "statement", "supported"),
    [
        ("The WHO praised the plan.", "The European Union praised the plan.", False),
        ("House 2 stands in street 2.", "House 2 stands in street 3.", False),
        ("House 2 stands in street 2.", "House 3 stands in street 2.", False),
        ("House 2 stands in street 2.", "House 2 stands in street 2.", True),
        ("House 2 stands in street 2.", "House 2 stands in a street.", True),
        ("Дом 5 стоит на улице 5.", "Дом 5 стоит на улице 6.", False),
        ("Дом 5 стоит на улице 5.", "Дом 5 стоит на улице 5.", True),
        ("Most residents support the tram.", "Some residents support the tram.", True),
        ("Some residents support the tram.", "Most residents support the tram.", False),
        (
            "Her most famous book is out of print.",
            "Some famous book of hers is out of print.",
            True,
        ),
        ("Ola wrote the song for Ida.", "Ida wrote the song for Ola.", False),
        ("Depeche Mode released Violator.", "Violator is an album from Depeche Mode.", True),
        ("No, Kim sold the boat.", "Kim sold the boat.", True),
        ("The drug may reduce pain.", "The drug reduces pain.", False),
        ("The drug can reduce pain.", "The drug may reduce pain.", True),
        ("Kim appeared in the film Dust.", "Kim was in the film Dust.", True),
        ("Release it when the LED turns green.", "Release it when the LED turns red.", False),
        ("Цвет светодиода зелёный.", "Цвет светодиода красный.", False),
        ("The flag is red and white.", "The flag is white and red.", True),
        ("Basic plan: 10 GB of storage.", "You get 10 GB of storage.", True),
        ("Its mirror measures 2.4 m.", "Its mirror measures 2.4 metres.", True),
        ("Bake it at 350 °F.", "Bake it at 350 degrees Fahrenheit.", True),
        ("It stands in Paris.", "city: Paris", True),
        ("It stands in Paris.", "city: London", False),
        ("It was completed in 1889.", "founded: 1889", True),
        ("It was completed in 1889.", "founded: 1890", False),
        ("Музей находится в Твери.", "город: Тверь", True),
        ("Музей находится в Твери.", "город: Псков", False),
        ("Alemanía borders Francia.", "Alemania borders Francia.", True),
        ("It was published in 1869.", "It was published in 1869 [2].", True),
        (
            "Noise can disturb sleep.",
            "Additionally, noise can disrupt sleep in several ways.",
            True,
        ),
    ],
)
def test_small_words_decide(chunk: str, statement: str, supported: bool) -> None:
    """Acronyms, weaker quantifiers, turned roles, doubts, colours and units are told apart."""
    (verdict,) = EmbeddedVerifier().verify([statement], [chunk])

    assert verdict.is_supported is supported


@pytest.mark.parametrize(
    ("statement", "supported", "reason"),
    [
        ("Passage 3 does not say how to fold a quilt.", False, "chunk 2 says 'fold a quilt'"),
        ("The passages do not explain how to fold a quilt.", False, "chunk 2 says"),
        ("The passages do not mention the price of the quilt.", True, "no chunk says"),
        ("В тексте не сказано, что шерсть дают овцы.", False, "фрагмент 1 говорит"),
        ("В тексте не указана цена шерсти.", True, "ни в одном фрагменте"),
    ],
)
def test_what_the_sources_leave_out_is_looked_for(
    statement: str, supported: bool, reason: str
) -> None:
    """A claim of absence is wrong if a chunk says it."""
    chunks = [
        "Wool comes from sheep. It is dyed in vats.",
        "Old quilts are rare.",
        "To fold a quilt, lay it flat and fold it in thirds.",
    ]
    if not statement.isascii():
        chunks = ["Шерсть красят в чанах.", "Старые одеяла редки. Шерсть дают овцы."]
    (verdict,) = EmbeddedVerifier().verify([statement], chunks)

    assert verdict.is_supported is supported
    assert reason in verdict.reason
    assert all(chunks[one.chunk_id][one.start : one.end] == one.text for one in verdict.evidence)


def test_words_of_an_unrelated_chunk_fill_no_gap() -> None:
    """A chunk counts with at least half of the words that the best one has."""
    asked = "You can work from home every day if you ask HR."
    chunks = [
        "Staff may work from home up to three days a week.",
        "Requests are made through the HR portal.",
    ]
    (verdict,) = EmbeddedVerifier().verify([asked], chunks)

    assert not verdict.is_supported


def test_evidence_quotes_the_chunk() -> None:
    """The sentence that was read as evidence is given with its offsets."""
    (verdict,) = EmbeddedVerifier().verify(["It was completed in 1889."], CHUNKS)
    evidence = verdict.evidence[0]

    assert evidence.text == "It was completed in 1889."
    assert CHUNKS[evidence.chunk_id][evidence.start : evidence.end] == evidence.text


PLAIN = "The café in Zürich opened in 1998 and seats 1250 representatives, at 12%."
WRITTEN = {
    "accents of their own": unicodedata.normalize("NFD", PLAIN),
    "soft hyphens": PLAIN.replace("sent", "sent\u00ad"),
    "full-width digits": PLAIN.translate({ord(d): 0xFEE0 + ord(d) for d in "0123456789%"}),
    "all of it": unicodedata.normalize("NFD", PLAIN.replace("sent", "sent\u00ad")).replace(
        "1250", "１２５０"
    ),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_letters_and_digits_compare_equal_however_they_are_written(written: str) -> None:
    """In the statement and in the chunk; the evidence quotes the chunk as it is."""
    other = WRITTEN[written]
    for statement, chunk in ((PLAIN, other), (other, PLAIN), (other, f"Well. {other} It is so.")):
        (verdict,) = EmbeddedVerifier().verify([statement], ["Nothing.", chunk])

        assert verdict.is_supported, verdict.reason
        (evidence,) = verdict.evidence
        assert chunk[evidence.start : evidence.end] == evidence.text
        assert evidence.text in (PLAIN, other)
    (changed,) = EmbeddedVerifier().verify([other.replace("98", "89").replace("０", "１")], [PLAIN])
    assert not changed.is_supported or "98" not in other


def test_an_answer_is_decided_sentence_by_sentence() -> None:
    """Sentences that claim nothing are passed over."""
    answer = "Here is what I found:\nThe tower is in Paris. Is that all? It was built in 1923."
    pairs = verify_answer(EmbeddedVerifier(), answer, CHUNKS, question="Where is the tower?")

    assert [verdict.is_supported for _, verdict in pairs] == [True, False]


def test_the_threshold_is_a_setting_and_part_of_the_fingerprint() -> None:
    """A stricter verifier is another verifier."""
    statement = ["The Eiffel Tower in Paris is made of old iron bars."]
    lenient, strict = EmbeddedVerifier(threshold=0.1), EmbeddedVerifier(threshold=0.87)

    assert lenient.verify(statement, CHUNKS)[0].is_supported
    assert not strict.verify(statement, CHUNKS)[0].is_supported
    assert lenient.fingerprint() != strict.fingerprint()
    with pytest.raises(
        ConfigurationError, match=r"threshold is 1.5; expected a number from 0 to 1"
    ):
        EmbeddedVerifier(threshold=1.5)


def test_languages_are_part_of_the_fingerprint() -> None:
    """Verdicts that count with some languages do not with others: the results differ."""
    named: tuple[tuple[str, ...], ...] = ((), ("en",), ("de",), ("any",))
    prints = {EmbeddedVerifier(languages=languages).fingerprint() for languages in named}

    assert len(prints) == 4
    assert EmbeddedVerifier(languages=["de", "en"]).fingerprint() in prints


def test_a_support_at_the_threshold_is_enough() -> None:
    """The threshold is the least support that counts, as its description says."""
    statement = ["The Eiffel Tower in Paris is made of old iron bars."]
    (verdict,) = EmbeddedVerifier().verify(statement, CHUNKS)
    (at_the_limit,) = EmbeddedVerifier(threshold=verdict.support).verify(statement, CHUNKS)

    assert at_the_limit.support == verdict.support
    assert at_the_limit.is_supported


def test_a_no_with_a_support_at_the_threshold_is_enough() -> None:
    """As for any other statement, and above that support it is not supported."""
    chunks, question = ["On Sunday the shop is closed."], "Is the shop open on Sunday morning?"
    asked = ("No.", chunks, question)
    ((_, verdict),) = verify_answer(EmbeddedVerifier(), *asked)
    limits = (verdict.support, verdict.support + 1e-9)
    found = [verify_answer(EmbeddedVerifier(limit), *asked)[0][1] for limit in limits]

    assert [one.is_supported for one in found] == [True, False]
    assert [one.chunk_ids for one in found] == [(0,), ()]


@pytest.mark.parametrize(
    "odd",
    [
        "", " ", "\0", "😀" * 1000, "a" * 200_000, "." * 200_000, "\n" * 200_000,
        "1234567890" * 9, "7" * 100_000, '"' * 200_000, "a. " * 20_000, "1. " * 20_000,
        "not " * 40_000, "Anna beat Otto " * 12_000, "[1] " * 20_000,
    ],
    ids=lambda odd: f"{odd[:4]!r}x{len(odd)}",
)  # fmt: skip
def test_odd_input_is_judged(odd: str) -> None:
    """Long texts of one word, NULs, digits or stops neither raise nor run away for hours."""
    verifier = EmbeddedVerifier()
    verifier.verify([odd, "A tower."], [odd, "A tower."])

    assert len(verify_answer(verifier, "A tower.", [odd, "A tower."])) == 1


def test_a_huge_answer_takes_work_in_proportion() -> None:
    """Four times as many sentences take four times the work, not sixteen times."""

    def verify(sentences: int) -> None:
        verify_answer(EmbeddedVerifier(), "The tower is in Paris. " * sentences, CHUNKS)

    verify(1)  # fills the tables of words
    assert work_of(lambda: verify(800)) < 5 * work_of(lambda: verify(200))


def test_one_text_is_no_list() -> None:
    """Its letters would be judged one by one."""
    with pytest.raises(ConfigurationError, match="statements is a string; expected a list"):
        EmbeddedVerifier().verify("abc", CHUNKS)
    with pytest.raises(ConfigurationError, match="chunks is a string; expected a list"):
        EmbeddedVerifier().verify(["abc"], "It is so.")


def test_named_thresholds_are_ordered() -> None:
    """`screen` asks for more support than `balanced`, `strict` for more than `screen`."""
    levels = [
        EmbeddedVerifier("balanced").threshold,
        EmbeddedVerifier("screen").threshold,
        EmbeddedVerifier("strict").threshold,
    ]

    assert levels == sorted(set(levels))
    assert EmbeddedVerifier().threshold == levels[0]
    with pytest.raises(UnknownNameError, match="no threshold 'mild'; .*balanced, screen, strict"):
        EmbeddedVerifier("mild")  # type: ignore[arg-type]  # a name that does not exist


def test_reasons_say_what_differs() -> None:
    """The changed number is named beside the one in its place, also in Russian."""
    english, denied, russian = EmbeddedVerifier().verify(
        ["It was completed in 1923.", "Collins landed on the Moon.", "Глубина Байкала 2642 метра."],
        CHUNKS,
    )

    assert "'1923' is not in any chunk; chunk 0 says '1889'" in english.reason
    assert "negated in chunk 1" in denied.reason
    assert "'2642' нет ни в одном фрагменте; фрагмент 2: '1642'" in russian.reason


def test_not_all_is_less_than_all() -> None:
    """The word right before a quantifier turns it, whichever text has it."""
    some, every = "Not all residents support the tram.", "All residents support the tram."
    for statement, chunk in ((some, every), (every, some)):
        (verdict,) = EmbeddedVerifier().verify([statement], [chunk])

        assert not verdict.is_supported
        assert verdict.reason.lower() == "chunk 0 says 'all' instead of 'all'"


def test_a_word_in_another_word_is_not_missing() -> None:
    """A firm is a company, and what is large is big; a house may be no building."""
    statement, chunk = "The firm purchased a large house in Bern.", "The company bought a big mill."
    (verdict,) = EmbeddedVerifier().verify([statement], [chunk])

    assert verdict.reason == "2 of 5 content words missing: house, Bern"


def test_weights_of_ones_own(tmp_path: Path) -> None:
    """A file is a judge of its own name and fingerprint; its content decides."""
    document = json.loads(SHIPPED_WEIGHTS.read_text(encoding="utf-8"))
    document["intercept"] -= 4.0
    document["thresholds"] = dict.fromkeys(THRESHOLDS, 0.1)
    own = tmp_path / "mine.json"
    own.write_text(json.dumps(document), encoding="utf-8")
    verifier = read_judge(f"embedded:{own}").verifier

    assert isinstance(verifier, EmbeddedVerifier)
    assert verifier.name == f"embedded:{own}"
    assert verifier.fingerprint() != EmbeddedVerifier().fingerprint()
    assert not verifier.verify(["The Eiffel Tower is in Paris."], CHUNKS)[0].is_supported


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "no weights file"),
        ("{", "is not a JSON weights file"),
        ("[]", "expected weights in format 2"),
        ('{"format": 2}', "missing or invalid value: 'coefficients'"),
    ],
)
def test_wrong_weights_are_refused(tmp_path: Path, content: str | None, fault: str) -> None:
    """A file that is missing or holds something else is one clear error before any grading."""
    own = tmp_path / "mine.json"
    if content is not None:
        own.write_text(content, encoding="utf-8")

    with pytest.raises(ConfigurationError, match=fault):
        read_judge(f"embedded:{own}")
    with pytest.raises(ConfigurationError, match="needs a file"):
        read_judge("embedded:")


def test_no_threshold_lies_above_the_support_of_a_copy(tmp_path: Path) -> None:
    """Nothing could reach it; a file's own thresholds are checked too."""
    copy = EmbeddedVerifier(0.872).verify([CHUNKS[1]], CHUNKS)[0]
    document = json.loads(SHIPPED_WEIGHTS.read_text(encoding="utf-8"))
    document["intercept"] -= 4.0
    own = tmp_path / "mine.json"
    own.write_text(json.dumps(document), encoding="utf-8")

    assert copy.is_supported
    assert EmbeddedVerifier("strict").threshold < 0.872
    with pytest.raises(ConfigurationError, match=r"threshold 0.52 is higher .* at most 0\.\d+$"):
        EmbeddedVerifier(weights=own)
    with pytest.raises(ConfigurationError, match=r"threshold 0.9 is higher"):
        guard_sync("The tower stands.", CHUNKS, min_support=0.9)


def test_the_judge_string_names_it() -> None:
    """`embedded` is a verifier; anything else is for an endpoint."""
    assert isinstance(read_judge("embedded").verifier, EmbeddedVerifier)
    assert read_judge("openai/gpt-4o-mini").verifier is None


@pytest.mark.parametrize(
    ("spec", "threshold"), [("embedded@0.8", 0.8), ("embedded@0", 0.0), ("embedded@strict", None)]
)
def test_the_judge_string_may_set_the_threshold(spec: str, threshold: float | None) -> None:
    """A number or a name behind `@`; another threshold is another verifier."""
    verifier = read_judge(spec).verifier

    assert isinstance(verifier, EmbeddedVerifier)
    assert threshold is None or verifier.threshold == threshold
    assert verifier.fingerprint() != EmbeddedVerifier().fingerprint()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("embedded@1.5", "threshold is 1.5; expected a number from 0 to 1"),
        ("embedded@strikt", "did you mean 'strict'"),
        ("embedded@", "no threshold ''"),
        ("embedded@0.9", r"threshold 0.9 is higher than .* a verbatim copy, .* at most 0.872$"),
    ],
)
def test_a_wrong_threshold_is_explained(spec: str, message: str) -> None:
    """Out of range, or no such name."""
    with pytest.raises(ConfigurationError, match=message):
        read_judge(spec)
