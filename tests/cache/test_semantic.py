"""The semantic cache: code, vectors and a verifier must agree; the context must be the same."""

import csv
import math
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_evals import TwoStepFaithfulness, errors
from rag_evals.cache import SemanticCache, StatementCache
from rag_evals.cache.semantic import _named, cosine, frame_of, pack_vector
from rag_evals.cache.statements import StatementKey, cached
from rag_evals.core import Claim, Flow, Verdict, VerifierTraits, VerifyCall, as_claims
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.grading import VerifiedFaithfulness
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.judge.clients.sdks import embed_texts
from rag_evals.testing import HttpError, Raw, Script, ScriptedJudge
from rag_evals.text import plain_form
from rag_evals.verify import CascadeVerifier, LLMVerifier
from tests.conftest import PlainVerifier

Start = Callable[[Script], ScriptedJudge]
VERDICT = Verdict(1.0, True, (0,), "said so", decided_by="judge")
CONTEXT = ["Revenue rose by 12% in 2020. The tower was completed in 1889."]
DATA = Path(__file__).parent.parent / "data"


class Thesaurus(PlainVerifier):
    """Finds a statement in another when they differ only in words that it knows as one."""

    name = "thesaurus"

    def __init__(self, *groups: set[str]) -> None:
        self.groups = groups

    def fingerprint(self) -> str:
        """Return its words."""
        return repr(sorted(map(sorted, self.groups)))

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work as one local step."""
        call = VerifyCall(self, claims, chunks)
        (reply,) = yield [call]
        return call.read(reply)

    def verify(self, claims: Sequence[str | Claim], chunks: Sequence[str]) -> list[Verdict]:
        """Decide each claim."""
        return [self._verdict(claim.text, chunks[0]) for claim in as_claims(claims)]

    def _verdict(self, claim: str, chunk: str) -> Verdict:
        pairs = list(zip(claim.split(), chunk.split(), strict=False))
        same = len(claim.split()) == len(chunk.split()) and all(
            one == other or any({one, other} <= group for group in self.groups)
            for one, other in pairs
        )
        return Verdict(float(same), same, (0,) if same else (), "by its words")


YES = Thesaurus({"rose", "increased"}, {"completed", "finished"}, {"first", "second"})


def key(text: str) -> StatementKey:
    """Return the key of a statement that comes from no answer."""
    return StatementKey.of(Claim(text))


def rows(name: str) -> list[list[str]]:
    """Read a table of pairs."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def alike(texts: Sequence[str]) -> list[list[float]]:
    """Find all texts the same: only code and verifier are left."""
    return [[1.0, 0.0] for _ in texts]


def apart(texts: Sequence[str]) -> list[list[float]]:
    """Find no two texts the same."""
    return [[float(place == n) for place in range(50)] for n, _ in enumerate(texts, len(texts))]


def by_sentences(cache: StatementCache) -> VerifiedFaithfulness:
    """Make a grader whose only calls are verification calls."""
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=LLMVerifier())
    return grader.with_cache(cache)


def test_a_reworded_statement_takes_the_verdict(scripted: Start) -> None:
    """The hit says which statement it was taken from, and how similar the two are."""
    judge = scripted(None)
    grader = by_sentences(SemanticCache(embed=alike, equivalence=YES))
    grader.grade(answer="Revenue rose by 12% in 2020.", context=CONTEXT, client="openai/m")
    result = grader.grade(
        answer="Revenue increased by 12% in 2020.", context=CONTEXT, client="openai/m"
    )
    (found,) = result.statements

    assert len(judge.requests) == 1
    assert found.from_cache
    assert found.taken_from == "Revenue rose by 12% in 2020."
    assert found.similarity == 1.0
    assert result.tallies["by a similar statement"] == (1, 1)


