"""Who decided the statements of a run, and how far can that be relied on? In lines for a reader."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evals.core import Phrases

Stages = Mapping[str, Sequence[Mapping[str, Any]]]
"""For each grader its verifiers in order, as `Plan.stages` describes them."""


def stage_lines(stages: Stages, say: Phrases) -> list[str]:
    """Say of each verifier by which labels it was tuned, and of each cascade what it promises.

    Args:
        stages: Of a run.
        say: In which language.

    Returns:
        Nothing for a verifier that decides alone and was not tuned.
    """
    lines = [_line(stage, say) for of_grader in stages.values() for stage in of_grader]
    return list(dict.fromkeys(line for line in lines if line))


def stage_numbers(stages: Stages) -> dict[str, list[dict[str, Any]]]:
    """Return for each grader what a program reads of its verifiers, in the order they are asked.

    Of each its name, between which supports the next one is asked (`unsure`), and what labels say
    of it (`tuned`, with the expected and the promised error), as far as there is any.
    """
    told = ("name", "unsure", "tuned")
    return {
        grader: [{key: stage[key] for key in told if key in stage} for stage in of_grader]
        for grader, of_grader in stages.items()
    }


def _line(stage: Mapping[str, Any], say: Phrases) -> str | None:
    tuned = stage["tuned"]
    if tuned is None:
        return _untuned(stage["name"], *stage["unsure"], say=say) if "unsure" in stage else None
    names = ", ".join(tuned["labels_from"])
    by = say(
        "stages.calibrated" if tuned["level"] == "statement" else "stages.calibrated_by_rows",
        name=stage["name"],
        count=tuned["labels"],
        of=say("stages.of", names=names) if names else "",
        map=tuned["map"],
    )
    promise = tuned["promise"]
    if promise is None:
        return say("stages.threshold", by=by, threshold=f"{tuned['threshold']:.2f}")
    limits = {
        "supported_from": promise["supported_from"],
        "not_supported_up_to": promise["unsupported_up_to"],
    }
    sides = [
        say(f"stages.{name}", limit=f"{limit:.2f}")
        for name, limit in limits.items()
        if limit is not None
    ]
    return say(
        "stages.promise",
        by=by,
        sides=", ".join(sides),
        expected=f"{promise['expected_error']:.1%}",
        promised=f"{promise['max_error']:.1%}",
        confidence=f"{promise['confidence']:.0%}",
    )


def _untuned(name: str, low: float, high: float, *, say: Phrases) -> str:
    sides = [say("stages.above", limit=f"{high:g}")] if high < 1 else []
    sides += [say("stages.below", limit=f"{low:g}")] if low > 0 else []
    options = {"max_error": "--max-error", "labels": "--labels"}
    if not sides:
        return say("stages.never", name=name, **options)
    return say("stages.alone", name=name, sides=say("stages.either").join(sides), **options)
