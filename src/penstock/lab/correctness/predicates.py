"""Predicates drawn over every type: what users write, and what they write by mistake.

A drawn predicate need not be well typed: then it must be refused, with a code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "!=", "==")
WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
NUMBERS = (*WHOLE, "f", "d", "m", "m18", "m4", "m38")
TIMES = ("t", "n", "y")


def _texts(listed: str) -> tuple[str, ...]:
    """Take a list apart, whose items stand between two semicolons each."""
    return tuple(text.strip() for text in listed.split(";;"))


WHOLE_TEXTS = _texts("""
    0 ;; 1 ;; -1 ;; 2 ;; 3 ;; -2 ;; 127 ;; 128 ;; -128 ;; -129 ;; 255 ;; 256 ;; 32767 ;; 32768 ;;
    65535 ;; 65536 ;; 2147483647 ;; 2147483648 ;; -2147483648 ;; -2147483649 ;; 4294967295 ;;
    9223372036854775807 ;; 9223372036854775808 ;; -9223372036854775808 ;; -9223372036854775809 ;;
    18446744073709551615 ;; 18446744073709551616 ;; 170141183460469231731687303715884105727 ;;
    1+1 ;; -(2) ;; 2 * 3 - 4 ;; 5::TINYINT ;; CAST('2' AS BIGINT) ;; 1_0 ;; 0x10 ;; +3 ;; - -1
""")
NUMBER_TEXTS = WHOLE_TEXTS + _texts("""
    1.5 ;; -0.25 ;; 1.1 ;; 1.10 ;; 2.005 ;; 0.0 ;; -0.0 ;; 1e0 ;; 2.0 ;; 1e308 ;; -1e-320 ;; 0.1 ;;
    0.1::FLOAT ;; 0.1::DOUBLE ;; 1.1::DECIMAL(4,1) ;; 999999.99 ;; -999999.99 ;; 1000000.00 ;;
    999999999999999999 ;; 9007199254740993 ;; 9007199254740992.5 ;; 'inf'::DOUBLE ;;
    '-inf'::FLOAT ;; 1e400 ;; NULL ;; NULL::INTEGER ;; 16777217 ;; 1/3 ;; 1//3 ;; 7 % 4 ;;
    abs(-2) ;; pi() ;; 99999999999999999999999999999.9
""")
STRING_TEXTS = _texts(r"""
    '' ;; 'a' ;; 'A' ;; 'ab' ;; 'abc' ;; 'it''s' ;; ' ' ;; '%' ;; 'ä' ;; 'ß' ;; '1' ;; '01' ;;
    NULL ;; lower('AB') ;; 'a' || 'b' ;; '日本' ;; e'a\nb' ;; $$it's$$ ;; 'a' COLLATE NOCASE ;;
    'NULL' ;; '2024-02-29' ;; chr(97) ;; repeat('x', 100) ;; 'a'::VARCHAR ;; trim(' a ')
""")
PATTERNS = _texts(r"""
    'a%' ;; '%b' ;; 'a_c' ;; '%' ;; '' ;; '_' ;; '%it''s%' ;; 'A%' ;; 'a\%' ESCAPE '\' ;; NULL ;;
    'ab'
""")
TIME_TEXTS = _texts("""
    '2024-02-29' ;; '2024-02-29 10:00' ;; '2024-02-29 10:00:00.000001' ;; '1970-01-01' ;;
    TIMESTAMP '2024-02-29 00:00' ;; DATE '2024-02-29' ;; DATE '2024-02-28' + INTERVAL 1 DAY ;;
    TIMESTAMPTZ '2024-02-29 02:00:00+02' ;; '0001-01-01' ;; '9999-12-31' ;; '2024-02-29'::DATE ;;
    make_date(2024, 2, 29) ;; NULL ;; '1969-12-31 23:59:59.999999' ;; 'infinity'::TIMESTAMP ;;
    '2024-02-29T10:00:00Z' ;; TIMESTAMP '2024-02-29 10:00' AT TIME ZONE 'Europe/Berlin' ;;
    'nonsense' ;; '2023-02-29' ;; date_trunc('month', DATE '2024-02-29') ;;
    epoch_ms(1709200800000)
