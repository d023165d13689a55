"""Drawings of plans: the tree of joins as SVG, written by hand, so that nothing is needed.

The last join is on top, the inputs below. An edge is as thick as its rate is high, a stripe says
how busy a join is, a gate at an input is its drop box. Colours follow the reader's light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log10
from textwrap import wrap
from typing import Literal

from penstock.planning.figures import figure, percent, size
from penstock.planning.plan_facts import InputFacts, JoinFacts, Node, inputs_in
from penstock.vocabulary.drawings import said, sheet, short

BOX_WIDTH = 252
JOIN_HEIGHT = 84
INPUT_HEIGHT = 66
GAP = 24
LEVEL = 132
MARGIN = 24
LINE = 17
TITLE_LINE = 21
STRIPE = 6
CHARACTER_WIDTH = 7.2
"""Of the small letters in a box, on average."""
TITLE_CHARACTER_WIDTH = 10.5
EDGE_MAX = 14.0
BUSY = 0.8
"""A join that takes this share of the bound is hot."""
WARM = 0.4

STYLE = """
svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
.paper { fill: #ffffff; }
.box { fill: #f6f8fa; stroke: #8c959f; }
.name { fill: #1f2328; font-size: 14px; font-weight: 600; }
.fact { fill: #424a53; font-size: 12px; }
.title { fill: #1f2328; font-size: 16px; font-weight: 600; }
.says { fill: #424a53; font-size: 13px; }
.edge { stroke: #9fb3c8; fill: none; stroke-linecap: round; }
.rate { fill: #57606a; font-size: 11px; }
.cool { fill: #2da44e; } .warm { fill: #d4a72c; } .hot { fill: #cf222e; }
.gate { fill: #cf222e; stroke: #ffffff; stroke-width: 1.5; }
.pass { fill: #cf222e; font-size: 12px; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; }
  .box { fill: #161b22; stroke: #6e7681; }
  .name, .title { fill: #e6edf3; }
  .fact, .says { fill: #b1bac4; }
  .edge { stroke: #3d5a78; }
  .rate { fill: #9198a1; }
  .cool { fill: #3fb950; } .warm { fill: #e3b341; } .hot, .pass { fill: #ff7b72; }
  .gate { fill: #ff7b72; stroke: #0d1117; }
}
"""


@dataclass(frozen=True, slots=True)
class Placed:
    """A node and the middle of its box's upper edge."""

    node: Node
    x: float
    y: float

    @property
    def height(self) -> int:
        """How tall its box is."""
        return JOIN_HEIGHT if isinstance(self.node, JoinFacts) else INPUT_HEIGHT


def draw(root: Node, title: str, says: str, bound: float) -> str:
    """Draw a plan: a title, a sentence or two, and the tree; `bound` is in processors."""
    count = sum(1 for _ in inputs_in(root))
    width = max(count * (BOX_WIDTH + GAP) - GAP, 2 * BOX_WIDTH) + 2 * MARGIN
    lines = wrap(says, max(int((width - 2 * MARGIN) / CHARACTER_WIDTH), 20))
    top = MARGIN + TITLE_LINE + len(lines) * LINE + GAP
    places = {place.node.mask: place for place in _placed(root, top)}
    centre = (width - 2 * MARGIN - (count * (BOX_WIDTH + GAP) - GAP)) / 2
    places = {
        mask: Placed(place.node, place.x + MARGIN + centre, place.y)
        for mask, place in places.items()
    }
    height = max(place.y + place.height for place in places.values()) + MARGIN
    parts = [
        said(MARGIN, MARGIN + 10, short(title, int(width / TITLE_CHARACTER_WIDTH)), "title"),
        *(
            said(MARGIN, MARGIN + 10 + TITLE_LINE + number * LINE, line, "says")
            for number, line in enumerate(lines)
        ),
        *_edges(root, places),
    ]
    for place in places.values():
        parts += _join(place, bound) if isinstance(place.node, JoinFacts) else _input(place)
    return sheet(width, height, title, says, STYLE, of=parts)


def _placed(root: Node, top: float) -> Iterator[Placed]:
    """Place inputs side by side and every join above the middle of its parts."""
    columns = {each.mask: number for number, each in enumerate(inputs_in(root))}

    def place(node: Node, depth: int) -> Iterator[Placed]:
        y = top + depth * LEVEL
        if isinstance(node, InputFacts):
            x = columns[node.mask] * (BOX_WIDTH + GAP) + BOX_WIDTH / 2
            yield Placed(node, x, y)
            return
        left = list(place(node.left, depth + 1))
        right = list(place(node.right, depth + 1))
        yield Placed(node, (left[0].x + right[0].x) / 2, y)
        yield from left
        yield from right

    yield from place(root, 0)


def _edges(root: Node, places: dict[int, Placed]) -> Iterator[str]:
    """Draw what flows from the parts of a join into it, thicker where more flows."""
    if not isinstance(root, JoinFacts):
        return
    above = places[root.mask]
    sides: tuple[tuple[Node, float, Literal[-1, 1]], ...] = (
        (root.left, root.rates[0], -1),
        (root.right, root.rates[1], 1),
    )
    for node, rate, side in sides:
        below = places[node.mask]
        x, y = above.x + side * BOX_WIDTH / 4, above.y + JOIN_HEIGHT
        middle = (y + below.y) / 2
        yield (
            f'<path class="edge" stroke-width="{_thickness(rate):.1f}" '
            f'd="M {below.x:g} {below.y:g} C {below.x:g} {middle:g} {x:g} {middle:g} {x:g} {y:g}"/>'
        )
        inner = "start" if side < 0 else "end"
        yield said(x - side * 10, y + 16, f"{figure(rate)}/s", "rate", inner)
        if isinstance(node, InputFacts) and node.dropped > 0.0:
            outer = "end" if side < 0 else "start"
            yield from _gate(below, f"passes {percent(node.pass_fraction)}", side, outer)
        yield from _edges(node, places)


def _thickness(rate: float) -> float:
    return min(1.5 + 2.5 * log10(1.0 + rate), EDGE_MAX)


def _join(place: Placed, bound: float) -> Iterator[str]:
    """Draw a join: its parts' state and how busy it is."""
    node = place.node
    assert isinstance(node, JoinFacts)
    load = node.utilisation / bound
    heat = "hot" if load >= BUSY else "warm" if load >= WARM else "cool"
    left, y = place.x - BOX_WIDTH / 2, place.y
    kept = f"keeps {figure(node.rows[0])} + {figure(node.rows[1])} rows"
    if node.memory_bytes:
        kept += f", {size(node.memory_bytes)}"
    yield _box(left, y, JOIN_HEIGHT)
    yield (
        f'<rect class="{heat}" x="{left:g}" y="{y:g}" width="{STRIPE}" '
        f'height="{JOIN_HEIGHT}" rx="3"/>'
    )
    yield said(left + 16, y + 20, short(node.label, 28), "name")
    yield said(left + 16, y + 20 + LINE, f"out {figure(node.output_rate)}/s", "fact")
    yield said(left + 16, y + 20 + 2 * LINE, kept, "fact")
    busy = f"busy {percent(node.utilisation)}, {' + '.join(node.indexes)}"
    yield said(left + 16, y + 20 + 3 * LINE, busy, "fact")


def _input(place: Placed) -> Iterator[str]:
    """Draw an input: its rate, its window, what is asked of its rows."""
    node = place.node
    assert isinstance(node, InputFacts)
    left, y = place.x - BOX_WIDTH / 2, place.y
    rate = "table" if node.is_table else f"{figure(node.rate)}/s"
    yield _box(left, y, INPUT_HEIGHT)
    yield said(left + 16, y + 20, short(node.name, 28), "name")
    yield said(left + 16, y + 20 + LINE, f"{rate}, {node.window}", "fact")
    asked = ", ".join(_asked(node))
    yield said(left + 16, y + 20 + 2 * LINE, short(asked, 31), "fact")


def _gate(place: Placed, says: str, side: int, anchor: str) -> Iterator[str]:
    """Draw a drop box where an input's rows leave it."""
    x, y = place.x, place.y - 14
    yield (
        f'<path class="gate" d="M {x - 11:g} {y - 9:g} L {x + 11:g} {y + 9:g} '
        f'L {x + 11:g} {y - 9:g} L {x - 11:g} {y + 9:g} Z"/>'
    )
    yield said(x + side * 18, y + 5, says, "pass", anchor)


def _asked(node: InputFacts) -> Iterator[str]:
    for each in node.selections:
        yield f"{each.text or each.part}: {percent(each.selectivity)}"


def _box(x: float, y: float, height: int) -> str:
    return f'<rect class="box" x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{height}" rx="6"/>'
