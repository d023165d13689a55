-- A made-up coast: orders tell which targets which units have in range, while both move.
-- From the repository's root:
--
--   penstock run examples/coast_guard.sql --print submarines   until Ctrl-C
--   penstock run examples/coast_guard.sql --once --record      two loads and some moves, then end
--   penstock verify examples/coast_guard.sql                   was every change right?
--   penstock explain examples/coast_guard.sql                  how is each join processed?

-- Positions are kilometres along the coast. A move is an update_before and an update_after.
CREATE TABLE units FROM 'coast_guard:units'
  OPTIONS (changes = 'op', stock = 400, rows_per_second = 40, rows_per_batch = 500, pace = TRUE);

CREATE TABLE targets FROM 'coast_guard:targets'
  OPTIONS (changes = 'op', stock = 600, rows_per_second = 200, rows_per_batch = 1000, pace = TRUE);

-- Band joins: a firing range for each order, a class of units and a kind of targets. A target that
-- sails out of range takes its row away.
SUBSCRIBE orders TO
  SELECT u.id AS unit, t.id AS target, t.position - u.position AS distance
  FROM units u JOIN targets t ON t.position - u.position BETWEEN :lo AND :hi
  WHERE u.class = :class AND t.kind = :kind
  FOR EACH ROW OF 'examples/orders.csv' KEY name;

-- One order by hand: fast submarines near a helicopter.
SUBSCRIBE submarines TO
  SELECT u.id AS unit, t.id AS target, u.position AS place, t.position - u.position AS distance
  FROM units u JOIN targets t ON t.position - u.position BETWEEN -0.5 AND 0.5
  WHERE u.class = 'helicopter' AND t.kind = 'submarine' AND t.speed > 30;
