EXPLAIN SELECT MIN(price) AS low FROM supply WHERE id BETWEEN 3 AND 9
--> SELECT MIN(price) AS low FROM supply WHERE id BETWEEN 3 AND 9
-->   group      range_aggregate-… (range_aggregate on supply; a new group)
-->   tells      each query its old and its new value
-->   ranges of  id
-->   trees for  min(price)
-->   ranges     1

SUBSCRIBE lowest TO SELECT MIN(price) AS low, COUNT(*) AS n FROM supply WHERE id >= 3 AND product = 'tea' AND price > 1 WITH SNAPSHOT; EXPLAIN SUBSCRIPTION lowest
--> SELECT MIN(price) AS low, COUNT(*) AS n FROM supply WHERE id >= 3 AND product = 'tea' AND price > 1
-->   group          range_aggregate-… (range_aggregate on supply; grouped with 1 standing query)
-->   tells          each query its old and its new value
-->   ranges of      id
-->   partitioned by product
-->   rows with      price > 1
-->   trees for      min(price)
-->   sums for       count(*)
-->   ranges         1

EXPLAIN SELECT COUNT(DISTINCT price), SUM(price) FROM supply WHERE id < 4
--> SELECT COUNT(DISTINCT price), SUM(price) FROM supply WHERE id < 4
-->   group      range_aggregate-… (range_aggregate on supply; a new group)
-->   tells      each query its old and its new value
-->   ranges of  id
-->   trees for  count(distinct price)
-->   sums for   sum(price)
-->   ranges     1

EXPLAIN SELECT MIN(price) FROM supply WHERE id BETWEEN :lo AND :hi AND product = :product AS MESSAGES
--> SELECT MIN(price) FROM supply WHERE id BETWEEN :lo AND :hi AND product = :product
-->   group          range_aggregate-… (range_aggregate on supply; a new group)
-->   tells          how all ranges change, whoever asks
-->   ranges of      id
-->   partitioned by product
-->   trees for      min(price)
