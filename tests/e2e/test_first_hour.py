"""A newcomer's hour: the wheel in a clean environment, and the guide's commands word by word."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.kernels.machine_code import code_directory

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/first_hour.md"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
NOISE = ("Traceback", "WARNING", "ERROR", "nanobind", "java.")

pytestmark = pytest.mark.spark


def clean_environment(place: Path) -> Path:
    """Make an environment with the wheel; packages of others are found where they are here."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "env"], check=True)
    (packages,) = (place / "env/lib").glob("python*/site-packages")
    # A path in a .pth is searched, but its own .pth files are not: no checkout of ours is found.
    (packages / "others.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    python = place / "env/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return python.parent


def expected(place: Path) -> Counter[str]:
    """Count readings above the limit of each alert, without the engine."""
    readings = [
        row
        for file in (place / "readings").iterdir()
        for row in csv.DictReader(file.read_text().splitlines())
    ]
    by_sensor: dict[str, list[float]] = {}
    for row in readings:
        by_sensor.setdefault(row["sensor"], []).append(float(row["celsius"]))
    return Counter(
        {
            alert["id"]: above
            for alert in csv.DictReader((place / "alerts.csv").read_text().splitlines())
            if (above := sum(c > float(alert["above"]) for c in by_sensor[alert["sensor"]]))
        }
    )


def test_the_first_hour_goes_well(tmp_path: Path) -> None:
    commands = ["set -e"]
    (tmp_path / "work").mkdir()
    for language, file, text in FENCE.findall(GUIDE.read_text()):
        if file:
            (tmp_path / "work" / file).write_text(text)
        elif language == "sh":
            commands.append(text)
    programs = clean_environment(tmp_path)
    path = f"{programs}:{os.environ['PATH']}"
    kernels = str(code_directory().parents[1])  # compiled once for all tests
    done = subprocess.run(
        ["bash", "-c", "\n".join(commands)],
        cwd=tmp_path / "work",
        env={**os.environ, "PATH": path, "NUMBA_CACHE_DIR": kernels, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    right = expected(tmp_path / "work")
    assert f"10000 alerts stand, {right.total()} readings were above a limit" in done.stdout
    assert "2000 readings in this run" in done.stdout
    assert not [word for word in NOISE if word in said], said
    files = sorted((tmp_path / "work/found").glob("*.parquet"))
    found = Counter(name for file in files for name in pq.read_table(file)["_id"].to_pylist())
    assert found == right
