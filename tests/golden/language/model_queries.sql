SELECT symbol, price FROM trades MODEL price KEY symbol WHERE price > 125 AND symbol = 'IBM' ERROR WITHIN 0.5 % HORIZON 30 SECONDS
--> source trades by symbol for 30000000 us: price sliding of degree 1
--> gives: symbol -> price
--> asked: key 0 = $0
--> asked: a0 > $1
--> bound: every output relative 0.005
--> split equi, predicts True, repaired
--> parameter $0: string = 'IBM'
--> parameter $1: double = 125.0
--> output symbol: "symbol"
--> output price: "price"
--> where: e.".price" > 125 AND e.".symbol" = 'IBM'

SELECT symbol, starts, ends, price FROM trades MODEL price KEY symbol WHERE 99 < price AND symbol = :sym AND price <= :hi
--> source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: symbol -> price
--> asked: key 0 = sym
--> asked: a0 <= hi
--> asked: a0 > $0
--> parameter sym: string
--> parameter hi: double
--> parameter $0: double = 99.0
--> output symbol: "symbol"
--> output starts: "starts"
--> output ends: "ends"
--> output price: "price"
--> where: 99 < e.".price" AND e.".symbol" = p.".sym" AND e.".price" <= p.".hi"

SELECT * FROM trades MODEL price
--> source trades by nothing for 10000000 us: price sliding of degree 1
--> gives: nothing -> price
--> output price: "price"
--> output starts: "starts"
--> output ends: "ends"
--> where: TRUE

SELECT *, upper(symbol) AS large, ends - starts AS lasts FROM trades MODEL price KEY symbol HORIZON ADAPTIVE (1 SECOND, 1.5 MINUTES) ERROR WITHIN price 0.01 RELATIVE
--> source trades by symbol for 1000000 to 90000000 us: price sliding of degree 1
--> gives: symbol -> price
--> bound: price relative 0.01
--> split equi, predicts True, repaired
--> output symbol: "symbol"
--> output price: "price"
--> output starts: "starts"
--> output ends: "ends"
--> output status: "status"
--> output large: upper("symbol")
--> output lasts: "ends" - "starts"
--> where: TRUE

SELECT at, symbol, price AS p, 2 * price - 1 AS twice FROM trades MODEL price KEY symbol WHERE price BETWEEN :lo AND 10 AND price - 3 <> 2 * :n SAMPLE EVERY 500 MILLISECONDS ERROR WITHIN p 0.1 ABSOLUTE, twice 0.2
--> map keys [0]: p = a0, twice = -1 + 2*a0
-->   source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: symbol -> p, twice
--> asked: -1.5 + 0.5*a0 <> n
--> asked: a0 <= $0
--> asked: a0 >= lo
--> bound: p absolute 0.1
--> bound: twice absolute 0.2
--> sampled every 500000 us
--> parameter lo: double
--> parameter n: double
--> parameter $0: double = 10.0
--> output at: "at"
--> output symbol: "symbol"
--> output p: "p"
--> output twice: "twice"
--> where: e.".price" BETWEEN p.".lo" AND 10 AND e.".price" - 3 <> 2 * p.".n"

SELECT symbol FROM trades MODEL price, ratio, fee = fee KEY (symbol, day) WHERE price > ratio + 1 AND (price < 5 OR ratio * ratio > 2 OR NOT (price = 3 AND fee <> 1)) AND size > 3 AND active AND day > '2024-01-01' AND symbol LIKE 'A%' SPLIT GRADIENT FIT ratio USING SWAB (0.5, 60) DEGREE 2 SAMPLE RATE 10
--> filter (-1 + -1*a1 + a0 > 0 AND (-1 + a2 = 0 OR -2 + a1^2 > 0 OR -3 + a0 <> 0 OR -5 + a0 < 0))
-->   source trades by symbol, day for 10000000 us: price sliding of degree 1; ratio swab of degree 2 (0.5, 60); fee = ['c0'] if [(c1 > 3) AND (c2) AND (c3 > '2024-01-01') AND (c4 LIKE 'A%')] of ['fee', 'size', 'active', 'day', 'symbol']
--> gives: symbol, day -> price, ratio, fee
--> sampled every 100000 us
--> split gradient, predicts False, repaired
--> output symbol: "symbol"
--> where: e.".price" > e.".ratio" + 1 AND (e.".price" < 5 OR e.".ratio" * e.".ratio" > 2 OR NOT (e.".price" = 3 AND e.".fee" <> 1)) AND e.".size" > 3 AND e.".active" AND e.".day" > '2024-01-01' AND e.".symbol" LIKE 'A%'

SELECT v.id, x FROM vessels v MODEL v.x = v.x + v.vx * t + ax * t ^ 2 / 2, y = (y + 1) - vy * cos(vx) * (t - 1) KEY id WHERE v.x > -5 AND v.fleet <> 'red' AND v.t > 0 -- {'fidelity': 'Literal'}
--> source vessels by id for 10000000 us: x = ['c0', 'c1', 'c2 / 2']; y = ['(c3 + 1) - ((c4 * cos(c1)) * (-1))', '-((c4 * cos(c1)))'] if [(c5 <> 'red') AND (c6 > 0)] of ['x', 'vx', 'ax', 'y', 'vy', 'fleet', 't']
--> gives: id -> x, y
--> asked: a0 > $0
--> split equi, predicts False, literal
--> parameter $0: double = -5.0
--> output id: "id"
--> output x: "x"
--> where: e.".x" > -5 AND e.".fleet" <> 'red' AND e.".t" > 0

