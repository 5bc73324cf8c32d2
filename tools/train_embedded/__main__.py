"""Train the embedded judge: read, count, fit, measure, write.

python -m tools.train_embedded DATA_DIR
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from rag_evals.embedded.decide import decide
from rag_evals.embedded.model import FEATURES, FORMAT, Model, load, parse
from rag_evals.embedded.verifier import SHIPPED_WEIGHTS, THRESHOLDS
from tools.train_embedded import figures
from tools.train_embedded.background import count_background
from tools.train_embedded.card import write_card
from tools.train_embedded.edits import edit_supported
from tools.train_embedded.fit import calibrate, fit_sources, leave_one_out, shipped
from tools.train_embedded.measured import Measured
from tools.train_embedded.rows import EVALUATION_ONLY, MARKED_ANSWERS, Labelled, read_statements
from tools.train_embedded.tables import see


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_embedded", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of labelled .jsonl or .jsonl.gz files")
    parser.add_argument("--out", type=Path, default=SHIPPED_WEIGHTS, help="weights file to write")
    parser.add_argument("--card", type=Path, default=None, help="also write the model card here")
    parser.add_argument(
        "--keep", action="store_true", help="write no weights: the card is of those in --out"
    )
    parser.add_argument("--seed", type=int, default=0, help="draws the edits of the training pairs")
    options = parser.parse_args(arguments)
    kept = load(options.out) if options.keep else None
    weights, measured = train(read_statements(options.data), seed=options.seed, kept=kept)
    if kept is None:
        options.out.write_text(weights, encoding="utf-8")
    print(measured.table())
    digest = hashlib.sha256(options.out.read_bytes()).hexdigest()
    print(f"\n{options.out}: sha256 {digest}")
    if options.card is not None:
        write_card(options.card, measured, options.out)


def train(
    statements: dict[str, list[Labelled]], *, seed: int, kept: Model | None = None
) -> tuple[str, Measured]:
    """Fit the judge on labelled statements.

    Args:
        statements: By source; see `rows.read_statements`.
        seed: Same seed and data, same bytes.
        kept: The judge that whole answers are measured by, with its thresholds; None for the one
            that is fitted.

    Returns:
        The text of the weights file, and what was measured leaving one source out.
    """
    allowed = {name: rows for name, rows in statements.items() if name not in EVALUATION_ONLY}
    background = count_background(item for rows in allowed.values() for item in rows)
    blank = parse(_document(background, {}, seed), "")
    seen = {name: see(rows, blank) for name, rows in statements.items()}
    tables = {name: seen[name] for name in allowed}
    edits = {
        name: see(edited, blank)
        for name, rows in allowed.items()
        if (edited := edit_supported(rows, seed=seed))
    }
    others = {name: table for name, table in seen.items() if name not in allowed}
    fits = leave_one_out(tables, edits, others)
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
        {name: [item.row_id for item in rows] for name, rows in statements.items()},
        {name: [item.row_label for item in rows] for name, rows in statements.items()},
        (sum(hits for hits, _ in gold), sum(total for _, total in gold)),
    )
    fitted = shipped(fit_sources(tables, edits), slope, offset)
    fitted["thresholds"] = measured.choose_thresholds(list(tables))
    document = _document(background, fitted, seed)
    if kept is not None:
        measured.thresholds = dict(kept.thresholds)
    _measure_as_shipped(measured, statements, kept or parse(document, ""))
    return _render(document), measured


def _measure_as_shipped(
    measured: Measured, statements: dict[str, list[Labelled]], model: Model
) -> None:
    """Replace the scores of whole answers, which no fit saw, by those of the judge itself."""
    for name in MARKED_ANSWERS & statements.keys():
        measured.scores[name] = np.array(
            [decide(model, 0.5, [item.text], item.chunks)[0].support for item in statements[name]]
        )


def _document(background: dict[str, Any], fitted: dict[str, Any], seed: int) -> dict[str, Any]:
    blank = {
        "intercept": 0.0,
        "coefficients": dict.fromkeys(FEATURES, 0.0),
        "thresholds": dict.fromkeys(THRESHOLDS, 0.5),
    }
    return {"format": FORMAT, "seed": seed, **blank, **fitted, "background": background}


def _render(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    main()