# Made for this test: each pair differs in one thing that a vector hardly shows.
DIFFERENT = """
Revenue rose by 12%. | Revenue rose by 21%.
Revenue rose by 12%. | Revenue did not rise by 12%.
It rose by 3 percent. | It rose by 3 percentage points.
The dose is 5 mg. | The dose is 5 Mg.
The fare is $4. | The fare is 4 dollars.
Seven is a film. | 7 is a film.
Das Haus kostet 30.000 €. | Das Haus kostet 30 €.
La ruta mide 1,200 km. | La ruta mide 1200 km.
R is the radius. | r is the radius.
П равно 3. | п равно 3.
The pond grew by 7% in 2018. | The pond rose by 7% in 2018.
Облако снизилось на 4 %. | Облако уменьшилось на 4 %.
В Гомеле билет стоит 3 рубля. | В Гомеле билет стоит 3 ₽.
Norway beat Denmark. | Denmark beat Norway.
The cat chased the dog. | The dog chased the cat.
Ivan left? | Ivan left.
Some cars are red. | All cars are red.
Prices fell to 9%. | Prices fell by 9%.
Он купил три дома. | Он купил два дома.
Врач вылечил сестру. | Врача вылечила сестра.
Она не пришла. | Она пришла.
"""


def different_pairs() -> list[tuple[str, str]]:
    """Return all pairs that say different things."""
    own = [tuple(line.split(" | ")) for line in DIFFERENT.strip().splitlines()]
    near = [(one, other) for _, one, other in rows("near_misses.tsv")]
    labelled = [(row[3], row[4]) for row in rows("statement_pairs.tsv") if row[0] == "different"]
    return [(one, other) for one, other in [*own, *near, *labelled]]


def test_nothing_that_differs_is_shared() -> None:
    """At any threshold, over thousands of pairs made to mislead: by key or by meaning."""
    cache = SemanticCache(alike)
    pairs = different_pairs()

    assert len(pairs) > 3900
    assert [p for p in pairs if plain_form(p[0]) == plain_form(p[1])] == []
    assert [p for p in pairs if frame_of(p[0]) == frame_of(p[1]) and cache.are_equivalent(*p)] == []


@pytest.mark.parametrize(
    "other",
    [
        "Revenue increased by 21% in the first year.",
        "Revenue increased by 12 in the first year.",
        "Revenue increased by 12% in the First year.",
        "Revenue increased by 12% in a first year.",
        "Revenue increased by 12%, in the first year.",
        "Revenue never increased by 12% in the first year.",
        "Revenue increased by 12% in the second year.",
    ],
)
def test_what_stands_as_written_counts_whatever_a_verifier_says(other: str) -> None:
    """Numbers, units, signs, names, small words, negations and number words are compared."""

    class Yes(Thesaurus):
        def _verdict(self, claim: str, chunk: str) -> Verdict:
            return VERDICT

    cache = SemanticCache(embed=alike, threshold=0.0, equivalence=Yes())
    cache.store("g", {key("Revenue rose by 12% in the first year."): VERDICT})

    assert cache.look_up("g", [key(other)]) == [None]
    assert cache.look_up("g", [key("Revenue increased by 12% in the first year.")]) != [None]


def test_the_word_after_a_number_counts_at_the_start_too() -> None:
    """Twelve dogs are not twelve cats."""
    assert frame_of("12 dogs bark.") == frame_of("12 dogs growl.")
    assert frame_of("12 dogs bark.") != frame_of("12 cats bark.")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("dogs bark at 12", "cats bark at 12", True),
        ("The dogs bark at 12", "The dogs bark at 13", False),
        ("They went to Paris", "They went to Rome", False),
        ("They saw Paris beat Rome", "They saw Rome beat Paris", False),
        ("It has seven legs", "It has nine legs", False),
        ("A well-known tower", "A half-known tower", False),
        ("It took 5kg flour", "It took 5kg sugar", False),
        ("Then seven dogs bark", "Then seven cats bark", False),
        ("Seven dogs bark", "Seven cats bark", False),
        ("Seven dogs bark", "Seven dogs growl", True),
        ("It (slowly) rose", "It slowly rose", False),
        ("It (slowly) rose", "It (quickly) rose", True),
        ("It isn't open", "It is not open", True),
        ("It cannot open", "It can't open", True),
        ("It won't open", "It will not open", True),
        ("It is not open", "It is open", False),
    ],
)
def test_what_a_frame_holds(one: str, other: str, is_same: bool) -> None:
    """Numbers and the word after each, names, small words and signs, as written and in order."""
    assert (frame_of(one) == frame_of(other)) is is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The tower was always open.", "The tower was mostly open."),
        ("The tower was partly open.", "The tower was entirely open."),
        ("Башня обычно закрыта.", "Башня иногда закрыта."),
        ("It stopped there.", "It rested there."),
    ],
)
def test_words_that_say_how_much_or_deny_are_compared_as_written(one: str, other: str) -> None:
    """Vectors hardly tell them apart; any other word is for the verifier, or more of them."""
    assert frame_of(one) != frame_of(other)
    assert frame_of("The tower was slowly built.") == frame_of("The tower was built.")


