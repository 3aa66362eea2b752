"""A real Spark with two executors on this machine, for the time of a test run."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from support.remote_hosts import end_with_input

# A classic session and a server of Spark Connect in the same JVM, which answers until the end of the input.
_SESSION = r"""
import sys
from pyspark.sql import SparkSession
from tfdistribute.cluster.frameworks.spark import address_of

settings = {
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.local.dir": sys.argv[1],
    # How often Spark looks for the slots of a barrier stage again, instead of every 15 seconds.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": sys.argv[2],
}
builder = SparkSession.builder.master("local-cluster[2,1,1024]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print(address_of(spark), file=sys.stderr, flush=True)
for line in sys.stdin:
    if line.strip() == "stop":
        spark.stop()
        print("stopped", file=sys.stderr, flush=True)
    else:
        stages = spark.sparkContext.statusTracker().getActiveStageIds()
        print("stages", *stages, file=sys.stderr, flush=True)
"""


class SparkProcess:
    """A session whose executors have one core each.

    Args:
        address: The address of the classic session.
        connect: The address of the server of Spark Connect.
    """

    def __init__(self, home: str, port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SESSION, home, str(port)],
            cwd=home,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.connect = f"sc://127.0.0.1:{port}"
        self.address = self._answer("py4j:")

    def _answer(self, start: str) -> str:
        assert self._process.stderr is not None
        # Spark warns there, too.
        for line in self._process.stderr:
            if line.startswith(start):
                return line.strip()
        raise AssertionError("Spark did not answer.")

    def _ask(self, order: str, start: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self._answer(start)

    def stages(self) -> list[str]:
        """The numbers of the active stages."""
        return self._ask("show", "stages").split()[1:]

    def stop(self) -> None:
        """Stop the SparkContext; its JVM stays."""
        self._ask("stop", "stopped")

    def end(self) -> None:
        end_with_input(self._process)


def has_spark() -> bool:
    return importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None


@contextlib.contextmanager
def spark_process(port: int) -> Iterator[SparkProcess]:
    home = tempfile.mkdtemp(prefix="tfd-spark-", dir="/tmp")
    process = SparkProcess(home, port)
    try:
        yield process
    finally:
        process.end()
        shutil.rmtree(home, ignore_errors=True)
