"""The error of strategies that are described now and train in a later version."""

from __future__ import annotations

from tfdistribute.errors import UnsupportedError


def not_on_one_machine(function: str, needs: str) -> UnsupportedError:
    """Make the error that says what to use instead.

    Args:
        function: The R function that describes the strategy.
        needs: What it would train on.

    Returns:
        The error, to be raised.
    """
    return UnsupportedError(
        f"{function}() describes training on {needs}; this version trains on the devices of one "
        "machine only.",
        "Use strategy_mirrored() to train on this machine's devices.",
        argument="train_distribute",
        value=f"{function}()",
    )