def test_a_damaged_verdict_of_a_similar_statement_is_a_miss(tmp_path: Path) -> None:
    """It is no verdict of another version either."""
    path = tmp_path / "cache.sqlite3"
    cache = SemanticCache(embed=alike, path=path, equivalence=YES)
    cache.store("g", {key("The tower was completed in 1889."): VERDICT})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE statements SET verdict = '{'")

    assert cache.look_up("g", [key("The tower was finished in 1889.")]) == [None]


def test_a_cascade_with_one_semantic_cache_says_so() -> None:
    """Whichever part has it: verdicts may come from similar statements."""
    exact = cached(EmbeddedVerifier(), StatementCache())
    semantic = cached(EmbeddedVerifier("strict"), SemanticCache(embed=alike, equivalence=YES))

    for first, then in ((exact, semantic), (semantic, exact)):
        assert CascadeVerifier(first, then).traits.cache_mode == "semantic"


def test_both_directions_must_hold() -> None:
    """A statement that says less is found in the other, and is not the same."""

    class Part(Thesaurus):
        def _verdict(self, claim: str, chunk: str) -> Verdict:
            found = set(claim.split()) <= set(chunk.split())
            return Verdict(float(found), found, (), "")

    cache = SemanticCache(embed=alike, equivalence=Part())
    cache.store("g", {key("The old tower was completed in 1889."): VERDICT})

    assert cache.look_up("g", [key("The tower was completed in 1889.")]) == [None]


def test_contractions_are_the_same_words() -> None:
    """What the embedded verifier alone lets through."""
    cache = SemanticCache(embed=alike)
    cache.store("g", {key("The tower isn't made of wood."): VERDICT})
    (found,) = cache.look_up("g", [key("The tower is not made of wood.")])

    assert found is not None
    assert found.taken_from == "The tower isn't made of wood."


def test_what_leans_on_its_question_is_never_shared_by_meaning() -> None:
    """Its own words are found again behind the same question, other words are not."""
    cache = SemanticCache(embed=alike, equivalence=YES)
    question = "When was the tower built?"
    claims = [
        Claim(f"It was {done} in 1889.", None, None, question) for done in ("completed", "finished")
    ]
    cache.store("g", {StatementKey.of(claims[0]): VERDICT})
    found = cache.look_up("g", [StatementKey.of(claim) for claim in claims])

    assert [one is not None for one in found] == [True, False]


def test_a_verdict_that_leans_on_its_answer_is_no_candidate() -> None:
    """Not even for a statement that stands nowhere."""
    cache = SemanticCache(embed=alike, equivalence=YES)
    leaning = Claim("It was completed in 1889.", before="A tower stands.")
    cache.store("g", {StatementKey.of(leaning): VERDICT})

    assert cache.look_up("g", [key("It was finished in 1889.")]) == [None]
    cache.store("g", {key("It was completed in 1889."): VERDICT})
    assert cache.look_up("g", [key("It was finished in 1889.")]) != [None]


