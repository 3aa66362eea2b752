"""Schemas of the objects that a job on Kubernetes consists of, and strict validation as by an API server.

Trimmed to what a job may use. Names, types and required fields are those of the CRD of TFJob (Kubeflow's training
operator, v1.8, group kubeflow.org/v1), of the CRDs of TrainJob and TrainingRuntime (Kubeflow's Trainer, group
trainer.kubeflow.org/v1alpha1, fields that versions 2.0 to 2.2 share), of JobSet (v1alpha2) and of Kubernetes 1.29.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
# The pattern is that of the CRD.
QUANTITY: dict[str, Any] = {
    "type": "int-or-string",
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
}


def record(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def items(each: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": each}


def values(each: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": each}


SECRET_REFERENCE = record(name=STRING, optional=BOOLEAN)
KEY_REFERENCE = record(("key",), key=STRING, name=STRING, optional=BOOLEAN)
METADATA = record(
    name=STRING,
    namespace=STRING,
    labels=values(STRING),
    annotations=values(STRING),
    finalizers=items(STRING),
)
CONTAINER = record(
    ("name",),
    args=items(STRING),
    command=items(STRING),
    env=items(
        record(
            ("name",),
            name=STRING,
            value=STRING,
            valueFrom=record(secretKeyRef=KEY_REFERENCE, configMapKeyRef=KEY_REFERENCE),
        )
    ),
    envFrom=items(record(configMapRef=SECRET_REFERENCE, prefix=STRING, secretRef=SECRET_REFERENCE)),
    image=STRING,
    imagePullPolicy=STRING,
    name=STRING,
    ports=items(
        record(
            ("containerPort",),
            containerPort=INTEGER,
            hostIP=STRING,
            hostPort=INTEGER,
            name=STRING,
            protocol=STRING,
        )
    ),
    resources=record(limits=values(QUANTITY), requests=values(QUANTITY)),
    terminationMessagePath=STRING,
    terminationMessagePolicy=STRING,
    volumeMounts=items(
        record(
            ("mountPath", "name"),
            mountPath=STRING,
            mountPropagation=STRING,
            name=STRING,
            readOnly=BOOLEAN,
            subPath=STRING,
        )
    ),
    workingDir=STRING,
)
POD = record(
    metadata=METADATA,
    spec=record(
        ("containers",),
        activeDeadlineSeconds=INTEGER,
        containers=items(CONTAINER),
        hostname=STRING,
        nodeSelector=values(STRING),
        priorityClassName=STRING,
        restartPolicy=STRING,
        schedulerName=STRING,
        serviceAccountName=STRING,
        subdomain=STRING,
        terminationGracePeriodSeconds=INTEGER,
        volumes=items(
            record(
                ("name",),
                name=STRING,
                emptyDir=record(medium=STRING, sizeLimit=QUANTITY),
                persistentVolumeClaim=record(("claimName",), claimName=STRING, readOnly=BOOLEAN),
                secret=record(defaultMode=INTEGER, optional=BOOLEAN, secretName=STRING),
            )
        ),
    ),
)
OBJECT_METADATA = record(
    ("name",),
    **METADATA["properties"],
    ownerReferences=items(
        record(
            ("apiVersion", "kind", "name", "uid"),
            apiVersion=STRING,
            kind=STRING,
            name=STRING,
            uid=STRING,
            controller=BOOLEAN,
            blockOwnerDeletion=BOOLEAN,
        )
    ),
)


def kind(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    own = {"apiVersion": STRING, "kind": STRING, "metadata": OBJECT_METADATA}
    return record(("apiVersion", "kind", "metadata", *required), **own, **fields)


JOB = record(
    ("template",),
    activeDeadlineSeconds=INTEGER,
    backoffLimit=INTEGER,
    completionMode={"enum": ("NonIndexed", "Indexed")},
    completions=INTEGER,
    parallelism=INTEGER,
    podFailurePolicy=record(
        ("rules",),
        rules=items(
            record(
                ("action",),
                action={"enum": ("FailJob", "FailIndex", "Ignore", "Count")},
                onExitCodes=record(
                    ("operator", "values"),
                    containerName=STRING,
                    operator={"enum": ("In", "NotIn")},
                    values=items(INTEGER),
                ),
            )
        ),
    ),
    suspend=BOOLEAN,
    template=POD,
    ttlSecondsAfterFinished=INTEGER,
)
JOB_SET = record(
    failurePolicy=record(maxRestarts=INTEGER),
    network=record(enableDNSHostnames=BOOLEAN, publishNotReadyAddresses=BOOLEAN, subdomain=STRING),
    replicatedJobs=items(
        record(
            ("name", "template"),
            name=STRING,
            replicas=INTEGER,
            template=record(metadata=METADATA, spec=JOB),
        )
    ),
    suspend=BOOLEAN,
    ttlSecondsAfterFinished=INTEGER,
)

SCHEMAS = {
    "secrets": kind(type=STRING, data=values(STRING), stringData=values(STRING), immutable=BOOLEAN),
    "services": kind(
        spec=record(
            clusterIP=STRING,
            ports=items(record(("port",), name=STRING, port=INTEGER, protocol=STRING)),
            publishNotReadyAddresses=BOOLEAN,
            selector=values(STRING),
            type=STRING,
        )
    ),
    "jobs": kind(spec=JOB),
    "trainjobs": kind(
        spec=record(
            ("runtimeRef",),
            managedBy=STRING,
            runtimeRef=record(
                ("name",),
                apiGroup=STRING,
                kind={"enum": ("TrainingRuntime", "ClusterTrainingRuntime")},
                name=STRING,
            ),
            suspend=BOOLEAN,
            trainer=record(
                args=items(STRING),
                command=items(STRING),
                env=CONTAINER["properties"]["env"],
                image=STRING,
                numNodes=INTEGER,
                resourcesPerNode=CONTAINER["properties"]["resources"],
            ),
        )
    ),
    "trainingruntimes": kind(
        spec=record(
            mlPolicy=record(numNodes=INTEGER),
            podGroupPolicy=record(coscheduling=record(scheduleTimeoutSeconds=INTEGER)),
            template=record(metadata=METADATA, spec=JOB_SET),
        )
    ),
    "tfjobs": kind(
        spec=record(
            ("tfReplicaSpecs",),
            enableDynamicWorker=BOOLEAN,
            runPolicy=record(
                activeDeadlineSeconds=INTEGER,
                backoffLimit=INTEGER,
                cleanPodPolicy=STRING,
                schedulingPolicy=record(
                    minAvailable=INTEGER,
                    minResources=values(QUANTITY),
                    priorityClass=STRING,
                    queue=STRING,
                    scheduleTimeoutSeconds=INTEGER,
                ),
                suspend=BOOLEAN,
                ttlSecondsAfterFinished=INTEGER,
            ),
            successPolicy=STRING,
            tfReplicaSpecs=values(record(replicas=INTEGER, restartPolicy=STRING, template=POD)),
        )
    ),
}

_TYPES = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "object": dict,
    "array": list,
    "int-or-string": (int, str),
}


def mistakes(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """List what a server refuses: wrong types, missing fields, and unknown ones."""
    if "enum" in schema:
        if value not in schema["enum"]:
            yield f'{path}: Unsupported value: "{value}"'
        return
    expected = _TYPES[schema["type"]]
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        yield f'{path}: Invalid value: must be of type {schema["type"]}: "{value}"'
        return
    if "pattern" in schema and not re.match(schema["pattern"], str(value)):
        yield f'{path}: Invalid value: "{value}": should match the pattern'
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from mistakes(each, schema["items"], f"{path}[{number}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (
            f"{path}.{name}: Required value"
            for name in schema.get("required", ())
            if name not in value
        )
        for name, each in value.items():
            if name in known or "additionalProperties" in schema:
                inner = known.get(name) or schema["additionalProperties"]
                yield from mistakes(each, inner, f"{path}.{name}".lstrip("."))
            else:
                yield f'unknown field "{path}.{name}"'
