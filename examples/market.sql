-- A made-up market and a few standing queries on it. From the repository's root:
--
--   penstock run examples/market.sql --print ibm          until Ctrl-C
--   penstock run examples/market.sql --once --record      one micro-batch, then end
--   penstock verify examples/market.sql                   was every match right?
--   penstock explain examples/market.sql                  how is each query processed?

CREATE STREAM trades FROM 'market:trades'
  OPTIONS (event_time = 'ts', rows_per_second = 2000, rows_per_batch = 20000, pace = TRUE);

CREATE STREAM quotes FROM 'market:quotes'
  OPTIONS (event_time = 'ts', rows_per_second = 1000, rows_per_batch = 10000, pace = TRUE);

-- Two alerts of one shape: they share a group and an index, whatever their constants.
SUBSCRIBE ibm TO
  SELECT ts, price, size FROM trades WHERE symbol = 'IBM' AND price BETWEEN 126.40 AND 126.45;

SUBSCRIBE nvidia TO
  SELECT ts, price, size FROM trades WHERE symbol = 'NVDA' AND price BETWEEN 13.15 AND 13.16;

-- One standing query for each row of a file: the clients' limits.
SUBSCRIBE limits TO
  SELECT symbol, price, venue FROM trades WHERE symbol = :symbol AND price <= :limit
  FOR EACH ROW OF 'examples/limits.csv' KEY client;

-- OR makes branches; LIKE and arithmetic are checked on what the index leaves.
SUBSCRIBE large TO
  SELECT symbol, price * size AS notional FROM trades
  WHERE size >= 2000 AND symbol LIKE 'ZA%' OR symbol IN ('AAPL', 'MSFT') AND size > 1500;

SUBSCRIBE wide_spreads TO
  SELECT symbol, bid, ask, ask - bid AS spread FROM quotes WHERE ask >= 300 AND ask - bid > 0.3;
