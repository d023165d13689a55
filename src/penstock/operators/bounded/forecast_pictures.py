"""Drawings of memory curves, for terminals and as SVG, from what `Curve.to_json` describes.

Both are written by hand, so that nothing is needed. Colours follow the reader's light or dark.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.vocabulary.drawings import said, sheet, short

Facts = Mapping[str, Any]

EIGHTHS = " ▏▎▍▌▋▊▉"
WIDTH = 640
HEIGHT = 320
"""Below the notes."""
LEFT, RIGHT, BOTTOM = 72, 24, 60
LEGEND = 110
"""Width of the names of several curves."""
LINE = 17
LETTER = 7.0
"""Width of a small letter, on average."""
BOLD = 7.6
TITLE = 9.4
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
HUES = 6
"""Other curves than the main one have so many colours."""

STYLE = """
svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
.paper { fill: #ffffff; }
.title { fill: #1f2328; font-size: 16px; font-weight: 600; }
.says, .mark { fill: #57606a; font-size: 12px; }
.name { fill: #1f2328; font-size: 12px; }
.grid { stroke: #d0d7de; }
.curve { stroke: #0969da; stroke-width: 3; fill: none; stroke-linejoin: round; }
.point { fill: #0969da; }
.other { stroke-width: 1.6; fill: none; stroke-linejoin: round; }
.hue0 { stroke: #bf8700; } .hue1 { stroke: #8250df; } .hue2 { stroke: #1a7f37; }
.hue3 { stroke: #bf3989; } .hue4 { stroke: #1b7c83; } .hue5 { stroke: #8c6239; }
.best { stroke: #57606a; stroke-dasharray: 2 3; }
.asked { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 4; }
.told { fill: #cf222e; font-size: 12px; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; }
  .title, .name { fill: #e6edf3; }
  .says, .mark { fill: #9198a1; }
  .grid { stroke: #30363d; }
  .curve { stroke: #58a6ff; } .point { fill: #58a6ff; }
  .hue0 { stroke: #e3b341; } .hue1 { stroke: #bc8cff; } .hue2 { stroke: #56d364; }
  .hue3 { stroke: #f778ba; } .hue4 { stroke: #39c5cf; } .hue5 { stroke: #d2a679; }
  .best { stroke: #b1bac4; }
  .asked { stroke: #ff7b72; } .told { fill: #ff7b72; }
}
"""


def curve_lines(facts: Facts, width: int = 40) -> list[str]:
    """Draw a curve as bars, one per budget, and say what memory which share needs.

    >>> points = [{"rows": 500, "recall": 0.5}, {"rows": 1000, "recall": 0.75}]
    >>> facts = {"measure": "recall", "asked_rows": 1000, "points": points}
    >>> for line in curve_lines(facts, 8): print(line)
     rows   recall
      500   50.0 %  ████
    1,000   75.0 %  ██████   asked
    """
    measure, asked = facts["measure"], facts.get("asked_rows")
    name = measure.replace(" ", "_")
    lines = []
    if facts["points"]:
        told = [f"{point['rows']:,}" for point in facts["points"]]
        column = max(len("rows"), *(len(rows) for rows in told))
        wide = max(len(measure), len("100.0 %"))
        lines.append(f"{'rows':>{column}}  {measure:>{wide}}")
        for rows, point in zip(told, facts["points"], strict=True):
            share = point[name]
            shown = f"{100 * share:.1f} %".rjust(wide)
            line = f"{rows:>{column}}  {shown}  {_bar(share, width)}"
            lines.append(line + ("   asked" if point["rows"] == asked else ""))
    reached = [need for need in facts.get("needs", ()) if need["rows"] is not None]
    if reached:
        told_needs = (f"{100 * need[name]:g} % with {need['rows']:,}" for need in reached)
        lines.append(f"rows for {measure}: {', '.join(told_needs)}")
    return [*lines, *facts.get("notes", ())]


def curve_svg(facts: Facts, title: str = "") -> str:
    """Draw a curve as SVG: rows on a logarithmic axis, the budget asked for as a line.

    `others`, points by name, are drawn thin, on the budgets that the curve spans, and listed beside
    it, the highest first; `best` is the name among them that none can surpass, and `name` the
    curve's own. `asked_word` says whose budget the line is.
    """
    measure = facts["measure"]
    title = title or f"{measure.capitalize()} against memory"
    notes = textwrap.wrap(" ".join(facts.get("notes", ())), int((WIDTH - LEFT + 24) / LETTER * 1.1))
    top = 64 + LINE * len(notes)
    paper = _Paper(facts, top, WIDTH + LEGEND * bool(facts.get("others")))
    width, height = paper.width, top + HEIGHT
    parts = [
        said(24, 28, short(title, int((width - 48) / TITLE)), "title"),
        *(said(24, 48 + LINE * number, line, "says") for number, line in enumerate(notes)),
        *paper.axes(measure),
    ]
    if facts["points"]:
        parts += paper.curves(measure.replace(" ", "_"))
    return sheet(width, height, title, " ".join(notes), STYLE, of=parts)


class _Paper:
    """Where curves are drawn."""

    def __init__(self, facts: Facts, top: float, width: int) -> None:
        self.facts, self.top, self.width = facts, top, width
        self.right = width - RIGHT - (LEGEND if facts.get("others") else 0)
        self.floor = top + HEIGHT - BOTTOM
        self.asked = facts.get("asked_rows")
        rows = [point["rows"] for point in facts["points"]] + [self.asked] * bool(self.asked)
        self._low, self._high = (math.log(end(rows)) if rows else 0.0 for end in (min, max))

    def x(self, rows: int) -> float:
        """Place a budget."""
        span = self._high - self._low
        part = (math.log(rows) - self._low) / span if span > 0 else 0.5
        return LEFT + 16 + part * (self.right - LEFT - 32)

    def y(self, share: float) -> float:
        """Place a share."""
        return self.top + (1.0 - share) * (self.floor - self.top)

    def axes(self, measure: str) -> Iterator[str]:
        """Draw the grid, and say what is counted on either axis."""
        for share in GRID:
            y = self.y(share)
            yield f'<path class="grid" d="M {LEFT} {y:g} H {self.right}"/>'
            yield said(LEFT - 8, y + 4, f"{100 * share:g} %", "mark", "end")
        middle = (self.top + self.floor) / 2
        yield f'<g transform="translate(20 {middle:g}) rotate(-90)">'
        yield said(0, 0, measure, "mark", "middle") + "</g>"
        below = (LEFT + self.right) / 2, self.floor + 42
        yield said(*below, "memory in rows (logarithmic)", "mark", "middle")

    def curves(self, name: str) -> Iterator[str]:
        """Draw the lines, the points of the main one with their budgets, and what is asked for."""
        points: Sequence[Facts] = self.facts["points"]
        others: Mapping[str, Sequence[Facts]] = self.facts.get("others", {})
        best = self.facts.get("best")
        hues = (f"hue{number % HUES}" for number in itertools.count())
        kinds = {each: f"other {'best' if each == best else next(hues)}" for each in others}
        for other, own in others.items():
            yield self._line(own, name, kinds[other])
        yield self._line(points, name, "curve")
        if others:
            listed = {self.facts.get("name", ""): points, **others}
            kinds[self.facts.get("name", "")] = "curve"
            heights = {each: own[len(own) // 2][name] for each, own in listed.items()}
            for number, each in enumerate(sorted(listed, key=lambda each: -heights[each])):
                yield from self._legend(number, each, kinds[each])
        yield from self._budgets(points, name)
        yield from self._asked()

    def _line(self, points: Sequence[Facts], name: str, kind: str) -> str:
        places = (f"{self.x(p['rows']):.1f} {self.y(p[name]):.1f}" for p in points)
        return f'<path class="{kind}" d="M {" L ".join(places)}"/>'

    def _legend(self, number: int, name: str, kind: str) -> Iterator[str]:
        x, y = self.right + 16, self.top + 8 + LINE * number
        yield f'<path class="{kind}" d="M {x:g} {y:g} h 22"/>'
        yield said(x + 30, y + 4, name, "name")

    def _budgets(self, points: Sequence[Facts], name: str) -> Iterator[str]:
        free = -math.inf
        for point in points:
            a, text = self.x(point["rows"]), f"{point['rows']:,}"
            yield f'<circle class="point" cx="{a:.1f}" cy="{self.y(point[name]):.1f}" r="4"/>'
            half = LETTER * len(text) / 2
            # Budgets that lie close to each other would cover each other's figures.
            if a - half >= free:
                yield said(a, self.floor + 20, text, "mark", "middle")
                free = a + half + LETTER

    def _asked(self) -> Iterator[str]:
        """Say above the curves, where nothing else is, what the budget asked for brings."""
        expected = self.facts.get("expected")
        if not self.asked or expected is None:
            return
        x, word = self.x(self.asked), self.facts.get("asked_word", "asked")
        yield f'<path class="asked" d="M {x:.1f} {self.top} V {self.floor}"/>'
        text = f"{word}: {self.asked:,} rows, {100 * expected:.1f} %"
        half = BOLD * len(text) / 2
        middle = min(max(x, LEFT + half), self.right - half)
        yield said(middle, self.top - 8, text, "told", "middle")


def _bar(share: float, width: int) -> str:
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()