SELECT a.id, b.id AS other, starts, ends, status FROM vessels AS a MODEL x = x + vx * t, y = y + vy * t KEY id JOIN vessels AS b MODEL x = x + vx * t, y = y + vy * t KEY id ON a.id <> b.id WHERE sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2)) < :lo ERROR WITHIN 5 HORIZON 2 MINUTES
--> join [k0 <> k0] on ()
-->   source vessels by id for 120000000 us: x = ['c0', 'c1']; y = ['c2', 'c3'] of ['x', 'vx', 'y', 'vy']
-->   source vessels by id for 120000000 us: x = ['c0', 'c1']; y = ['c2', 'c3'] of ['x', 'vx', 'y', 'vy']
--> gives: id, id_1 -> x, y, x_1, y_1
--> asked: a3^2 + a2^2 + -2*a1*a3 + a1^2 + -2*a0*a2 + a0^2 < lo squared
--> bound: every output absolute 5
--> split equi, predicts True, repaired
--> parameter lo: double
--> output id: "id"
--> output other: "id_1"
--> output starts: "starts"
--> output ends: "ends"
--> output status: "status"
--> where: TRUE

SELECT a.id, b.id AS other FROM vessels AS a MODEL x = x + vx * t KEY id JOIN vessels AS b MODEL x = x + vx * t KEY id ON a.id < 100 AND a.id <> b.id AND abs(a.x - b.x) < 50 AND a.x > 3 WHERE b.x - a.x > 1 AND 2 = b.id
--> join [k0 <> k0] on (-50 + -1*a1 + a0 < 0 AND 50 + -1*a1 + a0 > 0)
-->   filter -3 + a0 > 0
-->     source vessels by id for 10000000 us: x = ['c0', 'c1'] if [c2 < 100] of ['x', 'vx', 'id']
-->   source vessels by id for 10000000 us: x = ['c0', 'c1'] of ['x', 'vx']
--> gives: id, id_1 -> x, x_1
--> asked: key 1 = $0
--> asked: -1*a1 + a0 < $1
--> parameter $0: int64 = 2
--> parameter $1: double = -1.0
--> output id: "id"
--> output other: "id_1"
--> where: TRUE

SELECT s.symbol, s.ap - l.ap AS diff FROM (SELECT symbol, avg(price) AS ap FROM trades [SIZE 10 SECONDS ADVANCE 2 SECONDS] MODEL price KEY symbol GROUP BY symbol) AS s JOIN (SELECT symbol, avg(price) AS ap FROM trades [SIZE 60 SECONDS ADVANCE 2 SECONDS] MODEL price KEY symbol GROUP BY symbol) AS l ON s.symbol = l.symbol WHERE s.ap > l.ap ERROR WITHIN price 1 %
--> map keys [0, 1]: diff = -1*a1 + a0
-->   join [k0 = k0] on -1*a1 + a0 > 0
-->     window ap = avg(a0) group [0], size 10000000 us, slide 2000000 us, gap hold
-->       source trades by symbol for 10000000 us: price sliding of degree 1
-->     window ap = avg(a0) group [0], size 60000000 us, slide 2000000 us, gap hold
-->       source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: symbol, symbol_1 -> diff
--> bound: price relative 0.01
--> output symbol: "symbol"
--> output diff: "diff"
--> where: TRUE

SELECT s.symbol, s.ap - l.ap AS diff FROM (SELECT symbol, avg(price) AS ap FROM trades MODEL price KEY symbol [SIZE 10 SECONDS ADVANCE 2 SECONDS] WHERE price > 0 AND symbol <> 'X' GROUP BY symbol HAVING avg(price) < 1000) AS s JOIN (SELECT symbol, avg(price) AS ap FROM trades [SIZE 60 SECONDS ADVANCE 2 SECONDS] MODEL price KEY symbol GROUP BY symbol) AS l USING (symbol) WHERE s.ap - l.ap > 5 AND symbol = 'IBM' AND l.ap < :lo
--> map keys [0, 1]: diff = -1*a1 + a0, ap = a1
-->   join [k0 = k0] on ()
-->     filter -1000 + a0 < 0
-->       window ap = avg(a0) group [0], size 10000000 us, slide 2000000 us, gap hold
-->         filter a0 > 0
-->           source trades by symbol for 10000000 us: price sliding of degree 1 if [c0 <> 'X'] of ['symbol']
-->     window ap = avg(a0) group [0], size 60000000 us, slide 2000000 us, gap hold
-->       source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: symbol, symbol_1 -> diff, ap
--> asked: key 0 = $0
--> asked: a1 < lo
--> asked: a0 > $1
--> parameter $0: string = 'IBM'
--> parameter lo: double
--> parameter $1: double = 5.0
--> output symbol: "symbol"
--> output diff: "diff"
--> where: TRUE

SELECT id1, id2, avg(dist) FROM (SELECT a.id AS id1, b.id AS id2, sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2)) AS dist FROM vessels [SIZE 10 SECONDS ADVANCE 1 SECOND] AS a MODEL x = x + vx * t, y = y + vy * t KEY id JOIN vessels AS b [SIZE 10 SECONDS] MODEL x = x + vx * t, y = y + vy * t KEY id ON a.id <> b.id) [SIZE 10 MINUTES ADVANCE 10 SECONDS] AS candidates GROUP BY id1, id2 HAVING avg(dist) < 1000 ERROR WITHIN 0.5
--> filter -1000 + a0 < 0
-->   window avg(dist) = avg(a0) group [0, 1], size 600000000 us, slide 10000000 us, gap hold
-->     map keys [0, 1]: dist = sqrt(a3^2 + a2^2 + -2*a1*a3 + a1^2 + -2*a0*a2 + a0^2) within 0.05
-->       join [k0 <> k0] on () window 10000000 us
-->         source vessels by id for 10000000 us: x = ['c0', 'c1']; y = ['c2', 'c3'] of ['x', 'vx', 'y', 'vy']
-->         source vessels by id for 10000000 us: x = ['c0', 'c1']; y = ['c2', 'c3'] of ['x', 'vx', 'y', 'vy']
--> gives: id1, id2 -> avg(dist)
--> bound: every output absolute 0.5
--> sampled every 10000000 us
--> output id1: "id1"
--> output id2: "id2"
--> output avg(dist): "avg(dist)"
--> where: TRUE

