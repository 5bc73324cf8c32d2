"""Loads and runs classifiers; rejects models with missing weights."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from rag_evals.errors import ConfigurationError, MissingExtraError

# torch and transformers are optional and untyped, so their values are `Any` in this file.

Joining = Literal["always", "unsupported", "never"]
"""When chunks are read together: always, if no single chunk supports a statement, or never."""

# HHEM is a fine-tuned version of this model.
_FLAN_T5 = "google/flan-t5-base"
_FLAN_T5_REVISION = "7bcac572ce56db69c1ea7c8af255c5d7c9672fc2"
_SUPPORTED = ("entailment", "entail", "entailed", "supported", "consistent", "faithful", "grounded")
_UNSUPPORTED = ("hallucination", "hallucinated", "unsupported", "inconsistent", "not_supported")
_HHEM_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {premise}\n\nHypothesis: {hypothesis}"
)
# The limit used by Vectara.
_HHEM_TOKENS = 2048
_MOST_TOKENS = 8192
_COMMIT = re.compile(r"[0-9a-f]{40}")
# Files that can change a verdict: weights, configuration, tokenizer.
_READ = frozenset({".safetensors", ".bin", ".json", ".model", ".txt"})


class Adapter:
    """Runs a loaded model.

    The model can read `positions` tokens, and was trained on up to `max_length`. HHEM is a T5 that
    classifies the first token; other models are sequence classifiers.
    """

    def __init__(
        self, torch: Any, tokenizer: Any, model: Any, *, is_hhem: bool, entailment: str | None
    ) -> None:
        self.is_hhem = is_hhem
        self.join: Joining = "always" if is_hhem else "unsupported"
        self._torch, self._tokenizer, self._model = torch, tokenizer, model
        config = model.config
        self._label = (
            None if is_hhem or config.num_labels == 1 else supported_label(config, entailment)
        )
        # RoBERTa reserves two positions.
        offset = 2 if "roberta" in config.model_type else 0
        self.positions = (getattr(config, "max_position_embeddings", None) or _MOST_TOKENS) - offset
        # T5 and DeBERTa use relative positions; some DeBERTa models add absolute ones.
        if getattr(config, "relative_attention", False) and not config.position_biased_input:
            self.positions = _MOST_TOKENS
        made_for = _HHEM_TOKENS if is_hhem else tokenizer.model_max_length
        self.max_length = int(min(made_for, self.positions, _MOST_TOKENS))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end offsets of each token, in characters."""
        encoded = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return [(start, end) for start, end in encoded["offset_mapping"] if end > start]

    def encode(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        prompt = _HHEM_PROMPT.format(premise=premise, hypothesis=hypothesis)
        texts = (prompt,) if self.is_hhem else (premise, hypothesis)
        return dict(self._tokenizer(*texts, verbose=False))

    def scores(self, batch: Sequence[Mapping[str, list[int]]]) -> list[float]:
        """Return the support for each pair, 0 to 1."""
        padded = self._tokenizer.pad(list(batch), return_tensors="pt").to(self._model.device)
        with self._torch.inference_mode():
            logits = self._model(**padded).logits
            if self.is_hhem:
                supports = logits[:, 0, :].float().softmax(-1)[:, 1]
            elif self._label is None:
                supports = logits.float()[:, 0].sigmoid()
            else:
                supports = logits.float().softmax(-1)[:, self._label]
            # One transfer per batch, because each transfer waits for the GPU queue.
            scores: list[float] = supports.tolist()
        return scores


def supported_label(config: Any, entailment: str | None) -> int:
    """Return the index of the only label that means "supported"."""
    labels = {int(place): str(label) for place, label in config.id2label.items()}
    every = [*labels.values()]
    if entailment is not None:
        if entailment not in every:
            raise ConfigurationError(
                f"entailment is {entailment!r}; expected one of the model's labels: {every!r}"
            )
        return [*labels][every.index(entailment)]
    plain = {place: label.strip().lower().replace(" ", "_") for place, label in labels.items()}
    found = [place for place, name in plain.items() if name in _SUPPORTED]
    if not found and len(plain) == 2:
        found = [place for place, name in plain.items() if name not in _UNSUPPORTED]
    if len(found) == 1:
        return found[0]
    raise ConfigurationError(
        f"the model's labels are {every!r}, and their names do not identify the one that means "
        "supported; look it up on the model card, and pass hf:MODEL?entailment=LABEL, or "
        "entailment='LABEL' in Python"
    )


@dataclass(frozen=True, slots=True)
class Source:
    model: str
    revision: str | None = None
    local_files_only: bool = False
    dtype: str = "float32"
    entailment: str | None = None

    @property
    def where(self) -> dict[str, Any]:
        """Keyword arguments for `from_pretrained`."""
        own = {} if Path(self.model).is_dir() else {"revision": self.revision or "main"}
        return {**own, "local_files_only": self.local_files_only}


def weights_identity(source: Source) -> str:
    """Return a hash of a local folder, or else the commit on the hub, or else the name."""
    folder = Path(source.model)
    if not folder.is_dir():
        return find_commit(source) or f"{source.model}@{source.revision or 'main'}"
    whole = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in _READ and file.is_file():
            seen = file.stat()
            own = _file_hash(file.resolve(), seen.st_size, seen.st_mtime_ns)
            whole.update(f"{file.name}\0{own}\0".encode())
    return whole.hexdigest()


@cache
def find_commit(source: Source) -> str | None:
    """Return the commit of a model on the hub; looked up once per process."""
    if _COMMIT.fullmatch(source.revision or ""):
        return source.revision
    # Without torch, no model can be loaded; without a network, the hub takes 20 s to fail.
    if find_spec("torch") is None:
        return None
    try:
        from huggingface_hub import hf_hub_download  # noqa: PLC0415 - comes with the extra `hf`

        file = hf_hub_download(source.model, "config.json", **source.where)
    # An unknown model or a network failure is reported when the model is loaded.
    except Exception:  # noqa: BLE001
        return None
    # A path in the hub's cache: models--OWNER--NAME/snapshots/COMMIT/config.json
    commit = Path(file).parent.name
    return commit if _COMMIT.fullmatch(commit) else None


@cache
def _file_hash(file: Path, size: int, changed: int) -> str:
    """Hash a file once: gigabytes of weights take seconds, and the hash is needed for every row."""
    del size, changed
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def resolve_device(device: str) -> str:
    """Return the device on this machine: `cpu`, `cuda:0` or `mps`."""
    torch, _ = _libraries()
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda:0" if count else "cpu"
    kind, _, number = device.partition(":")
    if kind == "cuda":
        if int(number or 0) >= count:
            raise ConfigurationError(
                f"device is {device!r}, but torch finds {count} GPUs; use 'cpu' or 'auto'"
            )
        return f"cuda:{int(number or 0)}"
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigurationError(
            "device is 'mps', which this machine does not have; use 'cpu' or 'auto'"
        )
    return device


def adapter_for(source: Source, device: str) -> Adapter:
    """Load a model; raise `ConfigurationError` if its weights, tokenizer or labels are unusable."""
    torch, transformers = _libraries()
    logging = transformers.utils.logging
    level = logging.get_verbosity()
    # transformers logs a table of weights; our error message lists the missing ones.
    logging.set_verbosity_error()
    try:
        tokenizer, loaded, is_hhem = _load(torch, transformers, source)
        _check_tokenizer(source.model, tokenizer)
        model = loaded.to(device).eval()
        return Adapter(torch, tokenizer, model, is_hhem=is_hhem, entailment=source.entailment)
    except ConfigurationError:
        raise
    # Damaged files can raise any exception.
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        at = f" at revision {source.revision!r}" if source.revision else ""
        raise ConfigurationError(
            f"classifier {source.model!r} cannot be loaded{at}: {reason}; expected a name on the "
            "Hugging Face hub, which must be reachable, or a folder with all of the model's files, "
            "undamaged"
        ) from error
    finally:
        logging.set_verbosity(level)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch  # noqa: PLC0415 - optional, and takes seconds to import
        import transformers  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingExtraError(
            "classifiers need transformers and torch; run: pip install 'rag-evals[hf]'"
        ) from error
    return torch, transformers


def _load(torch: Any, transformers: Any, source: Source) -> tuple[Any, Any, bool]:
    """Return the tokenizer, the model and whether it is HHEM; never runs code from the hub."""
    raw, _ = transformers.PretrainedConfig.get_config_dict(source.model, **source.where)
    architecture = (raw.get("architectures") or [""])[0]
    dtype = getattr(torch, source.dtype)
    if "hhem" in f"{raw.get('model_type', '')} {architecture}".lower():
        return *_load_hhem(transformers, source, raw, dtype), True
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.model, **source.where)
    if not architecture.endswith("ForSequenceClassification"):
        raise ValueError(
            f"its architecture {architecture!r} is not a supported classifier; expected HHEM "
            "or a sequence classifier, such as an NLI cross-encoder"
        )
    loader = transformers.AutoModelForSequenceClassification
    return tokenizer, _weights(loader, source, dtype=dtype), False


