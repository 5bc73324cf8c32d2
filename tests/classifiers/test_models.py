"""Classifiers of every kind: how each is asked, windows, batches, labels, devices.

CI runs this folder in an environment of its own; elsewhere it is skipped: needs the extra `hf`.
"""

import json
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_evals import Faithfulness
from rag_evals.cli.main import app
from rag_evals.core import Claim
from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import ClassifierVerifier
from rag_evals.verify.classifier import model as models
from rag_evals.verify.classifier import verifier
from rag_evals.verify.classifier.model import Source, adapter_for
from rag_evals.verify.classifier.verifier import Reader
from tests.classifiers.models import (
    CHUNKS,
    NLI,
    STATEMENTS,
    WORDS,
    hhem,
    pair,
    saved,
    small,
    torch,
    transformers,
)
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of others warn as they like

MAKERS: dict[str, Callable[[Path], str]] = {
    "deberta": pair,
    "roberta": lambda folder: pair(folder, "roberta"),
    "hhem": hhem,
}


@pytest.fixture(scope="module", params=MAKERS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model of each kind, in a folder of that name."""
    folder = tmp_path_factory.mktemp("models") / request.param
    folder.mkdir()
    return MAKERS[request.param](folder)


def test_each_architecture_is_told_apart(model: str) -> None:
    """The configuration alone says how a model is asked."""
    adapter = adapter_for(Source(model), "cpu")

    assert adapter.is_hhem is (Path(model).name == "hhem")


def test_every_statement_gets_a_support(model: str) -> None:
    """From 0 to 1, not all the same, with the windows read and the chunk that gave it."""
    verdicts = ClassifierVerifier(model, join="never").verify(STATEMENTS, CHUNKS)

    assert all(0 <= one.support <= 1 and one.windows == 2 for one in verdicts)
    assert len({one.support for one in verdicts}) > 1
    assert all(one.is_supported == (one.support >= 0.5) for one in verdicts)
    assert all(one.chunk_ids == (one.evidence[0].chunk_id,) * one.is_supported for one in verdicts)


def test_the_batch_changes_nothing(model: str) -> None:
    """Batches of 1 and of 64 agree to 1e-5, whatever the lengths."""
    chunks = [*CHUNKS, "a mat . " * 9, "the river"]
    one = ClassifierVerifier(model, batch_size=1).verify(STATEMENTS, chunks)
    many = ClassifierVerifier(model, batch_size=64).verify(STATEMENTS, chunks)

    assert [v.support for v in one] == pytest.approx([v.support for v in many], abs=1e-5)
    assert [v.evidence for v in one] == [v.evidence for v in many]


def test_a_long_chunk_is_read_in_windows(model: str) -> None:
    """All of it is read, windows overlap, and the greatest support counts."""
    long = " ".join(WORDS[n % 20] for n in range(400))
    checker = ClassifierVerifier(model, max_length=120, join="never")
    shared = adapter_for(Source(model), "cpu")
    reader = Reader(shared, [long], 120)
    windows = reader.alone(Claim(STATEMENTS[0]))
    spans = [(w.evidence[0].start, w.evidence[0].end) for w in windows]
    (verdict,) = checker.verify([STATEMENTS[0]], [long])
    alone = [checker.verify([STATEMENTS[0]], [w.evidence[0].text])[0].support for w in windows]

    assert verdict.windows == len(windows) > 4
    assert spans[0][0] == 0
    assert spans[-1][1] == len(long)
    assert all(later[0] < earlier[1] for earlier, later in pairwise(spans))
    assert all(window.tokens <= 120 for window in windows)
    assert verdict.support == pytest.approx(max(alone), abs=1e-5)


def test_the_statement_is_read_whole(model: str) -> None:
    """Every window holds all tokens of the statement; one that leaves no room is an error."""
    statement = " ".join(["cat"] * 25)
    shared = adapter_for(Source(model), "cpu")
    windows = Reader(shared, ["the mat . " * 60], 80).alone(Claim(statement))
    cat = shared._tokenizer.convert_tokens_to_ids("cat")

    assert len(windows) > 1
    assert all(window.encoded["input_ids"].count(cat) == 25 for window in windows)
    with pytest.raises(VerifierError, match="leaves .* tokens for the context; split it"):
        ClassifierVerifier(model, max_length=80).verify([statement * 9], CHUNKS)


def test_a_megabyte_is_windowed(tmp_path: Path) -> None:
    """A chunk of 1 MB takes its time and gives a verdict."""
    (verdict,) = ClassifierVerifier(pair(tmp_path, "bert"), max_length=500, batch_size=64).verify(
        ["a cat ."], ["the river bank is a mat . " * 40_000]
    )

    assert verdict.windows is not None
    assert verdict.windows > 500


def test_labels_are_found_by_name(tmp_path: Path) -> None:
    """Other orders of labels give other columns, and the entailment column counts."""
    orders = [NLI, {0: "ENTAILMENT", 1: "neutral", 2: "contradiction"}]
    verdicts = [
        ClassifierVerifier(pair(tmp_path / str(n), "bert", labels)).verify(STATEMENTS, CHUNKS)
        for n, labels in enumerate(orders)
    ]
    named = ClassifierVerifier(
        pair(tmp_path / "unnamed", "bert", {n: f"LABEL_{n}" for n in range(3)}),
        entailment="LABEL_1",
    ).verify(STATEMENTS, CHUNKS)

    assert [v.support for v in verdicts[0]] != [v.support for v in verdicts[1]]
    assert [v.support for v in named] == pytest.approx([v.support for v in verdicts[0]])


def test_unnamed_labels_demand_a_map(tmp_path: Path) -> None:
    """`LABEL_0` says nothing; the error shows the labels and the argument, and guesses none."""
    model = pair(tmp_path, "bert", {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})

    with pytest.raises(
        ConfigurationError,
        match=r"\['LABEL_0', 'LABEL_1', 'LABEL_2'\], and their names do not .*entailment=LABEL",
    ):
        ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)


def test_one_label_is_a_logit(tmp_path: Path) -> None:
    """A model with one output needs no names."""
    model = pair(tmp_path, "bert", {0: "LABEL_0"})

    assert all(0 < v.support < 1 for v in ClassifierVerifier(model).verify(STATEMENTS, CHUNKS))


def test_hhem_is_the_plain_t5(tmp_path: Path) -> None:
    """The support is class 1 at the first token of the card's own prompt."""
    folder = hhem(tmp_path)
    base = transformers.T5ForTokenClassification.from_pretrained(tmp_path / "base")
    text = models._HHEM_PROMPT.format(premise=CHUNKS[0], hypothesis=STATEMENTS[0])
    inputs = transformers.AutoTokenizer.from_pretrained(tmp_path / "base")(
        text, return_tensors="pt"
    )
    with torch.inference_mode():
        expected = float(base.eval()(**inputs).logits[:, 0, :].softmax(-1)[0, 1])
    (verdict,) = ClassifierVerifier(folder).verify(STATEMENTS[:1], CHUNKS[:1])

    assert verdict.support == pytest.approx(expected, abs=1e-5)


def test_devices(tmp_path: Path) -> None:
    """`auto` works anywhere and loads no second copy; a GPU that is not there is an error."""
    model = pair(tmp_path, "bert")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0

    on_cpu = ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)
    anywhere = ClassifierVerifier(model, device="auto").verify(STATEMENTS, CHUNKS)
    assert [v.support for v in anywhere] == pytest.approx([v.support for v in on_cpu], abs=1e-3)
    names = ("auto", "cuda", "cuda:0") if count else ("auto", "cpu")
    assert len({id(ClassifierVerifier(model, device=name).load()) for name in names}) == 1
    with pytest.raises(ConfigurationError, match=f"'cuda:{count}', but torch finds {count} GPUs"):
        ClassifierVerifier(model, device=f"cuda:{count}").verify(STATEMENTS, CHUNKS)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_gpu_decides_as_the_cpu_does(model: str) -> None:
    """Every kind of model gives the same supports and chunk ids on `cuda:0`, in any batch."""
    on_cpu = ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)
    for batch_size in (1, 10):
        verifier = ClassifierVerifier(model, device="cuda:0", batch_size=batch_size)
        on_gpu = verifier.verify(STATEMENTS, CHUNKS)

        assert [v.support for v in on_gpu] == pytest.approx([v.support for v in on_cpu], abs=1e-3)
        assert [v.chunk_ids for v in on_gpu] == [v.chunk_ids for v in on_cpu]


