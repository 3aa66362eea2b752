"""Rows of the rules table, and the run that they check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tfdistribute.cluster.spec import Cluster
from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import RunConfigError, TfdistributeError
from tfdistribute.rules import Finding
from tfdistribute.run_config.settings import TRAINING, RunSettings
from tfdistribute.strategies import MultiWorker, ParameterServer, Strategy


@dataclass(frozen=True)
class RunContext:
    """Facts at the start of a verb; the defaults mean "unknown" or "no".

    ``train_and_evaluate`` is checked twice, as itself and as "evaluate", with the input of each.
    """

    settings: RunSettings
    verb: str
    tf_config: TfConfig | None = None
    # Whether this process plans or starts the tasks of ``settings.cluster``.
    starts_tasks: bool = False
    v1_canned: bool = False
    rows: int | None = None  # Of this verb's input.
    epochs: int | None = None  # None also if the input repeats without end.
    strings: tuple[str, ...] = ()  # Features and label that are strings in the model.
    global_batch_size: int | None = None  # Summed over replicas.
    replicas: int = 1
    devices: tuple[str, ...] = ()  # Canonical names.

    @property
    def strategy(self) -> Strategy | None:
        """The strategy of the settings, or else of the cluster. It is never stored, because the cluster may change."""
        if self.settings.strategy is None and self.trains and self._is_distributed:
            return self.strategy_of_cluster
        return self.settings.strategy

    @property
    def strategy_of_cluster(self) -> Strategy:
        return ParameterServer() if self.servers else MultiWorker()

    @property
    def _is_distributed(self) -> bool:
        cluster = self.settings.cluster
        # A cluster that has lost its other workers keeps its strategy.
        workers = 1 if cluster is None else cluster.training_processes
        devices = getattr(cluster, "devices_per_worker", 1)
        return max(self.training_tasks, workers, devices) > 1 or self.servers > 0

    @property
    def trains(self) -> bool:
        return self.verb in TRAINING

    @property
    def tasks(self) -> int:
        if self.tf_config is not None:
            return self.tf_config.tasks
        return len(self._started.tasks) if self._started is not None else 1

    @property
    def training_tasks(self) -> int:
        if self.tf_config is not None:
            return self._count_tasks("chief") + self._count_tasks("worker")
        return self._started.training_processes if self._started is not None else 1

    @property
    def servers(self) -> int:
        if self.tf_config is not None:
            return self._count_tasks("ps")
        return len(self._started.addresses.get("ps", ())) if self._started is not None else 0

    @property
    def cluster_in_words(self) -> str:
        if self.tf_config is None:
            return "`cluster`"
        return f"the cluster of TF_CONFIG (this process is {self.tf_config.task})"

    def _count_tasks(self, role: str) -> int:
        return 0 if self.tf_config is None else len(self.tf_config.cluster.get(role, ()))

    @property
    def _started(self) -> Cluster | None:
        return self.settings.cluster if self.starts_tasks else None


@dataclass(frozen=True)
class SettingsRule:
    field: str  # As users write it.
    rule: str
    broken: Callable[[RunContext], bool]
    message: Callable[[RunContext], str]
    remedy: str | Callable[[RunContext], str]  # A function if it depends on the run.
    refusal: type[TfdistributeError] = RunConfigError

    def find(self, run: RunContext) -> Iterator[Finding]:
        if self.broken(run):
            remedy = self.remedy if isinstance(self.remedy, str) else self.remedy(run)
            yield Finding(self.field, self.message(run), remedy)

    def error(self, finding: Finding, run: RunContext) -> TfdistributeError:
        value = getattr(run.settings, self.field)
        shown = in_words(value) if isinstance(value, Strategy) else value
        return self.refusal(
            finding.message,
            finding.fix,
            argument=self.field,
            value="NULL" if shown is None else str(shown),
        )


def in_words(strategy: Strategy | None) -> str:
    return "NULL" if strategy is None else f"strategy_{strategy.kind}()"
