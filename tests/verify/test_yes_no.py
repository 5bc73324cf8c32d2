"""Yes/no checkers behind an endpoint: the probability of the word is the support."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, evaluate
from rag_evals.core import Claim, Meter, TextReply
from rag_evals.errors import (
    ConfigurationError,
    JudgeOutputError,
    JudgeRejectedError,
    JudgeUnavailableError,
    RagEvalsError,
    UnknownNameError,
)
from rag_evals.grading.drivers import drive
from rag_evals.testing import EmptyBody, HttpError, JudgeRequest, Raw, Reply, Script, ScriptedJudge
from rag_evals.verify import YesNoVerifier, read_judge, verifier_from_string
from rag_evals.verify.yes_no import yes_probability
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]

BESPOKE = "openai/bespokelabs/Bespoke-MiniCheck-7B"


def said(**probabilities: float) -> list[tuple[str, float]]:
    """Write the likeliest tokens of one place."""
    return [(token, math.log(share)) for token, share in probabilities.items()]


def yes(share: float, word: str = "Yes", other: str = "No") -> Reply:
    """Answer with one token that is so likely, cut off there as real servers say."""
    logprobs = [{word: math.log(share), other: math.log(1 - share)}]
    return Reply(word, finish_reason="length", logprobs=logprobs)


def paris_only(request: JudgeRequest) -> Reply:
    """Support what speaks of Paris."""
    claim = str(request.messages[-1]["content"]).rpartition("Claim: ")[2]
    return yes(0.9) if "Paris" in claim else yes(0.98, "No", "Yes")


def test_the_probability_of_yes_is_the_support(scripted: Start) -> None:
    """Each statement is one call, as Bespoke-MiniCheck's makers ask it; no judge is needed."""
    judge = scripted(paris_only)
    result: Any = Faithfulness.grade(**EIFFEL, client=f"yes-no:{BESPOKE}")

    assert [s.support for s in result.statements] == pytest.approx([0.9, 0.02])
    assert [s.is_supported for s in result.statements] == [True, False]
    assert {s.decided_by for s in result.statements} == {f"yes-no:{BESPOKE}"}
    request = judge.requests[0]
    assert request.body["model"] == "bespokelabs/Bespoke-MiniCheck-7B"
    assert request.messages[0]["content"].startswith("Determine whether the provided claim is cons")
    assert {request.messages[1]["content"] for request in judge.requests} == {
        f"Document: The Eiffel Tower stands in Paris.\n\nIt was completed in 1889.\nClaim: {claim}"
        for claim in ("The Eiffel Tower stands in Paris.", "It was completed in 1923.")
    }
    sent = {name: request.body[name] for name in ("max_tokens", "temperature", "top_logprobs")}
    assert sent == {"max_tokens": 1, "temperature": 0, "top_logprobs": 5}
    assert "tools" not in request.body


@pytest.mark.parametrize(
    ("model", "roles", "body"),
    [
        (
            "ibm-granite/granite-guardian-3.2-5b",
            ["context", "assistant"],
            {"chat_template_kwargs": {"guardian_config": {"risk_name": "groundedness"}}},
        ),
        (
            "granite-guardian-3.3-8b",
            ["user", "assistant"],
            {
                "chat_template_kwargs": {
                    "guardian_config": {"criteria_id": "groundedness"},
                    "think": False,
                },
                "documents": [{"doc_id": "0", "text": "Paris is in France."}],
            },
        ),
        (
            "ibm-granite/granite-guardian-4.1-8b",
            ["user", "assistant", "user"],
            {"documents": [{"doc_id": "0", "text": "Paris is in France."}]},
        ),
    ],
)
def test_granite_guardian_is_asked_for_the_risk(
    scripted: Start, model: str, roles: list[str], body: dict[str, Any]
) -> None:
    """Its "yes" means not grounded, so support is the rest; each generation has its own form."""
    judge = scripted(yes(0.97, "no", "yes"))
    verifier = YesNoVerifier(f"openai/{model}")
    claim = Claim("Paris is in France.", question="Where is Paris?")
    flow = verifier.flow([claim], ["Paris is in France."])
    (verdict,) = drive(flow, None, Meter())
    (request,) = judge.requests

    assert verdict.support == pytest.approx(0.97)
    assert verdict.chunk_ids == (0,)
    assert verifier.traits.reads_question == ("user" in roles)
    assert [message["role"] for message in request.messages] == roles
    for name, value in body.items():
        assert request.body[name] == value


