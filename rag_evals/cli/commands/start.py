"""`rag-evals demo` and `init`: grade the shipped rows, or set up a folder for your rows."""

from collections.abc import Mapping
from importlib import resources
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.config import CONFIG_FILE
from rag_evals.cli.shared.options import OutFolder, Output, ReaderLanguage, flat
from rag_evals.errors import ConfigurationError
from rag_evals.prompt.template import shipped_source
from rag_evals.report.terminal import show_json, show_run
from rag_evals.run import execute, make_plan

_ROWS = 6
_PROMPT = "score_faithfulness"


@flat
def demo(
    out: OutFolder = None,
    language: ReaderLanguage = "en",
    *,
    output: Output,
) -> None:
    """Grade 24 shipped rows with the embedded judge: no key, no network, no model file.

    [bold]Example[/bold]

      rag-evals demo
    """
    with resources.as_file(resources.files("rag_evals") / "_data" / "demo.jsonl") as data:
        plan = make_plan(data, ["faithfulness"], "embedded")
        run = execute(plan.into(out or plan.default_folder(), progress=not output.quiet))
    if output.json_output:
        show_json(run)
    else:
        show_run(run, rows=len(run), language=language)
    output.offer_next("report", run.folder, language=language)


@flat
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder to set up. Default: the current one.")
    ] = Path(),
    *,
    output: Output,
) -> None:
    """Write sample rows, a prompt file, rag-evals.toml and a GitHub workflow to start from.

    [bold]Example[/bold]

      rag-evals init my-folder
    """
    files = {folder / name: text for name, text in _starting_files().items()}
    for path in files:
        if path.exists():
            raise ConfigurationError(
                f"{str(path)!r} exists, so nothing was written; remove it, or use another folder"
            )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    names = list(map(str, files))
    output.result({"files": names}, "\n".join(names))
    output.offer_next("grade")


def _starting_files() -> Mapping[str, str]:
    folder = resources.files("rag_evals") / "_data"
    with (folder / "demo.jsonl").open(encoding="utf-8") as lines:
        rows = "".join(islice(lines, _ROWS))
    workflow = (folder / "init" / "workflow.yml").read_text(encoding="utf-8")
    return {
        "answers.jsonl": rows,
        f"prompts/{_PROMPT}.jinja": shipped_source(_PROMPT),
        CONFIG_FILE: (folder / "init" / CONFIG_FILE).read_text(encoding="utf-8"),
        ".github/workflows/rag-evals.yml": workflow.replace("VERSION", version("rag-evals")),
    }
