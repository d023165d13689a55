-- A made-up marketplace: merchants hear when something on offer meets something wanted.
-- From the repository's root:
--
--   penstock run examples/marketplace.sql --print copper       until Ctrl-C
--   penstock run examples/marketplace.sql --once --record      two loads and some changes, then end
--   penstock verify examples/marketplace.sql                   was every change right?
--   penstock explain examples/marketplace.sql                  how is each join processed?

-- Tables: the column `op` says insert, delete, update_before or update_after.
CREATE TABLE supply FROM 'marketplace:supply'
  OPTIONS (changes = 'op', stock = 2000, rows_per_second = 400, rows_per_batch = 4000, pace = TRUE);

CREATE TABLE demand FROM 'marketplace:demand'
  OPTIONS (changes = 'op', stock = 2000, rows_per_second = 200, rows_per_batch = 3000, pace = TRUE);

-- One standing join for each merchant: which quantities on offer, which quantities wanted. They
-- share one group; ranges with a point in common are handled together.
SUBSCRIBE deals TO
  SELECT s.product, s.merchant AS seller, s.quantity AS offered, d.merchant AS buyer,
         d.quantity AS wanted
  FROM supply s JOIN demand d ON s.product = d.product
  WHERE s.quantity BETWEEN :s_lo AND :s_hi AND d.quantity BETWEEN :d_lo AND :d_hi
  FOR EACH ROW OF 'examples/merchants.csv' KEY merchant;

-- The same question, but only: who is affected? One row for each merchant and change.
SUBSCRIBE affected TO
  SELECT * FROM supply s JOIN demand d ON s.product = d.product
  WHERE s.quantity BETWEEN :s_lo AND :s_hi AND d.quantity BETWEEN :d_lo AND :d_hi
  FOR EACH ROW OF 'examples/merchants.csv' KEY merchant
  OPTIONS (mode = 'identify');

-- What the two sides say of each other is checked on what the index leaves.
SUBSCRIBE copper TO
  SELECT s.merchant AS seller, d.merchant AS buyer, s.quantity AS offered,
         round(d.price - s.price, 2) AS margin
  FROM supply s JOIN demand d ON s.product = d.product
  WHERE s.product = 'copper' AND s.quantity >= 250 AND d.quantity >= 400 AND s.price < d.price;
