"""Do the chunks support a statement? A model that answers yes or no, and how sure it is of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rag_evals.core import (
    Claim,
    Flow,
    JudgeCall,
    Message,
    TextReply,
    Verdict,
    VerifierChanges,
    VerifierTraits,
    fingerprint,
    require_fraction,
)
from rag_evals.errors import JudgeOutputError, UnknownNameError
from rag_evals.judge import read_endpoint

_VERSION = 1
_SHOWN_CHARS = 40
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


@dataclass(frozen=True, slots=True)
class YesNoForm:
    """One way to ask a model that answers yes or no.

    Attributes:
        messages: Role and text of each message, with `{claim}`, `{document}` and `{question}`;
            without a question, a message that asks it is left out. A document that no message
            holds travels beside them, for the chat template.
        yes_is_support: False for models that are asked whether something is wrong.
        max_tokens: What a whole answer may take, in tokens.
        template: Further arguments for the chat template of a server such as vLLM.
        models: Parts of names that this form is for, in lower case.
    """

    messages: tuple[tuple[Literal["system", "user", "assistant", "context"], str], ...]
    yes_is_support: bool = False
    max_tokens: int = 20
    template: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()

    @property
    def reads_question(self) -> bool:
        """Whether a message asks the question."""
        return any("{question}" in text for _, text in self.messages)

    def filled(self, claim: str, document: str, question: str | None) -> tuple[Message, ...]:
        """Return the messages of a call."""
        return tuple(
            {
                "role": role,
                "content": text.format(claim=claim, document=document, question=question),
            }
            for role, text in self.messages
            if question is not None or "{question}" not in text
        )

    def settings(self, document: str) -> dict[str, Any]:
        """Return the sampling settings of a call."""
        body: dict[str, Any] = {}
        if self.template:
            body["chat_template_kwargs"] = dict(self.template)
        if not any("{document}" in text for _, text in self.messages):
            body["documents"] = [{"doc_id": "0", "text": document}]
        settings = {
            "temperature": 0,
            "max_tokens": self.max_tokens,
            "logprobs": True,
            # OpenAI's own limit is 20, older servers allow 5: yes and no are among the first.
            "top_logprobs": 5,
        }
        return {**settings, "extra_body": body} if body else settings


MINICHECK = "minicheck"
"""The form for any model that follows instructions, and the one that Bespoke-MiniCheck knows."""

FORMS: Mapping[str, YesNoForm] = {
    MINICHECK: YesNoForm(
        (("system", _MINICHECK_SYSTEM), ("user", "Document: {document}\nClaim: {claim}")),
        yes_is_support=True,
        max_tokens=1,
    ),
    # ibm-granite/granite-guardian, evaluation/models/granite_guardian_3.py and _3_3.py.
    "granite-guardian-3.2": YesNoForm(
        (("context", "{document}"), ("assistant", "{claim}")),
        max_tokens=1,
        template={"guardian_config": {"risk_name": "groundedness"}},
        models=("guardian-3.0", "guardian-3.1", "guardian-3.2"),
    ),
    "granite-guardian-3.3": YesNoForm(
        (("user", "{question}"), ("assistant", "{claim}")),
        template={"guardian_config": {"criteria_id": "groundedness"}, "think": False},
        models=("guardian-3.3",),
    ),
    "granite-guardian-4.1": YesNoForm(
        (("user", "{question}"), ("assistant", "{claim}"), ("user", _GUARDIAN_BLOCK)),
        models=("guardian-4",),
    ),
}
"""Every form by its name; the first is for all models that no other one names."""


def form_for(model: str) -> str:
    """Return the name of the form that a model's own name asks for."""
    name = model.lower()
    known = (form for form, one in FORMS.items() if any(part in name for part in one.models))
    return next(known, MINICHECK)


