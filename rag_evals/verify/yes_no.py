"""Do the chunks support a statement? A model that answers yes or no, and how sure it is of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

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
        asked = (form.messages("claim", "document", "question"), form.settings("document"))
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
            form.messages(claim.text, document, claim.question),
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
