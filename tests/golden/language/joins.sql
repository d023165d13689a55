SELECT d.id, o.id AS offer, o.price * 2 FROM demand d JOIN offers o ON d.product = o.product WHERE d.price > 5 AND o.place BETWEEN 1 AND 3
--> select_join
--> i0 demand: price > $0
--> i1 Offers: place >= $1 <= $2
--> key: i0.product = i1.product
--> parameter $0: double = 5.0
--> parameter $1: int32 = 1
--> parameter $2: int32 = 3
--> output id: "i0.id"
--> output offer: "i1.id"
--> output o.price * 2: "i1.price" * 2
--> where: (i0.".product" = i1.".product") AND (i0.".price" > 5 AND i1.".place" BETWEEN 1 AND 3)

SELECT d.id FROM offers AS o INNER JOIN demand AS d ON o.product = d.product WHERE o.place <= :n AND 7 <= d.price
--> select_join
--> i0 demand: price >= $0
--> i1 Offers: place <= n
--> key: i0.product = i1.product
--> parameter n: int32
--> parameter $0: double = 7.0
--> output id: "i0.id"
--> where: (i1.".product" = i0.".product") AND (i1.".place" <= p.".n" AND 7 <= i0.".price")

SELECT urgent, x.id FROM demand x, Offers WHERE x.product = offers.product AND offers.id = x.id AND x.urgent AND NOT (offers.place <> 3 OR x.price >= 2)
--> select_join
--> i0 demand: urgent in ['$0']; price < $1
--> i1 Offers: place in ['$2']
--> key: i0.id = i1.id
--> key: i0.product = i1.product
--> parameter $0: bool = True
--> parameter $1: double = 2.0
--> parameter $2: int32 = 3
--> output urgent: "i0.urgent"
--> output id: "i0.id"
--> where: (i0.".product" = i1.".product" AND i1.".id" = i0.".id" AND i0.".urgent" AND NOT (i1.".place" <> 3 OR i0.".price" >= 2))

SELECT * FROM offers o JOIN demand d USING (product, ID) WHERE product = 'a' AND o.cost IN (1, 2)
--> select_join
--> i0 demand: every row
--> i1 Offers: product in ['$0']; [c0 IN (r0, r1)] of ['cost'], ['$1', '$2']
--> key: i0.id = i1.id
--> key: i0.product = i1.product
--> parameter $0: string = 'a'
--> parameter $1: decimal128(8, 2) = Decimal('1.00')
--> parameter $2: decimal128(8, 2) = Decimal('2.00')
--> output id: "i1.id"
--> output product: "i1.product"
--> output price: "i1.price"
--> output place: "i1.place"
--> output cost: "i1.cost"
--> output day: "i1.day"
--> output big: "i1.big"
--> output price_1: "i0.price"
--> output place_1: "i0.place"
--> output cost_1: "i0.cost"
--> output day_1: "i0.day"
--> output big_1: "i0.big"
--> output urgent: "i0.urgent"
--> where: i1.".product" = i0.".product" AND i1.".id" = i0.".id" AND (i1.".product" = 'a' AND i1.".cost" IN (1, 2))

SELECT o.*, d.* EXCLUDE (product, price) FROM offers o JOIN demand d ON o.id = d.id
--> select_join
--> i0 demand: every row
--> i1 Offers: every row
--> key: i0.id = i1.id
--> output id: "i1.id"
--> output product: "i1.product"
--> output price: "i1.price"
--> output place: "i1.place"
--> output cost: "i1.cost"
--> output day: "i1.day"
--> output big: "i1.big"
--> output id_1: "i0.id"
--> output place_1: "i0.place"
--> output cost_1: "i0.cost"
--> output day_1: "i0.day"
--> output big_1: "i0.big"
--> output urgent: "i0.urgent"
--> where: (i1.".id" = i0.".id")

SELECT a.id, b.id AS later FROM offers b JOIN offers a ON a.product = b.product AND a.id < b.id AND (a.place > 3 OR b.place > 4) AND a.price + b.price > 10
--> select_join
--> i0 Offers: every row
--> i1 Offers: every row
--> key: i0.product = i1.product
--> residual: [c0 < c1 AND (c2 > r0 OR c3 > r1) AND c4 + c5 > r2] of ['i1.id', 'i0.id', 'i1.place', 'i0.place', 'i1.price', 'i0.price'], ['$0', '$1', '$2']
--> parameter $0: int64 = 3
--> parameter $1: int64 = 4
--> parameter $2: double = 10.0
--> output id: "i1.id"
--> output later: "i0.id"
--> where: (i1.".product" = i0.".product" AND i1.".id" < i0.".id" AND (i1.".place" > 3 OR i0.".place" > 4) AND i1.".price" + i0.".price" > 10)

