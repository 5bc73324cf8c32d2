"""What a classifier verifier says before a model is loaded; models are in tests/classifiers."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals import Faithfulness
from rag_evals.errors import ConfigurationError, MissingExtraError
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness
from rag_evals.testing import ScriptedJudge
from rag_evals.verify import ClassifierVerifier
from rag_evals.verify.classifier.model import supported_label
from rag_evals.verify.classifier.verifier import spans
from tests.conftest import EIFFEL


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "gpu"}, "device is 'gpu'; expected 'cpu', 'cuda:0', 'mps' or 'auto'"),
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
        ({"threshold": 1.5}, "threshold is 1.5; expected a number from 0 to 1"),
        ({"max_length": "512"}, "max_length is '512'; expected a whole number, at least 32"),
        ({"model": ""}, "model is ''; expected a name on the Hugging Face hub, or a folder"),
        ({"device": None}, "device is None; expected 'cpu', 'cuda:0', 'mps' or 'auto'"),
        ({"max_length": 31}, "max_length is 31; expected at least 32"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    """Nothing is loaded to find it out."""
    with pytest.raises(ConfigurationError, match=message):
        ClassifierVerifier(**{"model": "a/b", **settings})


def test_a_missing_library_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is called `hf`."""
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'rag-evals\[hf\]'"):
        ClassifierVerifier("a/b").verify(["s"], ["c"])


@pytest.mark.parametrize("judge", ["openai/m", "embedded>hf:a/b"])
def test_a_missing_library_is_found_before_anything_is_paid(
    monkeypatch: pytest.MonkeyPatch, scripted: Callable[[None], ScriptedJudge], judge: str
) -> None:
    """Statements are extracted, or most rows are decided, long before a classifier is asked."""
    monkeypatch.setitem(sys.modules, "torch", None)
    asked = scripted(None)

    with pytest.raises(MissingExtraError, match=r"pip install 'rag-evals\[hf\]'"):
        HHEMFaithfulness.grade(**EIFFEL, client=judge)
    if judge != "openai/m":
        with pytest.raises(MissingExtraError):
            Faithfulness.grade(**EIFFEL, client=judge)
    assert asked.requests == []


def test_the_fingerprint_names_what_changes_a_verdict() -> None:
    """Model, windows, labels and threshold do; device and batch do not."""
    same = [ClassifierVerifier("a/b"), ClassifierVerifier("a/b", device="auto", batch_size=3)]
    others = [
        ClassifierVerifier("a/c"),
        ClassifierVerifier("a/b", max_length=256),
        ClassifierVerifier("a/b", threshold=0.7),
        ClassifierVerifier("a/b", entailment="LABEL_0"),
    ]

    assert len({one.fingerprint() for one in same}) == 1
    assert len({one.fingerprint() for one in (*same, *others)}) == 1 + len(others)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (["contradiction", "entailment", "neutral"], 1),
        (["entailment", "neutral", "contradiction"], 0),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], 2),
        (["entailment", "not_entailment"], 0),
        (["fact", "hallucinated"], 0),
    ],
)
def test_the_supported_label_is_found_by_name(labels: list[str], place: int) -> None:
    """Orders differ between models, and so do capitals."""
    config = SimpleNamespace(id2label=dict(enumerate(labels)))

    assert supported_label(config, None) == place


def test_windows_cover_all_tokens() -> None:
    """Each token is in a window, neighbours share the stride, none is longer than the room."""
    found = spans(100, room=30, stride=10)

    assert found == [(0, 30), (20, 50), (40, 70), (60, 90), (80, 100)]
    assert spans(0, room=30, stride=10) == []
