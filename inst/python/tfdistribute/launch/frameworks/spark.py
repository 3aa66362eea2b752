"""Spark: the tasks of a barrier stage, which is submitted again when one of them is lost."""

import contextlib
import importlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from tfdistribute.cluster.frameworks.spark import CLASSIC, join_context, reason_of
from tfdistribute.errors import ClusterError
from tfdistribute.gpus import VISIBLE
from tfdistribute.launch.frameworks.framework import OPTIONS, Framework

# For one more executor that has just been started to register.
_REGISTER_S = 5.0
_END_S = 2.0
_CONNECT_PORT = 15002
_GONE = (
    "SparkContext was shut down|stopped SparkContext|Answer from Java side is empty|"
    "connect to the Java server|StatusCode.UNAVAILABLE"
)
# While a context is being stopped.
_STOPPED = "SparkEnv.* is null"
_STOPPED_PROBLEM = "The SparkContext of `sc` is stopped."
# What Spark says about stages that would fail again, with the remedy.
_REMEDIES = {
    "PYTHON_VERSION_MISMATCH": "Give the path of a Python of the same version on the executors as `python`.",
    "Cannot run program": "Give the path of Python on the executors as `python`.",
    "No module named": "Install this package in the Python of the executors.",
    "SPARK-24942": "Set spark.dynamicAllocation.enabled to false.",
    _GONE: "Connect to Spark again.",
}


