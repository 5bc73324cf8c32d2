"""Prompts on the command line: checked before they cost anything, compared, found in folders."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL, Command

Start = Callable[[Script], ScriptedJudge]
POLITE = """---
name: politeness
description: Is the answer polite?
response_model: pass_fail
settings:
  temperature: 0.5
  max_tokens: 300
examples:
  - answer: Read the manual.
    result: {reasoning: It brushes the reader off., passed: false}
---
You judge the tone of an answer.
"""


@pytest.fixture
def data() -> str:
    """Write one row."""
    Path("answers.jsonl").write_text(json.dumps(EIFFEL))
    return "answers.jsonl"


def write(name: str, text: str) -> str:
    """Write a prompt file, with the folders it is in."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return name


def test_a_good_file_is_described_and_shown(command: Command) -> None:
    """Response model, settings, examples, size and what the judge would read; exit code 0."""
    ended = command("prompts", "check", write("polite.jinja", POLITE))

    assert ended.code == 0
    for line in (
        "grader          politeness",
        "response model  PassFailResult (reasoning, passed)",
        "examples        1, valid",
        "You judge the tone of an answer.",
        "The Eiffel Tower stands in Paris [1]. It was completed in 1923 [2].",
        "polite.jinja: ok",
    ):
        assert line in ended.out.splitlines()
    assert "(estimated, 4 characters a token)" in ended.out


LONG = (
    "A tower of iron stands in Paris, and it is painted every seven years, as a rule by hand, by "
    "twenty-five painters, who use sixty tons of paint for it."
)
ROWS = [
    {"question": "Short?", "answer": "Yes.", "context": ["It is so."]},
    {"question": LONG, "answer": f"{LONG} It's <chunk>.\nWho?", "context": [LONG, LONG[9:]]},
    {"answer": " ", "context": [LONG * 9]},
]


@pytest.fixture
def rows() -> str:
    """Write a short row, a long one, and a longer one that cannot be graded."""
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return "rows.jsonl"


@pytest.mark.parametrize(
    "text",
    [
        "{{ context }}{{ answer }}",
        "{{ chunks | join }}{{ sentences }}",
        "{{ context | tojson }}{{ answer | tojson }}",
        "{{ context | string | indent(4) }}{{ answer | wordwrap(20) }}",
    ],
)
def test_the_longest_row_is_shown_as_it_is_sent(command: Command, rows: str, text: str) -> None:
    """With its place, its tokens, and the fields that arrive whole."""
    ended = command("prompts", "check", write("own.jinja", PLACING + text), "--data", rows)

    assert ended.code == 0
    lines = ended.out.splitlines()
    assert "row             line 2 of 'rows.jsonl', the longest row" in lines
    assert "arrives whole   answer, context" in lines
    assert "does not        question" in lines
    (tokens,) = (line for line in lines if line.startswith("tokens"))
    assert int(tokens.split()[1]) > sum(len(str(ROWS[1][name])) for name in ROWS[1]) / 8


PLACING = "---\nresponse_model: chunk_utility\n---\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ context }}{{ answer | truncate(150) }}", "answer is cut or missing in line 2"),
        ("{{ context }}{{ answer | upper }}", "answer is cut or missing in"),
        ("{{ answer }}{% for c in context %}{{ c[:128] }}{% endfor %}", "context, chunk 0 is cut"),
        ("{{ answer }}{{ context[:2] | map('truncate', 120) | join }}", "context, chunk 0 is cut"),
        (
            "{{ answer }}{{ context }}{{ question[:99] }}",
            "question is cut or missing in line 2",
        ),
        (
            "{{ context }}{% for s in sentences[:2] %}{{ s }}{% endfor %}",
            "answer is cut or missing",
        ),
    ],
)
def test_a_row_that_does_not_arrive_whole_is_no_ok(
    command: Command, rows: str, text: str, fault: str
) -> None:
    """What is sent is shown all the same; the exit code is 2."""
    ended = command("prompts", "check", write("own.jinja", PLACING + text), "--data", rows)

    assert ended.code == 2
    assert ended.err.startswith(f"Error: own.jinja: {fault}")
    assert ended.err.endswith("in line 2 of 'rows.jsonl', the longest row\n")
    assert "--- user message" in ended.out
    assert "own.jinja: ok" not in ended.out


