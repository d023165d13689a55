"""Guards: functions whose value could be of any size, each inside a macro that bounds it.

`repeat('x', 1000000000)` is one call, which DuckDB neither interrupts nor counts as memory. So the
functions that make as much as their arguments say stand in every connection as macros of the same
name, which fail in a row that asks for too much, as a division by zero does: such a row is counted
and told, and everybody's answer follows from the rows alone. The test is inside the argument, so
that no optimizer can call the function without it.
"""

from __future__ import annotations

TEXT_MAX = 100_000
"""Characters that one call may make of nothing."""
LIST_MAX = 10_000
"""Elements that one call may make of nothing."""
REPLACED_MAX = 1_000_000
"""Characters that replacements by longer texts may make."""
COMPARED_MAX = 1_000_000
"""Pairs of characters that two texts may have whose distance is asked for."""

MATCHED_MAX = 5_000_000
"""Characters of a text times the size of a pattern that it is held against."""
UNROLLED_MAX = 1_000
"""How often the matcher itself repeats what stands in groups inside each other, at most."""
INDENTED_MAX = 10_000_000
"""Characters of a JSON text times the brackets that it opens: each line is indented by those."""

JOINED_MAX = 40
"""Values that one call may join: a macro takes so many arguments as it names."""

DISTANCES = ("levenshtein", "editdist3", "damerau_levenshtein")
SIMILARITIES = ("jaro_similarity", "jaro_winkler_similarity")
COMPARING = (*DISTANCES, *SIMILARITIES, "json_contains")
MATCHING = {
    "regexp_matches": ("", ", z"),
    "regexp_full_match": ("", ", z"),
    "regexp_extract": ("", ", z", ", z, o"),
    "regexp_extract_all": ("", ", z", ", z, o"),
    "regexp_split_to_array": ("", ", z"),
    "string_split_regex": ("", ", z"),
    "str_split_regex": ("", ", z"),
}
"""Functions that hold a text against a pattern, and what they may be given beside the two."""


def _checked(value: str, holds: str, name: str, limit: int) -> str:
    """Give a value where it is small enough; where it is not, the row fails."""
    fact = f"{name}() makes more than {limit:,}"
    return f"CASE WHEN {holds} THEN {value} ELSE CAST('{fact}' AS BIGINT) END"


def _repeat(given: str, length: str, limit: int) -> str:
    holds = f"n IS NULL OR x IS NULL OR n <= {limit} AND {length} * n <= {limit}"
    return f"({given}) AS system.main.repeat(x, {_checked('n', holds, 'repeat', limit)})"


def _series(name: str) -> str:
    """Bound the scalar functions that count from one value to another."""
    many = LIST_MAX
    whole = "b BIGINT", "a BIGINT, b BIGINT", "a BIGINT, b BIGINT, c BIGINT"
    far = "(b::DOUBLE - a::DOUBLE) / c"
    tests = (
        f"b IS NULL OR b <= {many}",
        f"a IS NULL OR b IS NULL OR b::DOUBLE - a::DOUBLE <= {many}",
        f"a IS NULL OR b IS NULL OR c IS NULL OR c = 0 OR {far} <= {many}",
    )
    calls = ("{b}", "a, {b}", "a, {b}, c")
    said = []
    for given, call, test in zip(whole, calls, tests, strict=True):
        bound = call.format(b=_checked("b", test, name, many))
        said.append(f"({given}) AS system.main.{name}({bound})")
    # A step that counts months is taken for its shortest months.
    steps = "abs(epoch(b) - epoch(a)) / abs(epoch(c))"
    test = f"a IS NULL OR b IS NULL OR c IS NULL OR epoch(c) = 0 OR {steps} <= {many}"
    wrong = f"CAST('{name}() makes more than {many:,}' AS INTERVAL)"
    for type_ in ("TIMESTAMP", "TIMESTAMPTZ"):
        step = f"CASE WHEN {test} THEN c ELSE {wrong} END"
        given = f"a {type_}, b {type_}, c INTERVAL"
        said.append(f"({given}) AS system.main.{name}(a, b, {step})")
    return f"CREATE TEMP MACRO {name}{', '.join(said)}"


def _padded(name: str) -> str:
    count = _checked("n", f"n IS NULL OR n <= {TEXT_MAX}", name, TEXT_MAX)
    return f"CREATE TEMP MACRO {name}(x, n, y) AS system.main.{name}(x, ({count})::INTEGER, y)"


def _resized(name: str) -> str:
    count = _checked("n", f"n IS NULL OR n <= {LIST_MAX}", name, LIST_MAX)
    return (
        f"CREATE TEMP MACRO {name}(x, n) AS system.main.{name}(x, {count}), "
        f"(x, n, y) AS system.main.{name}(x, {count}, y)"
    )


def _replaced(name: str, shorter: str, further: str = "") -> str:
    holds = (
        f"x IS NULL OR z IS NULL OR {shorter} "
        f"OR length(x::VARCHAR) * length(z::VARCHAR) <= {REPLACED_MAX}"
    )
    fact = f"{name}() makes more than {REPLACED_MAX:,}"
    # A text that is asked to be a number, and is none, fails as the others do.
    text = f"CASE WHEN {holds} THEN z ELSE CAST(CAST('{fact}' AS BIGINT) AS VARCHAR) END"
    return f"(x, y, z{further}) AS system.main.{name}(x, y, {text}{further})"


