"""How a test of the command line runs a command."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from rag_evals.cli.main import run


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

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
