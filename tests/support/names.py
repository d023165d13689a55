"""Names that users may give their columns, and that something of ours might also be called."""

from __future__ import annotations

KEYWORDS = (
    "select", "from", "where", "group", "order", "table", "null", "true", "and", "lambda",
)  # fmt: skip
NAMES = (
    *("_id", "_batch", "_query", "_sign", "_row", "_part", "_version", "_first", "_last", "_at"),
    *("_time", "_release", "_seen0", "_from", "_to", "_may", "_settled", "_number", "_height"),
    *("_n", "_l", "_tag", "__penstock_row", "penstock", "filename", "file_row_number", "rowid"),
    *("query", "event", "id", "silent", "p_k", "c0", "r0", "c0_0", "u0", "a0", "v0", "o0", "l0"),
    *("h0", "t0", "p", "e", "l", "r", "i0", "in0", "d", "m", "nothing", "holds", "events", "given"),
    *("changes", "expected", "found", "places", "matches", "made", "kind", "x", "y", "rows"),
    *KEYWORDS,
    *("a b", "a.b", "l.k", "i0.k", "a`b", 'a"b', "a'b", "a:b", "a,b", "a;b", "a--b", "$0", ":p"),
    *("a/*b", "a\\b", "100%", "{x}", "[x]", "(", "*", "=", " ", " k ", "\t", "a\nb", "ä", "ß"),
    *("日本語", "🙂", "K\u0307", "0", "1a", "-", "NaN", "x" * 300),
)
"""No two of them are the same without regard to case."""
