"""Charts: figures as files; alone needs matplotlib, and is imported when a plot is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure as Canvas

from penstock.lab.report import Chart


def draw(figures: Sequence[Chart], path: Path) -> None:
    """Draw the figures, one under the other, into an SVG, PNG or PDF file."""
    count = max(len(figures), 1)
    canvas = Canvas(figsize=(7.0, 4.2 * count), layout="constrained")
    for number, figure in enumerate(figures):
        axes = canvas.add_subplot(count, 1, number + 1)
        for curve in figure.curves:
            axes.plot(curve.x, curve.y, marker="o", markersize=4, label=curve.name)
        for order, spans in enumerate(figure.spans):
            colour = "lightgrey" if spans.point is None else f"C{order % 10}"
            axes.hlines(spans.y, spans.low, spans.high, colour, lw=1, label=spans.name)
            if spans.point is not None:
                axes.vlines(spans.point, min(spans.y), max(spans.y), "black", lw=1.5)
        if figure.heat is not None:
            counts = np.log1p(np.asarray(figure.heat.counts))
            axes.pcolormesh(figure.heat.x, figure.heat.y, counts, cmap="Greys")
        axes.set_title(figure.title, loc="left")
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(figure.y_label)
        axes.set_xscale("log" if figure.x_log else "linear")
        axes.set_yscale("log" if figure.y_log else "linear")
        axes.grid(alpha=0.3)
        if figure.heat is None:
            axes.legend(frameon=False, loc="lower right" if figure.spans else "best")
    canvas.savefig(path)