SELECT max(price) AS highest, starts FROM trades MODEL price KEY symbol
--> envelope highest = max(a0) group []
-->   source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: nothing -> highest
--> output highest: "highest"
--> output starts: "starts"
--> where: TRUE

SELECT symbol, min(price - 2 * ratio) + 1 AS low, starts, ends FROM trades [SIZE 1 MINUTE ADVANCE 5 SECONDS] MODEL price, ratio KEY (symbol, day) WHERE price > 3 AND symbol = :sym AND day = '2024-01-01' GROUP BY symbol HAVING min(price - 2 * ratio) BETWEEN 1 AND :hi ERROR WITHIN 0.1 -- {'gap': 'zero'}
--> map keys [0]: low = 1 + a0, min(price - 2 * ratio) = a0
-->   window min(price - 2 * ratio) = min(a0) group [0], size 60000000 us, slide 5000000 us, gap zero
-->     map keys [0, 1]: min(price - 2 * ratio) = -2*a1 + a0
-->       filter -3 + a0 > 0
-->         source trades by symbol, day for 10000000 us: price sliding of degree 1; ratio sliding of degree 1 if [c0 = '2024-01-01'] of ['day']
--> gives: symbol -> low, min(price - 2 * ratio)
--> asked: key 0 = sym
--> asked: a1 <= hi
--> asked: a1 >= $0
--> bound: every output absolute 0.1
--> parameter sym: string
--> parameter hi: double
--> parameter $0: double = 1.0
--> output symbol: "symbol"
--> output low: "low"
--> output starts: "starts"
--> output ends: "ends"
--> where: TRUE

SELECT id, 2 * sqrt(x * x + 4) + abs(y) AS far, y / (x * x + 1) AS slope FROM vessels MODEL x = x + vx * t, y = y KEY id WHERE x > 1 ERROR WITHIN 1
--> map keys [0]: far = a3 + 2*a2, slope = ratio(a1, 1 + a0^2) within 0.1, x = a0
-->   map keys [0]: a0 = a0, a1 = a1, f2 = sqrt(4 + a0^2) within 0.1, f3 = abs(a1) within 0.1
-->     source vessels by id for 10000000 us: x = ['c0', 'c1']; y = ['c2'] of ['x', 'vx', 'y']
--> gives: id -> far, slope, x
--> asked: a2 > $0
--> bound: every output absolute 1
--> parameter $0: double = 1.0
--> output id: "id"
--> output far: "far"
--> output slope: "slope"
--> where: e.".x" > 1

SELECT id, abs(x - 3) AS off FROM vessels MODEL x = x + vx * t KEY id WHERE abs(x - 3) > :lo AND sqrt(x) <= 4 AND abs(x) <= :hi AND 1 / x < 3 -- {'tolerance': 0.25}
--> map keys [0]: off = abs(-3 + a0) within 0.25, x = a0
-->   filter (a0 >= 0 AND ((-1 + 3*a0 < 0 AND a0 < 0) OR (-1 + 3*a0 > 0 AND a0 > 0)))
-->     source vessels by id for 10000000 us: x = ['c0', 'c1'] of ['x', 'vx']
--> gives: id -> off, x
--> asked: -1*a1 <= hi
--> asked: a1 <= hi
--> asked: a1 <= $0 squared
--> asked: 9 + -6*a1 + a1^2 > lo squared
--> parameter lo: double
--> parameter hi: double
--> parameter $0: double = 4.0
--> output id: "id"
--> output off: "off"
--> where: abs(e.".x" - 3) > p.".lo" AND sqrt(e.".x") <= 4 AND abs(e.".x") <= p.".hi" AND 1 / e.".x" < 3

SELECT id FROM vessels MODEL x = x + vx * t, y = y + vy * t KEY id WHERE sqrt(x) > y - 3 AND NOT abs(x) = y AND x IN (1, 2)
--> filter (a0 >= 0 AND (-1 + a0 = 0 OR -2 + a0 = 0) AND (-3 + a1 < 0 OR -9 + 6*a1 + -1*a1^2 + a0 > 0) AND (a1 < 0 OR (-1*a1 + a0 <> 0 AND a1 + a0 <> 0)))
-->   source vessels by id for 10000000 us: x = ['c0', 'c1']; y = ['c2', 'c3'] of ['x', 'vx', 'y', 'vy']
--> gives: id -> x, y
--> output id: "id"
--> where: sqrt(e.".x") > e.".y" - 3 AND NOT abs(e.".x") = e.".y" AND e.".x" IN (1, 2)

SELECT m.id, n.id AS other, n.x FROM vessels AS m MODEL x = x KEY id, vessels AS n MODEL x = x + vx * t KEY id, vessels AS o MODEL x = x KEY id WHERE m.id = n.id AND o.id = m.id AND m.x + n.x > o.x AND n.x * 0.5 > 3e0
--> join [k0 = k0] on -1*a2 + a1 + a0 > 0
-->   join [k0 = k0] on ()
-->     source vessels by id for 10000000 us: x = ['c0'] of ['x']
-->     source vessels by id for 10000000 us: x = ['c0', 'c1'] of ['x', 'vx']
-->   source vessels by id for 10000000 us: x = ['c0'] of ['x']
--> gives: id, id_1, id_2 -> x, x_1, x_2
--> asked: 0.5*a1 > $0
--> parameter $0: double = 3.0
--> output id: "id"
--> output other: "id_1"
--> output x: "x_1"
--> where: TRUE

