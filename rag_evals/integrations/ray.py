"""Grades millions of rows on an existing Ray cluster, with one session per actor.

Requires the extra `ray`. Import it as `from rag_evals.integrations.ray import grade_dataset`.
"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from rag_evals.core import require_whole
from rag_evals.dataset import ColumnMap, RowData, required_module
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.grading import Grader
from rag_evals.judge import Client
from rag_evals.run import Graders, GradingSession, RunOptions, TableGrader, open_session
from rag_evals.run.record.store import identity_differences
from rag_evals.verify import read_tunings

if TYPE_CHECKING:
    import ray.data

# A fraction of a CPU in Ray's accounting, because an actor mostly waits. Actors that reserve whole
# CPUs could fill a small cluster: the tasks that read the data would never start, and Ray would
# wait forever.
_CPUS_OF_ACTOR = 0.25
_CPUS_FOR_TASKS = 2
DEFAULT_CONCURRENCY = 32


def grade_dataset(
    dataset: "ray.data.Dataset",
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    actors: int = 2,
    id_column: str | None = None,
    checkpoint: str | Path | None = None,
    block_rows: int = 200,
    **options: Unpack[RunOptions],
) -> "ray.data.Dataset":
    """Grade a Ray data set on its cluster.

    Grading starts when the result is written or read. An error in a row or a reply is stored in the
    row's outcome. If an actor dies, it is replaced, and its blocks are graded again. Rows are
    returned in no particular order; sort by id if order matters.

    Args:
        dataset: Rows, as in `evaluate`.
        graders: As in `evaluate`.
        client: A judge string, as in `evaluate`; client objects cannot be sent to the actors.
        actors: Number of grading processes, each with one session.
        id_column: Column with unique ids, which become the outcomes' `sample_id`; the column is
            also kept. By default, a column with a usual name such as `id`, or a hash of the row.
        checkpoint: Folder on a shared disk or store where Ray stores the ids of written rows. If
            the same script is run again, it resumes after these rows; a different judge, detected
            by the file `FOLDER.judge.json` next to the folder, is rejected. Requires `id_column`,
            one grader, and data that is read from files and written to files; otherwise Ray logs a
            warning and stores nothing.
        block_rows: Number of rows to grade and write together. After a crash, at most the blocks in
            flight, two per actor, are graded again.
        options: As in `open_session`. `concurrency` (32), `rpm` and `tpm` are totals for all
            actors; `tuned` files are read in this process; each machine has its own cache file.

    Returns:
        A data set with the columns of `Outcome.to_row` and one row per sample and grader. If it is
        written to Parquet files, `rag-evals merge` converts them to a run folder.

    Raises:
        ConfigurationError: A setting is invalid, the cluster has too few CPUs, or Ray is not
            installed; nothing was graded.
        DataError: `dataset` is not a Ray data set or lacks a column, or a tuned file is invalid.
    """
    require_whole("actors", actors)
    concurrency = require_whole("concurrency", options.get("concurrency", DEFAULT_CONCURRENCY))
    options["concurrency"] = max(1, concurrency // actors)
    if id_column is not None:
        options["columns"] = replace(ColumnMap.of(options.get("columns")), id=id_column)
    options["tuned"] = read_tunings(options.get("tuned"))
    # Validate the settings here rather than in an actor.
    opener = open_session(graders, client, **options)
    if checkpoint is not None and id_column is None:
        raise ConfigurationError(
            "checkpoint needs id_column, the name of a column with unique ids, as in id_column='id'"
        )
    if checkpoint is not None and not isinstance(graders, str | Grader) and len(graders) > 1:
        raise ConfigurationError(
            f"checkpoint supports one grader at a time, not {len(graders)}: Ray stores row ids, so "
            "a crash between two outcomes of a row would lose one; grade once per grader"
        )
    rates: tuple[Literal["rpm", "tpm"], ...] = ("rpm", "tpm")
    for name in rates:
        if (rate := options.get(name)) is not None:
            options[name] = rate / actors
    sessions = partial(open_session, graders, client, **options)
    kept = () if id_column is None else (id_column,)
    return _graded(dataset, opener, TableGrader(sessions, kept), actors, checkpoint, block_rows)


def _graded(
    dataset: "ray.data.Dataset",
    opener: GradingSession,
    grader: TableGrader,
    actors: int,
    checkpoint: str | Path | None,
    block_rows: int,
) -> "ray.data.Dataset":
    data = required_module("ray.data", "ray", "grade a Ray data set")
    if not isinstance(dataset, data.Dataset):
        raise DataError(
            f"dataset is {type(dataset).__name__}; expected a Ray data set, such as "
            "ray.data.read_parquet('answers')"
        )
    # Check the columns only if Ray already knows them; fetching them would start reading the data.
    if known := dataset.columns(fetch_if_missing=False):
        assert isinstance(opener.plan.data, RowData), "sessions are planned without a file"
        opener.plan.data.require_names(known)
    import ray.cloudpickle  # noqa: PLC0415 - an extra, and slow

    try:
        ray.cloudpickle.dumps(grader)
    except Exception as error:
        raise ConfigurationError(
            f"the graders or the client cannot be sent to other processes ({error}); give the "
            "judge as a string, such as 'openai/gpt-4o-mini'"
        ) from error
    _require_cpus(actors)
    blocks = dataset.repartition(target_num_rows_per_block=require_whole("block_rows", block_rows))
    graded = blocks.map_batches(
        TableGrader,
        fn_constructor_args=(grader.sessions, grader.keep),
        batch_size=None,
        batch_format="pyarrow",
        num_cpus=_CPUS_OF_ACTOR,
        compute=data.ActorPoolStrategy(size=actors),
    )
    if checkpoint is not None:
        _require_same_judge(_address(checkpoint), opener)
        graded.context.checkpoint_config = data.checkpoint.CheckpointConfig(
            id_column=grader.keep[0],
            checkpoint_path=_address(checkpoint),
            # A finished script that is run again must not grade everything again.
            delete_checkpoint_on_success=False,
        )
    return graded


def _require_cpus(actors: int) -> None:
    """Raise an error if Ray would wait forever for CPUs."""
    import ray  # noqa: PLC0415 - as above

    if not ray.is_initialized():
        ray.init()
    cpus = ray.cluster_resources().get("CPU", 0.0)
    needed = actors * _CPUS_OF_ACTOR + _CPUS_FOR_TASKS
    if cpus < needed:
        raise ConfigurationError(
            f"{actors} actors need a cluster of {needed:g} CPUs ({_CPUS_OF_ACTOR:g} each, and "
            f"{_CPUS_FOR_TASKS} for reading and writing); Ray reports {cpus:g}. Use fewer actors, "
            "or tell Ray to count more CPUs, as in ray.init(num_cpus=8)"
        )


def _require_same_judge(folder: str, opener: GradingSession) -> None:
    """Reject a checkpoint from a different judge; record the judge in a new checkpoint."""
    told = ("judge", "address", "models", "settings", "graders")
    judged_by = {name: opener.plan.identity[name] for name in told}
    files = required_module("pyarrow.fs", "ray", "keep a checkpoint")
    store, path = files.FileSystem.from_uri(folder)
    # The judge is recorded next to the folder, because Ray reads every file in it as a list of ids.
    path = path.rstrip("/")
    note = f"{path}.judge.json"
    chosen = files.FileSelector(path, allow_not_found=True, recursive=True)
    is_begun = any(found.is_file for found in store.get_file_info(chosen))
    if is_begun and store.get_file_info(note).is_file:
        with store.open_input_stream(note) as kept:
            before = json.loads(kept.read())
        if differences := identity_differences(before, judged_by):
            raise ConfigurationError(
                f"checkpoint {folder!r} belongs to another run: {'; '.join(differences)}; use the "
                "same settings to resume it, or choose another folder"
            )
        return
    store.create_dir(path.rpartition("/")[0], recursive=True)
    with store.open_output_stream(note) as kept:
        kept.write(json.dumps(judged_by).encode())


def _address(folder: str | Path) -> str:
    """Return an absolute path, because workers run in different folders."""
    if not isinstance(folder, str | Path) or not str(folder):
        raise ConfigurationError(f"checkpoint is {folder!r}; expected a folder, as in 'graded-ids'")
    text = str(folder)
    return text if "://" in text else str(Path(text).absolute())