SELECT a.id FROM offers a JOIN offers b ON abs(a.price - b.price) <= :hi AND a.product LIKE 'x%'
--> band_join
--> i0 Offers: [c0 LIKE r0] of ['product'], ['$0']
--> i1 Offers: every row
--> band: i1.price - i0.price >= -hi <= hi
--> parameter hi: double
--> parameter $0: string = 'x%'
--> output id: "i0.id"
--> where: (abs(i0.".price" - i1.".price") <= p.".hi" AND i0.".product" LIKE 'x%') AND NOT isnan(i1.".price" - i0.".price")

SELECT a.id FROM offers a JOIN offers b ON b.price - a.price BETWEEN 1 AND 2.5 AND a.place - b.place < 3
--> band_join
--> i0 Offers: every row
--> i1 Offers: every row
--> band: i1.price - i0.price >= $0 <= $1
--> residual: [CAST(c0 AS HUGEINT) - CAST(c1 AS HUGEINT) < r0] of ['i0.place', 'i1.place'], ['$2']
--> parameter $0: double = 1.0
--> parameter $1: double = 2.5
--> parameter $2: int64 = 3
--> output id: "i0.id"
--> where: (i1.".price" - i0.".price" BETWEEN 1 AND 2.5 AND i0.".place"::HUGEINT - i1.".place"::HUGEINT < 3) AND NOT isnan(i1.".price" - i0.".price")

SELECT a.id FROM offers a JOIN offers b ON :lo < a.price - b.price AND a.price - b.price < 7
--> band_join
--> i0 Offers: every row
--> i1 Offers: every row
--> band: i1.price - i0.price > $0 < -lo
--> parameter lo: double
--> parameter $0: double = -7.0
--> output id: "i0.id"
--> where: (p.".lo" < i0.".price" - i1.".price" AND i0.".price" - i1.".price" < 7) AND NOT isnan(i1.".price" - i0.".price")

SELECT a.id FROM offers a, offers b WHERE b.place BETWEEN a.place - 1 AND a.place + :n
--> band_join
--> i0 Offers: every row
--> i1 Offers: every row
--> band: i1.place - i0.place >= $0 <= n
--> parameter n: int64
--> parameter $0: int64 = -1
--> output id: "i0.id"
--> where: (i1.".place"::HUGEINT BETWEEN i0.".place"::HUGEINT - 1 AND i0.".place"::HUGEINT + p.".n")

SELECT a.id FROM offers a JOIN offers b ON a.day < b.day + 3 AND b.cost - a.cost = 1.25
--> band_join
--> i0 Offers: every row
--> i1 Offers: every row
--> band: i1.cost - i0.cost >= $0 <= $0
--> residual: [c0 < c1 + 3] of ['i0.day', 'i1.day'], []
--> parameter $0: decimal128(18, 2) = Decimal('1.25')
--> output id: "i0.id"
--> where: (i0.".day" < i1.".day" + 3 AND i1.".cost" - i0.".cost" = 1.25)

SELECT a.id FROM offers a JOIN offers b ON a.day <= b.day AND a.day >= b.day - 3
--> band_join
--> i0 Offers: every row
--> i1 Offers: every row
--> band: i1.day - i0.day >= $0 <= $1
--> parameter $0: int32 = 0
--> parameter $1: int32 = 3
--> output id: "i0.id"
--> where: (i0.".day" <= i1.".day" AND i0.".day" >= i1.".day" - 3)

SELECT a.id FROM offers a JOIN offers b ON a.product = b.product AND abs(a.place - b.place) < 3
--> select_join
--> i0 Offers: every row
--> i1 Offers: every row
--> key: i0.product = i1.product
--> residual: [abs(CAST(c0 AS HUGEINT) - CAST(c1 AS HUGEINT)) < r0] of ['i0.place', 'i1.place'], ['$0']
--> parameter $0: int64 = 3
--> output id: "i0.id"
--> where: (i0.".product" = i1.".product" AND abs(i0.".place"::HUGEINT - i1.".place"::HUGEINT) < 3)

