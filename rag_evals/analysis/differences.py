"""How do two runs differ besides their scores? Judge, prompts, settings and data, in words."""

from collections.abc import Iterable, Iterator

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
    moved = moved_judge(first, second)
    told = [] if moved is None else [moved]
    # A run that only memory has knows its judge, graders and rows, and nothing else of these.
    if first.identity and second.identity:
        told += _settings(first, second)
    return [*told, *_graders(first, second), *_data(first, second)]


def moved_judge(first: Run, second: Run) -> str | None:
    """Say that another model answered behind the name of the same judge; None where none is known.

    Args:
        first: The earlier run.
        second: The later one; by a judge of another name nothing is said.
    """
    models = [run.identity.get("models") or {} for run in (first, second) if run.identity]
    if first.judge != second.judge or models[1:] != models[:-1]:
        return None
    old, new = _answering(first), _answering(second)
    if not old or not new:
        return None
    named, behind = f"the judge {second.judge!r}", f"{_listed(old)} then, {_listed(new)} now"
    if set(old) != set(new):
        return f"another model answers behind the name of {named}: {behind}"
    systems = [{one for each in said.values() for one in each} for said in (old, new)]
    if all(systems) and not systems[0] & systems[1]:
        was, now = (", ".join(sorted(each)) for each in systems)
        return f"{named} answers from another system: fingerprint {was} then, {now} now"
    return None


def _answering(run: Run) -> dict[str, set[str]]:
    """Return the models that replies said they are from, each with its systems' fingerprints."""
    found: dict[str, set[str]] = {}
    for record in run.records:
        for said in record.get("answered_by") or ():
            model, _, system = said.partition(" ")
            found.setdefault(model, set()).update([system] if system else [])
    return found


def _listed(models: Iterable[str]) -> str:
    return " and ".join(repr(model) for model in sorted(models))


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
        if old and new and old.get(grader) != new.get(grader):
            yield f"the prompt or the way of grading of {grader} differs"
        if old and new and models[0].get(grader) != models[1].get(grader):
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