class SparkFramework(Framework):
    def __init__(self, fields: Mapping[str, Any], members: int) -> None:
        super().__init__(fields, members)
        self._context: Any = None  # Of a classic session.
        self._session: Any = None  # Of Spark Connect.
        self._texts: list[str] = []
        self._stage = threading.Thread()
        self._failure: Exception | None = None
        self._failed_at: float | None = None
        self._submitted = 0
        self._name = f"tfdistribute-{uuid.uuid4().hex}"

    def connect(self) -> str:
        try:
            return self._join() if CLASSIC.fullmatch(self.fields["sc"]) else self._connect()
        except ImportError as error:
            raise _error(
                f'The Python of this session, "{sys.executable}", cannot use Spark: {error}.',
                "Install the version of the Spark cluster there, such as pip install "
                '"pyspark[connect]==4.0.1".',
            ) from error
        except ClusterError:
            raise
        except Exception as error:
            raise self._explain(error) from error

    def _join(self) -> str:
        self._context = join_context(self.fields["sc"], self.fields["python"])
        if self._context is None:
            raise _error(_STOPPED_PROBLEM, _REMEDIES[_GONE])
        settings = self._context.getConf()
        self._check_settings(settings.get)
        self._wait_for_slots()
        return str(settings.get("spark.driver.host"))

    def _wait_for_slots(self) -> None:
        most, until = 0, time.monotonic() + _REGISTER_S
        while (slots := self._slots()) < self.members:
            if slots > most:
                most, until = slots, time.monotonic() + _REGISTER_S
            if time.monotonic() > until:
                raise _error(
                    f"A barrier stage of {self.members} tasks needs {self.members} slots, and the executors of Spark "
                    f"have {slots}.",
                    "Use fewer workers, or more executors or cores.",
                    "workers",
                )
            time.sleep(0.1)

    def _slots(self) -> int:
        spark = self._context._jsc.sc()
        profile = spark.resourceProfileManager().defaultResourceProfile()
        return int(spark.maxNumConcurrentTasks(profile))

    def _connect(self) -> str:
        server = urlsplit(str(self.fields["sc"]))
        port = server.port or _CONNECT_PORT
        with socket.create_connection((server.hostname, port), _REGISTER_S) as connection:
            own = str(connection.getsockname()[0])
        # Without it, pyspark ends this process.
        importlib.import_module("pandas")
        sql = importlib.import_module("pyspark.sql.connect.session")
        self._session = sql.SparkSession.builder.remote(self.fields["sc"]).create()
        self._check_settings(self._session.conf.get)
        # The server on this machine may have executors elsewhere.
        is_here = own.startswith("127.") or own == "::1"
        return str(self._session.conf.get("spark.driver.host", own)) if is_here else own

    def _check_settings(self, get: Any) -> None:
        if get("spark.dynamicAllocation.enabled", "false") == "true":
            raise _error(
                "Barrier stages of Spark do not support dynamic allocation.",
                _REMEDIES["SPARK-24942"],
            )
        for argument, setting, default in (
            ("cpus_per_worker", "spark.task.cpus", "1"),
            ("gpus_per_worker", "spark.task.resource.gpu.amount", "0"),
        ):
            given, wanted = float(get(setting, default)), self.fields[argument]
            if given != wanted:
                raise _error(
                    f"`{argument}` is {wanted}, and each task of Spark has {given:g} ({setting}).",
                    f"Use `{argument} = {given:g}`, or a session with another {setting}.",
                    argument,
                )

    def start(self, texts: list[str]) -> None:
        # The executors have no module of this package.
        pickle = importlib.import_module("pyspark.cloudpickle")
        pickle.register_pickle_by_value(sys.modules[__name__])
        self._texts = texts
        self._submit(self.members)

    def _submit(self, count: int) -> None:
        self._submitted += 1
        self._stage = threading.Thread(target=self._stay, args=(count,), daemon=True)
        self._stage.start()

    def _stay(self, count: int) -> None:
        texts = self._texts[:count]
        try:
            if self._context is not None:
                self._context.setJobGroup(self._name, "tfdistribute")
                parts = self._context.parallelize(texts, count)
                parts.barrier().mapPartitions(call_home_with_rows).collect()
            else:
                self._session.addTag(self._name)
                rows = self._session.range(0, count, 1, count)
                rows.mapInArrow(call_home_in_arrow(texts), "id long", barrier=True).collect()
        except Exception as error:  # noqa: BLE001 - `watch` decides
            self._failure = error

    def watch(self) -> str | None:
        if not self._stage.is_alive() and self._failure is not None:
            if self._submitted > self.fields["restarts"] or _remedy(str(self._failure)):
                raise self._explain(self._failure)
            self._failed_at = self._failed_at or time.monotonic()
            # Spark itself would look at the slots only every 15 seconds.
            slots = self.members if self._context is None else min(self._slots(), self.members)
            # In half of the lease, a lost executor may come back; in the other half, the members call.
            is_late = time.monotonic() - self._failed_at > self.fields["lease_s"] / 2
            if slots >= (self._fewest if is_late else self.members):
                self._failure = self._failed_at = None
                self._submit(slots)
        return f"Spark has no {self.members} free slots yet, which the barrier stage needs"

    @property
    def _fewest(self) -> int:
        workers: Any = self.fields["workers"]
        return self.members if isinstance(workers, int) else int(workers[0])

    def _explain(self, error: Exception) -> ClusterError:
        if re.search(_STOPPED, str(error)):
            return _error(_STOPPED_PROBLEM, _REMEDIES[_GONE])
        remedy = _remedy(str(error)) or "See the stages and executors in the page of Spark."
        return _error(f"Spark does not run the processes: {reason_of(error)}.", remedy)

    def end(self) -> None:
        # Nobody listens to the members any more.
        if self._stage.is_alive():
            self._stage.join(_END_S)
        with contextlib.suppress(Exception):
            if self._stage.is_alive() and self._context is not None:
                self._context.cancelJobGroup(self._name)
            elif self._session is not None:
                self._session.interruptTag(self._name)
                self._session.stop()


def _error(problem: str, remedy: str, argument: str = "sc") -> ClusterError:
    return ClusterError(problem, remedy, argument=argument)


def _remedy(said: str) -> str | None:
    return next((text for pattern, text in _REMEDIES.items() if re.search(pattern, said)), None)


def call_home(text: str) -> int:
    context = importlib.import_module("pyspark").TaskContext.get()
    gpus = context.resources().get("gpu")
    # Spark leaves it to its tasks to use only their GPUs.
    visible = {} if gpus is None else {VISIBLE: ",".join(gpus.addresses)}
    return subprocess.run(
        [sys.executable, *OPTIONS],
        input=text.encode(),
        env={**os.environ, **visible},
        check=False,
    ).returncode


def call_home_with_rows(texts: Iterable[str]) -> Iterator[int]:
    return map(call_home, texts)


def call_home_in_arrow(texts: list[str]) -> Any:
    def stay(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                call_home(texts[int(index)])
            yield batch

    return stay
