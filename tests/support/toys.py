"""The toy kind of `tests/support/toy`, installed as its own `pyproject.toml` says."""

from __future__ import annotations

import tomllib
from pathlib import Path

TOY = Path(__file__).parent / "toy"


def install(where: Path) -> str:
    """Write what an installer would, and give the path that makes the toy a package of Python's.

    >>> import tempfile
    >>> print(install(Path(tempfile.mkdtemp())))
    /...tests/support/toy:/...
    """
    project = tomllib.loads((TOY / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    facts = where / f"{name}-{version}.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
    )
    sections = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (facts / "entry_points.txt").write_text("\n\n".join(sections))
    return f"{TOY}:{where}"
