SELECT * FROM trades WHERE price >
--> [SQL-001] Something is missing after '>'. Complete the expression.
-->   at line 1, column 35
-->   SELECT * FROM trades WHERE price >
-->                                     ^

SELECT * FROM trades WHERE (price > 5
--> [SQL-001] Expected ) at the end. Write ) here.
-->   at line 1, column 38
-->   SELECT * FROM trades WHERE (price > 5
-->                                        ^

SELECT * FROM trades WHERE symbol = 'abc
--> [SQL-001] A ' opens here and is never closed. Close it with '.
-->   at line 1, column 37
-->   SELECT * FROM trades WHERE symbol = 'abc
-->                                       ^

SELECT * FROM trades WHERE price > 5 5
--> [SQL-001] '5' is not expected here. Check the words before it; statements are separated by ';'.
-->   at line 1, column 38
-->   SELECT * FROM trades WHERE price > 5 5
-->                                        ^

SELECT * FROM trades;
SELECT * FROM trades
--> [SQL-002] One SELECT is expected here. Write one SELECT … FROM … WHERE ….
-->   at line 2, column 1
-->   SELECT * FROM trades
-->   ^

FROM trades
--> [SQL-002] One SELECT is expected here. Write one SELECT … FROM … WHERE ….
-->   at line 1, column 1
-->   FROM trades
-->   ^

SELECT * FROM trades t JOIN trades u ON t.price = u.price
--> [SQL-062] The query joins the stream 'trades' without a bound: all its rows would have to be kept. Add WITHIN n SECONDS after ON, or a window, such as t [ROWS 100], or a budget, MEMORY 10000 ROWS, at the end; or make it a table.
-->   at line 1, column 29
-->   SELECT * FROM trades t JOIN trades u ON t.price = u.price
-->                               ^

SELECT * FROM trades, trades u
--> [SQL-062] The query joins the stream 'trades' without a bound: all its rows would have to be kept. Add WITHIN n SECONDS after ON, or a window, such as trades [ROWS 100], or a budget, MEMORY 10000 ROWS, at the end; or make it a table.
-->   at line 1, column 23
-->   SELECT * FROM trades, trades u
-->                         ^

SELECT symbol FROM trades GROUP BY symbol
--> [SQL-011] GROUP BY is not supported in a standing query. Keep the answer in a view, CREATE VIEW name REFRESH WITHIN 1 SECOND AS SELECT …, and ask for its rows; or aggregate what is delivered.
-->   at line 1, column 36
-->   SELECT symbol FROM trades GROUP BY symbol
-->                                      ^

SELECT DISTINCT symbol FROM trades
--> [SQL-011] DISTINCT is not supported in a standing query. Keep the answer in a view, CREATE VIEW name REFRESH WITHIN 1 SECOND AS SELECT …, and ask for its rows; or aggregate what is delivered.
-->   at line 1, column 1
-->   SELECT DISTINCT symbol FROM trades
-->   ^

SELECT max(price) FROM trades
--> [SQL-011] max() is an aggregate. Keep the answer in a view, CREATE VIEW name REFRESH WITHIN 1 SECOND AS SELECT …, and ask for its rows; or aggregate what is delivered.
-->   at line 1, column 8
-->   SELECT max(price) FROM trades
-->          ^

SELECT * FROM trades ORDER BY price
--> [SQL-012] ORDER BY is not supported in a standing query. Leave it out: rows are delivered as they arrive, without end. The n lowest values of a range are asked for by SELECT MIN(x, n), the highest by MAX(x, n).
-->   at line 1, column 31
-->   SELECT * FROM trades ORDER BY price
-->                                 ^

SELECT * FROM trades LIMIT 5
--> [SQL-012] LIMIT is not supported in a standing query. Leave it out: rows are delivered as they arrive, without end. The n lowest values of a range are asked for by SELECT MIN(x, n), the highest by MAX(x, n).
-->   at line 1, column 28
-->   SELECT * FROM trades LIMIT 5
-->                              ^

SELECT * FROM (SELECT * FROM trades)
--> [SQL-013] A query in FROM is not supported in a standing query. Write one SELECT … FROM … WHERE …, without a query inside.
-->   at line 1, column 23
-->   SELECT * FROM (SELECT * FROM trades)
-->                         ^

SELECT * FROM trades WHERE price > (SELECT 1)
--> [SQL-013] A query inside the query is not supported in a standing query. Write one SELECT … FROM … WHERE …, without a query inside.
-->   at line 1, column 44
-->   SELECT * FROM trades WHERE price > (SELECT 1)
-->                                              ^

SELECT * FROM trades UNION SELECT * FROM trades
--> [SQL-013] A combination of queries is not supported in a standing query. Write one SELECT … FROM … WHERE …, without a query inside.
-->   at line 1, column 1
-->   SELECT * FROM trades UNION SELECT * FROM trades
-->   ^

SELECT row_number() OVER () AS n FROM trades
--> [SQL-014] A window function is not supported in a standing query. Ask for the rows, and compute over windows what is delivered.
-->   at line 1, column 8
-->   SELECT row_number() OVER () AS n FROM trades
-->          ^

SELECT 1
--> [SQL-015] The query has no FROM. Add FROM and a stream's name.
-->   at line 1, column 1
-->   SELECT 1
-->   ^

SELECT * FROM trades TABLESAMPLE 10%
--> [SQL-015] Sampling is not supported in a standing query. Write SELECT … FROM … WHERE … only.
-->   at line 1, column 34
-->   SELECT * FROM trades TABLESAMPLE 10%
-->                                    ^

SELECT * FROM read_csv('x')
--> [SQL-015] A function in FROM is not supported in a standing query. Write SELECT … FROM … WHERE … only.
-->   at line 1, column 15
-->   SELECT * FROM read_csv('x')
-->                 ^

SELECT * REPLACE (1 AS price) FROM trades
--> [SQL-015] * REPLACE is not supported in a standing query. List the outputs one by one.
-->   at line 1, column 8
-->   SELECT * REPLACE (1 AS price) FROM trades
-->          ^

SELECT * FROM trade
--> [CAT-001] There is no stream or table 'trade'. Did you mean 'trades'?
-->   at line 1, column 15
-->   SELECT * FROM trade
-->                 ^

SELECT * FROM trades WHERE price > 5
  AND prise < 6
--> [SQL-020] 'trades' has no column 'prise'. Did you mean 'price'?
-->   at line 2, column 7
-->     AND prise < 6
-->         ^

SELECT * FROM trades WHERE price > @limit
--> [SQL-020] 'trades' has no column 'limit'. Write :limit for a parameter; @ is the absolute value. Its columns are: symbol, price, size, fee, ratio, active, day, at, ts, tags, info, Odd Name.
-->   at line 1, column 37
-->   SELECT * FROM trades WHERE price > @limit
-->                                       ^

SELECT * FROM trades WHERE symbol = @symbol
--> [SQL-032] DuckDB says: No function matches the given name and argument types '@(VARCHAR)'. You might need to add explicit type casts. @ is the absolute value of a number: write :name for a parameter.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE symbol = @symbol
-->                              ^

SELECT * FROM trades WHERE u.price > 5
--> [SQL-021] 'u' is neither the relation of this query nor a column of it. Write trades.price, or the column alone.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE u.price > 5
-->                              ^

SELECT * FROM trades WHERE lwer(symbol) = 'a'
--> [SQL-022] There is no function lwer(). Did you mean 'lower'?
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE lwer(symbol) = 'a'
-->                              ^

SELECT * FROM trades WHERE ts > now()
--> [SQL-023] now() does not depend on the row alone. A standing query must give the same answer when a batch is replayed: compare with a constant, or with a column such as the event time.
-->   at line 1, column 33
-->   SELECT * FROM trades WHERE ts > now()
-->                                   ^

SELECT * FROM trades WHERE ts > current_timestamp
--> [SQL-023] current_timestamp does not depend on the row alone. A standing query must give the same answer when a batch is replayed: compare with a constant, or with a column such as the event time.
-->   at line 1, column 33
-->   SELECT * FROM trades WHERE ts > current_timestamp
-->                                   ^

SELECT random() AS x FROM trades
--> [SQL-023] random() does not depend on the row alone. A standing query must give the same answer when a batch is replayed: compare with a constant, or with a column such as the event time.
-->   at line 1, column 8
-->   SELECT random() AS x FROM trades
-->          ^

SELECT price, size AS Price FROM trades
--> [SQL-024] Two outputs are named 'Price'. Add AS and a new name.
-->   at line 1, column 15
-->   SELECT price, size AS Price FROM trades
-->                 ^

SELECT * FROM trades WHERE symbol > 5
--> [SQL-030] Cannot compare 'symbol' (string) with 5 (integer). Compare like with like, or CAST one side.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE symbol > 5
-->                              ^

SELECT * FROM trades WHERE price > '5'
--> [SQL-030] Cannot compare 'price' (double) with '5' (string). Write 5 without quotes.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE price > '5'
-->                              ^

SELECT * FROM trades WHERE price > 'abc'
--> [SQL-030] Cannot compare 'price' (double) with 'abc' (string). Compare like with like, or CAST one side.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE price > 'abc'
-->                              ^

SELECT * FROM trades WHERE price = symbol
--> [SQL-030] Cannot compare 'price' (double) with 'symbol' (string). Compare like with like, or CAST one side.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE price = symbol
-->                              ^

SELECT * FROM trades WHERE ts > 'yesterday'
--> [SQL-031] 'yesterday' is not a timestamp. Write it as '2024-01-31 10:00:00'.
-->   at line 1, column 33
-->   SELECT * FROM trades WHERE ts > 'yesterday'
-->                                   ^

SELECT * FROM trades WHERE day = '2024-13-01'
--> [SQL-031] '2024-13-01' is not a date. Write it as '2024-01-31'.
-->   at line 1, column 34
-->   SELECT * FROM trades WHERE day = '2024-13-01'
-->                                    ^

SELECT * FROM trades WHERE upper(price) = 'A'
--> [SQL-032] DuckDB says: No function matches the given name and argument types 'upper(DOUBLE)'. You might need to add explicit type casts. Correct the expression.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE upper(price) = 'A'
-->                              ^

SELECT * FROM trades WHERE size > 0 AND
  length(price) = 2
--> [SQL-032] DuckDB says: No function matches the given name and argument types 'length(DOUBLE)'. You might need to add explicit type casts. Correct the expression.
-->   at line 2, column 3
-->     length(price) = 2
-->     ^

SELECT * FROM trades WHERE size > CAST('a' AS INT)
--> [SQL-033] DuckDB says: Could not convert string 'a' to INT32. Correct the expression.
-->   at line 1, column 40
-->   SELECT * FROM trades WHERE size > CAST('a' AS INT)
-->                                          ^

SELECT * FROM trades WHERE price
--> [SQL-034] The condition is of type DOUBLE, not BOOLEAN. Compare it with something.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE price
-->                              ^

SELECT * FROM trades WHERE size AND active
--> [SQL-034] Column 'size' (int32) is a condition here, and is not BOOLEAN. Compare it with something.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE size AND active
-->                              ^

-- alone
SELECT * FROM trades WHERE price > :lo
--> [SQL-040] The query has the parameter :lo, and no rows to take it from. Add FOR EACH ROW OF …, or pass each=…; or write a constant.
-->   at line 2, column 36
-->   SELECT * FROM trades WHERE price > :lo
-->                                      ^

SELECT * FROM trades WHERE price > :low
--> [SQL-041] The rows of FOR EACH have no column for the parameter :low. Did you mean 'lo'?
-->   at line 1, column 36
-->   SELECT * FROM trades WHERE price > :low
-->                                      ^

SELECT * FROM trades WHERE price > :sym
--> [SQL-042] Parameter :sym is string, column 'price' is double. Give the rows of FOR EACH a column 'sym' of type double.
-->   at line 1, column 36
-->   SELECT * FROM trades WHERE price > :sym
-->                                      ^

SELECT :lo AS lo FROM trades
--> [SQL-043] The parameter :lo stands among the outputs. Use parameters in WHERE only; results carry the standing query's id.
-->   at line 1, column 8
-->   SELECT :lo AS lo FROM trades
-->          ^

SELECT * FROM trades WHERE price > ?
--> [SQL-044] Parameters are named with a colon. Write :name instead of ?, $1 or $name.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE price > ?
-->                              ^

SELECT * FROM trades WHERE price > $1
--> [SQL-044] Parameters are named with a colon. Write :name instead of ?, $1 or $name.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE price > $1
-->                              ^

SELECT * FROM trades WHERE FALSE
--> [SQL-050] The predicate is FALSE or NULL for every row: the query can never match. Remove the part that is always FALSE.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE FALSE
-->                              ^

SELECT * FROM trades WHERE active AND NULL
--> [SQL-050] The predicate is FALSE or NULL for every row: the query can never match. Remove the part that is always FALSE.
-->   at line 1, column 28
-->   SELECT * FROM trades WHERE active AND NULL
-->                              ^

SELECT * FROM trades WHERE price > 'NaN'::DOUBLE
--> [SQL-053] The constant is NaN, which counts as NULL here: nothing compares with it. Remove the comparison, or write isnan(…).
-->   at line 1, column 36
-->   SELECT * FROM trades WHERE price > 'NaN'::DOUBLE
-->                                      ^
