"""A prompt cannot lie about its data: what it prints is text, and what is needed arrives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from rag_evals import FaithfulnessResult, Sample, base, evaluate
from rag_evals.catalog import RESPONSE_MODELS
from rag_evals.core import SampleField
from rag_evals.errors import PromptError
from rag_evals.grading.extract import StatementExtractor
from rag_evals.response_models import PassFailResult
from rag_evals.score_citations import CitationsReply
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import LLMVerifier


class NeedsContext(PassFailResult):
    """Reads the chunks too."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")


LONG = "A tower of iron stands in Paris, and it is painted every seven years, as a rule by hand."
SAMPLE = Sample(question="Where?", answer="It stands. It is tall.", context=[LONG, "x </chunk>"])
BLOCK = f'<chunk id="0">\n{LONG}\n</chunk>\n<chunk id="1">\nx &lt;/chunk>\n</chunk>'

PRINTED = {
    "{{ context }}": BLOCK,
    "{{ chunks }}": BLOCK,
    "{{ context | list }}": BLOCK,
    "{{ context[:2] }}": BLOCK,
    "{{ context ~ '' }}": BLOCK,
    "{{ '%s' % context }}": BLOCK,
    "{{ '{}'.format(context) }}": BLOCK,
    "{% set found = context %}{{ found }}": BLOCK,
    "{% set found %}{{ context }}{% endset %}{{ found }}": BLOCK,
    "{{ context | sort(attribute='id') }}": BLOCK,
    "{{ context | selectattr('text') | list }}": BLOCK,
    "{% for c in context %}{{ c }};{% endfor %}": f"{LONG};x &lt;/chunk>;",
    "{% for c in chunks %}{{ c.id }}={{ c.text }};{% endfor %}": f"0={LONG};1=x &lt;/chunk>;",
    "{{ chunks | join('+') }}": f"{LONG}+x &lt;/chunk>",
    "{{ chunks | map(attribute='text') | join }}": f"{LONG}x &lt;/chunk>",
    "{{ chunks | join | upper }}": f"{LONG.upper()}X &LT;/CHUNK>",
    "{% macro one(c) %}({{ c }}){% endmacro %}{% for c in chunks %}{{ one(c) }}{% endfor %}": (
        f"({LONG})(x &lt;/chunk>)"
    ),
}


@pytest.mark.parametrize("text", PRINTED)
def test_a_chunk_prints_its_text_and_a_context_its_numbered_block(text: str) -> None:
    """In any expression, whole, and with the tags that it writes escaped in the data."""
    grader = base.ContextEvaluation(f"{text}|{{{{ answer }}}}", PassFailResult)

    (message,) = grader.messages(SAMPLE)
    assert message["content"] == f"{PRINTED[text]}|It stands. It is tall."


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("{{ sentences | join('/') }}", "It stands./It is tall."),
        (
            "{{ sentences }}",
            '<sentence id="0">\nIt stands.\n</sentence>\n<sentence id="1">\nIt is tall.\n'
            "</sentence>",
        ),
        ("{{ answer }}{% for c in criteria %} {{ c }}{% endfor %}", "{} polite: It is kind."),
        ("{{ answer }} {{ criteria }}", "{} - polite: It is kind."),
    ],
)
def test_sentences_and_criteria_print_their_text(text: str, content: str) -> None:
    """None of them as Python would write it."""
    grader = (
        base.ContextEvaluation(
            text, RESPONSE_MODELS["checklist"], criteria={"polite": "It is kind."}
        )
        if "criteria" in text
        else base.ContextEvaluation(text, RESPONSE_MODELS["pass_fail"])
    )

    assert grader.messages(SAMPLE)[0]["content"] == content.format("It stands. It is tall.")


def test_an_example_prints_its_data_and_the_reply() -> None:
    """A list of examples prints all of them."""
    example = {
        "question": "Who?",
        "answer": "Ann.",
        "context": ["Ann did."],
        "result": {"passed": True},
    }
    said = 'Question: Who?\nChunk 0: Ann did.\nSentence 0: Ann.\nReply: {"reasoning":null,"passed"'
    for text in ("{% for one in examples %}{{ one }}{% endfor %}", "{{ examples }}"):
        grader = base.ContextEvaluation(
            text + "{{ answer }}", RESPONSE_MODELS["pass_fail"], examples=[example]
        )
        assert said in grader.messages(SAMPLE)[0]["content"]


