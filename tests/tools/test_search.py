"""Do words that users type lead to the right page? Asked of the site's own search, in a browser."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.report.browser import chromium

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SEARCHED: Mapping[str, tuple[str, ...]] = {
    "batch/": ("batch api", "half price"),
    "caching/": ("cache", "semantic cache"),
    "customising-prompts/": ("custom prompt", "jinja"),
    "data-and-columns/": ("csv", "column names", "parquet", "russian", "languages"),
    "embedded-judge/": ("offline", "model card"),
    "engines/": ("ray", "spark"),
    "graders/citations/": ("citations",),
    "graders/faithfulness/": ("faithfulness", "groundedness", "hallucination"),
    "graders/precision/": ("context precision",),
    "graders/recall/": ("context recall", "ground truth"),
    "graders/relevance/": ("answer relevancy", "answer relevance"),
    "guides/ci-gate/": ("threshold", "github actions", "ci", "gitlab"),
    "guides/compare-prompts/": ("a/b test", "compare two models"),
    "guides/excel/": ("excel",),
    "guides/frameworks/": ("langchain", "llamaindex", "haystack"),
    "guides/from-deepeval/": ("deepeval",),
    "guides/from-ragas/": ("ragas", "migration"),
    "guides/guardrail/": ("guardrail",),
    "guides/million-rows/": ("million rows",),
    "guides/pytest/": ("pytest",),
    "guides/traces-and-trackers/": ("langfuse", "opentelemetry", "mlflow"),
    "how-many/": ("sample size",),
    "judge-quality/": ("label", "human labels", "kappa", "calibration"),
    "notebook/": ("pandas", "jupyter"),
    "own-graders/": ("custom metric", "pydantic"),
    "providers/": ("azure", "vllm", "ollama", "bedrock", "anthropic", "gemini"),
    "providers/local/": ("local model",),
    "reading-results/": ("json output", "html report", "export"),
    "running/": ("cost", "budget", "retry", "rate limit", "resume", "timeout", "temperature"),
    "security/": ("prompt injection", "telemetry"),
    "sessions/": ("async", "streaming"),
    "statistics/": ("confidence interval",),
    "troubleshooting/": ("ssl", "proxy", "error"),
    "verifiers/": ("hhem", "nli", "cascade"),
}
"""What users type, by the page that answers it."""

# The messages are those of the theme's own worker: 0 sets it up, 2 asks, 3 answers.
_ASK = """
const [worker, queries, done] = arguments, found = [];
fetch('/search/search_index.json').then(reply => reply.json()).then(index => {
  const search = new Worker(worker);
  const next = () => found.length < queries.length
    ? search.postMessage({type: 2, data: queries[found.length]}) : done(found);
  search.onmessage = ({data: {type, data}}) => {
    if (type === 3) found.push(data.items.map(group => group[0].location.split('#')[0]));
    next();
  };
  search.postMessage({type: 0, data: {...index, options: {suggest: false}}});
});
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print no line a request."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Build the site and serve it on loopback."""
    folder = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env={"NO_MKDOCS_2_WARNING": "1"})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", folder
        server.shutdown()


def test_words_lead_to_their_page(site: tuple[str, Path], tmp_path: Path) -> None:
    """The page is the first hit for nine words in ten, and among the first three for all."""
    address, folder = site
    words = [(word, page) for page, several in SEARCHED.items() for word in several]
    (worker,) = folder.glob("assets/javascripts/workers/search.*.js")
    with chromium(tmp_path) as browser:
        browser.driver.set_script_timeout(60)
        browser.driver.get(f"{address}search/search_index.json")
        found = browser.driver.execute_async_script(
            _ASK, f"/{worker.relative_to(folder)}", [word for word, _ in words]
        )
    ranks = {
        word: hits.index(page) if page in hits else None
        for (word, page), hits in zip(words, found, strict=True)
    }

    assert len(words) >= 60
    assert [word for word, rank in ranks.items() if rank not in (0, 1, 2)] == []
    assert sum(rank == 0 for rank in ranks.values()) >= 0.9 * len(words)
