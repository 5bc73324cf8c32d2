"""Classifiers of every kind, tiny and random: made here, no download. Needs the extra `hf`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

# Read when huggingface_hub is imported: a missing model must not be looked for elsewhere.
os.environ["HF_HUB_OFFLINE"] = "1"
torch: Any = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'rag-evals[hf]'"
)
transformers: Any = pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'rag-evals[hf]'"
)

WORDS = (
    "the a of in to is it was on and tower stands paris completed 1889 1923 eiffel cat sat mat "
    "river bank premise hypothesis determine if true given predict : ? . , 0 1"
).split()
STATEMENTS = ["the tower stands in paris .", "it was completed in 1923 .", "a cat sat on the mat ."]
CHUNKS = [
    "the eiffel tower stands in paris .",
    "it was completed in 1889 . the river bank is a mat .",
]
NLI = {0: "contradiction", 1: "entailment", 2: "neutral"}


def tokenizer(*, t5: bool) -> Any:
    """Make a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["<pad>", "</s>", "<unk>"] if t5 else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: place for place, word in enumerate([*special, *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>" if t5 else "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if t5:
        made.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
        )
        names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    else:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
        names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
        names["sep_token"] = "[SEP]"
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **names)


def small(kind: str, **more: Any) -> Any:
    """Make a configuration of the smallest size."""
    if kind == "t5":
        sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
        return transformers.T5Config(
            vocab_size=len(WORDS) + 3, decoder_start_token_id=0, **sizes, **more
        )
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    common = {"vocab_size": len(WORDS) + 4, "num_attention_heads": 2, "pad_token_id": 0}
    kinds = {
        "bert": transformers.BertConfig,
        "deberta": transformers.DebertaV2Config,
        "roberta": transformers.RobertaConfig,
    }
    return kinds[kind](**sizes, **common, **more)


def saved(folder: Path, model: Any, *, t5: bool = False) -> str:
    """Write a model and its tokenizer as the hub has them."""
    model.save_pretrained(folder)
    tokenizer(t5=t5).save_pretrained(folder)
    return str(folder)


def spread(model: Any) -> Any:
    """Make random weights larger, so that scores differ."""
    torch.manual_seed(7)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.4)
    return model


def pair(folder: Path, kind: str = "deberta", labels: dict[int, str] | None = None) -> str:
    """Make an NLI model."""
    config = small(kind, id2label=NLI if labels is None else labels)
    auto = transformers.AutoModelForSequenceClassification
    return saved(folder, spread(auto.from_config(config)))


def hhem(folder: Path) -> str:
    """Make a copy of HHEM-2.1-Open's structure: a T5 behind `t5.`, its base in another folder."""
    base = folder / "base"
    config = small("t5", num_labels=2)
    model = spread(transformers.T5ForTokenClassification(config))
    saved(base, model, t5=True)
    from safetensors.torch import save_file

    weights = {f"t5.{name}": w.clone().contiguous() for name, w in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    described = {
        "model_type": "HHEMv2",
        "architectures": ["HHEMv2ForSequenceClassification"],
        "foundation": str(base),
    }
    (folder / "config.json").write_text(json.dumps(described), encoding="utf-8")
    return str(folder)
