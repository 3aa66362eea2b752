"""Facts about the training of a model, read without TensorFlow."""

from typing import Any

from tfdistribute import history_file
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.training.model_directory import ModelDirectory, class_names, learned


def trained_facts(model_dir: str) -> dict[str, Any]:
    """Return the ``step``, and what is known of the rows, the response, the choice and the time of a training."""
    directory, losses = ModelDirectory(model_dir), history_file.read_losses(model_dir).rows
    columns = directory.trained_columns or {}
    kinds = [directory.kinds.get(name, "numbers") for name in columns.get("features", ())]
    return {
        "step": newest_step(model_dir),
        "kinds": kinds,
        "response": columns.get("response"),
        "seconds": losses[-1]["seconds"] if losses else None,
        "classes": class_names(model_dir),
        **directory.training,
        **learned(model_dir),
    }
