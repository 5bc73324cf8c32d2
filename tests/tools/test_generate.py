"""Is everything that the machine writes as it would write it now?"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("columns", ["40", "200"])
@pytest.mark.slow
def test_what_is_generated_is_up_to_date(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any terminal; when a file is stale, the command names it and what to run."""
    for name, value in {"COLUMNS": columns, "FORCE_COLOR": "1", "TERMINAL_WIDTH": columns}.items():
        monkeypatch.setenv(name, value)

    checked = subprocess.run(
        [sys.executable, "-m", "tools.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
