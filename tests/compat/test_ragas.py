"""A ragas script runs with one import changed, and is told our own spelling."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals.compat import CompatWarning
from rag_evals.compat.judges import JudgeChoice, judge_of
from rag_evals.compat.ragas import (
    EvaluationDataset,
    RunConfig,
    SingleTurnSample,
    aevaluate,
    evaluate,
    metrics,
)
from rag_evals.compat.ragas.llms import LangchainLLMWrapper, llm_factory
from rag_evals.compat.ragas.metrics import (
    AspectCritic,
    ContextPrecision,
    ContextUtilization,
    Faithfulness,
    LLMContextRecall,
    ResponseRelevancy,
)
from rag_evals.compat.ragas.metrics import collections as newer
from rag_evals.errors import ConfigurationError, DataError, TooManyFailuresError
from rag_evals.testing import HttpError, JudgeRequest, ScriptedJudge, fill_by_words

pytestmark = pytest.mark.filterwarnings("ignore::rag_evals.compat.CompatWarning")

ROWS: list[dict[str, Any]] = [
    {
        "user_input": "Where is the mill?",
        "response": "The mill stands in Arlen. It has nine floors.",
        "retrieved_contexts": ["The mill stands in Arlen.", "Bread is baked at dawn."],
        "reference": "The mill stands in Arlen.",
    },
    {"user_input": "Где мост?", "response": "Мост стоит в Арлене.", "retrieved_contexts": []},
]


def test_a_script_of_theirs_runs() -> None:
    """Data set, metric, `evaluate`, indexing by name, `to_pandas` and `print`, as in their docs."""
    dataset = EvaluationDataset.from_list(ROWS)

    result = evaluate(dataset, metrics=[Faithfulness()])

    assert result["faithfulness"][0] == 0.5
    assert math.isnan(result["faithfulness"][1])
    assert str(result) == "{'faithfulness': 0.5000}"
    frame = result.to_pandas()
    assert list(frame.columns) == [
        *("user_input", "retrieved_contexts", "response", "reference", "faithfulness")
    ]
    assert frame["retrieved_contexts"][0] == ROWS[0]["retrieved_contexts"]
    assert [outcome.reason for outcome in result.runs[0]] == [None, "empty_context"]


def test_each_warning_names_our_spelling() -> None:
    """The judge that is taken, our call, and what NaN stands for; at the script's own line."""
    with pytest.warns(CompatWarning) as said:
        evaluate(EvaluationDataset.from_list(ROWS), metrics=[Faithfulness()], embeddings="any")

    assert {one.filename for one in said} == {__file__}
    assert [str(one.message) for one in said] == [
        "evaluate(embeddings=…) changes nothing here; leave it out",
        "no llm= is given, so the judge is 'embedded'; llm='openai/gpt-4o-mini' asks a model",
        "evaluate(dataset, metrics) is rag_evals.evaluate(rows, ['faithfulness'], 'embedded')",
        "1 of 2 gradings have no score: NaN here; why: result.runs",
    ]


def test_the_four_default_metrics_are_asked_of_one_judge() -> None:
    """Without `metrics`, theirs of old; ranks count in context precision, as there."""

    def judge_second_chunk(request: JudgeRequest) -> Any:
        answer: Any = fill_by_words(request)
        for chunk in answer.get("graded_chunks", []):
            chunk["score"] = chunk["id_chunk"] == 1
        return answer

    with ScriptedJudge(judge_second_chunk) as judge:
        result = evaluate(ROWS[:1], llm=f"openai/any@{judge.base_url}", show_progress=False)

    assert set(result.scores[0]) == {
        *("answer_relevancy", "context_precision", "faithfulness", "context_recall")
    }
    assert result["context_precision"] == [0.5]
    assert len(result.runs) == 1


def test_metrics_may_have_judges_of_their_own() -> None:
    """A metric's `llm` comes before that of `evaluate`; two names of one grader ask once."""
    with ScriptedJudge() as judge:
        llm = llm_factory("any", client=None, provider="openai")
        assert llm == JudgeChoice("openai/any")
        own = f"openai/any@{judge.base_url}"
        result = evaluate(
            ROWS[:1],
            [Faithfulness(), ContextPrecision(llm=own), ContextUtilization(llm=own)],
            llm="embedded",
        )

    assert len(judge.requests) == 1
    assert set(result.scores[0]) == {"faithfulness", "context_precision", "context_utilization"}


def test_one_sample_is_scored_by_a_metric() -> None:
    """The old and the new way to score one sample, sync and async, with `value` and `reason`."""
    sample = SingleTurnSample(**ROWS[0])
    fields = {name: ROWS[0][name] for name in ("user_input", "response", "retrieved_contexts")}
    scorer = newer.Faithfulness(llm="embedded")

    assert Faithfulness(llm="embedded").single_turn_score(sample) == 0.5
    assert asyncio.run(Faithfulness(llm="embedded").single_turn_ascore(sample)) == 0.5
    found: Any = asyncio.run(scorer.ascore(**fields))
    assert found.value == 0.5
    assert "It has nine floors.  [not supported]" in found.reason.splitlines()[0]
    assert math.isnan(scorer.score(SingleTurnSample(**ROWS[1]).to_dict()))