@dataclass(frozen=True, eq=False)
class YesNoVerifier:
    """Asks a checker such as Bespoke-MiniCheck or Granite Guardian; support is a probability.

    One call decides one statement against all chunks together. The endpoint must return
    log-probabilities, as vLLM and OpenAI do; a reply without them fails the row.

    Args:
        endpoint: Who is asked, such as `"openai/bespokelabs/Bespoke-MiniCheck-7B"`.
        form: How the model is asked: `minicheck`, `granite-guardian-3.2`, `granite-guardian-3.3`
            or `granite-guardian-4.1`; None takes it from the model's name.
        threshold: Support from which a statement counts as supported, 0 to 1.
        name: What results call it; empty takes the endpoint.

    Raises:
        ConfigurationError: A setting cannot work.
    """

    endpoint: str
    _: KW_ONLY
    form: str | None = None
    threshold: float = 0.5
    name: str = ""

    def __post_init__(self) -> None:
        """Check the settings."""
        model = read_endpoint(self.endpoint).model
        if self.form is not None and self.form not in FORMS:
            raise UnknownNameError.of("form of a yes/no question", self.form, FORMS)
        threshold = require_fraction("threshold", self.threshold)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "form", self.form or form_for(model))
        object.__setattr__(self, "name", self.name or f"yes-no:{self.endpoint}")

    @property
    def traits(self) -> VerifierTraits:
        """It makes a call for each statement; some forms show the model what was asked."""
        return VerifierTraits(
            reads_question=self._asked.reads_question,
            threshold=self.threshold,
            endpoints=(self.endpoint,),
            batches=((self.name, 1),),
        )

    def adapt(self, changes: VerifierChanges) -> "YesNoVerifier":
        """Return itself: it asks as the model's makers do, whatever the language."""
        del changes
        return self

    @property
    def _asked(self) -> YesNoForm:
        return FORMS[str(self.form)]

    def fingerprint(self) -> str:
        """Return a hash of endpoint, form and threshold: what can change a verdict."""
        form = self._asked
        asked = (form.filled("claim", "document", "question"), form.settings("document"))
        return fingerprint(_VERSION, self.endpoint, *asked, form.yes_is_support, self.threshold)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Ask for all claims side by side."""
        calls = [self._call(claim, chunks) for claim in claims]
        replies = yield calls
        return [
            self._verdict(call.read(reply), chunks)
            for call, reply in zip(calls, replies, strict=True)
        ]

    def _call(self, claim: Claim, chunks: Sequence[str]) -> JudgeCall[TextReply]:
        form, document = self._asked, "\n\n".join(chunks)
        return JudgeCall(
            form.filled(claim.text, document, claim.question),
            TextReply,
            {"chunks": list(chunks), "statements": [claim.text]},
            settings=form.settings(document),
            endpoint=self.endpoint,
        )

    def _verdict(self, reply: TextReply, chunks: Sequence[str]) -> Verdict:
        yes = yes_probability(reply)
        support = yes if self._asked.yes_is_support else 1 - yes
        is_supported = support >= self.threshold
        return Verdict(
            support=support,
            is_supported=is_supported,
            # It read all chunks as one text: which of them it went by, it does not say.
            chunk_ids=(0,) if is_supported and len(chunks) == 1 else (),
            reason=f"probability of support {support:.2f} (threshold {self.threshold:g})",
            decided_by=self.name,
        )


def yes_probability(reply: TextReply) -> float:
    """Return how much likelier "yes" was than "no", 0 to 1, over every token that says either.

    Args:
        reply: What a model wrote when it was asked for yes or no, with log-probabilities.

    Raises:
        JudgeOutputError: The endpoint sent no log-probabilities, or neither word was likely.
    """
    shown = reply.text.strip()[:_SHOWN_CHARS]
    if not reply.alternatives:
        raise JudgeOutputError(
            f"the endpoint answered {shown!r} without log-probabilities; expected logprobs, which "
            "vLLM and OpenAI return for chat models that do not think first"
        )
    mass = {"yes": 0.0, "no": 0.0}
    for place in reply.alternatives:
        for token, logprob in place:
            word = token.strip().lower()
            if word in mass:
                mass[word] += math.exp(min(logprob, 0.0))
    if not any(mass.values()):
        raise JudgeOutputError(
            f"the model answered {shown!r}, and neither 'yes' nor 'no' was among its likeliest "
            "tokens; expected a checker that answers with one of them"
        )
    return mass["yes"] / (mass["yes"] + mass["no"])
