SELECT t.size, q.price FROM trades t JOIN quotes q ON t.size = q.size MEMORY 10000 ROWS
--> i0 t of trades, no window: every row
--> i1 q of quotes, no window: every row
--> equal: i0.size = i1.size
--> memory: 10000 rows by HEEB, {}
--> law: auto {}
--> law: auto {}
--> output size: "i0.size"
--> output price: "i1.price"
--> where: (i0.".size" = i1.".size")

SELECT t.size, q.price FROM trades t JOIN quotes q ON t.size = q.size WITHIN 10 SECONDS WHERE t.price > :lo AND q.symbol = 'a' MEMORY 10_000 ROWS USING HEEB MODEL t AS LINEAR TREND (slope = 1, noise = 'bounded normal', sigma = 0.5, bound = 3), q AS AUTO;
-- {'alpha': 20, 'refit_every': 500, 'seed': 7, 'slice': 1000}
--> i0 t of trades, range 10000000: price > lo
--> i1 q of quotes, range 10000000: symbol in ['$0']
--> equal: i0.size = i1.size
--> memory: 10000 rows by HEEB, {'alpha': 20.0, 'refit_every': 500, 'seed': 7, 'slice': 1000}
--> law: linear trend {'slope': 1.0, 'noise': 'bounded normal', 'sigma': 0.5, 'bound': 3}
--> law: auto {}
--> parameter lo: double
--> parameter $0: string = 'a'
--> output size: "i0.size"
--> output price: "i1.price"
--> where: (i0.".size" = i1.".size") AND (i0.".price" > p.".lo" AND i1.".symbol" = 'a')

SELECT t.price FROM trades t [RANGE 5 SECONDS], quotes q [ROWS 100] WHERE t.symbol = q.symbol AND t.price < q.price AND t.size + q.size > 3 MEMORY 5 ROWS USING life
--> i0 t of trades, range 5000000: every row
--> i1 q of quotes, rows 100: every row
--> equal: i0.symbol = i1.symbol
--> compared: i0.price < i1.price
--> residual: [c0 + c1 > r0] of ['i0.size', 'i1.size'], ['$0']
--> memory: 5 rows by LIFE, {}
--> law: auto {}
--> law: auto {}
--> parameter $0: int64 = 3
--> output price: "i0.price"
--> where: (i0.".symbol" = i1.".symbol" AND i0.".price" < i1.".price" AND i0.".size" + i1.".size" > 3)

SELECT q.price FROM trades [ROWS 7] JOIN quotes q USING (day) MEMORY 1e3 ROWS MODEL trades AS AR(1) (phi0 = 1, phi1 = -0.5, sigma = 2), q AS OFFLINE (file = 'quotes.parquet')
--> i0 trades of trades, rows 7: every row
--> i1 q of quotes, no window: every row
--> equal: i0.day = i1.day
--> memory: 1000 rows by HEEB, {}
--> law: ar1 {'phi0': 1.0, 'phi1': -0.5, 'sigma': 2.0}
--> law: offline {'file': 'quotes.parquet', 'column': 'day'}
--> output price: "i1.price"
--> where: i0.".day" = i1.".day"

SELECT x.price FROM trades x, trades y WHERE x."Odd Name" = y.size AND abs(x.day - y.day) <= 2 MEMORY (2 * 50) ROWS MODEL y AS RANDOM WALK, x AS HISTOGRAM (buckets = 20)
-- {'lifetime': 40}
--> i0 x of trades, no window: every row
--> i1 y of trades, no window: every row
--> equal: i0.Odd Name = i1.size
--> apart: -2 <= i1.day - i0.day <= 2
--> memory: 100 rows by HEEB, {'lifetime': 40.0}
--> law: histogram {'buckets': 20}
--> law: random walk {}
--> output price: "i0.price"
--> where: (i0.".Odd Name" = i1.".size" AND abs(i0.".day" - i1.".day") <= 2)

SELECT x.price FROM trades x, quotes y WHERE x.fee = y.fee AND x.ts = y.at MEMORY 8 ROWS USING RAND
-- {'seed': 1}
--> i0 x of trades, no window: every row
--> i1 y of quotes, no window: every row
--> equal: i0.fee = i1.fee
--> equal: i0.ts = i1.at
--> memory: 8 rows by RAND, {'seed': 1}
--> law: auto {}
--> law: auto {}
--> output price: "i0.price"
--> where: (i0.".fee" = i1.".fee" AND i0.".ts" = i1.".at")

SELECT x.price FROM trades x, quotes y WHERE x.fee = y.fee MEMORY 8 ROWS USING HIST MODEL x AS RANDOM WALK
--> i0 x of trades, no window: every row
--> i1 y of quotes, no window: every row
--> equal: i0.fee = i1.fee
--> memory: 8 rows by HIST, {}
--> law: random walk {}
--> law: auto {}
--> output price: "i0.price"
--> where: (i0.".fee" = i1.".fee")