SELECT t.price, q.price AS quoted FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 1.5 seconds WHERE t.size > 3
--> window_join
--> i0 quotes: every row
--> i1 trades: size > $1
--> key: i0.symbol = i1.symbol
--> window: |i0.at - i1.ts| < $0 * 1 us
--> parameter $0: int64 = 1500000
--> parameter $1: int32 = 3
--> output price: "i1.price"
--> output quoted: "i0.price"
--> where: (i1.".symbol" = i0.".symbol") AND (i1.".size" > 3) AND abs(epoch_us(i0.".at")::HUGEINT - epoch_us(i1.".ts")) < 1500000

SELECT t.price FROM trades t JOIN trades u USING (symbol) WITHIN :n MINUTES -- {'inclusive': True, 'mode': 'identify', 'strategy': 'hot', 'alpha': 0.01}
--> window_join
--> i0 trades: every row
--> i1 trades: every row
--> key: i0.symbol = i1.symbol
--> window: |i0.ts - i1.ts| <= n * 60000000 us
--> identify, hot, {'alpha': 0.01}
--> parameter n: int64
--> output price: "i0.price"
--> where: i0.".symbol" = i1.".symbol" AND abs(epoch_us(i0.".ts")::HUGEINT - epoch_us(i1.".ts")) <= p.".n"::HUGEINT * 60000000

SELECT a.id FROM offers a JOIN offers b ON a.id = b.id AND :n > 3
--> select_join
--> i0 Offers: [r0 > r1] of [], ['n', '$0']
--> i1 Offers: every row
--> key: i0.id = i1.id
--> parameter n: int64
--> parameter $0: int64 = 3
--> output id: "i0.id"
--> where: (i0.".id" = i1.".id" AND p.".n" > 3)

SELECT a.id FROM offers a LEFT JOIN offers b ON a.id = b.id
--> [SQL-010] A LEFT join is not supported in a standing query. Write JOIN … ON …: rows without a partner are not delivered.
-->   at line 1, column 37
-->   SELECT a.id FROM offers a LEFT JOIN offers b ON a.id = b.id
-->                                       ^

SELECT a.id FROM offers a NATURAL JOIN demand b
--> [SQL-010] A NATURAL join is not supported in a standing query. Write JOIN … USING (column, …).
-->   at line 1, column 40
-->   SELECT a.id FROM offers a NATURAL JOIN demand b
-->                                          ^

SELECT a.id FROM offers a ASOF JOIN demand b ON a.day >= b.day
--> [SQL-010] An ASOF join is not supported in a standing query. Write JOIN … ON … WITHIN n SECONDS, and take the nearest of what is delivered.
-->   at line 1, column 37
-->   SELECT a.id FROM offers a ASOF JOIN demand b ON a.day >= b.day
-->                                       ^

SELECT a.id FROM offers a JOIN demand b ON a.id = b.id JOIN trades t ON t.size = a.id
--> [SQL-082] The stream 't' has no window: all its rows would have to be kept. Write t [ROWS 100] or t [RANGE 5 SECONDS]; or make it a table.
-->   at line 1, column 61
-->   SELECT a.id FROM offers a JOIN demand b ON a.id = b.id JOIN trades t ON t.size = a.id
-->                                                               ^

SELECT a.id FROM offers a, demand b WHERE a.id > 3
--> [SQL-060] The join has neither an equality nor a band between its sides: a cross product. Add a.column = b.column, or a band: abs(a.column - b.column) <= 5.
-->   at line 1, column 28
-->   SELECT a.id FROM offers a, demand b WHERE a.id > 3
-->                              ^

SELECT a.id FROM offers a, demand b WHERE a.price - b.place < 3
--> [SQL-060] The join has neither an equality nor a band between its sides: a cross product. A band bounds the difference of two columns by a value of its type; the columns are whole numbers, dates, decimals of one scale, or floats of one type.
-->   at line 1, column 28
-->   SELECT a.id FROM offers a, demand b WHERE a.price - b.place < 3
-->                              ^

