EXPLAIN SELECT s.id FROM supply s JOIN demand d ON s.product = d.product WHERE s.price BETWEEN 1 AND 5 AND d.price BETWEEN 2 AND 6
--> SELECT s.id FROM supply s JOIN demand d ON s.product = d.product WHERE s.price BETWEEN 1 AND 5 AND d.price BETWEEN 2 AND 6
-->   group            select_join-… (select_join on demand, supply; a new group)
-->   class            select-join
-->   mode             full
-->   keys             demand.product = supply.product
-->   index            demand.price, supply.price
-->   default plan     dynamic
-->   stabbing number  left changes 1, right changes 1
-->   hot groups       left changes 1, right changes 1
-->   hotspot coverage left changes 100.0 %, right changes 100.0 %

SUBSCRIBE near TO SELECT s.id FROM supply s JOIN demand d ON s.product = d.product WHERE s.price BETWEEN 1 AND 5 AND d.price BETWEEN 2 AND 6 OPTIONS (mode = 'identify');
EXPLAIN SUBSCRIPTION near
--> SELECT s.id FROM supply s JOIN demand d ON s.product = d.product WHERE s.price BETWEEN 1 AND 5 AND d.price BETWEEN 2 AND 6
-->   group            select_join-… (select_join on demand, supply; grouped with 1 standing query)
-->   class            select-join
-->   mode             identify
-->   keys             demand.product = supply.product
-->   index            demand.price, supply.price
-->   default plan     dynamic
-->   stabbing number  left changes 1, right changes 1
-->   hot groups       left changes 1, right changes 1
-->   hotspot coverage left changes 100.0 %, right changes 100.0 %

EXPLAIN SELECT s.id FROM supply s JOIN demand d ON s.product = d.product WHERE s.price BETWEEN :lo AND :hi AND d.price < :most AND d.id > 3 AS MESSAGES
--> SELECT s.id FROM supply s JOIN demand d ON s.product = d.product WHERE s.price BETWEEN :lo AND :hi AND d.price < :most AND d.id > 3
-->   group            select_join-… (select_join on demand, supply; a new group)
-->   tells            joined rows that come and go, whoever asks
-->   filters          d.price < :most, :lo <= s.price <= :hi
-->   class            select-join
-->   mode             full
-->   keys             demand.product = supply.product
-->   index            demand.id
-->   default plan     dynamic
-->   stabbing number  left changes 1, right changes 1
-->   hot groups       left changes 1, right changes 1
-->   hotspot coverage left changes 100.0 %, right changes 100.0 %
