CREATE STREAM trades FROM 'market:trades' OPTIONS (event_time = 'ts', rate = 1000, speed = -1.5, loop = TRUE);
--> CreateRelation(at 0..109, kind='stream', name='trades', from_=SourceName(kind='market', rest='trades'), columns=None, options={'event_time': 'ts', 'rate': 1000, 'speed': -1.5, 'loop': True}, if_not_exists=False, replaces=False)

create stream if not exists "Trades" (price DOUBLE, ts TIMESTAMPTZ, fee DECIMAL(10, 2)) from frame1
--> CreateRelation(at 0..99, kind='stream', name='Trades', from_=SourceName(kind='frame', rest='frame1'), columns=price: double; ts: timestamp[us, tz=UTC]; fee: decimal128(10, 2), options={}, if_not_exists=True, replaces=False)

CREATE TABLE positions (id BIGINT, op VARCHAR) FROM 'parquet:/data/positions' OPTIONS (changes = 'op')
--> CreateRelation(at 0..102, kind='table', name='positions', from_=SourceName(kind='parquet', rest='/data/positions'), columns=id: int64; op: string, options={'changes': 'op'}, if_not_exists=False, replaces=False)

-- first
SUBSCRIBE cheap TO SELECT * FROM trades WHERE price < 5; -- after
/* second */ SUBSCRIBE mine TO SELECT * FROM trades WHERE price > :lo FOR EACH ROW OF 'p.parquet' KEY id;
--> Subscribe(at 9..64, name='cheap', select=Select(at 28..64), each=None, options={}, sinks=())
--> Subscribe(at 88..179, name='mine', select=Select(at 106..144), each=ForEach(path='p.parquet', frame=None, key='id'), options={}, sinks=())

SUBSCRIBE all_ TO SELECT * FROM trades FOR EACH ROW OF frame1
--> Subscribe(at 0..61, name='all_', select=Select(at 18..38), each=ForEach(path=None, frame='frame1', key=None), options={}, sinks=())

SUBSCRIBE held TO SELECT * FROM positions WHERE id = :n FOR EACH ROW OF frame1 WITH SNAPSHOT; SUBSCRIBE all_ TO SELECT * FROM positions WITH SNAPSHOT OPTIONS (mode = 'full')
--> Subscribe(at 0..92, name='held', select=Select(at 18..55), each=ForEach(path=None, frame='frame1', key=None), options={'snapshot': True}, sinks=())
--> Subscribe(at 94..173, name='all_', select=Select(at 112..135), each=None, options={'mode': 'full', 'snapshot': True}, sinks=())

SUBSCRIBE cheap TO SELECT * FROM trades INTO 'out' AS files, 'https://h/${KEY}'; SUBSCRIBE near TO SELECT * FROM a, b OPTIONS (mode = 'full') INTO 'out'; DROP SINK files OF cheap; DROP SINK IF EXISTS hook OF near
--> Subscribe(at 0..79, name='cheap', select=Select(at 19..39), each=None, options={}, sinks=(SinkClause(address='out', name='files'), SinkClause(address='https://h/${KEY}', name=None)))
--> Subscribe(at 81..152, name='near', select=Select(at 99..117), each=None, options={'mode': 'full'}, sinks=(SinkClause(address='out', name=None),))
--> DropSink(at 154..178, name='files', subscription='cheap', if_exists=False)
--> DropSink(at 180..212, name='hook', subscription='near', if_exists=True)

SUBSCRIBE cheap TO SELECT * FROM trades INTO out
--> [SQL-001] Expected an address in quotes before 'out'. Write an address in quotes here.
-->   at line 1, column 46
-->   SUBSCRIBE cheap TO SELECT * FROM trades INTO out
-->                                                ^

RESUME cheap; DROP SUBSCRIPTION cheap; DROP SUBSCRIPTION IF EXISTS mine WHERE ID IN ('a', 7, -2)
--> Resume(at 0..12, name='cheap')
--> DropSubscription(at 14..37, name='cheap', ids=None, if_exists=False)
--> DropSubscription(at 39..96, name='mine', ids=('a', 7, -2), if_exists=True)

