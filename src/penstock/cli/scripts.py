"""What a command line may name: a script, a query, a home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.engine import Desk
from penstock.engine.home import OLDER_FORMAT
from penstock.language.parser import parse
from penstock.language.places import suggestion
from penstock.vocabulary.errors import PenstockError


def read_script(path: Path) -> str:
    """Read a script; what is no SQL is said now, before anything is made or started."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        beside = [str(each) for each in path.parent.glob("*.sql")]
        remedy = suggestion(str(path), beside, "Check the path; it is relative to here.")
        raise PenstockError("CLI-001", f"There is no script {path}.", remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PenstockError(
            "CLI-002", f"{path} cannot be read as text: {error}.", "Name a file with SQL in it."
        ) from None
    parse(text)
    return text


def home_of(script: Path, home: Path | None) -> Path:
    """Give the home of a script: the one named, or `<script>-home` here.

    >>> home_of(Path("apps/market.sql"), None).name
    'market-home'
    """
    return home if home is not None else Path(f"{script.stem}-home")


def existing_home(path: Path) -> Path:
    """Refuse a directory that is no home: opening it would make one."""
    if not (path / "penstock.json").is_file():
        raise PenstockError(
            "CLI-003",
            f"There is no Penstock home at {path}.",
            "Name the directory that `penstock run` was given, or run the script first.",
        )
    return path


@contextmanager
def read_home(path: Path) -> Iterator[Desk]:
    """Open a home to read it, beside its engine; one of an older format is migrated first."""
    try:
        desk = Desk(existing_home(path), read_only=True)
    except PenstockError as error:
        if error.code != OLDER_FORMAT:
            raise
        desk = Desk(path)
    try:
        yield desk
    finally:
        desk.close()


def is_script(target: str) -> bool:
    """Tell a script's path from a query's text.

    >>> is_script("market.sql"), is_script("SELECT * FROM trades WHERE note = 'x.sql'")
    (True, False)
    """
    return target.strip().endswith(".sql")
