"""Drawings of memory curves, for terminals and as SVG, from what `Curve.to_json` describes.

Both are written by hand, so that nothing is needed. Colours follow the reader's light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

Facts = Mapping[str, Any]

EIGHTHS = " ▏▎▍▌▋▊▉"
WIDTH = 640
HEIGHT = 360
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 60, 56
LETTER = 7.0
"""Width of a small letter, on average."""
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)

STYLE = """
svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
.paper { fill: #ffffff; }
.title { fill: #1f2328; font-size: 16px; font-weight: 600; }
.says, .mark { fill: #57606a; font-size: 12px; }
.grid { stroke: #d0d7de; }
.curve { stroke: #0969da; stroke-width: 2.5; fill: none; stroke-linejoin: round; }
.point { fill: #0969da; }
.other { stroke: #8c959f; stroke-width: 1.2; fill: none; stroke-linejoin: round; }
.asked { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 4; }
.told { fill: #cf222e; font-size: 12px; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; }
  .title { fill: #e6edf3; }
  .says, .mark { fill: #9198a1; }
  .grid { stroke: #30363d; }
  .other { stroke: #6e7681; } .curve { stroke: #58a6ff; } .point { fill: #58a6ff; }
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
        said = (f"{100 * need[name]:g} % with {need['rows']:,}" for need in reached)
        lines.append(f"rows for {measure}: {', '.join(said)}")
    return [*lines, *facts.get("notes", ())]


def curve_svg(facts: Facts, title: str = "") -> str:
    """Draw a curve as SVG: rows on a logarithmic axis, the budget asked for as a line.

    `others`, points by name, are drawn thin, on the budgets that the curve spans.
    """
    measure = facts["measure"]
    title = title or f"{measure.capitalize()} against memory"
    notes = " ".join(facts.get("notes", ()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<title>{_text(title)}</title>",
        f"<desc>{_text(notes)}</desc>",
        f"<style>{escape(STYLE)}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        _said(LEFT - 40, 26, title, "title"),
        _said(LEFT - 40, 44, _short(notes), "says"),
    ]
    for share in GRID:
        y = _y(share)
        parts.append(f'<path class="grid" d="M {LEFT} {y:g} H {WIDTH - RIGHT}"/>')
        parts.append(_said(LEFT - 8, y + 4, f"{100 * share:g} %", "mark", "end"))
    points: Sequence[Facts] = facts["points"]
    if points:
        parts += _curve(points, measure.replace(" ", "_"), facts)
    parts.append(_said((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "rows", "mark", "middle"))
    return "\n".join([*parts, "</svg>", ""])


def _curve(points: Sequence[Facts], name: str, facts: Facts) -> Iterator[str]:
    """Draw the line, its points with their budgets, and what is asked for."""
    asked, expected = facts.get("asked_rows"), facts.get("expected")
    ends = [points[0]["rows"], points[-1]["rows"]] + ([asked] if asked else [])
    low, high = math.log(min(ends)), math.log(max(ends))

    def x(rows: int) -> float:
        part = (math.log(rows) - low) / (high - low) if high > low else 0.5
        return LEFT + 16 + part * (WIDTH - RIGHT - LEFT - 32)

    others: Mapping[str, Sequence[Facts]] = facts.get("others", {})
    for number, (other, own) in enumerate(others.items(), start=1):
        places = [(x(point["rows"]), _y(point[name])) for point in own]
        yield f'<path class="other" d="M {" L ".join(f"{a:.1f} {b:.1f}" for a, b in places)}"/>'
        # Names stand apart, each at a point of its own.
        a, b = places[number * len(places) // (len(others) + 1)]
        yield _said(a + 4, b + 14, other, "mark")
    places = [(x(point["rows"]), _y(point[name])) for point in points]
    yield f'<path class="curve" d="M {" L ".join(f"{a:.1f} {b:.1f}" for a, b in places)}"/>'
    free = -math.inf
    for (a, b), point in zip(places, points, strict=True):
        yield f'<circle class="point" cx="{a:.1f}" cy="{b:.1f}" r="4"/>'
        text = f"{point['rows']:,}"
        half = LETTER * len(text) / 2
        # Budgets that lie close to each other would cover each other's figures.
        if a - half >= free:
            yield _said(a, HEIGHT - BOTTOM + 18, text, "mark", "middle")
            free = a + half + LETTER
    if asked and expected is not None:
        yield f'<path class="asked" d="M {x(asked):.1f} {TOP} V {HEIGHT - BOTTOM}"/>'
        side = "end" if x(asked) > WIDTH / 2 else "start"
        shift = -6 if side == "end" else 6
        text = f"asked: {asked:,} rows, {100 * expected:.1f} %"
        yield _said(x(asked) + shift, HEIGHT - BOTTOM - 8, text, "told", side)


def _y(share: float) -> float:
    return TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)


def _bar(share: float, width: int) -> str:
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _said(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{_text(text)}</text>'


def _short(text: str) -> str:
    most = int((WIDTH - LEFT) / LETTER * 1.1)
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(text: str) -> str:
    """Escape a text; what XML may not hold becomes a replacement character."""
    held = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return escape("".join(held))
