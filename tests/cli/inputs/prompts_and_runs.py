"""Prompt files, label files, run folders and environment variables."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.cli.inputs.table import ROW, Content, Entry

OK = "over 1 scored of 1"
_HEAD = "---\nname: my\nresponse_model: faithfulness\n"
_DEEP = "nested too deeply"

TEMPLATES: list[tuple[str, Content, int, str]] = [
    ("instructions", "Судите строго.", 0, "p.jinja: ok"),
    (
        "with a byte order mark",
        b"\xef\xbb\xbf" + f"{_HEAD}---\nJudge.".encode(),
        0,
        "grader          my",
    ),
    ("empty", "", 2, "the prompt is empty"),
    ("blanks", " \n\t", 2, "the prompt is empty"),
    ("a header alone", f"{_HEAD}---\n", 2, "the prompt is empty"),
    ("not UTF-8", "Судите".encode("cp1251"), 2, "cannot be read"),
    ("UTF-16", "Судите".encode("utf-16"), 2, "cannot be read"),
    ("zeros", b"\0" * 1000, 0, "p.jinja: ok"),
    ("a folder", lambda path: path.mkdir(), 2, "is a folder"),
    ("a pipe", lambda path: os.mkfifo(path), 2, "is a pipe or a device"),
    ("11 MB", b"x" * 11_000_000, 2, "has more than 10 MB"),
    ("an unknown variable", "{{ вопрос }}", 2, "unknown variable 'вопрос'"),
    ("an unknown filter", "a\n{{ answer|nofilter }}", 2, "line 2: No filter named 'nofilter'"),
    ("an unknown test", "a\n{{ answer is notest }}", 2, "line 2: No test named 'notest'"),
    ("an unknown tag", "{% nothing %}", 2, "Encountered unknown tag 'nothing'"),
    ("an open tag", "{% if answer", 2, "line 1"),
    ("an open condition", "{% if answer %}", 2, "line 1"),
    ("an open output", "{{ answer", 2, "line 1"),
    ("an attribute that is not there", "{{ answer.нет }}", 2, "line 1"),
    ("an index that is not there", "{{ chunks[99].text }}", 2, "line 1"),
    ("a text plus a number", "{{ answer + 1 }}", 2, "line 1"),
    ("a division by 0", "{{ 1 / 0 }}", 2, "line 1: division by zero"),
    ("the way to Python", "{{ answer.__class__.__mro__ }}", 2, "line 1"),
    ("the way to Python by a filter", "{{ answer|attr('__class__') }}", 2, "line 1"),
    ("the way to Python by a format", "{{ '{0.__class__}'.format(answer) }}", 2, "line 1"),
    ("a change of the data", "{{ chunks.clear() }}", 2, "line 1"),
    ("lipsum", "{{ lipsum(n=100000) }}", 2, "unknown variable 'lipsum'"),
    ("a great range", "{{ range(10**9)|list }}", 2, "Range too big"),
    ("a macro without end", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", 2, _DEEP),
    ("3,000 brackets", "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", 2, _DEEP),
    ("300 conditions", "{% if answer %}" * 300 + "{% endif %}" * 300, 2, _DEEP),
    ("30 loops", "{% for a in chunks %}" * 30 + "{% endfor %}" * 30, 2, _DEEP),
    (
        "300 blocks",
        "".join(f"{{% block b{n} %}}" for n in range(300)) + "{% endblock %}" * 300,
        2,
        _DEEP,
    ),
    ("a number of 5,000 digits", "{{ " + "9" * 5000 + " }}", 2, "p.jinja"),
    ("a parent that is not there", "{% extends 'нет.jinja' %}", 2, "no template 'нет.jinja'"),
    ("a parent outside", "{% extends '../../etc/passwd' %}", 2, "no template"),
    ("itself as parent", "{% extends 'p.jinja' %}", 2, "no template 'p.jinja'"),
    ("itself included", "{% include 'p.jinja' %}", 2, "no template 'p.jinja'"),
    ("a parent that is data", "{% extends answer %}", 2, "p.jinja"),
    ("escape sequences", "\x1b]0;x\x07\x1b[2J Judge.", 0, "�]0;x��[2J Judge."),
]

HEADERS: list[tuple[str, str, int, str]] = [
    ("an unknown key", "nmae: x", 2, "nmae: Extra inputs"),
    ("a list", "- a", 2, "front matter: Input should be a valid dictionary"),
    ("a text", "да", 2, "front matter: Input should be a valid dictionary"),
    ("a number", "7", 2, "front matter: Input should be a valid dictionary"),
    ("broken", "a: [", 2, "front matter is not YAML"),
    ("a tab", "\ta: 1", 2, "front matter is not YAML"),
    ("a Python object", "name: !!python/object/apply:os.system ['true']", 2, "is not YAML"),
    ("5,000 brackets", "name: " + "[" * 5000 + "]" * 5000, 2, "front matter cannot be read"),
    ("a date that is none", "name: 2024-99-99", 2, "front matter cannot be read"),
    ("a date", "name: 2024-01-01", 2, "name: Input should be a valid string"),
    ("a version of 5,000 digits", "version: " + "9" * 5000, 2, "front matter cannot be read"),
    (
        "aliases that multiply",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        2,
        "aliases (*) are not allowed",
    ),
    ("a list as key", "? [a]\n: b", 2, "front matter"),
    ("a number as key", "7: b", 2, "p.jinja"),
    ("control characters", "name: \x07", 2, "front matter is not YAML"),
    ("a number as name", "name: 7", 2, "name: Input should be a valid string"),
    ("an unknown model", "response_model: вера", 2, "no response model 'вера'"),
    ("a hot temperature", "settings: {temperature: 9}", 2, "settings: temperature is 9"),
    ("no tokens", "settings: {max_tokens: 0}", 2, "settings: max_tokens is 0"),
    ("an unknown setting", "settings: {top_k: 5}", 2, "settings: no setting 'top_k'"),
    ("a language that is none", "language: Русский", 2, "language: "),
    ("criteria that are a list", "criteria: [a]", 2, "criteria: "),
    ("an example that is a text", "examples: [a]", 2, "examples.0"),
    ("an example that fits nothing", "examples: [{a: 1}]", 2, "example 0 has ['a']"),
]

LABELS: list[tuple[str, Content, int, str]] = [
    ("empty", "", 2, "'l.jsonl' has no rows"),
    ("broken", "{", 2, "invalid JSON"),
    ("no row named", '{"label": true}', 2, "no 'sample_id'"),
    ("no label", '{"sample_id": "a"}', 2, "no 'label' and no 'statements'"),
    ("a label that is none", '{"sample_id": "a", "label": "может быть"}', 2, "the label is"),
    ("a label over 1", '{"sample_id": "a", "label": 2}', 2, "the label is 2"),
    ("a label that is NaN", '{"sample_id": "a", "label": NaN}', 2, "the label is nan"),
    ("a label that is a list", '{"sample_id": "a", "label": [1]}', 2, "the label is [1]"),
    ("a label that is an object", '{"sample_id": "a", "label": {"a": 1}}', 2, "the label is {"),
    (
        "a superscript statement",
        '{"sample_id": "a", "label": 1, "statement": "²"}',
        2,
        "the statement is",
    ),
    (
        "a statement of 5,000 digits",
        f'{{"sample_id": "a", "label": 1, "statement": "{"9" * 5000}"}}',
        2,
        "the statement is",
    ),
    (
        "a statement below 0",
        '{"sample_id": "a", "label": 1, "statement": -1}',
        2,
        "the statement is -1",
    ),
    (
        "half a statement",
        '{"sample_id": "a", "label": 1, "statement": 1.5}',
        2,
        "the statement is 1.5",
    ),
    (
        "a list as statement",
        '{"sample_id": "a", "label": 1, "statement": [0]}',
        2,
        "the statement is [0]",
    ),
    (
        "a statement too far",
        '{"sample_id": "a", "label": 1, "statement": 99}',
        2,
        "no label matches a verdict",
    ),
    (
        "statements without text",
        '{"sample_id": "a", "statements": [{"label": 1}]}',
        2,
        "statements[0] has no 'text'",
    ),
    ("another row", '{"sample_id": "нет", "label": 1}', 2, "none of the 1 labels is for a row"),
    ("Windows-1251", '{"sample_id": "да"}'.encode("cp1251"), 2, "not UTF-8"),
    ("5,000 digits", '{"sample_id": "a", "label": ' + "9" * 5000 + "}", 2, "number out of range"),
    ("a pipe", lambda path: os.mkfifo(path), 2, "is a pipe or a device"),
    ("a folder", lambda path: path.mkdir(), 2, "is a folder"),
    ("a label", '{"sample_id": "a", "label": "да нет"}', 2, "the label is 'да нет'"),
    ("yes", '{"sample_id": "a", "label": "Yes"}', 0, "agree"),
]

FOLDERS: list[tuple[str, dict[str, Content], str]] = [
    ("missing", {}, "has no run"),
    ("a file", {"r": "x"}, "has no run: it is a file"),
    ("empty", {"r": lambda path: path.mkdir()}, "has no run"),
    ("a broken manifest", {"r/manifest.json": "{"}, "is not the manifest of a run"),
    ("an empty manifest", {"r/manifest.json": ""}, "is not the manifest of a run"),
    ("a manifest of zeros", {"r/manifest.json": b"\0\0"}, "is not the manifest of a run"),
    (
        "a manifest in UTF-16",
        {"r/manifest.json": "{}".encode("utf-16")},
        "is not the manifest of a run",
    ),
    ("a list as manifest", {"r/manifest.json": "[]"}, "is not the manifest of a run"),
    ("a manifest without identity", {"r/manifest.json": "{}"}, "is not the manifest of a run"),
]

_ASKING = ("grade", "d.jsonl", "--judge", "openai/m", "--grader", "faithfulness_two_step")
VARIABLES: list[tuple[Mapping[str, str], tuple[str, ...], int, str]] = [
    ({"RAG_EVALS_JUDGE": "судья"}, ("grade", "d.jsonl"), 2, "судья"),
    ({"RAG_EVALS_JUDGE": "\x1b[2J"}, ("grade", "d.jsonl"), 2, "neither 'embedded' nor"),
    ({"RAG_EVALS_JUDGE": "openai/m"}, ("grade", "d.jsonl"), 2, "set OPENAI_API_KEY"),
    (
        {"RAG_EVALS_STATEMENT_CACHE": "да"},
        _ASKING,
        2,
        "RAG_EVALS_STATEMENT_CACHE is 'да'",
    ),
    (
        {"RAG_EVALS_STATEMENT_CACHE": "да"},
        ("grade", "d.jsonl", "--judge", "embedded"),
        2,
        "RAG_EVALS_STATEMENT_CACHE is 'да'",
    ),
    ({"RAG_EVALS_CACHE_DIR": "d.jsonl"}, _ASKING, 2, "cache file"),
    ({"RAG_EVALS_CACHE_DIR": "a" * 300}, _ASKING, 2, "cache file"),
    ({"RAG_EVALS_CACHE_DIR": "odd"}, _ASKING, 2, "cache file"),
    ({"RAG_EVALS_PROMPTS": "нет"}, ("grade", "d.jsonl"), 2, "is not a folder"),
    ({"RAG_EVALS_PROMPTS": "d.jsonl"}, ("grade", "d.jsonl"), 2, "is not a folder"),
    ({"RAG_EVALS_MAX_LINE_MB": "0"}, ("grade", "d.jsonl"), 2, "RAG_EVALS_MAX_LINE_MB is '0'"),
    (
        {"RAG_EVALS_MAX_LINE_MB": "много"},
        ("grade", "d.jsonl"),
        2,
        "RAG_EVALS_MAX_LINE_MB is 'много'",
    ),
    ({"RAG_EVALS_MAX_LINE_MB": "²"}, ("grade", "d.jsonl"), 2, "RAG_EVALS_MAX_LINE_MB is '²'"),
    ({"RAG_EVALS_MAX_LINE_MB": "9" * 5000}, ("grade", "d.jsonl"), 2, "RAG_EVALS_MAX_LINE_MB is"),
    ({"RAG_EVALS_MAX_LINE_MB": "1"}, ("grade", "d.jsonl", "--quiet"), 0, OK),
    ({"GITHUB_STEP_SUMMARY": "."}, ("grade", "d.jsonl", "--quiet"), 2, "cannot be written"),
    ({"GITHUB_STEP_SUMMARY": "d.jsonl/x"}, ("grade", "d.jsonl", "--quiet"), 2, "cannot be written"),
    ({"OPENAI_API_KEY": ""}, ("grade", "d.jsonl", "--judge", "openai/m"), 2, "set OPENAI_API_KEY"),
]


def entries() -> Iterator[Entry]:
    """Yield the entries of this family."""
    check = ("prompts", "check", "p.jinja", "--grader", "faithfulness")
    for name, content, code, says in TEMPLATES:
        yield Entry(f"template: {name}", check, code, says, {"p.jinja": content})
    for name, header, code, says in HEADERS:
        text = f"---\n{header}\n---\nJudge."
        yield Entry(f"front matter: {name}", check, code, says, {"p.jinja": text})
    for name, content, code, says in LABELS:
        labelled = ("judge", "agreement", "run", "l.jsonl")
        yield Entry(f"labels: {name}", labelled, code, says, {"l.jsonl": content})
    for name, files, says in FOLDERS:
        for command in ("report r", "compare r r", "judge correct r", "judge label r"):
            yield Entry(f"run folder: {name}, {command}", command.split(), 2, says, files)
    data: dict[str, Content] = {
        "d.jsonl": ROW,
        "odd/cache.sqlite3": "no database at all, but long enough" * 100,
    }
    for environment, words, code, says in VARIABLES:
        if words == _ASKING:
            environment = {**environment, "OPENAI_API_KEY": "sk-test-SECRET"}
        variable = ", ".join(f"{key}={value[:20]!r}" for key, value in environment.items())
        yield Entry(f"{variable}: {' '.join(words[:2])}", words, code, says, data, environment)


def run_folder(path: Path) -> str:
    """Return the row that is graded into the folder `run` before each entry."""
    path.write_text(ROW.replace("{", '{"id": "a", "m": "да", ', 1), encoding="utf-8")
    return str(path)
