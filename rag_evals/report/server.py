"""`rag-evals view`: shows run folders in a browser, and is accessible only from this machine.

Every URL contains a token that only the user who started the server knows. URLs identify runs by
names from a fixed list, so requests cannot specify a path.
"""

import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from rag_evals.analysis import compare
from rag_evals.errors import ConfigurationError, RagEvalsError
from rag_evals.report.html_page import comparison_html, rendered, report_html, write_private
from rag_evals.report.label_page import label_html, rows_to_label
from rag_evals.report.tables import View
from rag_evals.run import Run, load_run

LOOPBACK = "127.0.0.1"
_MANIFEST = "manifest.json"
_MOST_RUNS = 500
_MOST_BODY = 4_000_000
_MOST_NAME = 60


def find_runs(folder: Path) -> dict[str, Path]:
    """Return up to 500 run folders, keyed by name; `folder` may itself be a run."""
    if (folder / _MANIFEST).is_file():
        return {folder.resolve().name: folder}
    found = sorted(path.parent for path in folder.glob(f"*/{_MANIFEST}"))
    found += sorted(path.parent for path in folder.glob(f"*/*/{_MANIFEST}"))
    kept = [path for path in found if not path.name.startswith("before-")]
    if not kept:
        raise ConfigurationError(f"{str(folder)!r} contains no run; expected a run folder or runs/")
    return {path.relative_to(folder).as_posix(): path for path in kept[:_MOST_RUNS]}


def list_run(name: str, folder: Path) -> dict[str, Any]:
    run = Run.stored(folder, unchecked=True)
    counted = run.summary().graders.values()
    return {
        "name": name,
        "created": str(run.manifest.get("created") or ""),
        "judge": run.judge or "",
        "means": {each.grader: each.mean() for each in counted},
        "rows": sum(each.total for each in counted),
    }


class ViewServer(ThreadingHTTPServer):
    """Serves the runs in a folder; port 0 picks a free port."""

    daemon_threads = True
    whole_page = 5_000
    on_a_page = 100

    def __init__(self, folder: Path, *, language: str = "en", port: int = 0) -> None:
        self.runs = find_runs(folder)
        self.folder = folder
        self.view = View(language=language)
        self.token = secrets.token_urlsafe(16)
        self.saving = Lock()
        try:
            super().__init__((LOOPBACK, port), _PageHandler)
        except OSError as error:
            raise ConfigurationError(f"port {port} cannot be used: {error.strerror}") from error
        # A cached page remains valid until its run's log or labels change.
        self.page = lru_cache(maxsize=16)(self._page)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    def run_folder(self, name: str) -> Path:
        if name not in self.runs:
            self.runs = find_runs(self.folder)
        if name not in self.runs:
            raise ConfigurationError(f"no run named {name[:_MOST_NAME]!r} in the folder")
        return self.runs[name]

    def start_page(self) -> str:
        if len(self.runs) == 1:
            return self.run_page(next(iter(self.runs)), 0)
        listed = [list_run(name, path) for name, path in self.runs.items()]
        listed.sort(key=itemgetter("created"))
        graders = list(dict.fromkeys(name for one in listed for name in one["means"]))
        return rendered(
            ("view.html.jinja", None),
            self.view,
            title=self.view.say("view.title", folder=self.folder.resolve().name),
            runs=listed[::-1],
            graders=graders,
            trends={
                grader: _trend([one["means"].get(grader) for one in listed]) for grader in graders
            },
            quoted=quote,
            saves=False,
            posts=True,
        )

    def run_page(self, name: str, begin: int) -> str:
        folder = self.run_folder(name)
        files = (folder / "results.jsonl", *sorted(folder.glob("labels*.jsonl")))
        stamps = [(path.name, path.stat().st_mtime_ns) for path in files if path.exists()]
        return self.page(name, begin, tuple(stamps))

    def _page(self, name: str, begin: int, _: tuple[tuple[str, int], ...]) -> str:
        folder, say = self.run_folder(name), self.view.say
        links = [] if len(self.runs) == 1 else [(say("view.all_runs"), f"/{self.token}/")]
        links.append((say("view.label"), f"/{self.token}/label?run={quote(name, safe='')}"))
        run = Run.stored(folder, unchecked=True)
        if (total := len(run)) <= self.whole_page:
            return report_html(run, view=self.view, links=links)
        here = f"/{self.token}/run?run={quote(name, safe='')}&from="
        end = min(begin + self.on_a_page, total)
        if begin:
            links.append((say("view.worse"), f"{here}{max(0, begin - self.on_a_page)}"))
        if end < total:
            links.append((say("view.better"), f"{here}{end}"))
        shown = run.lowest_records(self.on_a_page, begin)
        return report_html(
            run,
            view=self.view,
            only=[record["sample_id"] for record in shown],
            links=links,
            note=say("view.part", begin=begin + 1, end=end, total=total),
        )

    def comparison_page(self, baseline: str, candidate: str) -> str:
        first, second = self.run_folder(baseline), self.run_folder(candidate)
        links = [
            (name, f"/{self.token}/run?run={quote(name, safe='')}")
            for name in (baseline, candidate)
        ]
        compared = compare(first, second)
        return comparison_html(compared, first, second, view=self.view, links=links)

    def label_page(self, name: str, decisions: int) -> str:
        stored = load_run(self.run_folder(name))
        drawn = rows_to_label(stored, decisions)
        where = f"/{self.token}/labels?run={quote(name, safe='')}"
        return label_html(stored, drawn, self.view, save=where)

    def labels(self, name: str, annotator: str) -> str:
        path = self._labels_file(name, annotator)
        return path.read_text(encoding="utf-8") if path.exists() else ""

    # `Any`: a request may send anything.
    def save(self, name: str, posted: Any) -> None:
        """Save one person's labels, keeping the last decision on each finding."""
        posted = posted if isinstance(posted, dict) else {}
        annotator, entries = str(posted.get("annotator") or "").strip(), posted.get("entries")
        if not annotator or not isinstance(entries, list):
            raise ConfigurationError("expected a name and a list of labels")
        with self.saving:
            path, kept = self._labels_file(name, annotator), {}
            broken = []
            for line in self.labels(name, annotator).splitlines():
                try:
                    one = json.loads(line)
                    kept[_label_key(one)] = one
                except (ValueError, TypeError, KeyError):
                    broken.append(line)
            for entry in entries:
                key = _label_key(entry)
                kept[key] = {**entry, "annotator": annotator}
                if entry.get("answer") is None and not entry.get("note"):
                    del kept[key]  # label withdrawn
            lines = [*(json.dumps(one, ensure_ascii=False) for one in kept.values()), *broken]
            write_private(path, "".join(f"{line}\n" for line in lines))

    def _labels_file(self, name: str, annotator: str) -> Path:
        if not 0 < len(annotator) <= _MOST_NAME:
            raise ConfigurationError(f"a name must have 1 to {_MOST_NAME} characters")
        # All characters except letters and digits are encoded, so a name cannot act as a path.
        coded = quote(annotator, safe="").replace(".", "%2E").replace("%", "_")
        return self.run_folder(name) / f"labels-{coded}.jsonl"


