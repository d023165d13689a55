"""`penstock plot`: a subscription's rows, models and answers, drawn by matplotlib."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.cli.screen import Screen
from penstock.cli.scripts import read_home
from penstock.engine.plots import plot
from penstock.kinds.pictures import ExpectedCrossing, Panel, Picture, Strand
from penstock.vocabulary.counts import counted
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
ROW, WITHDRAWN, HELD, LIMIT = "#6b6b6b", "#c0504d", "#4f9a5b", "#8a6d3b"
COLOURS = (
    ("#1f5fa8", "#cfe2f3"), ("#b8651b", "#f6e3cf"), ("#6a4c93", "#e5dcf0"), ("#2a7f7f", "#d3ecec"),
)  # fmt: skip
"""Of the segments of a key, and of their band."""
PANEL_INCHES, STRIP = 2.9, 0.09
CROSSINGS: dict[str, dict[str, Any]] = {
    "confirmed": {"marker": "D", "mfc": HELD, "mec": "white"},
    "withdrawn": {"marker": "D", "mfc": "white", "mec": WITHDRAWN},
    "expected": {"marker": "D", "mfc": "white", "mec": HELD},
}
WORDS = {
    "confirmed": "expected, and it came",
    "withdrawn": "expected, and withdrawn",
    "expected": "expected",
}


def plot_subscription(
    home: Path, name: str, key: tuple[str, ...], id_: str | None, last: str | None,
    out: Path | None, screen: Screen,
) -> None:  # fmt: skip
    """Draw a subscription of a home into a file."""
    path = out or Path(f"{name}.svg")
    if path.suffix.lower() not in ENDINGS:
        fact = f"{path} is no picture's name."
        raise PenstockError("PLT-004", fact, f"Let it end with {', '.join(ENDINGS)}.")
    if importlib.util.find_spec("matplotlib") is None:
        fact = f"Nothing can be drawn into {path}: matplotlib is not installed."
        raise PenstockError("LAB-002", fact, "Install it: pip install 'penstock[lab]'.")
    with read_home(home) as desk, screen.busy(f"Reading {home}"):
        picture = plot(desk, name, key, id_, None if last is None else microseconds(last))
    with screen.busy(f"Drawing {path}"):
        try:
            drawn(picture).savefig(path, dpi=130)
        except OSError as error:
            fact = f"{path} cannot be written: {error.strerror or error}."
            remedy = "Name a file in a directory that is there."
            raise PenstockError("PLT-004", fact, remedy) from None
    facts = picture_facts(picture)
    expected = sum(facts["expectations"].values())
    if screen.as_json:
        screen.result({"file": str(path), **facts})
        return
    for note in picture.notes:
        screen.progress.print(f"[dim]{note}[/]")
    screen.out.print(
        f"{picture.title}: {counted(facts['rows'], 'row')}, "
        f"{counted(facts['segments'], 'segment')}, {counted(facts['answers'], 'answer')}, "
        f"{expected:,} expected before they came: {path}", markup=False,
    )  # fmt: skip


def picture_facts(picture: Picture) -> dict[str, Any]:
    """Count what is drawn."""
    first = picture.panels[0] if picture.panels else None
    crossings = () if first is None else first.crossings
    return {
        "title": picture.title,
        "panels": [each.name for each in picture.panels],
        "rows": 0 if first is None else sum(len(own.at) for own in first.strands),
        "segments": 0 if first is None else sum(len(own.segments) for own in first.strands),
        "answers": len(picture.held),
        "expectations": {
            state: sum(each.state == state for each in crossings) for state in CROSSINGS
        },
        "notes": list(picture.notes),
    }


def drawn(picture: Picture) -> Figure:
    """Draw panels above each other, with a strip below that says when answers held."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # only drawing needs it

    panels = picture.panels
    heights = [1.0] * len(panels) + [STRIP]
    figure = Figure(figsize=(9.0, PANEL_INCHES * len(panels) + 1.0), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for own, panel in zip(axes, panels, strict=False):
        _draw_panel(own, panel)
    axes[0].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.05, 1.0))
    axes[0].set_title(picture.title, loc="left", fontsize=11, fontweight="bold")
    _draw_held(axes[-1], picture)
    for own in axes[: len(panels)]:
        for starts, ends in picture.held:
            own.axvspan(_place(starts), _place(ends), color=HELD, alpha=0.07, lw=0)
    if picture.since is not None:
        axes[-1].set_xlim(left=_place(picture.since))
    _date(axes[-1])
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    rows = [own.value for own in panel.strands if len(own.value)]
    for number, strand in enumerate(panel.strands):
        _draw_strand(axes, strand, *COLOURS[number % len(COLOURS)])
    for limit in panel.limits:
        axes.axhline(limit, color=LIMIT, lw=0.9, ls=":")
        axes.annotate(
            f"{limit:g}", (1.0, limit), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=8, color=LIMIT,
        )  # fmt: skip
    _draw_crossings(axes, panel.crossings)
    if rows:
        values = [float(each) for own in rows for each in (own.min(), own.max())] + [*panel.limits]
        room = 0.12 * (max(values) - min(values)) or 1.0
        axes.set_ylim(min(values) - room, max(values) + room)
    allowed = [float(each.allowed.max()) for own in panel.strands for each in own.segments]
    bound = f" ± {max(allowed):.4g}" if max(allowed, default=0.0) > 0 else ""
    axes.set_ylabel(f"{panel.name}{bound}")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_strand(axes: Axes, strand: Strand, colour: str, band: str) -> None:
    of = f": {strand.name}" if strand.name else ""
    ahead = (0, (1, 1.5))
    for curve in strand.segments:
        low, high = curve.value - curve.allowed, curve.value + curve.allowed
        axes.fill_between(curve.at, low, high, color=band, lw=0, zorder=1)
    axes.plot(strand.at, strand.value, ".", color=ROW, ms=1.6, zorder=2)
    for curve in strand.withdrawn:
        axes.plot(curve.at, curve.value, color=WITHDRAWN, lw=0.9, ls=(0, (4, 3)), zorder=3)
    for curve in strand.segments:
        axes.plot(curve.at, curve.value, color=colour, lw=1.2, zorder=4)
        axes.plot(curve.at[0], curve.value[0], "o", color=colour, ms=3.2, zorder=4)
    for curve in strand.ahead:
        axes.plot(curve.at, curve.value, color=colour, lw=1.2, ls=ahead, zorder=4)
    axes.plot([], [], ".", color=ROW, ms=4, label=f"{counted(len(strand.at), 'row')}{of}")
    label = f"{counted(len(strand.segments), 'segment')} in their band"
    axes.plot([], [], "o-", color=colour, ms=3.2, lw=1.2, label=label)
    if strand.withdrawn:
        label = f"{len(strand.withdrawn):,} withdrawn"
        axes.plot([], [], color=WITHDRAWN, lw=0.9, ls=(0, (4, 3)), label=label)
    if strand.ahead:
        axes.plot([], [], color=colour, lw=1.2, ls=ahead, label="to come")


