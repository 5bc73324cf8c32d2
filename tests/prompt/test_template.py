"""A template is checked when it is read, and rendered without touching the data."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness
from rag_evals.base import ContextEvaluation
from rag_evals.core import Sample
from rag_evals.errors import ConfigurationError, PromptError, UnknownNameError
from rag_evals.prompt import Criterion, Prompt, check_language, shipped_names
from rag_evals.prompt.rendering import (
    Example,
    PeerExample,
    Rendering,
    arrive_whole,
    missing_ends,
    read_example,
)
from rag_evals.prompt.template import (
    VARIABLES,
    PromptHeader,
    shipped_source,
    split_front_matter,
)
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


def test_what_is_written_once_is_written_for_each_task_rubric_and_unit() -> None:
    """Whatever a template may show beside the data makes other instructions of it."""
    prompt = Prompt(
        "{{ task }}|{{ language }}|{{ unit }}|{{ hardened }}|{{ criteria | join(',') }}"
        "{% for one in examples %}|{{ one.answer }}{% endfor %}"
    )
    first = Rendering(
        sample=Sample(answer="a"), shown=frozenset({"answer"}), task="t", examples=[],
        criteria=[Criterion("c", "C.")], language="en", sentences=None, statements=[],
        numbered=None, unit="claims", hardened=True,
    )  # fmt: skip
    example = Example(Sample(answer="x"), "{}")
    changes: list[tuple[dict[str, Any], str]] = [
        ({}, "t|en|claims|True|c: C."),
        ({"task": "u"}, "u|en|claims|True|c: C."),
        ({"language": "ru"}, "t|ru|claims|True|c: C."),
        ({"unit": "answer"}, "t|en|answer|True|c: C."),
        ({"hardened": False}, "t|en|claims|False|c: C."),
        ({"criteria": [Criterion("c", "D.")]}, "t|en|claims|True|c: D."),
        ({"criteria": []}, "t|en|claims|True|"),
        ({"examples": [example]}, "t|en|claims|True|c: C.|x"),
        ({"examples": [example] * 2}, "t|en|claims|True|c: C.|x|x"),
        ({}, "t|en|claims|True|c: C."),
    ]
    for changed, text in changes:
        assert replace(first, **changed).text(prompt, prompt.tags) == text
    assert len(prompt.kept) == 7


@pytest.mark.parametrize(
    ("code", "is_russian"),
    [
        ("ru", True),
        ("RU", True),
        ("ru-RU", True),
        ("ru_RU", True),
        ("rus", False),
        ("en", False),
        ("de", False),
        ("", False),
        (None, False),
    ],
)
def test_a_shipped_prompt_comes_in_the_language_of_a_code(
    code: str | None, is_russian: bool
) -> None:
    """By its first part; a prompt of a user's own has one language."""
    shipped = Prompt.shipped("score_faithfulness")
    russian = Prompt.shipped("score_faithfulness", "ru")
    own = Prompt(shipped.text)

    assert shipped.in_language(code) is (russian if is_russian else shipped)
    assert russian.in_language(code) is russian
    assert own.in_language(code) is own


def test_a_prompt_is_another_one_in_any_of_its_languages() -> None:
    """And with any template that it extends; its header and file name say nothing."""
    shipped = Prompt.shipped("score_faithfulness")
    alone = Prompt(shipped.text, header=shipped.header)

    assert list(shipped.versions()) == ["", "ru"]
    assert list(alone.versions()) == [""]
    assert shipped.versions()["ru"].text != shipped.text
    assert shipped.fingerprint() != alone.fingerprint()
    assert alone.fingerprint() == Prompt(shipped.text, origin="b").fingerprint()
    assert Prompt("a").fingerprint() != Prompt("b").fingerprint()


def test_a_prompt_is_another_one_with_another_parent(tmp_path: Path) -> None:
    """Their texts are part of what is sent."""
    found = []
    for text in ("one", "two"):
        (tmp_path / "parent.jinja").write_text(
            f"---\ndescription: {text}\n---\n{text} {{{{ task }}}}"
        )
        prompt = Prompt("{% extends 'parent.jinja' %}", places=[tmp_path])
        found.append((prompt.sources(), prompt.task, prompt.fingerprint()))

    assert [one[0] for one in found] == [
        ["{% extends 'parent.jinja' %}", f"{text} {{{{ task }}}}"] for text in ("one", "two")
    ]
    assert [one[1] for one in found] == ["one", "two"]
    assert found[0][2] != found[1][2]
    own = PromptHeader(description="own")
    assert Prompt("{% extends 'parent.jinja' %}", header=own, places=[tmp_path]).task == "own"


def test_front_matter_ends_at_its_second_line_of_dashes() -> None:
    """What follows is the template, and the lines before it are counted."""
    header, text, lines = split_front_matter("---\nname: a\nversion: 2\n---\nb\n---\nc", "f")

    assert (header.name, header.version, text, lines) == ("a", 2, "b\n---\nc", 4)
    assert split_front_matter("a\n---\nname: b\n---\n", "f")[1:] == ("a\n---\nname: b\n---\n", 0)
    assert split_front_matter("---\n---\nb", "f") == (PromptHeader(), "b", 2)
    with pytest.raises(PromptError, match="f, line 3: front matter is not YAML"):
        split_front_matter("---\nname: a\nb: }\n---\nc", "f")


