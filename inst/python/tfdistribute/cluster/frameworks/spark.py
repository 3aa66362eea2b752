"""Clusters of the tasks of a barrier stage that Spark starts."""

import importlib
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import quote, unquote

from tfdistribute.cluster.frameworks.framework import FrameworkCluster
from tfdistribute.cluster.spec import Timeout
from tfdistribute.descriptions import check_text
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.environment import changed_variable
from tfdistribute.errors import ArgumentError

_CONNECT = re.compile(r"sc://\S+")
# The gateway of a JVM on this machine for Python, its secret, and the directory of Spark.
CLASSIC = re.compile(
    r"py4j://:(?P<secret>[^@/\s]+)@127\.0\.0\.1:(?P<port>[0-9]{1,5})(?P<home>/\S*)?"
)
# A message of the JVM begins after the class of its exception.
_MESSAGE = re.compile(r"^(?:: )?[\w.$]+(?:Exception|Error): ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class SparkCluster(FrameworkCluster, kind="spark"):
    """Processes in the tasks of a barrier stage, which is submitted again when one of them is lost.

    Args:
        ps: Parameter servers, a count of at most 1000. Each has its own task.
        evaluator: Whether an additional process, in the task of the chief, evaluates checkpoints, TRUE or FALSE.
        cpus_per_worker: CPUs of each task, a count. It must be spark.task.cpus of the connection.
        gpus_per_worker: GPUs of each task, a count from 0. It must be spark.task.resource.gpu.amount of the connection.
        workers: Processes that train, including the chief, a count of at most 1000. Each has its own task. Two counts
            such as `c(2, 4)` are the fewest and the most workers, see section Lost executors. They require `ps = 0`.
        sc: The connection to Spark: a connection of sparklyr to a Spark whose driver runs on this machine, a connection
            of pysparklyr, such as one to Databricks Connect, a SparkSession of Python, or the address of a server of
            Spark Connect, a string `"sc://host:port"`. The description contains the address of the connection, which
            can be secret.
    """

    framework: ClassVar[str] = "Spark"
    member: ClassVar[str] = "barrier task"

    sc: Any = field(repr=False)
    # A barrier stage has as many tasks until its end.
    resize_every_s: Annotated[Timeout, Fact.INTERNAL] = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sc", address_of(self.sc))


def address_of(session: Any) -> str:
    """Return the address at which another process on this machine reaches a SparkSession.

    Raises:
        ArgumentError: if ``session`` is neither a running SparkSession nor an address.
    """
    if isinstance(session, str):
        check_text("sc", session)
        if _CONNECT.fullmatch(session) or CLASSIC.fullmatch(session):
            return session
        raise _no_session(repr(session))
    try:
        if hasattr(session, "_client"):
            return _address_of_connect(session._client._builder)
        gateway = session.sparkContext._gateway.gateway_parameters
        return f"py4j://:{gateway.auth_token}@127.0.0.1:{gateway.port}"
    except AttributeError:
        raise _no_session(f"a {type(session).__name__}") from None


def _address_of_connect(builder: Any) -> str:
    values = {
        **dict(builder.metadata()),
        "user_id": builder.userId,
        "token": builder.token,
        "use_ssl": builder.getDefault("use_ssl", None),
    }
    shown = "".join(f";{name}={quote(text, safe='')}" for name, text in values.items() if text)
    return f"sc://{builder.endpoint}/{shown}"


def _no_session(shown: str) -> ArgumentError:
    return ArgumentError(
        f"`sc` must be a connection to Spark, not {shown}.",
        'Use a connection of sparklyr, a SparkSession of pyspark, or "sc://host:port" of Spark Connect.',
        value=shown,
    )


def join_context(address: str, python: str | None = None) -> Any:
    """Return the SparkContext of a classic session, in this process; None if it is stopped.

    Args:
        python: Program that Spark runs, unless its settings name another one. None means this Python.
    """
    found = CLASSIC.fullmatch(address)
    assert found is not None
    secret, port, home = found.groups()
    # Spark comes with the Python package that fits its JVM.
    paths = [str(path) for path in Path(unquote(home or "/-"), "python/lib").glob("*.zip")]
    sys.path[1:1] = [path for path in paths if path not in sys.path]
    pyspark: Any = importlib.import_module("pyspark")
    known = pyspark.SparkContext._active_spark_context
    if known is not None and known._gateway.gateway_parameters.port == int(port):
        return None if known._jsc is None or known._jsc.sc().isStopped() else known
    # Of a connection that was closed.
    pyspark.SparkContext._active_spark_context = None
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    with (
        changed_variable("PYSPARK_GATEWAY_PORT", port),
        changed_variable("PYSPARK_GATEWAY_SECRET", secret),
    ):
        gateway = importlib.import_module("pyspark.java_gateway").launch_gateway()
    active = getattr(getattr(gateway.jvm.org.apache.spark, "SparkContext$"), "MODULE$").getActive()
    if active.isEmpty():
        return None
    java = gateway.jvm.JavaSparkContext(active.get())
    settings = pyspark.SparkConf(_jconf=java.getConf())
    python = settings.get("spark.pyspark.python", python or sys.executable)
    with changed_variable("PYSPARK_PYTHON", python):
        return pyspark.SparkContext(gateway=gateway, jsc=java, conf=settings)


def reason_of(error: Exception) -> str:
    """Return the first line of the reason in an error of Spark, without its full stop."""
    said = _MESSAGE.split(str(error))[-1].strip() or type(error).__name__
    return said.splitlines()[0].rstrip(".")
