"""What is written into the site after it was built? `llms.txt`, for programs that read docs."""

from pathlib import Path
from typing import Any

from tools.pages.llms import llms_text


# Any: the settings of mkdocs, which are a dict of everything.
def on_post_build(config: Any) -> None:
    """Write `llms.txt` at the root of the site; mkdocs calls this by its name."""
    settings = Path(config["config_file_path"]).read_text(encoding="utf-8")
    text = llms_text(settings, Path(config["docs_dir"]))
    Path(config["site_dir"], "llms.txt").write_text(text, encoding="utf-8")