SELECT a.id FROM offers a JOIN demand b ON a.id = b.price
--> [SQL-061] A join cannot look up 'b.price' (double) by 'a.id' (int64). Declare both with the same type, or CAST one in its source.
-->   at line 1, column 44
-->   SELECT a.id FROM offers a JOIN demand b ON a.id = b.price
-->                                              ^

SELECT a.id FROM offers a JOIN demand b ON a.id = b.big
--> select_join
--> i0 demand: every row
--> i1 Offers: every row
--> key: i0.big = i1.id
--> output id: "i1.id"
--> where: (i1.".id" = i0.".big")

SELECT a.id FROM offers a JOIN demand b ON a.id = b.product
--> [SQL-030] Cannot compare 'a.id' (int64) with 'b.product' (string). Compare like with like, or CAST one side.
-->   at line 1, column 44
-->   SELECT a.id FROM offers a JOIN demand b ON a.id = b.product
-->                                              ^

SELECT price FROM offers a JOIN demand b ON a.id = b.id
--> [SQL-025] Both relations have a column 'price'. Write a.price or b.price.
-->   at line 1, column 8
-->   SELECT price FROM offers a JOIN demand b ON a.id = b.id
-->          ^

SELECT a.op FROM offers a JOIN demand b ON a.id = b.id
--> [SQL-066] 'op' says how 'Offers' changes; it is no part of its rows, and a join cannot ask for it. Leave it out: the changes of the join's own rows are delivered.
-->   at line 1, column 10
-->   SELECT a.op FROM offers a JOIN demand b ON a.id = b.id
-->            ^

SELECT a.id FROM offers a JOIN demand b ON a.id = c.id
--> [SQL-021] 'c' is neither a relation of this query nor a column of it. Write a.id or b.id, or the column alone.
-->   at line 1, column 51
-->   SELECT a.id FROM offers a JOIN demand b ON a.id = c.id
-->                                                     ^

SELECT a.prise FROM offers a JOIN demand b ON a.id = b.id
--> [SQL-020] 'Offers' has no column 'prise'. Did you mean 'price'?
-->   at line 1, column 10
-->   SELECT a.prise FROM offers a JOIN demand b ON a.id = b.id
-->            ^

SELECT prise FROM offers a JOIN demand b ON a.id = b.id
--> [SQL-020] Neither relation has a column 'prise'. Did you mean 'price'?
-->   at line 1, column 8
-->   SELECT prise FROM offers a JOIN demand b ON a.id = b.id
-->          ^

SELECT * FROM offers JOIN offers ON offers.id = offers.id
--> [SQL-026] Both relations of the join are called 'offers'. Give each its own name: FROM Offers AS a JOIN Offers AS b.
-->   at line 1, column 27
-->   SELECT * FROM offers JOIN offers ON offers.id = offers.id
-->                             ^

SELECT a.id, b.id FROM offers a JOIN demand b ON a.id = b.id
--> [SQL-024] Two outputs are named 'id'. Add AS and a new name.
-->   at line 1, column 14
-->   SELECT a.id, b.id FROM offers a JOIN demand b ON a.id = b.id
-->                ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol
--> [SQL-062] The query joins the stream 'trades' without a bound: all its rows would have to be kept. Add WITHIN n SECONDS after ON, or a window, such as t [ROWS 100], or a budget, MEMORY 10000 ROWS, at the end; or make it a table.
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol
-->                                     ^

SELECT t.price FROM trades t JOIN offers q ON t.symbol = q.product
--> [SQL-062] The query joins the stream 'trades' without a bound: all its rows would have to be kept. Add WITHIN n SECONDS after ON, or a window, such as t [ROWS 100], or a budget, MEMORY 10000 ROWS, at the end; or make it a table.
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN offers q ON t.symbol = q.product
-->                                     ^

SELECT t.price FROM trades t JOIN offers q ON t.symbol = q.product WITHIN 1 DAY
--> [SQL-063] WITHIN compares event times, and 'Offers' is a table. Join two streams; or join two tables, without WITHIN.
-->   at line 1, column 68
-->   SELECT t.price FROM trades t JOIN offers q ON t.symbol = q.product WITHIN 1 DAY
-->                                                                      ^

SELECT t.price FROM trades t JOIN plain q ON t.symbol = q.symbol WITHIN 1 DAY
--> [SQL-063] WITHIN compares event times, and the stream 'plain' has none. Declare it with OPTIONS (event_time = '<column>').
-->   at line 1, column 66
-->   SELECT t.price FROM trades t JOIN plain q ON t.symbol = q.symbol WITHIN 1 DAY
-->                                                                    ^

