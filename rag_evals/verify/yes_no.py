"""Do the chunks support a statement? A model that answers yes or no, and how sure it is of it."""

import math
from collections.abc import Sequence

from rag_evals.core import (
    Claim,
    Flow,
    JudgeCall,
    TextReply,
    Verdict,
    Verifier,
    fingerprint,
    require_fraction,
)
from rag_evals.errors import JudgeOutputError, UnknownNameError
from rag_evals.judge import read_endpoint
from rag_evals.verify.yes_no_forms import FORMS, form_for, joined

_VERSION = 1
_SHOWN_CHARS = 40


class YesNoVerifier(Verifier):
    """Asks a checker such as Bespoke-MiniCheck or Granite Guardian; support is a probability.

    One call decides one statement against all chunks together. The endpoint must return
    log-probabilities, as vLLM and OpenAI do; a reply without them fails the row.

    Args:
        endpoint: Who is asked, such as `"openai/bespokelabs/Bespoke-MiniCheck-7B"`.
        form: How the model is asked: `minicheck`, `granite-guardian-3.2`, `granite-guardian-3.3`
            or `granite-guardian-4.1`; None takes it from the model's name.
        threshold: Support from which a statement counts as supported, 0 to 1.
        name: What results call it; None takes the endpoint.

    Raises:
        ConfigurationError: A setting cannot work.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        form: str | None = None,
        threshold: float = 0.5,
        name: str | None = None,
    ) -> None:
        model = read_endpoint(endpoint).model
        self.endpoint = endpoint
        self.form = form_for(model) if form is None else form
        if self.form not in FORMS:
            raise UnknownNameError.of("form of a yes/no question", self.form, FORMS)
        self._threshold = require_fraction("threshold", threshold)
        self.name = name or f"yes-no:{endpoint}"

    @property
    def threshold(self) -> float:
        """Support from which a statement counts as supported, 0 to 1."""
        return self._threshold

    @property
    def reads_question(self) -> bool:
        """True for forms that show the model what was asked."""
        return FORMS[self.form].reads_question

    @property
    def endpoints(self) -> list[str]:
        """The checker that it asks."""
        return [self.endpoint]

    def fingerprint(self) -> str:
        """Return a hash of endpoint, form and threshold: what can change a verdict."""
        form = FORMS[self.form]
        asked = (form.messages("claim", "document", "question"), form.settings("document"))
        return fingerprint(_VERSION, self.endpoint, *asked, form.yes_is_support, self.threshold)

    def calls_for(self, statements: int) -> int:
        """Return how many calls that many statements take: one for each."""
        return statements

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Ask for all claims side by side."""
        calls = [self._call(claim, chunks) for claim in claims]
        replies = yield calls
        return [
            self._verdict(call.read(reply), chunks)
            for call, reply in zip(calls, replies, strict=True)
        ]

    def _call(self, claim: Claim, chunks: Sequence[str]) -> JudgeCall[TextReply]:
        form, document = FORMS[self.form], joined(chunks)
        return JudgeCall(
            form.messages(claim.text, document, claim.question),
            TextReply,
            {"chunks": list(chunks), "statements": [claim.text]},
            settings=form.settings(document),
            endpoint=self.endpoint,
        )

    def _verdict(self, reply: TextReply, chunks: Sequence[str]) -> Verdict:
        yes = yes_probability(reply)
        support = yes if FORMS[self.form].yes_is_support else 1 - yes
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
