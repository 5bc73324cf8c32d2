"""Options that select the graders, the judge and its tuned files."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

from rag_evals.base import JudgedGrader
from rag_evals.catalog import GRADERS, PROMPTED, grader_from_file, grader_named
from rag_evals.cli.shared.exits import DONE, GATE_MISSED
from rag_evals.cli.shared.gates import GateResult
from rag_evals.core import Phrases, fingerprint
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader, VerifiedFaithfulness, default_judge
from rag_evals.grading.grader import JUDGE_VARIABLE
from rag_evals.prompt import search_folders
from rag_evals.report.screen import echo
from rag_evals.run import Run
from rag_evals.run.plan.plan import Plan
from rag_evals.score_faithfulness_two_step import TwoStepFaithfulness
from rag_evals.text import one_line
from rag_evals.verify import verifier_from_string

_tuned_option = partial(typer.Option, rich_help_panel="Tuning with labels")

PromptFolders = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR", help="Folder with your prompts, searched first. Also $RAG_EVALS_PROMPTS."
    ),
]
LanguageCode = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Language of rows that do not specify one, such as ru."),
]


@dataclass(frozen=True)
class Chosen:
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|PROVIDER/MODEL|hf:MODEL|A>B",
            help="The judge. embedded@strict and embedded@0.8 set a threshold; "
            "decisions:PROVIDER/MODEL selects a decision model. "
            "Default: $RAG_EVALS_JUDGE, else embedded.",
        ),
    ] = None
    grader: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|MODULE:OBJECT",
            help="Grader, such as faithfulness (the default) or your own "
            "my_graders:strict; repeatable.",
        ),
    ] = None
    prompt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prompt file to use instead of the shipped one."),
    ] = None
    prompts: PromptFolders = None
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Language of rows that do not specify one, such as ru. If en or ru, it is also "
            "the language of the output, unless $RAG_EVALS_LANGUAGE is set.",
        ),
    ] = None
    verifier: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            help="Verifier for faithfulness_two_step. Default: the judge.",
        ),
    ] = None

    @property
    def is_default_judge(self) -> bool:
        return not (self.judge or self.verifier or os.environ.get(JUDGE_VARIABLE))

    def grader_and_judge(self) -> tuple[Grader[Any], str]:
        (grader, *others), judge = self.graders_and_judge()
        if others:
            raise ConfigurationError("this command accepts one grader; use --grader only once")
        return grader, judge

    def graders_and_judge(self) -> tuple[list[Grader[Any]], str]:
        found = _find_graders(self.grader or [], self.prompt, self.prompts or [], self.language)
        if self.verifier is not None:
            verifier, given = verifier_from_string(self.verifier), found
            found = [
                one.with_parts(verifier=verifier)
                if isinstance(one, VerifiedFaithfulness) and one.name == TwoStepFaithfulness.name
                else one
                for one in given
            ]
            if found == given:
                raise ConfigurationError(
                    f"--verifier {self.verifier!r} is for --grader faithfulness_two_step; no other "
                    "grader uses a verifier"
                )
        judge = self.judge or default_judge()
        for one in found:
            receipt = one.template.header.receipt if isinstance(one, JudgedGrader) else {}
            if receipt and receipt.get("judge") != judge:
                echo(
                    f"{self.prompt}: its gain was measured with {receipt.get('judge')}, not with "
                    f"{judge}; run `rag-evals judge teach` with this judge to measure its gain",
                    err=True,
                )
        return found, judge


def _find_graders(
    names: Sequence[str],
    prompt: Path | None,
    folders: Sequence[Path] = (),
    language: str | None = None,
) -> list[Grader[Any]]:
    places = search_folders(folders)
    if lists := [name for name in names if "," in name]:
        raise typer.BadParameter(f"{lists[0]!r} is not one grader; repeat --grader for each")
    # No shipped grader's name contains a colon.
    if prompt is None:
        graders = [
            _own_grader(name) if ":" in name else grader_named(name, places)
            for name in names or ["faithfulness"]
        ]
    elif len(names) > 1 or any(":" in name for name in names):
        raise typer.BadParameter(
            "a prompt file defines one grader; omit --grader, or specify one shipped grader"
        )
    elif names and names[0] in GRADERS and names[0] not in PROMPTED:
        raise typer.BadParameter(
            f"grader {names[0]!r} has more than one prompt; pass a folder with its prompts to "
            "--prompts, or omit --prompt"
        )
    else:
        fallback = names[0] if names else None
        graders = [grader_from_file(prompt, fallback=fallback, folders=places)]
    if language is None:
        return graders
    return [grader.with_language(language) for grader in graders]


def _own_grader(spec: str) -> Grader[Any]:
    """Import a grader from `package.module:object`; search the working directory first."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = resolve_name(spec)
    # A user's module can raise anything when imported, even SystemExit.
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"grader {spec!r} cannot be imported; expected package.module:object, as in "
            f"my_graders:Strict, in {here} or on Python's module search path: "
            f"{one_line(str(error))} ({type(error).__name__})"
        ) from error
    finally:
        # From now on, search the folder last: later imports still work, but it shadows no module.
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
    if not isinstance(found, Grader):
        raise ConfigurationError(
            f"grader {spec!r} is a {type(found).__name__}; expected a grader instance, such as "
            "ContextEvaluation(prompt=..., response_model=...)"
        )
    return found.with_source(_source_hash(spec.partition(":")[0], found))


def _source_hash(module: str, grader: Grader[Any]) -> str | None:
    names = {module, type(grader).__module__, grader.result_model.__module__}
    files = [
        Path(file)
        for name in sorted(names)
        if not name.startswith("rag_evals.")
        and (file := getattr(sys.modules.get(name), "__file__", None))
    ]
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
    return fingerprint(*texts) if texts else None


@dataclass(frozen=True)
class TunedBy:
    tuned: Annotated[
        list[Path] | None,
        _tuned_option(
            metavar="FILE",
            help="File from `rag-evals judge tune` for the judge or a cascade stage; repeatable.",
        ),
    ] = None
    require_tuned: Annotated[
        bool,
        _tuned_option(
            "--require-tuned",
            help="Reject untuned verifiers, and exit with 1 if the data do not resemble the "
            "labelled rows.",
        ),
    ] = False

    def check(self, plan: Plan) -> None:
        for grader in plan.graders if self.require_tuned else ():
            stages = grader.stages
            # A cascade's last stage may be a judge, whose support is 0 or 1 and cannot be tuned.
            loose = [one["name"] for one in stages if one["tuned"] is None and one["has_support"]]
            if loose or not stages:
                who = ", ".join(map(repr, loose)) or f"the judge of {grader.name!r}"
                raise ConfigurationError(
                    f"--require-tuned: {who} was not tuned with labels; run "
                    "`rag-evals judge tune`, and pass its file with --tuned"
                )
            blind = [one["name"] for one in stages if one["tuned"] and not one["tuned"]["spread"]]
            if blind:
                raise ConfigurationError(
                    f"--require-tuned: the tuned file of {', '.join(map(repr, blind))} does not "
                    "contain the support values of its labels, so the data cannot be compared with "
                    "them; run `rag-evals judge tune` again"
                )

    def result(self, run: Run, say: Phrases) -> GateResult:
        lines = run.summary().shift_lines(say, only_foreign=True) if self.require_tuned else []
        told = tuple(say("gate.missed", told=f"--require-tuned: {line}") for line in lines)
        return GateResult(told, GATE_MISSED if told else DONE)
