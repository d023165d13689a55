"""The way into the command `penstock`."""

from __future__ import annotations

from penstock.cli.main import app


def main() -> None:
    """Run the command `penstock`."""
    app(prog_name="penstock")
