SELECT * FROM trades WHERE price BETWEEN :lo AND :hi AND symbol = :SYM
--> branch: symbol in ['sym']; price >= lo <= hi
--> parameter lo: double
--> parameter hi: double
--> parameter sym: string
--> where: e.".price" BETWEEN p.".lo" AND p.".hi" AND e.".symbol" = p.".sym"

SELECT * FROM trades WHERE size > :n
--> branch: size > n
--> parameter n: int32
--> where: e.".size" > p.".n"

SELECT * FROM trades WHERE ts > :since
--> branch: ts > since
--> parameter since: timestamp[us, tz=UTC]
--> where: e.".ts" > p.".since"

SELECT * FROM trades WHERE day > :since
--> branch: day > since
--> parameter since: date32[day]
--> where: e.".day" > p.".since"

SELECT * FROM trades WHERE price > :lo * 2
--> branch: [c0 > r0 * 2] of ['price'], ['lo']
--> parameter lo: double
--> where: e.".price" > p.".lo" * 2

SELECT * FROM trades WHERE (:sym IS NULL OR symbol = :sym)
--> branch: [r0 IS NULL] of [], ['sym']
--> branch: symbol in ['sym']
--> parameter sym: string
--> where: (p.".sym" IS NULL OR e.".symbol" = p.".sym")

SELECT * FROM trades WHERE price > :lo AND size < :lo
--> branch: price > lo; [c0 < r0] of ['size'], ['lo']
--> parameter lo: double
--> where: e.".price" > p.".lo" AND e.".size" < p.".lo"

SELECT * FROM trades WHERE symbol IN ('a', :sym)
--> branch: symbol in ['$0', 'sym']
--> parameter sym: string
--> parameter $0: string = 'a'
--> where: e.".symbol" IN ('a', p.".sym")

SELECT * FROM trades WHERE price <> :lo
--> branch: price < lo
--> branch: price > lo
--> parameter lo: double
--> where: e.".price" <> p.".lo"
