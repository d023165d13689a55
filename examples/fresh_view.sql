-- A made-up marketplace: what is the cheapest offer of every product, fresh whenever somebody asks?
-- From the repository's root:
--
--   penstock run examples/fresh_view.sql --print cheap           until Ctrl-C
--   penstock query fresh_view-home "SELECT * FROM cheapest ORDER BY low" --fresh
--   penstock run examples/fresh_view.sql --once --record         two loads and some changes, then end
--   penstock verify examples/fresh_view.sql                      was every change right?
--   penstock explain examples/fresh_view.sql                     what do flushes cost, when are they due?

CREATE TABLE supply FROM 'marketplace:supply'
  OPTIONS (changes = 'op', stock = 2000, rows_per_second = 400, rows_per_batch = 4000, pace = TRUE);

CREATE TABLE demand FROM 'marketplace:demand'
  OPTIONS (changes = 'op', stock = 2000, rows_per_second = 200, rows_per_batch = 3000, pace = TRUE);

-- Whoever asks has it within a second. Until then changes may wait, each table's as long as it pays.
CREATE VIEW cheapest REFRESH WITHIN 1 SECOND AS
  SELECT s.product, min(s.price) AS low, max(d.price) AS high, count(*) AS pairs
  FROM supply s JOIN demand d ON s.product = d.product
  GROUP BY s.product;

-- A view is a relation: standing queries are told how its rows come and go.
SUBSCRIBE cheap TO SELECT product, low, high FROM cheapest WHERE low < 20;

-- And another view may read it.
CREATE VIEW spread REFRESH WITHIN 1 SECOND AS
  SELECT count(*) AS products, max(high - low) AS widest FROM cheapest;

EXPLAIN VIEW cheapest WHAT IF (bound = '100 milliseconds');
