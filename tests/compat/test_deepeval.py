"""A deepeval script runs with one import changed, and is told our own spelling."""

import asyncio
import re
from typing import Any

import pytest

from rag_evals.compat import CompatWarning
from rag_evals.compat.deepeval import assert_test, evaluate, metrics, test_case
from rag_evals.compat.deepeval.dataset import EvaluationDataset, Golden
from rag_evals.compat.deepeval.evaluation import AsyncConfig, DisplayConfig
from rag_evals.compat.deepeval.metrics import (
    ContextualPrecisionMetric,
    ContextualRelevancyMetric,
    FaithfulnessMetric,
    GEval,
)
from rag_evals.compat.deepeval.test_case import LLMTestCase, SingleTurnParams
from rag_evals.errors import ConfigurationError, NotScorableError
from rag_evals.testing import ScriptedJudge

pytestmark = pytest.mark.filterwarnings("ignore::rag_evals.compat.CompatWarning")

GOOD = LLMTestCase(
    input="Where is the mill?",
    actual_output="The mill stands in Arlen.",
    retrieval_context=["The mill stands in Arlen."],
)
HALF = LLMTestCase(
    input="Where is the mill?",
    actual_output="The mill stands in Arlen. It has nine floors.",
    retrieval_context=["The mill stands in Arlen."],
    name="half",
)
EMPTY = LLMTestCase(input="Where?", actual_output="The mill stands in Arlen.")


def test_a_metric_measures_a_case() -> None:
    """`measure`, `score`, `reason`, `is_successful`, sync and async, as in their docs."""
    metric = FaithfulnessMetric(threshold=0.7)

    assert metric.measure(HALF) == metric.score == 0.5
    assert not metric.is_successful()
    assert metric.reason is not None
    assert "It has nine floors.  [not supported]" in metric.reason.splitlines()[0]
    assert asyncio.run(metric.a_measure(GOOD)) == 1.0
    assert metric.is_successful()
    assert (metric.__name__, metric.evaluation_model) == ("Faithfulness", "embedded")
    assert metric.measure(GOOD) == 1.0
    with pytest.raises(NotScorableError):
        metric.measure(EMPTY)
    assert vars(metric)["score"] is None
    assert not metric.is_successful()


def test_a_strict_metric_gives_all_or_nothing() -> None:
    """`strict_mode` asks for 1, and `include_reason=False` gives none."""
    metric = FaithfulnessMetric(strict_mode=True, include_reason=False)

    assert (metric.measure(HALF), metric.threshold, metric.reason) == (0.0, 1.0, None)


def test_each_warning_names_our_spelling() -> None:
    """The judge that is taken, our call, and where the two tools differ."""
    with pytest.warns(CompatWarning) as said:
        FaithfulnessMetric().measure(GOOD)

    assert {one.filename for one in said} == {__file__}
    assert "model='openai/gpt-4o-mini' asks a model" in str(said[0].message)
    assert str(said[1].message).startswith(
        "FaithfulnessMetric is rag_evals.evaluate(rows, 'faithfulness', 'embedded'); a statement"
    )


def test_assert_test_fails_with_score_and_reason() -> None:
    """A case that passes says nothing; one that does not names metric, score and statement."""
    assert_test(GOOD, [FaithfulnessMetric()])
    with pytest.raises(AssertionError) as raised:
        assert_test(HALF, [FaithfulnessMetric(threshold=0.9)])
    assert str(raised.value).startswith(
        "Metrics: Faithfulness (score: 0.5, threshold: 0.9, strict: False, error: None, reason: -"
    )
    assert {str(entry.path) for entry in raised.traceback.filter(raised)} == {__file__}
    with pytest.raises(AssertionError, match="error: not scorable: empty_context"):
        assert_test(EMPTY, [FaithfulnessMetric()])


def test_evaluate_prints_and_returns_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    """`test_results` with `metrics_data`; what is printed can be switched off."""
    dataset = EvaluationDataset(goldens=[Golden(input="Where?")])
    for case in (GOOD, HALF, EMPTY):
        dataset.add_test_case(case)

    result = evaluate(dataset.test_cases, [FaithfulnessMetric(threshold=0.7)])
    printed = capsys.readouterr().out
    evaluate(dataset, [FaithfulnessMetric()], display_config=DisplayConfig(False, False))

    assert [one.success for one in result.test_results] == [True, False, False]
    assert [one.metrics_data[0].score for one in result.test_results] == [1.0, 0.5, None]
    assert result.test_results[2].metrics_data[0].error == "not scorable: empty_context"
    assert "FAILED  half" in printed
    assert printed.endswith("1 of 3 test cases passed\n")
    assert capsys.readouterr().out == ""


