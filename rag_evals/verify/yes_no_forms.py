"""How do the makers of each yes/no checker ask it? Messages, settings, and what "yes" means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evals.core import Message

# Liyan06/MiniCheck, minicheck/utils.py: the prompt that Bespoke-MiniCheck-7B was trained with.
_MINICHECK_SYSTEM = (
    "Determine whether the provided claim is consistent with the corresponding document. "
    "Consistency in this context implies that all information presented in the claim is "
    "substantiated by the document. If not, it should be considered inconsistent. Please assess "
    'the claim\'s consistency with the document by responding with either "Yes" or "No".'
)
# ibm-granite/granite-guardian, evaluation/models/granite_guardian_4_1.py, without thinking.
_GUARDIAN_BLOCK = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given "
    "judging criteria using all available information, including conversations, documents, and "
    "tools. Provide your score immediately without explanation. Output empty <think>\n</think> "
    "tags followed by your score in <score></score> tags.\n\n"
    "### Criteria: A text is considered ungrounded or unfaithful if it includes information "
    "lacking support from, or directly contradicting, the provided document(s). This risk arises "
    "when the text fabricates details, misinterprets the content, or makes unsupported "
    "extrapolations beyond what is explicitly stated in the document(s).\n\n"
    "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; otherwise, "
    "return 'no'."
)
_SCORE_TOKENS = 20

Build = Callable[[str, str, str | None], tuple[Message, ...]]
"""Makes the messages of claim, document and question."""


@dataclass(frozen=True, slots=True)
class YesNoForm:
    """One way to ask a model that answers yes or no.

    Attributes:
        messages: Makes what is sent of claim, document and question.
        yes_is_support: False for models that are asked whether something is wrong.
        max_tokens: What a whole answer may take, in tokens.
        with_document: True where the document travels beside the messages, for the chat template.
        template: Further arguments for the chat template of a server such as vLLM.
        reads_question: True where the question is among the messages.
        models: Parts of names that this form is for, in lower case.
    """

    messages: Build
    yes_is_support: bool = True
    max_tokens: int = 1
    with_document: bool = False
    template: Mapping[str, Any] = field(default_factory=dict)
    reads_question: bool = False
    models: tuple[str, ...] = ()

    def settings(self, document: str) -> dict[str, Any]:
        """Return the sampling settings of a call."""
        body: dict[str, Any] = {}
        if self.template:
            body["chat_template_kwargs"] = dict(self.template)
        if self.with_document:
            body["documents"] = [{"doc_id": "0", "text": document}]
        settings = {
            "temperature": 0,
            "max_tokens": self.max_tokens,
            "logprobs": True,
            # OpenAI's own limit is 20, older servers allow 5: yes and no are among the first.
            "top_logprobs": 5,
        }
        return {**settings, "extra_body": body} if body else settings


def _minicheck(claim: str, document: str, question: str | None) -> tuple[Message, ...]:
    del question
    return (
        {"role": "system", "content": _MINICHECK_SYSTEM},
        {"role": "user", "content": f"Document: {document}\nClaim: {claim}"},
    )


def _guardian_3(claim: str, document: str, question: str | None) -> tuple[Message, ...]:
    del question
    return (
        {"role": "context", "content": document},
        {"role": "assistant", "content": claim},
    )


def _turns(claim: str, question: str | None) -> tuple[Message, ...]:
    asked: tuple[Message, ...] = (
        () if question is None else ({"role": "user", "content": question},)
    )
    return (*asked, {"role": "assistant", "content": claim})


def _guardian_33(claim: str, document: str, question: str | None) -> tuple[Message, ...]:
    del document
    return _turns(claim, question)


def _guardian_41(claim: str, document: str, question: str | None) -> tuple[Message, ...]:
    del document
    return (*_turns(claim, question), {"role": "user", "content": _GUARDIAN_BLOCK})


MINICHECK = "minicheck"
"""The form for any model that follows instructions, and the one that Bespoke-MiniCheck knows."""

FORMS: Mapping[str, YesNoForm] = {
    MINICHECK: YesNoForm(_minicheck),
    # ibm-granite/granite-guardian, evaluation/models/granite_guardian_3.py and _3_3.py.
    "granite-guardian-3.2": YesNoForm(
        _guardian_3,
        yes_is_support=False,
        template={"guardian_config": {"risk_name": "groundedness"}},
        models=("guardian-3.0", "guardian-3.1", "guardian-3.2"),
    ),
    "granite-guardian-3.3": YesNoForm(
        _guardian_33,
        yes_is_support=False,
        max_tokens=_SCORE_TOKENS,
        with_document=True,
        reads_question=True,
        template={"guardian_config": {"criteria_id": "groundedness"}, "think": False},
        models=("guardian-3.3",),
    ),
    "granite-guardian-4.1": YesNoForm(
        _guardian_41,
        yes_is_support=False,
        max_tokens=_SCORE_TOKENS,
        with_document=True,
        reads_question=True,
        models=("guardian-4",),
    ),
}
"""Every form by its name; the first is for all models that no other one names."""


def form_for(model: str) -> str:
    """Return the name of the form that a model's own name asks for."""
    name = model.lower()
    known = (form for form, one in FORMS.items() if any(part in name for part in one.models))
    return next(known, MINICHECK)


def joined(chunks: Sequence[str]) -> str:
    """Write all chunks as the one document that such a model reads."""
    return "\n\n".join(chunks)
