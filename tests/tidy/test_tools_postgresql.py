"""PostgreSQL is found, or installed where that needs no question, or asked for in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tidy.test_tools import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.program("id", "echo 1000")
    return made


def put(machine: Machine, version: int) -> Path:
    place = machine.home / "postgresql" / str(version) / "bin"
    for name in ("initdb", "postgres"):
        machine.program(name, "exit 0", place)
    return place


def run(machine: Machine):
    places = f"{machine.home}/postgresql/*/bin"
    return machine.run("postgresql.sh", PENSTOCK_POSTGRESQL_PLACES=places)


def test_the_newest_one_is_found(machine: Machine) -> None:
    put(machine, 14)
    newest = put(machine, 16)
    ran = run(machine)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, str(newest), "")


def test_it_is_installed_where_that_needs_no_question(machine: Machine) -> None:
    machine.program("id", "echo 0")
    package, place = put(machine, 16), machine.home / "postgresql"
    hidden = machine.home / "package"
    place.rename(hidden)
    machine.program(
        "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {machine.home}/log\n'
        f'case "$*" in *install*) mv {hidden} {place} ;; esac',
    )
    ran = run(machine)
    assert (ran.returncode, ran.stdout.strip()) == (0, str(package)), ran.stderr
    calls = (machine.home / "log").read_text().splitlines()
    assert calls[0] == "noninteractive -qq update"
    assert " -y " in calls[1]


def test_without_rights_one_sentence_says_that_tests_are_skipped(machine: Machine) -> None:
    machine.program("apt-get", "echo apt-get must not run >&2")
    ran = run(machine)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert "skipped" in ran.stderr
    assert "must not run" not in ran.stderr
