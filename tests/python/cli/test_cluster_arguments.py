"""Arguments of the command line for the fields of clusters."""

from __future__ import annotations

import argparse
import dataclasses
import shlex

import pytest

from tfdistribute.cli import cluster_arguments, launch, submit
from tfdistribute.cluster.spec import Cluster

SPELLINGS = {
    "--workers 2-4": {"workers": (2, 4)},
    "--hosts a,b --ssh": None,
    "--hosts a,b --ssh 'ssh -F c'": {"hosts": ["a", "b"], "ssh": ["ssh", "-F", "c"]},
    "--start-timeout 5 --no-evaluator": {"start_timeout_s": 5.0, "evaluator": False},
    "--option=--mem=8G --options=-q": {"options": ["--mem=8G", "-q"]},
    "--environment A=1 --environment B=x=y": {"environment": {"A": "1", "B": "x=y"}},
    "--environment A": None,
    "--lease soon": None,
    "--workers 0": None,
    "--placement far": None,
    "--ray auto": {"address": "auto"},
}


def parser(members: cluster_arguments.Members) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    cluster_arguments.add_cluster_arguments(made, members)
    return made


@pytest.mark.parametrize("members", [launch._MEMBERS, submit._MEMBERS])
def test_every_field_that_users_know_is_an_argument(members: cluster_arguments.Members):
    text = parser(members).format_help()
    for member in members:
        for name in cluster_arguments.fields_for_users(member):
            assert cluster_arguments.argument_of(name) in text
    nothing = parser(members).parse_args([])
    assert cluster_arguments.given_fields(nothing, members) == {}


@pytest.mark.parametrize("text", SPELLINGS)
def test_arguments_become_fields(text: str):
    words = shlex.split(text)
    if SPELLINGS[text] is None:
        with pytest.raises(SystemExit, match="2"):
            parser(launch._MEMBERS).parse_args(words)
        return
    arguments = parser(launch._MEMBERS).parse_args(words)
    assert cluster_arguments.given_fields(arguments, launch._MEMBERS) == SPELLINGS[text]


def test_a_new_field_is_an_argument_without_another_line():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Warm(Cluster):
        warmup_steps: int = 0

    arguments = parser([Warm]).parse_args(["--warmup-steps", "3"])
    assert cluster_arguments.given_fields(arguments, [Warm]) == {"warmup_steps": 3}