SELECT symbol FROM trades MODEL price KEY symbol HORIZN 30 SECONDS
--> [MDL-001] No clause of a model query begins with HORIZN. Did you mean 'HORIZON'?
-->   at line 1, column 50
-->   SELECT symbol FROM trades MODEL price KEY symbol HORIZN 30 SECONDS
-->                                                    ^

SELECT symbol FROM (SELECT symbol, price FROM trades MODEL price KEY symbol ERROR WITHIN 1) AS q
--> [MDL-001] ERROR stands inside brackets. Write ERROR at the end of the whole query: it is about its answer.
-->   at line 1, column 77
-->   SELECT symbol FROM (SELECT symbol, price FROM trades MODEL price KEY symbol ERROR WITHIN 1) AS q
-->                                                                               ^

SELECT symbol FROM trades ERROR WITHIN 1
--> [MDL-002] 'trades' has no MODEL: nothing says which columns are functions of time. Write trades MODEL column KEY column.
-->   at line 1, column 20
-->   SELECT symbol FROM trades ERROR WITHIN 1
-->                      ^

SELECT * FROM trades MODEL price JOIN quotes ON trades.symbol = quotes.symbol
--> [MDL-002] 'quotes' has no MODEL: nothing says which columns are functions of time. Write quotes MODEL column KEY column.
-->   at line 1, column 39
-->   SELECT * FROM trades MODEL price JOIN quotes ON trades.symbol = quotes.symbol
-->                                         ^

SELECT * FROM Offers MODEL price KEY id
--> [MDL-003] 'Offers' is no stream: models are of rows that come in time. Model a stream; a table's rows can become one in their source.
-->   at line 1, column 15
-->   SELECT * FROM Offers MODEL price KEY id
-->                 ^

SELECT * FROM plain MODEL price KEY symbol
--> [MDL-003] Models follow event times, and the stream 'plain' has none. Declare it with OPTIONS (event_time = '<column>').
-->   at line 1, column 15
-->   SELECT * FROM plain MODEL price KEY symbol
-->                 ^

SELECT * FROM trades MODEL symbol
--> [MDL-004] 'symbol' is string, and models are functions with numbers as values. Model columns of numbers.
-->   at line 1, column 28
-->   SELECT * FROM trades MODEL symbol
-->                              ^

SELECT * FROM trades MODEL prise
--> [SQL-020] 'trades' has no column 'prise'. Did you mean 'price'?
-->   at line 1, column 28
-->   SELECT * FROM trades MODEL prise
-->                              ^

SELECT * FROM trades MODEL price, price
--> [MDL-004] 'price' has two models. Keep one of them.
-->   at line 1, column 35
-->   SELECT * FROM trades MODEL price, price
-->                                     ^

SELECT * FROM trades MODEL price KEY price
--> [MDL-007] 'price' is double: its values name nothing that has a model. Choose columns of whole numbers, decimals, texts, dates, times or booleans.
-->   at line 1, column 38
-->   SELECT * FROM trades MODEL price KEY price
-->                                        ^

SELECT * FROM vessels MODEL x = x + sin(t) * vx KEY id
--> [MDL-005] SIN(t) is no polynomial of t. Write a sum of columns' expressions times powers of t, such as x + v * t + a * t ^ 2 / 2.
-->   at line 1, column 37
-->   SELECT * FROM vessels MODEL x = x + sin(t) * vx KEY id
-->                                       ^

SELECT * FROM vessels MODEL x = x / t KEY id
--> [MDL-005] "x" / t is no polynomial of t. Write a sum of columns' expressions times powers of t, such as x + v * t + a * t ^ 2 / 2.
-->   at line 1, column 33
-->   SELECT * FROM vessels MODEL x = x / t KEY id
-->                                   ^

SELECT * FROM vessels MODEL x = x + t ^ 0.5 KEY id
--> [MDL-005] POWER(t, 0.5) is no polynomial of t. Write a sum of columns' expressions times powers of t, such as x + v * t + a * t ^ 2 / 2.
-->   at line 1, column 37
-->   SELECT * FROM vessels MODEL x = x + t ^ 0.5 KEY id
-->                                       ^

SELECT * FROM vessels MODEL x = fleet KEY id
--> [MDL-005] A coefficient of the model is VARCHAR, no number: c0. Make a number of it.
-->   at line 1, column 33
-->   SELECT * FROM vessels MODEL x = fleet KEY id
-->                                   ^

SELECT * FROM vessels MODEL x = x + :lo * t KEY id
--> [MDL-014] The parameter :lo stands in a model, which queries share. Write columns and numbers.
-->   at line 1, column 37
-->   SELECT * FROM vessels MODEL x = x + :lo * t KEY id
-->                                       ^

SELECT * FROM vessels MODEL x = x + vx * t ^ 9 KEY id
--> [MDL-006] The model has the power 9 of t, 8 is the highest. Write a model of lower powers.
-->   at line 1, column 42
-->   SELECT * FROM vessels MODEL x = x + vx * t ^ 9 KEY id
-->                                            ^

SELECT * FROM vessels MODEL x = (x + vx * t) ^ 8 * t KEY id
--> [MDL-006] The model has the power 9 of t, 8 is the highest. Write a model of lower powers.
-->   at line 1, column 34
-->   SELECT * FROM vessels MODEL x = (x + vx * t) ^ 8 * t KEY id
-->                                    ^

SELECT id FROM vessels MODEL x = x + vx * t ^ 3 KEY id WHERE x * x * x > 5
--> [MDL-006] An expression has the power 9 of time, 8 is the highest. Model attributes with lower powers, or ask for less in one expression.
-->   at line 1, column 62
-->   SELECT id FROM vessels MODEL x = x + vx * t ^ 3 KEY id WHERE x * x * x > 5
-->                                                                ^

