SELECT t.symbol, q.price AS bid, o.id FROM trades t [ROWS 10], quotes [RANGE 5 SECONDS] AS q, offers o WHERE t.symbol = q.symbol AND q.symbol = o.product AND t.price > 5 AND o.place <= 3
--> i0 t of trades, rows 10: price > $0
--> i1 q of quotes, range 5000000: every row
--> i2 o of Offers, table: place <= $1
--> equal: i0.symbol = i1.symbol
--> equal: i1.symbol = i2.product
--> parameter $0: double = 5.0
--> parameter $1: int32 = 3
--> output symbol: "i0.symbol"
--> output bid: "i1.price"
--> output id: "i2.id"
--> where: (i0.".symbol" = i1.".symbol" AND i1.".symbol" = i2.".product" AND i0.".price" > 5 AND i2.".place" <= 3)

SELECT t.price FROM trades [ROWS 1] t JOIN quotes q [RANGE 1.5 MINUTES] ON t.symbol = q.symbol AND t.size < q.size, trades u [ROWS 1_000] INNER JOIN demand ON u.symbol = demand.product WHERE u.price >= t.price AND q.day <> u.day AND t.symbol < u.symbol
--> i0 t of trades, rows 1: every row
--> i1 q of quotes, range 90000000: every row
--> i2 u of trades, rows 1000: every row
--> i3 demand of demand, table: every row
--> equal: i0.symbol = i1.symbol
--> equal: i2.symbol = i3.product
--> compared: i0.price <= i2.price
--> compared: i0.size < i1.size
--> compared: i1.day <> i2.day
--> residual: [c0 < c1] of ['i0.symbol', 'i2.symbol'], []
--> output price: "i0.price"
--> where: (i0.".symbol" = i1.".symbol" AND i0.".size" < i1.".size") AND (i2.".symbol" = i3.".product") AND (i2.".price" >= i0.".price" AND i1.".day" <> i2.".day" AND i0.".symbol" < i2.".symbol")

SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3], trades u [ROWS 4] WHERE q.size - t.size BETWEEN -1 AND 5 AND abs(u.size - q."Odd Name") < 3 AND u.day <= t.day + 7 AND u.ts - t.ts <= INTERVAL 5 SECONDS AND q.at >= u.ts - INTERVAL '1 day' AND epoch_us(q.at) - epoch_us(t.ts) > 10
--> i0 t of trades, rows 2: every row
--> i1 q of quotes, rows 3: every row
--> i2 u of trades, rows 4: every row
--> apart: -9223372036854775808 <= i2.day - i0.day <= 7
--> apart: -1 <= i1.size - i0.size <= 5
--> apart: 11 <= i1.at - i0.ts <= 9223372036854775807
--> apart: -9223372036854775808 <= i2.ts - i0.ts <= 5000000
--> apart: -2 <= i2.size - i1.Odd Name <= 2
--> apart: -9223372036854775808 <= i2.ts - i1.at <= 86400000000
--> output price: "i0.price"
--> where: (i1.".size"::HUGEINT - i0.".size"::HUGEINT BETWEEN -1 AND 5 AND abs(i2.".size"::HUGEINT - i1.".Odd Name"::HUGEINT) < 3 AND i2.".day" <= i0.".day" + 7 AND i2.".ts" - i0.".ts" <= INTERVAL 5 SECONDS AND i1.".at" >= i2.".ts" - INTERVAL '1 day' AND epoch_us(i1.".at") - epoch_us(i0.".ts") > 10)

SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3] WHERE t.symbol = q.symbol AND t.size = q.price AND t.price - q.price > 1 AND t.size - q.size < :n AND q.at < :since AND t.ts - q.at < INTERVAL 1 MONTH AND (t.active OR q.active) AND t.symbol IN ('a', 'b')
--> i0 t of trades, rows 2: [c0 IN (r0, r1)] of ['symbol'], ['$0', '$1']
--> i1 q of quotes, rows 3: at < since
--> equal: i0.symbol = i1.symbol
--> residual: [(c0 OR c1) AND c2 - c3 > r0 AND CAST(c4 AS HUGEINT) - CAST(c5 AS HUGEINT) < r1 AND c4 = c3 AND c6 - c7 < INTERVAL 1 MONTH] of ['i0.active', 'i1.active', 'i0.price', 'i1.price', 'i0.size', 'i1.size', 'i0.ts', 'i1.at'], ['$2', 'n']
--> parameter since: timestamp[us]
--> parameter n: int64
--> parameter $0: string = 'a'
--> parameter $1: string = 'b'
--> parameter $2: double = 1.0
--> output price: "i0.price"
--> where: (i0.".symbol" = i1.".symbol" AND i0.".size" = i1.".price" AND i0.".price" - i1.".price" > 1 AND i0.".size"::HUGEINT - i1.".size"::HUGEINT < p.".n" AND i1.".at" < p.".since" AND i0.".ts" - i1.".at" < INTERVAL 1 MONTH AND (i0.".active" OR i1.".active") AND i0.".symbol" IN ('a', 'b'))

SELECT * FROM offers JOIN demand USING (id) JOIN trades [ROWS 5] ON trades.symbol = demand.product WHERE id > 3
--> i0 offers of Offers, table: id > $0
--> i1 demand of demand, table: every row
--> i2 trades of trades, rows 5: every row
--> equal: i0.id = i1.id
--> equal: i1.product = i2.symbol
--> parameter $0: int64 = 3
--> output id: "i0.id"
--> output product: "i0.product"
--> output price: "i0.price"
--> output place: "i0.place"
--> output cost: "i0.cost"
--> output day: "i0.day"
--> output big: "i0.big"
--> output product_1: "i1.product"
--> output price_1: "i1.price"
--> output place_1: "i1.place"
--> output cost_1: "i1.cost"
--> output day_1: "i1.day"
--> output big_1: "i1.big"
--> output urgent: "i1.urgent"
--> output symbol: "i2.symbol"
--> output price_2: "i2.price"
--> output size: "i2.size"
--> output fee: "i2.fee"
--> output ratio: "i2.ratio"
--> output active: "i2.active"
--> output day_2: "i2.day"
--> output at: "i2.at"
--> output ts: "i2.ts"
--> output tags: "i2.tags"
--> output info: "i2.info"
--> output Odd Name: "i2.Odd Name"
--> where: (i2.".symbol" = i1.".product") AND i0.".id" = i1.".id" AND (i0.".id" > 3)

SELECT o.id, price, d.* EXCLUDE (id) FROM offers o JOIN demand d USING (product, price) JOIN trades [ROWS 5] USING (price)
--> i0 o of Offers, table: every row
--> i1 d of demand, table: every row
--> i2 trades of trades, rows 5: every row
--> equal: i0.price = i1.price
--> equal: i0.price = i2.price
--> equal: i0.product = i1.product
--> output id: "i0.id"
--> output price: "i0.price"
--> output product: "i1.product"
--> output price_1: "i1.price"
--> output place: "i1.place"
--> output cost: "i1.cost"
--> output day: "i1.day"
--> output big: "i1.big"
--> output urgent: "i1.urgent"
--> where: i0.".product" = i1.".product" AND i0.".price" = i1.".price" AND i0.".price" = i2.".price"

SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3], trades u [ROWS 4] WHERE t.symbol = q.symbol
-- {'products': True, 'order': '(u (t q))', 'memory': '512 MB', 'minimum_T': 0.1, 'weight_u': 2, 'processors': 4, 'headroom': 0.1, 'objective': 'CPU', 'adapt': True}
--> i0 t of trades, rows 2: every row
--> i1 q of quotes, rows 3: every row
--> i2 u of trades, rows 4: every row
--> equal: i0.symbol = i1.symbol
--> options: {'products': True, 'order': [2, [0, 1, 'hash', 'hash'], 'loop', 'loop'], 'memory_bytes': 512000000, 'minimum_t': 0.1, 'weight_u': 2.0, 'processors': 4, 'headroom': 0.1, 'objective': 'cpu', 'adapt': True}
--> output price: "i0.price"
--> where: (i0.".symbol" = i1.".symbol")

SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3], trades u [ROWS 4] WHERE t.symbol = q.symbol
--> [SQL-086] Nothing joins (t and q) with (u): all their rows meet. Add an equality, such as t.column = u.column; or say OPTIONS (products = TRUE).
-->   at line 1, column 59
-->   SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3], trades u [ROWS 4] WHERE t.symbol = q.symbol
-->                                                             ^

SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3], trades u [ROWS 4], quotes v [ROWS 4] WHERE t.symbol = v.symbol AND q.size = u.size AND t.price > 2
--> [SQL-086] Nothing joins (t and v) with (q and u): all their rows meet. Add an equality, such as t.column = q.column; or say OPTIONS (products = TRUE).
-->   at line 1, column 40
-->   SELECT t.price FROM trades t [ROWS 2], quotes q [ROWS 3], trades u [ROWS 4], quotes v [ROWS 4] WHERE t.symbol = v.symbol AND q.size = u.size AND t.price > 2
-->                                          ^

SELECT * FROM trades [ROWS 5]
--> [SQL-080] The query reads one relation, and a window says which rows may meet in a join. Leave the window out.
-->   at line 1, column 23
-->   SELECT * FROM trades [ROWS 5]
-->                         ^

SELECT * FROM trades t [ROWS 5] JOIN quotes q [ROWS 5] ON t.symbol = q.symbol WITHIN 5 SECONDS
--> [SQL-081] WITHIN is for a join of two streams without windows of their own. Leave WITHIN out, and give every stream a window: [ROWS 100] or [RANGE 5 SECONDS].
-->   at line 1, column 79
-->   SELECT * FROM trades t [ROWS 5] JOIN quotes q [ROWS 5] ON t.symbol = q.symbol WITHIN 5 SECONDS
-->                                                                                 ^

SELECT * FROM trades t [ROWS 5], quotes q WHERE t.symbol = q.symbol
--> [SQL-082] The stream 'q' has no window: all its rows would have to be kept. Write q [ROWS 100] or q [RANGE 5 SECONDS]; or make it a table.
-->   at line 1, column 34
-->   SELECT * FROM trades t [ROWS 5], quotes q WHERE t.symbol = q.symbol
-->                                    ^

SELECT t.price FROM trades t, quotes q, offers o WHERE t.symbol = q.symbol AND o.product = t.symbol
--> [SQL-082] The stream 't' has no window: all its rows would have to be kept. Write t [ROWS 100] or t [RANGE 5 SECONDS]; or make it a table.
-->   at line 1, column 21
-->   SELECT t.price FROM trades t, quotes q, offers o WHERE t.symbol = q.symbol AND o.product = t.symbol
-->                       ^

SELECT t.price FROM trades t [ROWS 5], offers o [ROWS 5] WHERE o.product = t.symbol
--> [SQL-083] 'o' is a table, which is kept whole: it has no window. Leave the window out.
-->   at line 1, column 50
-->   SELECT t.price FROM trades t [ROWS 5], offers o [ROWS 5] WHERE o.product = t.symbol
-->                                                    ^

SELECT t.price FROM trades t [ROWS 5], plain p [ROWS 5] WHERE p.symbol = t.symbol
--> [SQL-085] Windows follow event times, and the stream 'plain' has none. Declare it with OPTIONS (event_time = '<column>').
-->   at line 1, column 40
-->   SELECT t.price FROM trades t [ROWS 5], plain p [ROWS 5] WHERE p.symbol = t.symbol
-->                                          ^

