"""The cluster of a task that the user's own srun has started, from the variables of Slurm."""

import re
from collections.abc import Mapping

from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import ClusterError

# Ports below the range from which Linux takes those of connections.
_FIRST_PORT = 20000
_PORTS = 12000
# Tasks of one job on one node. Two jobs of a node have ports of their own, unless their numbers differ by a multiple.
_TASKS_OF_NODE = 40

_JOB, _TASK, _TASKS = "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS"
_STEP, _NODES, _COUNTS = "SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE"

_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?")
_BRACKETS = re.compile(r"([^\[]*)\[([^\]]+)\](.*)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def read_slurm(environment: Mapping[str, str]) -> TfConfig | None:
    """Read the cluster of the tasks of one srun; None outside Slurm, and for a single task.

    Task 0 is the chief. ClusterError if a job of several tasks runs this process outside srun. The variables are
    listed at https://slurm.schedmd.com/srun.html, "OUTPUT ENVIRONMENT VARIABLES".
    """
    job = environment.get(_JOB, "")
    if not job:
        return None
    if not environment.get(_NODES):
        _check_not_alone(job, environment)
        return None
    nodes, counts = expand_nodes(environment[_NODES]), _expand_counts(environment.get(_COUNTS, ""))
    own, step = environment.get(_TASK, ""), environment.get(_STEP, "0")
    texts = {_JOB: job, _TASK: own, _STEP: step}
    wrong = next((name for name, text in texts.items() if not text.isdecimal()), None)
    if wrong is None and len(nodes) != len(counts):
        wrong = _COUNTS
    if wrong is None and int(own) >= sum(counts):
        wrong = _TASK
    if wrong is not None:
        raise _unreadable(wrong, environment.get(wrong, ""))
    if sum(counts) == 1:
        return None
    base = _first_port(int(job), int(step))
    addresses = tuple(
        f"{node}:{base + local}"
        for node, count in zip(nodes, counts, strict=True)
        for local in range(count)
    )
    rank = int(own)
    role, index = ("chief", 0) if rank == 0 else ("worker", rank - 1)
    return TfConfig({"chief": addresses[:1], "worker": addresses[1:]}, role, index)


def expand_nodes(text: str) -> list[str]:
    """List the names in a list of nodes, such as "n[01-03,7],m1"; ClusterError for any other text."""
    parts: list[str] = []
    depth = start = 0
    for position, character in enumerate(f"{text},"):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    names = [name for part in parts for name in _expand(part, text)]
    if depth != 0 or not all(names) or not names:
        raise _unreadable(_NODES, text)
    return names


def _expand(part: str, text: str) -> list[str]:
    match = _BRACKETS.fullmatch(part)
    if match is None and re.search(r"[\[\]]", part):
        raise _unreadable(_NODES, text)
    if match is None:
        return [part]
    middle: list[str] = []
    for each in match[2].split(","):
        bounds = _RANGE.fullmatch(each)
        if bounds is None:
            raise _unreadable(_NODES, text)
        first, last = bounds[1], bounds[2] or bounds[1]
        middle += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return [match[1] + name + rest for name in middle for rest in _expand(match[3], text)]


def _expand_counts(text: str) -> list[int]:
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        if match is None:
            raise _unreadable(_COUNTS, text)
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _first_port(job: int, step: int) -> int:
    """Return the first port of a step, which all tasks must know without asking each other."""
    blocks = _PORTS // _TASKS_OF_NODE
    return _FIRST_PORT + (job + 101 * step) % blocks * _TASKS_OF_NODE


def _check_not_alone(job: str, environment: Mapping[str, str]) -> None:
    tasks = environment.get(_TASKS, "1")
    if tasks.isdecimal() and int(tasks) > 1:
        raise ClusterError(
            f"This process is not one of the {tasks} tasks of Slurm job {job}: srun did not start it.",
            'Start the script by "srun Rscript", or use slurm_cluster() from a login node.',
            argument=_TASKS,
            value=tasks,
        )


def _unreadable(variable: str, text: str) -> ClusterError:
    return ClusterError(
        f"{variable} is {text[:200]!r}, from which the tasks of this step cannot be read.",
        "Set TF_CONFIG for each task: it is used instead.",
        argument=variable,
        value=text[:200],
    )
