"""How do the makers of each classifier ask it? Forms of asking, and the models that are known.

The numbers of `GOLDEN` stand on the models' cards and in their makers' code; nobody ran the models
to write this file. `rag-evals doctor` compares them with what a model gives here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


class Golden(NamedTuple):
    """A pair whose score is published.

    Attributes:
        premise: What the model reads as the source.
        hypothesis: What it decides.
        is_supported: Whether the makers say that it is.
        support: Their score, 0 to 1; None where they only name the label.
        question: What was asked; None where nothing was.
    """

    premise: str
    hypothesis: str
    is_supported: bool
    support: float | None = None
    question: str | None = None


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model whose makers say how it is asked.

    Attributes:
        form: A name from `FORMS`.
        max_length: Tokens of a window, as the makers use them; None takes the tokenizer's word.
        revision: The commit on the hub that the form was written for; None takes the newest.
        dtype: Numbers that it computes with.
        threshold: Support from which its makers call a statement supported.
        golden: Name of a list in `GOLDEN`.
    """

    form: str
    max_length: int | None = None
    revision: str | None = None
    dtype: str = "float32"
    threshold: float = 0.5
    golden: str | None = None


# Liyan06/MiniCheck, minicheck/inference.py: windows, the joined text, class 1.
KNOWN: Mapping[str, KnownModel] = {
    "vectara/hallucination_evaluation_model": KnownModel(
        "hhem", 2048, "8e4a2e6e96c708cc76c2344f7e4757df2515292c", golden="hhem"
    ),
    "lytang/MiniCheck-Flan-T5-Large": KnownModel(
        "minicheck-t5", 2048, "96eafd01cee2d16cf81aaa2fb226b14f422a37b3", golden="minicheck-t5"
    ),
    "lytang/MiniCheck-RoBERTa-Large": KnownModel(
        "minicheck", 512, "74c8919647e61ed0f71bc177d94f10930f090068", golden="minicheck"
    ),
    "lytang/MiniCheck-DeBERTa-v3-Large": KnownModel(
        "minicheck", 2048, "2f2d01a54fa022a7ffadb76260e1ea8bc88c82bb", golden="minicheck"
    ),
    # KRLabsOrg/LettuceDetect, detectors/transformer.py: 4,096 tokens; v1 has a question template.
    "KRLabsOrg/lettucedect-base-modernbert-en-v1": KnownModel(
        "lettucedetect-v1", 4096, golden="lettucedetect-v1"
    ),
    "KRLabsOrg/lettucedect-large-modernbert-en-v1": KnownModel(
        "lettucedetect-v1", 4096, golden="lettucedetect"
    ),
    "KRLabsOrg/lettucedect-v2-mmbert-base": KnownModel(
        "lettucedetect-v2", 4096, golden="lettucedetect-v2"
    ),
    "KRLabsOrg/lettucedect-v2-mmbert-large": KnownModel(
        "lettucedetect-v2", 4096, golden="lettucedetect-v2"
    ),
    "cross-encoder/nli-deberta-v3-xsmall": KnownModel("pair", golden="nli"),
    "cross-encoder/nli-deberta-v3-small": KnownModel("pair", golden="nli"),
    "cross-encoder/nli-deberta-v3-base": KnownModel("pair", golden="nli"),
    "cross-encoder/nli-deberta-v3-large": KnownModel("pair", golden="nli"),
    "cross-encoder/nli-roberta-base": KnownModel("pair", golden="nli"),
    "cross-encoder/nli-distilroberta-base": KnownModel("pair", golden="nli"),
}
"""Models by their name on the hub."""

_STUDENTS = (
    "A group of students gather in the school library to study for their upcoming final exams."
)
_FRANCE = (
    "France is a country in Europe. The capital of France is Paris. The population of France is "
    "67 million."
)
_FRANCE_ASKED = "What is the capital of France? What is the population of France?"
_FRANCE_ANSWER = "The capital of France is Paris. The population of France is 69 million."

GOLDEN: Mapping[str, tuple[Golden, ...]] = {
    # Model card of vectara/hallucination_evaluation_model, "Expected output".
    "hhem": (
        Golden(
            "The capital of France is Berlin.",
            "The capital of France is Paris.",
            False,
            0.011061512865126133,
        ),
        Golden("I am in California", "I am in United States.", True, 0.6473632454872131),
        Golden("I am in United States", "I am in California.", False, 0.1290171593427658),
        Golden(
            "A person on a horse jumps over a broken down airplane.",
            "A person is outdoors, on a horse.",
            True,
            0.8969419002532959,
        ),
        Golden(
            "A boy is jumping on skateboard in the middle of a red bridge.",
            "The boy skates down the sidewalk on a red bridge",
            False,
            0.18462494015693665,
        ),
        Golden(
            "A man with blond-hair, and a brown shirt drinking out of a public water fountain.",
            "A blond man wearing a brown shirt is reading a book.",
            False,
            0.005031010136008263,
        ),
        Golden(
            "Mark Wahlberg was a fan of Manny.",
            "Manny was a fan of Mark Wahlberg.",
            False,
            0.05432349815964699,
        ),
    ),
    # README of Liyan06/MiniCheck; the demonstration names scores for Flan-T5 only.
    "minicheck-t5": (
        Golden(
            _STUDENTS, "The students are preparing for an examination.", True, 0.9805923700332642
        ),
        Golden(_STUDENTS, "The students are on vacation.", False, 0.007121307775378227),
    ),
    "minicheck": (
        Golden(_STUDENTS, "The students are preparing for an examination.", True),
        Golden(_STUDENTS, "The students are on vacation.", False),
    ),
    # README of Liyan06/MiniCheck; this one is behind an endpoint, see `yes_no_forms.py`.
    "bespoke-minicheck": (
        Golden(
            _STUDENTS, "The students are preparing for an examination.", True, 0.9840446675150499
        ),
        Golden(_STUDENTS, "The students are on vacation.", False, 0.010986349594852094),
    ),
    # README of KRLabsOrg/LettuceDetect: 0.9944414496421814 for the made-up span of the base model.
    "lettucedetect-v1": (
        Golden(_FRANCE, _FRANCE_ANSWER, False, 1 - 0.9944414496421814, question=_FRANCE_ASKED),
    ),
    "lettucedetect": (Golden(_FRANCE, _FRANCE_ANSWER, False, question=_FRANCE_ASKED),),
    # Model card of KRLabsOrg/lettucedect-v2-mmbert-base: "4.5 million" is marked.
    "lettucedetect-v2": (
        Golden(
            "France is in Western Europe. Its capital Paris had about 2.1 million people in 2019.",
            "The capital of France is Paris, with a population of about 4.5 million people.",
            False,
        ),
    ),
    # Model cards of cross-encoder/nli-*: entailment, contradiction.
    "nli": (
        Golden("A man is eating pizza", "A man eats something", True),
        Golden(
            "A black race car starts up in front of a crowd of people.",
            "A man is driving down a lonely road.",
            False,
        ),
    ),
}
"""Published pairs, by the name that `KnownModel.golden` holds."""


def known_model(model: str) -> KnownModel | None:
    """Find a model by its name on the hub, or a folder by its own name; None for any other."""
    exact = next((one for name, one in KNOWN.items() if name.lower() == model.lower()), None)
    if exact is not None:
        return exact
    last = model.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return next((one for name, one in KNOWN.items() if name.lower().endswith(f"/{last}")), None)