SELECT * FROM vessels MODEL x KEY vx
--> [MDL-007] 'vx' is double: its values name nothing that has a model. Choose columns of whole numbers, decimals, texts, dates, times or booleans.
-->   at line 1, column 35
-->   SELECT * FROM vessels MODEL x KEY vx
-->                                     ^

SELECT * FROM vessels MODEL x KEY ts
--> [MDL-007] 'ts' is the event time: every row would be a key of its own. Choose other columns.
-->   at line 1, column 35
-->   SELECT * FROM vessels MODEL x KEY ts
-->                                     ^

SELECT * FROM vessels MODEL x KEY (id, id)
--> [MDL-007] KEY has 'id' twice. Remove one of them.
-->   at line 1, column 40
-->   SELECT * FROM vessels MODEL x KEY (id, id)
-->                                          ^

SELECT * FROM trades AS a MODEL price KEY symbol JOIN quotes AS b MODEL price KEY symbol ON a.symbol = b.symbol MEMORY 100 ROWS
--> [MDL-008] MEMORY bounds the rows that a join keeps, and a model query keeps models. Leave MEMORY out.
-->   at line 1, column 113
-->   SELECT * FROM trades AS a MODEL price KEY symbol JOIN quotes AS b MODEL price KEY symbol ON a.symbol = b.symbol MEMORY 100 ROWS
-->                                                                                                                   ^

SELECT a.price FROM trades AS a MODEL price KEY symbol JOIN quotes AS b MODEL price KEY symbol ON a.symbol = b.symbol WITHIN 5 SECONDS
--> [MDL-008] WITHIN bounds joins of rows, and functions of time meet while both hold. Leave WITHIN out; a window, [SIZE 10 SECONDS], bounds what is kept.
-->   at line 1, column 119
-->   SELECT a.price FROM trades AS a MODEL price KEY symbol JOIN quotes AS b MODEL price KEY symbol ON a.symbol = b.symbol WITHIN 5 SECONDS
-->                                                                                                                         ^

SELECT max(price) FROM trades [RANGE 5 SECONDS] MODEL price KEY symbol
--> [MDL-008] RANGE is no window of a model query. Write [SIZE 10 SECONDS ADVANCE 2 SECONDS].
-->   at line 1, column 32
-->   SELECT max(price) FROM trades [RANGE 5 SECONDS] MODEL price KEY symbol
-->                                  ^

SELECT price FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol
--> [MDL-008] A window says what an aggregate or a join is over, and the query has neither. Leave the window out, or ask for min, max, sum or avg.
-->   at line 1, column 27
-->   SELECT price FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol
-->                             ^

SELECT * FROM trades [SIZE 5 SECONDS] JOIN quotes [ROWS 5] ON trades.symbol = quotes.symbol
--> [SQL-084] SIZE and ADVANCE are of model queries, and the query has no MODEL. Write [ROWS 100] or [RANGE 5 SECONDS].
-->   at line 1, column 23
-->   SELECT * FROM trades [SIZE 5 SECONDS] JOIN quotes [ROWS 5] ON trades.symbol = quotes.symbol
-->                         ^

SELECT count(*) FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol
--> [MDL-009] count() is no aggregate of functions of time: a function has a value at every instant, and no rows that could be counted, listed or weighed. Use min, max, sum or avg; or ask for the rows by a query without MODEL.
-->   at line 1, column 8
-->   SELECT count(*) FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol
-->          ^

SELECT median(price) FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol
--> [MDL-009] median() is no aggregate of functions of time: a function has a value at every instant, and no rows that could be counted, listed or weighed. Use min, max, sum or avg; or ask for the rows by a query without MODEL.
-->   at line 1, column 8
-->   SELECT median(price) FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol
-->          ^

SELECT min(price), max(price) FROM trades MODEL price KEY symbol
--> map keys []: min(price) = a0, max(price) = a1
-->   join [] on ()
-->     envelope min(price) = min(a0) group []
-->       source trades by symbol for 10000000 us: price sliding of degree 1
-->     envelope max(price) = max(a0) group []
-->       source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: nothing -> min(price), max(price)
--> output min(price): "min(price)"
--> output max(price): "max(price)"
--> where: TRUE

SELECT avg(price) FROM trades MODEL price KEY symbol
--> [MDL-009] AVG(price) is over a window, and there is none. Add one behind the relation, such as [SIZE 10 SECONDS ADVANCE 2 SECONDS].
-->   at line 1, column 8
-->   SELECT avg(price) FROM trades MODEL price KEY symbol
-->          ^

SELECT avg(price) FROM trades [SIZE 5 SECONDS] MODEL price KEY symbol
--> [MDL-009] The window of an aggregate has no ADVANCE: nothing says how often it is told. Write [SIZE 10 SECONDS ADVANCE 2 SECONDS].
-->   at line 1, column 32
-->   SELECT avg(price) FROM trades [SIZE 5 SECONDS] MODEL price KEY symbol
-->                                  ^

SELECT max(price) FILTER (WHERE price > 3) FROM trades MODEL price KEY symbol
--> [MDL-009] MAX(price) is no plain aggregate of a function of time. Write min(x), max(x), sum(x) or avg(x); and what FILTER says into WHERE.
-->   at line 1, column 12
-->   SELECT max(price) FILTER (WHERE price > 3) FROM trades MODEL price KEY symbol
-->              ^

SELECT max(price) FROM trades MODEL price KEY symbol WHERE max(price) > 3
--> [MDL-009] An aggregate stands in a condition on what is aggregated. Write it into HAVING, behind GROUP BY.
-->   at line 1, column 64
-->   SELECT max(price) FROM trades MODEL price KEY symbol WHERE max(price) > 3
-->                                                                  ^

