"""The same rows graded by ragas, deepeval and us: what is stored of the peers is what they say.

`make test-peers` installs each in an environment of its own and runs this; it is no part of CI.
With `UPDATE_SNAPSHOTS=1` it writes `tests/data/peers.json` anew.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rag_evals.testing import ScriptedJudge
from tests.peers.rows import ROWS, same_judge

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "data" / "peers.json"


@pytest.mark.parametrize("peer", ["ragas", "deepeval"])
def test_a_peer_says_what_is_stored(peer: str) -> None:
    """Each peer, asked through its own client, gives the stored scores for the same verdicts."""
    rows = [row._asdict() for row in ROWS]
    with ScriptedJudge(same_judge) as judge:
        ended = subprocess.run(
            [ROOT / f".venv-{peer}" / "bin" / "python", f"ask_{peer}.py", judge.base_url],
            cwd=Path(__file__).parent,
            input=json.dumps(rows),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    stored: dict[str, Any] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    if os.environ.get("UPDATE_SNAPSHOTS"):
        stored[peer] = found
        STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    assert found == stored[peer]
