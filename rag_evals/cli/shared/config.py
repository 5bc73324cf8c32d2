"""A command's config file: `rag-evals.toml`, or `[tool.rag-evals]` in `pyproject.toml`.

The file is searched for in the working directory and then in its parents. Its keys are the option
names of `grade`; the command line overrides them.
"""

import os
import tomllib
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from rag_evals.cli.shared.gates import Batches, Draws, Gates
from rag_evals.cli.shared.graders import Chosen, TunedBy
from rag_evals.cli.shared.options import OF_A_RUN, SHOWS_ALL, RowFile
from rag_evals.cli.shared.runs import Outputs
from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.grading import default_judge
from rag_evals.report.screen import echo
from rag_evals.run import OPTIONS
from rag_evals.run.plan.options import ASKING_OPTIONS
from rag_evals.verify import EMBEDDED

CONFIG_FILE = "rag-evals.toml"
_PROJECT_FILE = "pyproject.toml"
_TABLE = "[tool.rag-evals]"

_IN_PYTHON: Mapping[str, str] = {"graders": "grader", "columns": "column"}
"""Python names of repeatable options, mapped to their names on the command line."""

_OF_ENDPOINTS = {"settings", *ASKING_OPTIONS}
_OF_GRADE = frozenset({"data", "out", "by", "cluster"})
"""Keys that apply only to `grade`."""

_PATHS = frozenset({"data", "junit", "out", "prompt", "prompts", "tuned"})
_NOT_IN_FILES = frozenset({"dry_run", "restart", "json_output", "help_all"})

_GROUPS = (Chosen, RowFile, Gates, Draws, Batches, Outputs, TunedBy)
_OF_GROUPS = {option.name for group in _GROUPS for option in fields(group)}
_KEYS = frozenset({"data", "out", *OF_A_RUN, *_OF_GROUPS}) - _NOT_IN_FILES

RARE = frozenset(
    "at cache cluster count delimiter encoding error keep_replies max_failures max_wait "
    "prompts reasks repeat require_tuned row_under rpm settings sheet timeout tpm tuned "
    "verifier".split()
)
"""Options shown only by `--help-all`."""


@dataclass(frozen=True, slots=True)
class Config:
    path: Path
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The relative path; for `pyproject.toml`, also the name of the table."""
        path = os.path.relpath(self.path)
        return f"{path} {_TABLE}" if self.path.name == _PROJECT_FILE else path


def find_config(folder: Path) -> Config | None:
    """Return the config file of a folder or of the nearest parent that has one."""
    for place in (folder, *folder.parents):
        if (own := place / CONFIG_FILE).is_file():
            return Config(own, _read_toml(own))
        if (project := place / _PROJECT_FILE).is_file():
            values = _read_toml(project).get("tool", {}).get("rag-evals")
            if values is not None:
                return Config(project, values)
    return None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error


class GradingCommand(TyperCommand):
    """A command that reads the config file, and omits rarely used options from its help."""

    # Any: the base class uses types that typer does not export.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        config = None if ctx.resilient_parsing else find_config(Path.cwd())
        if config is not None:
            ctx.default_map = self._defaults(config)
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            name = getattr(error.param, "name", "")
            source = getattr(ctx.get_parameter_source(name), "name", "")
            if config is None or source != "DEFAULT_MAP":
                raise
            raise ConfigurationError(f"{config.name}: {name}: {error.message}") from error
        if config is not None:
            self._leave_out_idle(ctx)
            if not ctx.params.get("quiet"):
                echo(f"config: {config.name}", err=True)
        return rest

    def _leave_out_idle(self, ctx: Any) -> None:
        """Ignore the file's endpoint options if the judge does not use an endpoint."""
        judge = ctx.params.get("judge") or default_judge()
        others = ctx.params.get("verifier") or judge
        judges = [one.strip() for one in f"{judge}>{others}".split(">")]
        if not all(one.startswith((EMBEDDED, "hf:")) for one in judges):
            return
        for one in self.params:
            of_file = ctx.get_parameter_source(one.name).name == "DEFAULT_MAP"
            if one.name in _OF_ENDPOINTS and of_file:
                option = OPTIONS.get(one.name)
                ctx.params[one.name] = None if option is None else option.default

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy(self)
        if not ctx.meta.get(SHOWS_ALL):
            shown.params = [one for one in self.params if one.name not in RARE]
        TyperCommand.format_help(shown, ctx, formatter)

    def _defaults(self, config: Config) -> dict[str, Any]:
        params = {one.name: one for one in self.params}
        found: dict[str, Any] = {}
        for key, value in config.values.items():
            name = _IN_PYTHON.get(key, key).replace("-", "_")
            if name not in _KEYS:
                python = {option: alias for alias, option in _IN_PYTHON.items()}
                known = [python.get(one, one) for one in _KEYS]
                raise ConfigurationError(f"{config.name}: {UnknownNameError.of('key', key, known)}")
            if name in params and (self.name == "grade" or name not in _OF_GRADE):
                found[name] = _value(config, params[name], value)
        return found


def _value(config: Config, option: Any, value: Any) -> Any:
    """Return a config value as the command line would pass it; typer converts its type."""
    if isinstance(value, Mapping):
        value = [f"{name}={one}" for name, one in value.items()]
    values = value if isinstance(value, list) else [value]
    if option.name in _PATHS:
        # Paths in the file are relative to its folder.
        folder = config.path.parent
        values = [
            one if one == "-" or "://" in f"{one}" else os.path.relpath(folder / f"{one}")
            for one in values
        ]
    return values if getattr(option, "multiple", False) else values[0]
