"""Cases written by hand, and the embedded judge's verdicts on them."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_evals.core import Verdict
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.claims import PreparedStatement, prepare_answer
from rag_evals.embedded.setting import claims_in_setting

_DATA = Path(__file__).parents[2] / "tests" / "data"


def read_cases(name: str) -> Iterator[dict[str, Any]]:
    for line in (_DATA / name).read_text(encoding="utf-8").split("\n"):
        if line:
            yield json.loads(line)


def claims_of(answer: str) -> list[PreparedStatement]:
    return [statement for statement in prepare_answer(answer) if statement.no_claim is None]


def verify_answer(
    verifier: EmbeddedVerifier, answer: str, chunks: Sequence[str], question: str | None = None
) -> list[tuple[str, Verdict]]:
    """Return each sentence with a claim and its verdict, in order."""
    claims = list(filter(None, claims_in_setting(prepare_answer(answer), question)))
    verdicts = verifier.verify(claims, chunks)
    pairs = zip(claims, verdicts, strict=True)
    return [(claim.sentence or claim.text, verdict) for claim, verdict in pairs]


def half_of(name: str) -> str:
    """Return the half of a fresh case, A or B, fixed by its id; C for those of the later set."""
    return "C" if name.startswith("later") else "AB"[hashlib.sha256(name.encode()).digest()[0] % 2]


def fresh_cases(verifier: EmbeddedVerifier) -> dict[tuple[str, str], list[bool]]:
    """Return which fresh cases are decided right, by kind and half."""
    right: dict[tuple[str, str], list[bool]] = {}
    for case in read_cases("fresh_cases.jsonl"):
        found = verify_answer(verifier, case["answer"], case["context"], case["question"])
        support = verifier.answer_support([verdict.support for _, verdict in found])
        place = case["id"].split("-")[0], half_of(case["id"])
        right.setdefault(place, []).append((support >= 0.5) == bool(case["label"]))
    return right


def minimal_pairs(verifier: EmbeddedVerifier) -> dict[str, dict[str, list[bool]]]:
    """Return which minimal pairs have a right verdict on both sides, by kind and language."""
    right: dict[str, dict[str, list[bool]]] = {}
    for pair in read_cases("minimal_pairs.jsonl"):
        good, bad = verifier.verify([pair["supported"], pair["unsupported"]], [pair["context"]])
        of_kind = right.setdefault(pair["kind"], {"en": [], "ru": []})
        of_kind[pair["language"]].append(good.is_supported and not bad.is_supported)
    return right
