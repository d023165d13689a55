SELECT MIN(price) AS low FROM Offers WHERE place BETWEEN :lo AND :hi
--> values over ranges of place (int32)
--> a0: min(price) is double
--> range: place >= lo <= hi
--> parameter lo: int32
--> parameter hi: int32
--> output low: "a0"
--> where: e.".place" BETWEEN p.".lo" AND p.".hi"

SELECT min(price), max(price) - min(price) AS spread, count(*) FROM Offers WHERE day >= '2024-01-01' AND day < '2024-02-01' AND product = :sym
--> values over ranges of day (date32[day])
--> a0: min(price) is double
--> a1: max(price) is double
--> a2: count(*) is int64
--> partition: product (string)
--> range: product in ['sym']; day >= $0 < $1
--> parameter sym: string
--> parameter $0: date32[day] = datetime.date(2024, 1, 1)
--> parameter $1: date32[day] = datetime.date(2024, 2, 1)
--> output min(price): "a0"
--> output spread: "a1" - "a0"
--> output count(*): "a2"
--> where: e.".day" >= '2024-01-01' AND e.".day" < '2024-02-01' AND e.".product" = p.".sym"

SELECT SUM(cost), avg(cost), count(big), count(DISTINCT place) FROM Offers o WHERE o.price > :lo AND place = 3 AND (id = 1 OR product LIKE 'a%') AND place <> 7
--> values over ranges of price (double)
--> a0: sum(cost) is decimal128(38, 2)
--> a1: avg(cost) is double
--> a2: count(big) is int64
--> a3: count_distinct(place) is int64
--> partition: place (int32)
--> rows: [(c0 = 1 OR c1 LIKE 'a%') AND c2 <> 7] of ['id', 'product', 'place']
--> range: place in ['$0']; price > lo
--> parameter lo: double
--> parameter $0: int32 = 3
--> output SUM(cost): "a0"
--> output avg(cost): "a1"
--> output count(big): "a2"
--> output count(DISTINCT place): "a3"
--> where: e.".price" > p.".lo" AND e.".place" = 3 AND (e.".id" = 1 OR e.".product" LIKE 'a%') AND e.".place" <> 7

SELECT max(place) AS most FROM Offers WHERE price BETWEEN 1 AND 5 AND place > 3 AND id <> 4
--> values over ranges of price (double)
--> a0: max(place) is int32
--> rows: [c0 <> 4 AND c1 > 3] of ['id', 'place']
--> range: price >= $0 <= $1
--> parameter $0: double = 1.0
--> parameter $1: double = 5.0
--> output most: "a0"
--> where: e.".price" BETWEEN 1 AND 5 AND e.".place" > 3 AND e.".id" <> 4

SELECT avg(cost) FROM Offers WHERE :n <= place
--> values over ranges of place (int32)
--> a0: avg(cost) is double
--> range: place >= n
--> parameter n: int32
--> output avg(cost): "a0"
--> where: p.".n" <= e.".place"

SELECT MIN(price) AS low FROM Offers WHERE place BETWEEN :l AND :h AND product = :p AND id <> 4 -- alone -- {'messages': True}
--> messages over ranges of place (int32)
--> a0: min(price) is double
--> partition: product (string)
--> rows: [c0 <> 4] of ['id']
--> range: product in ['p']; place >= l <= h
--> output product: "p0"
--> output min: "min"
--> output inner_l: "inner_l"
--> output inner_r: "inner_r"
--> output outer_l: "outer_l"
--> output outer_r: "outer_r"
--> where: e.".place" BETWEEN p.".l" AND p.".h" AND e.".product" = p.".p" AND e.".id" <> 4

SELECT SUM(cost) FROM Offers WHERE day < :d AND product = 'x' -- alone -- {'messages': True}
--> messages over ranges of day (date32[day])
--> a0: sum(cost) is decimal128(38, 2)
--> rows: [c0 = 'x'] of ['product']
--> range: day < d
--> output op: "op"
--> output x_old: "x_old"
--> output y_old: "y_old"
--> output x_new: "x_new"
--> output y_new: "y_new"
--> where: e.".day" < p.".d" AND e.".product" = 'x'

SELECT COUNT(DISTINCT place) FROM Offers WHERE day < :d -- alone -- {'messages': True}
--> messages over ranges of day (date32[day])
--> a0: count_distinct(place) is int64
--> range: day < d
--> output value: "value"
--> output inner_l: "inner_l"
--> output inner_r: "inner_r"
--> output outer_l: "outer_l"
--> output outer_r: "outer_r"
--> output op: "op"
--> where: e.".day" < p.".d"

SELECT MIN(price) FROM Offers WHERE product = :sym
--> [AGG-001] The query aggregates rows that are chosen by no range. Add a range, such as price BETWEEN :low AND :high; for aggregates of all rows, CREATE VIEW … REFRESH WITHIN … AS SELECT ….
-->   at line 1, column 37
-->   SELECT MIN(price) FROM Offers WHERE product = :sym
-->                                       ^

