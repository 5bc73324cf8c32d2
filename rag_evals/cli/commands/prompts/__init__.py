"""`rag-evals prompts`: list, show, copy, check and compare prompts."""

import typer

from rag_evals.cli.commands.prompts.check import check
from rag_evals.cli.commands.prompts.diff import diff
from rag_evals.cli.commands.prompts.files import copy, list_prompts, show

prompts = typer.Typer(
    help="List, show, copy, check and compare prompts.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
prompts.command("list")(list_prompts)
prompts.command()(show)
prompts.command()(copy)
prompts.command()(check)
prompts.command()(diff)
