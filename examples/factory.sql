-- A made-up factory: which alarms, jobs and readings belong together? A join of three streams, and
-- the verdict on it before it starts. From the repository's root:
--
--   penstock explain examples/factory.sql                  does it keep up? and if it were faster?
--   penstock run examples/factory.sql --print overheated   until Ctrl-C
--   penstock run examples/factory.sql --once --record      half a minute of the factory, then end
--   penstock verify examples/factory.sql                   was every row right?

-- `rate` is in rows per second; `distinct_line = 2` says that there are two lines. The planner
-- believes both until it has measured. No row comes late, so nothing is waited for.
CREATE STREAM alarms FROM 'factory:alarms'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rate = 10, distinct_line = 2,
           rows_per_batch = 300, pace = TRUE);

CREATE STREAM jobs FROM 'factory:jobs'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rate = 20, distinct_line = 2,
           distinct_machine = 5, rows_per_batch = 600, pace = TRUE);

CREATE STREAM readings FROM 'factory:readings'
  OPTIONS (event_time = 'ts', lateness = '0 seconds', rate = 70, distinct_machine = 5,
           rows_per_batch = 2100, pace = TRUE);

-- The last ten rows of each stream, whatever the time: about a thousand rows a second.
SUBSCRIBE together TO
  SELECT a.alarm_id, j.job_id, r.reading_id, r.temperature
  FROM alarms a [ROWS 10], jobs j [ROWS 10], readings r [ROWS 10]
  WHERE a.line = j.line AND j.machine = r.machine;

-- Windows of time, and only what is serious. With ADAPT the order of joins follows what is measured.
SUBSCRIBE overheated TO
  SELECT a.ts, a.line, j.machine, j.job_id, r.temperature
  FROM alarms a [RANGE 2 SECONDS], jobs j [RANGE 2 SECONDS], readings r [RANGE 1 SECOND]
  WHERE a.line = j.line AND j.machine = r.machine AND a.severity = 5 AND r.temperature > 82
  ADAPT;

EXPLAIN SUBSCRIPTION together;

-- If every row took five milliseconds at every join, no order of joins would keep up: which rows
-- would be dropped, and what would remain?
EXPLAIN SUBSCRIPTION together WHAT IF (cost = 5 MILLISECONDS, headroom = 0);

-- A hundred times the readings, windows of a hundred jobs, on two processors.
EXPLAIN SUBSCRIPTION together
  WHAT IF (rate(r) = 7000/s, window(j) = 100, cores = 2);