""")
WORDS = _texts(r"""
    b ;; NOT b ;; b IS TRUE ;; b IS NOT FALSE ;; b = TRUE ;; b <> FALSE ;; b IN (TRUE) ;; TRUE ;;
    FALSE ;; NULL ;; 1 = 1 ;; i32 IS NULL ;; d IS NULL ;; d IS NOT NULL ;; f IS NULL ;;
    s IS NOT NULL ;; l IS NULL ;; x IS NULL ;; s IS DISTINCT FROM s2 ;;
    i8 IS NOT DISTINCT FROM i64 ;; s IS DISTINCT FROM 'a' ;; d IS DISTINCT FROM 1.0 ;; i32 > d ;;
    i8 = i64 ;; u64 > i64 ;; m = m4 ;; m > f ;; m38 <> m18 ;; s = s2 ;; s < s2 ;; t = n ;;
    y <= n ;; y = t ;; u64 = m18 ;; i64 % 2 = 1 ;; i16 & 1 = 1 ;; i32 // 2 = 1 ;; u8 << 1 = 2 ;;
    abs(i32::BIGINT) < 3 ;; d * 2 > 1 ;; d - f >= 0 ;; -d < 1 ;; d / 2 = 0.5 ;; m * 2 > 1.10 ;;
    m + m4 >= 0 ;; round(d) = 1 ;; floor(f) = -1 ;; isnan(d) ;; isinf(f) ;; sign(d) = -1 ;;
    greatest(i8, i16) = 1 ;; least(d, f) < 0 ;; length(s) > 1 ;; upper(s) = 'A' ;; lower(s) = s2 ;;
    s || s2 = 'ab' ;; s LIKE s2 ;; starts_with(s, 'a') ;; contains(s, 'b') ;;
    regexp_matches(s, '^a.*') ;; regexp_replace(s, 'a', 'b', 'g') = 'b' ;;
    replace(s, 'a', '') = '' ;; s[1] = 'a' ;; s[1:2] = 'ab' ;; left(s, 1) = 'a' ;;
    strpos(s, 'b') = 2 ;; s COLLATE NOCASE = 'A' ;; s = 'A' COLLATE NOCASE ;;
    s BETWEEN 'a' AND 'b' ;; s SIMILAR TO 'a|b' ;; s ~ 'a' ;; s !~ 'a' ;; s NOT SIMILAR TO 'ab' ;;
    s ^@ 'a' ;; s GLOB 'a*' ;; s ~~ 'a%' ;; s !~~ 'a%' ;; coalesce(i32, 0) = 0 ;;
    nullif(i8, 1) IS NULL ;; CASE WHEN i32 > 1 THEN d > 0 ELSE s = 'a' END ;;
    CASE i8 WHEN 1 THEN b ELSE NOT b END ;; if(b, i8, i16) > 0 ;; ifnull(s, 'a') = 'a' ;;
    TRY_CAST(s AS INTEGER) = 1 ;; TRY_CAST(s AS DATE) = y ;; i32::VARCHAR = '1' ;;
    CAST(d AS DECIMAL(10, 2)) > 0 ;; len(l) = 3 ;; l[1] = 1 ;; list_contains(l, 2) ;; 2 IN l ;;
    list_filter(l, i -> i > 1) = [2, 3] ;; list_transform(l, lambda i8: i8 + 1)[1] = 2 ;;
    [v + 1 FOR v IN l IF v > 1] = [3, 4] ;; list_sum(l) = 6 ;; l = [1] ;; l < [2] ;; l && [3, 9] ;;
    list_any_value(l) = 1 ;; w.a = 1 ;; w.c = 'a' ;; w['a'] > 0 ;; w = {'a': 1, 'c': 'a'} ;;
    struct_extract(w, 'c') = 'b' ;; x = 'a'::BLOB ;; octet_length(x) = 1 ;; x < '\xFF'::BLOB ;;
    hex(x) = '61' ;; year(t) = 2024 ;; month(y) = 2 ;; date_part('day', n) = 29 ;;
    EXTRACT(hour FROM t) = 10 ;; date_trunc('day', n) = '2024-02-29' ;; dayofweek(y) = 4 ;;
    t - n = INTERVAL 0 SECONDS ;; n + INTERVAL 1 DAY > n ;; t AT TIME ZONE 'UTC' = n ;;
    strftime(n, '%Y') = '2024' ;; epoch_us(t) > 0 ;; y - DATE '2024-02-28' = 1 ;; n::DATE = y ;;
    t::DATE = y ;; datediff('day', y, n::DATE) = 0 ;;
    age(n, TIMESTAMP '2024-01-01') > INTERVAL 1 MONTH ;; isfinite(n) ;;
    last_day(y) = '2024-02-29' ;; md5(s) = md5('a') ;; hash(i8) % 2 = 0 ;;
    typeof(i8) = 'TINYINT' ;; i8 IN (i16, i32) ;; (i8, i16) = (1, 1) ;;
    (i8, s) IN ((1, 'a'), (2, 'b')) ;; i64 IN (SELECT 1) ;; now() > t ;; random() < 2 ;;
    current_date > y ;; age(t) > INTERVAL 1 DAY ;; today() > y ;; count(*) > 1 ;; s = i8 ;;
    b > 'x' ;; t > 5 ;; round(x := 1) = 1 ;; nonsense(i8) ;; i8 + ;; i8 = = 1 ;; i99 = 1 ;;
    i8 COLLATE NOCASE = 1 ;; getenv('HOME') = 'x' ;; current_setting('TimeZone') = 'UTC'
