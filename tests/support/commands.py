"""Commands in a process of its own, one after the other: `python -m tests.support.commands`.

It reads the arguments of each as a line of JSON, and answers with its exit code, what it said and
what it said of errors. One Java serves all commands that need it.
"""

from __future__ import annotations

import json
import sys

from typer.testing import CliRunner

from penstock.cli.main import app


def main() -> None:
    """Run every command that is asked for."""
    for line in sys.stdin:
        ran = CliRunner().invoke(app, json.loads(line))
        print(json.dumps([ran.exit_code, ran.stdout, ran.stderr]), flush=True)


if __name__ == "__main__":
    main()