def _label_key(entry: Any) -> tuple[str, str, int, str]:
    try:
        place = int(entry["statement"])
        return str(entry["sample_id"]), str(entry["grader"]), place, str(entry["text"])
    except (TypeError, KeyError, ValueError) as error:
        raise ConfigurationError("a label lacks sample_id, grader, statement or text") from error


def _trend(means: Sequence[float | None]) -> str:
    """Return means as SVG points of a line in a 120 by 24 box."""
    there = [(place, mean) for place, mean in enumerate(means) if mean is not None]
    step = 112 / max(len(means) - 1, 1)
    return " ".join(f"{4 + place * step:.1f},{22 - mean * 20:.1f}" for place, mean in there)


class _PageHandler(BaseHTTPRequestHandler):
    server: ViewServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, *_: Any) -> None:
        """Log nothing, because URLs contain the token."""

    def _answer(self, work: Callable[[str, Mapping[str, str]], tuple[str, str]]) -> None:
        parts = urlsplit(self.path)
        token, _, place = parts.path.lstrip("/").partition("/")
        hosts = {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}
        origin = urlsplit(
            self.headers.get("Origin") or f"http://{LOOPBACK}:{self.server.server_port}"
        )
        # Other sites may send requests to this server, with their own host or origin.
        is_ours = self.headers.get("Host") in hosts and origin.netloc in hosts
        if not is_ours or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._send(
                HTTPStatus.FORBIDDEN, "not allowed: open the address that rag-evals view prints"
            )
            return
        asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        try:
            kind, text = work(unquote(place), asked)
            self._send(HTTPStatus.OK, text, kind)
        except (RagEvalsError, ValueError, OSError) as error:
            self._send(HTTPStatus.BAD_REQUEST, str(error))
        except LookupError:
            self._send(HTTPStatus.NOT_FOUND, "there is no such page")

    def _get(self, place: str, asked: Mapping[str, str]) -> tuple[str, str]:
        server = self.server
        pages: dict[str, Callable[[], str]] = {
            "": server.start_page,
            "run": lambda: server.run_page(asked.get("run", ""), max(0, int(asked.get("from", 0)))),
            "compare": lambda: server.comparison_page(asked.get("a", ""), asked.get("b", "")),
            "label": lambda: server.label_page(
                asked.get("run", ""), max(1, int(asked.get("decisions", 50)))
            ),
        }
        if place == "labels":
            return "text/plain", server.labels(asked.get("run", ""), asked.get("annotator", ""))
        return "text/html", pages[place]()

    def _post(self, place: str, asked: Mapping[str, str]) -> tuple[str, str]:
        length = int(self.headers.get("Content-Length") or 0)
        if place != "labels" or not 0 < length <= _MOST_BODY:
            raise KeyError(place)
        self.server.save(asked.get("run", ""), json.loads(self.rfile.read(length)))
        return "text/plain", ""

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        # The remainder of a rejected request must not be read as the next request.
        self.close_connection = status is not HTTPStatus.OK
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