SELECT memory.price AS memory, model.size model FROM trades memory, quotes model WHERE memory.size = model.size MEMORY 4 ROWS MODEL model AS STATIONARY, memory AS AUTO
--> i0 memory of trades, no window: every row
--> i1 model of quotes, no window: every row
--> equal: i0.size = i1.size
--> memory: 4 rows by HEEB, {}
--> law: auto {}
--> law: stationary {}
--> output memory: "i0.price"
--> output model: "i1.size"
--> where: (i0.".size" = i1.".size")

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 0 ROWS
--> [SQL-110] No MEMORY holds 0 rows. Write a whole number from 1 to 10,000,000, such as MEMORY 10000 ROWS.
-->   at line 1, column 69
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 0 ROWS
-->                                                                       ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 2.5 ROWS
--> [SQL-110] No MEMORY holds 2.5 rows. Write a whole number from 1 to 10,000,000, such as MEMORY 10000 ROWS.
-->   at line 1, column 69
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 2.5 ROWS
-->                                                                       ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10000001 ROWS
--> [SQL-110] No MEMORY holds 10000001 rows. Write a whole number from 1 to 10,000,000, such as MEMORY 10000 ROWS.
-->   at line 1, column 69
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10000001 ROWS
-->                                                                       ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY :n ROWS
--> [SQL-110] The rows of MEMORY are a constant: they stand for all queries of a group. Write a number, such as MEMORY 10000 ROWS.
-->   at line 1, column 69
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY :n ROWS
-->                                                                       ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 MB
--> [SQL-001] Expected ROWS before 'MB'. Write ROWS here.
-->   at line 1, column 72
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 MB
-->                                                                          ^

SELECT t.price FROM trades t JOIN quotes q ON t.size = q.size MEMORY 10 ROWS WHERE t.price > 5
--> [SQL-001] MEMORY stands after FROM, WITHIN and WHERE. Move it to the end of the SELECT.
-->   at line 1, column 63
-->   SELECT t.price FROM trades t JOIN quotes q ON t.size = q.size MEMORY 10 ROWS WHERE t.price > 5
-->                                                                 ^

SELECT * FROM trades MEMORY 10 ROWS
--> [SQL-111] MEMORY says how many rows a join may hold, and the query reads one relation. Leave MEMORY out, or join two streams.
-->   at line 1, column 22
-->   SELECT * FROM trades MEMORY 10 ROWS
-->                        ^

SELECT t.price FROM trades t, quotes q, trades u WHERE t.size = q.size AND q.size = u.size MEMORY 10 ROWS
--> [SQL-111] MEMORY is for joins of two streams, and the query reads 3 relations. Leave MEMORY out, and give every stream a window: [ROWS 100] or [RANGE 5 SECONDS].
-->   at line 1, column 92
-->   SELECT t.price FROM trades t, quotes q, trades u WHERE t.size = q.size AND q.size = u.size MEMORY 10 ROWS
-->                                                                                              ^

SELECT t.price FROM trades t JOIN offers o ON t.symbol = o.product MEMORY 10 ROWS
--> [SQL-112] 'o' is a table, which is kept whole: MEMORY is for joins of two streams. Leave MEMORY out; or look the table up, with CREATE TABLE … LOOKUP FROM ….
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN offers o ON t.symbol = o.product MEMORY 10 ROWS
-->                                     ^

SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product MEMORY 10 ROWS
--> [SQL-112] 'p' is looked up, through a cache of its own. Leave MEMORY out: CACHE n ROWS in CREATE TABLE bounds it.
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN prices p ON t.symbol = p.product MEMORY 10 ROWS
-->                                     ^

SELECT p.price FROM plain p JOIN quotes q ON p.size = q.size MEMORY 10 ROWS
--> [SQL-113] A memory budget follows event times, and the stream 'plain' has none. Declare it with OPTIONS (event_time = '<column>').
-->   at line 1, column 21
-->   SELECT p.price FROM plain p JOIN quotes q ON p.size = q.size MEMORY 10 ROWS
-->                       ^

SELECT t.price FROM trades t, quotes q WHERE t.size < q.size MEMORY 10 ROWS
--> [SQL-114] MEMORY needs a key, and no column of 't' must equal one of 'q'. Add t.column = q.column.
-->   at line 1, column 31
-->   SELECT t.price FROM trades t, quotes q WHERE t.size < q.size MEMORY 10 ROWS
-->                                 ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.price MEMORY 10 ROWS
--> [SQL-061] A join cannot look up 't.size' (int32) by 'q.price' (double). Declare both with the same type, or CAST one in its source.
-->   at line 1, column 46
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.price MEMORY 10 ROWS
-->                                                ^

