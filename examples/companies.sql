-- Trades of a made-up market, with the company behind each, looked up in a database. From the
-- repository's root, with the environment active:
--
--   python examples/companies.py companies.duckdb          make the database
--   penstock run examples/companies.sql --print chips      until Ctrl-C
--   penstock run examples/companies.sql --once --record    a few thousand trades, then end
--   penstock verify examples/companies.sql                 was every row right?
--
-- Move companies.duckdb away while it runs, and back: rows wait for it, and nothing is lost.

CREATE STREAM trades FROM 'market:trades'
  OPTIONS (event_time = 'ts', rows_per_batch = 2000, pace = TRUE, rows_per_second = 1000,
           rows = 10000);

-- A cache of a hundred rows for three hundred symbols, some of which are traded far more than others.
CREATE TABLE companies LOOKUP FROM 'duckdb:companies.duckdb' KEY symbol CACHE 100 ROWS USING HEEB
  OPTIONS (timeout = '2 seconds', cooldown = '3 seconds');

SUBSCRIBE chips TO
  SELECT t.ts, t.symbol, t.price, c.shares
  FROM trades t JOIN companies c ON t.symbol = c.symbol
  WHERE c.sector = 'chips' AND t.size >= 500;

SUBSCRIBE large TO
  SELECT t.symbol, c.sector, t.price * t.size AS notional
  FROM trades t JOIN companies c ON t.symbol = c.symbol
  WHERE t.size >= 2000;

EXPLAIN SUBSCRIPTION chips;
