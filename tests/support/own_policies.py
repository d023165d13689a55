"""Policies of users, each in one file, as they stand somewhere on the Python path."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from penstock.algebra.memories import OWN_POLICIES

HOME = Path(__file__).parent / "own"
"""Where the package of policies is."""
NAMES = ("FREQUENT", "RECENT", "SWIFT")


def _load() -> None:
    """Import them; then their names find them, and texts do not list them."""
    sys.path.insert(0, str(HOME))
    try:
        for name in NAMES:
            importlib.import_module(f"{OWN_POLICIES}.{name.lower()}")
    finally:
        sys.path.remove(str(HOME))
        del sys.modules[OWN_POLICIES]


_load()
