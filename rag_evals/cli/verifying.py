"""How do `--verifier`, `--device` and `--batch-size` change what grades?"""

from collections.abc import Sequence
from typing import Any

from rag_evals.errors import ConfigurationError
from rag_evals.grader import Grader
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness, TwoStepFaithfulness
from rag_evals.verify import names_classifier, verifier_from_string, with_options


def with_verifying(
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
    takes_options = names_classifier(judge)
    if takes_options:
        judge = with_options(judge, options)
    chosen = list(graders)
    for place, grader in enumerate(chosen):
        if isinstance(grader, TwoStepFaithfulness) and verifier is not None:
            if names_classifier(verifier):
                takes_options = True
                verifier = with_options(verifier, options)
            chosen[place] = TwoStepFaithfulness(verifier=verifier_from_string(verifier))
        elif isinstance(grader, HHEMFaithfulness) and options:
            takes_options = True
            # Two options of two types, checked by the class itself.
            chosen[place] = HHEMFaithfulness(**options)  # type: ignore[arg-type]
    if verifier is not None and not any(isinstance(one, TwoStepFaithfulness) for one in chosen):
        raise ConfigurationError(
            f"--verifier {verifier!r} is for --grader faithfulness_two_step; no other takes one"
        )
    if options and not takes_options:
        raise ConfigurationError(
            "--device and --batch-size are for classifiers, and none is used; name one, such as "
            "--judge hf:MODEL or --grader faithfulness_hhem"
        )
    return chosen, judge