@pytest.mark.parametrize(
    ("code", "is_known"),
    [
        ("ru", True),
        ("RU", True),
        ("pt-BR", True),
        ("pt_BR", True),
        ("yue", True),
        ("zh-Hans-CN", True),
        ("xx", False),
        ("xx-RU", False),
        ("Russian", False),
        ("r", False),
        ("ru-", False),
        ("", False),
    ],
)
def test_a_language_is_a_code(code: str, is_known: bool) -> None:
    """Two letters that are one, or any three."""
    if is_known:
        check_language(code)
        return
    with pytest.raises(ConfigurationError, match="is not a known code"):
        check_language(code)


@pytest.mark.parametrize(
    ("question", "answer", "helps", "helps_a_peer"),
    [
        ("q", "a", False, False),
        ("q", "b", True, True),
        ("r", "a", True, False),
        ("r", "b", True, False),
        (None, "a", True, False),
    ],
)
def test_an_example_is_not_shown_for_itself(
    question: str | None, answer: str, helps: bool, helps_a_peer: bool
) -> None:
    """One without a question is always shown; one of a question only beside other answers to it."""
    row, own = Sample(question=question, answer=answer), Sample(question="q", answer="a")

    assert Example(own, "{}").helps(row) is helps
    assert PeerExample(own, "{}").helps(row) is helps_a_peer
    assert Example(Sample(answer="a"), "{}").helps(row)


def test_an_example_is_read_with_all_its_fields() -> None:
    """Only "same_question: true" makes one of its question."""
    given: dict[str, Any] = {
        "question": "q", "answer": "a", "context": ["c"], "reference": "r",
        "statements": ["s", "t"], "result": {"passed": True, "reasoning": "R."},
    }  # fmt: skip
    example = read_example(0, given, PassFailResult)

    assert type(example) is Example
    assert example.sample == Sample(question="q", answer="a", context=["c"], reference="r")
    assert example.statements == ("s", "t")
    assert PassFailResult.model_validate_json(example.result).passed
    kinds = [
        type(read_example(0, given | {"same_question": one}, PassFailResult))
        for one in (True, False, 1)
    ]
    assert kinds == [PeerExample, Example, Example]
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"answer": "a"}, "example 4 has ['answer']; it needs 'result'"),
        (given | {"score": 1}, "example 4 has "),
        (given | {"statements": "s"}, "example 4: statements is 's'; expected a list of strings"),
        (given | {"statements": [1]}, "example 4: statements is [1]"),
        (given | {"result": {"passed": "no way"}}, "example 4: result.passed: "),
    ]
    for wrong, message in wrongs:
        with pytest.raises(PromptError) as caught:
            read_example(4, wrong, PassFailResult)
        assert message in str(caught.value)


LONG = "The tower of Riga is old & red, and nobody knows who built it long ago."


@pytest.mark.parametrize(
    ("texts", "rendered", "found"),
    [
        ({"answer": LONG}, f"See: {LONG} Done.", {"answer": True}),
        ({"answer": LONG}, LONG.replace(" ", "\n").replace("&", "&amp;"), {"answer": True}),
        ({"answer": LONG}, LONG.replace("&", "\\u0026"), {"answer": True}),
        ({"answer": LONG}, LONG[:-5], {"answer": False}),
        ({"answer": LONG}, LONG[:50], {"answer": False}),
        ({"answer": LONG}, LONG[:42], {"answer": None}),
        ({"answer": LONG}, "", {"answer": None}),
        ({"answer": f"{LONG} Bye."}, f"0: {LONG}\n1: Bye.", {"answer": True}),
        ({"answer": f"{LONG} Bye."}, f"1: Bye. 0: {LONG}", {"answer": True}),
        (
            {"answer": LONG, "chunk": f"{LONG} Yes."},
            f"{LONG} Yes. {LONG}",
            {"answer": True, "chunk": True},
        ),
        (
            {"answer": LONG, "chunk": f"{LONG} Yes."},
            f"{LONG} Yes.",
            {"answer": None, "chunk": True},
        ),
        ({"a": LONG, "b": LONG}, f"{LONG} {LONG}", {"a": True, "b": True}),
        ({"a": LONG, "b": LONG}, LONG, {"a": True, "b": None}),
    ],
)
def test_a_text_arrives_whole_or_in_part_or_not_at_all(
    texts: dict[str, str], rendered: str, found: dict[str, bool | None]
) -> None:
    """Each has a place of its own, however its blanks and signs are written."""
    assert arrive_whole(texts, rendered) == found
    assert list(arrive_whole(texts, rendered)) == list(texts)


@pytest.mark.parametrize(
    ("rendered", "missing"),
    [
        (LONG, []),
        (LONG[-24:], []),
        (LONG.upper(), []),
        (LONG[:-1], []),
        (LONG[:-8], ["a"]),
        ("<b>nobody knows who</b> built <i>it</i> long ago 7.", []),
        (LONG[-20:], ["a"]),
        ("", ["a"]),
    ],
)
def test_the_end_of_a_text_is_its_last_letters(rendered: str, missing: list[str]) -> None:
    """Twenty-four of them, whatever stands between."""
    assert missing_ends({"a": LONG, "b": ""}, rendered) == missing
