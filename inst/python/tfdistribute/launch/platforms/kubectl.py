"""Jobs on Kubernetes through the program kubectl, which knows the cluster and the user's credentials."""

import json
import re
import subprocess
import time
from collections.abc import Sequence
from urllib.parse import quote

from tfdistribute.cluster.managed import JOB_KINDS, KubernetesCluster
from tfdistribute.errors import BackendError, ClusterError, TfdistributeError
from tfdistribute.files import parse_object
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms import pod_status
from tfdistribute.launch.platforms.kubernetes import LABEL, RUNTIME, Object, api_path, job_objects
from tfdistribute.launch.platforms.platform import Platform, PlatformState, stage
from tfdistribute.rules import Finding

_OPERATORS = {
    "TFJob": "Kubeflow's training operator (version 1)",
    "TrainJob": "Kubeflow's Trainer (version 2)",
}

# kubectl begins the server's answers with it.
_ANSWER = re.compile(r"Error from server(?: \((\w+)\))?: (.*)", re.DOTALL)
_TIMEOUT_S = 60.0
_LINES = 10000

_REMEDIES = {
    "Forbidden": "Ask for that right; `kubectl auth can-i create {resource} -n {namespace}` shows whether you have it.",
    "Unauthorized": "Log in to the cluster: `{kubectl} get nodes` must work.",
    "AlreadyExists": "Give the cluster another `name`, or delete the old job.",
    "NotFound": "check_cluster() shows which kinds of job the cluster has; the `job_kind` Job needs no operator.",
}


class Kubernetes(Platform[KubernetesCluster]):
    def describe(self, job: Job, archive: bytes) -> Object:
        items = job_objects(self.cluster, job, archive)
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def submit(self, job: Job, archive: bytes) -> str:
        # What belongs to a job is created after it, and is removed with it.
        *others, main = job_objects(self.cluster, job, archive)
        stage(self.cluster, job, archive)
        for each in [each for each in others if each["kind"] == RUNTIME]:
            # Without it, the server rejects a TrainJob.
            self._create(each)
            others.remove(each)
        try:
            answer = self._create(main)
        except BaseException:
            self._delete_runtime(job.id)
            raise
        owner = {
            "apiVersion": main["apiVersion"],
            "kind": main["kind"],
            "name": job.id,
            "uid": answer["metadata"]["uid"],
        }
        try:
            for each in others:
                # Pods wait for their Secret.
                self._create({**each, "metadata": {**each["metadata"], "ownerReferences": [owner]}})
        except BaseException:
            self.cancel(job.id)
            raise
        return job.id

    def state(self, name: str) -> PlatformState:
        main = self._get(self._path(self.cluster.job_kind, name))
        if main is None:
            return PlatformState("stopped", "The job is not there any more.", ended=time.time())
        return pod_status.job_state(self.cluster, main, self._pods(name))

    def logs(self, name: str) -> dict[str, list[str]]:
        lines_by_task: dict[str, list[str]] = {}
        for pod in self._pods(name):
            path = f"{self._path('Pod', pod['metadata']['name'])}/log?tailLines={_LINES}"
            # A pod that has not started has no log.
            text = self._answer(["get", "--raw", path], missing="")
            lines_by_task[pod_status.task_of(self.cluster, pod)] = text.splitlines()
        return lines_by_task

    def cancel(self, name: str) -> None:
        self._delete(self.cluster.job_kind, name)
        self._delete_runtime(name)

    def check(self) -> list[Finding]:
        """List what the cluster lacks for the job, and note the kinds of job that it has."""
        try:
            known = [kind for kind in JOB_KINDS if self._knows(kind)]
            has_queues = self._get("/apis/kueue.x-k8s.io") is not None
        except TfdistributeError as error:
            return [Finding("kubectl", error.problem, error.remedy or "")]
        chosen, queue = self.cluster.job_kind, self.cluster.queue
        text = f"The cluster has the kinds {', '.join(known)}."
        findings = [Finding("job_kind", text, "", severity="note")]
        if chosen not in known:
            message = f'`job_kind` is "{chosen}", which the cluster does not have.'
            fix = f"Use one of {', '.join(known)}, or install {_OPERATORS.get(chosen, 'it')}."
            findings.insert(0, Finding("job_kind", message, fix))
        if queue is not None and not has_queues:
            message = f'`queue` is "{queue}", and the cluster does not have Kueue.'
            findings.insert(0, Finding("queue", message, "Leave `queue` out, or install Kueue."))
        return findings

    def _knows(self, kind: str) -> bool:
        resources = (self._get(api_path(kind)) or {}).get("resources") or ()
        return any(each.get("kind") == kind for each in resources)

    def _delete_runtime(self, name: str) -> None:
        if self.cluster.job_kind == "TrainJob":
            self._delete(RUNTIME, name)

    def _delete(self, kind: str, name: str) -> None:
        options = json.dumps(
            {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        )
        path = self._path(kind, name)
        self._answer(["delete", "--raw", path, "-f", "-"], options, missing="")

    def _pods(self, name: str) -> list[Object]:
        selector = quote(f"{LABEL}={name}", safe="")
        answer = self._get(f"{self._path('Pod')}?labelSelector={selector}")
        return [] if answer is None else list(answer.get("items") or ())

    def _create(self, value: Object) -> Object:
        # A server rejects an object with an unknown field.
        path = f"{self._path(value['kind'])}?fieldValidation=Strict"
        answer = self._answer(["create", "--raw", path, "-f", "-"], json.dumps(value))
        return parse_object(answer) or {}

    def _get(self, path: str) -> Object | None:
        return parse_object(self._answer(["get", "--raw", path], missing="{}")) or None

    def _path(self, kind: str, name: str = "") -> str:
        path = f"{api_path(kind)}/namespaces/{self.cluster.namespace}/{kind.lower()}s"
        return f"{path}/{name}" if name else path

    def _answer(self, arguments: Sequence[str], sent: str = "", missing: str | None = None) -> str:
        command = [*self.cluster.kubectl, *arguments]
        try:
            ended = subprocess.run(
                command,
                input=sent,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            raise BackendError(
                f"`kubectl` {command[0]!r} cannot be run: {error.strerror}.",
                "Install kubectl, or write the job to a file with write_manifest() and send it from elsewhere.",
                value=command[0],
            ) from error
        except subprocess.TimeoutExpired as error:
            raise ClusterError(
                f"Kubernetes did not answer within {_TIMEOUT_S:g} seconds.",
                f"See why `{' '.join(self.cluster.kubectl)} get nodes` does not.",
                argument="kubectl",
            ) from error
        if ended.returncode == 0:
            return ended.stdout
        answer = _ANSWER.search(ended.stderr)
        if missing is not None and answer and answer.group(1) in ("NotFound", "BadRequest"):
            return missing
        raise self._refusal(arguments, ended.stderr.strip(), answer)

    def _refusal(
        self, arguments: Sequence[str], said: str, answer: re.Match[str] | None
    ) -> ClusterError:
        reason = None if answer is None else answer.group(1)
        text = said if answer is None else answer.group(2).strip()
        kubectl = " ".join(self.cluster.kubectl)
        resource = arguments[2].partition("?")[0].rpartition("/")[2]
        remedy = _REMEDIES.get(reason or "", "See whether `{kubectl} get nodes` works.")
        if reason in ("Invalid", "BadRequest"):
            remedy = "Correct the named field, which kubernetes_cluster() gives."
        return ClusterError(
            f"Kubernetes rejected the job: {text}",
            remedy.format(kubectl=kubectl, resource=resource, namespace=self.cluster.namespace),
            argument="cluster",
        )