def test_what_the_verifier_would_refuse_anyway_is_not_embedded() -> None:
    """The embedded one takes only contractions."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return alike(texts)

    cache = SemanticCache(embed)
    cache.store("g", {key("The tower was completed early."): VERDICT})

    assert cache.look_up("g", [key("The tower was finished early.")]) == [None]
    assert asked == []


def test_vectors_have_to_agree_too() -> None:
    """What the verifier allows is still a miss below the threshold."""
    cache = SemanticCache(embed=apart, threshold=0.5, equivalence=YES)
    cache.store("g", {key("The tower was completed in 1889."): VERDICT})

    assert cache.look_up("g", [key("The tower was finished in 1889.")]) == [None]


def test_the_most_similar_statement_gives_the_verdict() -> None:
    """Of several that may, whichever was stored first."""
    angles = {"completed": 0.0, "finished": 0.3, "built": 0.1, "ended": 0.2}
    groups = Thesaurus({*angles})
    texts = {word: f"The tower was {word} in 1889." for word in angles}

    def turned(asked: Sequence[str]) -> list[list[float]]:
        turns = [angles[text.split()[3]] for text in asked]
        return [[math.cos(turn), math.sin(turn)] for turn in turns]

    cache = SemanticCache(embed=turned, threshold=0.9, equivalence=groups)
    cache.store("g", {key(texts[word]): VERDICT for word in ("finished", "built", "ended")})
    (found,) = cache.look_up("g", [key(texts["completed"])])

    assert found is not None
    assert (found.taken_from, found.similarity) == (texts["built"], 0.995)


def test_vectors_of_another_model_are_asked_for_anew(tmp_path: Path) -> None:
    """Both models find all texts the same, but point elsewhere: their vectors are never mixed."""

    def upwards(texts: Sequence[str]) -> list[list[float]]:
        return [[0.0, 1.0] for _ in texts]

    path = tmp_path / "cache.sqlite3"
    SemanticCache(embed=alike, path=path, equivalence=YES).store(
        "g", {key("The tower was completed in 1889."): VERDICT}
    )
    for embed in (alike, upwards, alike):
        cache = SemanticCache(embed=embed, path=path, equivalence=YES)
        (found,) = cache.look_up("g", [key("The tower was finished in 1889.")])
        assert found is not None
        assert found.similarity == 1.0


def test_another_context_is_another_group() -> None:
    """The same words over other chunks are never found."""
    cache = SemanticCache(embed=alike, equivalence=YES)
    cache.store("g", {key("The tower was completed in 1889."): VERDICT})
    asked = [key("The tower was finished in 1889."), key("The tower was completed in 1889.")]

    assert cache.look_up("other", asked) == [None, None]
    assert None not in cache.look_up("g", asked)


@pytest.mark.parametrize(
    "given",
    [
        "openai/m",
        "embedded>openai/m",
        LLMVerifier(),
        CascadeVerifier(EmbeddedVerifier(), LLMVerifier()),
        5,
    ],
)
def test_equivalence_needs_a_verifier_of_this_machine(given: Any) -> None:
    """A call of a judge to save a call of a judge saves nothing."""
    with pytest.raises(ConfigurationError, match="expected a verifier that does not need a judge"):
        SemanticCache(embed=alike, equivalence=given)


def test_a_look_up_among_thousands_asks_for_few_vectors() -> None:
    """An index finds the candidates: work does not grow with what is stored."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return alike(texts)

    cache = SemanticCache(embed=embed, equivalence=YES)
    cache.store("g", {key(f"Tower {n} was completed early."): VERDICT for n in range(3_000)})
    (found,) = cache.look_up("g", [key("Tower 77 was finished early.")])

    assert found is not None
    assert found.taken_from == "Tower 77 was completed early."
    assert len(asked) == 2


def test_stored_vectors_are_asked_for_once(tmp_path: Path) -> None:
    """They stand beside the verdicts, also for the next process."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return alike(texts)

    path = tmp_path / "cache.sqlite3"
    first = SemanticCache(embed=embed, path=path, equivalence=YES)
    first.store("g", {key("The tower was completed in 1889."): VERDICT})
    for cache in (first, SemanticCache(embed=embed, path=path, equivalence=YES)):
        assert cache.look_up("g", [key("The tower was finished in 1889.")]) != [None]

    assert asked == [
        "The tower was finished in 1889.",
        "The tower was completed in 1889.",
        "The tower was finished in 1889.",
    ]


def test_methods_of_other_libraries_are_taken() -> None:
    """Such as LangChain's `embed_documents`; the model names the vectors."""

    class Chain:
        model = "m-1"

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return alike(texts)

    class Newer(Chain):
        model = "m-2"

    caches = [SemanticCache(kind().embed_documents) for kind in (Chain, Chain, Newer)]
    assert caches[0].policy == caches[1].policy != caches[2].policy
    with pytest.raises(ConfigurationError, match=r"embed is 5; expected a function that maps"):
        SemanticCache(embed=5)  # type: ignore[arg-type]  # what the error is for