def _load_hhem(
    transformers: Any, source: Source, raw: Mapping[str, Any], dtype: Any
) -> tuple[Any, Any]:
    """Load HHEM as a plain T5, because its own class is remote code and fails on transformers 5."""
    foundation = str(raw.get("foundation", _FLAN_T5))
    where: dict[str, Any] = {"local_files_only": source.local_files_only}
    if foundation == _FLAN_T5:
        where["revision"] = _FLAN_T5_REVISION
    folder = Path(source.model)
    config = _t5_config(transformers, folder) or transformers.AutoConfig.from_pretrained(
        foundation, num_labels=2, **where
    )
    kind = transformers.T5ForTokenClassification
    loaded = _weights(kind, source, config=config, key_mapping={r"^t5\.": ""}, dtype=dtype)
    # Users without access to the hub can copy the tokenizer files into the folder.
    if (folder / "tokenizer.json").is_file():
        return transformers.PreTrainedTokenizerFast.from_pretrained(folder), loaded
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(foundation, **where)
    except Exception as error:
        raise ConfigurationError(
            f"classifier {source.model!r} uses the tokenizer of {foundation!r}, which cannot be "
            f"loaded ({type(error).__name__}); put that model's tokenizer.json and "
            "tokenizer_config.json into the folder"
        ) from error
    return tokenizer, loaded


