"""The passes over a training step, in order, and the switch that leaves any of them out.

This module does not need TensorFlow.
"""

import os
from dataclasses import dataclass

from tfdistribute.errors import ArgumentError

VARIABLE = "TFDISTRIBUTE_PASSES"
ALL = "all"


@dataclass(frozen=True)
class Pass:
    name: str
    effect: str


PASSES = (
    Pass(
        "category_codes",
        "hashes, crosses and words of rows in memory are computed once for all rows",
    ),
    Pass("resident_rows", "steps gather rows in memory"),
    # Without it, losses in float16 are still scaled.
    Pass("accumulate", "gradients are accumulated over micro-batches"),
    Pass("place_gradients", "gradients are computed on the devices of their operations"),
    Pass("all_reduce", "workers add gradients in shared memory, or send them compressed"),
    # Without it, a step that draws random numbers is not repeated in a loop.
    Pass("shared_random", "random operations keep their counters in variables"),
    Pass("loop", "many steps run in one `session.run`"),
    Pass("compile", "XLA compiles the loop of small steps"),
)

_chosen: dict[str, str] = {}


def switch_off(text: str) -> None:
    """Switch passes off by the text of R's option in place of the environment variable."""
    _chosen[VARIABLE] = text


def is_on(name: str) -> bool:
    """Return whether a pass is used; ArgumentError if ``TFDISTRIBUTE_PASSES`` is wrong."""
    assert any(each.name == name for each in PASSES), name
    return name not in list_switched_off()


def list_switched_off() -> list[str]:
    """List the passes that ``TFDISTRIBUTE_PASSES`` switches off, such as "-loop,-resident_rows" or "-all", in order."""
    text = _chosen.get(VARIABLE, os.environ.get(VARIABLE, ""))
    names = [each.name for each in PASSES]
    switches = {each.strip() for each in text.split(",")} - {""}
    for each in sorted(switches):
        if each.removeprefix("-") not in (*names, ALL) or not each.startswith("-"):
            raise ArgumentError(
                f"The option `tfdistribute.passes`, or {VARIABLE}, must list passes to switch off, such as "
                f'"-loop", and is {text!r}.',
                f'Passes are {", ".join(names)}. "-{ALL}" switches all of them off.',
                argument=VARIABLE,
                value=text,
            )
    return [each for each in names if {f"-{each}", f"-{ALL}"} & switches]
