"""Brokers are found, or installed where that needs no question, or asked for in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tidy.test_tools import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.program("id", "echo 1000")
    return made


def run(machine: Machine):
    return machine.run("brokers.sh", PENSTOCK_BROKER_PLACES=f"{machine.home}/brokers")


def test_programs_are_found(machine: Machine) -> None:
    place = machine.home / "brokers"
    for name in ("redis-server", "mosquitto"):
        machine.program(name, "exit 0", place)
    ran = run(machine)
    found = [f"{place}/redis-server", f"{place}/mosquitto"]
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, found, "")


def test_what_is_missing_is_installed_where_that_needs_no_question(machine: Machine) -> None:
    machine.program("id", "echo 0")
    place, hidden = machine.home / "brokers", machine.home / "package"
    machine.program("redis-server", "exit 0", place)
    machine.program("mosquitto", "exit 0", hidden)
    machine.program(
        "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {machine.home}/log\n'
        f'case "$*" in *install*) mv {hidden}/mosquitto {place} ;; esac',
    )
    ran = run(machine)
    assert (ran.returncode, ran.stdout.split()[-1]) == (0, f"{place}/mosquitto"), ran.stderr
    calls = (machine.home / "log").read_text().splitlines()
    assert calls[0] == "noninteractive -qq update" and calls[1].endswith(" mosquitto")


def test_without_rights_a_sentence_each_says_that_tests_are_skipped(machine: Machine) -> None:
    machine.program("apt-get", "echo apt-get must not run >&2")
    ran = run(machine)
    assert (ran.returncode, ran.stdout, ran.stderr.count("skipped")) == (1, "", 2)
    assert "must not run" not in ran.stderr
