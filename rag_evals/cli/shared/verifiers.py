"""How do `--verifier`, `--device` and `--batch-size` change the graders?"""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evals.core import Verifier
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader
from rag_evals.score_faithfulness_two_step import HHEMGrader, TwoStepGrader
from rag_evals.verify import names_classifier, verifier_from_string, with_options


def with_verifier_options(
    graders: Sequence[Grader[Any]],
    judge: str,
    *,
    verifier: str | None,
    device: str | None,
    batch_size: int | None,
) -> tuple[list[Grader[Any]], str]:
    """Give each option to whom it is for.

    Args:
        graders: What was chosen.
        judge: What `--judge` says.
        verifier: Who decides for `faithfulness_two_step`; None leaves it to the judge.
        device: Where classifiers run; None leaves their default.
        batch_size: Pairs at a time for classifiers; None leaves their default.

    Returns:
        Graders and judge, with the options in them.

    Raises:
        ConfigurationError: An option is given, and nothing takes it.
    """
    options = {name: v for name, v in (("device", device), ("batch_size", batch_size)) if v}
    used = names_classifier(judge)
    if used:
        judge = with_options(judge, options)
    chosen = list(graders)
    for place, grader in enumerate(chosen):
        if isinstance(grader, TwoStepGrader) and verifier is not None:
            used = used or names_classifier(verifier)
            chosen[place] = grader.with_parts(verifier=_verifier(verifier, options))
        elif isinstance(grader, HHEMGrader) and options:
            used = True
            chosen[place] = grader.with_options(device=device, batch_size=batch_size)
    _check_taken(chosen, verifier, options, used=used)
    return chosen, judge


def _verifier(spec: str, options: Mapping[str, Any]) -> Verifier:
    return verifier_from_string(with_options(spec, options) if names_classifier(spec) else spec)


def _check_taken(
    graders: Sequence[Grader[Any]],
    verifier: str | None,
    options: Mapping[str, Any],
    *,
    used: bool,
) -> None:
    if verifier is not None and not any(isinstance(one, TwoStepGrader) for one in graders):
        raise ConfigurationError(
            f"--verifier {verifier!r} is for --grader faithfulness_two_step; no other takes one"
        )
    if options and not used:
        raise ConfigurationError(
            "--device and --batch-size are for classifiers, and none is used; name one, such as "
            "--judge hf:MODEL or --grader faithfulness_hhem"
        )
