-- Real aircraft: who comes within five nautical miles of whom above Paris, now and within the next
-- two minutes? The positions were received on an afternoon in October 2021. They come with another
-- package, once: pip install --no-deps traffic. From the repository's root:
--
--   penstock run examples/airspace.sql --print near      until Ctrl-C, a minute of them every second
--   penstock run examples/airspace.sql --once --record   ten minutes of the airspace, then end
--   penstock verify examples/airspace.sql                was every answer within its bound?
--   penstock plot airspace-home near                     the pair that was told most about

-- Metres east and north of the middle, metres per second by ground speed and track.
CREATE STREAM positions FROM 'aircraft:positions'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rows = 15000, rows_per_batch = 3000,
           rows_per_second = 1600, pace = TRUE);

-- Five nautical miles are 9260 metres. A row that is within 100 metres of where its aircraft was
-- expected is dropped: nothing is computed of it. How high they fly is not asked.
SUBSCRIBE near TO
  SELECT a.aircraft, b.aircraft AS other, starts, ends, status
  FROM positions a MODEL x = x + vx * t, y = y + vy * t KEY aircraft
  JOIN positions b MODEL x = x + vx * t, y = y + vy * t KEY aircraft
    ON a.aircraft <> b.aircraft
    AND sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2)) < 9260
  ERROR WITHIN 100
  HORIZON 2 MINUTES;

-- Who descends through 3,000 metres, or will within a minute?
SUBSCRIBE low TO
  SELECT aircraft, starts, ends, altitude, status
  FROM positions MODEL altitude = altitude + climb * t KEY aircraft
  WHERE altitude < 3000 AND climb < 0
  ERROR WITHIN 50
  HORIZON 1 MINUTE;

EXPLAIN SUBSCRIPTION near;
