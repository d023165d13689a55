"""What a kind is: one value for everything that the house knows of a capability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.logical import Logical
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.expressions.conditions import tried
from penstock.kinds.budgets import Budget
from penstock.kinds.kept_views import KeptView
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.kinds.pictures import Picture, Shown
from penstock.kinds.recorded import RecordedShelf
from penstock.kinds.run_figures import GroupFigures
from penstock.kinds.sweeps import Sweep, SweepOutcome
from penstock.kinds.watch import House, Watch
from penstock.language.queries import Query
from penstock.language.select_lists import SelectList, select_list
from penstock.language.snapshots import nothing_to_show
from penstock.operators.catalogue import OPERATORS
from penstock.planning.explanation import Explanation
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.findings import Finding
from penstock.vocabulary.shared_figures import ROWS_BUDGET

Progress = Callable[[str, int, int], None]
"""Called with a subscription, how many of its pieces are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerComparison:
    """One text's answers, to be compared with what DuckDB makes of the recorded input.

    `parameters` are its standing queries with the batches [_first, _last) in which they held;
    `versions` are those that the batches ran under. What many texts read stays on the `shelf`.
    """

    answer: SubscriptionOutcome
    registry: Registry
    log: ResultLog
    group: str
    logical: Any
    parameters: pa.Table
    batches: list[LoggedBatch]
    versions: Ints
    progress: Progress
    shelf: RecordedShelf


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptQuery:
    """A standing query whose relation somebody reads, and how its operator is asked.

    `ask` asks the live operator between two batches, and gives None where there is none; `beat`
    brings a batch, so that others learn of what changed. `rests` says why it is suspended, if so;
    `kept` gives a relation that it reads as readers see it, or None: it is none that a query keeps.
    """

    name: str
    group: str
    step: Any
    query: int
    home: Path
    rests: Callable[[], str | None]
    ask: Callable[[Callable[[Any], Any]], Any]
    beat: Callable[[], None]
    met: Callable[[], Tally]
    kept: Callable[[str], KeptView | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftQuery:
    """A standing query as the last run left it, for whoever examines its home.

    `state` is the newest that its operator wrote, where that is known: on the embedded host. A
    query that `has_run` was in force in a batch, and did not rest in the last.
    """

    name: str
    step: Any
    query: int
    state: bytes | None
    has_run: bool


class Kind(ABC):
    """One capability: a kind of standing query, from its words to its figures.

    Everything above the operators asks it, and nothing else about it. What a kind leaves out has
    a default; what it must say is abstract.
    """

    name: str
    """One word, the same in code, SQL, errors and documents."""
    operators: tuple[str, ...]
    """The kinds of steps that its groups run, as `penstock.operators.catalogue` names them."""
    feeders: tuple[str, ...] = ()
    """The kinds of steps that make what its groups read. They have no queries."""
    budget: Budget | None = None
    """What it says of the budgets of rows of its groups, if these have one."""

    @abstractmethod
    def claims(self, query: Query) -> bool:
        """Say whether a query is of this kind. Kinds are asked in the order of their table."""

    @abstractmethod
    def bind(self, query: Query) -> Logical:
        """Say what a claimed query asks."""

    def with_snapshot(self, logical: Any, catalog: Catalog) -> Logical:  # noqa: ARG002
        """Let a query begin with what its tables hold; refuse one that has none."""
        raise nothing_to_show("the query reads streams, and what came of them is not kept")

    @abstractmethod
    def verify(self, asked: AnswerComparison) -> None:
        """Compare the log of one text with DuckDB, and note in its outcome how they differ."""

    def watch(self, house: House) -> Watch:
        """Begin to watch over a home's groups of this kind."""
        return Watch(house)

    def relation(self, logical: Any) -> Relation | None:  # noqa: ARG002
        """Give the relation that a query keeps for others to read, if it keeps one."""
        return None

    def kept(self, asked: KeptQuery) -> KeptView:
        """Give the relation that a query keeps to those who read it."""
        raise PenstockError(
            "VIEW-062",
            f"{asked.name!r} is no view: nobody keeps its rows.",
            "Read its changes, or create a view: CREATE VIEW … REFRESH WITHIN … AS SELECT ….",
        )

    def tidy(self, home: Path, standing: Iterator[tuple[Any, int]]) -> None:
        """Take away what queries have left in a home; `standing` are the steps of those that stand.

        Each step comes with the number of its newest query. Nothing asks for the others any more.
        """
        del home, standing

    def reclaim(self, home: Path, standing: Iterator[tuple[Any, int]]) -> None:
        """Take away what queries have left outside their home, as `tidy` does within.

        This is done beside a run too, and again if it fails.
        """
        del home, standing

    def make_way(self, home: Path, step: Any, standing: Iterator[tuple[Any, int]] | None) -> None:
        """Free the place that a new step needs, or refuse it.

        `standing` is None while batches may still ask for what is there.
        """
        del home, step, standing

    def examine(self, home: Path, left: LeftQuery) -> tuple[Path, str] | None:
        """Say which file that a query keeps in its home is damaged, and how; None if none is."""
        del home, left
        return None

    def inspect(self, home: Path) -> Iterator[tuple[Finding, str]]:
        """Say which files that are of no standing query are damaged, each with a remedy."""
        del home
        yield from ()

    def waiting(self, described: Mapping[str, Any]) -> int | None:  # noqa: ARG002
        """Say how many rows may wait in a group for their turn; None: none ever does."""
        return None

    def facts(
        self,
        step: Any,
        entries: Mapping[str, pa.Table],
        catalog: Catalog,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Say how a group is processed, as it is now: `branches`, and facts of the whole."""
        return OPERATORS[step.kind].explain(step, entries)

    def run_figures(self, told: Tally) -> GroupFigures | None:
        """Say what a group did in a run, for EXPLAIN and dashboards; None before it did anything.

        A group with a budget tells how that is used.
        """
        if self.budget is None or ROWS_BUDGET not in told:
            return None
        return self.budget.figures(told)

    def board(self, told: Tally) -> Mapping[str, str]:  # noqa: ARG002
        """Give lines for the display of a run, by what they are of; `told` are all groups."""
        return {}

    def summary(self, told: Tally, operators_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """Say at the end of a run what all groups of the kind did."""
        return ()

    def drawing(self, explanation: Explanation) -> str | None:  # noqa: ARG002
        """Draw an explained query as SVG, if there is something to draw."""
        return None

    def sweep(self, asked: Sweep) -> SweepOutcome:
        """Ask a query in many combinations of rows that have come; by default it is refused."""
        raise PenstockError(
            "SWP-001",
            f"{asked.subscription!r} is no query that can be swept: it is told of rows, and keeps "
            "nothing that many values could be asked of.",
            "Sweep a model query (SELECT … FROM … MODEL …), or register the values as rows of "
            "FOR EACH.",
        )

    def picture(self, asked: AnswerComparison, shown: Shown) -> Picture:
        """Show what was recorded and told of one text over time; by default there is nothing."""
        del shown
        raise PenstockError(
            "PLT-001",
            f"{asked.answer.subscription!r} is no query that could be drawn over time.",
            "Draw a model query (SELECT … FROM … MODEL …), or a plan: penstock explain --draw.",
        )

    def trying(self, logical: Any) -> Any:  # every logical node is a dataclass of its own
        """Give a query whose condition is neither true nor false of a row that it fails on."""
        return replace(logical, where_sql=tried(logical.where_sql))

    def select_list(self, sql: str, logical: Logical, catalog: Catalog) -> SelectList:  # noqa: ARG002
        """Give the SELECT list in its user's words, for DuckDB to evaluate over made rows."""
        return select_list(sql, catalog)
