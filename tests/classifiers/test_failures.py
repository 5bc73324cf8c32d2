"""Classifiers that cannot decide: an error of ours that says why, never a verdict."""

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rag_evals import Faithfulness, evaluate
from rag_evals.cache import StatementCache, cached
from rag_evals.core import Evidence, Meter, as_claims
from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.grading.grader import drive
from rag_evals.verify import ClassifierVerifier
from rag_evals.verify.classifier.verifier import SharedModel, Window, _Item
from tests.classifiers.models import (
    CHUNKS,
    STATEMENTS,
    hhem,
    pair,
    saved,
    small,
    torch,
    transformers,
)
from tests.conftest import EIFFEL

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of others warn as they like


def rewrite_weights(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write other weights into a saved model."""
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    weights = {name: weight.clone() for name, weight in change(load_file(file)).items()}
    save_file(weights, file, metadata={"format": "pt"})


def without_numbers(folder: Path) -> str:
    """Make a model that answers NaN."""
    model = pair(folder, "bert")
    rewrite_weights(folder, lambda all_: {**all_, "classifier.bias": torch.full((3,), torch.nan)})
    return model


def test_nan_is_no_verdict(tmp_path: Path) -> None:
    """It is named with the model and the statement, and no cache keeps it."""
    cache = StatementCache()
    checker = ClassifierVerifier(without_numbers(tmp_path))

    with pytest.raises(
        VerifierError,
        match=f"{tmp_path}' returned a support of nan for the statement 'the tower stands in "
        r"paris \.'; expected a number from 0 to 1",
    ):
        drive(cached(checker, cache).flow(as_claims(STATEMENTS), CHUNKS), None, Meter())
    assert cache.count() == 0


def test_a_row_of_nan_fails(tmp_path: Path) -> None:
    """A run counts it as failed, not as a score of 0, alone and as the first of a cascade."""
    name = f"hf:{without_numbers(tmp_path)}"
    for judge in (name, f"{name}>embedded"):
        run = evaluate([EIFFEL], ["faithfulness"], judge, progress=False, max_failures="100%")
        summary = run.summary()

        assert summary.graders["faithfulness"].failed == {"VerifierError": 1}
        assert summary.graders["faithfulness"].mean() is None


@pytest.mark.parametrize(
    ("make", "gone"),
    [
        (pair, "classifier.weight"),
        (hhem, "t5.classifier.weight"),
    ],
)
def test_missing_weights_are_refused(
    make: Callable[[Path], str], gone: str, tmp_path: Path
) -> None:
    """A gap would be filled at random, other numbers each time; the error names what lacks."""
    model = make(tmp_path)
    rewrite_weights(
        tmp_path, lambda all_: {name: one for name, one in all_.items() if name != gone}
    )

    with pytest.raises(ConfigurationError, match=f"lacks weights '{gone.removeprefix('t5.')}', wh"):
        ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)


@pytest.mark.parametrize("kept", ["transformer.shared", "transformer.encoder.embed_tokens"])
def test_tied_weights_may_be_stored_once(kept: str, tmp_path: Path) -> None:
    """T5 has its embeddings under two names: a file with one of them is whole."""
    twice = ClassifierVerifier(hhem(tmp_path / "twice")).verify(STATEMENTS, CHUNKS)
    model = hhem(tmp_path / "once")
    tied = {"t5.transformer.shared.weight", "t5.transformer.encoder.embed_tokens.weight"}
    dropped = tied - {f"t5.{kept}.weight"}
    rewrite_weights(
        tmp_path / "once", lambda all_: {n: one for n, one in all_.items() if n not in dropped}
    )
    once = ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)

    assert [v.support for v in once] == pytest.approx([v.support for v in twice], abs=1e-6)


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    """Weights and config.json belong to one model."""
    model = pair(tmp_path, "bert")
    described = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    described["hidden_size"] = 32
    (tmp_path / "config.json").write_text(json.dumps(described), encoding="utf-8")

    with pytest.raises(
        ConfigurationError, match="weights, such as .* whose shapes do not match its"
    ):
        ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    """A file that was cut off by a bad download is named as what it is."""
    model = pair(tmp_path, "bert")
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])

    with pytest.raises(ConfigurationError, match="cannot be loaded: SafetensorError: .*undamaged"):
        ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)


def test_a_tokenizer_without_places_is_refused(tmp_path: Path) -> None:
    """Windows are cut where tokens stand, and ByT5's tokenizer does not say where."""
    config = small("t5")
    config.vocab_size = 384
    model = saved(tmp_path, transformers.T5ForSequenceClassification(config), t5=True)
    for file in tmp_path.glob("*token*"):
        file.unlink()
    transformers.ByT5Tokenizer().save_pretrained(tmp_path)

    with pytest.raises(ConfigurationError, match="is a ByT5Tokenizer, .*expected a fast tokenizer"):
        ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)


def test_a_tokenizer_without_a_pad_token_is_refused(tmp_path: Path) -> None:
    """It could read one pair, but no batch."""
    model = pair(tmp_path, "bert")
    file = tmp_path / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    del settings["pad_token"]
    file.write_text(json.dumps(settings), encoding="utf-8")

    with pytest.raises(ConfigurationError, match="has no pad token, .*expected a pad_token in its"):
        Faithfulness.grade(**EIFFEL, client=f"hf:{model}")