def test_exact_hits_need_no_vector() -> None:
    """Only statements that are not known, and have a candidate, are embedded."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return alike(texts)

    cache = SemanticCache(embed=embed, equivalence=YES)
    cache.store("g", {key("a tower"): VERDICT, key("5 men"): VERDICT})
    cache.look_up("g", [key("a tower"), key("6 men"), key("a house")])

    assert asked == ["a house", "a tower"]


def test_vectors_come_from_an_endpoint(scripted: Start) -> None:
    """`/v1/embeddings`, all statements of an answer in one request."""
    judge = scripted(None)
    cache = SemanticCache("openai/text-embedding-3-small", 0.3, equivalence=YES)
    grader = by_sentences(cache)
    answer = "The tower was completed in 1889. Revenue rose by 12% in 2020."
    grader.grade(answer=answer, context=CONTEXT, client="openai/m")
    answer = "The tower was finished in 1889. Revenue increased by 12% in 2020."
    result = grader.grade(answer=answer, context=CONTEXT, client="openai/m")
    _, embedding = judge.requests

    assert embedding.path.endswith("/embeddings")
    assert embedding.body["model"] == "text-embedding-3-small"
    assert len(embedding.body["input"]) == 4
    assert result.statements[0].taken_from == "The tower was completed in 1889."


def test_many_texts_are_sent_in_batches(scripted: Start) -> None:
    """300 texts are two requests, and every text gets its own vector."""
    judge = scripted(None)
    vectors = embed_texts("openai/m", [f"text {n % 7}" for n in range(300)])

    assert [len(request.body["input"]) for request in judge.requests] == [256, 44]
    assert len(vectors) == 300
    assert vectors[0] == vectors[7] != vectors[1]


def test_vectors_are_put_in_the_order_of_their_texts(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their numbers, however a server sends them; one in trouble is asked five times."""
    judge = scripted(None)
    asked: list[Any] = []

    def answer(path: str, headers: Any, body: Any) -> Any:
        asked.append((path, body))
        if len(asked) < 5:
            return HttpError(500, headers={"retry-after-ms": "1"})
        vectors = [
            {"index": place, "object": "embedding", "embedding": [float(len(text))]}
            for place, text in enumerate(body["input"])
        ]
        return Raw({"object": "list", "model": "m", "data": vectors[::-1]})

    monkeypatch.setattr(judge, "answer", answer)
    assert embed_texts("openai/m", ["a", "bb", "ccc"]) == [[1.0], [2.0], [3.0]]
    body = {"model": "m", "input": ["a", "bb", "ccc"], "encoding_format": "float"}
    assert asked == [("/v1/embeddings", body)] * 5
    assert embed_texts("openai/m", []) == []


