"""How is each kind of classifier asked? What it reads, and where its verdict stands."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evals.errors import ConfigurationError

# torch and transformers are optional and have no types here: their values are Any in this file.

_SUPPORTED = ("entailment", "entail", "entailed", "supported", "consistent", "faithful", "grounded")
_UNSUPPORTED = ("hallucination", "hallucinated", "unsupported", "inconsistent", "not_supported")
_HHEM_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {premise}\n\nHypothesis: {hypothesis}"
)
_T5_TOKENS = 512
_MOST_TOKENS = 8192
# KRLabsOrg/LettuceDetect, prompts/qa_prompt_en.txt and summary_prompt_en.txt.
_LETTUCE_ASKED = (
    "Briefly answer the following question:\n{question}\n"
    "Bear in mind that your response should be strictly based on the following {count} passages:\n"
    "{passages}\n"
    "In case the passages do not contain the necessary information to answer the question, please "
    'reply with: "Unable to answer based on given passages."\noutput:'
)
_LETTUCE_UNASKED = "Summarize the following text:\n{passages}\noutput:"


class Adapter(ABC):
    """One loaded model and how to ask it about a premise and a hypothesis.

    Attributes:
        form: The name under which `ADAPTERS` has its kind.
    """

    def __init__(
        self,
        torch: Any,
        tokenizer: Any,
        model: Any,
        label_map: Mapping[str, str],
        form: str,
    ) -> None:
        self.form = form
        self._torch = torch
        self._tokenizer = tokenizer
        self._model = model
        self._find_verdict(label_map)

    def _find_verdict(self, label_map: Mapping[str, str]) -> None:
        """Note where the verdict stands in what the model returns, if that differs by model."""
        del label_map

    @property
    def positions(self) -> int:
        """Tokens that the model has places for; T5, which counts distances, has no end."""
        config = self._model.config
        # DeBERTa counts distances too, unless its positions are part of the input.
        if getattr(config, "relative_attention", False) and not config.position_biased_input:
            return _MOST_TOKENS
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

    def premise(self, pieces: Sequence[str], question: str | None) -> str:
        """Write pieces of chunks as the one text that the model reads."""
        del question
        return "\n".join(pieces)

    def scores(self, batch: Sequence[Mapping[str, list[int]]]) -> list[float]:
        """Return the support of each pair, 0 to 1."""
        known = [{n: v for n, v in one.items() if not n.startswith("own_")} for one in batch]
        padded = self._tokenizer.pad(known, return_tensors="pt").to(self._model.device)
        with self._torch.inference_mode():
            # One read of the device for a batch: each costs a GPU its whole queue.
            scores: list[float] = self.read(padded, batch).tolist()
        return scores

    @abstractmethod
    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Run the model on a padded batch and return one support for each pair."""


class PairAdapter(Adapter):
    """Sequence classifiers that read two texts: NLI and consistency models."""

    def _find_verdict(self, label_map: Mapping[str, str]) -> None:
        config = self._model.config
        self._label = None if config.num_labels == 1 else supported_label(config, label_map)

    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Take the probability of the entailment label; one label alone is a logit."""
        del batch
        logits = self._model(**padded).logits.float()
        return logits[:, 0].sigmoid() if self._label is None else logits.softmax(-1)[:, self._label]


class JoinedTextAdapter(PairAdapter):
    """Sequence classifiers that read one text: MiniCheck's RoBERTa and DeBERTa."""

    def _find_verdict(self, label_map: Mapping[str, str]) -> None:
        config = self._model.config
        if not label_map and config.num_labels == 2:
            # Its labels have no names; the makers take class 1.
            label_map = {str(config.id2label[1]): "supported"}
        super()._find_verdict(label_map)

    def texts(self, premise: str, hypothesis: str) -> tuple[str, ...]:
        """Join the texts with the end-of-sequence token, as MiniCheck does."""
        end = self._tokenizer.eos_token or self._tokenizer.sep_token
        return (f"{premise}{end}{hypothesis}",)


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

    def _find_verdict(self, label_map: Mapping[str, str]) -> None:
        del label_map
        self._answers = [
            self._tokenizer.encode(answer, add_special_tokens=False)[0] for answer in ("0", "1")
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

    def _find_verdict(self, label_map: Mapping[str, str]) -> None:
        self._label = supported_label(self._model.config, label_map)

    def encode(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        """Note which tokens are the statement's."""
        encoded = self._tokenizer(premise, hypothesis, verbose=False)
        own = [place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1]
        return {**encoded, "own_tokens": own}

    def read(self, padded: Any, batch: Sequence[Mapping[str, list[int]]]) -> Any:
        """Take the least supported token of each statement."""
        supported = self._model(**padded).logits.float().softmax(-1)[:, :, self._label]
        width = supported.shape[1]
        left = self._tokenizer.padding_side == "left"
        own = self._torch.zeros(supported.shape, dtype=self._torch.bool)
        for row, one in enumerate(batch):
            # Padding may stand on the left.
            shift = width - len(one["input_ids"]) if left else 0
            own[row, [place + shift for place in one["own_tokens"]]] = True
        own = own.to(supported.device)
        least = supported.masked_fill(~own, 1.0).amin(dim=1)
        return least.masked_fill(~own.any(dim=1), 0.0)


class AskedSpanAdapter(SpanAdapter):
    """LettuceDetect's first version: a question, and numbered passages."""

    def premise(self, pieces: Sequence[str], question: str | None) -> str:
        """Fill the template that the model was trained with."""
        passages = "\n".join(f"passage {n}: {text}" for n, text in enumerate(pieces, start=1))
        if question is None:
            return _LETTUCE_UNASKED.format(passages=passages)
        return _LETTUCE_ASKED.format(question=question, count=len(pieces), passages=passages)


class RequestSpanAdapter(SpanAdapter):
    """LettuceDetect's second version: the request stands before the context."""

    def premise(self, pieces: Sequence[str], question: str | None) -> str:
        """Write the request first, as its training data does."""
        context = super().premise(pieces, question)
        # KRLabsOrg/LettuceDetect, scripts/canonicalize_prompts.py.
        return context if question is None else f"User request: {question}\n\n{context}"


ADAPTERS: Mapping[str, type[Adapter]] = {
    "pair": PairAdapter,
    "minicheck": JoinedTextAdapter,
    "minicheck-t5": YesNoAdapter,
    "hhem": FirstTokenAdapter,
    "lettucedetect-v1": AskedSpanAdapter,
    "lettucedetect-v2": RequestSpanAdapter,
    "spans": SpanAdapter,
}
"""How each form of `known.py` is asked."""

READS_QUESTION = frozenset({"lettucedetect-v1", "lettucedetect-v2"})
"""Forms that show the model what was asked."""


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
        f"the labels of the model are {every!r}, and none says which one means supported; look it "
        "up on the model's card (MiniCheck: form=minicheck takes class 1) and say it in the "
        f"judge's name, hf:MODEL?entailment=LABEL, or in Python with label_map={{LABEL: "
        "'entailment'}}"
    )
