"""Owners: what a home is known by where it has views in PostgreSQL.

Whoever copies a home copies its name there. So a view notes the place of the home that keeps it as
well, and of two homes of one name the one beside it is refused, or the one that came first, once
the other has taken a turn: neither is given what the other's turns told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.storage.files import read_json
from penstock.storage.seals import unsealed
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding

DIRECTORY = "views"
"""Where the files of views lie in a home."""
OWNER = "owner.json"
"""Says what a home is known by where it has views in PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A home that keeps views elsewhere; views of before note no place.

    >>> Owner.of(str(Owner("1f", "/srv/home")))
    Owner(name='1f', place='/srv/home')
    """

    name: str
    place: str = ""

    @classmethod
    def of(cls, text: str) -> Owner:
        """Read what `str` wrote."""
        name, _, place = text.partition("\n")
        return cls(name, place)

    def __str__(self) -> str:
        return f"{self.name}\n{self.place}"

    def is_at(self, noted: Owner) -> bool:
        """Say whether this home is at a place that a view noted, by whatever path."""
        with suppress(OSError):
            return Path(self.place).samefile(noted.place)
        return self.place == noted.place

    def is_beside(self, noted: Owner) -> bool:
        """Say whether a home of the same name is at another place, which a view noted."""
        if not noted.place or self.is_at(noted):
            return False
        with suppress(PenstockError):
            return name_of(noted.place) == self.name
        return False


def owner_of(home: str | Path) -> Owner | None:
    """Give what a home is known by; None before it has a view elsewhere."""
    name = name_of(home)
    return None if name is None else Owner(name, str(Path(home).resolve()))


def name_of(home: str | Path) -> str | None:
    """Read the name of a home among owners, if it has one."""
    path = Path(home) / DIRECTORY / OWNER
    try:
        # Before version 0.1 it had no seal.
        return str(unsealed(read_json(path), ("owner",))["owner"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise PenstockError(
            "VIEW-016",
            f"{path} does not say what the home is known by in PostgreSQL: {error}.",
            "Restore it from a copy; or drop the views that live there, remove it, and create them "
            "anew.",
        ) from None


def damaged_owner(home: Path) -> Iterator[tuple[Finding, str]]:
    """Say, with a remedy, if what a home is known by elsewhere is not as it was written."""
    try:
        name_of(home)
    except PenstockError as error:
        finding = Finding(error.code, home / DIRECTORY / OWNER, "is not as it was written")
        yield finding, error.remedy


def lost_owner(home: Path) -> tuple[Path, str] | None:
    """Say of a home that has views elsewhere if nothing says what it is known by there."""
    path = home / DIRECTORY / OWNER
    return None if path.exists() else (path, "is missing, though a view lives in PostgreSQL")
