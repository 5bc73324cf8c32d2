"""The training command: same rows, same weights; the weights work; the card shows the figures."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag_evals.embedded import EmbeddedVerifier
from tests.embedded.test_pairs import PAIRS


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Write labelled rows of two sources of one's own: the minimal pairs, with foreign chunks."""
    folder = tmp_path / "data"
    folder.mkdir()
    draw = random.Random(0)
    for source, kinds in (("clinic", PAIRS[::2]), ("library", PAIRS[1::2])):
        rows = []
        for pair in kinds:
            context = [pair["context"], draw.choice(PAIRS)["context"]]
            for kind, label in (("supported", 1), ("unsupported", 0)):
                rows.append(
                    {
                        "id": f"{pair['id']}-{kind}", "dataset": source, "question": None,
                        "context": context, "answer": pair[kind], "label": label,
                        "language": pair["language"],
                        "statements": [
                            {"text": pair[kind], "label": label, "gold_chunks": [0] * label}
                        ],
                    }
                )  # fmt: skip
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{source}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_training_is_repeatable_and_its_weights_work(
    labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs write the same bytes; the verifier loads them, and the card has the figures."""
    from tools.train_embedded.__main__ import main

    card = tmp_path / "card.md"
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    main([str(labelled), "--out", str(first), "--card", str(card)])
    main([str(labelled), "--out", str(second)])
    shown = capsys.readouterr().out

    assert first.read_bytes() == second.read_bytes()
    assert "| clinic | your own | fitted, left out here | 120 | 50 |" in shown
    assert "| library |" in card.read_text(encoding="utf-8")
    good, bad = EmbeddedVerifier(weights=first).verify(
        ["The mill was sold in 1910.", "Pigeons sleep in towers."], ["The mill was sold in 1910."]
    )
    assert good.support > bad.support


WATCHED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from tools.train_embedded.__main__ import main
main(sys.argv[1:])
assert any("clinic.jsonl" in path for path in opened)
print([path for path in opened if "exam" in path.rpartition("/")[2]])
"""


@pytest.mark.slow
def test_training_never_reads_the_exam(labelled: Path, tmp_path: Path) -> None:
    """No file of the exam is opened, and no line of the code names it."""
    root = Path(__file__).parents[2]
    out = str(tmp_path / "weights.json")
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED, str(labelled), "--out", out],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ended.stdout.splitlines()[-1] == "[]"
    link = "[judge exam](judge-exam.md)"  # the card points to it
    sources = [
        *(root / "tools/train_embedded").glob("*.py"),
        *(root / "rag_evals/embedded").glob("*.py"),
    ]
    texts = [path.read_text().replace(link, "") for path in sources]
    assert not [text for text in texts if re.search(r"\bexam(_pairs)?\b", text)]
