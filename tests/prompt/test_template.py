"""A template is checked when it is read, and rendered without touching the data."""

import pickle
from pathlib import Path

import pytest

from rag_evals import Faithfulness
from rag_evals.base import ContextEvaluation
from rag_evals.core import Sample
from rag_evals.errors import PromptError, UnknownNameError
from rag_evals.prompt import Prompt, shipped_names
from rag_evals.prompt.template import VARIABLES, shipped_source
from rag_evals.response_models import FaithfulnessResult, PassFailResult

EMPTY = dict.fromkeys(VARIABLES)


def test_instructions_and_templates_are_told_apart() -> None:
    """A prompt that shows no data is instructions; one that does is the whole message."""
    assert not Prompt("Judge strictly. {{ language }}").places_data
    assert Prompt("Question: {{ question }}").places_data
    assert Prompt("{% for chunk in context %}{{ chunk.text }}{% endfor %}").places_data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "one\n{{ qestion }}",
            "<prompt>, line 2: unknown variable 'qestion'; variables are: answer",
        ),
        ("one\n\n{% if %}", "<prompt>, line 3: Expected an expression"),
        ("{{ question", "<prompt>, line 1: unexpected end of template"),
        ("{% extends 'nothing.jinja' %}", "<prompt>: no template 'nothing.jinja' next to it"),
        ("{% extends '../secret' %}", "<prompt>: no template '../secret' next to it"),
    ],
)
def test_a_broken_template_is_refused_with_its_line(text: str, message: str) -> None:
    """Syntax errors, unknown variables and unknown parents are found before any call."""
    with pytest.raises(PromptError) as caught:
        Prompt(text)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    ["{{ chunks[0].body }}", "{{ chunks[3].text }}", "{{ question + 1 }}", "{{ 1 // 0 }}"],
)
def test_what_fails_while_rendering_is_a_prompt_error(text: str) -> None:
    """A missing attribute, index or a wrong type names the template, not our code."""
    prompt = Prompt(f"first\n{text}")

    with pytest.raises(PromptError, match="<prompt>, line 2: "):
        prompt.render(EMPTY | {"question": "a", "chunks": ["b"]})


@pytest.mark.parametrize(
    "attack",
    [
        "{{ question.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ question|attr('__class__') }}",
        "{{ chunks.append(1) }}",
        "{{ '{0.__class__}'.format(question) }}",
        "{{ range(99999999)|list }}",
    ],
)
def test_a_template_stays_in_its_sandbox(attack: str) -> None:
    """Attribute tricks, mutation and big ranges are refused."""
    with pytest.raises(PromptError):
        Prompt(attack).render(EMPTY | {"question": "a", "chunks": []})


def test_a_file_has_a_header_and_lines_that_count(tmp_path: Path) -> None:
    """Front matter is read, left out of the text, and counted in error lines."""
    path = tmp_path / "mine.jinja"
    path.write_text("---\nname: mine\nresponse_model: faithfulness\n---\nJudge.\n{{ foo }}")

    with pytest.raises(PromptError, match=r"mine\.jinja, line 6: unknown variable 'foo'"):
        Prompt.from_file(path)

    path.write_text("---\nname: mine\nversion: 2\n---\nJudge.\n")
    prompt = Prompt.from_file(path)
    assert prompt.text == "Judge.\n"
    assert (prompt.header.name, prompt.header.version) == ("mine", 2)


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("nmae: x", "nmae: Extra inputs are not permitted; allowed keys: name, version"),
        ("- a\n- b", "front matter: Input should be a valid dictionary"),
        ("a: [", "line 3: front matter is not YAML"),
    ],
)
def test_wrong_front_matter_is_explained(tmp_path: Path, front: str, message: str) -> None:
    """A key that does not exist or YAML that does not parse is one clear error."""
    path = tmp_path / "mine.jinja"
    path.write_text(f"---\n{front}\n---\nJudge.")

    with pytest.raises(PromptError) as caught:
        Prompt.from_file(path)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "does not exist"),
        (lambda path: path.mkdir() or path, "is a folder"),
        (lambda path: path.write_bytes(b"\xff") and path, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, make: "object", message: str) -> None:
    """Missing, a folder, not UTF-8: each says so."""
    path = tmp_path / "p.jinja"
    make(path)  # type: ignore[operator]  # a lambda from the table

    with pytest.raises(PromptError, match=message):
        Prompt.from_file(path)


def test_a_prompt_may_extend_a_shipped_one(tmp_path: Path) -> None:
    """One block is overridden; the rest, and its text in the fingerprint, come from the parent."""
    path = tmp_path / "lenient.jinja"
    path.write_text(
        "{% extends 'score_faithfulness.jinja' %}{% block criteria %}Be lenient.{% endblock %}"
    )
    prompt = Prompt.from_file(path)
    text = prompt.render(EMPTY)

    assert "Be lenient." in text
    assert "Look in every chunk" in text
    assert len(prompt.sources()) == 2