@pytest.mark.parametrize(
    "text",
    [
        "{{ context | map(attribute='text') }}",
        "{{ context | reverse }}",
        "{{ answer.upper }}",
        "{% macro one() %}{% endmacro %}{{ one }}",
        "{% for c in context %}{{ c.title }}{% endfor %}",
    ],
)
def test_what_has_no_text_is_refused(text: str) -> None:
    """A generator, a method and a macro would print their place in memory."""
    grader = base.ContextEvaluation(text + "{{ answer }}{{ context }}", PassFailResult)

    with pytest.raises(
        PromptError, match=r"line 1: (this renders a|'.*' has no attribute 'title')"
    ):
        grader.messages(SAMPLE)


LACKING = {
    "Be strict when the question is: {{ question }}": "does not show the answer and the context",
    "{{ answer }}": "does not show the context; write {{ context }}; or remove answer",
    "{{ context }}": "does not show the answer; write {{ answer }}; or remove context",
    "{{ answer }}{% if context %}{% endif %}": "does not show the context",
    "{{ answer }}{{ context | length }}": "does not show the context",
    "{{ answer }}{{ context[0] }}": "shows only part of the context",
    "{{ answer }}{{ chunks | first }}": "shows only part of the context",
    "{{ answer }}{{ context[:1] }}": "shows only part of the context",
    "{{ answer | truncate(40) }}{{ context }}": "shows only part of the answer",
    "{{ answer[:60] }}{{ context }}": "shows only part of the answer",
    "{{ sentences[0] }}{{ context }}": "shows only part of the answer",
    "{{ answer }}{% for c in context %}{{ c.id }}{% endfor %}": "does not show the context",
    "{{ answer }}{% for c in context %}{{ c[:20] }}{% endfor %}": "shows only part of the con",
    "{{ answer }}{% macro f() %}{{ context }}{% endmacro %}": "does not show the context",
    "{{ answer }}{% set x = context %}": "does not show the context",
    "{{ answer }}{% if false %}{{ context }}{% endif %}": "does not show the context",
    "{% if question %}{{ answer }}{% endif %}{{ context }}": "does not show the answer",
    "{% if reference %}{{ context }}{% endif %}{{ answer }}": "does not show the context",
    "{% for c in context %}{{ c.metadata.title }}{% endfor %}": "does not show the answer",
    "{% include 'part.jinja' %}{{ answer }}": "does not show the context",
    "{{ sentences }}{{ question }}{{ chunks | length }}{{ answer }}": (
        "remove answer, chunks, question, sentences, and"
    ),
}


def test_a_field_in_single_braces_is_refused() -> None:
    """Jinja would send it as it is, and the judge would see no question."""
    with pytest.raises(PromptError, match=r"\{question\} is not filled in; write \{\{ question"):
        base.ContextEvaluation("{question} {{ answer }}{{ context }}", FaithfulnessResult)


@pytest.mark.parametrize("text", LACKING)
def test_a_template_shows_every_field_that_its_reply_needs(text: str, tmp_path: Path) -> None:
    """Else it is refused before anything is sent, with the field and both ways out."""
    (tmp_path / "part.jinja").write_text("{% if context %}There is a context.{% endif %}")
    path = tmp_path / "own.jinja"
    path.write_text(text)
    with pytest.raises(PromptError) as caught:
        base.ContextEvaluation(path, FaithfulnessResult)

    assert str(caught.value).startswith(str(path))
    assert "FaithfulnessResult needs the answer and the context" in str(caught.value)
    assert LACKING[text] in str(caught.value)
    assert "and the data will follow the prompt" in str(caught.value)


