"""Drawings as SVG, written by hand, so that nothing is needed."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape


def sheet(
    width: float, height: float, title: str, says: str, style: str, *, of: Iterable[str]
) -> str:
    """Give a whole drawing of parts: its size, what it is called and what it says, its colours."""
    opening = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">',
        f"<title>{printable(title)}</title>",
        f"<desc>{printable(says)}</desc>",
        f"<style>{escape(style)}</style>",
        f'<rect class="paper" width="{width:g}" height="{height:g}"/>',
    ]
    return "\n".join([*opening, *of, "</svg>", ""])


def said(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    """Write a line of text.

    >>> said(1, 2.5, "a < b", "fact")
    '<text class="fact" x="1" y="2.5" text-anchor="start">a &lt; b</text>'
    """
    shown = printable(text)
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{shown}</text>'


def short(text: str, most: int) -> str:
    """Cut a text that has more letters.

    >>> short("quantity", 5)
    'quan…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def printable(text: str) -> str:
    """Escape a text; what XML may not hold becomes a replacement character."""
    held = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return escape("".join(held))
