"""The scripts behind `make` find what is there, and ask for what is not in one sentence."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT

BASH = shutil.which("bash") or "bash"
TOOLS = ("bash", "env", "mv", "sed")


class Machine:
    """A PATH with a handful of tools, and whatever programs a test adds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bin = home / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, f"this machine has no {tool}"
            (self.bin / tool).symlink_to(found)

    def program(self, name: str, body: str, where: Path | None = None) -> None:
        """Add a program."""
        path = (where or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{BASH}\n{body}\n")
        path.chmod(0o755)

    def java(self, version: int, home: Path, where: Path | None = None) -> None:
        """Add a Java that tells its version and home as the real one does, on stderr."""
        facts = {"java.home": home, "java.specification.version": version}
        told = (f'echo "    {name} = {fact}" >&2' for name, fact in facts.items())
        self.program("java", "\n".join(told), where)

    def run(self, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a script of tools/ here."""
        return subprocess.run(
            [BASH, str(ROOT / "tools" / script), *arguments],
            env={
                "PATH": str(self.bin),
                "PENSTOCK_JAVA_PLACES": f"{self.home}/jvm/*",
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.program("id", "echo 1000")
    return made


def test_java_comes_from_java_home_first(machine: Machine) -> None:
    chosen, other = machine.home / "chosen", machine.home / "other"
    machine.java(21, chosen, chosen / "bin")
    machine.java(17, other)
    ran = machine.run("java.sh", JAVA_HOME=str(chosen))
    assert (ran.returncode, ran.stdout.strip()) == (0, str(chosen))


def test_an_old_java_is_passed_over(machine: Machine) -> None:
    old, new = machine.home / "jvm" / "java-11", machine.home / "jvm" / "java-17"
    machine.java(11, old)
    machine.java(11, old, old / "bin")
    machine.java(17, new, new / "bin")
    ran = machine.run("java.sh", JAVA_HOME=str(old))
    assert (ran.returncode, ran.stdout.strip()) == (0, str(new))


def test_without_java_and_without_rights_one_sentence_says_what_to_install(
    machine: Machine,
) -> None:
    machine.program("apt-get", "echo apt-get must not run >&2")
    machine.program("sudo", "exit 1")
    ran = machine.run("java.sh")
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert "Java 17 or newer" in ran.stderr
    assert "must not run" not in ran.stderr


def test_without_java_and_without_apt_get_one_sentence_says_what_to_install(
    machine: Machine,
) -> None:
    machine.program("id", "echo 0")
    ran = machine.run("java.sh")
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("user", [0, 1000])
def test_java_is_installed_where_that_needs_no_question(machine: Machine, user: int) -> None:
    made = machine.home / "jvm" / "java-21"
    machine.program("id", f"echo {user}")
    machine.program("sudo", '[ "$1" = -n ] && shift; [ "$1" = true ] || "$@"')
    machine.java(21, made, machine.home / "package" / "bin")
    made.parent.mkdir()
    # The first package is unknown here, as in newer distributions; the second one comes.
    machine.program(
        "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {machine.home}/log\n'
        'case "$*" in\n'
        "*openjdk-17*) exit 100 ;;\n"
        f"*openjdk-21*) mv {machine.home}/package {made} ;;\n"
        "esac",
    )
    ran = machine.run("java.sh")
    assert (ran.returncode, ran.stdout.strip()) == (0, str(made)), ran.stderr
    calls = (machine.home / "log").read_text().splitlines()
    assert calls[0] == "noninteractive -qq update"
    assert all(" -y " in call for call in calls[1:])


def test_a_python_that_only_has_the_name_is_passed_over(machine: Machine) -> None:
    machine.program("python3.13", "exit 127")
    machine.program("python3.12", "exit 0")
    ran = machine.run("python.sh")
    assert (ran.returncode, ran.stdout.strip()) == (0, "python3.12")


@pytest.mark.parametrize("choice", ["", "python3.9"])
def test_without_a_fitting_python_one_sentence_says_what_to_install(
    machine: Machine, choice: str
) -> None:
    machine.program("python3.9", "exit 1")
    ran = machine.run("python.sh", choice)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "Python 3.11 or newer" in ran.stderr
