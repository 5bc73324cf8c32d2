"""How is each kind of classifier asked? The only file that imports torch and transformers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rag_evals.errors import ConfigurationError, MissingExtraError

# torch and transformers are optional and have no types here: their values are Any in this file.

_SUPPORTED = ("entailment", "entail", "entailed", "supported", "consistent", "faithful", "grounded")
_UNSUPPORTED = ("hallucination", "hallucinated", "unsupported", "inconsistent", "not_supported")
_HHEM_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {premise}\n\nHypothesis: {hypothesis}"
)
_T5_TOKENS = 512
_MOST_TOKENS = 8192


class Adapter(ABC):
    """One loaded model and how to ask it about a premise and a hypothesis."""

    def __init__(self, torch: Any, tokenizer: Any, model: Any) -> None:
        self._torch = torch
        self._tokenizer = tokenizer
        self._model = model

    @property
    def positions(self) -> int:
        """Tokens that the model has places for; T5, which counts distances, has no end."""
        config = self._model.config
        # RoBERTa keeps two of its positions to itself; its tokenizer knows, where it is asked.
        offset = 2 if "roberta" in config.model_type else 0
        return int((getattr(config, "max_position_embeddings", None) or _MOST_TOKENS) - offset)

    @property
    def max_length(self) -> int:
        """Tokens that the model was made to read at once."""
        return int(min(self._tokenizer.model_max_length, self.positions, _MOST_TOKENS))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each token of a text begins and ends, in characters."""
        encoded = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return [(start, end) for start, end in encoded["offset_mapping"] if end > start]

    def encode(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        """Turn a pair into token ids; nothing is cut off."""
        return dict(self._tokenizer(*self.texts(premise, hypothesis), verbose=False))

    def texts(self, premise: str, hypothesis: str) -> tuple[str, ...]:
        """Return what the tokenizer reads: two texts, or one that holds both."""
        return premise, hypothesis

    def scores(self, batch: Sequence[Mapping[str, list[int]]]) -> list[float]:
        """Return the support of each pair, 0 to 1."""
        known = [{n: v for n, v in one.items() if not n.startswith("own_")} for one in batch]
        padded = self._tokenizer.pad(known, return_tensors="pt").to(self._model.device)
        with self._torch.inference_mode():
            return [float(score) for score in self.read(padded, batch)]

    @abstractmethod
    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Run the model on a padded batch and return one support for each pair."""


class PairAdapter(Adapter):
    """Sequence classifiers that read two texts: NLI and consistency models."""

    def __init__(
        self, torch: Any, tokenizer: Any, model: Any, label_map: Mapping[str, str]
    ) -> None:
        super().__init__(torch, tokenizer, model)
        self._label = (
            None if model.config.num_labels == 1 else supported_label(model.config, label_map)
        )

    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Take the probability of the entailment label; one label alone is a logit."""
        del batch
        logits = self._model(**padded).logits.float()
        return logits[:, 0].sigmoid() if self._label is None else logits.softmax(-1)[:, self._label]


class FirstTokenAdapter(Adapter):
    """T5 with a token classifier whose first token holds the verdict: HHEM-2.1-Open."""

    max_length = _T5_TOKENS

    def texts(self, premise: str, hypothesis: str) -> tuple[str, ...]:
        """Fill the prompt that the model was trained with."""
        return (_HHEM_PROMPT.format(premise=premise, hypothesis=hypothesis),)

    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Take the probability of class 1, consistent, at the first token."""
        del batch
        return self._model(**padded).logits[:, 0, :].float().softmax(-1)[:, 1]


class YesNoAdapter(Adapter):
    """Sequence-to-sequence models that answer 1 or 0: MiniCheck-Flan-T5."""

    max_length = _T5_TOKENS

    def __init__(self, torch: Any, tokenizer: Any, model: Any) -> None:
        super().__init__(torch, tokenizer, model)
        self._answers = [
            tokenizer.encode(answer, add_special_tokens=False)[0] for answer in ("0", "1")
        ]

    def texts(self, premise: str, hypothesis: str) -> tuple[str, ...]:
        """Join the texts as MiniCheck does."""
        return (f"predict: {premise}{self._tokenizer.eos_token}{hypothesis}",)

    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Compare the first decoded token's logits for "1" and "0"."""
        start = self._model.config.decoder_start_token_id
        first = self._torch.full((len(batch), 1), start, device=self._model.device)
        logits = self._model(**padded, decoder_input_ids=first).logits[:, 0, self._answers]
        return logits.float().softmax(-1)[:, 1]


class SpanAdapter(Adapter):
    """Token classifiers that mark hallucinated tokens: LettuceDetect."""

    def __init__(
        self, torch: Any, tokenizer: Any, model: Any, label_map: Mapping[str, str]
    ) -> None:
        super().__init__(torch, tokenizer, model)
        self._label = supported_label(model.config, label_map)

    def encode(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        """Note which tokens are the statement's."""
        encoded = self._tokenizer(premise, hypothesis, verbose=False)
        own = [place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1]
        return {**encoded, "own_tokens": own}

    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Take the least supported token of each statement."""
        supported = self._model(**padded).logits.float().softmax(-1)[:, :, self._label]
        # Padding may stand on the left.
        width = supported.shape[1]
        left = self._tokenizer.padding_side == "left"
        return [
            min(
                float(row[place + (width - len(one["input_ids"]) if left else 0)])
                for place in one["own_tokens"]
            )
            if one["own_tokens"]
            else 0.0
            for row, one in zip(supported, batch, strict=True)
        ]


def supported_label(config: Any, label_map: Mapping[str, str]) -> int:
    """Find the label that means "supported" by its name; the order differs between models.

    Raises:
        ConfigurationError: No label, or more than one, has such a name; or `label_map` names a
            label that the model has not.
    """
    labels = {int(place): str(label) for place, label in config.id2label.items()}
    unknown = [label for label in label_map if label not in labels.values()]
    if unknown:
        raise ConfigurationError(
            f"label_map has {unknown[0]!r}, and the model's labels are {[*labels.values()]!r}; "
            "expected one of them"
        )
    named = {
        place: label_map.get(label, label).strip().lower().replace(" ", "_")
        for place, label in labels.items()
    }
    found = [place for place, name in named.items() if name in _SUPPORTED]
    if not found and len(named) == 2:
        found = [place for place, name in named.items() if name not in _UNSUPPORTED]
        found = found if len(found) == 1 else []
    if len(found) == 1:
        return found[0]
    raise ConfigurationError(_why_no_label(labels, label_map, found))


def _why_no_label(
    labels: Mapping[int, str], label_map: Mapping[str, str], found: Sequence[int]
) -> str:
    every = [*labels.values()]
    if found:
        several = [labels[place] for place in found]
        return f"of the labels {every!r}, {several!r} all mean supported; expected one that does"
    if label_map:
        return (
            f"label_map is {dict(label_map)!r}, and names none of {every!r} 'entailment'; "
            f"expected one of its values to be one of {', '.join(_SUPPORTED)}"
        )
    return (
        f"the labels of the model are {every!r}, and none says which one means supported; say it "
        f"in the judge's name, hf:MODEL?entailment={every[0]}, or in Python with "
        f"label_map={{{every[0]!r}: 'entailment'}}"
    )


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


def adapter_for(model: str, device: str, label_map: Mapping[str, str]) -> Adapter:
    """Load a model and choose how it is asked.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        ConfigurationError: No such device; the weights cannot be had, are damaged or are not
            complete; the tokenizer cannot be used; or no label means supported.
    """
    torch, transformers = _libraries()
    place = resolve_device(device)
    try:
        with _without_report(transformers):
            tokenizer, loaded, kind = _load(transformers, model)
        _check_tokenizer(model, tokenizer)
        return _adapter(torch, tokenizer, loaded.to(place).eval(), kind, label_map)
    except ConfigurationError:
        raise
    # Damaged files, and files of another make, raise whatever the libraries meet in them.
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ConfigurationError(
            f"classifier {model!r} cannot be loaded: {reason}; give a name on the Hugging Face hub "
            "that this machine can reach, or a folder with all of the model's files, undamaged"
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


def _adapter(
    torch: Any, tokenizer: Any, loaded: Any, kind: str, label_map: Mapping[str, str]
) -> Adapter:
    if kind == "first_token":
        return FirstTokenAdapter(torch, tokenizer, loaded)
    if kind == "yes_no":
        return YesNoAdapter(torch, tokenizer, loaded)
    if kind == "spans":
        return SpanAdapter(torch, tokenizer, loaded, label_map)
    return PairAdapter(torch, tokenizer, loaded, label_map)


def _load(transformers: Any, model: str) -> tuple[Any, Any, str]:
    """Return tokenizer, model and the kind of adapter; code from the hub is never run."""
    raw, _ = transformers.PretrainedConfig.get_config_dict(model)
    architecture = (raw.get("architectures") or [""])[0]
    if "hhem" in f"{raw.get('model_type', '')} {architecture}".lower():
        # Its own class is remote code and fails on transformers 5; the weights are a plain T5's.
        foundation = raw.get("foundation", "google/flan-t5-base")
        config = transformers.AutoConfig.from_pretrained(foundation, num_labels=2)
        kind = transformers.T5ForTokenClassification
        loaded = _weights(kind, model, config=config, key_mapping={r"^t5\.": ""})
        return transformers.AutoTokenizer.from_pretrained(foundation), loaded, "first_token"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    if architecture.endswith("ForTokenClassification"):
        loaded = _weights(transformers.AutoModelForTokenClassification, model)
        return tokenizer, loaded, "first_token" if raw.get("model_type") == "t5" else "spans"
    if architecture.endswith("ForConditionalGeneration"):
        return tokenizer, _weights(transformers.AutoModelForSeq2SeqLM, model), "yes_no"
    if not architecture.endswith("ForSequenceClassification"):
        raise ValueError(f"its architecture {architecture!r} is no classifier that is known here")
    loaded = _weights(transformers.AutoModelForSequenceClassification, model)
    return tokenizer, loaded, "pair"


def _weights(kind: Any, model: str, **settings: Any) -> Any:
    """Load all weights of a model, or none: transformers would fill the gaps at random."""
    loaded, found = kind.from_pretrained(
        model, output_loading_info=True, ignore_mismatched_sizes=True, **settings
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