SELECT MIN(cost), SUM(cost) FROM Offers WHERE price > :lo AND place < :n AND product = :sym AND day < '2024-01-01'
--> values over ranges of place (int32) and price (double)
--> a0: min(cost) is decimal128(8, 2)
--> a1: sum(cost) is decimal128(38, 2)
--> partition: product (string)
--> rows: [c0 < '2024-01-01'] of ['day']
--> range: product in ['sym']; place < n; price > lo
--> parameter sym: string
--> parameter lo: double
--> parameter n: int32
--> output MIN(cost): "a0"
--> output SUM(cost): "a1"
--> where: e.".price" > p.".lo" AND e.".place" < p.".n" AND e.".product" = p.".sym" AND e.".day" < '2024-01-01'

SELECT MIN(price) FROM Offers WHERE place < :n AND price > :lo AND id < :n
--> [AGG-002] The query has ranges of place, price, id: ranges of two columns at most are maintained. Keep the ranges of two columns as parameters, and write the others as constants.
-->   at line 1, column 68
-->   SELECT MIN(price) FROM Offers WHERE place < :n AND price > :lo AND id < :n
-->                                                                      ^

SELECT MIN(cost, 3) AS few, MAX(cost) FROM Offers WHERE price > :lo
--> values over ranges of price (double)
--> a0: min(cost) is list<item: decimal128(8, 2)>
--> a1: max(cost) is decimal128(8, 2)
--> range: price > lo
--> parameter lo: double
--> output few: "a0"
--> output MAX(cost): "a1"
--> where: e.".price" > p.".lo"

SELECT MIN(price, 0) FROM Offers WHERE place < :n
--> [AGG-004] MIN(price, 0) is not maintained: over ranges there are COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and MIN(x, n), MAX(x, n) with a constant n of 1 to 64. Use one of these; compute x in the source, or in a view, and write what FILTER says into WHERE.
-->   at line 1, column 12
-->   SELECT MIN(price, 0) FROM Offers WHERE place < :n
-->              ^

SELECT MAX(price, 65) FROM Offers WHERE place < :n
--> [AGG-004] MAX(price, 65) is not maintained: over ranges there are COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and MIN(x, n), MAX(x, n) with a constant n of 1 to 64. Use one of these; compute x in the source, or in a view, and write what FILTER says into WHERE.
-->   at line 1, column 12
-->   SELECT MAX(price, 65) FROM Offers WHERE place < :n
-->              ^

SELECT MIN(price, 3) FROM Offers WHERE place < :n -- alone -- {'messages': True}
--> [AGG-007] Messages have one value of a range, and the query asks for a list of them. Leave AS MESSAGES out, or ask for MIN(x) or MAX(x).

SELECT MIN(price) FROM Offers WHERE place < :n AND price > :lo -- alone -- {'messages': True}
--> [AGG-007] Messages are rectangles of ranges of one column, and the query has ranges of two. Leave AS MESSAGES out, or write one of the ranges with constants.
-->   at line 1, column 52
-->   SELECT MIN(price) FROM Offers WHERE place < :n AND price > :lo -- alone -- {'messages': True}
-->                                                      ^

SELECT COUNT(DISTINCT day) FROM Offers WHERE place < :n AND price > :lo
--> [AGG-004] COUNT(DISTINCT x), MIN(x, n) and MAX(x, n) are not maintained over ranges of two columns. Write one of the ranges with constants.
-->   at line 1, column 61
-->   SELECT COUNT(DISTINCT day) FROM Offers WHERE place < :n AND price > :lo
-->                                                               ^

SELECT MIN(price) FROM Offers WHERE place < :n AND abs(price) > :lo
--> [AGG-003] The parameter :lo is in a condition that is neither a range nor an equality of a column: each query would aggregate rows of its own. Write a constant, or compare a column with the parameter by =, <, <=, >, >= or BETWEEN.
-->   at line 1, column 65
-->   SELECT MIN(price) FROM Offers WHERE place < :n AND abs(price) > :lo
-->                                                                   ^

SELECT MIN(price) FROM Offers WHERE place < :n AND (price > :lo OR price < 3)
--> [AGG-003] The parameter :lo is in a condition that is neither a range nor an equality of a column: each query would aggregate rows of its own. Write a constant, or compare a column with the parameter by =, <, <=, >, >= or BETWEEN.
-->   at line 1, column 61
-->   SELECT MIN(price) FROM Offers WHERE place < :n AND (price > :lo OR price < 3)
-->                                                               ^

SELECT MIN(price * 2) FROM Offers WHERE place < :n
--> [AGG-004] MIN(price * 2) is not maintained: over ranges there are COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and MIN(x, n), MAX(x, n) with a constant n of 1 to 64. Use one of these; compute x in the source, or in a view, and write what FILTER says into WHERE.
-->   at line 1, column 12
-->   SELECT MIN(price * 2) FROM Offers WHERE place < :n
-->              ^

