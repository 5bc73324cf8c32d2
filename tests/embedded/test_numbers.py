"""The numbers behind a verdict: supports, weights, thresholds, shares of words, passages."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag_evals.core import Finding, VerifiedTexts
from rag_evals.core.finding import Quote
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.decide import cited_chunks, rank
from rag_evals.embedded.evidence import (
    _most_similar,
    evidence_words,
    find_passages,
    quoted_passages,
)
from rag_evals.embedded.model import (
    FEATURES,
    Model,
    answer_support,
    load,
    log_odds,
    parse,
    probability,
    read_idf,
)
from rag_evals.embedded.passage import (
    clauses_in,
    content_keys,
    cover_of,
    denials_in,
    figures_in,
    find_evidence,
    names_in,
    read_chunk,
    read_statement,
)
from rag_evals.embedded.verifier import SHIPPED_WEIGHTS, require_languages, unread_words
from rag_evals.errors import ConfigurationError

MODEL = load(SHIPPED_WEIGHTS)


def test_odds_and_chances_are_turned_into_each_other() -> None:
    """Bounded, so that no chance is 0 or 1."""
    for chance in (0.1, 0.5, 0.9):
        assert probability(log_odds(chance)) == pytest.approx(chance)
    assert log_odds(0.75) == pytest.approx(math.log(3))
    assert [log_odds(one) for one in (0.0, -1.0, 1.0, 2.0)] == [-40.0, -40.0, 40.0, 40.0]
    assert log_odds(1e-30) == -40.0
    assert probability(0.0) == 0.5
    assert probability(-1000.0) == probability(-40.0) > 0
    assert probability(1000.0) == probability(40.0)


def chances(*supports: float) -> float:
    """Return the chance that all of these hold, as they are wrong together."""
    each = (1 / (1 + math.exp(-(2 * math.log(one / (1 - one)) + 1))) for one in supports)
    return math.prod(each) ** 0.4


@pytest.mark.parametrize(
    ("supports", "limit"),
    [((0.8,), 0.5), ((0.5,), 0.5), ((0.49,), 0.5), ((0.8, 0.6), 0.6), ((0.8, 0.6, 0.3), 0.4)],
)
def test_an_answer_passes_with_its_weakest_statement(
    supports: Sequence[float], limit: float
) -> None:
    """From 0.55 to 0.8 on one side of the limit, from 0.1 to 0.4 on the other."""
    low, high = (0.55, 0.8) if min(supports) >= limit else (0.1, 0.4)

    expected = low + (high - low) * chances(*supports)
    assert answer_support(supports, limit) == pytest.approx(expected, abs=1e-9)
    assert answer_support([*supports, 0.999], limit) <= answer_support(supports, limit)
    assert answer_support([], limit) == 0.8
    assert EmbeddedVerifier().answer_support(supports) == answer_support(
        supports, MODEL.answer_limit
    )


def test_the_weight_of_a_word_is_its_rarity() -> None:
    """The log of how many chunks lack it, 0.5 at least; vague words have a part of it."""
    idf, unseen = read_idf(
        {
            "en": {"chunks": 99, "words": {"1": "rare mill", "9": "barley", "99": "all"}},
            "ru": {"chunks": 9, "words": {"1": "мельн"}},
        }
    )

    assert unseen == pytest.approx({"en": math.log(100), "ru": math.log(10)})
    assert idf["rare"] == idf["mill"] == pytest.approx(math.log(50))
    assert idf["barley"] == pytest.approx(math.log(10))
    assert idf["all"] == 0.5
    assert idf["мельн"] == pytest.approx(math.log(5))
    vague = {one for one in idf.values() if one in (0.5 * unseen["en"], 0.2 * unseen["en"])}
    assert len(vague) == 2


def small_model() -> Model:
    """Make a model of simple numbers."""
    return parse(
        {
            "format": 2,
            "coefficients": {name: place + 1 for place, name in enumerate(FEATURES)},
            "intercept": -1,
            "thresholds": {"balanced": 0.5},
            "answer_limit": 0.25,
            "background": {"en": {"chunks": 9, "words": {"1": "mill"}}},
        },
        "d",
    )


def test_a_model_adds_up_its_features() -> None:
    """In their order; without the last ones the sum is what it is without them."""
    model = small_model()

    assert list(model.coefficients) == [1, 2, 3, 4, 5, 6, 7]
    assert model.log_odds([1, 1, 1, 1, 1, 1, 1]) == 27
    assert model.log_odds([1, 0, 2]) == 6
    assert model.log_odds([]) == -1
    assert model.support([1]) == 0.5
    assert (model.answer_limit, model.digest, model.thresholds) == (0.25, "d", {"balanced": 0.5})
    unread: list[Any] = [[], {"format": 1}]
    for wrong in unread:
        with pytest.raises(ConfigurationError, match="expected weights in format 2"):
            parse(wrong, "d")
    with pytest.raises(ConfigurationError, match="weights file: missing or invalid value"):
        parse({"format": 2}, "d")


def test_only_words_with_content_have_a_weight() -> None:
    """A number at most 6; an unknown word that of its language; small words none."""
    model = replace(MODEL, idf={"mill": 2.0, "1889": 9.0}, unseen_idf={"en": 7.0, "ru": 8.0})

    def weights(text: str, language: str = "en") -> dict[str, float]:
        return model.key_weights(read_statement(text), language)

    assert weights("The mill of 1889 and Oslo") == {"mill": 2.0, "1889": 6.0, "oslo": 7.0}
    assert weights("На мельнице 12 %") == {"мельн": 8.0, "12": 6.0, "percent": 7.0}
    assert "und" in weights("Mühle und Haus")
    assert "und" not in weights("Mühle und Haus nicht", "de")
    assert "nicht" not in weights("Mühle und Haus nicht", "de")


def test_the_shipped_thresholds_are_in_order() -> None:
    """And none is above the support of a copy."""
    names = ("balanced", "screen", "strict")
    order = [EmbeddedVerifier(name).threshold for name in names]  # type: ignore[arg-type]

    assert order == sorted(order) == [MODEL.thresholds[name] for name in names]
    assert EmbeddedVerifier().threshold == EmbeddedVerifier("balanced").threshold
    assert EmbeddedVerifier(0.872).threshold == 0.872
    with pytest.raises(ConfigurationError, match=r"choose at most 0\.872"):
        EmbeddedVerifier(0.873)
    assert EmbeddedVerifier().traits.threshold == EmbeddedVerifier().threshold
    assert EmbeddedVerifier(languages=["de"]).traits.languages == frozenset(
        ("en", "ru", "de", None)
    )
    prints = {EmbeddedVerifier(one).fingerprint() for one in (None, 0.5, 0.6, "strict")}
    assert len(prints) == 4


def test_languages_are_named_by_their_codes() -> None:
    """Without a name the two that are read well; with one also texts too short to tell."""
    assert require_languages([]) == frozenset(("en", "ru"))
    assert require_languages(["de", "fr"]) == frozenset(("en", "ru", "de", "fr", None))
    assert require_languages("de") == frozenset(("en", "ru", "de", None))
    assert require_languages(["de", "any"]) is None
    with pytest.raises(ConfigurationError, match="language 'deutsch' is not a two-letter code"):
        require_languages(["deutsch"])
    for language, named, code in (
        ("de", "the answer is in German", "de"),
        (None, "the texts are too short", "en"),
        ("und", "was not recognised", "any"),
        ("sw", "the answer is in sw", "sw"),
    ):
        said = unread_words(language)
        assert named in said
        assert f"embedded?languages={code})" in said


def test_texts_in_other_letters_are_warned_of() -> None:
    """The question first, then the answer, with the chunk that has other letters."""

    def warnings(question: str | None, answer: str, *chunks: str) -> list[str]:
        texts = VerifiedTexts(question=question, answer=answer, chunks=chunks, language="en")
        return EmbeddedVerifier()._warnings(texts)

    assert warnings("Where?", "In Paris.", "In Paris.", "1889") == []
    (told,) = warnings("Где?", "In Paris.", "1889", "In Paris.")
    assert told.startswith("the question is in Cyrillic letters, but chunk 1 is in Latin letters")
    (told,) = warnings(None, "В Париже.", "In Paris.")
    assert told.startswith("the answer is in Cyrillic letters, but chunk 0 is in Latin letters")
    assert warnings(None, "В Париже.", "В Париже. " * 40 + "Latin " * 900) == []


def test_chunks_are_ranked_by_their_best_sentence() -> None:
    """Then by all their words, then by their place."""
    chunks = [
        "Rye grows. Wheat grows.",
        "The mill grinds wheat.",
        "The mill stands. It grinds wheat.",
        "Wheat grows. The mill stands and grinds.",
        "Nothing.",
    ]

    assert rank(MODEL, ["The mill grinds wheat."], chunks) == [[1, 2, 3, 0, 4]]
    assert EmbeddedVerifier().rank(["Rye."], chunks) == [[0, 1, 2, 3, 4]]
    assert rank(MODEL, [], chunks) == []


def test_chunks_of_nearly_the_same_support_are_cited() -> None:
    """The best first, those with at least 0.8 of its support behind it, each once."""
    for readings, cited in (
        ([((2,), 0.9), ((0,), 0.73), ((1,), 0.71)], (2, 0)),
        ([((0,), 0.5), ((3, 1), 0.9), ((1,), 0.8)], (3, 1)),
        ([((1,), 0.9), ((0,), 0.9)], (1, 0)),
        ([((), 0.9), ((0,), 0.9)], (0,)),
    ):
        assert cited_chunks(readings) == cited


def test_the_cover_of_a_chunk_is_that_of_its_best_sentence_and_of_all() -> None:
    """In the weights of the words that it shares."""
    weights = {"mill": 2.0, "wheat": 3.0, "rye": 4.0}

    assert cover_of(weights, read_chunk("The mill grinds rye. Wheat grows.")) == (6.0, 9.0)
    assert cover_of(weights, read_chunk("Nothing.")) == (0.0, 0)


def test_evidence_is_the_best_sentences_of_the_best_chunks() -> None:
    """At most two, without much weaker ones; the words of wide chunks count as found."""
    weights = {"mill": 4.0, "grind": 3.0, "wheat": 2.0, "rye": 1.0}
    statement = read_statement("The mill grinds wheat and rye.")

    def found(*texts: str, excluded: Sequence[int] = ()) -> tuple[list[tuple[int, int]], set[str]]:
        one = find_evidence(statement, weights, [read_chunk(text) for text in texts], excluded)
        return [(place.chunk_id, place.number) for place in one.best], one.wide

    every = {"mill", "grind", "wheat", "rye"}
    assert found("The mill grinds wheat.", "Rye grows.") == ([(0, 0)], every - {"rye"})
    assert found("Rye. The mill grinds wheat. The mill grinds rye.") == ([(0, 1), (0, 2)], every)
    assert found("The mill grinds.", "The mill grinds wheat.", "The mill grinds wheat, rye.") == (
        [(2, 0), (1, 0)],
        every,
    )
    assert found("The mill.", "The mill grinds wheat.") == ([(1, 0)], every - {"rye"})
    assert found("The mill grinds wheat.", "The mill.", excluded=[0]) == ([(1, 0)], {"mill"})
    assert found("Nothing.") == ([], set())
    none = find_evidence(statement, weights, [])
    assert (none.best, none.wide, none.pairs) == ([], set(), 0.0)


def test_clauses_denials_figures_and_names_of_a_sentence() -> None:
    """What a comparison looks for in it."""
    for text, clauses in (
        ("A is red, B is blue", [0, 0, 0, 1, 1, 1]),
        ("A is red and B is blue", [0, 0, 0, 1, 1, 1, 1]),
        ("A; B: C", [0, 1, 2]),
        ("A - B", [0, 0]),
        ("Дом мал, но тёплый", [0, 0, 1, 1]),
    ):
        assert [*clauses_in(read_statement(text))] == clauses
    for text, places in (
        ("It is not tall", [2]),
        ("No, he did", []),
        ("No children came", [0]),
        ("Not only he came", []),
        ("It is not", [2]),
        ("Не только он", []),
        ("Он не пришёл и не писал", [1, 4]),
    ):
        assert denials_in(read_statement(text), "en") == places
    assert denials_in(read_statement("Er ist nicht da"), "de") == [2]
    assert denials_in(read_statement("Er ist nicht da"), "en") == []
    assert figures_in(read_statement("5 kg in May and 7")) == {0: "kg", 3: "month name", 5: ""}
    assert names_in(read_statement("Then Anna Weiss met IBM and Bob")) == {
        "anna": "Anna",
        "weiss": "Weiss",
        "ibm": "IBM",
        "bob": "Bob",
    }
    assert content_keys("The mill of 1889, at 12 %") == {"mill", "1889", "12"}


def test_long_texts_are_read_in_pieces() -> None:
    """A chunk without full stops has pieces of up to 400 signs, a table its header in each row."""
    text = "word " * 200
    spans = read_chunk(text).spans

    assert [(span.start, span.end) for span in spans] == [(0, 399), (400, 794), (795, 999)]
    assert all(text[span.start : span.end] == span.text for span in spans)
    assert len(read_chunk("word " * 100).spans) == 1
    assert len(read_statement("word " * 500).sequence) == 400
    table = read_chunk("| Plan | Price |\n|---|---|\n| Basic | 10 |\n| Pro | 20 |")
    last = len(table.spans) - 1
    assert table.sentence(last).keys == ["plan", "pric", "pro", "20"]


def said(text: str, **more: object) -> Finding:
    """Return a finding about a statement."""
    return replace(Finding(text, False, "not supported", about="statement"), **more)  # type: ignore[arg-type]


def test_quotes_are_shown_where_they_stand() -> None:
    """Without offsets they are looked for; those in no chunk are left out."""
    chunks = ["It is tall. It is old.", "It is new."]
    quotes = (
        Quote(0, 0, 11, "It is tall."),
        Quote(0, None, None, "It is old."),
        Quote(1, None, None, "not there"),
        Quote(2, 0, 2, "It"),
        Quote(-1, 0, 2, "It"),
        Quote(1, 3, 99, "is new."),
        Quote(1, 3, 3, ""),
    )
    found = quoted_passages(said("t", quotes=quotes), chunks)

    assert [(one.chunk_id, one.start, one.end, one.text) for one in found] == [
        (0, 0, 11, "It is tall."),
        (0, 12, 22, "It is old."),
    ]
    assert {(one.is_nearest, one.differs) for one in found} == {(False, "")}
    assert find_passages(said("t", quotes=quotes), chunks) == found


def test_passages_are_looked_for_in_the_cited_chunks() -> None:
    """In all of them if none is cited, or only empty ones; only then it is said what differs."""
    chunks = ["The mill opened in 1998.", "The mill opened in 1989.", " "]
    wrong = "The mill opened in 1923."

    def found(**more: object) -> list[tuple[int, bool, bool]]:
        passages = find_passages(said(wrong, **more), chunks)
        return [(one.chunk_id, one.is_nearest, bool(one.differs)) for one in passages]

    assert found(chunk_ids=(1,)) == [(1, True, False)]
    assert found(chunk_ids=(7, 1)) == [(1, True, False)]
    for none in ((), (2,), (9,), (-1,)):
        assert found(chunk_ids=none) == [(0, True, True)]
    assert found(verdict=True) == [(0, True, False)]
    assert found(about="chunk") == found(about="answer") == []
    for about in ("reference", "citation"):
        assert found(about=about) == [(0, True, True)]
    assert find_passages(said(wrong), [" ", ""]) == ()
    own = EmbeddedVerifier().verify([wrong], chunks)[0].reason
    assert found(reasoning=own) == [(0, True, False)]


def test_without_a_shared_word_the_most_similar_sentence_is_shown() -> None:
    """By its threes of letters."""
    chunks = ["Bananas are yellow. Milling is hard.", "Oslo."]
    (found,) = _most_similar("Mills.", chunks)

    assert (found.chunk_id, found.text) == (0, "Milling is hard.")
    assert _most_similar("Mills.", []) == []
    assert evidence_words(said("It opened in 1923."), ["It opened in 1889."], most=12) == [
        "nearest chunk 0: It opened i…",
        "differs: '1923' is not in any chunk; chunk 0 says '1889'",
    ]


def test_all_sentences_that_show_a_statement_are_passages() -> None:
    """Nothing is said to differ where the embedded judge finds the statement supported."""
    chunks = ["In Paris opened the tower.", "In 1889 the tower opened."]
    found = find_passages(said("The tower opened in 1889 in Paris."), chunks)
    assert [one.text for one in found] == [chunks[1], chunks[0]]
    assert [(one.is_nearest, one.differs) for one in found] == [(True, ""), (True, "")]

    mill = ["The mill opened in 1989. The inn opened in 1998."]
    found = find_passages(said("The mill opened in 1998."), mill)
    assert [one.text for one in found] == ["The mill opened in 1989.", "The inn opened in 1998."]
    assert [bool(one.differs) for one in found] == [True, False]
