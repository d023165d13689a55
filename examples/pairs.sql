-- Trades and quotes of a made-up market, joined inside a budget of memory: the rows are kept that will
-- bring the most pairs. From the repository's root:
--
--   penstock run examples/pairs.sql --once --record        ten seconds of the market; watch the recall
--   penstock verify examples/pairs.sql                     nothing wrong, and how much was missed?
--   penstock explain pairs --home pairs-home --draw memory.svg   what would more memory bring?

CREATE STREAM trades FROM 'market:trades'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rows_per_second = 500, rows_per_batch = 1000,
           pace = TRUE, rows = 5000);

CREATE STREAM quotes FROM 'market:quotes'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rows_per_second = 500, rows_per_batch = 1000,
           pace = TRUE, rows = 5000);

-- Two seconds of both streams would be two thousand rows; a tenth of that is allowed. Which symbols
-- are worth it is learnt from the streams.
SUBSCRIBE pairs TO
  SELECT t.ts, t.symbol, t.price, q.ask
  FROM trades t JOIN quotes q ON t.symbol = q.symbol WITHIN 2 SECONDS
  MEMORY 200 ROWS USING HEEB MODEL t AS AUTO, q AS AUTO;

-- Without a window: each trade meets every later quote, as far as memory goes.
SUBSCRIBE sizes TO
  SELECT t.symbol, t.size, q.ask_size
  FROM trades t JOIN quotes q ON t.symbol = q.symbol
  WHERE t.size >= 1500
  MEMORY 100 ROWS USING PROB;

-- Two joins in one memory: a trade is held once, as long as it brings both of them enough.
CREATE STREAM prints FROM 'market:trades'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rows_per_second = 500, rows_per_batch = 1000,
           pace = TRUE, rows = 5000);

SUBSCRIBE asks TO
  SELECT t.ts, t.symbol, q.ask FROM trades t JOIN quotes q ON t.symbol = q.symbol
  MEMORY 100 ROWS SHARED BY trades (symbol), quotes (symbol), prints (symbol);

SUBSCRIBE printed TO
  SELECT t.ts, p.price FROM trades t JOIN prints p ON t.symbol = p.symbol WHERE p.size >= 1500
  MEMORY 100 ROWS SHARED BY trades (symbol), quotes (symbol), prints (symbol);

EXPLAIN SUBSCRIPTION pairs;
EXPLAIN SUBSCRIPTION asks;