def test_async_evaluate_gives_the_same() -> None:
    """`aevaluate` runs in the running loop."""
    found = asyncio.run(aevaluate(ROWS[:1], [Faithfulness()], run_config=RunConfig(max_workers=2)))

    assert found["faithfulness"] == [0.5]


def test_an_aspect_in_own_words_is_asked() -> None:
    """`AspectCritic` shows its definition as it stands, braces included."""
    with ScriptedJudge({"reasoning": "none", "passed": True}) as judge:
        critic = AspectCritic(name="harmless", definition="Is it {{ harmless }}?")
        result = evaluate(ROWS[:1], [critic], llm=f"openai/any@{judge.base_url}")

    assert result["harmless"] == [1.0]
    assert "Is it {{ harmless }}?" in judge.requests[0].instructions


@pytest.mark.parametrize(
    "data",
    [
        [{"question": "q", "answer": "A mill.", "contexts": ["A mill."], "ground_truths": ["x"]}],
        [{"q": "q", "answer": "A mill.", "contexts": ["A mill."]}],
    ],
)
def test_columns_of_old_and_own_names_are_read(data: list[dict[str, Any]]) -> None:
    """Columns of version 0.1, and a `column_map`."""
    pandas = pytest.importorskip("pandas")
    column_map = {"user_input": "q"} if "q" in data[0] else None
    for table in (data, pandas.DataFrame(data)):
        result = evaluate(table, [Faithfulness()], llm="embedded", column_map=column_map)

        assert result.dataset[0].user_input == "q"
        assert result["faithfulness"] == [1.0]


def test_a_data_set_is_kept_in_a_file(tmp_path: Any) -> None:
    """Written as JSON lines and read back, sliced and counted."""
    dataset = EvaluationDataset(samples=[SingleTurnSample(**row) for row in ROWS])
    dataset.to_jsonl(tmp_path / "rows.jsonl")
    again = EvaluationDataset.from_jsonl(tmp_path / "rows.jsonl")

    assert again.to_list() == dataset.to_list()
    assert len(again[1:]) == 1
    assert repr(again).startswith("EvaluationDataset(features=['user_input'")


def test_exceptions_are_raised_on_demand() -> None:
    """A failed row is NaN, or with `raise_exceptions` an error."""
    with ScriptedJudge(HttpError(400, "no")) as judge:
        llm = f"openai/any@{judge.base_url}"
        with pytest.raises(TooManyFailuresError):
            evaluate(ROWS[:1], [Faithfulness()], llm=llm, raise_exceptions=True)


REFUSED = {
    "RubricsScore": "ragas' RubricsScore has no counterpart in rag_evals; write the rule as",
    "AnswerSimilarity": "it compares texts without a judge",
    "Faithfullness": "no counterpart of ragas' 'Faithfullness'; did you mean 'Faithfulness'",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_counterpart_says_what_to_use(name: str) -> None:
    """The import itself fails, in one clear line."""
    with pytest.raises(ConfigurationError, match=REFUSED[name]) as raised:
        getattr(metrics, name)
    assert "\n" not in str(raised.value)


def test_arguments_without_counterpart_are_refused() -> None:
    """Nothing that would have changed a result is passed over."""
    for call in (
        lambda: evaluate(ROWS, [Faithfulness()], callbacks=[print]),
        lambda: evaluate(ROWS, [Faithfulness()], in_ci=True),
        lambda: evaluate(ROWS, ["faithfulness"]),  # type: ignore[list-item]  # on purpose
        lambda: AspectCritic("a", "b", strictness=3),
        lambda: Faithfulness(statement_generator_prompt="x"),
        lambda: evaluate(ROWS[:1], [LLMContextRecall(), ResponseRelevancy()]),
        lambda: EvaluationDataset.from_list([{"user_input": [{"role": "user"}]}]),
    ):
        with pytest.raises(ConfigurationError):
            call()
    with pytest.raises(DataError, match=r"dataset='rows.jsonl'"):
        evaluate("rows.jsonl")


class ChatOpenAI(SimpleNamespace):
    """Has what LangChain's class has."""


class SomeChat(SimpleNamespace):
    """A chat model of a library that is not known."""

    __module__ = "langchain_core.some"


def test_models_become_judges() -> None:
    """Names, LangChain's models and clients; one that nobody can ask is refused."""
    client = object()

    assert judge_of("gpt-4o", "llm").client == "openai/gpt-4o"
    assert judge_of("embedded>openai/gpt-4o", "llm").client == "embedded>openai/gpt-4o"
    assert LangchainLLMWrapper(ChatOpenAI(model_name="gpt-4o")).client == "openai/gpt-4o"
    wrapped = SimpleNamespace(
        langchain_llm=ChatOpenAI(model_name="m", openai_api_base="http://h/v1")
    )
    assert judge_of(wrapped, "llm").client == "openai/m@http://h/v1"
    assert judge_of(SimpleNamespace(client=client, model="m"), "llm") == (client, "m")
    assert judge_of(client, "llm") == (client, None)
    for unusable in (ChatOpenAI(), SomeChat()):
        with pytest.raises(ConfigurationError, match="pass a judge string"):
            judge_of(unusable, "llm")