SELECT t.price FROM trades t [ROWS 5] JOIN quotes q ON t.size = q.size WITHIN 5 SECONDS MEMORY 10 ROWS
--> [SQL-081] WITHIN gives both streams a window, and 't' has its own. Keep one of them.
-->   at line 1, column 31
-->   SELECT t.price FROM trades t [ROWS 5] JOIN quotes q ON t.size = q.size WITHIN 5 SECONDS MEMORY 10 ROWS
-->                                 ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL r AS AUTO
--> [SQL-115] 'r' is no input of the query. The inputs are: t, q.
-->   at line 1, column 83
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL r AS AUTO
-->                                                                                     ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS AUTO, T AS AUTO
--> [SQL-006] 'T' has two laws. Remove one of them.
-->   at line 1, column 94
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS AUTO, T AS AUTO
-->                                                                                                ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS LINEER TREND
--> [SQL-116] 'LINEER TREND' is no family of laws. Did you mean 'LINEAR TREND'?
-->   at line 1, column 83
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS LINEER TREND
-->                                                                                     ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS LINEAR TREND (slop = 1)
--> [SQL-117] LINEAR TREND has no parameter 'slop'. Did you mean 'slope'?
-->   at line 1, column 102
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS LINEAR TREND (slop = 1)
-->                                                                                                        ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS LINEAR TREND (sigma = 1e30)
--> [SQL-118] The parameter 'sigma' of LINEAR TREND cannot be 1e+30. Write a number above 0, at most 1e15.
-->   at line 1, column 102
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS LINEAR TREND (sigma = 1e30)
-->                                                                                                        ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS OPTIONS (alpha = 1)
--> [SQL-001] 'OPTIONS' is not expected here. OPTIONS is of SUBSCRIBE; beside a query's text write options={…} in Python.
-->   at line 1, column 77
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS OPTIONS (alpha = 1)
-->                                                                               ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS AR1 (sigma = 1, phi1 = 1.5)
--> [SQL-118] The parameter 'phi1' of AR1 cannot be 1.5. Write a number between -1 and 1, other than 0.
-->   at line 1, column 104
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS MODEL t AS AR1 (sigma = 1, phi1 = 1.5)
-->                                                                                                          ^

SELECT t.price FROM trades t, quotes q WHERE t.symbol = q.symbol MEMORY 10 ROWS MODEL q AS LINEAR TREND
--> [SQL-119] LINEAR TREND counts with keys, and 't.symbol' is string. Take AUTO or STATIONARY; or join on one column of whole numbers, decimals, dates or times.
-->   at line 1, column 87
-->   SELECT t.price FROM trades t, quotes q WHERE t.symbol = q.symbol MEMORY 10 ROWS MODEL q AS LINEAR TREND
-->                                                                                         ^

SELECT t.price FROM trades t, quotes q WHERE t.symbol = q.symbol AND t.size = q.size MEMORY 10 ROWS MODEL q AS LINEAR TREND
--> [SQL-119] LINEAR TREND counts with keys, and 2 equalities make one of several columns. Take AUTO or STATIONARY; or join on one column of whole numbers, decimals, dates or times.
-->   at line 1, column 107
-->   SELECT t.price FROM trades t, quotes q WHERE t.symbol = q.symbol AND t.size = q.size MEMORY 10 ROWS MODEL q AS LINEAR TREND
-->                                                                                                             ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING PROBE
--> [SQL-120] 'PROBE' is no policy of a join. Did you mean 'PROB'?
-->   at line 1, column 83
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING PROBE
-->                                                                                     ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING LRU MODEL t AS AUTO
--> [SQL-121] LRU asks for no law of the streams. Leave MODEL out, or say USING HEEB.
-->   at line 1, column 93
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING LRU MODEL t AS AUTO
-->                                                                                               ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING HIST MODEL t AS AR(1)
--> [SQL-121] HIST learns what it needs, and wants to know of a stream only which form it has. Write LINEAR TREND, RANDOM WALK or AUTO without parameters; or say USING HEEB.
-->   at line 1, column 94
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING HIST MODEL t AS AR(1)
-->                                                                                                ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING LIFE
--> [SQL-120] LIFE weighs rows by the time that is left to them, and 't' has no window. Give both streams a window, such as [ROWS 100] or [RANGE 5 SECONDS]; or say USING PROB.
-->   at line 1, column 83
-->   SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS USING LIFE
-->                                                                                     ^

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS
-- {'alpha': 2, 'lifetime': 5}
--> [SQL-071] Options 'alpha' and 'lifetime' both say how far HEEB looks ahead. Keep one of them.

