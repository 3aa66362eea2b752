"""Access to the nodes of a Slurm allocation by srun."""

from collections.abc import Callable

from tfdistribute.launch.places.channel import CommandChannel
from tfdistribute.launch.places.transport import Transport

# A step beside others, with all cores, memory and GPUs of the job on its node, which waits only this long to start.
_START_S = 20
_OPTIONS = (
    "--overlap",
    "--unbuffered",
    "--quiet",
    "--nodes=1",
    "--ntasks=1",
    "--input=0",
    "--cpu-bind=none",
    "--mpi=none",
    # The supervisor's variables, as a login on its node has them.
    "--export=ALL",
    "--kill-on-bad-exit=1",
    f"--immediate={_START_S}",
)

# Output of srun, with its meaning and the remedy.
_AGAIN = "Train again to continue from the newest checkpoint; Slurm chooses other nodes for it."
_EXPLANATIONS = (
    (r"execve\(\)", "it has no {python}", "Give the path of its Python as `python`."),
    (
        r"Required node not available|not responding|Communication connection failure|Node failure",
        "Slurm cannot reach it",
        _AGAIN,
    ),
    (
        r"Unable to create step|Unable to allocate resources|temporarily disabled",
        "Slurm starts nothing there",
        _AGAIN,
    ),
)


def transports() -> Callable[[str], Transport]:
    return lambda node: Transport(
        open=lambda command: CommandChannel(["srun", *_OPTIONS, f"--nodelist={node}", *command]),
        explanations=_EXPLANATIONS,
        argument="nodes",
        subject=f"The node {node} of this job",
        check="See `sinfo` for the state of the node.",
        when_twice="Let Slurm know each machine as one node.",
        # scancel and a preemption send it to all processes.
        ends_job=True,
    )
