"""The semantic cache: similar vectors propose, the guard decides, the context must be the same."""

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rag_evals import TwoStepFaithfulness, errors
from rag_evals.cache import SemanticCache, StatementCache
from rag_evals.cache.embed import EndpointEmbedder, LocalEmbedder, embedder_from_string
from rag_evals.cache.semantic import cosine, pack_vector
from rag_evals.core import Verdict
from rag_evals.errors import ConfigurationError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.score_faithfulness_two_step import TwoStepGrader
from rag_evals.testing import HttpError, Script, ScriptedJudge
from rag_evals.verify import LLMVerifier

Start = Callable[[Script], ScriptedJudge]
VERDICT = Verdict(1.0, True, (0,), "said so", decided_by="judge")
CONTEXT = ["Revenue rose by 12% in 2020. The tower was completed in 1889."]


def alike(texts: Sequence[str]) -> list[list[float]]:
    """Find all texts the same: only the guard is left."""
    return [[1.0, 0.0] for _ in texts]


def apart(texts: Sequence[str]) -> list[list[float]]:
    """Find no two texts the same."""
    return [[float(place == n) for place in range(50)] for n, _ in enumerate(texts, len(texts))]


def by_sentences(cache: StatementCache) -> TwoStepGrader:
    """Make a grader whose only calls are verification calls."""
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=LLMVerifier())
    return grader.with_cache(cache)


def test_a_reworded_statement_takes_the_verdict(scripted: Start) -> None:
    """The hit says which statement it was taken from, and how similar the two are."""
    judge = scripted(None)
    grader = by_sentences(SemanticCache(embed=alike))
    grader.grade(answer="Revenue rose by 12% in 2020.", context=CONTEXT, client="openai/m")
    result = grader.grade(
        answer="In 2020, revenue increased by twelve percent.", context=CONTEXT, client="openai/m"
    )
    (found,) = result.statements

    assert len(judge.requests) == 1
    assert found.from_cache
    assert found.taken_from == "Revenue rose by 12% in 2020."
    assert found.similarity == 1.0
    assert result.tallies["by a similar statement"] == (1, 1)


@pytest.mark.parametrize(
    "answer", ["Revenue rose by 21% in 2020.", "Revenue did not rise by 12% in 2020."]
)
def test_the_guard_stays_on_at_any_threshold(scripted: Start, answer: str) -> None:
    """A threshold of 0 and equal vectors do not make 21 % of 12 %."""
    judge = scripted(None)
    grader = by_sentences(SemanticCache(embed=alike, threshold=0.0))
    grader.grade(answer="Revenue rose by 12% in 2020.", context=CONTEXT, client="openai/m")
    grader.grade(answer=answer, context=CONTEXT, client="openai/m")

    assert len(judge.requests) == 2


def test_vectors_have_to_agree_too() -> None:
    """What the guard allows is still a miss below the threshold."""
    cache = SemanticCache(embed=apart, threshold=0.5)
    cache.store("g", {"It costs $5.": VERDICT}, {"It costs $5.": pack_vector([1.0] + [0.0] * 49)})

    assert cache.look_up("g", ["It costs 5 dollars."]).verdicts == [None]


def test_another_context_is_another_group() -> None:
    """The same words over other chunks are never found."""
    cache = SemanticCache(embed=alike)
    vector = pack_vector([1.0, 0.0])
    cache.store("g", {"It costs $5.": VERDICT}, {"It costs $5.": vector})

    assert cache.look_up("other", ["It costs 5 dollars.", "It costs $5."]).verdicts == [None, None]
    assert cache.look_up("g", ["It costs 5 dollars."]).verdicts != [None]


def test_exact_hits_need_no_vector() -> None:
    """Only statements that are not known are embedded."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return alike(texts)

    cache = SemanticCache(embed=embed)
    cache.store("g", {"a": VERDICT}, {})
    cache.look_up("g", ["a", "b", "b"])

    assert asked == ["b"]


def test_vectors_come_from_an_endpoint(scripted: Start) -> None:
    """`/v1/embeddings`, all statements of an answer in one request, through the same client."""
    judge = scripted(None)
    grader = by_sentences(SemanticCache(embed="openai/text-embedding-3-small", threshold=0.3))
    answer = "The tower was completed in 1889. Revenue rose by 12% in 2020."
    grader.grade(answer=answer, context=CONTEXT, client="openai/m")
    embedding, verifying = judge.requests

    assert embedding.path.endswith("/embeddings")
    assert embedding.body["model"] == "text-embedding-3-small"
    assert embedding.texts == verifying.statements
    result = grader.grade(
        answer="The tower was finished in 1889.", context=CONTEXT, client="openai/m"
    )
    assert result.statements[0].taken_from == "The tower was completed in 1889."


def test_many_texts_are_sent_in_batches(scripted: Start) -> None:
    """300 texts are two requests, and every text gets its own vector."""
    judge = scripted(None)
    vectors = EndpointEmbedder("openai/m").embed([f"text {n % 7}" for n in range(300)])

    assert [len(request.texts) for request in judge.requests] == [256, 44]
    assert len(vectors) == 300
    assert vectors[0] == vectors[7] != vectors[1]


def test_an_endpoint_that_refuses_fails_the_row(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No vectors, no silent change of what the cache does."""
    judge = scripted(None)
    monkeypatch.setattr(judge, "_answer", lambda request: HttpError(401, "wrong key"))

    with pytest.raises(errors.JudgeRejectedError, match="refuses the key"):
        EndpointEmbedder("openai/m").embed(["a"])