SELECT symbol, max(price) FROM trades MODEL price KEY symbol
--> [MDL-015] 'symbol' stands beside an aggregate, and is neither aggregated nor grouped by. Add GROUP BY symbol, if it is a key column; or aggregate it.
-->   at line 1, column 8
-->   SELECT symbol, max(price) FROM trades MODEL price KEY symbol
-->          ^

SELECT size, max(price) FROM trades MODEL price KEY symbol GROUP BY size
--> [MDL-015] size is no key column, and models are grouped by these. Group by columns of KEY; add it to KEY, if it names what has a model.
-->   at line 1, column 69
-->   SELECT size, max(price) FROM trades MODEL price KEY symbol GROUP BY size
-->                                                                       ^

SELECT symbol, price FROM trades MODEL price KEY symbol GROUP BY symbol
--> [MDL-009] The query groups, and has no aggregate. Ask for min, max, sum or avg of a modelled attribute; or leave GROUP BY out.
-->   at line 1, column 66
-->   SELECT symbol, price FROM trades MODEL price KEY symbol GROUP BY symbol
-->                                                                    ^

SELECT avg(price) FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol SAMPLE EVERY 1 SECOND
--> [MDL-010] ADVANCE says how often an aggregate is told, and SAMPLE says it again. Leave SAMPLE out.
-->   at line 1, column 88
-->   SELECT avg(price) FROM trades [SIZE 5 SECONDS ADVANCE 1 SECOND] MODEL price KEY symbol SAMPLE EVERY 1 SECOND
-->                                                                                          ^

SELECT symbol, status FROM trades MODEL price KEY symbol
--> [MDL-010] The answer has no column 'status' here. Add HORIZON, for answers before their time comes; others have no status.
-->   at line 1, column 16
-->   SELECT symbol, status FROM trades MODEL price KEY symbol
-->                  ^

SELECT starts FROM trades MODEL price KEY symbol SAMPLE EVERY 1 SECOND
--> [MDL-010] The answer has no column 'starts' here. Ask for at: values are sampled. Without SAMPLE there are starts and ends.
-->   at line 1, column 8
-->   SELECT starts FROM trades MODEL price KEY symbol SAMPLE EVERY 1 SECOND
-->          ^

SELECT a.price - b.price AS diff FROM trades AS a MODEL price KEY symbol JOIN quotes AS b MODEL price KEY symbol ON a.symbol = b.symbol ERROR WITHIN 1 %
--> [MDL-011] 'diff' is a difference of attributes, which may be zero, and of zero 1 % is nothing. Name the attribute that the share is of, such as ERROR WITHIN price 1 %; or write an amount.
-->   at line 1, column 150
-->   SELECT a.price - b.price AS diff FROM trades AS a MODEL price KEY symbol JOIN quotes AS b MODEL price KEY symbol ON a.symbol = b.symbol ERROR WITHIN 1 %
-->                                                                                                                                                        ^

SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN prise 1
--> [MDL-011] 'prise' is no modelled attribute. Did you mean 'price'?
-->   at line 1, column 62
-->   SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN prise 1
-->                                                                ^

SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN -1
--> [MDL-011] No answer is within -1. Write a number that is not below zero, in percent one below 100.
-->   at line 1, column 62
-->   SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN -1
-->                                                                ^

SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN 1 % ABSOLUTE
--> [MDL-011] A bound in percent is relative, and ABSOLUTE stands beside it. Leave % or ABSOLUTE out.
-->   at line 1, column 62
-->   SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN 1 % ABSOLUTE
-->                                                                ^

SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN price 1, price 2
--> [MDL-011] price has two bounds. Remove one of them.
-->   at line 1, column 71
-->   SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN price 1, price 2
-->                                                                         ^

SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN 1 ERROR WITHIN 2
--> [SQL-006] ERROR WITHIN is given twice. Remove one of them.
-->   at line 1, column 64
-->   SELECT price FROM trades MODEL price KEY symbol ERROR WITHIN 1 ERROR WITHIN 2
-->                                                                  ^

SELECT price FROM trades MODEL price KEY symbol WHERE round(price) > 3
--> [MDL-012] ROUND(price) is no polynomial of modelled attributes. Polynomials are made of modelled attributes and numbers by +, -, *, whole powers such as x ^ 2 or pow(x, 2), and division by numbers; there are sqrt(), abs() and ratios beside them.
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol WHERE round(price) > 3
-->                                                         ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > 'high'
--> [MDL-012] 'high' is no number. Compare modelled attributes with numbers.
-->   at line 1, column 63
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > 'high'
-->                                                                 ^

SELECT price FROM trades MODEL price KEY symbol WHERE price ^ 0.5 > 3
--> [MDL-012] 0.5 is no power that a polynomial has. Write a whole number from 0 to 16; sqrt(x) for a root.
-->   at line 1, column 63
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price ^ 0.5 > 3
-->                                                                 ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > size
--> [MDL-013] A condition mixes functions of time with 'size', which is none, in a way that nothing solves. Make it a function of time: MODEL size = size; or write conditions on each beside AND.
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > size
-->                                                         ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > 3 OR symbol = 'IBM'
--> [MDL-013] A condition mixes functions of time with 'symbol', which is none, in a way that nothing solves. Write conditions on each beside AND.
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > 3 OR symbol = 'IBM'
-->                                                         ^

SELECT price FROM trades MODEL price KEY symbol WHERE starts > '2024-01-01'
--> [MDL-013] 'starts' is of the answer, and a condition is asked of its inputs. Ask for it in SELECT, and compare what is delivered.
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol WHERE starts > '2024-01-01'
-->                                                         ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > :lo OR price < 3
--> [MDL-014] The parameter :lo stands in a part of the plan that queries share. Compare an output with the parameter alone, at the outermost level and beside AND only, as in WHERE price > :low; or write a number.
-->   at line 1, column 63
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > :lo OR price < 3
-->                                                                 ^

