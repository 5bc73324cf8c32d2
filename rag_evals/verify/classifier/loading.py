"""How is a classifier loaded? All of its weights, or an error that says what is wrong with it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evals.errors import ConfigurationError, MissingExtraError
from rag_evals.verify.classifier.adapters import ADAPTERS, Adapter
from rag_evals.verify.classifier.known import FLAN_T5, FLAN_T5_REVISION

# torch and transformers are optional and have no types here: their values are Any in this file.


def resolve_device(device: str) -> str:
    """Name the one device that a setting means on this machine: `cpu`, `cuda:0`, `mps`.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        ConfigurationError: There is no such device here.
    """
    torch, _ = _libraries()
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda:0" if count else "cpu"
    kind, _, number = device.partition(":")
    if kind == "cuda":
        if int(number or 0) >= count:
            raise ConfigurationError(
                f"device is {device!r}, and torch sees {count} GPUs here; use 'cpu' or 'auto'"
            )
        return f"cuda:{int(number or 0)}"
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigurationError("device is 'mps', which this machine has not; use 'cpu' or 'auto'")
    return device


@dataclass(frozen=True, slots=True)
class Source:
    """Which weights to load, and how to ask them.

    Attributes:
        model: Name on the hub, or a folder.
        revision: Branch, tag or commit on the hub; None is the newest.
        local_files_only: Ask no hub: what is not on this machine is an error.
        dtype: Numbers to compute with, such as `float32`.
        form: A name from `FORMS`; None takes it from the model's structure.
        label_map: Names for labels that have none.
    """

    model: str
    revision: str | None = None
    local_files_only: bool = False
    dtype: str = "float32"
    form: str | None = None
    label_map: Mapping[str, str] = field(default_factory=dict)

    @property
    def where(self) -> dict[str, Any]:
        """Arguments for every `from_pretrained` of the model."""
        own = {} if Path(self.model).is_dir() else {"revision": self.revision or "main"}
        return {**own, "local_files_only": self.local_files_only}


def adapter_for(source: Source, device: str) -> Adapter:
    """Load a model and choose how it is asked.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        ConfigurationError: No such device; the weights cannot be had, are damaged or are not
            complete; the tokenizer cannot be used; or no label means supported.
    """
    torch, transformers = _libraries()
    place = resolve_device(device)
    model = source.model
    try:
        with _without_report(transformers):
            tokenizer, loaded, form = _load(torch, transformers, source)
        _check_tokenizer(model, tokenizer)
        return ADAPTERS[form](torch, tokenizer, loaded.to(place).eval(), source.label_map, form)
    except ConfigurationError:
        raise
    # Damaged files, and files of another make, raise whatever the libraries meet in them.
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        at = f" at revision {source.revision!r}" if source.revision else ""
        raise ConfigurationError(
            f"classifier {model!r} cannot be loaded{at}: {reason}; give a name on the Hugging "
            "Face hub that this machine can reach, or a folder with all of the model's files, "
            "undamaged"
        ) from error


def _libraries() -> tuple[Any, Any]:
    try:
        import torch  # noqa: PLC0415 - optional, and seconds to import
        import transformers  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingExtraError(
            "classifiers need transformers and torch; run: pip install 'rag-evals[hf]'"
        ) from error
    return torch, transformers


# The class of transformers that loads the models of a form; the first form is the usual one.
_LOADERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ForSequenceClassification": ("AutoModelForSequenceClassification", ("pair", "minicheck")),
    "ForConditionalGeneration": ("AutoModelForSeq2SeqLM", ("minicheck-t5",)),
    "ForTokenClassification": (
        "AutoModelForTokenClassification",
        ("spans", "lettucedetect-v1", "lettucedetect-v2"),
    ),
}


def _load(torch: Any, transformers: Any, source: Source) -> tuple[Any, Any, str]:
    """Return tokenizer, model and form; code from the hub is never run."""
    raw, _ = transformers.PretrainedConfig.get_config_dict(source.model, **source.where)
    architecture = (raw.get("architectures") or [""])[0]
    dtype = getattr(torch, source.dtype)
    if "hhem" in f"{raw.get('model_type', '')} {architecture}".lower():
        return _load_hhem(transformers, source, raw, dtype)
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.model, **source.where)
    ending = next((one for one in _LOADERS if architecture.endswith(one)), None)
    if ending is None:
        raise ValueError(f"its architecture {architecture!r} is no classifier that is known here")
    loader, forms = _LOADERS[ending]
    if ending == "ForTokenClassification" and raw.get("model_type") == "t5":
        forms = ("hhem",)
    form = source.form or forms[0]
    if form not in forms:
        raise ConfigurationError(
            f"form is {form!r}, and classifier {source.model!r} is a {architecture}; expected "
            f"{' or '.join(map(repr, forms))}"
        )
    return tokenizer, _weights(getattr(transformers, loader), source, dtype=dtype), form


def _load_hhem(
    transformers: Any, source: Source, raw: Mapping[str, Any], dtype: Any
) -> tuple[Any, Any, str]:
    """Load HHEM as a plain T5: its own class is remote code, and fails on transformers 5."""
    foundation = str(raw.get("foundation", FLAN_T5))
    where: dict[str, Any] = {"local_files_only": source.local_files_only}
    if foundation == FLAN_T5:
        where["revision"] = FLAN_T5_REVISION
    folder = Path(source.model)
    config = _t5_config(transformers, folder) or transformers.AutoConfig.from_pretrained(
        foundation, num_labels=2, **where
    )
    kind = transformers.T5ForTokenClassification
    loaded = _weights(kind, source, config=config, key_mapping={r"^t5\.": ""}, dtype=dtype)
    # Whoever copies HHEM to a machine without the hub puts the tokenizer's files beside it.
    if (folder / "tokenizer.json").is_file():
        return transformers.PreTrainedTokenizerFast.from_pretrained(folder), loaded, "hhem"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(foundation, **where)
    except Exception as error:
        raise ConfigurationError(
            f"classifier {source.model!r} reads with the tokenizer of {foundation!r}, which cannot "
            f"be had here ({type(error).__name__}); put that model's tokenizer.json and "
            "tokenizer_config.json into the folder"
        ) from error
    return tokenizer, loaded, "hhem"


def _t5_config(transformers: Any, folder: Path) -> Any:
    """Read the sizes of a T5 from its weights, so that no hub is asked; None without them."""
    file = folder / "model.safetensors"
    if not file.is_file():
        return None
    with file.open("rb") as read:
        # A safetensors file begins with the length of its table of contents.
        header = json.loads(read.read(int.from_bytes(read.read(8), "little")))
    shapes = {
        name.removeprefix("t5.").removeprefix("transformer."): one["shape"]
        for name, one in header.items()
        if name != "__metadata__"
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
    """Load all weights of a model, or none: transformers would fill the gaps at random."""
    model = source.model
    loaded, found = kind.from_pretrained(
        model,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
        **source.where,
        **settings,
    )
    missing = sorted(found["missing_keys"])
    if missing:
        raise ConfigurationError(
            f"classifier {model!r} lacks {_a_few(missing)}, which would be random; expected a "
            "model that was trained to classify, with all of its weights"
        )
    mismatched = sorted(name for name, *_ in found["mismatched_keys"])
    if mismatched:
        raise ConfigurationError(
            f"classifier {model!r} has {_a_few(mismatched)} in other shapes than its config.json "
            "says; expected weights and config.json of one model"
        )
    return loaded


def _a_few(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return f"weights {shown}" if len(names) <= 3 else f"{len(names)} weights, such as {shown}"


def _check_tokenizer(model: str, tokenizer: Any) -> None:
    if "offset_mapping" not in tokenizer("a", return_offsets_mapping=True, verbose=False):
        raise ConfigurationError(
            f"the tokenizer of classifier {model!r} is a {type(tokenizer).__name__}, which does "
            "not give the offsets of its tokens; expected a fast one, with a tokenizer.json"
        )
    if tokenizer.pad_token_id is None:
        raise ConfigurationError(
            f"the tokenizer of classifier {model!r} has no pad token, so texts of several lengths "
            "cannot be batched; expected a pad_token in its tokenizer_config.json"
        )


@contextmanager
def _without_report(transformers: Any) -> Iterator[None]:
    """Keep back the table of weights that transformers logs: `_weights` says what is wrong."""
    logging = transformers.utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
