"""Translation of TensorFlow's exceptions into errors of this package."""

import contextlib
import os
import re
from collections.abc import Iterator

from tfdistribute import gpus
from tfdistribute.checkpoints.mirror import local_directory
from tfdistribute.errors import (
    InputError,
    ModelDirectoryError,
    OutOfMemoryError,
    StrategyError,
    TfdistributeError,
    TrainingError,
    said_by_tensorflow,
)
from tfdistribute.training.model_directory import try_to_write

_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_NOT_WRITABLE = re.compile(r"Read-only file system|Permission denied")
_MISSING = re.compile(r"No such file or directory|Parent directory of .* doesn't exist")

# Patterns in TensorFlow's text, and their meaning for the user. The first match wins.
_MEANINGS: tuple[tuple[str, type[TfdistributeError], str, str], ...] = (
    (
        r"NaN loss during training",
        TrainingError,
        "The loss became NaN.",
        "Lower the learning rate, scale the features, or look for extreme values in the response.",
    ),
    (
        # The text of init_from_checkpoint(), and of nothing else.
        r"doesn't match with shape of tensor|is not found in .* checkpoint",
        ModelDirectoryError,
        "A checkpoint to begin with (`warm_start_from`, or `ckpt_to_load_from` of column_embedding()) does not fit.",
        "Choose the variables with `vars_to_warm_start`, or begin with a model of the same structure.",
    ),
    (
        r"not a valid checkpoint|\.data-\d+-of-\d+; No such file",
        ModelDirectoryError,
        "The checkpoint was removed while it was in use, as a training does that saves newer ones.",
        "Repeat the call to use the newest checkpoint; run_config(keep_checkpoint_max = ) keeps more of them.",
    ),
    (
        r"not found in checkpoint|Restoring from checkpoint failed|Assign requires shapes|doesn't match with shape",
        ModelDirectoryError,
        "`model_dir` holds another model: its checkpoint does not fit this one.",
        "Use another `model_dir`, or describe the model as it was trained.",
    ),
    (
        r"`transform` changed the number of rows",
        InputError,
        "`transform` of the input dropped or added rows, and every row is to be read once.",
        "Give as many rows as there were, and leave rows out before they are read.",
    ),
    (
        r"`\w*clip\w+` is not supported with `CenteralStorageStrategy`",
        StrategyError,
        "`clipnorm`, `clipvalue` and `global_clipnorm` are not supported by strategy_central_storage().",
        "Use strategy_mirrored(), which clips as one device does.",
    ),
)
# Programs on the GPUs that an error names.
_MOST_PROGRAMS = 3


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def translate(error: Exception, verb: str, model_dir: str | None = None) -> TfdistributeError:
    """Return the package's own error in the chain of an exception, or make one with TensorFlow's own words."""
    for link in _chain(error):
        if isinstance(link, TfdistributeError):
            return link
    text = str(error)
    known_error = None if model_dir is None else _directory_error(text, model_dir)
    if known_error is not None:
        return known_error
    known_error = _out_of_range(text) or _out_of_memory(text)
    if known_error is not None:
        return known_error
    for pattern, kind, problem, remedy in _MEANINGS:
        if re.search(pattern, text):
            return kind(f"{problem} TensorFlow says: {said_by_tensorflow(text)}", remedy)
    return TrainingError(f"{verb}() stopped: {type(error).__name__}: {said_by_tensorflow(text)}")


def _out_of_range(text: str) -> InputError | None:
    match = re.search(r"indices\[[\d, ]+\] = (-?\d+) is not in \[0, (\d+)\)", text)
    # Scopes of a weight per category, and of a vector.
    column = re.search(r"/([^/{}]+?)(?:/weighted_sum|_embedding(?:_\d+)?)/", text)
    if match is None or column is None:
        return None
    return InputError(
        f"The column `{column[1]}` has {match[1]}, but its categories are 0 to {int(match[2]) - 1}.",
        "Give column_categorical_with_identity() more `num_buckets`, or a `default_value` for numbers out of range.",
        argument=column[1],
        value=match[1],
    )


def _out_of_memory(text: str) -> OutOfMemoryError | None:
    pattern = "OOM when allocating|[Oo]ut of memory|failed to allocate memory"
    match = re.search(rf"(?:{pattern}).*", text)
    if match is None:
        return None
    device = re.search(r"device:((CPU|GPU):\d+)", match[0])
    remedy = "Use a smaller `batch_size`, or compute it in turns with run_config(micro_batches = )."
    if device is None or device[2] == "GPU":
        remedy += " If several processes share a GPU, divide its memory with `memory_limit_mb`."
        others = [
            f"{each['name']} with {each['memory_mb']} MB (process {each['pid']})"
            for each in gpus.other_programs()[:_MOST_PROGRAMS]
        ]
        remedy += f" Other programs use the GPU: {', '.join(others)}." if others else ""
    name = "A device" if device is None else device[1]
    return OutOfMemoryError(
        f"{name} has run out of memory. TensorFlow says: {match[0].strip()}", remedy
    )


@contextlib.contextmanager
def translate_errors(verb: str, model_dir: str | None = None) -> Iterator[None]:
    """Translate every exception inside the block to a TfdistributeError, whose cause is TensorFlow's own.

    ``model_dir`` is the directory that the block writes to; None if it writes to none.
    """
    try:
        yield
    except TfdistributeError:
        raise
    except Exception as error:
        translation = translate(error, verb, model_dir)
        if translation is error:
            raise
        raise translation from error


def _directory_error(text: str, model_dir: str) -> ModelDirectoryError | None:
    """Explain an error that began with a failed access to model_dir, which existed before; None for any other.

    The text need not name a path, so the directory itself is examined.
    """
    problem, remedy = None, ""
    model_dir = local_directory(model_dir)
    if _FULL.search(text):
        problem = f'The disk that holds `model_dir` "{model_dir}" is full.'
        remedy = "Free space there or choose another `model_dir`"
    elif _MISSING.search(text) and not os.path.isdir(model_dir):
        problem = f'`model_dir` "{model_dir}" was deleted while it was in use.'
        remedy = "Restore it from a copy, or train again from step 0"
    elif _NOT_WRITABLE.search(text) and (why := _why_not_writable(model_dir)) is not None:
        problem = f'`model_dir` "{model_dir}" cannot be written any more: {why}.'
        remedy = "Make it writable or copy it elsewhere"
    if problem is None:
        return None
    return ModelDirectoryError(
        problem,
        f"{remedy}; a training continues from the last checkpoint that is left.",
        argument="model_dir",
        value=model_dir,
    )


def _why_not_writable(model_dir: str) -> str | None:
    try:
        try_to_write(model_dir)
    except OSError as error:
        return error.strerror
    return None
