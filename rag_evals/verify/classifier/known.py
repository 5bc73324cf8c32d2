"""How do the makers of each classifier ask it? Forms of asking, and the models that are known.

The forms stand on the models' cards and in their makers' code; nobody ran the models to write this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Joining = Literal["always", "unsupported", "never"]
"""When chunks are read together: first, where none alone supports a statement, or not at all."""

FLAN_T5 = "google/flan-t5-base"
"""Whose tokenizer and structure HHEM has."""

FLAN_T5_REVISION = "7bcac572ce56db69c1ea7c8af255c5d7c9672fc2"

FORMS: Mapping[str, Joining] = {
    "pair": "unsupported",
    "minicheck": "always",
    "minicheck-t5": "always",
    "hhem": "always",
    "lettucedetect-v1": "always",
    "lettucedetect-v2": "always",
    "spans": "always",
}
"""The ways to ask a classifier, and whether its makers join the chunks."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model whose makers say how it is asked.

    Attributes:
        form: A name from `FORMS`.
        max_length: Tokens of a window, as the makers use them; None takes the tokenizer's word.
        revision: The commit on the hub that the form was written for; None takes the newest.
        dtype: Numbers that it computes with.
        threshold: Support from which its makers call a statement supported.
    """

    form: str
    max_length: int | None = None
    revision: str | None = None
    dtype: str = "float32"
    threshold: float = 0.5


# Liyan06/MiniCheck, minicheck/inference.py: windows, the joined text, class 1.
KNOWN: Mapping[str, KnownModel] = {
    "vectara/hallucination_evaluation_model": KnownModel(
        "hhem", 2048, "8e4a2e6e96c708cc76c2344f7e4757df2515292c"
    ),
    "lytang/MiniCheck-Flan-T5-Large": KnownModel(
        "minicheck-t5", 2048, "96eafd01cee2d16cf81aaa2fb226b14f422a37b3"
    ),
    "lytang/MiniCheck-RoBERTa-Large": KnownModel(
        "minicheck", 512, "74c8919647e61ed0f71bc177d94f10930f090068"
    ),
    "lytang/MiniCheck-DeBERTa-v3-Large": KnownModel(
        "minicheck", 2048, "2f2d01a54fa022a7ffadb76260e1ea8bc88c82bb"
    ),
    # KRLabsOrg/LettuceDetect, detectors/transformer.py: 4,096 tokens; v1 has a question template.
    "KRLabsOrg/lettucedect-base-modernbert-en-v1": KnownModel("lettucedetect-v1", 4096),
    "KRLabsOrg/lettucedect-large-modernbert-en-v1": KnownModel("lettucedetect-v1", 4096),
    "KRLabsOrg/lettucedect-v2-mmbert-base": KnownModel("lettucedetect-v2", 4096),
    "KRLabsOrg/lettucedect-v2-mmbert-large": KnownModel("lettucedetect-v2", 4096),
    "cross-encoder/nli-deberta-v3-xsmall": KnownModel("pair"),
    "cross-encoder/nli-deberta-v3-small": KnownModel("pair"),
    "cross-encoder/nli-deberta-v3-base": KnownModel("pair"),
    "cross-encoder/nli-deberta-v3-large": KnownModel("pair"),
    "cross-encoder/nli-roberta-base": KnownModel("pair"),
    "cross-encoder/nli-distilroberta-base": KnownModel("pair"),
}
"""Models by their name on the hub."""


def known_model(model: str) -> KnownModel | None:
    """Find a model by its name on the hub, or a folder by its own name; None for any other."""
    exact = next((one for name, one in KNOWN.items() if name.lower() == model.lower()), None)
    if exact is not None:
        return exact
    last = model.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return next((one for name, one in KNOWN.items() if name.lower().endswith(f"/{last}")), None)
