"""What every test has: a scripted judge, rows to grade, a clean environment, no network."""

import gc
import os
import socket
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import certifi
import pytest

from rag_evals.core import VerifierChanges, VerifierTraits
from rag_evals.judge.pace import retry
from rag_evals.judge.pace.retry import Waits
from tests.scripted import EVERY_SENTENCE, Script, ScriptedJudge

if TYPE_CHECKING:
    import instructor

EIFFEL: dict[str, Any] = {
    "question": "Where is the Eiffel Tower, and when was it finished?",
    "answer": "The Eiffel Tower stands in Paris. It was completed in 1923.",
    "context": ["The Eiffel Tower stands in Paris.", "It was completed in 1889."],
}
"""One row: the first sentence is supported by chunk 0, the second by none."""


class PlainVerifier:
    """The two members that most verifiers of tests need not write: nothing special in either."""

    traits = VerifierTraits()

    def adapt(self, changes: VerifierChanges) -> Any:
        """Return itself."""
        return self


# The environment of the classifiers has no hypothesis.
if find_spec("hypothesis") is not None:
    from hypothesis import settings

    # Its time limit of 0.2 s for one example fails on a busy machine. Each run draws new examples.
    settings.register_profile("patient", parent=settings(), deadline=None, max_examples=50)
    settings.load_profile("patient")


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: nearly all that is made then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, less often: a pass over what stays takes 0.4 s."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


HIDDEN = {
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_VERSION",
    "AZURE_OPENAI_ENDPOINT",
    "AZURE_OPENAI_API_KEY",
    "VLLM_BASE_URL",
    "VLLM_API_KEY",
    "OLLAMA_HOST",
    "OLLAMA_API_KEY",
    "RAG_EVALS_JUDGE",
    "RAG_EVALS_LANGUAGE",
    "RAG_EVALS_PROMPTS",
    "RAG_EVALS_STATEMENT_CACHE",
    "CI_COMMIT_SHA",
    # Coverage is measured in the processes of pytest; in each command it would cost a second.
    "COVERAGE_PROCESS_CONFIG",
    "GITHUB_ACTIONS",
    "GITHUB_SHA",
    "GITHUB_STEP_SUMMARY",
}


_folders = count(1)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty folder: pytest's own takes five system calls more, in each of all tests."""
    path = tmp_path_factory.getbasetemp() / f"{request.function.__name__[:60]}-{next(_folders)}"
    path.mkdir(0o700)
    return path


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep one authority's certificate: reading all takes each client of an SDK 20 ms."""
    first, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")
    path = tmp_path_factory.mktemp("authority") / "one.pem"
    path.write_text(first + end)
    return path


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_authority: Path) -> None:
    """Hide the developer's own keys and settings, and work in an empty folder."""
    for name in HIDDEN & os.environ.keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAG_EVALS_CACHE_DIR", str(tmp_path / "cache"))
    # Nothing here is signed, and nobody outside is asked.
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait next to nothing before another try, where no endpoint asks to; as many tries are made.

    A test of the waits themselves puts `Waits()` back.
    """
    waits = Waits(first=0.001, pause=0.001, first_poll=0.001, longest_poll=0.01)
    monkeypatch.setattr(retry, "WAITS", waits)


@pytest.fixture(autouse=True)
def no_connection_left() -> Iterator[None]:
    """Close what judge strings have become: an open connection can fail whichever test is next."""
    yield
    from rag_evals.judge.clients.build import close_shared_loop

    close_shared_loop()


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections that leave this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
            "127.0.0.1",
            "::1",
        ):
            raise AssertionError(f"a test tried to reach {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Script], ScriptedJudge]]:
    """Start scripted judges; `OPENAI_BASE_URL` points at the last one."""
    running: list[ScriptedJudge] = []

    def start(script: Script = None, **options: Any) -> ScriptedJudge:
        judge = ScriptedJudge(script, **options).__enter__()
        running.append(judge)
        monkeypatch.setenv("OPENAI_BASE_URL", judge.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET")
        return judge

    yield start
    for judge in running:
        judge.__exit__(None, None, None)


@pytest.fixture
def client_of() -> Iterator[Callable[..., "instructor.Instructor"]]:
    """Make sync instructor clients for a scripted judge, as a user would."""
    import instructor
    import openai

    made: list[openai.OpenAI] = []

    def make(
        judge: ScriptedJudge, mode: instructor.Mode = instructor.Mode.TOOLS, retries: int = 1
    ) -> instructor.Instructor:
        sdk = openai.OpenAI(base_url=judge.base_url, api_key="sk-test-SECRET", max_retries=retries)
        made.append(sdk)
        return instructor.from_openai(sdk, mode=mode)

    yield make
    for sdk in made:
        sdk.close()


def statement(
    text: str = EVERY_SENTENCE, *, supported: bool = True, ids: tuple[int, ...] = (0,)
) -> dict[str, Any]:
    """Return one statement as a judge would send it; by default a verdict on each sentence."""
    return {
        "statement": text,
        "reasoning": "Chunk 0 says so.",
        "supporting_chunk_ids": list(ids),
        "is_supported": supported,
    }


ONE_SUPPORTED: dict[str, Any] = {
    "s0": {"reasoning": "Chunk 0 says so.", "verdict": {"supported_by": [0]}}
}
"""What a judge sends for an answer of one sentence."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""
    from rag_evals.cli.main import run

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["rag-evals", *arguments])
        code = 0
        try:
            run()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call