def test_ranks_count_in_contextual_precision() -> None:
    """One relevant chunk in second place: precision by ranks 0.5, share of chunks 0.5 of two."""
    reply = {
        "graded_chunks": [
            {"id_chunk": place, "reasoning": "none", "score": place == 2} for place in range(3)
        ]
    }
    case = LLMTestCase(input="q", actual_output="a", retrieval_context=["one", "two", "three"])
    with ScriptedJudge(reply) as judge:
        model = f"openai/any@{judge.base_url}"
        ranked = ContextualPrecisionMetric(model=model).measure(case)
        share = ContextualRelevancyMetric(model=model).measure(case)

    assert ranked == share == pytest.approx(1 / 3)


def test_a_rule_in_own_words_is_asked() -> None:
    """`GEval` shows its criteria and the fields that it names, and no other."""
    with ScriptedJudge({"reasoning": "polite", "label": 4}) as judge:
        metric = GEval(
            name="Politeness",
            criteria="Is the {{answer}} polite?",
            evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
            model=f"openai/any@{judge.base_url}",
        )
        score = metric.measure(HALF)

    assert (score, metric.__name__) == (0.75, "Politeness [GEval]")
    assert "Is the {{answer}} polite?" in judge.requests[0].instructions
    assert judge.requests[0].question is None
    assert judge.requests[0].answer == HALF.actual_output


@pytest.mark.parametrize("name", ["HallucinationMetric", "BiasMetric", "TurnFaithfulnessMetric"])
def test_what_has_no_counterpart_says_what_to_use(name: str) -> None:
    """The import itself fails, in one clear line."""
    line = re.compile(rf"deepeval's {name} has no counterpart in rag_evals; (use|it grades) .+")
    with pytest.raises(ConfigurationError) as raised:
        getattr(metrics, name)
    assert line.fullmatch(str(raised.value))


def test_arguments_without_counterpart_are_refused() -> None:
    """Nothing that would have changed a result is passed over."""
    for call in (
        lambda: evaluate([GOOD], [FaithfulnessMetric()], metric_collection="mine"),
        lambda: evaluate([GOOD], [FaithfulnessMetric()], classifiers=["x"]),
        lambda: evaluate([GOOD]),
        lambda: evaluate([GOOD], ["faithfulness"]),  # type: ignore[list-item]  # on purpose
        lambda: FaithfulnessMetric(evaluation_template=int),
        lambda: GEval("Politeness"),
        lambda: test_case.ConversationalTestCase,
    ):
        with pytest.raises(ConfigurationError):
            call()


def test_tasks_at_a_time_are_theirs() -> None:
    """`async_config` says how many cases are graded side by side."""
    with ScriptedJudge() as judge:
        model = f"openai/any@{judge.base_url}"
        evaluate(
            [GOOD, HALF],
            [FaithfulnessMetric(model=model)],
            async_config=AsyncConfig(max_concurrent=1),
        )

    assert judge.max_in_flight == 1


@pytest.mark.parametrize("threshold", ["0.5", 7, float("nan"), None])
def test_a_threshold_is_a_share(threshold: object) -> None:
    """What nothing could reach, or no number can be compared with, is refused."""
    with pytest.raises(ConfigurationError, match="threshold is .*; expected a number from 0 to 1"):
        FaithfulnessMetric(threshold=threshold)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 5, "a", [1]])
def test_what_is_no_test_case_is_named(given: Any) -> None:
    """One line, where deepeval's users would see an attribute that is missing."""
    metric = FaithfulnessMetric()
    with pytest.raises(ConfigurationError, match="no test case; expected an LLMTestCase"):
        assert_test(given, [metric])
    with pytest.raises(ConfigurationError, match="expected a(n| list of) LLMTestCase"):
        evaluate(given, [metric])
    with pytest.raises(ConfigurationError, match="metrics is 5; expected a list"):
        assert_test(LLMTestCase(input="q", actual_output="a"), 5)  # type: ignore[arg-type]  # none
