"""Classifiers as their makers ask them: forms, joined chunks, weights, numbers, no hub."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness
from rag_evals.cache import StatementCache, cached
from rag_evals.core import Claim, Meter, Verdict
from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.grading.drivers import drive
from rag_evals.verify import ClassifierVerifier
from rag_evals.verify.classifier import FORMS, KNOWN, adapters
from rag_evals.verify.classifier.loading import Source, adapter_for
from tests.classifiers.models import (
    CHUNKS,
    STATEMENTS,
    hhem,
    lettuce,
    minicheck,
    minicheck_pair,
    pair,
    torch,
    transformers,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries of others warn as they like

CLAIM = Claim(STATEMENTS[0], question="it was completed in ?")


def softmax_of(model: Any, text: str) -> list[float]:
    """Ask a sequence classifier about one text, in the plain way of transformers."""
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(model).eval()
    inputs = transformers.AutoTokenizer.from_pretrained(model)(text, return_tensors="pt")
    with torch.inference_mode():
        scores: list[float] = plain(**inputs).logits.softmax(-1)[0].tolist()
    return scores


@pytest.mark.parametrize("kind", ["roberta", "deberta"])
def test_minicheck_reads_one_text_and_takes_class_1(kind: str, tmp_path: Path) -> None:
    """A folder is known by its name, or by `form=minicheck`; no label has to be named."""
    names = {"roberta": "MiniCheck-RoBERTa-Large", "deberta": "MiniCheck-DeBERTa-v3-Large"}
    model = minicheck_pair(tmp_path / names[kind], kind)
    joined = "\n".join(CHUNKS)
    expected = softmax_of(model, f"{joined}[SEP]{STATEMENTS[0]}")
    (named,) = ClassifierVerifier(model, max_length=64, stride=8).verify(STATEMENTS[:1], CHUNKS)
    shutil.copytree(model, tmp_path / "copy")
    copied = f"hf:{tmp_path / 'copy'}?form=minicheck"
    result: Any = Faithfulness.grade(
        answer="The tower stands in paris .", context=CHUNKS, client=copied
    )

    assert named.support == pytest.approx(expected[1], abs=1e-5)
    assert expected[1] != pytest.approx(expected[0], abs=1e-3)
    assert 0 < result.statements[0].support < 1


@pytest.mark.parametrize(
    ("form", "premise"),
    [
        (
            "lettucedetect-v1",
            "Briefly answer the following question:\nit was completed in ?\nBear in mind that your "
            "response should be strictly based on the following 2 passages:\n"
            f"passage 1: {CHUNKS[0]}\npassage 2: {CHUNKS[1]}\n"
            "In case the passages do not contain the necessary information to answer the question, "
            'please reply with: "Unable to answer based on given passages."\noutput:',
        ),
        ("lettucedetect-v2", f"User request: it was completed in ?\n\n{CHUNKS[0]}\n{CHUNKS[1]}"),
        ("spans", f"{CHUNKS[0]}\n{CHUNKS[1]}"),
    ],
)
def test_lettucedetect_is_shown_the_question(form: str, premise: str, tmp_path: Path) -> None:
    """Each version has its own template; the least supported token of the claim counts."""
    model = lettuce(tmp_path)
    checker = ClassifierVerifier(model, form=form, max_length=400, stride=8)
    (verdict,) = checker.verify([CLAIM], CHUNKS)
    plain = transformers.AutoModelForTokenClassification.from_pretrained(model).eval()
    encoded = transformers.AutoTokenizer.from_pretrained(model)(
        premise, CLAIM.text, return_tensors="pt"
    )
    with torch.inference_mode():
        supported = plain(**encoded).logits.softmax(-1)[0, :, 0]
    own = [place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1]

    assert verdict.support == pytest.approx(float(supported[own].min()), abs=1e-5)
    assert checker.traits.reads_question == (form != "spans")


def test_claims_that_need_two_chunks_get_them_joined(tmp_path: Path) -> None:
    """Where no chunk alone supports a claim, the best pieces are read as one text."""
    model = pair(tmp_path, "bert")
    chunks = [*CHUNKS, "a mat . " * 3]
    by_join = {
        join: ClassifierVerifier(model, join=join, threshold=0.99).verify(STATEMENTS, chunks)
        for join in ("never", "unsupported", "always")
    }
    as_one = ClassifierVerifier(model, join="never").verify(STATEMENTS, ["\n".join(chunks)])

    assert [v.windows for v in by_join["never"]] == [3, 3, 3]
    assert [v.windows for v in by_join["unsupported"]] == [4, 4, 4]
    assert [v.support for v in by_join["always"]] == pytest.approx([v.support for v in as_one])
    for alone, more in zip(by_join["never"], by_join["unsupported"], strict=True):
        assert more.support >= alone.support


def test_joined_chunks_name_the_ones_that_carry(tmp_path: Path) -> None:
    """A supported claim names the chunks that support it alone, best first, else all of them."""
    model = pair(tmp_path, "bert")
    alone = ClassifierVerifier(model, join="never", threshold=0.0)
    supports = [alone.verify(STATEMENTS[:1], [chunk])[0].support for chunk in CHUNKS]
    (joined,) = ClassifierVerifier(model, join="always").verify(STATEMENTS[:1], CHUNKS)
    limit = joined.support
    (verdict,) = ClassifierVerifier(model, join="always", threshold=limit).verify(
        STATEMENTS[:1], CHUNKS
    )
    enough = [number for number in (0, 1) if supports[number] >= limit]
    ranked = sorted((0, 1), key=lambda number: -supports[number])

    assert verdict.is_supported
    assert verdict.windows == 3
    assert list(verdict.chunk_ids) == [n for n in ranked if n in enough or not enough]


def test_another_training_in_the_same_folder_is_another_model(tmp_path: Path) -> None:
    """Neither the cache nor this process takes the old weights for the new ones."""
    model = pair(tmp_path, "bert")
    checker = ClassifierVerifier(model)
    cache = StatementCache()
    before = decided(checker, cache)
    first = checker.fingerprint()
    assert [v.from_cache for v in decided(checker, cache)] == [True] * 3
    trained = transformers.AutoModelForSequenceClassification.from_pretrained(model)
    with torch.no_grad():
        trained.classifier.bias.add_(torch.tensor([3.0, 0.0, 0.0]))
    trained.save_pretrained(model)
    after = decided(checker, cache)

    assert checker.fingerprint() != first
    assert [v.from_cache for v in after] == [False] * 3
    assert [v.support for v in after] != pytest.approx([v.support for v in before])


def decided(checker: ClassifierVerifier, cache: StatementCache) -> list[Verdict]:
    """Ask through a cache."""
    claims = [Claim(text) for text in STATEMENTS]
    return drive(cached(checker, cache).flow(claims, CHUNKS), None, Meter())


def test_hhem_needs_no_hub(tmp_path: Path) -> None:
    """Its folder with a tokenizer is enough; without one the error says what to put there."""
    model = Path(hhem(tmp_path / "hhem"))
    expected = ClassifierVerifier(str(model)).verify(STATEMENTS, CHUNKS)
    described = json.loads((model / "config.json").read_text(encoding="utf-8"))
    described["foundation"] = "google/flan-t5-base"
    (model / "config.json").write_text(json.dumps(described), encoding="utf-8")
    alone = ClassifierVerifier(str(model), local_files_only=True)
    with pytest.raises(ConfigurationError, match="tokenizer of 'google/flan-t5-base'.*put that mo"):
        alone.verify(STATEMENTS, CHUNKS)
    for file in (model / "base").glob("tokenizer*"):
        shutil.copy(file, model)
    found = alone.verify(STATEMENTS, CHUNKS)

    assert [v.support for v in found] == pytest.approx([v.support for v in expected], abs=1e-5)


@pytest.mark.parametrize("make", [pair, minicheck, lettuce, hhem])
def test_half_precision(make: Callable[[Path], str], tmp_path: Path) -> None:
    """`dtype=bfloat16` computes with it, gives nearly the same, and is another fingerprint."""
    model = make(tmp_path)
    whole, half = (ClassifierVerifier(model, dtype=name) for name in ("float32", "bfloat16"))
    expected = whole.verify(STATEMENTS, CHUNKS)
    found = half.verify(STATEMENTS, CHUNKS)

    assert half.load().adapter._model.dtype == torch.bfloat16
    assert whole.load().adapter._model.dtype == torch.float32
    assert [v.support for v in found] == pytest.approx([v.support for v in expected], abs=0.1)
    assert whole.fingerprint() != half.fingerprint()


def test_forms_belong_to_structures(tmp_path: Path) -> None:
    """A form that the structure does not have names those that it has."""
    model = pair(tmp_path, "bert")

    with pytest.raises(
        ConfigurationError, match="form is 'spans', and .* a BertForSeq.*'minicheck"
    ):
        ClassifierVerifier(model, form="spans").verify(STATEMENTS, CHUNKS)
    with pytest.raises(UnknownNameError, match="no form 'mini'; did you mean"):
        ClassifierVerifier(model, form="mini")
    with pytest.raises(UnknownNameError, match="no dtype 'int8'"):
        ClassifierVerifier(model, dtype="int8")


def test_the_table_of_known_models_is_whole() -> None:
    """Forms and adapters that it names are there."""
    assert set(FORMS) == set(adapters.ADAPTERS)
    for one in KNOWN.values():
        assert one.form in FORMS


@pytest.mark.parametrize(
    ("make", "name", "form"),
    [
        (hhem, "hallucination_evaluation_model", "hhem"),
        (minicheck, "MiniCheck-Flan-T5-Large", "minicheck-t5"),
        (minicheck_pair, "MiniCheck-RoBERTa-Large", "minicheck"),
        (lettuce, "lettucedect-base-modernbert-en-v1", "lettucedetect-v1"),
        (lettuce, "lettucedect-v2-mmbert-base", "lettucedetect-v2"),
        (pair, "nli-deberta-v3-base", "pair"),
    ],
)
def test_a_known_name_is_asked_in_its_form(
    make: Callable[[Path], str], name: str, form: str, tmp_path: Path
) -> None:
    """A copy in a folder of the model's name is asked as its makers ask it."""
    folder = tmp_path / name
    folder.mkdir()

    assert ClassifierVerifier(make(folder)).load().adapter.form == form


def test_scores_are_read_once_for_a_batch(tmp_path: Path) -> None:
    """The model's answer leaves the device in one piece, also where each token has a score."""
    adapter: Any = adapter_for(Source(lettuce(tmp_path)), "cpu")
    encoded = [adapter.encode(CHUNKS[0], text) for text in STATEMENTS]
    read = adapter.read(adapter._tokenizer.pad(encoded_only(encoded), return_tensors="pt"), encoded)

    assert tuple(read.shape) == (3,)


def encoded_only(encoded: list[dict[str, list[int]]]) -> list[dict[str, list[int]]]:
    """Leave out what the tokenizer does not know."""
    return [{n: v for n, v in one.items() if not n.startswith("own_")} for one in encoded]
