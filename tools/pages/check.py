"""Does the built site keep its promises? Words lead to pages, and no page asks another host.

python -m tools.pages.check [FOLDER]     exit with 1 and a line for each promise that is broken
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SEARCHED: Mapping[str, str] = {
    "hallucination": "",
    "groundedness": "",
    "RAG evaluation": "",
    "faithfulness": "graders/faithfulness/",
    "pandas": "notebook/",
    "polars": "data-and-columns/",
    "jupyter": "notebook/",
    "notebook": "notebook/",
    "excel": "guides/excel/",
    "csv": "data-and-columns/",
    "parquet": "data-and-columns/",
    "ragas": "guides/from-ragas/",
    "deepeval": "guides/from-deepeval/",
    "migration": "guides/from-ragas/",
    "azure": "providers/",
    "vllm": "providers/",
    "ollama": "providers/",
    "bedrock": "providers/",
    "cost": "running/",
    "resume": "running/",
    "retries": "running/",
    "timeout": "running/",
    "cache": "running/",
    "threshold": "running/",
    "million": "guides/million-rows/",
    "spark": "engines/",
    "ray": "engines/",
    "cascade": "verifiers/",
    "calibration": "judge-quality/",
    "prompt injection": "security/",
    "pytest": "guides/pytest/",
    "CI": "guides/ci-gate/",
    "github": "guides/ci-gate/",
    "gitlab": "guides/ci-gate/",
    "guardrail": "guides/guardrail/",
    "otel": "guides/traces-and-trackers/",
    "opentelemetry": "guides/traces-and-trackers/",
    "langfuse": "guides/traces-and-trackers/",
    "mlflow": "guides/traces-and-trackers/",
    "batch": "batch/",
    "russian": "reading-results/",
    "language": "data-and-columns/",
    "pydantic": "own-graders/",
    "A/B test": "guides/compare-prompts/",
}
"""What a newcomer types into the search box, and a page that must be among the hits."""

_FOREIGN = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=[\"']?(https?:[^\"'\s>]+)")
_STYLES = re.compile(r"<link\b[^>]*rel=[\"']?stylesheet[^>]*href=[\"']?(https?:[^\"'\s>]+)")
# For such a block, the theme's script fetches another from a foreign host.
_FETCHING = 'class="mermaid"'


def broken_promises(site: Path) -> Iterator[str]:
    """Yield a line for each word that leads nowhere, and each request to another host."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    for words, page in SEARCHED.items():
        if not any(_has(entry, words) for entry in index["docs"] if _page(entry) == page):
            yield f"a search for {words!r} does not find {page or 'the home page'}"
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        foreign = [*_FOREIGN.findall(text), *_STYLES.findall(text)]
        foreign += ["Mermaid's script"] * (_FETCHING in text)
        yield from (f"{path.relative_to(site)} asks another host for {one}" for one in foreign)


def _page(entry: Mapping[str, Any]) -> str:
    return str(entry["location"]).partition("#")[0]


def _has(entry: Mapping[str, Any], words: str) -> bool:
    """Say whether every word stands in a section, as a whole word or at the beginning of one."""
    text = re.sub(r"<.*?>", " ", f"{entry['title']} {entry['text']}")
    return all(re.search(rf"(?i)(?<!\w){re.escape(word)}", text) for word in words.split())


def main(arguments: list[str]) -> int:
    """Check; return the exit code."""
    broken = list(broken_promises(Path(*arguments or ["site"])))
    for line in broken:
        print(line, file=sys.stderr)
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
