"""The page at /docs: all routes on one page, with nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "code{font-family:ui-monospace,monospace}h2{margin-top:2rem;font-size:1.1rem}"
    "td,th{text-align:left;vertical-align:top;padding:.1rem 1rem .1rem 0}"
)


def page_of(document: dict[str, Any]) -> str:
    """Write an OpenAPI document as a page."""
    parts = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>{_told(own)}"
        for path, methods in document["paths"].items()
        for method, own in methods.items()
    ]
    title = escape(document["info"]["title"])
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{STYLE}</style><h1>{title}</h1><p>{escape(document['info']['description'])}</p>"
        f"<p>For machines: <a href=openapi.json>openapi.json</a>.</p>{''.join(parts)}</html>"
    )


def _told(operation: dict[str, Any]) -> str:
    words = [f"<p>{escape(text)}</p>" for text in operation["description"].split("\n\n")]
    rows = [
        f"<tr><th><code>{escape(each['name'])}</code><td>{each['in']}"
        f"<td>{escape(each.get('description', ''))}"
        for each in operation.get("parameters", [])
    ]
    statuses = ", ".join(operation["responses"])
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    return f"{''.join(words)}{table}<p>Answers with {statuses}.</p>"
