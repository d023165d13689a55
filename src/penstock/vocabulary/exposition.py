"""Exposition: figures as the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.vocabulary.figure_tables import FigureRow
from penstock.vocabulary.figures import Figure

PREFIX = "penstock_"


def prometheus_text(rows: Iterable[FigureRow]) -> str:
    r"""Write figures in Prometheus's text format, version 0.0.4.

    A counter's name ends in `_total`; the group, relation or kind that a value is of is the label
    `group`. A figure is described once, with its unit, and its values follow. Figures that are not
    exposed are left out.

    >>> held = Figure("rows", "Rows that are held.", "rows", "gauge", labels=("input",))
    >>> row = FigureRow(figure=held, group='g"1', labels={"input": "0"}, value=3)
    >>> print(prometheus_text([row]), end="")
    # HELP penstock_rows Rows that are held. Unit: rows.
    # TYPE penstock_rows gauge
    penstock_rows{group="g\"1",input="0"} 3
    """
    values: dict[Figure, list[FigureRow]] = {}
    for row in rows:
        if row.figure.is_exposed:
            values.setdefault(row.figure, []).append(row)
    lines: list[str] = []
    for figure, own in sorted(values.items(), key=lambda item: item[0].name):
        name = _name(figure)
        lines.append(f"# HELP {name} {_escaped(figure.help, quotes=False)} Unit: {figure.unit}.")
        lines.append(f"# TYPE {name} {figure.kind}")
        lines += [f"{name}{_labels(row)} {row.value}" for row in own]
    return "".join(f"{line}\n" for line in lines)


def _name(figure: Figure) -> str:
    return f"{PREFIX}{figure.name}{'_total' if figure.kind == 'counter' else ''}"


def _labels(row: FigureRow) -> str:
    group = {"group": row.group} if row.group else {}
    listed = [f'{name}="{_escaped(own)}"' for name, own in {**group, **row.labels}.items()]
    return f"{{{','.join(listed)}}}" if listed else ""


def _escaped(text: str, quotes: bool = True) -> str:
    escaped = text.replace("\\", r"\\").replace("\n", r"\n")
    return escaped.replace('"', r"\"") if quotes else escaped
