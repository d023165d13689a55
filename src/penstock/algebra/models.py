"""Model queries: what a standing query asks of streams whose attributes are functions of time.

A *model* is a polynomial of time; a *segment* is a model with its time range. A plan is a tree of
stages over segments: sources make segments of rows, the others take segments and give segments.
Stages speak of the attributes of their input by position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import ALONE, Division, Typed
from penstock.vocabulary.codec import OMITTED, Node

DEGREE_MAX = 8
"""The highest power of time that a model may have."""

Comparator = Literal["<", "<=", "=", "<>", ">=", ">"]
FitMethod = Literal["sliding", "bottom_up", "swab"]
SplitMethod = Literal["equi", "gradient"]
BoundForm = Literal["absolute", "relative"]
Fidelity = Literal["literal", "repaired"]
ModelFunction = Literal["sqrt", "abs", "ratio"]
EnvelopeFunction = Literal["min", "max"]
WindowFunction = Literal["min", "max", "sum", "avg"]
GapRule = Literal["hold", "zero", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Monomial(Node):
    """A number times powers of attributes, which stand by position: `factor · Π aᵢ^powers[i]`."""

    FORM = "row"
    factor: float
    powers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Polynomial(Node):
    """A sum of monomials over the attributes of a stage's input, sorted by their powers.

    Equal polynomials are equal nodes: every powers once, no factor of zero.
    """

    FORM = "bare"
    terms: tuple[Monomial, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison(Node):
    """`polynomial comparator 0`, or `polynomial comparator :parameter`, a number of each query.

    With `squared` the number n of the query stands for n·|n|: `sqrt(p) < n` says `p < n·|n|` where
    p is not below zero, also for an n below zero, and `abs(p) > n` says `p·p > n·|n|`.
    """

    polynomial: Polynomial
    comparator: Comparator
    parameter: str | None = None
    squared: bool = field(default=False, metadata=OMITTED)
    kind: Literal["comparison"] = "comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNegation(Node):
    """NOT."""

    term: ModelCondition
    kind: Literal["not"] = "not"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConjunction(Node):
    """AND; without terms it always holds."""

    terms: tuple[ModelCondition, ...]
    kind: Literal["and"] = "and"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDisjunction(Node):
    """OR."""

    terms: tuple[ModelCondition, ...]
    kind: Literal["or"] = "or"


ModelCondition = ModelComparison | ModelNegation | ModelConjunction | ModelDisjunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit(Node):
    """How models are fitted to observed values.

    `error` is the largest residual that a fitted model may have: given in the text, or, None, the
    bound of the input that the query's own bound allows.
    """

    method: FitMethod = "sliding"
    degree: int = 1
    error: float | None = None
    buffer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledAttribute(Node):
    """An attribute that is a function of time.

    `observed` is the column that rows are held against. A symbolic model has `coefficients`: DuckDB
    expressions over `c0`, `c1`, … (the source's columns), one for each power of the seconds since
    the row's event time. A fitted one has a `fit` instead.
    """

    name: str
    observed: str
    coefficients: tuple[str, ...] = ()
    fit: Fit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource(Node):
    """Rows of a stream, made into segments, key by key.

    A segment holds from its row's event time on: for `horizon_us`, or until a row comes that is too
    far from it. `carried` are columns beside the key that are constant during a segment: where one
    changes, a new segment begins. `condition` chooses rows by columns that are no function of time:
    a DuckDB expression over `c0`, `c1`, ….
    """

    relation: str
    event_time: str
    key: Typed = ()
    attributes: tuple[ModelledAttribute, ...]
    columns: tuple[str, ...] = ()
    """The columns that coefficients and the condition speak of, as `c0`, `c1`, …."""
    carried: Typed = ()
    condition: str | None = None
    horizon_us: int
    horizon_min_us: int | None = field(default=None, metadata=OMITTED)
    """With it, the horizon adapts between this and `horizon_us`."""
    lateness_us: int = field(default=0, metadata=OMITTED)
    """How far behind the newest row of the stream others may come."""
    kind: Literal["source"] = "source"

    @property
    def made_key(self) -> Typed:
        """The key columns of its segments: its own, then what is carried."""
        return (*self.key, *self.carried)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFilter(Node):
    """Segments, restricted to when a condition holds."""

    input: ModelStage
    condition: ModelCondition
    kind: Literal["filter"] = "filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJoin(Node):
    """Pairs of segments while both hold and the condition does; the left one's attributes first.

    The key of a pair is the left one's key columns, then the right one's. `equal` and `unequal` are
    pairs of positions among the key columns of the left and of the right.
    """

    left: ModelStage
    right: ModelStage
    condition: ModelCondition
    equal: tuple[tuple[int, int], ...] = ()
    unequal: tuple[tuple[int, int], ...] = ()
    window_us: int | None = None
    kind: Literal["join"] = "join"


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedAttribute(Node):
    """A polynomial over attributes, or a function of one: then models only come near to it.

    A ratio is `polynomial / divisor`. `tolerance` is how near.
    """

    name: str
    polynomial: Polynomial
    function: ModelFunction | None = None
    divisor: Polynomial | None = None
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMap(Node):
    """Segments with other attributes; `key` are the positions of key columns that stay."""

    input: ModelStage
    attributes: tuple[MappedAttribute, ...]
    key: tuple[int, ...]
    kind: Literal["map"] = "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEnvelope(Node):
    """The least or the greatest of an attribute over all keys of a group, at every instant.

    `group` are positions of key columns.
    """

    input: ModelStage
    function: EnvelopeFunction
    attribute: int
    name: str
    group: tuple[int, ...] = ()
    kind: Literal["envelope"] = "envelope"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWindow(Node):
    """An aggregate of an attribute over a sliding window of time, as a function of its end.

    Over several keys of a group, min and max are of their envelope, sum of their sum, avg of their
    mean. `gap` says what a window holds where there is no model.
    """

    input: ModelStage
    function: WindowFunction
    attribute: int
    name: str
    size_us: int
    slide_us: int
    group: tuple[int, ...] = ()
    gap: GapRule = "hold"
    kind: Literal["window"] = "window"


ModelStage = ModelSource | ModelFilter | ModelJoin | ModelMap | ModelEnvelope | ModelWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound(Node):
    """How far an output may be from what rows would give; `attribute` None: every output."""

    amount: float
    form: BoundForm = "absolute"
    attribute: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitShare(Node):
    """How large the part of a bound is that an attribute of a source has, beside others."""

    attribute: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold(Node):
    """The comparisons that differ from query to query: an attribute of the plan's output, or none.

    Each query asks for `key = its values` (positions of key columns) and `polynomial comparator
    its number`.
    """

    key: tuple[int, ...] = ()
    comparisons: tuple[ModelComparison, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQueryStep(Node):
    """All model queries of one shape: a plan that they share, and what each asks of its output.

    Rows that it makes are segments (`starts`, `ends` and, for each attribute, coefficients by
    powers of the seconds since `starts`), or, with `sample_us`, values at its multiples (`at`). The
    port `queries` takes what queries ask by themselves.
    """

    plan: ModelStage
    key: Typed
    """The key columns of the plan's output."""
    attributes: tuple[str, ...]
    """The attributes of the plan's output."""
    asked: Threshold = Threshold()
    bounds: tuple[ErrorBound, ...] = ()
    split: SplitMethod = "equi"
    sample_us: int | None = None
    predicts: bool = False
    """Whether answers are told before their time comes, and then confirmed or withdrawn."""
    fidelity: Fidelity = "repaired"
    untold: tuple[int, ...] = field(default=(), metadata=OMITTED)
    """The attributes that no query of the shape tells, by position, where all bounds have names."""
    shares: tuple[SplitShare, ...] = field(default=(), metadata=OMITTED)
    """How bounds are divided by the text itself, if it says so: whatever is not named has 1."""
    reads: tuple[str, ...] = field(default=(), metadata=OMITTED)
    """The group of the model stream that makes its segments; none: it reads rows itself."""
    kind: str = "model_query"

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """The sources of the plan, from left to right."""
        return tuple(each for each in stages(self.plan) if isinstance(each, ModelSource))

    @property
    def relations(self) -> tuple[str, ...]:
        """The streams, each once."""
        return tuple(dict.fromkeys(each.relation for each in self.sources))

    @property
    def division(self) -> Division:
        """Every shard sees all rows and takes the keys that are its own, or one does everything.

        What is late, and which predictions have come true, is decided by the newest row of all,
        whatever its key. Where segments of different keys meet, one shard has them all.
        """
        if not self.shard_key:
            return (ALONE,)
        return tuple((relation, ()) for relation in self.relations)

    @property
    def shard_key(self) -> tuple[str, ...]:
        """The columns by which shards divide the rows; none: keys may meet."""
        (first, *others) = self.sources
        if others or any(_mixes(each) for each in stages(self.plan)):
            return ()
        return tuple(name for name, _ in first.key)

    @property
    def made(self) -> Typed:
        """Key, time and models, or values."""
        time = pa.timestamp("us", tz="UTC")
        if self.sample_us is not None:
            own: Typed = (("at", time), *((name, pa.float64()) for name in self.attributes))
        else:
            curves = tuple((name, pa.list_(pa.float64())) for name in self.attributes)
            own = (("starts", time), ("ends", time), *curves)
        state: Typed = (("status", pa.string()),) if self.predicts else ()
        return (*self.key, *own, *state)


def stages(plan: ModelStage) -> Iterator[ModelStage]:
    """Give all stages of a plan, inputs before what reads them."""
    if isinstance(plan, ModelJoin):
        yield from stages(plan.left)
        yield from stages(plan.right)
    elif not isinstance(plan, ModelSource):
        yield from stages(plan.input)
    yield plan


def _mixes(stage: ModelStage) -> bool:
    """Say whether a stage lets segments of different keys meet."""
    if isinstance(stage, ModelEnvelope | ModelWindow):
        source = next(each for each in stages(stage) if isinstance(each, ModelSource))
        return len(stage.group) < len(source.key)
    return isinstance(stage, ModelJoin)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingModelQuery:
    """`SELECT … FROM stream MODEL … WHERE … ERROR WITHIN …`, as one standing query asks it."""

    shape: ModelQueryStep
    outputs: tuple[Output, ...]
    parameters: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    key_parameters: tuple[str, ...] = ()
    """The parameters that the key columns of `shape.asked.key` equal."""
    number_parameters: tuple[str, ...] = ()
    """The parameters that `shape.asked.comparisons` compare with."""
    where_sql: str = "TRUE"

    @property
    def relations(self) -> tuple[str, ...]:
        """The streams that the query reads."""
        return self.shape.relations

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return tuple(name for name in self.parameters if name not in self.constants)

    def step(self) -> ModelQueryStep:
        """Give the step that all queries of its shape share."""
        return self.shape