EXPLAIN SELECT * FROM trades; EXPLAIN SUBSCRIPTION cheap; EXPLAIN SELECT * FROM trades WHERE price > :lo FOR EACH ROW OF p
--> Explain(at 0..28, of=Select(at 8..28), each=None, options={}, what_if=())
--> Explain(at 30..56, of='cheap', each=None, options={}, what_if=())
--> Explain(at 58..122, of=Select(at 66..104), each=ForEach(path=None, frame='p', key=None), options={}, what_if=())

SUBSCRIBE near TO SELECT * FROM a, b OPTIONS (mode = 'identify', alpha = 0.01, inclusive = TRUE); EXPLAIN SELECT * FROM a x JOIN b y USING (k) WITHIN 5 SECONDS FOR EACH ROW OF p KEY id OPTIONS (strategy = 'hot')
--> Subscribe(at 0..96, name='near', select=Select(at 18..36), each=None, options={'mode': 'identify', 'alpha': 0.01, 'inclusive': True}, sinks=())
--> Explain(at 98..211, of=Select(at 106..159), each=ForEach(path=None, frame='p', key='id'), options={'strategy': 'hot'}, what_if=())

EXPLAIN TUPLE OF trades (price = 5, symbol = 'a', note = NULL, "Size" = -2) FOR near
--> ExplainTuple(at 0..84, relation='trades', values={'price': 5, 'symbol': 'a', 'note': None, 'Size': -2}, subscription='near')

EXPLAIN TUPLE OF trades (price = 5, Price = 6) FOR near
--> [SQL-006] Column 'Price' is given twice. Remove one of them.
-->   at line 1, column 37
-->   EXPLAIN TUPLE OF trades (price = 5, Price = 6) FOR near
-->                                       ^

EXPLAIN TUPLE OF trades FOR near
--> [SQL-001] Expected ( before 'FOR'. Write ( here.
-->   at line 1, column 25
-->   EXPLAIN TUPLE OF trades FOR near
-->                           ^

SELECT * FROM a JOIN b ON a.x = b.x WITHIN 5
--> [SQL-001] Expected a unit of time at the end. Write a unit of time here.
-->   at line 1, column 45
-->   SELECT * FROM a JOIN b ON a.x = b.x WITHIN 5
-->                                               ^

SELECT * FROM a within JOIN b options ON within.x = options.x
--> Select(at 0..61)

;;
--> nothing

INSERT INTO trades VALUES (1)
--> [SQL-002] No statement begins with INSERT. Rows come and go by the sources of streams and tables.
-->   at line 1, column 1
-->   INSERT INTO trades VALUES (1)
-->   ^

CREATE VIEW v AS SELECT 1
--> [SQL-001] Expected REFRESH before 'AS'. Write REFRESH here.
-->   at line 1, column 15
-->   CREATE VIEW v AS SELECT 1
-->                 ^

SUBSCRIBED x TO SELECT 1
--> [SQL-002] No statement begins with SUBSCRIBED. Did you mean 'SUBSCRIBE'?
-->   at line 1, column 1
-->   SUBSCRIBED x TO SELECT 1
-->   ^

WITH a AS (SELECT 1) SELECT * FROM a
--> [SQL-002] No statement begins with WITH. Write one SELECT … FROM … WHERE ….
-->   at line 1, column 1
-->   WITH a AS (SELECT 1) SELECT * FROM a
-->   ^

ALTER SUBSCRIPTION a SET ID 'b' TO (x = 1)
--> [SQL-002] No statement begins with ALTER SUBSCRIPTION. Say DROP SUBSCRIPTION, and SUBSCRIBE anew; in Python, `subscription.alter(…)`.
-->   at line 1, column 1
-->   ALTER SUBSCRIPTION a SET ID 'b' TO (x = 1)
-->   ^

SELECT * FROM trades;
SUBSCRIBE x SELECT * FROM trades
--> [SQL-001] Expected TO before 'SELECT'. Write TO here.
-->   at line 2, column 13
-->   SUBSCRIBE x SELECT * FROM trades
-->               ^

SUBSCRIBE x TO
--> [SQL-001] Expected SELECT at the end. Write SELECT here.
-->   at line 1, column 15
-->   SUBSCRIBE x TO
-->                 ^

CREATE STREAM trades (price) FROM 'rate'
--> [SQL-001] Expected a column's type before ')'. Write a column's type here.
-->   at line 1, column 28
-->   CREATE STREAM trades (price) FROM 'rate'
-->                              ^

CREATE STREAM trades (price DUBLE) FROM 'rate'
--> [SQL-005] Column 'price' has the type DUBLE, which is not known. Did you mean 'DOUBLE'?
-->   at line 1, column 23
-->   CREATE STREAM trades (price DUBLE) FROM 'rate'
-->                         ^

CREATE STREAM trades (a INT, A INT) FROM 'rate'
--> [SQL-006] Column 'A' is declared twice. Rename or remove one of them.
-->   at line 1, column 30
-->   CREATE STREAM trades (a INT, A INT) FROM 'rate'
-->                                ^

CREATE STREAM trades OPTIONS (a = 1)
--> [SQL-001] Expected FROM before 'OPTIONS'. Write FROM here.
-->   at line 1, column 22
-->   CREATE STREAM trades OPTIONS (a = 1)
-->                        ^

CREATE STREAM trades FROM 'rate' OPTIONS (a = 1, A = 2)
--> [SQL-006] Option 'a' is given twice. Remove one of them.
-->   at line 1, column 50
-->   CREATE STREAM trades FROM 'rate' OPTIONS (a = 1, A = 2)
-->                                                    ^

CREATE STREAM trades FROM 'rate' OPTIONS (a = 1 + 1)
--> [SQL-001] Expected ) before '+'. Write ) here.
-->   at line 1, column 49
-->   CREATE STREAM trades FROM 'rate' OPTIONS (a = 1 + 1)
-->                                                   ^

