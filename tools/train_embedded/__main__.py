"""Train the embedded judge, measure it, and write its weights and model card.

python -m tools.train_embedded DATA_DIR
"""

import argparse
import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rag_evals.core import Claim
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.decide import decide
from rag_evals.embedded.model import FEATURES, FORMAT, Model, load, parse
from rag_evals.embedded.verifier import SHIPPED_WEIGHTS, THRESHOLDS
from tools.train_embedded import figures
from tools.train_embedded.ablation import ablation_table
from tools.train_embedded.background import count_background
from tools.train_embedded.card import write_card
from tools.train_embedded.fit import ablate, calibrate, fit_sources, leave_one_out, shipped
from tools.train_embedded.measured import Measured
from tools.train_embedded.rows import (
    EVALUATION_ONLY,
    MARKED_ANSWERS,
    Labelled,
    read_rows,
    read_statements,
)
from tools.train_embedded.tables import see


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.train_embedded", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of labelled .jsonl or .jsonl.gz files")
    parser.add_argument("--out", type=Path, default=SHIPPED_WEIGHTS, help="weights file to write")
    parser.add_argument("--card", type=Path, default=None, help="also write the model card here")
    parser.add_argument(
        "--keep", action="store_true", help="write no weights: the card is of those in --out"
    )
    parser.add_argument(
        "--each", type=Path, help="also write here weights fitted without each source, a file each"
    )
    options = parser.parse_args(arguments)
    kept = load(options.out) if options.keep else None
    document, measured, each = train(read_statements(options.data), kept=kept)
    with TemporaryDirectory() as folder:
        place = options.each or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        verifiers: dict[str, EmbeddedVerifier] = {}
        for name, fitted in each.items():
            (place / f"{name}.json").write_text(_render(fitted), encoding="utf-8")
            verifiers[name] = EmbeddedVerifier(weights=place / f"{name}.json")
        limit = measured.measure_answers(verifiers, read_rows(options.data))
    if kept is None:
        document["answer_limit"] = limit
        options.out.write_text(_render(document), encoding="utf-8")
    print(f"{measured.table()}\n\n{measured.answer_table()}")
    digest = hashlib.sha256(options.out.read_bytes()).hexdigest()
    print(f"\n{options.out}: sha256 {digest}")
    if options.card is not None:
        parts = ablation_table(read_statements(options.data), read_rows(options.data))
        write_card(options.card, measured, options.out, parts)


def train(
    statements: dict[str, list[Labelled]], *, kept: Model | None = None
) -> tuple[dict[str, Any], Measured, dict[str, dict[str, Any]]]:
    """Fit the judge on labelled statements.

    Args:
        statements: By source.
        kept: The judge whose thresholds are measured; None for the one that is fitted.

    Returns:
        The content of the weights file, figures measured leaving one source out, and for each
        source the content of a weights file fitted without it.
    """
    allowed = {name: rows for name, rows in statements.items() if name not in EVALUATION_ONLY}
    background = count_background(item for rows in allowed.values() for item in rows)
    blank = parse(_document(background, {}), "")
    seen = {name: see(rows, blank) for name, rows in statements.items()}
    tables = {name: seen[name] for name in allowed}
    others = {name: table for name, table in seen.items() if name not in allowed}
    fits = leave_one_out(tables, others)
    logits = {name: fits[name].logits(table) for name, table in seen.items()}
    slope, offset = calibrate(
        [logits[name] for name in tables], [tables[name].labels for name in tables]
    )
    scores = {name: figures.sigmoid(values * slope + offset) for name, values in logits.items()}
    gold = [
        table.gold_hits(figures.sigmoid(fits[name].readings(table) * slope + offset))
        for name, table in seen.items()
    ]
    measured = Measured(
        scores,
        {name: table.labels for name, table in seen.items()},
        (sum(hits for hits, _ in gold), sum(total for _, total in gold)),
    )
    measured.ablation = ablate(tables, others)
    fitted = shipped(fit_sources(tables), slope, offset)
    fitted["thresholds"] = measured.choose_thresholds(list(tables))
    if kept is not None:
        measured.thresholds = dict(kept.thresholds)
    each = {
        name: _document(background, {**fitted, **shipped(fit, slope, offset)})
        for name, fit in fits.items()
    }
    document = _document(background, fitted)
    _measure_as_shipped(measured, statements, kept or parse(document, ""))
    return document, measured, each


def _measure_as_shipped(
    measured: Measured, statements: dict[str, list[Labelled]], model: Model
) -> None:
    """Replace the scores of whole answers, which no fit saw, by those of the judge itself."""
    for name in MARKED_ANSWERS & statements.keys():
        measured.scores[name] = np.array(
            [
                decide(model, 0.5, [Claim(item.text)], item.chunks)[0].support
                for item in statements[name]
            ]
        )


def _document(background: dict[str, Any], fitted: dict[str, Any]) -> dict[str, Any]:
    blank = {
        "intercept": 0.0,
        "coefficients": dict.fromkeys(FEATURES, 0.0),
        "thresholds": dict.fromkeys(THRESHOLDS, 0.5),
        "answer_limit": 0.5,
    }
    return {"format": FORMAT, **blank, **fitted, "background": background}


def _render(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    main()
