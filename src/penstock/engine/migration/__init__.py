"""Migration of homes: one of an older format is copied, brought up to date, and takes its place.

Takes: a home of an older format that nobody else has open.
Gives: the same home in this format, the old one beside it, and what could not be brought over.
Never: a change of the old home's files, a home that is half the one and half the other.
"""

from penstock.engine.migration.formats import FORMAT, MIGRATIONS, OLDEST, Tell
from penstock.engine.migration.relocation import LOCK, MARKER, finish_move, migrate_home

__all__ = [
    "FORMAT", "LOCK", "MARKER", "MIGRATIONS", "OLDEST", "Tell", "finish_move", "migrate_home",
]  # fmt: skip