@pytest.mark.parametrize(
    ("alternatives", "support"),
    [
        ([said(Yes=0.6, No=0.2)], 0.75),
        ([[(" yes", math.log(0.4)), ("YES", math.log(0.4)), ("no", math.log(0.2))]], 0.8),
        ([said(**{"<score>": 0.99}), said(no=0.9, yes=0.1), said(**{"</score>": 1.0})], 0.1),
        ([said(Yes=0.5)], 1.0),
        ([[("No", 0.0000001), ("Yes", -9999.0)]], 0.0),
    ],
)
def test_every_spelling_counts(alternatives: Any, support: float) -> None:
    """Spaces, capitals and tokens around the word change nothing; other tokens are left out."""
    reply = TextReply(text="", alternatives=alternatives)

    assert yes_probability(reply) == pytest.approx(support)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Reply("Yes"), JudgeOutputError, "answered 'Yes' without log-probabilities; expected"),
        (
            Reply("Maybe", logprobs=[{"Maybe": -0.1}]),
            JudgeOutputError,
            "answered 'Maybe', and neither 'yes' nor 'no' was among",
        ),
        (HttpError(401), JudgeRejectedError, "refuses the key"),
        (Raw("<html>no</html>"), JudgeUnavailableError, "status 200 and an HTML page"),
        (EmptyBody(), JudgeUnavailableError, "status 200 and nothing in it"),
        (Raw({"error": {"message": "busy"}}), JudgeUnavailableError, "an error in it: busy"),
    ],
)
def test_a_reply_that_says_nothing_is_no_verdict(
    scripted: Start, answer: Any, error: type[RagEvalsError], message: str
) -> None:
    """The error says what came and what was expected."""
    scripted(answer)

    with pytest.raises(error, match=message):
        Faithfulness.grade(**EIFFEL, client=f"yes-no:{BESPOKE}")


@pytest.mark.parametrize("judge", [f"embedded>yes-no:{BESPOKE}", f"yes-no:{BESPOKE}>openai/m"])
def test_it_stands_anywhere_in_a_cascade(scripted: Start, judge: str) -> None:
    """Its support is a probability, so it can be first, and it can be second."""
    asked = scripted(lambda request: yes(0.9) if "logprobs" in request.body else {"verdicts": []})
    result: Any = Faithfulness.grade(
        answer="The tower stands in Paris. The tower was finished in 1923. Cats purr at home.",
        context=["The tower stands in Paris. It was finished in 1889."],
        client=judge,
    )
    decided = {s.decided_by for s in result.statements}

    assert f"yes-no:{BESPOKE}" in decided
    assert decided <= {f"yes-no:{BESPOKE}", "embedded"}
    assert all("logprobs" in request.body for request in asked.requests)


def test_a_run_keeps_its_answers(scripted: Start, tmp_path: Path) -> None:
    """A second run over the same cache asks nothing; calls are counted."""
    judge = scripted(paris_only)
    for out in ("first", "second"):
        run = evaluate(
            [EIFFEL],
            ["faithfulness"],
            f"yes-no:{BESPOKE}",
            progress=False,
            out=tmp_path / out,
            cache=tmp_path / "calls.sqlite",
        )
        assert run.summary().graders["faithfulness"].mean() is not None
        assert len(judge.requests) == 2


def test_the_string_sets_form_and_threshold() -> None:
    """`yes-no:openai/MODEL?form=...&threshold=...`; what is not known is refused."""
    name = "yes-no:openai/guard?form=granite-guardian-3.3&threshold=0.7"
    verifier = verifier_from_string(name)

    assert isinstance(verifier, YesNoVerifier)
    assert (verifier.form, verifier.threshold) == ("granite-guardian-3.3", 0.7)
    assert verifier.fingerprint() != YesNoVerifier("openai/guard").fingerprint()
    assert verifier.traits.calls_for(3) == 3
    with pytest.raises(UnknownNameError, match="no form of a yes/no question 'chat'; there are"):
        read_judge("yes-no:openai/m?form=chat")
    with pytest.raises(ConfigurationError, match="names no model; expected 'yes-no:openai/MODEL'"):
        read_judge("yes-no:")
    with pytest.raises(ConfigurationError, match="no option 'device' for a yes/no checker"):
        read_judge("yes-no:openai/m?device=cpu")
    with pytest.raises(ConfigurationError, match="'gpt' is not 'embedded' and not PROVIDER/MODEL"):
        read_judge("yes-no:gpt")
