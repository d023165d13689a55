SUBSCRIBE both TO SELECT * FROM r JOIN s ON r.k = s.k WITHIN 10 SECONDS WHERE r.v > :lo MEMORY 10000 ROWS USING HEEB MODEL r AS LINEAR TREND (slope = 1), s AS AUTO FOR EACH ROW OF 'p.parquet' OPTIONS (alpha = 5)
--> Subscribe(at 0..211, name='both', select=Select(at 18..163), each=ForEach(path='p.parquet', frame=None, key=None), options={'alpha': 5}, sinks=())

EXPLAIN SELECT * FROM r, s MEMORY 10 ROWS OPTIONS (seed = 3); EXPLAIN SELECT * FROM r, s MEMORY 10 ROWS MODEL r AS AUTO WHAT IF (cores = 4)
--> Explain(at 0..60, of=Select(at 8..41), each=None, options={'seed': 3}, what_if=())
--> Explain(at 62..139, of=Select(at 70..119), each=None, options={}, what_if=(Assumption(what='cores', of=(), value=4, unit=''),))

SUBSCRIBE both TO SELECT * FROM r, s MEMORY 10 ROWS MODEL s AS AR(1) ADAPT
--> Subscribe(at 0..74, name='both', select=Select(at 18..68), each=None, options={'adapt': True}, sinks=())

SELECT memory, model, lookup, cache, key, rows FROM memory model JOIN model memory ON model.key = memory.cache
--> Select(at 0..110)

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5000 ROWS
--> CreateLookup(at 0..77, name='prices', from_='duckdb:prices.duckdb', key='id', cache=5000, using='HEEB', law=None, columns=None, options={}, if_not_exists=False, replaces=False)

CREATE TABLE IF NOT EXISTS lookup (key BIGINT, cache DOUBLE, model VARCHAR) LOOKUP FROM 'postgresql://user@127.0.0.1:5432/db' KEY key CACHE 5_000 ROWS USING heeb MODEL LINEAR TREND (slope = 2) OPTIONS (table = 'public.prices', timeout = '2 seconds', retries = 3, backoff = '100 milliseconds', cooldown = '5 seconds', batch = 1000, waiting = 100000, max_age = '10 minutes')
--> CreateLookup(at 0..372, name='lookup', from_='postgresql://user@127.0.0.1:5432/db', key='key', cache=5000, using='HEEB', law=StreamLaw(family='linear trend', parameters={'slope': 2.0}), columns=key: int64; cache: double; model: string, options={'table': 'public.prices', 'timeout': '2 seconds', 'retries': 3, 'backoff': '100 milliseconds', 'cooldown': '5 seconds', 'batch': 1000, 'waiting': 100000, 'max_age': '10 minutes'}, if_not_exists=True, replaces=False)

CREATE TABLE lookup (id BIGINT, op VARCHAR) FROM 'json:/data' OPTIONS (changes = 'op')
--> CreateRelation(at 0..86, kind='table', name='lookup', from_=SourceName(kind='json', rest='/data'), columns=id: int64; op: string, options={'changes': 'op'}, if_not_exists=False, replaces=False)

CREATE TABLE prices LOOKUP FROM prices KEY id CACHE 5000 ROWS
--> [SQL-001] Expected a source in quotes before 'prices'. Write a source in quotes here.
-->   at line 1, column 33
-->   CREATE TABLE prices LOOKUP FROM prices KEY id CACHE 5000 ROWS
-->                                   ^

CREATE TABLE prices LOOKUP FROM 'mysql://here' KEY id CACHE 5000 ROWS
--> [SQL-130] 'mysql://here' is no source of lookups. Write 'duckdb:<file>', or 'postgresql://<user>@<host>:<port>/<database>'.
-->   at line 1, column 33
-->   CREATE TABLE prices LOOKUP FROM 'mysql://here' KEY id CACHE 5000 ROWS
-->                                   ^

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' CACHE 5000 ROWS
--> [SQL-001] Expected KEY before 'CACHE'. Write KEY here.
-->   at line 1, column 56
-->   CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' CACHE 5000 ROWS
-->                                                          ^

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 0 ROWS
--> [SQL-110] No CACHE holds 0 rows. Write a whole number from 1 to 10,000,000, such as CACHE 10000 ROWS.
-->   at line 1, column 69
-->   CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 0 ROWS
-->                                                                       ^

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS USING PROB
--> [SQL-120] 'PROB' is no policy of a lookup. Choose one of: HEEB, RAND, LRU, LFU.
-->   at line 1, column 82
-->   CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS USING PROB
-->                                                                                    ^

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS USING LFU MODEL AUTO
--> [SQL-121] LFU asks for no law of the streams. Leave MODEL out, or say USING HEEB.
-->   at line 1, column 92
-->   CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS USING LFU MODEL AUTO
-->                                                                                              ^

CREATE TABLE prices (id BIGINT, name VARCHAR) LOOKUP FROM 'duckdb:prices.duckdb' KEY ident CACHE 5 ROWS
--> [CAT-010] The key 'ident' is not a column of 'prices'. Choose one of: id, name.
-->   at line 1, column 86
-->   CREATE TABLE prices (id BIGINT, name VARCHAR) LOOKUP FROM 'duckdb:prices.duckdb' KEY ident CACHE 5 ROWS
-->                                                                                        ^

CREATE TABLE prices (id BIGINT, name VARCHAR) LOOKUP FROM 'duckdb:prices.duckdb' KEY name CACHE 5 ROWS MODEL RANDOM WALK
--> [SQL-119] RANDOM WALK counts with keys, and 'name' is string. Say MODEL AUTO or STATIONARY, or take a key of whole numbers, dates or times.
-->   at line 1, column 110
-->   CREATE TABLE prices (id BIGINT, name VARCHAR) LOOKUP FROM 'duckdb:prices.duckdb' KEY name CACHE 5 ROWS MODEL RANDOM WALK
-->                                                                                                                ^

CREATE TABLE prices (id BIGINT[], name VARCHAR) LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS
--> [CAT-011] The key 'id' of 'prices' is list<l: int64>, by which no row can be looked up. Choose a column of whole numbers, decimals, texts, dates, times or booleans.
-->   at line 1, column 88
-->   CREATE TABLE prices (id BIGINT[], name VARCHAR) LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS
-->                                                                                          ^

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS OPTIONS (timeout = 2)
--> [SQL-071] Option 'timeout' cannot be 2. Write a number above zero and a unit, as in '2 seconds'.
-->   at line 1, column 85
-->   CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS OPTIONS (timeout = 2)
-->                                                                                       ^

CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS OPTIONS (time_out = '2 seconds')
--> [SQL-070] A lookup has no option 'time_out'. Did you mean 'timeout'?
-->   at line 1, column 85
-->   CREATE TABLE prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS OPTIONS (time_out = '2 seconds')
-->                                                                                       ^

CREATE STREAM prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS
--> [SQL-001] Expected FROM before 'LOOKUP'. Write FROM here.
-->   at line 1, column 22
-->   CREATE STREAM prices LOOKUP FROM 'duckdb:prices.duckdb' KEY id CACHE 5 ROWS
-->                        ^