CREATE STREAM trades FROM 'rate' OPTIONS (a = b)
--> [SQL-007] b is not a string, a number, TRUE or FALSE. Write the value itself; quote texts with '…'.
-->   at line 1, column 47
-->   CREATE STREAM trades FROM 'rate' OPTIONS (a = b)
-->                                                 ^

DROP SUBSCRIPTION a WHERE ID IN (1.5)
--> [SQL-007] 1.5 cannot be an id. Ids are strings or whole numbers.
-->   at line 1, column 34
-->   DROP SUBSCRIPTION a WHERE ID IN (1.5)
-->                                    ^

SUBSCRIBE s TO SELECT * FROM a [ROWS 10], b x [RANGE 5 SECONDS] WHERE a.k = x.k ADAPT; SUBSCRIBE s TO SELECT * FROM a [ROWS 10], b FOR EACH ROW OF p KEY id ADAPT OPTIONS (strict = TRUE)
--> Subscribe(at 0..85, name='s', select=Select(at 15..79), each=None, options={'adapt': True}, sinks=())
--> Subscribe(at 87..185, name='s', select=Select(at 102..130), each=ForEach(path=None, frame='p', key='id'), options={'strict': True, 'adapt': True}, sinks=())

SUBSCRIBE s TO SELECT * FROM a [ROWS 10], b ADAPT OPTIONS (adapt = FALSE)
--> [SQL-006] ADAPT is given twice. Remove one of them.
-->   at line 1, column 45
-->   SUBSCRIBE s TO SELECT * FROM a [ROWS 10], b ADAPT OPTIONS (adapt = FALSE)
-->                                               ^

EXPLAIN SELECT * FROM a [ROWS 10], b OPTIONS (products = TRUE) WHAT IF (rate(c) = 500/s, window(b) = 100, cores = 4, memory = '1 GB', selectivity(a, b) = 0.5)
--> Explain(at 0..158, of=Select(at 8..36), each=None, options={'products': True}, what_if=(Assumption(what='rate', of=('c',), value=500.0, unit='/s'), Assumption(what='window', of=('b',), value=100, unit='rows'), Assumption(what='cores', of=(), value=4, unit=''), Assumption(what='memory', of=(), value=1000000000, unit='bytes'), Assumption(what='selectivity', of=('a', 'b'), value=0.5, unit='')))