SELECT price FROM trades MODEL price KEY symbol WHERE size > :n
--> [MDL-014] The parameter :n stands in a part of the plan that queries share. Compare an output with the parameter alone, at the outermost level and beside AND only, as in WHERE price > :low; or write a number.
-->   at line 1, column 62
-->   SELECT price FROM trades MODEL price KEY symbol WHERE size > :n
-->                                                                ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > :sym
--> [SQL-042] Parameter :sym is string, and is compared with double. Give the rows of FOR EACH a column 'sym' of type double.
-->   at line 1, column 63
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > :sym
-->                                                                 ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > :missing
--> [SQL-041] The rows of FOR EACH have no column for the parameter :missing. Its columns are: lo, hi, sym, n, since.
-->   at line 1, column 63
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > :missing
-->                                                                 ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > :lo -- alone
--> [SQL-040] The query has the parameter :lo, and no rows to take it from. Add FOR EACH ROW OF …, or pass each=…; or write a constant.
-->   at line 1, column 63
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > :lo -- alone
-->                                                                 ^

SELECT price + :lo AS more FROM trades MODEL price KEY symbol
--> [SQL-043] The parameter :lo stands among the outputs. Use parameters in WHERE only; results carry the standing query's id.
-->   at line 1, column 16
-->   SELECT price + :lo AS more FROM trades MODEL price KEY symbol
-->                  ^

SELECT max(price) FROM trades MODEL price KEY symbol WHERE symbol = :sym
--> [MDL-014] The parameter :sym stands in a part of the plan that queries share. Compare an output with the parameter alone, at the outermost level and beside AND only, as in WHERE price > :low; or write a number.
-->   at line 1, column 69
-->   SELECT max(price) FROM trades MODEL price KEY symbol WHERE symbol = :sym
-->                                                                       ^

SELECT price, size FROM trades MODEL price KEY symbol
--> source trades by symbol for 10000000 us: price sliding of degree 1
--> gives: symbol, size -> price
--> output price: "price"
--> output size: "size"
--> where: TRUE

SELECT sqrt(x) AS root FROM vessels MODEL x KEY id
--> [MDL-020] Models only come near to SQRT(x), and nothing says how near. Add ERROR WITHIN and an amount, such as ERROR WITHIN 0.5; or say OPTIONS (tolerance = 0.05).
-->   at line 1, column 8
-->   SELECT sqrt(x) AS root FROM vessels MODEL x KEY id
-->          ^

SELECT a.price FROM trades AS a MODEL price KEY symbol JOIN vessels AS b MODEL x KEY id ON a.symbol = b.id
--> [MDL-019] Key columns of string and int64 are compared. Declare both with the same type, or CAST one in its source.
-->   at line 1, column 92
-->   SELECT a.price FROM trades AS a MODEL price KEY symbol JOIN vessels AS b MODEL x KEY id ON a.symbol = b.id
-->                                                                                              ^

SELECT price FROM trades MODEL price KEY symbol WHERE 1 = 2
--> [SQL-050] The predicate is FALSE or NULL for every row: the query can never match. Remove the part that is always FALSE.
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol WHERE 1 = 2
-->                                                         ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > 3 ORDER BY price
--> [SQL-012] ORDER BY is not supported in a standing query. Leave it out: rows are delivered as they arrive, without end. The n lowest values of a range are asked for by SELECT MIN(x, n), the highest by MAX(x, n).
-->   at line 1, column 74
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > 3 ORDER BY price
-->                                                                            ^

SELECT price FROM trades MODEL price KEY symbol WHERE price > (SELECT 3)
--> [SQL-013] A query inside an expression is not supported in a standing query. Write one SELECT … FROM … WHERE …, without a query inside.
-->   at line 1, column 71
-->   SELECT price FROM trades MODEL price KEY symbol WHERE price > (SELECT 3)
-->                                                                         ^

SELECT price FROM trades MODEL price KEY symbol HORIZON 0 SECONDS
--> [MDL-017] A horizon cannot be 0 SECONDS long. Write a number above zero, such as 10 SECONDS, of whole microseconds.
-->   at line 1, column 57
-->   SELECT price FROM trades MODEL price KEY symbol HORIZON 0 SECONDS
-->                                                           ^

SELECT price FROM trades MODEL price KEY symbol HORIZON ADAPTIVE (5 SECONDS, 2 SECONDS)
--> [MDL-017] The shortest horizon is not below the longest. Write HORIZON ADAPTIVE(1 SECOND, 30 SECONDS), the shortest first.
-->   at line 1, column 49
-->   SELECT price FROM trades MODEL price KEY symbol HORIZON ADAPTIVE (5 SECONDS, 2 SECONDS)
-->                                                   ^

SELECT price FROM trades MODEL price KEY symbol HORIZON 5 PARSECS
--> [MDL-017] 'PARSECS' is no unit of time. Write one of: MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS.
-->   at line 1, column 59
-->   SELECT price FROM trades MODEL price KEY symbol HORIZON 5 PARSECS
-->                                                             ^

SELECT price FROM trades MODEL price KEY symbol SAMPLE RATE 7
--> [MDL-017] 7 samples per second are no whole microseconds apart. Write a rate such as 10, at most 1,000,000; or SAMPLE EVERY n MILLISECONDS.
-->   at line 1, column 61
-->   SELECT price FROM trades MODEL price KEY symbol SAMPLE RATE 7
-->                                                               ^

SELECT symbol, price + ratio AS both FROM trades MODEL price, ratio KEY symbol ERROR WITHIN 4 SPLIT (Ratio 3, price 0.5)
--> map keys [0]: both = a1 + a0
-->   source trades by symbol for 10000000 us: price sliding of degree 1; ratio sliding of degree 1
--> gives: symbol -> both
--> bound: every output absolute 4
--> split by shares: price 0.5, ratio 3
--> output symbol: "symbol"
--> output both: "both"
--> where: TRUE

