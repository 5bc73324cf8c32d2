"""Each step of reading by itself: questions, leads, fragments, languages, marks and markup."""

import json
from pathlib import Path

import pytest

from tests.text.readings import READ

DATA = Path(__file__).parents[1] / "data" / "readings.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("name", READ)
def test_a_step_reads_each_text_as_it_should(name: str) -> None:
    """The texts and what is made of them were checked one by one."""
    texts = [(text, value) for step, text, value in CASES if step == name]
    read = [(text, json.loads(json.dumps(READ[name](text)))) for text, _ in texts]

    assert len(texts) > 3
    assert read == texts
