"""What a task trains, as entries that the other tasks of its cluster compare before the first step.

Every field of every description counts, so that a new one is compared without any change here. The tables below list
the exceptions.
"""

from __future__ import annotations

import dataclasses

from tfdistribute.descriptions.comparison import Entries, Exceptions, entries_of
from tfdistribute.training.preparation import Prepared
from tfdistribute.training.tasks.assignment import TaskAssignment

_RECORDS = "It decides what is logged or saved, and not what is trained."
_REFERS = "It refers to a place, which may differ between machines; its content is compared."
_OWN = "Each task has its own."

LEFT_OUT = {
    "TaskAssignment.verb": "Evaluations do not change what is trained.",
    "TaskAssignment.evaluation": "Evaluations do not change what is trained.",
    "RunSettings.eval_distribute": "Evaluations do not change what is trained.",
    "TaskAssignment.member": _OWN,
    "TaskAssignment.listener": _OWN,
    "TaskAssignment.saving_listeners": "Only the chief saves.",
    "TaskAssignment.steps": "The last step is compared, see ``TaskFacts``.",
    "TrainSpec.max_steps": "The last step is compared, see ``TaskFacts``.",
    "Model.model_dir": "Tasks compare what the chief writes there.",
    "RunSettings.model_dir": "Tasks compare what the chief writes there.",
    "RunSettings.cluster": "The addresses are compared, see ``TaskFacts``; the rest is about processes.",
    "RunSettings.session_config": "Threads and memory are each machine's; `graph_options` is compared.",
    "RunSettings.steps_per_run": "All tasks use the smallest number.",
    "RunSettings.save_summary_steps": _RECORDS,
    "RunSettings.log_step_count_steps": _RECORDS,
    "RunSettings.keep_checkpoint_max": _RECORDS,
    "RunSettings.keep_checkpoint_every_n_hours": _RECORDS,
    "RunSettings.checkpoint_save_graph_def": _RECORDS,
    "RunSettings.session_creation_timeout_secs": "It decides how long a task waits.",
    "RunSettings.experimental_max_worker_delay_secs": "It decides how long a task waits.",
    "MultiWorker.timeout_s": "It decides how long a task waits.",
    "InMemory.columns": "The values are compared by a checksum.",
    "SerializedDataset.graph": "Processes number its functions differently; operations are compared.",
    "Mapped.directory": _REFERS,
    "FileInput.paths": _REFERS,
    "TableInput.on_skipped": "It warns.",
    "VocabularyFile.vocabulary_file": _REFERS,
    "Embedding.ckpt_to_load_from": _REFERS,
    "WarmStart.ckpt_to_initialize_from": _REFERS,
    "KerasModel.path": _REFERS,
    "Wrapped.estimator": "The functions and values that it was made from are compared.",
    # A task may watch the training by itself.
    "CheckpointSaver": _RECORDS,
    "HistorySaver": _RECORDS,
    "LoggingTensor": _RECORDS,
    "ProgressBar": _RECORDS,
    "SessionRun": _RECORDS,
    "StepCounter": _RECORDS,
    "SummarySaver": _RECORDS,
    "ViewMetrics": _RECORDS,
}

CODE_ONLY = {"DatasetFunction.function": "It may name files with this task's share of the rows."}

_EXCEPTIONS = Exceptions(LEFT_OUT, CODE_ONLY)

# Where users find these fields.
_NAMES = {
    "$model": "object",
    "$settings": "config",
    "$train$input": "input",
    "$train$hooks": "hooks",
}


def work_of(assignment: TaskAssignment, prepared: Prepared) -> Entries:
    completed = dataclasses.replace(assignment, model=prepared.model)
    entries = entries_of(completed, "", _EXCEPTIONS)
    return {_renamed(path): value for path, value in entries.items()}


def _renamed(path: str) -> str:
    for field, name in _NAMES.items():
        if path.startswith(field):
            return name + path.removeprefix(field)
    return path.removeprefix("$")