def _compared(name: str, *further: str) -> str:
    """Bound functions that take the product of two lengths, in time or in memory."""
    lengths = "length(x::VARCHAR) * length(y::VARCHAR)"
    holds = f"x IS NULL OR y IS NULL OR {lengths} <= {COMPARED_MAX}"
    fact = f"{name}() compares more than {COMPARED_MAX:,}"
    text = f"CASE WHEN {holds} THEN y ELSE CAST(CAST('{fact}' AS BIGINT) AS VARCHAR) END"
    forms = (f"(x, y{more}) AS system.main.{name}(x, {text}{more})" for more in ("", *further))
    return f"CREATE TEMP MACRO {name}{', '.join(forms)}"


def _is_matchable() -> str:
    """Say that a pattern is small enough for its text; whoever counts nothing is as long as said.

    A matcher that has no room for its states follows all ways of a pattern at once, at every
    character; what stands in braces is then there so many times.
    """
    extracted = "system.main.regexp_extract_all(y, '{}\\{{(?:\\d*,)?([1-9]\\d*)', 1)::DOUBLE[]"
    said, groups = (f"list_aggregate({extracted.format(of)}, " for of in ("", "\\)"))
    times = f"least(coalesce({groups}'product'), 1), {UNROLLED_MAX})"
    size = f"{times} * (length(y) + coalesce({said}'sum'), 0))"
    return f"x IS NULL OR y IS NULL OR length(x) * {size} <= {MATCHED_MAX}"


def _fitting(name: str, holds: str, limit: int, what: str) -> str:
    fact = f"{name}() {what} more than {limit:,}"
    return f"CASE WHEN {holds} THEN x ELSE CAST(CAST('{fact}' AS BIGINT) AS VARCHAR) END"


def _matched(name: str, forms: tuple[str, ...]) -> str:
    """Bound functions that hold a text against a pattern; the pattern stays as it is written.

    One that is the same for all rows is compiled once, and its size is found once.
    """
    text = _fitting(name, _is_matchable(), MATCHED_MAX, "compares")
    made = (f"(x, y{more}) AS system.main.{name}({text}, y{more})" for more in forms)
    return f"CREATE TEMP MACRO {name}{', '.join(made)}"


def _indented() -> str:
    text = "x::VARCHAR"
    opened = f"(length({text}) - length(translate({text}, '[{{', '')))"
    holds = f"x IS NULL OR {opened} * length({text}) <= {INDENTED_MAX}"
    value = _fitting("json_pretty", holds, INDENTED_MAX, "makes")
    return f"CREATE TEMP MACRO json_pretty(x) AS system.main.json_pretty({value})"


def _joined(name: str) -> str:
    """Bound what stands between values: a separator may be as long as a row says."""
    forms = []
    for count in range(1, JOINED_MAX + 1):
        values = ", ".join(f"v{number}" for number in range(count))
        holds = f"x IS NULL OR length(x::VARCHAR) * {count - 1} <= {TEXT_MAX}"
        fact = f"{name}() makes more than {TEXT_MAX:,}"
        text = f"CASE WHEN {holds} THEN x ELSE CAST(CAST('{fact}' AS BIGINT) AS VARCHAR) END"
        forms.append(f"(x, {values}) AS system.main.{name}({text}, {values})")
    return f"CREATE TEMP MACRO {name}{', '.join(forms)}"


GUARDS: dict[str, str] = {
    "repeat": "CREATE TEMP MACRO repeat"
    + ", ".join(
        (
            _repeat("x VARCHAR, n BIGINT", "length(x)", TEXT_MAX),
            _repeat("x BLOB, n BIGINT", "octet_length(x)", TEXT_MAX),
            _repeat("x, n", "len(x)", LIST_MAX),
        )
    ),
    "range": _series("range"),
    "generate_series": _series("generate_series"),
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "list_resize": _resized("list_resize"),
    "array_resize": _resized("array_resize"),
    "bitstring": "CREATE TEMP MACRO bitstring(x, n) AS system.main.bitstring(x, ("
    + _checked("n", f"n IS NULL OR n <= {TEXT_MAX}", "bitstring", TEXT_MAX)
    + ")::INTEGER)",
    "equi_width_bins": "CREATE TEMP MACRO equi_width_bins(x, y, n, z) AS "
    "system.main.equi_width_bins(x, y, "
    + _checked("n", f"n IS NULL OR n <= {LIST_MAX}", "equi_width_bins", LIST_MAX)
    + ", z)",
    **{name: _compared(name) for name in (*DISTANCES, "json_contains")},
    **{name: _compared(name, ", z") for name in SIMILARITIES},
    **{name: _matched(name, forms) for name, forms in MATCHING.items()},
    "json_pretty": _indented(),
    "concat_ws": _joined("concat_ws"),
    "replace": "CREATE TEMP MACRO replace"
    + _replaced("replace", "length(z::VARCHAR) <= length(y::VARCHAR)"),
    "regexp_replace": "CREATE TEMP MACRO regexp_replace"
    + ", ".join(
        _replaced("regexp_replace", "length(z::VARCHAR) <= 1", further) for further in ("", ", o")
    ),
}
"""Guarded functions, and the statement that makes each macro."""
