EXPLAIN SELECT s.id FROM supply s JOIN demand d ON s.price - d.price BETWEEN -1 AND 2
--> SELECT s.id FROM supply s JOIN demand d ON s.price - d.price BETWEEN -1 AND 2
-->   group            band_join-… (band_join on demand, supply; a new group)
-->   class            band join
-->   mode             full
-->   band             supply.price - demand.price
-->   default plan     dynamic
-->   stabbing number  both 1
-->   hot groups       both 1
-->   hotspot coverage both 100.0 %

EXPLAIN SELECT s.id FROM supply s JOIN demand d ON s.price - d.price BETWEEN -1 AND 2 OPTIONS (strategy = 'merge')
--> SELECT s.id FROM supply s JOIN demand d ON s.price - d.price BETWEEN -1 AND 2
-->   group            band_join-… (band_join on demand, supply; a new group)
-->   class            band join
-->   mode             full
-->   band             supply.price - demand.price
-->   default plan     merge
-->   stabbing number  both 1
-->   hot groups       both 1
-->   hotspot coverage both 100.0 %