@pytest.mark.parametrize(("kind", "longest"), [("bert", 512), ("roberta", 510), ("deberta", 512)])
def test_a_window_longer_than_the_model_is_refused(kind: str, longest: int, tmp_path: Path) -> None:
    """Both numbers are named; the longest itself works, to the last place."""
    model = pair(tmp_path, kind)
    long = ["the river bank is a mat . " * 100]

    with pytest.raises(ConfigurationError, match=f"max_length is {longest + 1}, but .* {longest} "):
        ClassifierVerifier(model, max_length=longest + 1).verify(STATEMENTS, CHUNKS)
    (verdict,) = ClassifierVerifier(model, max_length=longest).verify(["a cat ."], long)
    assert verdict.windows == 2


def test_one_failure_reaches_all_who_wait(tmp_path: Path) -> None:
    """Whatever a model raises: each caller gets the error, and none an empty list."""
    model = pair(tmp_path, "bert")
    shared = ClassifierVerifier(model).load()
    reading = threading.Event()

    def fail(*_: object) -> None:
        reading.set()
        raise ValueError("no such token")

    shared.adapter._model.register_forward_pre_hook(fail)
    work = ClassifierVerifier(model).verify
    with ThreadPoolExecutor(4) as pool:
        callers = [pool.submit(work, STATEMENTS, CHUNKS) for _ in range(4)]
        errors = [caller.exception() for caller in callers]

    assert reading.is_set()
    expected = f"classifier {model!r} failed: ValueError: no such token"
    assert [str(error).partition(";")[0] for error in errors] == [expected] * 4
    assert {type(error) for error in errors} == {VerifierError}


def test_a_failed_load_is_not_kept(tmp_path: Path) -> None:
    """Mended files work at once."""
    model = pair(tmp_path, "bert")
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(b"damaged")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)
    file.write_bytes(whole)

    assert len(ClassifierVerifier(model).verify(STATEMENTS, CHUNKS)) == 3


class Recording:
    """Stands for a model: notes how many windows it reads at a time."""

    def __init__(self, first: BaseException | None = None) -> None:
        self.first = first
        self.batches: list[int] = []
        self.read: list[int] = []
        self.padded: list[int] = []

    def scores(self, batch: Sequence[dict[str, list[int]]]) -> list[float]:
        """Raise once, then score."""
        error, self.first = self.first, None
        if error is not None:
            raise error
        lengths = [len(one["input_ids"]) for one in batch]
        self.batches.append(len(batch))
        self.read.append(sum(lengths))
        self.padded.append(max(lengths) * len(batch))
        return [0.5] * len(batch)


def windows(*lengths: int) -> list[Window]:
    """Make windows of so many tokens."""
    piece = (Evidence(0, 0, 1, "a"),)
    return [Window(piece, {"input_ids": [1] * length}) for length in lengths]


def waiting(shared: SharedModel, batch_size: int, *lengths: int) -> list[_Item]:
    """Put windows of another caller into the pool."""
    items = [_Item(window, batch_size) for window in windows(*lengths)]
    shared._pool.extend(items)
    return items


def test_each_caller_keeps_its_batch_size() -> None:
    """Who leads does not change it for who waits: it may be what the memory is for."""
    adapter: Any = Recording()
    shared = SharedModel(adapter)
    others = waiting(shared, 2, *[1] * 5)

    assert shared.score(windows(*[1] * 5), 5) == [one.score.result() for one in others]
    assert adapter.batches == [2, 2, 1, 5]


def test_ctrl_c_ends_one_caller_only() -> None:
    """Who waits behind an interrupted caller is scored with the next one."""
    adapter: Any = Recording(KeyboardInterrupt())
    shared = SharedModel(adapter)
    others = waiting(shared, 5, *[1] * 5)

    with pytest.raises(KeyboardInterrupt):
        shared.score(windows(*[1] * 5), 5)
    assert not any(one.score.done() for one in others)
    assert shared.score(windows(*[1] * 5), 5) == [one.score.result() for one in others]


def test_an_error_belongs_to_its_batch() -> None:
    """Who has no window in the batch that failed is scored all the same."""
    adapter: Any = Recording(RuntimeError("out of memory"))
    shared = SharedModel(adapter)
    failed, _ = waiting(shared, 2, 400, 400)

    assert shared.score(windows(3, 3), 2) == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="out of memory"):
        failed.score.result()


def test_batches_are_padded_little() -> None:
    """At most 8 % of what is read at 64 is padding, with rows of any length; none is too large."""
    adapter: Any = Recording()
    shared = SharedModel(adapter)
    random = Random(1)
    for _ in range(40):
        waiting(shared, 64, *[int(random.lognormvariate(5, 0.7)) + 8 for _ in range(8)])
    shared.score(windows(5000, 3), 64)
    while shared._pool:
        shared.score(windows(100), 64)

    assert 1 - sum(adapter.read) / sum(adapter.padded) <= 0.08
    assert len(adapter.batches) < 60
    assert max(adapter.batches) <= 64