SELECT o.id FROM offers o, demand d, offers p WHERE o.id = d.id AND p.id = d.id
--> [SQL-088] The query joins tables only: no row of a stream would ever ask for an answer. Add a stream with a window, such as [ROWS 100] or [RANGE 5 SECONDS]; or join two tables.
-->   at line 1, column 18
-->   SELECT o.id FROM offers o, demand d, offers p WHERE o.id = d.id AND p.id = d.id
-->                    ^

SELECT t.price FROM trades t [ROWS 0], quotes q [ROWS 5] WHERE t.symbol = q.symbol
--> [SQL-084] No window has 0 rows. Write a whole number from 1 to 1,099,511,627,775, such as [ROWS 100].
-->   at line 1, column 36
-->   SELECT t.price FROM trades t [ROWS 0], quotes q [ROWS 5] WHERE t.symbol = q.symbol
-->                                      ^

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS -5] WHERE t.symbol = q.symbol
--> [SQL-084] No window has -5 rows. Write a whole number from 1 to 1,099,511,627,775, such as [ROWS 100].
-->   at line 1, column 56
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS -5] WHERE t.symbol = q.symbol
-->                                                          ^

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 1.5] WHERE t.symbol = q.symbol
--> [SQL-084] No window has 1.5 rows. Write a whole number from 1 to 1,099,511,627,775, such as [ROWS 100].
-->   at line 1, column 55
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 1.5] WHERE t.symbol = q.symbol
-->                                                         ^

SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 0 SECONDS] WHERE t.symbol = q.symbol
--> [SQL-084] No window is 0 SECONDS long. Write a number above zero, such as [RANGE 5 SECONDS], of whole microseconds.
-->   at line 1, column 56
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 0 SECONDS] WHERE t.symbol = q.symbol
-->                                                          ^

SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 0.5 MICROSECONDS] WHERE t.symbol = q.symbol
--> [SQL-084] No window is 0.5 MICROSECONDS long. Write a number above zero, such as [RANGE 5 SECONDS], of whole microseconds.
-->   at line 1, column 56
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 0.5 MICROSECONDS] WHERE t.symbol = q.symbol
-->                                                          ^

SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 99999999999999 DAYS] WHERE t.symbol = q.symbol
--> [SQL-084] No window is 99999999999999 DAYS long. Write a number above zero, such as [RANGE 5 SECONDS], of whole microseconds.
-->   at line 1, column 56
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 99999999999999 DAYS] WHERE t.symbol = q.symbol
-->                                                          ^

SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 5 FORTNIGHTS] WHERE t.symbol = q.symbol
--> [SQL-084] 'FORTNIGHTS' is no unit of time. Write one of: MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS.
-->   at line 1, column 58
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 5 FORTNIGHTS] WHERE t.symbol = q.symbol
-->                                                            ^

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS :n] WHERE t.symbol = q.symbol
--> [SQL-084] The size of a window is a constant: all queries of a group share it. Write a number, such as [ROWS 100] or [RANGE 5 SECONDS].
-->   at line 1, column 55
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS :n] WHERE t.symbol = q.symbol
-->                                                         ^

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 'five'] WHERE t.symbol = q.symbol
--> [SQL-084] No window has 'five' rows. Write a whole number from 1 to 1,099,511,627,775, such as [ROWS 100].
-->   at line 1, column 55
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 'five'] WHERE t.symbol = q.symbol
-->                                                         ^

SELECT t.price FROM trades t [ROWS 5] [ROWS 6], quotes q [ROWS 5] WHERE t.symbol = q.symbol
--> [SQL-084] 't' has 2 windows. Keep one of them.
-->   at line 1, column 40
-->   SELECT t.price FROM trades t [ROWS 5] [ROWS 6], quotes q [ROWS 5] WHERE t.symbol = q.symbol
-->                                          ^

SELECT t.price FROM trades t [ROWS 5], quotes q [5 SECONDS] WHERE t.symbol = q.symbol
--> [SQL-001] Expected ROWS, RANGE or SIZE before '5'. Write ROWS, RANGE or SIZE here.
-->   at line 1, column 50
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [5 SECONDS] WHERE t.symbol = q.symbol
-->                                                    ^

SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 5] WHERE t.symbol = q.symbol
--> [SQL-001] Expected a unit of time before ']'. Write a unit of time here.
-->   at line 1, column 57
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [RANGE 5] WHERE t.symbol = q.symbol
-->                                                           ^

SELECT t.price FROM trades t [ROWS 5], quotes T [ROWS 5], offers o WHERE t.symbol = o.product
--> [SQL-026] Two relations of the join are called 'T'. Give each its own name: FROM trades AS a JOIN quotes AS b.
-->   at line 1, column 40
-->   SELECT t.price FROM trades t [ROWS 5], quotes T [ROWS 5], offers o WHERE t.symbol = o.product
-->                                          ^

SELECT symbol FROM trades t [ROWS 5], quotes q [ROWS 5], offers o WHERE t.symbol = o.product
--> [SQL-025] Several relations have a column 'symbol'. Write t.symbol or q.symbol.
-->   at line 1, column 8
-->   SELECT symbol FROM trades t [ROWS 5], quotes q [ROWS 5], offers o WHERE t.symbol = o.product
-->          ^

SELECT nothing FROM trades t [ROWS 5], quotes q [ROWS 5], offers o WHERE t.symbol = o.product
--> [SQL-020] No relation has a column 'nothing'. Their columns are: symbol, price, size, fee, ratio, active, day, at, ts, tags, info, Odd Name, … (17 in all).
-->   at line 1, column 8
-->   SELECT nothing FROM trades t [ROWS 5], quotes q [ROWS 5], offers o WHERE t.symbol = o.product
-->          ^

SELECT o.op FROM trades t [ROWS 5], offers o WHERE t.symbol = o.product
--> [SQL-066] 'op' says how 'Offers' changes; it is no part of its rows, and a join cannot ask for it. Leave it out: the changes of the join's own rows are delivered.
-->   at line 1, column 10
-->   SELECT o.op FROM trades t [ROWS 5], offers o WHERE t.symbol = o.product
-->            ^

SELECT t.price FROM trades t [ROWS 5] LEFT JOIN quotes q [ROWS 5] ON t.symbol = q.symbol
--> [SQL-010] A LEFT join is not supported in a standing query. Write JOIN … ON …: rows without a partner are not delivered.
-->   at line 1, column 49
-->   SELECT t.price FROM trades t [ROWS 5] LEFT JOIN quotes q [ROWS 5] ON t.symbol = q.symbol
-->                                                   ^

SELECT t.price FROM trades t [ROWS 5] JOIN quotes q [ROWS 5] JOIN offers o ON q.symbol = o.product ON t.symbol = q.symbol
--> [SQL-010] A join inside a join is not supported in a standing query. Write … JOIN … ON … for every relation.
-->   at line 1, column 67
-->   SELECT t.price FROM trades t [ROWS 5] JOIN quotes q [ROWS 5] JOIN offers o ON q.symbol = o.product ON t.symbol = q.symbol
-->                                                                     ^

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 5] WHERE t.symbol = q.symbol
-- {'oder': '(t q)'}
--> [SQL-070] A multi-way join has no option 'oder'. Did you mean 'order'?

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 5] WHERE t.symbol = q.symbol
-- {'weight_x': 1}
--> [SQL-070] Option 'weight_x' names 'x', which is no input of the query. The inputs are: t, q.

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 5] WHERE t.symbol = q.symbol
-- {'order': '(t q) t'}
--> [SQL-071] Option 'order' cannot be '(t q) t'. Write every input once, two in every bracket, such as '(t q)'.

SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 5] WHERE t.symbol = q.symbol AND 1 = 2
--> [SQL-050] The predicate is FALSE or NULL for every row: the query can never match. Remove the part that is always FALSE.
-->   at line 1, column 64
-->   SELECT t.price FROM trades t [ROWS 5], quotes q [ROWS 5] WHERE t.symbol = q.symbol AND 1 = 2
-->                                                                  ^
