"""What is written to add a grader, a verifier, a format, an option, a provider? For the map."""

from collections.abc import Callable, Mapping

Content = str | Callable[[str], str]
"""The text of a new file, or the change of one that is there."""


def after(mark: str, text: str) -> Callable[[str], str]:
    """Return a change that puts a text behind the first place of a mark."""

    def change(old: str) -> str:
        assert mark in old, mark
        return old.replace(mark, mark + text, 1)

    return change


def both(first: Callable[[str], str], second: Callable[[str], str]) -> Callable[[str], str]:
    """Return a change that does two."""
    return lambda old: second(first(old))


def at_the_end(text: str) -> Callable[[str], str]:
    """Return a change that adds a text at the end."""
    return lambda old: f"{old}{text}"


_GRADER = '''"""Does the answer greet?"""

from typing import ClassVar

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import Finding, Reasoning, Result, SampleField
from rag_evals.prompt import Prompt

__all__ = ["Dummy", "DummyResult"]


class DummyResult(Result):
    """Whether the answer greets."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer",)
    accepts: ClassVar[tuple[SampleField, ...]] = ()

    reasoning: Reasoning = Field(default=None, description="Why, in one sentence.")
    greets: bool = Field(description="True when the answer greets.")

    @property
    def score(self) -> float:
        """1.0 when the answer greets, else 0.0."""
        return float(self.greets)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The answer, with or without a greeting."""
        return (Finding("the answer greets", self.greets, "yes" if self.greets else "no"),)


Dummy = ContextEvaluation(prompt=Prompt.shipped("score_dummy"), response_model=DummyResult)
"""1.0 when the answer greets."""
'''

_PROMPT = """---
name: dummy
version: 1
{front}
response_model: dummy
---
{{# Instructions. Variables: none. Used by rag_evals/score_dummy.py. #}}
{task}
"""

_GRADER_TEST = '''"""A greeting is found or not."""

import pytest

from rag_evals.score_dummy import DummyResult


@pytest.mark.parametrize("greets", [True, False])
def test_a_greeting_scores_one(greets: bool) -> None:
    """Its score is the label."""
    assert DummyResult(greets=greets).score == float(greets)
'''

_PAGE = """---
tags: [hello]
---

# Greetings

**What it measures.** Whether the answer greets.

```python
from rag_evals import Dummy

print(Dummy.name)
#> dummy
```
"""

_VERIFIER = '''"""Is the statement a part of a chunk, letter by letter?"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evals.core import (
    Claim,
    Flow,
    Verdict,
    VerifierChanges,
    VerifierTraits,
    VerifyCall,
    as_claims,
)


@dataclass(frozen=True)
class DummyVerifier:
    """Decides by the letters alone."""

    name: str = "dummy"
    traits = VerifierTraits()

    def adapt(self, changes: VerifierChanges) -> "DummyVerifier":
        """Return itself."""
        del changes
        return self

    def fingerprint(self) -> str:
        """Return its name: nothing else changes a verdict."""
        return self.name

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work as one local step."""
        call = VerifyCall(self, claims, chunks)
        (reply,) = yield [call]
        return call.read(reply)

    def verify(self, claims: Sequence[str | Claim], chunks: Sequence[str]) -> list[Verdict]:
        """Decide each claim."""
        return [self._verdict(claim.text, chunks) for claim in as_claims(claims)]

    def _verdict(self, statement: str, chunks: Sequence[str]) -> Verdict:
        ids = tuple(place for place, chunk in enumerate(chunks) if statement in chunk)
        return Verdict(float(bool(ids)), bool(ids), ids, "by its letters")
'''

_VERIFIER_TEST = '''"""Letters decide."""

from rag_evals.verify import DummyVerifier, read_judge


def test_letters_decide() -> None:
    """Only a statement that stands in a chunk is supported."""
    verdicts = DummyVerifier().verify(["It is.", "It was."], ["It is."])

    assert [verdict.is_supported for verdict in verdicts] == [True, False]
    assert isinstance(read_judge("dummy").verifier, DummyVerifier)
'''

_READER = """
def _read_dummy(file: Opened) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        answer, _, chunk = line.decode().strip().partition("|")
        yield Row(f"line {number}", {"answer": answer, "context": [chunk]})


"""

_READER_TEST = '''

def test_a_bar_divides_answer_and_context() -> None:
    """Each line of a .dummy file is one row."""
    (row,) = read_rows(write("a.dummy", "It is.|It is."))

    assert row.values == {"answer": "It is.", "context": ["It is."]}
'''

_PROVIDER = """    "dummy": Host("DUMMY_BASE_URL", "DUMMY_API_KEY", None, NO_KEY),
"""

_PROVIDER_TEST = '''

def test_a_dummy_is_asked_at_its_own_address(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`dummy/MODEL` goes where DUMMY_BASE_URL says."""
    monkeypatch.setenv("DUMMY_BASE_URL", scripted(GOOD).base_url)
    monkeypatch.delenv("OPENAI_BASE_URL")

    assert Faithfulness.grade(**EIFFEL, client="dummy/m").score == 1.0
'''