SELECT t.price FROM trades t, quotes q WHERE t.size = q.size MEMORY 10 ROWS
-- {'adapt': True}
--> [SQL-070] A bounded join has no option 'adapt'. Leave ADAPT out: laws are fitted again by themselves.

SELECT q.price FROM trades t JOIN quotes q ON t.symbol = q.symbol AND t.day = q.day WHERE t.size > 3 MEMORY 50 ROWS SHARED BY trades (symbol) [RANGE 5 SECONDS], quotes (symbol) USING LRU
--> i0 quotes of quotes, no window: every row
--> i1 trades of trades, range 5000000: size > $0
--> equal: i0.day = i1.day
--> equal: i0.symbol = i1.symbol
--> memory: 50 rows by LRU, {}
--> law: auto {}
--> law: auto {}
--> parameter $0: int32 = 3
--> output price: "i0.price"
--> where: (i1.".symbol" = i0.".symbol" AND i1.".day" = i0.".day") AND (i1.".size" > 3)

SELECT t.price FROM quotes q JOIN trades t USING (size) MEMORY 50 ROWS SHARED BY trades (SIZE), quotes (size) [ROWS 9] MODEL trades AS LINEAR TREND
--> i0 quotes of quotes, rows 9: every row
--> i1 trades of trades, no window: every row
--> equal: i0.size = i1.size
--> memory: 50 rows by HEEB, {}
--> law: auto {}
--> law: linear trend {}
--> output price: "i1.price"
--> where: i0.".size" = i1.".size"

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (size), quotes (size)
--> [SQL-124] The memory holds rows by their keys, and the query does not ask t.size to equal q.size. Add t.size = q.size; or give the query a memory of its own.
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (size), quotes (size)
-->                                     ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol)
--> [SQL-122] SHARED BY names 1 stream. Name from 2 to 16: all streams whose joins share the memory.
-->   at line 1, column 92
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol)
-->                                                                                              ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol), trades (size)
--> [SQL-122] SHARED BY names 'trades' twice. Name every stream once.
-->   at line 1, column 126
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol), trades (size)
-->                                                                                                                                ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (size)
--> [SQL-061] A join cannot look up 'quotes.size' (int32) by 'trades.symbol' (string). Declare both with the same type, or CAST one in its source.
-->   at line 1, column 92
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (size)
-->                                                                                              ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), plain (symbol)
--> [SQL-113] A memory budget follows event times, and the stream 'plain' has none. Declare it with OPTIONS (event_time = '<column>').
-->   at line 1, column 109
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), plain (symbol)
-->                                                                                                               ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), Offers (product)
--> [SQL-112] 'Offers' is a table, which is kept whole: MEMORY is for joins of two streams. Leave MEMORY out; or look the table up, with CREATE TABLE … LOOKUP FROM ….
-->   at line 1, column 109
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), Offers (product)
-->                                                                                                               ^

SELECT t.price FROM trades t JOIN plain p ON t.symbol = p.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
--> [SQL-123] 'plain' is none of the streams that share the memory. They are: quotes, trades.
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN plain p ON t.symbol = p.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
-->                                     ^

SELECT t.price FROM trades t JOIN trades u ON t.symbol = u.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
--> [SQL-123] A memory that is shared holds every row of 'trades' once, and the query joins the stream with itself. Give this query a memory of its own: leave SHARED BY out.
-->   at line 1, column 35
-->   SELECT t.price FROM trades t JOIN trades u ON t.symbol = u.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
-->                                     ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 2 SECONDS MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
--> [SQL-123] The windows of a memory that is shared hold for all its joins. Write them in SHARED BY, behind the streams: trades (symbol) [RANGE 5 SECONDS].
-->   at line 1, column 67
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 2 SECONDS MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
-->                                                                     ^

SELECT t.price FROM trades t [ROWS 5] JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
--> [SQL-123] The windows of a memory that is shared hold for all its joins. Write them in SHARED BY, behind the streams: trades (symbol) [RANGE 5 SECONDS].
-->   at line 1, column 31
-->   SELECT t.price FROM trades t [ROWS 5] JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol)
-->                                 ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol) MODEL t AS AUTO
--> [SQL-115] 't' is no input of the query. The inputs are: quotes, trades.
-->   at line 1, column 131
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades (symbol), quotes (symbol) MODEL t AS AUTO
-->                                                                                                                                     ^

SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades symbol, quotes (symbol)
--> [SQL-001] Expected ( before 'symbol'. Write ( here.
-->   at line 1, column 99
-->   SELECT t.price FROM trades t JOIN quotes q ON t.symbol = q.symbol MEMORY 50 ROWS SHARED BY trades symbol, quotes (symbol)
-->                                                                                                     ^
