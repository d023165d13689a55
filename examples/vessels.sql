-- A made-up harbour: which vessels will come close to each other, and when? Positions are functions
-- of time, so the answer comes before the vessels do. From the repository's root:
--
--   penstock run examples/vessels.sql --print close      until Ctrl-C
--   penstock run examples/vessels.sql --once --record    a minute and a half of the harbour, then end
--   penstock verify examples/vessels.sql                 was every answer within its bound?
--   penstock explain examples/vessels.sql                which equations are solved, how near are models?

-- Twenty vessels tell in turn, once a second each, where they are (metres) and how they move.
CREATE STREAM positions FROM 'harbour:positions'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rate = 20, distinct_vessel = 20,
           rows_per_batch = 1800, pace = TRUE);

-- Pairs within a kilometre, now or in the next two minutes, if both go on as they do. A row that is
-- at most 20 metres from where its vessel was expected is dropped: nothing is computed of it.
-- `status` is expected until the time comes; what turns out otherwise is taken back.
SUBSCRIBE close TO
  SELECT a.vessel, b.vessel AS other, starts, ends, status
  FROM positions a MODEL x = x + vx * t MODEL y = y + vy * t KEY vessel
  JOIN positions b MODEL x = x + vx * t MODEL y = y + vy * t KEY vessel
    ON a.vessel <> b.vessel
    AND (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) < 1000000
  ERROR WITHIN 20
  HORIZON 120 SECONDS;

-- A line in the water for each keeper: when does whom cross it?
SUBSCRIBE lines TO
  SELECT vessel, starts, ends, x, status
  FROM positions MODEL x = x + vx * t KEY vessel
  WHERE x > :line
  ERROR WITHIN 20
  HORIZON 60 SECONDS
  FOR EACH ROW OF 'examples/lines.csv' KEY keeper;

EXPLAIN SUBSCRIPTION close;
EXPLAIN SUBSCRIPTION lines;