def test_an_extended_prompt_that_places_data_shows_all_of_it(tmp_path: Path) -> None:
    """One variable in a block makes the whole prompt a template, and the data block is gone."""
    path = tmp_path / "strict.jinja"
    path.write_text(
        "{% extends 'score_faithfulness.jinja' %}"
        "{% block criteria %}Be strict when it is about {{ question }}.{% endblock %}"
    )
    with pytest.raises(PromptError, match="does not show the answer and the context"):
        base.ContextEvaluation(path, FaithfulnessResult)


@pytest.mark.parametrize(
    ("numbers", "fault"),
    [
        ("{{ statements | length }}", "does not show the statements; write {{ statements }}"),
        ("{{ statements[0] }}", "shows only part of the statements; write {{ statements }}"),
    ],
)
def test_a_template_shows_the_statements_that_its_reply_numbers(numbers: str, fault: str) -> None:
    """A verdict on statement 0 means nothing to a judge that saw no statement."""
    shown = "{% for s in sentences %}{{ s.id }}: {{ s.text }}{% endfor %}{{ context }}"
    with pytest.raises(PromptError) as caught:
        base.ContextEvaluation(shown + numbers, CitationsReply)

    assert fault in str(caught.value)
    base.ContextEvaluation(shown + "{{ statements }}", CitationsReply)


ENDS = ["Sand <b>here</b> [1].", "Ice\nhere & there.", *(f"It is the letter {x}." for x in "αβγδ")]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("{{ context[:2] }}{{ answer }}", "chunk 2, chunk 3, chunk 4"),
        ("{{ context }}{{ answer[:200] }}", "answer"),
        ("{{ context | tojson }}{{ answer | wordwrap(20) }}", None),
        ("{{ context | join | upper }}{{ answer | e }}", None),
        ("{{ context | join(' ') | striptags | replace('[1]', '') }}{{ answer }}", None),
    ],
)
def test_a_row_that_a_template_cuts_off_is_not_sent(
    text: str, cut: str | None, scripted: Callable[[Script], ScriptedJudge]
) -> None:
    """A short made-up sample arrives whole, and a long row does not; filters do no harm."""
    judge = scripted({"reasoning": "r", "passed": True})
    prompt = "Needs {{ question }}." + text
    grader = base.ContextEvaluation(prompt, NeedsContext)
    long = "A long answer. " * 20 + "Its end."
    rows = [
        {"question": "?", "answer": "Short.", "context": ["A."]},
        {"question": "?", "answer": long, "context": ENDS},
    ]
    run = evaluate(rows, grader, "openai/m", max_failures=5, progress=False)

    assert len(judge.requests) == (2 if cut is None else 1)
    if cut is not None:
        assert (error := run.outcomes[1].error) is not None
        assert f"the end of {cut} is not shown to the judge, so nothing" in error.message


@pytest.mark.parametrize("block", ["{{ answer }}", "{{ context[0] }}{{ answer }}", "Now go."])
def test_a_data_block_shows_every_field_too(block: str) -> None:
    """It is what the judge reads of the data after instructions."""
    with pytest.raises(PromptError, match=r"the context; write .* in this data block"):
        base.ContextEvaluation("Judge.", FaithfulnessResult, chunk_template=block)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (LLMVerifier, "{{ chunks }}{{ statements | length }}"),
        (LLMVerifier, "{{ statements }}{{ chunks[0] }}"),
        (StatementExtractor, "{{ sentences | length }}"),
        (StatementExtractor, "{{ sentences[0] }}"),
    ],
)
def test_the_prompts_of_two_steps_show_their_data(make: Any, text: str) -> None:
    """The verifier its statements and chunks, the extractor its sentences."""
    with pytest.raises(PromptError, match=r"(does not show|shows only part of) the \w+; write"):
        make(prompt=text)


class Statement(BaseModel):
    """A user's own, without any base class of ours."""

    text: str
    supporting_chunk_ids: list[int]


class Own(BaseModel):
    """A reply with statements."""

    statements: list[Statement]


def test_a_model_with_statements_needs_answer_and_context() -> None:
    """Also where it does not say so; its template is held to that."""
    assert base.ContextEvaluation("Judge.", Own).requires == ("answer", "context")
    with pytest.raises(PromptError, match="Own needs the answer and the context"):
        base.ContextEvaluation("{{ answer }}", Own)