def _t5_config(transformers: Any, folder: Path) -> Any:
    """Read a T5's dimensions from its weights, without the hub; None if the file is missing."""
    file = folder / "model.safetensors"
    if not file.is_file():
        return None
    with file.open("rb") as read:
        # A safetensors file starts with the length of its header.
        header = json.loads(read.read(int.from_bytes(read.read(8), "little")))
    header.pop("__metadata__", None)
    shapes = {
        name.removeprefix("t5.").removeprefix("transformer."): one["shape"]
        for name, one in header.items()
    }
    block = "encoder.block.0.layer"
    vocabulary, width = shapes.get("shared.weight") or shapes["encoder.embed_tokens.weight"]
    heads = shapes[f"{block}.0.SelfAttention.relative_attention_bias.weight"][1]
    gated = f"{block}.1.DenseReluDense.wi_0.weight" in shapes
    inner = shapes[f"{block}.1.DenseReluDense.{'wi_0' if gated else 'wi'}.weight"][0]
    layers = {name.split(".")[2] for name in shapes if name.startswith("encoder.block.")}
    return transformers.T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=shapes[f"{block}.0.SelfAttention.q.weight"][0] // heads,
        d_ff=inner,
        num_layers=len(layers),
        num_heads=heads,
        feed_forward_proj="gated-gelu" if gated else "relu",
        num_labels=2,
    )


def _weights(kind: Any, source: Source, **settings: Any) -> Any:
    """Load a model; reject missing weights, which transformers would initialise randomly."""
    model = source.model
    settings.update(source.where, output_loading_info=True, ignore_mismatched_sizes=True)
    loaded, found = kind.from_pretrained(model, **settings)
    missing = sorted(found["missing_keys"])
    if missing:
        raise ConfigurationError(
            f"classifier {model!r} lacks {_a_few(missing)}, which would be initialised randomly; "
            "expected a model trained to classify, with all of its weights"
        )
    mismatched = sorted(name for name, *_ in found["mismatched_keys"])
    if mismatched:
        raise ConfigurationError(
            f"classifier {model!r} has {_a_few(mismatched)} whose shapes do not match its "
            "config.json; expected the weights and config.json of the same model"
        )
    return loaded


def _a_few(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return f"weights {shown}" if len(names) <= 3 else f"{len(names)} weights, such as {shown}"


def _check_tokenizer(model: str, tokenizer: Any) -> None:
    if "offset_mapping" not in tokenizer("a", return_offsets_mapping=True, verbose=False):
        raise ConfigurationError(
            f"the tokenizer of classifier {model!r} is a {type(tokenizer).__name__}, which does "
            "not return token offsets; expected a fast tokenizer, with a tokenizer.json"
        )
    if tokenizer.pad_token_id is None:
        raise ConfigurationError(
            f"the tokenizer of classifier {model!r} has no pad token, so texts of different "
            "lengths cannot be batched; expected a pad_token in its tokenizer_config.json"
        )