def test_the_preview_may_be_of_a_users_row(command: Command, data: str) -> None:
    """--data takes a row of a file; an empty row is one clear error."""
    prompt = write("polite.jinja", POLITE)

    assert EIFFEL["answer"] in command("prompts", "check", prompt, "--data", data).out
    Path("empty.jsonl").write_text('{"answer": " "}')
    ended = command("prompts", "check", prompt, "--data", "empty.jsonl")
    assert (ended.code, ended.err) == (2, "Error: the row cannot be graded: empty_answer\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("an answer", "{{ anwser }}"), "line 12: unknown variable 'anwser'"),
        (("an answer", "{{ x }}\n{{ y }}"), "line 12: unknown variable 'x'; line 13: also 'y'"),
        (("an answer", "{% if"), "line 12: "),
        (("pass_fail", "pass_fial"), "no response model 'pass_fial'; did you mean 'pass_fail'?"),
        (("response_model: pass_fail\n", ""), "has no response model"),
        (("passed: false", "passed: maybe"), "example 0: result.passed: Input should be a valid"),
        (("0.5", "3"), "settings: temperature is 3; expected a number from 0 to 2"),
        (
            ("max_tokens", "max_token"),
            "settings: no setting 'max_token'; did you mean 'max_tokens'?",
        ),
        (("pass_fail", "checklist"), "a checklist needs criteria"),
        (("name: politeness", "language: Russian"), "language: String should match pattern"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(
    command: Command, change: tuple[str, str], message: str
) -> None:
    """One line that names the file and what is wrong; exit code 2."""
    ended = command("prompts", "check", write("polite.jinja", POLITE.replace(*change)))

    assert ended.code == 2
    assert message in ended.err
    assert "polite.jinja" in ended.err or "response model" in ended.err or "example" in ended.err
    assert ended.err.count("\n") == 1


def test_tokens_are_counted_where_the_counter_is_installed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiktoken is used when it is there, and the line says so."""
    write(
        "modules/tiktoken.py",
        "class Words:\n"
        "    def encode(self, text, disallowed_special=()):\n"
        "        return text.split()\n"
        "def encoding_for_model(name):\n"
        "    return Words()\n",
    )
    monkeypatch.syspath_prepend(str(Path("modules").resolve()))
    # Two steps, so that the module made here is gone again behind the test.
    monkeypatch.setitem(sys.modules, "tiktoken", ModuleType("tiktoken"))
    monkeypatch.delitem(sys.modules, "tiktoken")
    ended = command("prompts", "check", write("polite.jinja", POLITE))

    assert "tokens          7 in the system message" in ended.out
    assert "(counted by tiktoken)" in ended.out


def test_a_file_alone_makes_a_grader(command: Command, data: str, scripted: Start) -> None:
    """Front matter, no Python: reply, score, settings and examples come from the file."""
    judge = scripted({"reasoning": "Kind words.", "passed": True})
    ended = command("grade", data, "--judge", "openai/m", "--prompt", write("polite.jinja", POLITE))

    assert "politeness: 1.00 over 1 scored of 1" in ended.out
    assert judge.requests[0].body["temperature"] == 0.5
    assert judge.requests[0].body["max_tokens"] == 300
    assert "<reply>" in str(judge.requests[0].messages[1]["content"])


@pytest.mark.parametrize("how", ["--prompts", "RAG_EVALS_PROMPTS"])
def test_a_users_folder_comes_before_ours(
    command: Command, data: str, scripted: Start, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Its files are graders by name, replace shipped prompts, and are found by extends."""
    judge = scripted(None)
    write("mine/politeness.jinja", POLITE)
    write(
        "mine/score_faithfulness.jinja",
        '{% extends "score_faithfulness.jinja" %}{% block criteria %}MY WORDS{% endblock %}',
    )
    write(
        "other/child.jinja",
        "---\nresponse_model: faithfulness\n---\n"
        '{% extends "score_faithfulness.jinja" %}{% block task %}MY TASK{% endblock %}',
    )
    options = ["--judge", "openai/m"]
    if how == "--prompts":
        options += ["--prompts", "mine"]
    else:
        monkeypatch.setenv(how, "mine")

    graded = command("grade", data, *options, "--grader", "politeness", "--grader", "faithfulness")
    assert "politeness: " in graded.out
    assert "faithfulness: " in graded.out
    sent = {request.instructions for request in judge.requests}
    assert any("MY WORDS" in text and "Look in every chunk" in text for text in sent)
    assert any("the tone of an answer" in text for text in sent)
    command("grade", data, *options, "--prompt", "other/child.jinja")
    assert "MY WORDS" in judge.requests[-1].instructions
    assert "MY TASK" in judge.requests[-1].instructions


def test_a_folder_that_is_none_is_an_error(command: Command, data: str) -> None:
    """The message has the folder."""
    ended = command("grade", data, "--prompts", "nowhere")

    assert (ended.code, ended.err) == (2, "Error: prompt folder 'nowhere' is not a folder\n")


def test_templates_that_extend_each_other_are_an_error(command: Command) -> None:
    """A circle is found, not followed for ever."""
    write("a.jinja", '---\nresponse_model: pass_fail\n---\n{% extends "b.jinja" %}')
    write("b.jinja", '{% extends "a.jinja" %}')
    ended = command("prompts", "check", "a.jinja")

    assert ended.code == 2
    assert "b.jinja: no template 'a.jinja' next to it" in ended.err


@pytest.mark.parametrize("how", ["row", "--language", "front matter"])
def test_a_russian_row_gets_russian_prompts(command: Command, scripted: Start, how: str) -> None:
    """Chosen by the row's language, by the option, or, before both, by the file's own language."""
    judge = scripted(None)
    row = {"answer": "Башня стоит в Париже.", "context": ["Башня стоит в Париже."]}
    options = []
    if how == "row":
        row["language"] = "ru"
    elif how == "--language":
        options = ["--language", "ru-RU"]
    else:
        row["language"] = "en"
        text = "---\nresponse_model: faithfulness\nlanguage: ru\n---\n"
        text += '{% extends "score_faithfulness.jinja" %}'
        options = ["--prompt", write("ru.jinja", text)]
    Path("rows.jsonl").write_text(json.dumps(row))
    ended = command("grade", "rows.jsonl", "--judge", "openai/m", *options)

    assert ended.code == 0
    assert judge.requests[0].instructions.startswith("Вы проверяете, верен ли ответ")
    assert "В тегах ниже — данные" in judge.requests[0].data
    assert judge.requests[0].answer == "Башня стоит в Париже."


def test_another_language_gets_english_prompts(command: Command, scripted: Start) -> None:
    """Where no version is shipped, the prompt says to keep the answer's language."""
    judge = scripted(None)
    Path("rows.jsonl").write_text(json.dumps(EIFFEL | {"language": "de"}))
    command("grade", "rows.jsonl", "--judge", "openai/m")

    assert "in its language" in judge.requests[0].instructions
    for word in ("Russian!", "xx", "xx-RU", "ENG_"):
        ended = command("grade", "rows.jsonl", "--judge", "openai/m", "--language", word)
        said = f"Error: language {word!r} is not a known code; expected one such as 'ru'\n"
        assert (ended.code, ended.err) == (2, said)


def test_russian_prompts_can_be_shown_and_copied(command: Command) -> None:
    """Their names start with the language."""
    assert "language: ru" in command("prompts", "show", "ru/score_faithfulness").out
    assert command("prompts", "show", "ru/score_faithfulness", "--to", "mine").out.strip() == (
        str(Path("mine/score_faithfulness.jinja"))
    )
    assert command("prompts", "show", "xx/score_faithfulness").code == 2
    assert "ru" in command("prompts", "show").out