SELECT t.price FROM trades t JOIN quotes q ON t.price < q.price WITHIN 1 DAY
--> [SQL-064] WITHIN needs an equality between the two streams. Add ON t.column = q.column.
-->   at line 1, column 65
-->   SELECT t.price FROM trades t JOIN quotes q ON t.price < q.price WITHIN 1 DAY
-->                                                                   ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN -1 DAY
--> [SQL-065] No window is -1 DAY long. Write a number above zero, such as WITHIN 5 SECONDS, of whole microseconds.
-->   at line 1, column 75
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN -1 DAY
-->                                                                             ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN t.size DAYS
--> [SQL-065] WITHIN takes a number or a parameter. Write a number above zero, such as WITHIN 5 SECONDS, of whole microseconds.
-->   at line 1, column 74
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN t.size DAYS
-->                                                                            ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 1 YEAR
--> [SQL-065] 'YEAR' is no unit of time. Write one of: MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS.
-->   at line 1, column 76
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 1 YEAR
-->                                                                              ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN :sym DAYS
--> [SQL-042] Parameter :sym is string, and WITHIN takes whole numbers. Give whole numbers of a smaller unit, such as MILLISECONDS.
-->   at line 1, column 74
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN :sym DAYS
-->                                                                            ^

SELECT a.id FROM offers a JOIN demand b ON a.id = b.id AND FALSE
--> [SQL-050] The predicate is FALSE or NULL for every row: the query can never match. Remove the part that is always FALSE.
-->   at line 1, column 44
-->   SELECT a.id FROM offers a JOIN demand b ON a.id = b.id AND FALSE
-->                                              ^

SELECT a.id FROM offers a JOIN demand b ON a.id = b.id -- {'strategi': 'hot'}
--> [SQL-070] A join has no option 'strategi'. Did you mean 'strategy'?

SELECT a.id FROM offers a JOIN demand b ON a.id = b.id -- {'strategy': 'merge'}
--> [SQL-071] Option 'strategy' cannot be 'merge' for a select join. Choose one of: 'join', 'selection', 'scan', 'ssi', 'hot', 'dynamic'.

SELECT price FROM trades -- {'mode': 'full'}
--> [SQL-070] A query of one relation has no option 'mode'. Known are: shedding, processors, headroom, minimum.

SELECT o.id, o.price AS p FROM offers o JOIN demand d ON o.product = d.product WHERE o.price BETWEEN :lo AND :hi AND d.place < :most AND o.product = :sym AND d.place > 0 AND o.cost < d.cost -- alone -- {'messages': True}
--> select_join
--> i0 demand: place > $0
--> i1 Offers: every row
--> key: i0.product = i1.product
--> residual: [c0 < c1] of ['i1.cost', 'i0.cost'], []
--> parameter $0: int32 = 0
--> output id: "i1.id"
--> output p: "i1.price"
--> output o.product = :sym: "i1.product"
--> output d.place < :most: "i0.place"
--> output :lo <= o.price <= :hi: "i1.price"
--> where: (i1.".product" = i0.".product") AND (TRUE AND TRUE AND TRUE AND i0.".place" > 0 AND i1.".cost" < i0.".cost")