@pytest.mark.parametrize("name", ["no-one/no-such-model", "./nowhere"])
def test_weights_that_cannot_be_had(name: str) -> None:
    """The error names the model and what would help."""
    with pytest.raises(ConfigurationError, match="cannot be loaded: .*a name on the Hugging Face"):
        ClassifierVerifier(name).verify(STATEMENTS, CHUNKS)


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A bare encoder is no classifier."""
    folder = saved(tmp_path, transformers.BertModel(small("bert")))

    with pytest.raises(ConfigurationError, match="is not a supported classifier"):
        ClassifierVerifier(folder).verify(STATEMENTS, CHUNKS)


def test_a_model_is_loaded_once_and_shared(tmp_path: Path) -> None:
    """Threads and verifiers share it, and each gets its own verdicts."""
    model = pair(tmp_path, "bert")
    expected = [v.support for v in ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)]
    loaded = len(verifier._models)
    found: dict[int, list[float]] = {}

    def work(number: int) -> None:
        verdicts = ClassifierVerifier(model, batch_size=4).verify(STATEMENTS, CHUNKS)
        found[number] = [v.support for v in verdicts]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(verifier._models) == loaded
    assert all(supports == pytest.approx(expected, abs=1e-5) for supports in found.values())
    assert len(found) == 8


def test_the_judge_may_be_a_classifier(tmp_path: Path) -> None:
    """`client="hf:FOLDER"`: sentences, that classifier, no key."""
    name = f"hf:{pair(tmp_path, 'bert')}"
    result: Any = Faithfulness.grade(**EIFFEL, client=name)

    assert [s.statement for s in result.statements] == [
        "The Eiffel Tower stands in Paris.",
        "It was completed in 1923.",
    ]
    assert all(s.decided_by == name and s.windows in (2, 3) for s in result.statements)


def test_hhem_decides_what_a_judge_extracted(scripted: Start, tmp_path: Path) -> None:
    """One call extracts; HHEM decides; without a judge the sentences are taken."""
    judge = scripted(None)
    grader = HHEMFaithfulness.with_parts(verifier=ClassifierVerifier(hhem(tmp_path), batch_size=2))
    result = grader.grade(**EIFFEL, client="openai/m")
    alone = grader.grade(**EIFFEL, client="embedded")

    assert len(judge.requests) == 1
    assert judge.requests[0].sentences
    assert {s.decided_by for s in result.statements} == {grader.verifier.name}
    assert [s.support for s in alone.statements] == [s.support for s in result.statements]


def test_from_the_command_line(tmp_path: Path) -> None:
    """`--judge hf:FOLDER?device=cpu&batch_size=2` grades without a key."""
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps(EIFFEL) + "\n", encoding="utf-8")
    name = f"hf:{pair(tmp_path / 'model', 'bert')}"
    judge = f"{name}?device=cpu&batch_size=2"
    ended = CliRunner().invoke(app, ["grade", str(data), "--judge", judge, "--quiet"])

    assert ended.exit_code == 0, ended.output
    assert "over 1 scored of 1" in ended.output
