"""``python -m tfdistribute submit``, ``list``, ``logs`` and ``stop`` for jobs on managed platforms."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.kubernetes_server import KubernetesServer, kubernetes_server

from tfdistribute.cli import main
from tfdistribute.launch.platforms import managed_job

FAKE_KUBECTL = Path(__file__).parents[1] / "support" / "kubernetes_server.py"


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_temporary_directory: Path
) -> Iterator[KubernetesServer]:
    """A server, and a working directory with a script."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("print('trained')\n", encoding="utf-8")
    with kubernetes_server() as made:
        yield made
    managed_job._known.clear()


def submit(server: KubernetesServer, *arguments: str) -> int:
    kubectl = f"{sys.executable} {FAKE_KUBECTL} --server {server.url}"
    least = ["submit", "train.py", "--image", "a/b:1", "--workers", "2", "--kubectl", kubectl]
    return main([*least, *arguments])


def test_a_submitted_script_is_listed_shown_and_stopped_by_its_name(
    server: KubernetesServer, capsys: pytest.CaptureFixture[str]
):
    assert submit(server, "--volume", "/models=claim", "--", "--rate", "0.1") == 0
    (job,) = server.names("jobs")
    name = f"tfdistribute-logs/{job}"
    said = capsys.readouterr().out
    assert said == f"job {job} was submitted; `logs`, `stop` and `list` know it as {name}\n"
    pods = server.only("jobs")["spec"]["template"]["spec"]
    assert pods["containers"][0]["command"][-4:] == ["python", "train.py", "--rate", "0.1"]

    labels = {"tfdistribute/job": job, "batch.kubernetes.io/job-completion-index": "0"}
    server.add_pod("pod", labels, {"phase": "Running"})
    server.logs["pod"] = "INFO: trained\n"
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [job, "training", name]
    assert main(["logs", name]) == 0
    assert capsys.readouterr().out == "[chief 0] INFO: trained\n"
    assert main(["logs", name, "--follow"]) == 2
    assert main(["stop", name]) == 0
    assert "is not there any more" in capsys.readouterr().out
    assert server.names("jobs") == []
    # Nothing is left but the name.
    assert os.listdir(name) == ["submitted.json"]


def test_a_dry_run_contacts_nobody(
    server: KubernetesServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    server.refusal = (500, "InternalError", "down")
    assert submit(server, "--dry-run", "--gpus", "1") == 0
    made = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in made["items"]] == ["Secret", "Service", "Job"]
    assert '"nvidia.com/gpu": "1"' in json.dumps(made)
    vertex = ["--project", "my-project", "--location", "europe-west4", "--staging", "gs://b/c"]
    least = ["submit", "train.py", "--image", "a/b:1", "--workers", "2"]
    assert main([*least, "--dry-run", *vertex]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["workerPoolSpecs", "scheduling"]
    assert not (tmp_path / "tfdistribute-logs").exists()


def test_a_script_that_cannot_be_submitted_is_told(
    server: KubernetesServer, capsys: pytest.CaptureFixture[str]
):
    least = ["submit", "train.py", "--image", "a/b:1", "--workers", "2"]
    assert main([*least, "--project", "my-project", "--gpus", "1"]) == 2
    assert capsys.readouterr().err == "submit: --gpus is not for Vertex AI\n"
    assert main([*least, "--project", "my-project"]) == 1
    assert "needs `staging`" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        submit(server, "--volume", "/models")
    assert "'/models' has no =" in capsys.readouterr().err
    assert submit(server, "--model-dir", "/tmp/model") == 1
    assert "is inside the containers" in capsys.readouterr().err
    server.refusal = (403, "Forbidden", "no")
    assert submit(server) == 1
    assert "Kubernetes rejected the job: no" in capsys.readouterr().err


def test_a_job_that_cannot_be_asked_for_is_listed_all_the_same(
    server: KubernetesServer, capsys: pytest.CaptureFixture[str]
):
    submit(server)
    server.refusal = (401, "Unauthorized", "who are you?")
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["state"] == "unknown: Kubernetes rejected the job: who are you?"
