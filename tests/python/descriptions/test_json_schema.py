"""The JSON Schema for other tools: a valid schema, which refuses what the package refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# jsonschema is in the environment of the tests with jobs.
pytestmark = pytest.mark.jobs
ROOT = Path(__file__).parents[3]
LOCAL = {"kind": "local", "workers": 2}


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    command = [sys.executable, str(ROOT / "tools" / "schema.py"), "--json"]
    written = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
    schema = json.loads(written.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)

    def is_valid(family: str, value: dict[str, Any]) -> bool:
        one = schema | {"$ref": f"#/$defs/{family}"}
        return jsonschema.Draft202012Validator(one).is_valid(value)

    return is_valid


@pytest.mark.parametrize(
    ("family", "value", "expected"),
    [
        ("strategy", {"kind": "mirrored", "devices": ["CPU:0", "CPU:1"]}, True),
        ("strategy", {"kind": "mirrored", "devices": 0}, False),
        ("strategy", {"kind": "no_such_kind"}, False),
        ("strategy", {"kind": "one_device"}, False),
        ("cluster", LOCAL, True),
        ("cluster", LOCAL | {"restarts": -1}, False),
        ("cluster", LOCAL | {"network": "closed"}, False),
        ("run_config", {"save_checkpoints_steps": 100, "strategy": {"kind": "mirrored"}}, True),
        ("run_config", {"strategy": LOCAL}, False),
        ("estimator", {"kind": "linear_regressor", "feature_columns": []}, False),
    ],
)
def test_a_description_fits_where_the_package_takes_it(
    validator: Any, family: str, value: dict[str, Any], expected: bool
) -> None:
    assert validator(family, value) is expected