""")
FAILING = _texts("""
    CAST(s AS INTEGER) = 1 ;; i64 + i8 > 0 ;; i8 * i16 > 2 ;; -i8 > i16 ;; strptime(s, '%Y') > n ;;
    CAST(d AS INTEGER) = 1 ;; i32::TINYINT = 1 ;; sqrt(d) > 1 ;; ln(d) > 0 ;;
    CAST(s AS DATE) = y ;; m18 * m18 > 0 ;; factorial(i32) > 1 ;; abs(i8) = 1 ;;
    CAST(s AS DOUBLE) > 1
""")
"""Conditions that fail on some rows."""


class Predicates:
    """Draws predicates."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance

    def draw(self, leaves: int = 5) -> str:
        """Draw a predicate of at most so many comparisons."""
        count = 1 + int(self._chance.integers(leaves)) if self._chance.random() < 0.6 else 1
        return self._tree(count)

    def _one(self, texts: Sequence[str]) -> str:
        return texts[int(self._chance.integers(len(texts)))]

    def _tree(self, leaves: int) -> str:
        if leaves == 1:
            text = self._atom()
            return f"NOT ({text})" if self._chance.random() < 0.1 else text
        left = 1 + int(self._chance.integers(leaves - 1))
        word = "AND" if self._chance.random() < 0.6 else "OR"
        text = f"({self._tree(left)}) {word} ({self._tree(leaves - left)})"
        return f"NOT ({text})" if self._chance.random() < 0.1 else text

    def _atom(self) -> str:
        drawn = self._chance.random()
        if drawn < 0.4:
            return self._compared(self._number(), NUMBER_TEXTS)
        if drawn < 0.55:
            return self._text()
        if drawn < 0.7:
            return self._compared(self._one(TIMES), TIME_TEXTS)
        return self._one(FAILING) if drawn < 0.72 else self._one(WORDS)

    def _number(self) -> str:
        name = self._one(NUMBERS)
        drawn = self._chance.random()
        if drawn < 0.8:
            return name
        return self._one((f"({name})", f"r.{name}", f'"{name}"', f"+{name}", f"{name.upper()}"))

    def _text(self) -> str:
        name = self._one(("s", "s", "s2", "lower(s)", "trim(s2)"))
        if self._chance.random() < 0.3:
            negated = "NOT " if self._chance.random() < 0.3 else ""
            word = "ILIKE" if self._chance.random() < 0.3 else "LIKE"
            return f"{name} {negated}{word} {self._one(PATTERNS)}"
        return self._compared(name, STRING_TEXTS)

    def _compared(self, column: str, constants: Sequence[str]) -> str:
        a, b, c = (self._one(constants) for _ in range(3))
        drawn = self._chance.random()
        if drawn < 0.4:
            return f"{column} {self._one(COMPARISONS)} {a}"
        if drawn < 0.5:
            return f"{a} {self._one(COMPARISONS)} {column}"
        negated = "NOT " if self._chance.random() < 0.25 else ""
        if drawn < 0.7:
            return f"{column} {negated}BETWEEN {a} AND {b}"
        if drawn < 0.85:
            return f"{column} {negated}IN ({a}, {b}, {c})"
        if drawn < 0.93:
            return (
                f"{column} {self._one(('>', '>='))} {a} AND {column} {self._one(('<', '<='))} {b}"
            )
        return f"{column} IS {negated}DISTINCT FROM {a}"
