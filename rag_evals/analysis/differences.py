"""How do two runs differ besides their scores? Judge, prompts, settings and data, in words."""

from collections.abc import Iterator

from rag_evals.run import Run

_SETTINGS = {
    "judge": "the judge",
    "address": "the judge's address",
    "columns": "the columns",
    "limit": "the limit",
    "settings": "the judge's settings",
}


def named_differences(first: Run, second: Run) -> list[str]:
    """Say each difference in one sentence; an empty list for runs that differ in nothing known."""
    return [*_settings(first, second), *_graders(first, second), *_data(first, second)]


def _settings(first: Run, second: Run) -> Iterator[str]:
    for key, label in _SETTINGS.items():
        old, new = first.identity.get(key), second.identity.get(key)
        if old != new:
            yield f"{label} differs: {old!r} and {new!r}"


def _graders(first: Run, second: Run) -> Iterator[str]:
    old, new = (run.identity.get("graders", {}) for run in (first, second))
    models = [run.identity.get("models", {}) for run in (first, second)]
    for grader in first.graders:
        if grader not in second.graders:
            yield f"{grader} is in the first run only"
            continue
        if old.get(grader) != new.get(grader):
            yield f"the prompt or the way of grading of {grader} differs"
        if models[0].get(grader) != models[1].get(grader):
            yield (
                f"the model of {grader} differs: "
                f"{models[0].get(grader)!r} and {models[1].get(grader)!r}"
            )
    for grader in second.graders:
        if grader not in first.graders:
            yield f"{grader} is in the second run only"
    lonely = [
        [grader for grader in run.graders if grader not in other.graders]
        for run, other in ((first, second), (second, first))
    ]
    if all(lonely):
        yield f"--pair {lonely[0][0]}={lonely[1][0]} compares graders of different names"


def _data(first: Run, second: Run) -> Iterator[str]:
    common = [sample_id for sample_id in first.samples if sample_id in second.samples]
    if not common:
        if first.identity.get("data") != second.identity.get("data"):
            yield "the data differs"
        return
    changed = {
        name: sum(
            getattr(first.samples[row], name) != getattr(second.samples[row], name)
            for row in common
        )
        for name in ("question", "answer", "chunks")
    }
    told = [f"another {name} in {count}" for name, count in changed.items() if count]
    if told:
        yield f"the data differs: of {len(common)} rows with the same id, {', '.join(told)}"