def test_a_wrong_number_of_vectors_is_an_error() -> None:
    """Vectors must stand one to one with the texts."""
    cache = SemanticCache(embed=lambda texts: [])

    with pytest.raises(ConfigurationError, match="returned 0 vectors for 1 texts"):
        cache.look_up("g", ["a"])


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_outside_is_refused(threshold: float) -> None:
    """0 to 1."""
    with pytest.raises(ConfigurationError, match="expected a number from 0 to 1"):
        SemanticCache(embed=alike, threshold=threshold)


def test_names_of_embedders() -> None:
    """`openai/MODEL` and `local:MODEL`; anything else is refused."""
    assert isinstance(embedder_from_string("openai/x"), EndpointEmbedder)
    assert isinstance(embedder_from_string("local:x"), LocalEmbedder)
    assert embedder_from_string("local:x").name == "local:x"
    for wrong in ("x", "openai/", "local:"):
        with pytest.raises(ConfigurationError, match="expected 'openai/MODEL'"):
            embedder_from_string(wrong)


def test_local_embeddings_need_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sentence-transformers the error names the install command."""
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)

    with pytest.raises(errors.MissingExtraError, match=r"pip install 'rag-evals\[local\]'"):
        LocalEmbedder("x").embed(["a"])


def test_the_cosine_of_packed_vectors() -> None:
    """Two bytes a number, length 1, right to three digits; other lengths share nothing."""
    first, second = pack_vector([3.0, 4.0]), pack_vector([4.0, 3.0])

    assert len(first) == 4
    assert math.isclose(cosine(first, second), 24 / 25, abs_tol=1e-3)
    assert math.isclose(cosine(first, first), 1.0, abs_tol=1e-6)
    assert cosine(first, pack_vector([1.0])) == 0.0
    assert cosine(pack_vector([0.0]), pack_vector([0.0])) == 0.0


def test_a_semantic_cache_changes_the_fingerprint() -> None:
    """A run must not go on with verdicts of another policy; an exact cache changes nothing."""
    plain = TwoStepFaithfulness
    caches: list[Any] = [SemanticCache(alike), SemanticCache(alike, 0.9), SemanticCache(apart)]
    prints = {plain.with_cache(cache).fingerprint() for cache in caches}

    assert len(prints | {plain.fingerprint()}) == 4
    assert plain.with_cache(StatementCache()).fingerprint() == plain.fingerprint()


def test_what_is_on_disk_serves_the_next_process(tmp_path: Path) -> None:
    """Vectors are kept beside the verdicts."""
    path = tmp_path / "cache.sqlite3"
    first = SemanticCache(embed=alike, path=path)
    found = first.look_up("g", ["It costs $5."])
    first.store("g", {"It costs $5.": VERDICT}, found.vectors)
    first.close()
    (verdict,) = (
        SemanticCache(embed=alike, path=path).look_up("g", ["It costs 5 dollars."]).verdicts
    )

    assert verdict is not None
    assert verdict.taken_from == "It costs $5."


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_vector_without_numbers_is_an_error(scripted: Start, number: float) -> None:
    """It would be similar to everything."""
    scripted(None)
    grader = by_sentences(SemanticCache(embed=lambda texts: [[number, 1.0] for _ in texts]))

    with pytest.raises(ConfigurationError, match="a vector with NaN or infinite numbers"):
        grader.grade(answer="Revenue rose by 12%.", context=CONTEXT, client="openai/m")


def test_vectors_of_another_length_never_match(scripted: Start) -> None:
    """At any threshold: a model was exchanged under the same name."""
    judge = scripted(None)
    lengths = iter([2, 3])
    grader = by_sentences(
        SemanticCache(embed=lambda texts: [[1.0] * next(lengths) for _ in texts], threshold=0.0)
    )
    for answer in ("Revenue rose by 12% in 2020.", "In 2020, revenue rose by twelve percent."):
        grader.grade(answer=answer, context=CONTEXT, client="openai/m")

    assert len(judge.requests) == 2


def test_a_missing_library_is_found_before_anything_is_paid(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors are first needed when statements were extracted already."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "semantic")
    monkeypatch.setenv("RAG_EVALS_EMBEDDING_MODEL", "local:a/b")
    judge = scripted(None)

    if find_spec("sentence_transformers") is None:
        with pytest.raises(errors.MissingExtraError, match=r"rag-evals\[local\]"):
            TwoStepFaithfulness.grade(answer="It is.", context=["c"], client="openai/m")
    assert judge.requests == []
