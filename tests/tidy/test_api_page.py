"""The reference of the Python API is what the docstrings say.

`PENSTOCK_UPDATE=1` writes the page anew.
"""

from __future__ import annotations

import inspect
import os
import re

import penstock as ps
from tests.tidy.tree import ROOT

PAGE = ROOT / "docs/reference/api.md"
CLASSES = (
    ps.Engine, ps.Subscription, ps.Desk, ps.Change, ps.Receipt, ps.Notice, ps.RunFigures,
    ps.Outcome, ps.Explanation, ps.TupleExplanation, ps.BatchReport, ps.Sink, ps.BatchSink,
    ps.SinkAddress, ps.SinkFacts, ps.ConsoleSink, ps.PenstockError,
)  # fmt: skip
HEAD = """\
# The Python API, word by word

Made from the docstrings; [Python](python.md) is the same as a text to read, with examples that run.
Everything here is importable from `penstock`.
"""


def signature(function: object) -> str:
    """Give a signature as one calls it, without `self`."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    kept = [each for each in found.parameters.values() if each.name != "self"]
    text = str(found.replace(parameters=kept))
    text = re.sub(r"<function .*? at 0x[0-9a-f]+>", "…", text)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


def said(thing: object) -> str:
    """Give a docstring, its parameters and attributes as a list."""
    text = inspect.getdoc(thing) or ""
    text, *sections = re.split(r"\n\n(Parameters|Attributes|Raises)\n-+\n", text)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        items = re.sub(r"^(\S.*)\n((?:    .*\n?|\n)+)", _item, body + "\n", flags=re.MULTILINE)
        text += f"\n\n{title}:\n\n{items.rstrip()}"
    return text


def _item(match: re.Match[str]) -> str:
    words = " ".join(line.strip() for line in match[2].splitlines() if line.strip())
    return f"- `{match[1]}`: {words}\n"


def members(cls: type) -> list[str]:
    """Describe the public members of a class that say what they are."""
    found = []
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.__doc__:
            found.append(f"### `{name}`\n\n{said(member)}\n")
        elif inspect.isfunction(member) and member.__doc__:
            found.append(f"### `{name}{signature(member)}`\n\n{said(member)}\n")
    return found


def page() -> str:
    """Write the whole page."""
    parts = [HEAD]
    for cls in CLASSES:
        parts += [f"## {cls.__name__}\n\n{said(cls)}\n", *members(cls)]
    text = "\n".join(parts)
    text = re.sub(r"(?:^>>> .*\n(?:^(?!\n).+\n?)*)+", _block, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _block(match: re.Match[str]) -> str:
    return f"```\n{match[0].rstrip()}\n```\n"


def test_the_page_says_what_the_docstrings_say() -> None:
    if os.environ.get("PENSTOCK_UPDATE"):
        PAGE.write_text(page())
        return
    assert PAGE.read_text() == page(), "PENSTOCK_UPDATE=1 writes the page anew"
