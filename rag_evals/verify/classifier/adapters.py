"""How is each kind of classifier asked? The only file that imports torch and transformers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
    def max_length(self) -> int:
        """Tokens that the model reads at once."""
        config = self._model.config
        # RoBERTa keeps two of its positions to itself; its tokenizer knows, where it is asked.
        offset = 2 if "roberta" in config.model_type else 0
        positions = getattr(config, "max_position_embeddings", None) or _MOST_TOKENS
        named = self._tokenizer.model_max_length
        return int(min(named, positions - offset, _MOST_TOKENS))

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
    """Token classifiers that mark what is made up: LettuceDetect."""

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
        ConfigurationError: No label, or more than one, has such a name.
    """
    named = {
        int(place): label_map.get(str(label), str(label)).strip().lower().replace(" ", "_")
        for place, label in config.id2label.items()
    }
    found = [place for place, label in named.items() if label in _SUPPORTED]
    if not found and len(named) == 2:
        found = [place for place, label in named.items() if label not in _UNSUPPORTED]
        found = found if len(found) == 1 else []
    if len(found) == 1:
        return found[0]
    labels = list(config.id2label.values())
    raise ConfigurationError(
        f"the labels of the model are {labels!r}, and none says which one means supported; pass "
        f"label_map={{{str(labels[0])!r}: 'entailment', ...}}"
    )


def adapter_for(model: str, device: str, label_map: Mapping[str, str]) -> Adapter:
    """Load a model and choose how it is asked.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        ConfigurationError: No such device, or the weights cannot be had.
    """
    try:
        import torch  # noqa: PLC0415 - optional, and seconds to import
        import transformers  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingExtraError(
            "classifiers need transformers and torch; run: pip install 'rag-evals[hf]'"
        ) from error
    place = _device(torch, device)
    try:
        tokenizer, loaded, kind = _load(transformers, model)
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigurationError(
            f"classifier {model!r} cannot be loaded: {reason}; give a name on the Hugging Face hub "
            "that this machine can reach, or a folder with the model's files"
        ) from error
    loaded = loaded.to(place).eval()
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
        loaded = transformers.T5ForTokenClassification.from_pretrained(
            model, config=config, key_mapping={r"^t5\.": ""}
        )
        return transformers.AutoTokenizer.from_pretrained(foundation), loaded, "first_token"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    if architecture.endswith("ForTokenClassification"):
        loaded = transformers.AutoModelForTokenClassification.from_pretrained(model)
        return tokenizer, loaded, "first_token" if raw.get("model_type") == "t5" else "spans"
    if architecture.endswith("ForConditionalGeneration"):
        return tokenizer, transformers.AutoModelForSeq2SeqLM.from_pretrained(model), "yes_no"
    if not architecture.endswith("ForSequenceClassification"):
        raise ValueError(f"its architecture {architecture!r} is no classifier that is known here")
    return tokenizer, transformers.AutoModelForSequenceClassification.from_pretrained(model), "pair"


def _device(torch: Any, device: str) -> Any:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return torch.device("cuda:0" if count else "cpu")
    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= count:
        raise ConfigurationError(
            f"device is {device!r}, and torch sees {count} GPUs here; use 'cpu' or 'auto'"
        )
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigurationError("device is 'mps', which this machine has not; use 'cpu' or 'auto'")
    return torch.device(device)
