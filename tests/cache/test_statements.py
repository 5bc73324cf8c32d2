"""Verdicts are kept and found again: for the same chunks, verifier, judge and statement only."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import instructor
import openai
import pytest

from rag_evals import Faithfulness, TwoStepFaithfulness, evaluate
from rag_evals.cache import SemanticCache, StatementCache, cached, configured_cache, database
from rag_evals.cache.statements import StatementKey, group_of
from rag_evals.core import (
    Claim,
    Evidence,
    Flow,
    Meter,
    Verdict,
    Verifier,
    VerifierChanges,
    VerifierTraits,
    fingerprint,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.grading import VerifiedFaithfulness
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.grading.grader import drive
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import CascadeVerifier, LLMVerifier
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]
OwnClient = tuple[Callable[..., Any], ScriptedJudge]
VERDICT = Verdict(0.9, True, (1, 0), "почему", (Evidence(1, 2, 5, "abc"),), decided_by="v")


def key(text: str) -> StatementKey:
    """Return the key of a statement that comes from no answer."""
    return StatementKey.of(Claim(text))


def by_sentences(cache: StatementCache | None = None) -> VerifiedFaithfulness:
    """Make a grader whose only calls are verification calls."""
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=LLMVerifier())
    return grader if cache is None else grader.with_cache(cache)


def test_a_verdict_comes_back_whole() -> None:
    """Every field survives, and the hit is marked."""
    cache = StatementCache()
    cache.store("g", {key("a"): VERDICT})
    (found,) = cache.look_up("g", [key("a")])

    assert found is not None
    assert found.from_cache
    assert (found.chunk_ids, found.evidence, found.reason) == (
        VERDICT.chunk_ids,
        VERDICT.evidence,
        VERDICT.reason,
    )
    assert cache.look_up("other", [key("a")]) == [None]


def test_a_second_grade_makes_no_call(scripted: Start) -> None:
    """Same answer, same chunks, same judge: the verdicts are known, and marked as such."""
    judge = scripted(None)
    grader = by_sentences(StatementCache())
    first = grader.grade(**EIFFEL, client="openai/m")
    second = grader.grade(**EIFFEL, client="openai/m")

    assert [request.statements for request in judge.requests] == [
        ["The Eiffel Tower stands in Paris.", "It was completed in 1923."]
    ]
    assert [s.from_cache for s in first.statements] == [False, False]
    assert [s.from_cache for s in second.statements] == [True, True]
    assert [s.is_supported for s in first.statements] == [s.is_supported for s in second.statements]
    assert (second.verification_calls, second.calls_saved) == (0, 1)


def test_only_the_unknown_are_sent(scripted: Start) -> None:
    """One new sentence in the answer is one statement in the call."""
    judge = scripted(None)
    grader = by_sentences(StatementCache())
    grader.grade(**EIFFEL, client="openai/m")
    longer = {
        **EIFFEL,
        "answer": f"The tower has four legs. {EIFFEL['answer']} The tower has four legs.",
    }
    result = grader.grade(**longer, client="openai/m")

    assert judge.requests[1].statements == ["The tower has four legs."]
    assert [s.from_cache for s in result.statements] == [False, True, True, False]


@pytest.mark.parametrize(
    "changed",
    [
        {"context": ["The Eiffel Tower stands in Paris.", "It was completed in 1888."]},
        {"context": list(reversed(EIFFEL["context"]))},
        {"client": "openai/other"},
        {"answer": "The Eiffel Tower stands in paris. It was completed in 1924."},
    ],
)
def test_whatever_could_change_a_verdict_is_a_miss(scripted: Start, changed: Any) -> None:
    """Other chunks, another order of chunks, another model or other words: asked again."""
    judge = scripted(None)
    grader = by_sentences(StatementCache())
    grader.grade(**EIFFEL, client="openai/m")
    grader.grade(**{**EIFFEL, "client": "openai/m", **changed})

    assert len(judge.requests) == 2
    assert len(judge.requests[1].statements) == 2


def test_another_server_is_another_judge(scripted: Start) -> None:
    """Two servers may call different models by one name."""
    grader = by_sentences(StatementCache())
    scripted(None)
    grader.grade(**EIFFEL, client="openai/m")
    other = scripted(None)
    grader.grade(**EIFFEL, client="openai/m")

    assert len(other.requests) == 1


def test_another_server_of_a_verifiers_own_judge_is_another_judge(scripted: Start) -> None:
    """The same holds for the endpoint that a verifier names itself, in a cascade too."""
    cache, own = StatementCache(), LLMVerifier(endpoint="openai/m")
    both = CascadeVerifier(EmbeddedVerifier(), own, unsure=(0, 1))
    for verifier in (own, both):
        grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=verifier)
        for _ in range(2):
            judge = scripted(None)
            grader.with_cache(cache).grade(**EIFFEL, client="openai/other")

            assert [request.body["model"] for request in judge.requests] == ["m"]


def test_a_verifier_that_is_cached_already_keeps_its_cache(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`cached(verifier, cache)` wins over the variables, and its hits are counted."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "exact")
    scripted(None)
    cache = StatementCache()
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=cached(LLMVerifier(), cache)
    )
    grader.grade(**EIFFEL, client="openai/m")
    run = evaluate([EIFFEL], [grader], "openai/m", progress=False)

    assert cache.count() == 2
    assert not (tmp_path / "cache").exists()
    assert run.summary().graders[grader.name].tallies == {
        "from the cache": (2, 2),
        "calls saved": (1, 1),
    }


def test_a_local_verifier_needs_no_judge() -> None:
    """Verdicts of the embedded verifier are shared whoever else is asked."""
    cache = StatementCache()
    verifier = cached(EmbeddedVerifier(), cache)
    first = drive(verifier.flow([Claim("It is in Paris.")], ["It is in Paris."]), None, Meter())
    (again,) = drive(verifier.flow([Claim("It is in Paris.")], ["It is in Paris."]), None, Meter())

    assert not first[0].from_cache
    assert again.from_cache
    assert verifier.fingerprint() == EmbeddedVerifier().fingerprint()


def test_a_cascade_is_cached_whole(scripted: Start) -> None:
    """Verdicts of both verifiers are kept, with who decided each."""
    judge = scripted(None)
    grader = VerifiedFaithfulness(extractor=SentenceExtractor(), cache=StatementCache())
    asked: Any = grader.grade(**EIFFEL, client="embedded>openai/m")
    kept: Any = grader.grade(**EIFFEL, client="embedded>openai/m")

    assert len(judge.requests) == 1
    assert [s.from_cache for s in asked.statements] == [False, False]
    assert [s.from_cache for s in kept.statements] == [True, True]
    for result in (asked, kept):
        assert [s.decided_by for s in result.statements] == ["embedded", "openai/m"]


def test_two_runs_over_one_file_verify_once(scripted: Start, tmp_path: Path) -> None:
    """Where a run keeps answers it keeps verdicts; the second run verifies nothing."""
    judge = scripted(None)
    rows = [EIFFEL, {**EIFFEL, "answer": "It was completed in 1889."}]
    first = evaluate(rows, [by_sentences()], "openai/m", progress=False, cache=True)
    asked = len(judge.requests)
    second = evaluate(rows, [by_sentences()], "openai/m", progress=False, cache=True)
    tallies = second.summary().graders["faithfulness_two_step"].tallies

    assert asked == 2
    assert len(judge.requests) == asked
    assert tallies == {"from the cache": (3, 3), "calls saved": (2, 2)}
    assert [o.score for o in first.outcomes] == [o.score for o in second.outcomes]
    assert (tmp_path / "cache" / "cache.sqlite3").exists()


@pytest.mark.parametrize(("mode", "cache"), [("off", True), ("exact", False)])
def test_off_means_off(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, mode: str, cache: bool
) -> None:
    """`RAG_EVALS_STATEMENT_CACHE=off` keeps no verdict, and neither does a run without a cache."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", mode)
    scripted(None)
    for _ in range(2):
        run = evaluate([EIFFEL], [by_sentences()], "openai/m", progress=False, cache=cache)
        tallies = run.summary().graders["faithfulness_two_step"].tallies
        assert tallies == {"calls saved": (0, 1)}


