-- A made-up marketplace: every client hears when the lowest price of lots of its sizes changes.
-- From the repository's root:
--
--   penstock run examples/offers.sql --print copper       until Ctrl-C
--   penstock run examples/offers.sql --once --record      a load and some changes, then end
--   penstock verify examples/offers.sql                   was every value right, after every batch?
--   penstock explain examples/offers.sql                  what is kept, and for whom?

CREATE TABLE offers FROM 'marketplace:supply'
  OPTIONS (changes = 'op', stock = 2000, rows_per_second = 400, rows_per_batch = 4000, pace = TRUE);

-- Each client has a range of sizes and a product: one group keeps the offers once for all of them.
SUBSCRIBE lowest TO
  SELECT MIN(price) AS low, COUNT(*) AS offers FROM offers
  WHERE quantity BETWEEN :lo AND :hi AND product = :product
  FOR EACH ROW OF 'examples/clients.csv' WITH SNAPSHOT;

-- Somebody who looks at one product only, whatever the largest lots may be.
SUBSCRIBE copper TO
  SELECT MIN(price) AS low, MAX(price) AS high, AVG(price) AS mean FROM offers
  WHERE quantity >= 20 AND product = 'copper';

-- The same for all clients there may ever be: how the lowest price of every range of sizes changes,
-- in about two rows for a change of an offer.
SUBSCRIBE lows TO
  SELECT MIN(price) AS low FROM offers
  WHERE quantity BETWEEN :lo AND :hi AND product = :product
  AS MESSAGES;