SELECT price FROM trades MODEL price KEY symbol SPLIT (fee 2)
--> [MDL-018] 'fee' is no modelled attribute. Modelled are: price.
-->   at line 1, column 56
-->   SELECT price FROM trades MODEL price KEY symbol SPLIT (fee 2)
-->                                                          ^

SELECT price FROM trades MODEL price KEY symbol SPLIT (price 0)
--> [MDL-018] The share of 'price' is not above zero: it would have no part of any bound. Write a number above zero; or bound it by itself, ERROR WITHIN …, name 0.
-->   at line 1, column 62
-->   SELECT price FROM trades MODEL price KEY symbol SPLIT (price 0)
-->                                                                ^

SELECT price FROM trades MODEL price KEY symbol SPLIT (price 1, Price 2)
--> [MDL-018] 'Price' has two shares. Keep one of them.
-->   at line 1, column 65
-->   SELECT price FROM trades MODEL price KEY symbol SPLIT (price 1, Price 2)
-->                                                                   ^

SELECT price FROM trades MODEL price KEY symbol SPLIT (price)
--> [SQL-001] Expected a number before ')'. Write a number here.
-->   at line 1, column 61
-->   SELECT price FROM trades MODEL price KEY symbol SPLIT (price)
-->                                                               ^

SELECT price FROM trades MODEL price KEY symbol SPLIT (price size)
--> [MDL-018] size is no number, and a share is one for all queries of a group. Write a number.
-->   at line 1, column 62
-->   SELECT price FROM trades MODEL price KEY symbol SPLIT (price size)
-->                                                                ^

SELECT price FROM trades MODEL price KEY symbol SPLIT EVENLY
--> [MDL-018] 'EVENLY' is no way to split bounds. Known are: EQUI, GRADIENT; or give shares, as in SPLIT (x 3, y 1).
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol SPLIT EVENLY
-->                                                         ^

SELECT price FROM trades MODEL price KEY symbol FIT price USING SWOB
--> [MDL-018] 'SWOB' is no way to fit models. Did you mean 'SWAB'?
-->   at line 1, column 65
-->   SELECT price FROM trades MODEL price KEY symbol FIT price USING SWOB
-->                                                                   ^

SELECT price FROM trades MODEL price KEY symbol FIT price USING SLIDING DEGREE 4
--> [MDL-018] No model is fitted with the degree 4. Write 0 to 3.
-->   at line 1, column 80
-->   SELECT price FROM trades MODEL price KEY symbol FIT price USING SLIDING DEGREE 4
-->                                                                                  ^

SELECT price FROM trades MODEL price KEY symbol FIT ratio USING SLIDING
--> [MDL-018] 'ratio' is no modelled attribute. Modelled are: price.
-->   at line 1, column 49
-->   SELECT price FROM trades MODEL price KEY symbol FIT ratio USING SLIDING
-->                                                   ^

SELECT x FROM vessels MODEL x = x + vx * t KEY id FIT x USING SLIDING
--> [MDL-018] 'x' has a model in MODEL, and FIT would fit another. Keep one of them.
-->   at line 1, column 51
-->   SELECT x FROM vessels MODEL x = x + vx * t KEY id FIT x USING SLIDING
-->                                                     ^

SELECT price FROM trades MODEL price KEY symbol -- {'fidelity': 'high'}
--> [SQL-071] Option 'fidelity' cannot be 'high'. Choose one of: 'repaired', 'literal'.

SELECT price FROM trades MODEL price KEY symbol -- {'gaps': 'hold'}
--> [SQL-070] A model query has no option 'gaps'. Did you mean 'gap'?

SELECT price AS a, price AS A FROM trades MODEL price KEY symbol
--> [SQL-024] Two outputs are named 'A'. Add AS and a new name.
-->   at line 1, column 20
-->   SELECT price AS a, price AS A FROM trades MODEL price KEY symbol
-->                      ^

SELECT * FROM trades MODEL price KEY symbol JOIN trades MODEL price KEY symbol ON TRUE
--> [SQL-026] Two relations of the query are called 'trades'. Give each its own name: FROM a AS x MODEL … JOIN a AS y MODEL ….
-->   at line 1, column 50
-->   SELECT * FROM trades MODEL price KEY symbol JOIN trades MODEL price KEY symbol ON TRUE
-->                                                    ^

SELECT (price + ratio + 1) ^ 16 * (fee + size) ^ 16 AS big FROM trades MODEL price, ratio, fee, size KEY symbol
--> [MDL-016] The expression is too large, or has too many monomials once it is multiplied out. Ask for less in one expression.
-->   at line 1, column 9
-->   SELECT (price + ratio + 1) ^ 16 * (fee + size) ^ 16 AS big FROM trades MODEL price, ratio, fee, size KEY symbol
-->           ^

SELECT price * 1e308 * 1e308 AS big FROM trades MODEL price KEY symbol
--> [MDL-016] A number of the query is too large for floats, once it is multiplied out. Write smaller numbers.
-->   at line 1, column 1
-->   SELECT price * 1e308 * 1e308 AS big FROM trades MODEL price KEY symbol
-->   ^

SELECT price FROM trades MODEL price KEY symbol WHERE abs(abs(abs(abs(abs(abs(abs(price)))))) - 1) > price
--> [MDL-016] The query has more than 64 comparisons. Ask for some of them by a query of their own.
-->   at line 1, column 55
-->   SELECT price FROM trades MODEL price KEY symbol WHERE abs(abs(abs(abs(abs(abs(abs(price)))))) - 1) > price
-->                                                         ^