SELECT * FROM offers JOIN demand USING (product) WHERE :lo < offers.price AND (:hi >= offers.price) -- alone -- {'messages': True}
--> select_join
--> i0 demand: every row
--> i1 Offers: every row
--> key: i0.product = i1.product
--> output id: "i1.id"
--> output product: "i1.product"
--> output price: "i1.price"
--> output place: "i1.place"
--> output cost: "i1.cost"
--> output day: "i1.day"
--> output big: "i1.big"
--> output id_1: "i0.id"
--> output price_1: "i0.price"
--> output place_1: "i0.place"
--> output cost_1: "i0.cost"
--> output day_1: "i0.day"
--> output big_1: "i0.big"
--> output urgent: "i0.urgent"
--> output :lo < offers.price <= :hi: "i1.price"
--> where: i1.".product" = i0.".product" AND (TRUE AND (TRUE))

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo -- {'messages': True}
--> [SQL-067] The join cannot be told AS MESSAGES: they are for all subscribers, and it brings rows of its own. Leave AS MESSAGES out, or ask for the joined rows of two tables: SELECT … FROM a JOIN b ON a.k = b.k WHERE a.x BETWEEN :lo AND :hi AS MESSAGES.

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > 3 -- alone -- {'messages': True}
--> [SQL-067] Messages of a join are for subscribers with ranges of one column or two, and parameters bound no column. Write WHERE a.x BETWEEN :lo AND :hi; write further ranges with constants.
-->   at line 1, column 44
-->   SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > 3 -- alone -- {'messages': True}
-->                                              ^

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo AND d.price > :lo AND o.place < :most -- alone -- {'messages': True}
--> [SQL-067] Messages of a join are for subscribers with ranges of one column or two, and parameters bound o.price and d.price and o.place. Write WHERE a.x BETWEEN :lo AND :hi; write further ranges with constants.
-->   at line 1, column 44
-->   SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo AND d.price > :lo AND o.place < :most -- alone -- {'messages': True}
-->                                              ^

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo OR d.price > 5 -- alone -- {'messages': True}
--> [SQL-068] Of messages, a parameter is the end of a range of a column, or what a column equals; edges can ask nothing else of a row. Write a constant; or compare a column that has an order, not text, with the parameter by <, <=, >, >=, = or BETWEEN, one parameter for each end.
-->   at line 1, column 82
-->   SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo OR d.price > 5 -- alone -- {'messages': True}
-->                                                                                    ^

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo AND o.product > :sym -- alone -- {'messages': True}
--> [SQL-068] Of messages, a parameter is the end of a range of a column, or what a column equals; edges can ask nothing else of a row. Write a constant; or compare a column that has an order, not text, with the parameter by <, <=, >, >=, = or BETWEEN, one parameter for each end.
-->   at line 1, column 102
-->   SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo AND o.product > :sym -- alone -- {'messages': True}
-->                                                                                                        ^

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo AND o.price >= :least -- alone -- {'messages': True}
--> [SQL-068] Two parameters are one end of the range of o.price. Keep one for each end.
-->   at line 1, column 90
-->   SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo AND o.price >= :least -- alone -- {'messages': True}
-->                                                                                            ^

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price BETWEEN 3 AND :hi -- alone -- {'messages': True}
--> [SQL-068] Of messages, a parameter is the end of a range of a column, or what a column equals; edges can ask nothing else of a row. Write a constant; or compare a column that has an order, not text, with the parameter by <, <=, >, >=, = or BETWEEN, one parameter for each end.
-->   at line 1, column 72
-->   SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price BETWEEN 3 AND :hi -- alone -- {'messages': True}
-->                                                                          ^

SELECT o.id AS ordinal FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo -- alone -- {'messages': True}
--> [SQL-069] Messages have columns named like 'ordinal' of their own, and an output is so named. Give the output another name, with AS.

SELECT o.id AS "p < :hi" FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo -- alone -- {'messages': True}
--> [SQL-069] Messages have columns named like 'p < :hi' of their own, and an output is so named. Give the output another name, with AS.

SELECT [o.id] AS ids FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo -- alone -- {'messages': True}
--> [SQL-069] The output 'ids' is of type BIGINT[], which messages cannot have. Select its parts, or cast it to VARCHAR.

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo -- alone -- {'messages': True, 'mode': 'identify'}
--> [SQL-067] The join cannot be told AS MESSAGES: in mode 'identify' it has no joined rows. Leave AS MESSAGES out, or ask for the joined rows of two tables: SELECT … FROM a JOIN b ON a.k = b.k WHERE a.x BETWEEN :lo AND :hi AS MESSAGES.

SELECT t.price FROM trades t JOIN trades q ON t.symbol = q.symbol WITHIN 3 SECONDS WHERE t.price > :lo -- alone -- {'messages': True}
--> [SQL-067] The join cannot be told AS MESSAGES: it reads streams, so that its rows only come. Leave AS MESSAGES out, or ask for the joined rows of two tables: SELECT … FROM a JOIN b ON a.k = b.k WHERE a.x BETWEEN :lo AND :hi AS MESSAGES.

SELECT o.id FROM offers o JOIN demand d ON o.product = d.product WHERE o.price > :lo -- alone -- {'messages': 3}
--> [SQL-071] Option 'messages' cannot be 3. Write TRUE or FALSE.