SELECT MIN() FROM Offers WHERE place < :n
--> [AGG-004] MIN() is not maintained: over ranges there are COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and MIN(x, n), MAX(x, n) with a constant n of 1 to 64. Use one of these; compute x in the source, or in a view, and write what FILTER says into WHERE.
-->   at line 1, column 1
-->   SELECT MIN() FROM Offers WHERE place < :n
-->   ^

SELECT SUM(DISTINCT price) FROM Offers WHERE place < :n
--> [AGG-004] SUM(DISTINCT price) is not maintained: over ranges there are COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and MIN(x, n), MAX(x, n) with a constant n of 1 to 64. Use one of these; compute x in the source, or in a view, and write what FILTER says into WHERE.
-->   at line 1, column 8
-->   SELECT SUM(DISTINCT price) FROM Offers WHERE place < :n
-->          ^

SELECT MIN(price) FILTER (WHERE place > 3) FROM Offers WHERE place < :n
--> [AGG-004] MIN(price) FILTER (WHERE place > 3) is not maintained: over ranges there are COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x) of a column x, and MIN(x, n), MAX(x, n) with a constant n of 1 to 64. Use one of these; compute x in the source, or in a view, and write what FILTER says into WHERE.
-->   at line 1, column 12
-->   SELECT MIN(price) FILTER (WHERE place > 3) FROM Offers WHERE place < :n
-->              ^

SELECT MIN(price) FROM Offers WHERE place < :n AND max(price) > 3
--> [AGG-004] An aggregate stands in a condition on rows. Ask for it in SELECT, and compare what is delivered.
-->   at line 1, column 56
-->   SELECT MIN(price) FROM Offers WHERE place < :n AND max(price) > 3
-->                                                          ^

SELECT MIN(product) FROM Offers WHERE place < :n
--> [AGG-005] MIN("product") compares numbers, dates and times of up to 18 digits, and the column is string. Cast the column to one of these in the source.
-->   at line 1, column 12
-->   SELECT MIN(product) FROM Offers WHERE place < :n
-->              ^

SELECT SUM(day) FROM Offers WHERE place < :n
--> [AGG-005] SUM("day") adds numbers of up to 18 digits, and the column is date32[day]. Cast the column to one of these in the source.
-->   at line 1, column 8
-->   SELECT SUM(day) FROM Offers WHERE place < :n
-->          ^

SELECT product, MIN(price) FROM Offers WHERE place < :n
--> [AGG-006] product stands beside aggregates, and is not aggregated. Aggregate it, as in MIN(x), or ask for the rows by a query of their own.
-->   at line 1, column 8
-->   SELECT product, MIN(price) FROM Offers WHERE place < :n
-->          ^

SELECT MIN(price) FROM Offers WHERE place < :n AND op = 'insert'
--> [AGG-008] 'op' tells how rows of 'Offers' change, and is no part of the rows that are aggregated. Leave it out.
-->   at line 1, column 52
-->   SELECT MIN(price) FROM Offers WHERE place < :n AND op = 'insert'
-->                                                      ^

SELECT MIN(price) FROM prices WHERE place < :n
--> [AGG-008] 'prices' is looked up in another database, which does not tell when its rows change. Read it as a table with its changes.
-->   at line 1, column 24
-->   SELECT MIN(price) FROM prices WHERE place < :n
-->                          ^

SELECT MIN(price), MAX(price) FROM Offers WHERE place < :n -- alone -- {'messages': True}
--> [AGG-007] Messages are of one aggregate, and the query has 2. Subscribe to the messages of each by themselves.

SELECT MIN(price) FROM Offers WHERE place < :n -- {'messages': True}
--> [AGG-007] Messages are of all ranges at once, and the query brings rows of its own. Leave FOR EACH out, or leave AS MESSAGES out.

SELECT MIN(price) FROM Offers WHERE place < :n -- {'mode': 'full'}
--> [SQL-070] A range aggregate has no option 'mode'. Known is: messages.

SELECT MIN(price) AS a, MAX(price) AS a FROM Offers WHERE place < :n
--> [SQL-024] Two outputs are named 'a'. Add AS and a new name.
-->   at line 1, column 29
-->   SELECT MIN(price) AS a, MAX(price) AS a FROM Offers WHERE place < :n
-->                               ^

SELECT MIN(price) FROM Offers WHERE place < :lo AND FALSE
--> [SQL-050] The predicate is FALSE or NULL for every row: the query can never match. Remove the part that is always FALSE.
-->   at line 1, column 37
-->   SELECT MIN(price) FROM Offers WHERE place < :lo AND FALSE
-->                                       ^

SELECT MIN(price) FROM trades WHERE price < :n
--> [AGG-008] 'trades' is a stream: its rows are not kept, so that an answer would hang on when other queries were registered. Keep what is asked for in a view, CREATE VIEW … AS SELECT … FROM trades, and ask that; or declare a table with its changes.
-->   at line 1, column 24
-->   SELECT MIN(price) FROM trades WHERE price < :n
-->                          ^