EXPLAIN SELECT * FROM a [ROWS 10], b WHAT IF (headroom = 0.1, window("Odd b") = 1.5 MINUTES, rows(t) = 1_000, cost = 0.5 MILLISECONDS, memory = 1000, rate(a) = 30/min); EXPLAIN SUBSCRIPTION s WHAT IF (cost = '0.5 ms', rate(b) = '2/ms', rate(c) = 7)
--> Explain(at 0..167, of=Select(at 8..36), each=None, options={}, what_if=(Assumption(what='headroom', of=(), value=0.1, unit=''), Assumption(what='window', of=('Odd b',), value=90000000, unit='us'), Assumption(what='rows', of=('t',), value=1000, unit='rows'), Assumption(what='cost', of=(), value=0.0005, unit='s'), Assumption(what='memory', of=(), value=1000, unit='rows'), Assumption(what='rate', of=('a',), value=0.5, unit='/s')))
--> Explain(at 169..248, of='s', each=None, options={}, what_if=(Assumption(what='cost', of=(), value=0.0005, unit='s'), Assumption(what='rate', of=('b',), value=2000.0, unit='/s'), Assumption(what='rate', of=('c',), value=7, unit='/s')))

EXPLAIN SUBSCRIPTION s WHAT IF (cores = 2, rat(a) = 5/s)
--> [SQL-090] 'rat' is nothing to assume. Did you mean 'rate'?
-->   at line 1, column 44
-->   EXPLAIN SUBSCRIPTION s WHAT IF (cores = 2, rat(a) = 5/s)
-->                                              ^

EXPLAIN SUBSCRIPTION s WHAT IF (rate = 5/s)
--> [SQL-090] rate is about one input. Write rate(a) = 500/s.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (rate = 5/s)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (rate(a) = 0)
--> [SQL-092] rate cannot be 0. Write rows per unit of time, above zero, as in rate(a) = 500/s.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (rate(a) = 0)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (rate(a) = -5/s)
--> [SQL-092] rate cannot be -5/s. Write rows per unit of time, above zero, as in rate(a) = 500/s.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (rate(a) = -5/s)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (rate(a) = 5/parsec)
--> [SQL-092] rate cannot be 5/parsec. Write rows per unit of time, above zero, as in rate(a) = 500/s.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (rate(a) = 5/parsec)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (selectivity(a) = 1.5)
--> [SQL-092] selectivity cannot be 1.5. Write a share from 0 to 1, as in selectivity(a, b) = 0.5.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (selectivity(a) = 1.5)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (window(a) = 0, cores = 1)
--> [SQL-092] window cannot be 0. Write whole rows or a length of time, above zero, as in window(a) = 100, or window(a) = 5 SECONDS.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (window(a) = 0, cores = 1)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (memory = :m)
--> [SQL-092] memory takes a constant. Write bytes or rows, above zero, as in memory = '1 GB', or memory = 1000 for rows.
-->   at line 1, column 33
-->   EXPLAIN SUBSCRIPTION s WHAT IF (memory = :m)
-->                                   ^

EXPLAIN SUBSCRIPTION s WHAT IF (cores = 4, cores = 5)
--> [SQL-006] cores is assumed twice. Remove one of them.
-->   at line 1, column 44
-->   EXPLAIN SUBSCRIPTION s WHAT IF (cores = 4, cores = 5)
-->                                              ^

EXPLAIN SUBSCRIPTION s WHAT IF (cores 4)
--> [SQL-001] Expected = before '4'. Write = here.
-->   at line 1, column 39
-->   EXPLAIN SUBSCRIPTION s WHAT IF (cores 4)
-->                                         ^

SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE place BETWEEN :lo AND :hi AS MESSAGES WITH SNAPSHOT INTO 'found'
--> Subscribe(at 0..118, name='lows', select=Select(at 18..79), each=None, options={'snapshot': True, 'messages': True}, sinks=(SinkClause(address='found', name=None),))

EXPLAIN SELECT MIN(price) FROM offers WHERE place < :hi AS MESSAGES
--> Explain(at 0..67, of=Select(at 8..55), each=None, options={'messages': True}, what_if=())

SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE place < :hi AS MESSAGES OPTIONS (messages = TRUE)
--> [SQL-006] AS MESSAGES is given twice. Remove one of them.
-->   at line 1, column 67
-->   SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE place < :hi AS MESSAGES OPTIONS (messages = TRUE)
-->                                                                     ^

'' OPTIONS (a = 1)
--> [SQL-002] No statement begins with ''. Known are: CREATE STREAM, CREATE TABLE, CREATE VIEW, SUBSCRIBE, DROP STREAM, DROP TABLE, DROP VIEW, DROP SUBSCRIPTION, DROP SINK, RESUME, EXPLAIN, KEEP, SELECT.
-->   at line 1, column 1
-->   '' OPTIONS (a = 1)
-->   ^
