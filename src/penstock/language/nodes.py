"""What our own words become in sqlglot's trees."""

from __future__ import annotations

from sqlglot import exp


def arguments(needed: str, others: str = "") -> dict[str, bool]:
    """Say which arguments a node has.

    >>> arguments("this key", "options")
    {'this': True, 'key': True, 'options': False}
    """
    return dict.fromkeys(needed.split(), True) | dict.fromkeys(others.split(), False)


class CreateRelationNode(exp.Expression):
    """`CREATE STREAM | TABLE name (columns) FROM source OPTIONS (…)`."""

    arg_types = arguments("this kind source", "expressions options exists replaces")


class CreateLookupNode(exp.Expression):
    """`CREATE TABLE name (columns) LOOKUP FROM source KEY key CACHE … MODEL … OPTIONS (…)`."""

    arg_types = arguments("this source key cache", "expressions law options exists replaces")


class CreateViewNode(exp.Expression):
    """`CREATE VIEW name REFRESH WITHIN bound unit STORE store AS expression OPTIONS (…)`."""

    arg_types = arguments("this bound unit expression", "store options")


class MemoryNode(exp.Expression):
    """`MEMORY this ROWS SHARED BY shared USING using MODEL expressions`.

    Or CACHE, which nobody shares and whose law stands beside it.
    """

    arg_types = arguments("this", "shared using expressions")


class SharingNode(exp.Expression):
    """A part of SHARED BY, `this (key)`: a relation, maybe with a window, and a column of it."""

    arg_types = arguments("this key")


class LawNode(exp.Expression):
    """`name AS family (expressions)`; the law of a CACHE has no name."""

    arg_types = arguments("family", "this expressions")


class OptionNode(exp.Expression):
    """`key = value` inside OPTIONS."""

    arg_types = arguments("this expression")


class SubscribeNode(exp.Expression):
    """`SUBSCRIBE name TO select [AS MESSAGES] FOR EACH ROW OF each … INTO into`."""

    arg_types = arguments("this expression", "into each key adapt snapshot messages options")


class SinkNode(exp.Expression):
    """`address AS name` inside INTO: where a sink is, and what it is called."""

    arg_types = arguments("this", "alias")


class DropSinkNode(exp.Expression):
    """`DROP SINK this OF expression`: a sink and its subscription."""

    arg_types = arguments("this expression", "exists")


class DropRelationNode(exp.Expression):
    """`DROP STREAM | TABLE name`."""

    arg_types = arguments("this kind", "exists")


class DropSubscriptionNode(exp.Expression):
    """`DROP SUBSCRIPTION name WHERE ID IN (expressions)`."""

    arg_types = arguments("this", "expressions exists")


class ResumeNode(exp.Expression):
    """`RESUME name`."""

    arg_types = arguments("this")


class KeepNode(exp.Expression):
    """`KEEP limits`; what the limits are is read by who keeps them."""

    arg_types = arguments("this")


class ExplainNode(exp.Expression):
    """`EXPLAIN select FOR EACH ROW OF each OPTIONS (…) WHAT IF (…)`.

    Or `EXPLAIN SUBSCRIPTION name WHAT IF (…)`.
    """

    arg_types = arguments("this", "each key adapt snapshot messages options what_if")


class AssumptionNode(exp.Expression):
    """`this(expressions) = value` inside WHAT IF; the value may have a unit, or be per a unit."""

    arg_types = arguments("this value", "expressions unit per")


class ExplainTupleNode(exp.Expression):
    """`EXPLAIN TUPLE OF this (options) FOR name`."""

    arg_types = arguments("this options expression")


class WithinNode(exp.Expression):
    """`WITHIN this unit`, after a join's condition."""

    arg_types = arguments("this unit")


class WindowNode(exp.Expression):
    """`[ROWS this]` or `[RANGE this unit]`, after a relation or its alias.

    Or `[SIZE this unit ADVANCE advance]`, the window of a model query.
    """

    arg_types = arguments("this kind", "unit advance")


class DurationNode(exp.Expression):
    """A length of time, `this unit`."""

    arg_types = arguments("this unit")


class ModelNode(exp.Expression):
    """`MODEL expressions KEY key`, after a relation, its alias and its window."""

    arg_types = arguments("expressions", "key")


class ModelledNode(exp.Expression):
    """A part of MODEL, `this` or `this = expression`; `table` may stand before it."""

    arg_types = arguments("this", "table expression")


class ErrorNode(exp.Expression):
    """`ERROR WITHIN expressions`, each a `BoundNode`."""

    arg_types = arguments("expressions")


class BoundNode(exp.Expression):
    """`attribute this % form` inside ERROR WITHIN; the form is `absolute`, `relative` or none."""

    arg_types = arguments("this", "attribute percent form")


class SampleNode(exp.Expression):
    """`SAMPLE EVERY every`, or `SAMPLE RATE rate`."""

    arg_types = arguments("", "every rate")


class SplitNode(exp.Expression):
    """`SPLIT this`, or `SPLIT (expressions)`, each of which is a ShareNode."""

    arg_types = arguments("", "this expressions")


class ShareNode(exp.Expression):
    """`attribute this` inside SPLIT."""

    arg_types = arguments("this attribute")


class HorizonNode(exp.Expression):
    """`HORIZON this`, or `HORIZON ADAPTIVE (least, this)`."""

    arg_types = arguments("this", "least")


class FitNode(exp.Expression):
    """`FIT table.this USING method (expressions) DEGREE degree`."""

    arg_types = arguments("this method", "table expressions degree")


class UnknownStatementNode(exp.Expression):
    """A statement that begins with words of somebody else's dialect."""

    arg_types = arguments("this")
