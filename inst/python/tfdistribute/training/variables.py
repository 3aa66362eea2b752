"""Variables of a trained model, read from its newest checkpoint."""

from collections.abc import Container
from typing import Any

from tfdistribute import engine
from tfdistribute.checkpoints.mirror import local_checkpoint
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.errors import ArgumentError
from tfdistribute.training.model_directory import require_checkpoint


def variable_names(model_dir: str, verb: str = "variable_names") -> list[str]:
    """List the variables of a trained model, including slots of optimizers and the global step."""
    checkpoint = local_checkpoint(require_checkpoint(model_dir, None, verb))
    return sorted(name for name, _ in engine.tf.train.list_variables(checkpoint))


def variable_value(model_dir: str, name: str, verb: str = "variable_value") -> Any:
    """Read one variable of a trained model as a NumPy array; ArgumentError if the model does not have it."""
    checkpoint = local_checkpoint(require_checkpoint(model_dir, None, verb))
    names = variable_names(model_dir)
    if name not in names:
        raise ArgumentError(
            f'`variable` "{name}" is not a variable of this model.',
            f"Use one of variable_names(): {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}.",
            value=name,
        )
    return engine.tf.train.load_variable(checkpoint, name)


def weights(model_dir: str) -> dict[str, tuple[int, ...]]:
    prefix = newest_checkpoint(model_dir)
    if prefix is None:
        return {}
    shapes = dict(engine.tf.train.list_variables(local_checkpoint(prefix)))
    return {
        name: tuple(shape)
        for name, shape in shapes.items()
        if name != "global_step" and not _is_of_optimizer(name, shapes)
    }


def _is_of_optimizer(name: str, names: Container[str]) -> bool:
    # Optimizers call a slot of a variable "variable/Adam", or "training/Adam/variable/m".
    parts = name.split("/")
    is_slot = any("/".join(parts[:end]) in names for end in range(1, len(parts)))
    return is_slot or parts[0] == "training" or name in ("beta1_power", "beta2_power")
