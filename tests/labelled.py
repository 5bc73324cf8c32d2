"""Labelled rows for tests and pages: right, wrong, reworded, unsupported and denied answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BUILDINGS = [
    ("The Eiffel Tower", "Paris", 1889), ("The Flatiron Building", "New York", 1902),
    ("The Atomium", "Brussels", 1958), ("The Space Needle", "Seattle", 1961),
    ("The Gherkin", "London", 2003), ("The Sagrada Familia", "Barcelona", 2026),
    ("The Ostankino Tower", "Moscow", 1967), ("The Burj Khalifa", "Dubai", 2010),
    ("The Opera House", "Sydney", 1973), ("The Chrysler Building", "Manhattan", 1930),
    ("The Fernsehturm", "Berlin", 1969), ("The Petronas Towers", "Kuala Lumpur", 1998),
]  # fmt: skip


def labelled_rows(count: int = 60) -> Iterator[dict[str, Any]]:
    """Yield rows with `label`, `statements` and a `topic`, as a labelled data set has them."""
    for number in range(count):
        name, city, year = _BUILDINGS[number % len(_BUILDINGS)]
        stands, completed = f"{name} stands in {city}.", f"It was completed in {year}."
        topic, statements = [
            ("right", [(stands, 1), (completed, 1)]),
            ("wrong year", [(stands, 1), (f"It was completed in {year - 7}.", 0)]),
            ("reworded", [(stands, 1), (f"Builders finished their work by {year}.", 1)]),
            ("unsupported", [(stands, 1), ("Its architect won a famous prize.", 0)]),
            ("denied", [(f"{name} does not stand in {city}.", 0), (completed, 1)]),
        ][(number * 7 + number // 12) % 5]
        yield {
            "id": f"row-{number}",
            "question": f"Where is {name}, and when was it finished?",
            "answer": " ".join(text for text, _ in statements),
            "context": [stands, completed],
            "topic": topic,
            "label": int(all(label for _, label in statements)),
            "statements": [{"text": text, "label": label} for text, label in statements],
        }


def write_labelled_files(folder: Path) -> None:
    """Write `labelled.jsonl`, `labels.jsonl` (of 30 rows), and what two people said of 20 rows."""
    rows = list(labelled_rows())
    (folder / "labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [
        {"sample_id": row["id"], "text": statement["text"], "label": bool(statement["label"])}
        for row in rows[::2]
        for statement in row["statements"]
    ]
    (folder / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, changed in (("anna", 3), ("boris", 11)):
        said = [
            {"id": row["id"], "label": row["label"] if n != changed else 1 - row["label"]}
            for n, row in enumerate(rows[:20])
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
