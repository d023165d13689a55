"""The frame of the command `penstock`: what all commands have in common."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from penstock.cli.screen import show_error
from penstock.vocabulary.errors import PenstockError

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

QUERIES = "Queries: run them, and look at them"
HOMES = "A home, whether its engine runs or not"
PROGRAMS = "Other programs"
ITSELF = "Penstock itself"
"""The groups in which `penstock --help` lists commands."""


class Commands(TyperGroup):
    """Turns errors that Penstock raises on purpose into one message and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            show_error(error)
            raise typer.Exit(EXIT_ERROR) from None
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None


def application() -> typer.Typer:
    """Give a command line without commands."""
    return typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode="markdown",
    )
