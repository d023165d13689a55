SELECT t.symbol, p.price FROM trades t JOIN prices p ON t.symbol = p.product WHERE t.price > p.price AND p.place = 3 AND t.size < :n
--> i0 t of trades, as it comes: size < n
--> i1 p of prices, as it comes: place in ['$0']
--> equal: i0.symbol = i1.product
--> compared: i1.price < i0.price
--> looked up: i1 by product
--> memory: 5000 rows by LRU, {}
--> law: auto {}
--> parameter n: int32
--> parameter $0: int32 = 3
--> output symbol: "i0.symbol"
--> output price: "i1.price"
--> where: (i0.".symbol" = i1.".product") AND (i0.".price" > i1.".price" AND i1.".place" = 3 AND i0.".size" < p.".n")

SELECT * FROM places JOIN plain USING (price, day) WHERE places.place = plain.size AND plain.size = places.id
--> i0 places of places, as it comes: every row
--> i1 plain of plain, as it comes: every row
--> equal: i0.day = i1.day
--> equal: i0.id = i1.size
--> equal: i0.place = i1.size
--> equal: i0.price = i1.price
--> looked up: i0 by place
--> memory: 10 rows by HEEB, {}
--> law: auto {}
--> output id: "i0.id"
--> output product: "i0.product"
--> output price: "i0.price"
--> output place: "i0.place"
--> output cost: "i0.cost"
--> output day: "i0.day"
--> output big: "i0.big"
--> output op: "i0.op"
--> output symbol: "i1.symbol"
--> output size: "i1.size"
--> output fee: "i1.fee"
--> output ratio: "i1.ratio"
--> output active: "i1.active"
--> output at: "i1.at"
--> output ts: "i1.ts"
--> output tags: "i1.tags"
--> output info: "i1.info"
--> output Odd Name: "i1.Odd Name"
--> where: i0.".price" = i1.".price" AND i0.".day" = i1.".day" AND (i0.".place" = i1.".size" AND i1.".size" = i0.".id")

SELECT key.place cache FROM trades lookup, places key WHERE key.place = lookup.size
--> i0 lookup of trades, as it comes: every row
--> i1 key of places, as it comes: every row
--> equal: i0.size = i1.place
--> looked up: i1 by place
--> memory: 10 rows by HEEB, {}
--> law: auto {}
--> output cache: "i1.place"
--> where: (i1.".place" = i0.".size")

SELECT * FROM prices
--> [SQL-131] 'prices' is looked up: nothing comes from it by itself. Join it with one stream: FROM stream s JOIN … ON s.column = prices.product.
-->   at line 1, column 15
-->   SELECT * FROM prices
-->                 ^

SELECT * FROM prices p JOIN demand d ON p.product = d.product
--> [SQL-131] 'p' is looked up, and 'd' is a table: no row of a stream would ask for an answer. Join it with one stream: FROM stream s JOIN … ON s.column = p.product.
-->   at line 1, column 29
-->   SELECT * FROM prices p JOIN demand d ON p.product = d.product
-->                               ^

SELECT * FROM prices p JOIN places q ON p.product = q.product
--> [SQL-131] Both 'p' and 'q' are looked up. Look one of them up here, and the other in a subscription of its own.
-->   at line 1, column 29
-->   SELECT * FROM prices p JOIN places q ON p.product = q.product
-->                               ^

SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product JOIN quotes q ON t.symbol = q.symbol
--> [SQL-131] 'p' is looked up, and the query joins it with more than a stream. Join it with one stream: FROM stream s JOIN … ON s.column = p.product.
-->   at line 1, column 73
-->   SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product JOIN quotes q ON t.symbol = q.symbol
-->                                                                           ^

SELECT t.price FROM trades t, prices p
--> [SQL-132] 'p' is looked up by its key 'product', which no equality names. Add t.column = p.product.
-->   at line 1, column 31
-->   SELECT t.price FROM trades t, prices p
-->                                 ^

SELECT t.price FROM trades t, prices p WHERE t.size = p.place AND t.day = p.day
--> [SQL-132] 'p' is looked up by its key 'product', which no equality names. Add t.column = p.product.
-->   at line 1, column 31
-->   SELECT t.price FROM trades t, prices p WHERE t.size = p.place AND t.day = p.day
-->                                 ^

SELECT t.price FROM trades t, places p WHERE t.price = p.place AND t.day = p.day
--> [SQL-061] A join cannot look up 't.price' (double) by 'p.place' (int32). Declare both with the same type, or CAST one in its source.
-->   at line 1, column 46
-->   SELECT t.price FROM trades t, places p WHERE t.price = p.place AND t.day = p.day
-->                                                ^

SELECT t.price FROM trades t [ROWS 5], prices p WHERE t.symbol = p.product
--> [SQL-133] Each row of the stream is looked up when it comes: nothing is kept in a window. Leave the window out.
-->   at line 1, column 31
-->   SELECT t.price FROM trades t [ROWS 5], prices p WHERE t.symbol = p.product
-->                                 ^

SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product WITHIN 5 SECONDS
--> [SQL-133] Each row of the stream is looked up when it comes: nothing is kept in a window. Leave WITHIN out.
-->   at line 1, column 68
-->   SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product WITHIN 5 SECONDS
-->                                                                      ^

SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product WHERE p.op = 'a'
-- {'mode': 'full'}
--> [SQL-070] A lookup join has no option 'mode'. Say how rows are looked up in CREATE TABLE … LOOKUP FROM … OPTIONS (…).
