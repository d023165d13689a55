EXPLAIN SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10], readings r [RANGE 1 SECOND] WHERE a.line = j.line AND j.machine = r.machine
--> SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10], readings r [RANGE 1 SECOND] WHERE a.line = j.line AND j.machine = r.machine
--> ABUNDANT: every order keeps up; the chosen one needs 0.18 % of one processor, and 80 % may be used.
-->
--> (a ⋈ j) ⋈ r  in 200 + 1,000/s    out 2,010/s  state 1 + 1,000 rows (24 kB)  busy 0.012 %  hash + hash
--> ├ a ⋈ j      in 1,000 + 1,000/s  out 200/s    state 10 + 10 rows (480 B)    busy 0.011 %  hash + hash
--> │ ├ a        1,000/s [assumed]  ROWS 10                pass 100 %
--> │ └ j        1,000/s [assumed]  ROWS 10                pass 100 %
--> └ r          1,000/s [assumed]  RANGE 1 s, 1,000 rows  pass 100 %
-->
-->   group      multi_join-… (a new group)
-->   resources  1 processor, headroom 20 %: up to 80 % may be busy
-->   demand     busy 0.18 % (rows that come 0.02 %, results 0.0078 %), 1,021 rows (24.5 kB), 2,010 results/s
-->   matches    a.line = j.line: 1 % of pairs [assumed]
-->   matches    j.machine = r.machine: 1 % of pairs [assumed]
-->   runner-up  (j ⋈ r) ⋈ a: busy 0.24 %, 1,120 rows
-->   runner-up  (a × r) ⋈ j: busy 7 %, 11,020 rows
-->   time for   a ⋈ j 48.2 %, (a ⋈ j) ⋈ r 51.8 %
-->   costs      built-in

SUBSCRIBE together TO SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10], readings r [RANGE 1 SECOND] WHERE a.line = j.line AND j.machine = r.machine;
EXPLAIN SUBSCRIPTION together WHAT IF (rate(a) = 10/s, rate(j) = 20/s, rate(r) = 500/s, cores = 4)
--> SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10], readings r [RANGE 1 SECOND] WHERE a.line = j.line AND j.machine = r.machine
--> ABUNDANT: every order keeps up; the chosen one needs 0.14 % of one processor, and 320 % may be used.
-->
--> (j ⋈ r) ⋈ a  in 150 + 10/s  out 20/s   state 50 + 10 rows (2.2 kB)    busy < 0.001 %  hash + hash
--> ├ j ⋈ r      in 20 + 500/s  out 150/s  state 10 + 500 rows (12.2 kB)  busy 0.0028 %   hash + hash
--> │ ├ j        20/s [what if]   ROWS 10              pass 100 %
--> │ └ r        500/s [what if]  RANGE 1 s, 500 rows  pass 100 %
--> └ a          10/s [what if]   ROWS 10              pass 100 %
-->
-->   group      multi_join-… (with 1 standing query)
-->   what if    rate(a) = 10/s
-->   what if    rate(j) = 20/s
-->   what if    rate(r) = 500/s
-->   what if    cores = 4
-->   resources  4 processors, headroom 20 %: up to 320 % may be busy
-->   demand     busy 0.14 % (rows that come 0.0035 %, results < 0.001 %), 570 rows (14.5 kB), 20 results/s
-->   matches    a.line = j.line: 1 % of pairs [assumed]
-->   matches    j.machine = r.machine: 1 % of pairs [assumed]
-->   runner-up  (a ⋈ j) ⋈ r: busy 0.14 %, 521 rows
-->   runner-up  (a × r) ⋈ j: busy 0.2 %, 5,520 rows
-->   time for   j ⋈ r 75.7 %, (j ⋈ r) ⋈ a 24.3 %
-->   costs      built-in
-->   note       In force is (a ⋈ j) ⋈ r; by these figures (j ⋈ r) ⋈ a would be chosen.

EXPLAIN SUBSCRIPTION together WHAT IF (rate(r) = 8000000/s, cores = 1)
--> SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10], readings r [RANGE 1 SECOND] WHERE a.line = j.line AND j.machine = r.machine
--> INSUFFICIENT: the cheapest order needs 210.7 % of one processor, and 80 % may be used; with 65.8 % of r dropped it gives 34.2 % of the full answer.
-->
--> (a ⋈ j) ⋈ r  in 200 + 8,000,000/s  out 16,080,000/s  state 1 + 8,000,000 rows (192 MB)  busy 83.8 %   hash + hash
--> ├ a ⋈ j      in 1,000 + 1,000/s    out 200/s         state 10 + 10 rows (480 B)         busy 0.011 %  hash + hash
--> │ ├ a        1,000/s [assumed]      ROWS 10                    pass 100 %
--> │ └ j        1,000/s [assumed]      ROWS 10                    pass 100 %
--> └ r          8,000,000/s [what if]  RANGE 1 s, 8,000,000 rows  pass 34.2 %
-->
-->   group      multi_join-… (with 1 standing query)
-->   what if    rate(r) = 8,000,000/s
-->   what if    cores = 1
-->   resources  1 processor, headroom 20 %: up to 80 % may be busy
-->   demand     busy 210.7 % (rows that come 52.5 %, results 62.2 %), 8,000,021 rows (192 MB), 16,080,000 results/s
-->   matches    a.line = j.line: 1 % of pairs [assumed]
-->   matches    j.machine = r.machine: 1 % of pairs [assumed]
-->   dropped    65.8 % of r (faithful, exhaustive), once it is seen to fall behind
-->   emitted    5,495,339 results/s, 34.2 % as many as without dropping, busy 80 %
-->   found      34.2 % of the full answer is among them, which is 100 % of what is emitted
-->   runner-up  (j ⋈ r) ⋈ a: busy 644.9 %, 8,800,020 rows, would emit 3,745,094/s
-->   runner-up  (a × r) ⋈ j: busy 54,925.6 %, 88,000,020 rows, would emit 316,762/s
-->   time for   a ⋈ j 0.038 %, (a ⋈ j) ⋈ r 100 %
-->   costs      built-in
-->   note       Nothing is dropped unless the run itself is measured to be too slow. Nobody has said or measured rate(a), rate(j), selectivity(a, j), selectivity(j, r): the verdict is a guess.

EXPLAIN SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10] WHERE a.line = j.line OPTIONS (cores = 1)
--> [SQL-070] A multi-way join has no option 'cores'. Did you mean 'order'?
-->   at line 1, column 96
-->   EXPLAIN SELECT a.line FROM alarms a [ROWS 10], jobs j [ROWS 10] WHERE a.line = j.line OPTIONS (cores = 1)
-->                                                                                                  ^