def test_a_prompt_travels_without_its_files(tmp_path: Path) -> None:
    """A pickled prompt renders where its file and its parents' files are not."""
    path = tmp_path / "lenient.jinja"
    path.write_text("{% extends 'base.jinja' %}{% block a %}x{% endblock %}")
    (tmp_path / "base.jinja").write_text("<{% block a %}{% endblock %}>")
    prompt = Prompt.from_file(path)
    rendered = prompt.render(EMPTY)
    packed = pickle.dumps(prompt)
    path.unlink()
    (tmp_path / "base.jinja").unlink()

    assert pickle.loads(packed).render(EMPTY) == rendered == "<x>"


def test_every_shipped_prompt_is_a_valid_file() -> None:
    """Each has a name, a version and a description, and starts with a comment that explains it."""
    for name in shipped_names():
        prompt = Prompt.shipped(name)
        assert prompt.header.description
        assert prompt.header.version == 1
        assert prompt.text.startswith("{#")


def test_an_unknown_shipped_prompt_gets_the_nearest() -> None:
    """The message suggests a name."""
    with pytest.raises(UnknownNameError, match="did you mean 'score_faithfulness'"):
        shipped_source("score_faithfullness")


def test_instructions_are_written_once_for_all_samples(tmp_path: Path) -> None:
    """A language, a rubric or chance changes them; what another prompt made is never taken."""
    samples = [Sample(answer=word, context=["c"]) for word in ("a", "b")]
    grader = ContextEvaluation("{{ task }}Judge{{ language or '' }}.", PassFailResult)
    prompt = grader._prompt
    first, second = (grader.messages(sample)[0]["content"] for sample in samples)
    assert first == second == "Judge."
    assert prompt.kept == {("", None, None, True, ()): "Judge."}
    assert grader.with_language("ru").messages(samples[0])[0]["content"] == "Judgeru."
    assert pickle.loads(pickle.dumps(prompt)).kept == {}

    (tmp_path / "drawn.jinja").write_text("{{ range(9**6)|random }}")
    for text in ("{{ range(9)|random }}", "{% include 'drawn.jinja' %}", "Mind {{ reference }}."):
        assert not Prompt(text, places=[tmp_path]).is_same_for_all


def test_the_language_of_a_sample_comes_before_that_of_the_grader() -> None:
    """A Russian grader asks about an English sample in English, and about others in Russian."""
    grader = Faithfulness.with_language("ru")
    english, other = (
        grader.messages(Sample(answer="It is tall.", context=["It is."], language=language))
        for language in ("en", None)
    )

    assert english[0] == Faithfulness.messages(Sample(answer="a", context=["c"], language="en"))[0]
    assert other[0] != english[0]


def test_an_example_of_the_same_question_is_for_other_answers() -> None:
    """It is shown neither with its own answer nor with another question."""
    example = {"question": "Who?", "answer": "Ann.", "same_question": True, "result": {"passed": 1}}
    grader = ContextEvaluation(
        "{{ answer }}{% for one in examples %} not {{ one.answer }}{% endfor %}",
        PassFailResult,
        examples=[example],
    )
    shown = [
        grader.messages(Sample(question=question, answer=answer))[0]["content"]
        for question, answer in (("Who?", "Bob."), ("Who?", "Ann."), ("What?", "Bob."))
    ]

    assert shown == ["Bob. not Ann.", "Ann.", "Bob."]


def test_languages_without_end_fill_no_memory() -> None:
    """They may come from a column of the data."""
    grader = ContextEvaluation("Judge.", FaithfulnessResult)
    codes = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrstuvwxyz"]
    for code in codes:
        grader.messages(Sample(answer="a", context=["c"], language=code))
    assert len(grader._prompt.kept) == 100


def test_what_a_template_may_read_does_not_depend_on_what_it_read_before() -> None:
    """Attributes are looked at once for each type: a list is not a text."""
    prompt = Prompt("{{ answer.index('a') }}{{ chunks.index('b') }}")
    for _ in range(2):
        assert prompt.render(EMPTY | {"answer": "ba", "chunks": ["b"]}) == "10"
    refused = Prompt("{{ answer.upper() }}{{ chunks.append('c') }}")
    for _ in range(2):
        with pytest.raises(PromptError, match="append"):
            refused.render(EMPTY | {"answer": "ba", "chunks": ["b"]})


def test_loading_a_shipped_text_leaves_the_shipped_prompt_alone() -> None:
    """Only the loaded copy loses the name."""
    shipped = Prompt.shipped("score_faithfulness")
    loaded = Prompt.load(shipped.text)

    assert (shipped.header.name, loaded.header.name) == ("faithfulness", None)
    assert loaded.in_language("ru").text == shipped.in_language("ru").text != shipped.text
