"""Variables of the environment in users' texts: `${NAME}` stands for what must be in no file.

A text is kept as it was written, and a variable is looked up when the text is used. What it then
stands for is told nowhere: an error that would repeat it says `${NAME}` instead.
"""

from __future__ import annotations

import os
import re

VARIABLE = re.compile(r"\$\{(\w+)\}")
TOLD_MAX = 3
"""A value of so few characters is no secret, and stands in many words."""

_resolved: dict[str, str] = {}


class UnsetVariableError(Exception):
    """A text names a variable that is not set."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def with_variables(text: str) -> str:
    """Put what the environment says in the place of every `${NAME}`.

    >>> os.environ["PENSTOCK_EXAMPLE"] = "hunter2"
    >>> with_variables("me:${PENSTOCK_EXAMPLE}@db"), veiled("hunter2 was refused")
    ('me:hunter2@db', '${PENSTOCK_EXAMPLE} was refused')
    >>> with_variables("${PENSTOCK_NOWHERE}")
    Traceback (most recent call last):
    ...
    penstock.vocabulary.environment.UnsetVariableError: PENSTOCK_NOWHERE
    """

    def value(found: re.Match[str]) -> str:
        told = os.environ.get(found[1])
        if told is None:
            raise UnsetVariableError(found[1])
        if len(told) > TOLD_MAX:
            _resolved[told] = found[0]
        return told

    return VARIABLE.sub(value, text)


def veiled(text: str) -> str:
    """Give a text without what variables stood for, as it may be shown."""
    for told in sorted(_resolved, key=len, reverse=True):
        text = text.replace(told, _resolved[told])
    return text
