"""A stand-in for the part of Google's SDK that jobs use, with its names, and a JobService over real gRPC.

The stand-in's methods have the names and parameters of ``google.cloud.aiplatform_v1.JobServiceClient``; a test with the
real SDK shows that they do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PARENT = "projects/my-project/locations/europe-west4"


class NotFound(Exception):
    """Raised for a job that is not there."""


NotFound.__module__ = "google.api_core.exceptions"


class FakeService:
    """Jobs by name.

    Args:
        jobs: The values of each request, as its JSON has them.
        states: State and message of each job.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.states: dict[str, tuple[str, str]] = {}
        self.entries: list[Any] = []
        self.endpoints: list[str] = []


def use_fake_sdk(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    """Put the stand-in where the SDK is imported from."""
    service = FakeService()

    class JobServiceClient:
        def __init__(self, *, client_options: dict[str, str]) -> None:
            service.endpoints.append(client_options["api_endpoint"])

        def create_custom_job(self, *, parent: str, custom_job: dict[str, Any]) -> Any:
            name = f"{parent}/customJobs/{len(service.jobs) + 1}"
            service.jobs[name] = custom_job
            service.states[name] = ("JOB_STATE_QUEUED", "")
            return SimpleNamespace(name=name)

        def get_custom_job(self, *, name: str) -> Any:
            self._check(name)
            state, message = service.states[name]
            pools = service.jobs[name]["jobSpec"]["workerPoolSpecs"]
            return SimpleNamespace(
                name=name,
                state=SimpleNamespace(name=state),
                error=SimpleNamespace(message=message) if message else None,
                start_time=None,
                end_time=None
                if "ING" in state or "QUEUED" in state
                else SimpleNamespace(timestamp=lambda: 5.0),
                job_spec=SimpleNamespace(
                    worker_pool_specs=[
                        SimpleNamespace(replica_count=pool.get("replicaCount", 0)) for pool in pools
                    ]
                ),
            )

        def cancel_custom_job(self, *, name: str) -> None:
            self._check(name)
            service.states[name] = ("JOB_STATE_CANCELLED", "")

        def _check(self, name: str) -> None:
            if name not in service.jobs:
                raise NotFound(f"{name} is not found.")

    class CustomJob:
        from_json = staticmethod(json.loads)

    class Client:
        def __init__(self, *, project: str) -> None:
            assert project == "my-project"

        def list_entries(self, *, filter_: str, max_results: int) -> Iterator[Any]:
            assert filter_ == 'resource.type="ml_job" AND resource.labels.job_id="1"'
            return iter(service.entries[:max_results])

    _put(
        monkeypatch,
        "google.cloud.aiplatform_v1",
        JobServiceClient=JobServiceClient,
        CustomJob=CustomJob,
    )
    _put(monkeypatch, "google.cloud.logging", Client=Client)
    return service


def _put(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    for each, value in members.items():
        setattr(module, each, value)
    parent, _, _ = name.rpartition(".")
    if parent not in sys.modules:
        monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    monkeypatch.setitem(sys.modules, name, module)


@contextmanager
def job_service(sdk: Any) -> Iterator[Callable[[], Any]]:
    """Serve Vertex AI's JobService on this machine, and yield a function that makes the SDK's client for it."""
    import grpc

    server = grpc.server(futures.ThreadPoolExecutor(2))
    service = "google.cloud.aiplatform.v1.JobService"
    handlers = grpc.method_handlers_generic_handler(service, _methods(sdk, grpc))
    server.add_generic_rpc_handlers((handlers,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    transports = sdk.services.job_service.transports
    try:
        yield lambda: sdk.JobServiceClient(
            transport=transports.JobServiceGrpcTransport(channel=channel)
        )
    finally:
        channel.close()
        server.stop(0).wait()


def _methods(sdk: Any, grpc: Any) -> dict[str, Any]:
    from google.protobuf import empty_pb2

    jobs: dict[str, Any] = {}
    states = sdk.JobState

    def create(request: Any, context: Any) -> Any:
        job = request.custom_job
        job.name = f"{request.parent}/customJobs/{len(jobs) + 1}"
        job.state = states.JOB_STATE_QUEUED
        jobs[job.name] = job
        return job

    def get(request: Any, context: Any) -> Any:
        if request.name not in jobs:
            context.abort(grpc.StatusCode.NOT_FOUND, f"{request.name} is not found.")
        return jobs[request.name]

    def cancel(request: Any, context: Any) -> Any:
        get(request, context).state = states.JOB_STATE_CANCELLED
        return empty_pb2.Empty()

    def handler(function: Any, request: Any, serialize: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            function, request_deserializer=request.deserialize, response_serializer=serialize
        )

    return {
        "CreateCustomJob": handler(create, sdk.CreateCustomJobRequest, sdk.CustomJob.serialize),
        "GetCustomJob": handler(get, sdk.GetCustomJobRequest, sdk.CustomJob.serialize),
        "CancelCustomJob": handler(
            cancel, sdk.CancelCustomJobRequest, lambda message: message.SerializeToString()
        ),
    }