def test_an_endpoint_that_refuses_fails_the_row(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No vectors, no silent change of what the cache does."""
    judge = scripted(None)
    monkeypatch.setattr(judge, "answer", lambda *_: HttpError(401, "wrong key"))

    with pytest.raises(errors.JudgeRejectedError, match="rejects the key"):
        embed_texts("openai/m", ["a"])


def test_a_wrong_number_of_vectors_is_an_error() -> None:
    """Vectors must stand one to one with the texts."""
    cache = SemanticCache(embed=lambda texts: [], equivalence=YES)
    cache.store("g", {key("a tower"): VERDICT})

    with pytest.raises(ConfigurationError, match="returned 0 vectors for 2 texts"):
        cache.look_up("g", [key("a house")])


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_outside_is_refused(threshold: float) -> None:
    """0 to 1."""
    with pytest.raises(ConfigurationError, match="expected a number from 0 to 1"):
        SemanticCache(embed=alike, threshold=threshold)


def test_names_of_embedders() -> None:
    """`openai/MODEL`; anything else is refused."""
    assert SemanticCache("openai/x").policy != SemanticCache("openai/y").policy
    for wrong in ("x", "openai/", "local:x"):
        with pytest.raises(ConfigurationError, match="or 'openai/MODEL'"):
            SemanticCache(wrong)


@pytest.mark.parametrize("judge", ["openai/m", "embedded>openai/m"])
def test_a_verifier_that_asks_a_judge_is_refused(judge: str) -> None:
    """Its call would cost what the cache saves."""
    with pytest.raises(ConfigurationError, match=f"equivalence is '{judge}'; expected a verifier"):
        SemanticCache(embed=alike, equivalence=judge)


def test_the_cosine_of_packed_vectors() -> None:
    """Two bytes a number, length 1, right to three digits; other lengths share nothing."""
    first, second = pack_vector([3.0, 4.0]), pack_vector([4.0, 3.0])

    assert len(first) == 4
    assert pack_vector([30_000.0, 40_000.0]) == pack_vector([3e-5, 4e-5]) == first
    assert math.isclose(cosine(first, second), 24 / 25, abs_tol=1e-3)
    assert math.isclose(cosine(first, first), 1.0, abs_tol=1e-6)
    assert cosine(first, pack_vector([1.0])) == 0.0
    assert cosine(pack_vector([0.0]), pack_vector([0.0])) == 0.0


def test_a_semantic_cache_changes_the_fingerprint() -> None:
    """A run must not go on with verdicts of another policy; an exact cache changes nothing."""
    plain = TwoStepFaithfulness
    caches: list[Any] = [SemanticCache(alike), SemanticCache(alike, 0.9), SemanticCache(apart)]
    caches.append(SemanticCache(alike, equivalence=YES))
    prints = {plain.with_cache(cache).fingerprint() for cache in caches}

    assert len(prints | {plain.fingerprint()}) == 5
    assert plain.with_cache(StatementCache()).fingerprint() == plain.fingerprint()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_vector_without_numbers_is_an_error(number: float) -> None:
    """It would be similar to everything."""
    cache = SemanticCache(embed=lambda texts: [[number, 1.0] for _ in texts], equivalence=YES)
    cache.store("g", {key("a tower"): VERDICT})

    with pytest.raises(ConfigurationError, match="a vector that contains NaN or infinity"):
        cache.look_up("g", [key("a house")])


def test_vectors_of_another_length_never_match() -> None:
    """At any threshold: a model was exchanged under the same name."""
    lengths = iter([2, 3])
    cache = SemanticCache(
        embed=lambda texts: [[1.0] * next(lengths) for _ in texts], threshold=0.1, equivalence=YES
    )
    cache.store("g", {key("Revenue rose by 12%."): VERDICT})

    assert cache.look_up("g", [key("Revenue increased by 12%.")]) == [None]


class Only(Thesaurus):
    """Finds equal only what has one of these words; notes what it is asked."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words, self.asked = words, list[tuple[str, str]]()

    def _verdict(self, claim: str, chunk: str) -> Verdict:
        self.asked.append((claim, chunk))
        same = any(word in claim or word in chunk for word in self.words)
        return Verdict(float(same), same, (0,) if same else (), "by its words")


def worded(number: int) -> str:
    """Return a statement that differs from others in a word that says nothing special."""
    return f"The tower was z{chr(97 + number // 26)}{chr(97 + number % 26)}q early."


def test_the_newest_thirty_two_candidates_are_embedded() -> None:
    """However many there are."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return alike(texts)

    cache = SemanticCache(embed=embed, equivalence=Only())
    texts = [worded(number) for number in range(40)]
    cache.store("g", {key(text): VERDICT for text in texts})
    for age, text in enumerate(texts):
        cache._database.write(
            "UPDATE statements SET created = ? WHERE text = ?", [(float(-age), text)]
        )
    new = worded(50)

    assert cache.look_up("g", [key(new)]) == [None]
    assert asked == [new, *texts[:32]]


@pytest.mark.parametrize(("place", "is_found"), [(0, True), (3, True), (4, False)])
def test_the_four_most_similar_are_compared(place: int, is_found: bool) -> None:
    """The verifier takes time: the fifth is not looked at."""
    texts = [worded(number) for number in range(6)]

    def turned(asked: Sequence[str]) -> list[list[float]]:
        turns = [texts.index(text) / 50 if text in texts else 0.0 for text in asked]
        return [[math.cos(turn), math.sin(turn)] for turn in turns]

    only = Only(texts[place].split()[3])
    cache = SemanticCache(embed=turned, threshold=0.5, equivalence=only)
    cache.store("g", {key(text): VERDICT for text in reversed(texts)})
    (found,) = cache.look_up("g", [key(worded(50))])

    assert (found is not None and found.taken_from) == (texts[place] if is_found else False)
    first = [one for one, other in only.asked if other in texts and one not in texts]
    assert len(first) == (place + 1 if is_found else 4)


@pytest.mark.parametrize(
    ("threshold", "is_found"), [(1.0, True), (0.9553, True), (0.957, False), (None, True)]
)
def test_a_statement_as_similar_as_the_threshold_is_similar_enough(
    threshold: float | None, is_found: bool
) -> None:
    """0.95 unless another is given; how similar it was is told to four digits."""
    other = [1.0, 0.0] if threshold == 1.0 else [math.cos(0.3), math.sin(0.3)]

    def turned(texts: Sequence[str]) -> list[list[float]]:
        return [other if "finished" in text else [1.0, 0.0] for text in texts]

    given: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    cache = SemanticCache(embed=turned, equivalence=YES, **given)
    cache.store("g", {key("The tower was completed in 1889."): VERDICT})
    (found,) = cache.look_up("g", [key("The tower was finished in 1889.")])

    assert cache.threshold == (threshold or 0.95)
    assert (found is not None) is is_found
    if found is not None:
        exact = cosine(pack_vector(other), pack_vector([1.0, 0.0]))
        assert found.similarity == round(exact, 4)
        assert found.from_cache


def test_what_a_policy_is_made_of() -> None:
    """The threshold, the name of the embedder, and what the verifier was told."""
    one = SemanticCache(alike, 0.9, equivalence=YES)
    others = [
        SemanticCache(alike, 0.91, equivalence=YES),
        SemanticCache(apart, 0.9, equivalence=YES),
        SemanticCache(alike, 0.9, equivalence=Thesaurus({"a", "b"})),
        SemanticCache(alike, 0.9),
    ]

    assert len({cache.policy for cache in (one, *others)}) == 5
    assert SemanticCache(alike, 0.9, equivalence=YES).policy == one.policy


class Embedder:
    """A model of a library, which is called or has a method."""

    def __init__(self, **named: Any) -> None:
        for name, value in named.items():
            setattr(self, name, value)

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return alike(texts)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts."""
        return alike(texts)


@pytest.mark.parametrize(
    ("embed", "name"),
    [
        ("openai/m", "openai/m"),
        (alike, "alike"),
        (Embedder(), "Embedder"),
        (Embedder(model="a"), "Embedder a"),
        (Embedder(model_name="b"), "Embedder b"),
        (Embedder(model="a", model_name="b"), "Embedder a"),
        (Embedder(model=5, model_name="b"), "Embedder b"),
        (Embedder().embed, "Embedder.embed"),
        (Embedder(model="a").embed, "Embedder.embed a"),
    ],
)
def test_vectors_are_kept_under_the_name_of_what_made_them(embed: Any, name: str) -> None:
    """With that of the model, if it can be seen."""
    assert _named(embed)[0] == (name if "/" in name else f"{__name__}.{name}")


def test_statements_of_one_answer_are_looked_up_together() -> None:
    """Each by its own: one is known, one is like another, and one leans on what is before it."""
    cache = SemanticCache(embed=alike, equivalence=YES)
    texts = ["The tower was completed in 1889.", "Revenue rose by 12%."]
    cache.store("g", {key(text): replace(VERDICT, reason=text) for text in texts})
    leaning = StatementKey.of(Claim("It was completed in 1889.", before="A tower stands."))
    cache.store("g", {leaning: VERDICT})
    asked = [
        key("Revenue increased by 12%."),
        StatementKey.of(Claim("It was finished in 1889.", before="A tower stands.")),
        leaning,
        key(texts[0]),
        key("The tower was finished in 1889."),
        key("Nothing else."),
    ]
    found = cache.look_up("g", asked)

    assert [one and one.reason for one in found] == [
        *(texts[1], None, "said so", texts[0], texts[0], None),
    ]
    assert [one and one.taken_from for one in found] == [texts[1], None, None, None, texts[0], None]


def test_verifiers_with_judges_of_their_own_are_refused() -> None:
    """Whether they ask the grading's judge or name one themselves."""

    class Traits(Thesaurus):
        def __init__(self, **traits: Any) -> None:
            super().__init__()
            self.traits = VerifierTraits(**traits)

    for traits in ({"asks_judge": True}, {"endpoints": ("openai/m",)}):
        with pytest.raises(ConfigurationError, match="that does not need a judge"):
            SemanticCache(alike, equivalence=Traits(**traits))
    SemanticCache(alike, equivalence=Traits())