_OPTION_TEST = '''

def test_a_dummy_greets(graded: str) -> None:
    """`--dummy` greets before the report is written."""
    assert call("report", graded, "--dummy").stdout.startswith("hello\\n")
'''

ADDITIONS: Mapping[str, Mapping[str, Content]] = {
    "add a grader": {
        "score_dummy.py": _GRADER,
        "prompts/score_dummy.jinja": _PROMPT.format(
            front="description: Does the answer greet?", task="Say whether the answer greets."
        ),
        "prompts/ru/score_dummy.jinja": _PROMPT.format(
            front="language: ru\ndescription: Здоровается ли ответ?",
            task="Скажите, здоровается ли ответ. Рассуждайте по-русски.",
        ),
        "catalog.py": both(
            after(
                "from rag_evals.score_correctness import AnswerCorrectness\n",
                "from rag_evals.score_dummy import Dummy\n",
            ),
            after("GRADERS: dict[str, Grader[Any]] = {\n", '    "dummy": Dummy,\n'),
        ),
        "_data/phrases/en.json": after(' "graders": {\n', '  "dummy": "dummy",\n'),
        "_data/phrases/ru.json": after(' "graders": {\n', '  "dummy": "приветствие",\n'),
        "docs/graders/dummy.md": _PAGE,
        "tests/test_score_dummy.py": _GRADER_TEST,
    },
    "add a verifier": {
        "verify/dummy.py": _VERIFIER,
        "verify/__init__.pyi": after(
            "import DecisionVerifier as DecisionVerifier\n",
            "from rag_evals.verify.dummy import DummyVerifier as DummyVerifier\n",
        ),
        "verify/judge_string.py": after(
            "KINDS: Mapping[str, _Kind] = {\n", '    "dummy": _Kind("DummyVerifier"),\n'
        ),
        "docs/verifiers.md": after(
            "|---|---|---|---|\n", "| `DummyVerifier` | `dummy` | nothing | tests |\n"
        ),
        "tests/verify/test_dummy.py": _VERIFIER_TEST,
    },
    "read a new file format": {
        "dataset/readers.py": lambda old: old.replace(
            "READERS: dict", f"{_READER}READERS: dict", 1
        ).replace('    ".jsonl": ', '    ".dummy": _read_dummy,\n    ".jsonl": ', 1),
        "docs/data-and-columns.md": after(
            "| `.jsonl`, `.ndjson` | one JSON object per line | |\n",
            "| `.dummy` | a row per line, answer and context divided by a bar | |\n",
        ),
        "tests/dataset/test_readers.py": at_the_end(_READER_TEST),
    },
    "add an option to a command": {
        "cli/commands/report.py": both(
            after(
                '    language: ReaderLanguage = "en",\n    *,\n    output: Output,\n',
                '    dummy: Annotated[bool, typer.Option(help="Greet first.")] = False,\n',
            ),
            after(
                '    rag-evals report runs/first --language ru\n    """\n',
                '    if dummy:\n        echo("hello")\n',
            ),
        ),
        "tests/cli/test_report.py": at_the_end(_OPTION_TEST),
    },
    "support a different way to build a client": {
        "judge/clients/strings.py": after("OPENAI_HOSTS: dict[str, Host] = {\n", _PROVIDER),
        "docs/providers/index.md": at_the_end(
            "\n`dummy/MODEL` asks the address in `DUMMY_BASE_URL`.\n"
        ),
        "tests/judge/test_clients.py": at_the_end(_PROVIDER_TEST),
    },
}
"""What is written at each place, by the row of the table that names the place."""

PROGRAM = '''"""What was added works from Python and from the command line."""

from pathlib import Path

import pytest

import rag_evals
from rag_evals import Dummy, Faithfulness
from rag_evals.testing import ScriptedJudge
from tests.conftest import Command

SUPPORTED = {
    "statement": "It is.",
    "reasoning": "r",
    "supporting_chunk_ids": [0],
    "is_supported": True,
}
GREETS = {"reasoning": "r", "greets": True}


def test_what_was_added_is_used(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grader, the file format, the verifier and the provider, as a user has them."""
    assert Path(rag_evals.__file__).parents[1] == Path(__file__).parents[1]
    Path("rows.dummy").write_text("It is.|It is.")
    with ScriptedJudge([GREETS, GREETS]) as judge:
        monkeypatch.setenv("OPENAI_BASE_URL", judge.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        assert Dummy.grade(answer="Hello.", client="openai/m").score == 1.0
        asked = command("grade", "rows.dummy", "--grader", "dummy", "--judge", "openai/m")
    decided = command("grade", "rows.dummy", "--judge", "dummy")
    with ScriptedJudge({"statements": [SUPPORTED]}) as judge:
        monkeypatch.setenv("DUMMY_BASE_URL", judge.base_url)
        row = {"answer": "It is.", "context": ["It is."]}
        assert Faithfulness.grade(**row, client="dummy/m").score == 1.0

    for ended in (asked, decided):
        assert ended.code == 0, ended.err
        assert "over 1 scored of 1" in ended.out
'''
"""A test that uses all that was added, through Python and the command line."""
