"""The way into the command `penstock`: an edge is a small process, and imports no engine."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `penstock`."""
    if sys.argv[1:2] == ["edge"]:
        from penstock.cli.edge import app  # noqa: PLC0415  # the others would bring the engine
    else:
        from penstock.cli.main import app  # noqa: PLC0415
    app(prog_name="penstock")
