"""The passes over a training step, in order, and the switch that leaves any of them out.

Each pass computes the same weights in another way, so a wrong number is bisected by switching passes off. This module
does not need TensorFlow.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from tfdistribute.errors import ArgumentError

VARIABLE = "TFDISTRIBUTE_PASSES"
ALL = "all"


@dataclass(frozen=True)
class Pass:
    """A change of how a training step is computed.

    Args:
        name: Name in ``TFDISTRIBUTE_PASSES``.
        effect: Effect on the step.
        without: Computation if the pass is switched off.
    """

    name: str
    effect: str
    without: str


PASSES = (
    Pass(
        "category_codes",
        "hashes, crosses and words of rows in memory are computed once for all rows",
        "each step computes those of its rows",
    ),
    Pass("resident_rows", "steps gather rows in memory", "a tf.data pipeline feeds the rows"),
    Pass(
        "accumulate",
        "gradients are accumulated over micro-batches",
        "the batch is computed in one part, in as much memory as that takes; losses in float16 are still scaled",
    ),
    Pass(
        "place_gradients",
        "gradients are computed on the devices of their operations",
        "TensorFlow chooses the devices",
    ),
    Pass(
        "all_reduce",
        "workers add gradients in shared memory, or send them compressed",
        "TensorFlow's collectives add them, uncompressed",
    ),
    Pass(
        "shared_random",
        "random operations keep their counters in variables",
        "a step that draws random numbers is not repeated in a loop",
    ),
    Pass(
        "loop",
        "many steps run in one `session.run`",
        "each step is a `session.run`, as with `steps_per_run = 1`",
    ),
)


# The text that R has given; empty in a process without R.
_chosen: dict[str, str] = {}


def switch_off(text: str) -> None:
    """Switch passes off by the text of R's option in place of the environment variable."""
    _chosen[VARIABLE] = text


def is_on(name: str) -> bool:
    """Return whether a pass is used.

    Raises:
        ArgumentError: ``TFDISTRIBUTE_PASSES`` has another form, or names a pass that does not exist.
    """
    assert any(each.name == name for each in PASSES), name
    return name not in list_switched_off()


def list_switched_off() -> list[str]:
    """List the passes that ``TFDISTRIBUTE_PASSES`` switches off, such as "-loop,-resident_rows" or "-all", in order.

    Raises:
        ArgumentError: as for ``is_on()``.
    """
    text = _chosen.get(VARIABLE, os.environ.get(VARIABLE, ""))
    names = [each.name for each in PASSES]
    switches = {each.strip() for each in text.split(",")} - {""}
    for each in sorted(switches):
        if each.removeprefix("-") not in (*names, ALL) or not each.startswith("-"):
            raise ArgumentError(
                f"The option `tfdistribute.passes`, or {VARIABLE}, must list passes to switch off, such as "
                f'"-{names[-1]}", and is {text!r}.',
                f'Passes are {", ".join(names)}. "-{ALL}" switches all of them off.',
                argument=VARIABLE,
                value=text,
            )
    return [each for each in names if {f"-{each}", f"-{ALL}"} & switches]