def _draw_crossings(axes: Axes, crossings: Sequence[ExpectedCrossing]) -> None:
    for state, style in CROSSINGS.items():
        own = [each for each in crossings if each.state == state]
        if not own:
            continue
        for each in own:
            if each.value is None:
                colour = WITHDRAWN if state == "withdrawn" else HELD
                axes.axvline(_place(each.at), color=colour, lw=0.8, alpha=0.6)
            else:
                axes.plot(each.at, each.value, ls="", ms=6, zorder=6, **style)
        label = f"{len(own):,} {WORDS[state]}"
        if all(each.value is None for each in own):
            colour = WITHDRAWN if state == "withdrawn" else HELD
            axes.plot([], [], color=colour, lw=0.8, alpha=0.6, label=label)
        else:
            axes.plot([], [], ls="", ms=6, label=label, **style)


def _draw_held(axes: Axes, picture: Picture) -> None:
    """Draw from when to when the answer held; an instant is a line."""
    for starts, ends in picture.held:
        axes.axvspan(_place(starts), _place(ends), color=HELD, lw=0.6)
    axes.set_yticks([])
    axes.set_ylabel("holds", rotation=0, ha="right", va="center", fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _place(at: np.datetime64) -> float:
    """Give where an instant stands on an axis of time."""
    return float(importlib.import_module("matplotlib.dates").date2num(at))


def _date(axes: Axes) -> None:
    dates = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
