-- A made-up market: when does a short moving average cross above a long one (MACD)? Averages are
-- integrals of models, so the crossing is an equation with one unknown, not a comparison per tick.
-- From the repository's root:
--
--   penstock run examples/macd.sql --print rising        until Ctrl-C
--   penstock run examples/macd.sql --once --record       forty seconds of the market, then end
--   penstock verify examples/macd.sql                    was every answer within its bound?
--   penstock explain examples/macd.sql                   which equations are solved, how near are models?

CREATE STREAM trades FROM 'market:trades'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', symbols = 20, rows_per_second = 500,
           rows_per_batch = 20000, pace = TRUE);

-- Prices are fitted with lines, within 1 % of every trade; a trade that fits is dropped unseen.
SUBSCRIBE rising TO
  SELECT f.symbol, at, f.mean AS fast, s.mean AS slow
  FROM (SELECT symbol, avg(price) AS mean FROM trades [SIZE 10 SECONDS ADVANCE 2 SECONDS]
        MODEL price KEY symbol GROUP BY symbol) f
  JOIN (SELECT symbol, avg(price) AS mean FROM trades [SIZE 30 SECONDS ADVANCE 2 SECONDS]
        MODEL price KEY symbol GROUP BY symbol) s
    ON f.symbol = s.symbol AND f.mean > s.mean
  ERROR WITHIN price 1 %
  SAMPLE EVERY 2 SECONDS;

-- The dearest share of all, as pieces of curves.
SUBSCRIBE dearest TO
  SELECT max(price) AS top, starts, ends FROM trades MODEL price KEY symbol ERROR WITHIN 1 %;

EXPLAIN SUBSCRIPTION rising;