def test_the_environment_turns_it_on(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """`RAG_EVALS_STATEMENT_CACHE=exact` serves single grades and runs alike."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "exact")
    judge = scripted(None)
    by_sentences().grade(**EIFFEL, client="openai/m")
    evaluate([EIFFEL], [by_sentences()], "openai/m", progress=False)

    assert len(judge.requests) == 1


def test_a_single_grade_keeps_nothing_unasked(scripted: Start, tmp_path: Path) -> None:
    """Only runs write to the user's cache folder by themselves."""
    scripted(None)
    by_sentences().grade(**EIFFEL, client="openai/m")

    assert not (tmp_path / "cache").exists()


def test_an_object_wins_over_the_environment(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cache that was passed is used, whatever the variables say."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "exact")
    judge = scripted(None)
    cache = StatementCache()
    for _ in range(2):
        by_sentences(cache).grade(**EIFFEL, client="openai/m")

    assert len(judge.requests) == 1
    assert cache.count() == 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RAG_EVALS_STATEMENT_CACHE", "on", "is 'on'; expected off or exact"),
        ("RAG_EVALS_CACHE_MAX_MB", "much", "is 'much'; expected a number of megabytes above 0"),
        ("RAG_EVALS_CACHE_MAX_MB", "-1", "is '-1'; expected a number of megabytes above 0"),
    ],
)
def test_a_wrong_variable_says_what_would_be_right(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    """A typing error in a variable is not silently ignored."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "exact")
    monkeypatch.setenv(name, value)

    with pytest.raises(ConfigurationError, match=message):
        configured_cache()


def test_a_configured_cache_is_opened_once(tmp_path: Path) -> None:
    """A file of an earlier process is read; one that was deleted meanwhile is made anew."""
    path = tmp_path / "own.sqlite3"
    earlier = StatementCache(path)
    earlier.store("g", {key("a"): VERDICT})
    earlier.close()
    cache = configured_cache("exact", path)

    assert cache is not None
    assert (cache.path, cache.count()) == (path, 1)
    assert configured_cache("exact", path) is cache
    assert configured_cache("off", path) is None
    path.unlink()
    anew = configured_cache("exact", path)
    assert anew is not None
    assert (anew is cache, anew.count(), path.exists()) == (False, 0, True)


def test_verdicts_of_a_judge_that_nobody_can_name_are_not_kept(scripted: Start) -> None:
    """Another model might answer the next time."""
    judge, cache = scripted(None), StatementCache()
    verifier = cached(LLMVerifier(model="m"), cache)
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=verifier)
    with openai.OpenAI() as sdk:
        own = instructor.from_openai(sdk)
        for _ in range(2):
            result = grader.grade(**EIFFEL, client=own)

    assert (len(judge.requests), cache.count()) == (2, 0)
    assert [one.from_cache for one in result.statements] == [False, False]


@pytest.mark.parametrize("client", ["embedded", "openai/m"])
def test_a_wrong_variable_is_refused_where_no_cache_is_opened(
    monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """A grader that keeps no verdicts does not pass over what the variable says."""
    monkeypatch.setenv("RAG_EVALS_STATEMENT_CACHE", "да")

    with pytest.raises(ConfigurationError, match="is 'да'; expected off or exact"):
        Faithfulness.grade(**EIFFEL, client=client)


def test_two_caches_share_one_file(tmp_path: Path) -> None:
    """What one process keeps, another finds."""
    path = tmp_path / "shared.sqlite3"
    writer, reader = StatementCache(path), StatementCache(path)
    writer.store("g", {key(f"statement {number}"): VERDICT for number in range(50)})

    assert reader.count() == 50
    assert reader.look_up("g", [key("statement 7")]) != [None]


@pytest.mark.slow
def test_processes_share_one_file(tmp_path: Path) -> None:
    """Four processes write the same and other verdicts at once; none is lost, none fails."""
    path = tmp_path / "shared.sqlite3"
    StatementCache(path).close()
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        assert list(pool.map(keep_verdicts, [path] * 4, range(4))) == [0] * 4

    assert StatementCache(path).count() == 4 * 25 + 25


def keep_verdicts(path: Path, process: int) -> int:
    """Keep 25 verdicts of one's own and 25 that all keep; return how many are not found again."""
    cache = StatementCache(path)
    for number in range(25):
        new = {key(f"{process} {number}"): VERDICT, key(f"all {number}"): VERDICT}
        cache.store("g", new)
    names = [key(f"{process} {number}") for number in range(25)]
    return cache.look_up("g", names).count(None)


def test_a_file_that_is_held_costs_no_grade(
    scripted: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was paid for comes back; the log says that nothing was kept."""
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    scripted(None)
    cache = StatementCache(tmp_path / "held.sqlite3")
    with closing(sqlite3.connect(tmp_path / "held.sqlite3")) as holder:
        holder.execute("BEGIN IMMEDIATE")
        result = by_sentences(cache).grade(**EIFFEL, client="openai/m")

    assert len(result.statements) == 2
    assert "nothing was stored in the cache file" in caplog.text


def test_a_closed_cache_says_so(scripted: Start) -> None:
    """One error of ours, before anything is asked."""
    judge = scripted(None)
    cache = StatementCache()
    cache.close()

    with pytest.raises(ConfigurationError, match="cannot be used .*closed.*; open it again"):
        by_sentences(cache).grade(**EIFFEL, client="openai/m")
    assert judge.requests == []


def test_groups_differ_by_every_part() -> None:
    """Chunks, verifier and judges each name another group."""
    groups = {
        group_of(["a", "b"], "f", ["j"]),
        group_of(["b", "a"], "f", ["j"]),
        group_of(["ab"], "f", ["j"]),
        group_of(["a", "b"], "g", ["j"]),
        group_of(["a", "b"], "f", ["k"]),
        group_of(["a", "b"], "f", ["j", "k"]),
    }

    assert len(groups) == 6
    # What was kept before is found in every version that gives verdicts the same meaning.
    assert fingerprint(4, ["a", "b"], "f", ["j"]) in groups


def test_a_claim_that_leans_on_its_question_is_kept_with_it(scripted: Start) -> None:
    """One sentence under two questions is two claims, each with a verdict of its own."""
    judge = scripted(None)
    grader = by_sentences(StatementCache())
    asked = {"answer": "It was completed in 1889.", "context": EIFFEL["context"]}
    questions = [f"When was the {name} completed?" for name in ("Eiffel Tower", "Louvre Pyramid")]
    for question in [*questions, questions[0]]:
        grader.grade(**asked, question=question, client="openai/m")

    assert len(judge.requests) == 2


@pytest.mark.parametrize("again", ["«It» is **12 %** tall [1]", "“It” is 12% tall."])
def test_typography_does_not_hide_a_verdict(again: str) -> None:
    """Quotes, spaces, emphasis, citation marks and the final stop are no part of a statement."""
    cache = StatementCache()
    cache.store("g", {key('"It" is 12% tall.'): VERDICT})
    (found,) = cache.look_up("g", [key(again)])

    assert found is not None
    assert found.taken_from is None


def test_what_leans_on_a_question_is_kept_with_it() -> None:
    """`It was completed in 1889.` is another statement behind another question or neighbour."""
    text = "It was completed in 1889."
    claims = [
        Claim(text, text, None, "When was the Louvre Pyramid completed?"),
        Claim(text, text, None, "When was the Eiffel Tower completed?"),
        Claim(text, text, "The tower is high.", "When was the Eiffel Tower completed?"),
        Claim(text),
    ]

    assert len({StatementKey.of(claim).name for claim in claims}) == 4
    alone = [Claim("The tower is high.", None, None, question) for question in ("a?", "b?")]
    assert len({StatementKey.of(claim).name for claim in alone}) == 1
    assert len({StatementKey.of(claim, with_question=True).name for claim in alone}) == 2


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "null",
        "[]",
        '{"support": 1}',
        b"\xff\xfe",
        b'{"support": 1, "is_supported": true, "chunk_ids": [], "reason": "\xff"}',
        '{"support": "high", "is_supported": true, "chunk_ids": [0], "reason": "r"}',
        '{"support": 7, "is_supported": true, "chunk_ids": [0], "reason": "r"}',
        '{"support": 1, "is_supported": true, "chunk_ids": [9], "reason": "r"}',
    ],
)
def test_an_entry_that_cannot_be_read_is_a_miss(
    scripted: Start, tmp_path: Path, damaged: str | bytes
) -> None:
    """It is decided again and replaced; no row fails by it."""
    path = tmp_path / "verdicts.sqlite3"
    judge = scripted(None)
    grader = by_sentences(StatementCache(path))
    grader.grade(**EIFFEL, client="openai/m")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE statements SET verdict = ?", (damaged,))
    for _ in range(2):
        result = grader.grade(**EIFFEL, client="openai/m")

    assert len(judge.requests) == 2
    assert [s.from_cache for s in result.statements] == [True, True]


@pytest.fixture
def own_client(scripted: Start) -> Iterator[OwnClient]:
    """Make instructor clients of a user's own over one judge, closed at the end."""
    judge = scripted(None)
    with ExitStack() as stack:

        def make(
            *,
            mode: str = "TOOLS",
            key: str = "k-1",
            headers: Mapping[str, str] = MappingProxyType({"X-Tenant": "a"}),
            **arguments: Any,
        ) -> Any:
            sdk = openai.OpenAI(base_url=judge.base_url, api_key=key, default_headers=headers)
            stack.enter_context(sdk)
            return instructor.from_openai(sdk, mode=instructor.Mode[mode], model="m", **arguments)

        yield make, judge


@pytest.mark.parametrize(
    "changed", [{"headers": {"X-Tenant": "b"}}, {"temperature": 0.7}, {"mode": "JSON_SCHEMA"}]
)
def test_another_client_of_ones_own_does_not_share(
    own_client: OwnClient, tmp_path: Path, changed: dict[str, Any]
) -> None:
    """Headers, temperature and mode may each change an answer: verdicts and replies."""
    make, judge = own_client
    grader = by_sentences(StatementCache())
    counts = []
    for options in ({}, {}, changed):
        grader.grade(**EIFFEL, client=make(**options))
        counts.append(len(judge.requests))
    assert counts == [1, 1, 2]

    for options in ({}, {}, changed):
        client = make(**options)
        evaluate([EIFFEL], client=client, cache=tmp_path / "c.sqlite3", progress=False)
    assert len(judge.requests) == 4


def test_a_temperature_of_the_run_differs_from_that_of_ones_own_client(
    own_client: OwnClient, tmp_path: Path
) -> None:
    """A run that asks for 0 gets no reply that was made with the client's temperature."""
    make, judge = own_client
    for settings in (None, None, {"temperature": 0}):
        client, cache = make(temperature=0.7), tmp_path / "c.sqlite3"
        evaluate([EIFFEL], client=client, settings=settings, cache=cache, progress=False)

    assert [request.body["temperature"] for request in judge.requests] == [0.7, 0]


def test_a_key_is_no_part_of_who_is_asked(own_client: OwnClient) -> None:
    """A new key of the same owner costs nothing."""
    make, judge = own_client
    grader = by_sentences(StatementCache())
    for name in ("k-1", "k-2"):
        headers = {"X-Api-Key": name, "Authorization": f"Bearer {name}"}
        grader.grade(**EIFFEL, client=make(key=name, headers=headers))

    assert len(judge.requests) == 1


@pytest.mark.parametrize(
    "text",
    [
        "That was in 1889.",
        "The latter was completed in 1889.",
        "Both were completed in 1889.",
        "Neither was completed in 1889.",
        "One was completed in 1889.",
        "The second was completed in 1889.",
        "Там он жил до 1889 года.",
        "Оба закрылись в 1889 году.",
        "Тогда это стоило 5 рублей.",
    ],
)
def test_what_points_back_is_kept_with_question_and_sentence(text: str) -> None:
    """Behind another question, or another sentence, it says something else."""
    keys = {
        StatementKey.of(Claim(text, before=before, question=question)).name
        for before in ("A stands.", "B stands.")
        for question in ("When was A built?", "When was B built?")
    }

    assert len(keys) == 4


class Noting:
    """A verifier that notes what it is asked, and gives each claim its number as the reason."""

    def __init__(self, *, decided_by: str = "", excess: int = 0, **traits: Any) -> None:
        self.name, self.told = "noting", "noting 1"
        self.asked: list[list[str]] = []
        self.traits = VerifierTraits(**traits)
        self._decided_by, self._excess = decided_by, excess

    def fingerprint(self) -> str:
        """Return what it was told."""
        return self.told

    def adapt(self, changes: VerifierChanges) -> Any:
        """Return one that is told a language."""
        adapted = Noting()
        adapted.told = f"noting {changes.language}"
        return adapted

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Decide at once."""
        self.asked.append([claim.text for claim in claims])
        yield from ()
        number = sum(map(len, self.asked)) - len(claims)
        verdicts = [
            Verdict(1.0, True, (0,), str(number + place), decided_by=self._decided_by)
            for place in range(len(claims))
        ]
        return [*verdicts, *verdicts[: self._excess]]


def decide(
    verifier: Verifier, *claims: str | Claim, judge: str | None = None, chunk: str = "c"
) -> list[Verdict]:
    """Return a verifier's verdicts, in a grading whose judge has this identity."""
    asked = [Claim(one) if isinstance(one, str) else one for one in claims]
    asks: Any = SimpleNamespace(identity=judge)
    return drive(verifier.flow(asked, [chunk]), asks, Meter())


def test_each_statement_is_decided_once_and_in_its_order() -> None:
    """Of equal ones the first; each place gets the verdict of its statement, new or known."""
    verifier = Noting()
    kept = cached(verifier, StatementCache())
    first = decide(kept, "A is.", "B is.", "**A** is", "C is.", "B is.")
    again = decide(kept, "D is.", "C is.", "D is.", "A is.")

    assert verifier.asked == [["A is.", "B is.", "C is."], ["D is."]]
    assert [one.reason for one in first] == ["0", "1", "0", "2", "1"]
    assert [one.from_cache for one in first] == [False] * 5
    assert [(one.reason, one.from_cache) for one in again] == [
        ("3", False),
        ("2", True),
        ("3", False),
        ("0", True),
    ]


@pytest.mark.parametrize(("decided_by", "named"), [("", "noting"), ("a stage", "a stage")])
def test_who_decided_is_kept(decided_by: str, named: str) -> None:
    """The part of a cascade if the verdict names one, and else the verifier."""
    kept = cached(Noting(decided_by=decided_by), StatementCache())

    assert [decide(kept, "A is.")[0].decided_by for _ in range(2)] == [named, named]


def test_a_wrong_number_of_verdicts_is_kept_nowhere() -> None:
    """It is an error, and not verdicts of other statements."""
    cache = StatementCache()
    with pytest.raises(VerifierError, match="returned 2 verdicts for 1 statements"):
        decide(cached(Noting(excess=1), cache), "A is.")
    assert cache.count() == 0


@pytest.mark.parametrize(("reads", "asked"), [(True, 2), (False, 1)])
def test_a_verifier_that_reads_the_question_is_asked_behind_each(reads: bool, asked: int) -> None:
    """Even of a statement that stands on its own, both within a grading and in the next one."""
    verifier = Noting(reads_question=reads)
    kept = cached(verifier, StatementCache())
    claims = [Claim("The tower is high.", None, None, question) for question in ("a?", "b?", " a?")]
    decide(kept, *claims)

    assert verifier.asked == [["The tower is high."] * asked]
    assert [one.from_cache for one in decide(kept, *claims)] == [True] * 3
    assert decide(kept, Claim("The tower is high.", question="c?"))[0].from_cache is not reads


@pytest.mark.parametrize(
    ("traits", "judges", "is_known"),
    [
        ({}, ("x", "x"), True),
        ({}, ("x", "y"), True),
        ({}, (None, None), True),
        ({"asks_judge": True}, ("x", "x"), True),
        ({"asks_judge": True}, ("x", "y"), False),
        ({"asks_judge": True}, (None, None), False),
        ({"endpoints": ("openai/m",)}, ("x", "y"), True),
        ({"endpoints": ("openai/m",)}, (None, None), True),
    ],
)
def test_the_judge_counts_where_the_verifier_asks_it(
    traits: dict[str, Any], judges: tuple[str | None, str | None], is_known: bool
) -> None:
    """Whoever else is asked in the grading; a judge that nobody can name is never known."""
    verifier = Noting(**traits)
    kept = cached(verifier, StatementCache())
    for judge in judges:
        (found,) = decide(kept, "A is.", judge=judge)

    assert found.from_cache is is_known
    assert len(verifier.asked) == (1 if is_known else 2)


def test_verdicts_of_other_verifiers_chunks_and_endpoints_are_kept_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one cache: by what a verifier was told, and not by its name alone."""
    cache = StatementCache()
    one, told, own = Noting(), Noting(), Noting(endpoints=("openai/m",))
    told.told = "noting 2"
    for verifier in (one, told, own):
        decide(cached(verifier, cache), "A is.")
    decide(cached(one, cache), "A is.", chunk="d")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    decide(cached(own, cache), "A is.")
    for verifier in (one, told, own):
        assert decide(cached(verifier, cache), "A is.")[0].from_cache

    assert [len(verifier.asked) for verifier in (one, told, own)] == [2, 1, 2]
    assert cache.count() == 5


def test_a_new_verdict_takes_the_place_of_the_old_one() -> None:
    """The later one is found, and only in its own group."""
    cache = StatementCache()
    cache.store("g", {key("a"): VERDICT, key("b"): VERDICT})
    cache.store("g", {key("a"): replace(VERDICT, support=0.25)})
    cache.store("h", {key("a"): replace(VERDICT, support=0.5)})

    assert cache.count() == 3
    for group, supports in (("g", [0.25, 0.9]), ("h", [0.5, None])):
        found = cache.look_up(group, [key("a"), key("b")])
        assert [one and one.support for one in found] == supports


def test_a_cached_verifier_has_the_traits_of_its_own() -> None:
    """With the kind of its cache; what is changed in it is changed in the verifier."""
    verifier = Noting(asks_judge=True, threshold=0.5)
    kept = cached(verifier, StatementCache())

    assert kept.name == "noting"
    assert replace(kept.traits, check=None) == VerifierTraits(
        asks_judge=True, threshold=0.5, stages=(verifier,), cache_mode="exact"
    )
    assert kept.adapt(VerifierChanges(language="ru")).fingerprint() == "noting ru"
    semantic = SemanticCache(lambda _: [])
    assert cached(verifier, semantic).traits.cache_mode == "semantic"
    prints = {cached(verifier, one).fingerprint() for one in (semantic, StatementCache())}
    assert "noting 1" in prints
    assert len(prints) == 2


def test_both_the_verifier_and_the_cache_are_checked() -> None:
    """Before the first call: the verifier's own fault comes first."""

    class Unusable(Noting):
        def verify(self, claims: Sequence[Any], chunks: Sequence[str]) -> list[Verdict]:
            raise AssertionError("it cannot be used")

    def refuse(name: str) -> Callable[[], None]:
        def check() -> None:
            raise ConfigurationError(f"{name} cannot be used")

        return check

    semantic = SemanticCache(lambda _: [], equivalence=Unusable(check=refuse("the model")))
    for own, cache, fault in (
        (Noting(check=refuse("the verifier")), StatementCache(), "the verifier cannot"),
        (Noting(check=refuse("the verifier")), semantic, "the verifier cannot"),
        (Noting(check=lambda: None), semantic, "the model cannot"),
        (Noting(), semantic, "the model cannot"),
    ):
        check = cached(own, cache).traits.check
        assert check is not None
        with pytest.raises(ConfigurationError, match=fault):
            check()
    check = cached(Noting(), StatementCache()).traits.check
    assert check is not None
    check()


@pytest.mark.parametrize(
    ("claim", "leans_on"),
    [
        (Claim("**The tower** is high [1].", "The tower is high.", "Well.", "How?"), None),
        (Claim("It is high.", "It is high.", None, None), None),
        (Claim("It is high.", "It is **high** [1].", None, None), None),
        (
            Claim("It is high.", "It is high, as all say.", None, None),
            (0, "It is high, as all say"),
        ),
        (Claim("It is high.", None, "**The tower** stands [2].", None), (1, "The tower stands")),
        (Claim("It is high.", None, None, "**Is** it?"), (2, "Is it?")),
    ],
)
def test_a_key_holds_what_the_statement_leans_on(
    claim: Claim, leans_on: tuple[int, str] | None
) -> None:
    """In plain form and in its place; the sentence only where it says more than the statement."""
    found = StatementKey.of(claim)
    parts = ["", "", ""]
    if leans_on is not None:
        place, parts[place] = leans_on

    assert found.text == claim.text
    assert found.setting == (fingerprint(tuple(parts)) if leans_on else "")
    assert found.name == "\n".join(filter(None, (found.plain, found.setting)))


def test_a_question_that_is_read_counts_in_plain_form() -> None:
    """Also one of a statement that stands on its own; no question is none."""
    text = "The tower is high."
    asked = [
        StatementKey.of(Claim(text, question=question), with_question=True)
        for question in ("«Is» it?", '"Is" it?', "Was it?", "", None)
    ]

    assert asked[0].name == asked[1].name != asked[2].name
    assert [one.setting for one in asked[3:]] == ["", ""]
