"""Classifiers in a judge's name: in cascades with others, and with labels that have no names."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals import Faithfulness, TwoStepFaithfulness, evaluate, tune
from rag_evals.cli.main import app
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import CascadeVerifier, ClassifierVerifier, LLMVerifier
from tests.classifiers.models import CHUNKS, STATEMENTS, pair
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of others warn as they like

ROW: dict[str, Any] = {
    "answer": "The tower stands in Paris. The tower was finished in 1923. Cats purr at home.",
    "context": ["The tower stands in Paris. It was finished in 1889."],
}
UNNAMED = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}


def test_embedded_then_a_classifier(tmp_path: Path) -> None:
    """`embedded>hf:FOLDER`, no key: the classifier decides what words leave open, as it would."""
    name = f"hf:{pair(tmp_path, 'bert')}"
    result: Any = Faithfulness.grade(**ROW, client=f"embedded>{name}")
    sentences = [s.statement for s in result.statements]
    by_words = EmbeddedVerifier().verify(sentences, ROW["context"])
    by_model = ClassifierVerifier(name.removeprefix("hf:")).verify(sentences, ROW["context"])
    open_ = [verdict.support <= 0.8 for verdict in by_words]

    assert any(open_)
    assert not all(open_)
    assert [s.decided_by for s in result.statements] == [
        name if unsure else "embedded" for unsure in open_
    ]
    assert [s.support for s in result.statements] == pytest.approx(
        [m.support if o else w.support for o, w, m in zip(open_, by_words, by_model, strict=True)]
    )


def test_a_classifier_then_a_model(scripted: Start, tmp_path: Path) -> None:
    """The judge is asked for that statement alone that lies in the classifier's band."""
    judge = scripted(None)
    model = pair(tmp_path, "bert")
    answer = " ".join(f"{one.removesuffix(' .').capitalize()}." for one in STATEMENTS)
    alone: Any = Faithfulness.grade(answer=answer, context=CHUNKS, client=f"hf:{model}")
    supports = [s.support for s in alone.statements]
    low, high = (sum(two) / 2 for two in pairwise(sorted(supports)))
    first = ClassifierVerifier(model, threshold=(low + high) / 2)
    cascade = CascadeVerifier(first, LLMVerifier(name="judge"), unsure=(low, high))
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=cascade)
    result = grader.grade(answer=answer, context=CHUNKS, client="openai/m")
    asked = [s.statement for s in result.statements if s.decided_by == "judge"]

    assert len(set(supports)) == 3
    assert [request.statements for request in judge.requests] == [asked]
    assert [s.decided_by for s in result.statements].count(first.name) == 2
    assert asked == [alone.statements[supports.index(sorted(supports)[1])].statement]


def test_a_cascade_from_the_command_line(scripted: Start, tmp_path: Path) -> None:
    """`hf:FOLDER>openai/m` says who decided, and saves the calls that it can."""
    judge = scripted(None)
    name = f"hf:{pair(tmp_path / 'model', 'bert')}"
    alone: Any = Faithfulness.grade(**EIFFEL, client=name)
    unsure = sum(s.support <= 0.8 for s in alone.statements)
    ended = grade(tmp_path, f"{name}>openai/m")

    assert ended.exit_code == 0, ended.output
    assert f"decided by openai/m {unsure} of 2" in " ".join(ended.output.split())
    assert sum(len(request.statements) for request in judge.requests) == unsure


def test_a_cascade_of_three(scripted: Start, tmp_path: Path) -> None:
    """`embedded>hf:FOLDER>openai/m` asks the model what words and the classifier leave open."""
    judge = scripted(None)
    name = f"hf:{pair(tmp_path, 'bert')}"
    result: Any = Faithfulness.grade(**ROW, client=f"embedded>{name}>openai/m")
    two: Any = Faithfulness.grade(**ROW, client=f"embedded>{name}")
    left = [s.statement for s in two.statements if s.decided_by == name and s.support <= 0.8]
    asked = [s.statement for s in result.statements if s.decided_by == "openai/m"]

    assert asked == left
    assert sum(len(request.statements) for request in judge.requests) == len(left)


def test_a_classifier_is_tuned(tmp_path: Path) -> None:
    """Labels map its scores; the file is bound to its weights."""
    name = f"hf:{pair(tmp_path / 'one', 'bert')}"
    rows = [
        {"id": f"r{n}", "answer": f"The tower {n} stands in {city}.", "context": ROW["context"]}
        for n, city in enumerate(["Paris", "Rome", "a home", "1889"] * 10)
    ]
    run = evaluate(rows, client=name)
    found = {outcome.sample_id: outcome.findings[0] for outcome in run}
    middle = sorted(one.support or 0.0 for one in found.values())[20]
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(
            json.dumps({"sample_id": row, "text": one.text, "label": (one.support or 0) >= middle})
            + "\n"
            for row, one in found.items()
        )
    )
    tuning = tune(run, labels)
    again = evaluate(rows, client=name, tuned=tuning)

    assert (tuning.stage, tuning.labels) == (name, 40)
    before = {outcome.sample_id: found[outcome.sample_id].support or 0.0 for outcome in again}
    # Sums of one text differ in their last digits with the batch that it is in.
    clear = [one for one in again if abs(before[one.sample_id] - tuning.threshold) > 1e-6]
    assert len(clear) >= 30
    assert [one.findings[0].verdict for one in clear] == [
        before[one.sample_id] >= tuning.threshold for one in clear
    ]
    with pytest.raises(ConfigurationError):
        evaluate(rows, client=f"hf:{pair(tmp_path / 'two', 'roberta')}", tuned=tuning)


def test_a_label_is_named_in_the_string(tmp_path: Path) -> None:
    """`hf:FOLDER?entailment=LABEL_1` is `entailment="LABEL_1"`."""
    model = pair(tmp_path, "bert", UNNAMED)
    mapped = ClassifierVerifier(model, entailment="LABEL_1")
    expected = mapped.verify([EIFFEL["answer"].partition(". ")[0] + "."], EIFFEL["context"])
    result: Any = Faithfulness.grade(**EIFFEL, client=f"hf:{model}?entailment=LABEL_1")

    assert result.statements[0].support == pytest.approx(expected[0].support)


def test_a_label_is_named_on_the_command_line(tmp_path: Path) -> None:
    """Without it the error shows both ways to say it; with it the file is graded."""
    model = pair(tmp_path / "model", "bert", UNNAMED)
    refused = grade(tmp_path, f"hf:{model}")
    graded = grade(tmp_path, f"hf:{model}?entailment=LABEL_1")

    assert isinstance(refused.exception, ConfigurationError)
    assert "hf:MODEL?entailment=LABEL, or entailment='LABEL' in Python" in str(refused.exception)
    assert graded.exit_code == 0, graded.output
    assert "over 1 scored of 1" in graded.output


def test_a_label_that_the_model_lacks_is_refused(tmp_path: Path) -> None:
    """With the labels that there are."""
    checker = ClassifierVerifier(pair(tmp_path, "bert", UNNAMED), entailment="label_1")

    with pytest.raises(
        ConfigurationError, match="entailment is 'label_1'; expected one of .* 'LABEL_2'\\]"
    ):
        checker.verify(STATEMENTS, CHUNKS)


def grade(folder: Path, judge: str) -> Any:
    """Grade one row on the command line."""
    data = folder / "answers.jsonl"
    data.write_text(json.dumps(EIFFEL) + "\n", encoding="utf-8")
    return CliRunner().invoke(app, ["grade", str(data), "--judge", judge, "--quiet"])
