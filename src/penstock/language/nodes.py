"""What our own words become in sqlglot's trees."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class CreateRelationNode(exp.Expression):
    """`CREATE STREAM | TABLE name (columns) FROM source OPTIONS (…)`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "source": True,
        "expressions": False,
        "options": False,
        "exists": False,
        "replaces": False,
    }


class CreateLookupNode(exp.Expression):
    """`CREATE TABLE name (columns) LOOKUP FROM source KEY key CACHE … MODEL … OPTIONS (…)`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "source": True,
        "expressions": False,
        "key": True,
        "cache": True,
        "law": False,
        "options": False,
        "exists": False,
        "replaces": False,
    }


class CreateViewNode(exp.Expression):
    """`CREATE VIEW name REFRESH WITHIN bound unit STORE store AS expression OPTIONS (…)`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "bound": True,
        "unit": True,
        "store": False,
        "expression": True,
        "options": False,
    }


class MemoryNode(exp.Expression):
    """`MEMORY this ROWS SHARED BY shared USING using MODEL expressions`.

    Or CACHE, which nobody shares and whose law stands beside it.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "shared": False,
        "using": False,
        "expressions": False,
    }


class SharingNode(exp.Expression):
    """A part of SHARED BY, `this (key)`: a relation, maybe with a window, and a column of it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "key": True}


class LawNode(exp.Expression):
    """`name AS family (expressions)`; the law of a CACHE has no name."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "family": True, "expressions": False}


class OptionNode(exp.Expression):
    """`key = value` inside OPTIONS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class SubscribeNode(exp.Expression):
    """`SUBSCRIBE name TO select [AS MESSAGES] FOR EACH ROW OF each … INTO into`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expression": True,
        "into": False,
        "each": False,
        "key": False,
        "adapt": False,
        "snapshot": False,
        "messages": False,
        "options": False,
    }


class SinkNode(exp.Expression):
    """`address AS name` inside INTO: where a sink is, and what it is called."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "alias": False}


class DropSinkNode(exp.Expression):
    """`DROP SINK this OF expression`: a sink and its subscription."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True, "exists": False}


class DropRelationNode(exp.Expression):
    """`DROP STREAM | TABLE name`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "exists": False}


class DropSubscriptionNode(exp.Expression):
    """`DROP SUBSCRIPTION name WHERE ID IN (expressions)`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False, "exists": False}


class ResumeNode(exp.Expression):
    """`RESUME name`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class KeepNode(exp.Expression):
    """`KEEP limits`; what the limits are is read by who keeps them."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class ExplainNode(exp.Expression):
    """`EXPLAIN select FOR EACH ROW OF each OPTIONS (…) WHAT IF (…)`.

    Or `EXPLAIN SUBSCRIPTION name WHAT IF (…)`.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "each": False,
        "key": False,
        "adapt": False,
        "snapshot": False,
        "messages": False,
        "options": False,
        "what_if": False,
    }


class AssumptionNode(exp.Expression):
    """`this(expressions) = value` inside WHAT IF; the value may have a unit, or be per a unit."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expressions": False,
        "value": True,
        "unit": False,
        "per": False,
    }


class ExplainTupleNode(exp.Expression):
    """`EXPLAIN TUPLE OF this (options) FOR name`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": True, "expression": True}


class WithinNode(exp.Expression):
    """`WITHIN this unit`, after a join's condition."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": True}


class WindowNode(exp.Expression):
    """`[ROWS this]` or `[RANGE this unit]`, after a relation or its alias.

    Or `[SIZE this unit ADVANCE advance]`, the window of a model query.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "unit": False,
        "advance": False,
    }


class DurationNode(exp.Expression):
    """A length of time, `this unit`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": True}


class ModelNode(exp.Expression):
    """`MODEL expressions KEY key`, after a relation, its alias and its window."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True, "key": False}


class ModelledNode(exp.Expression):
    """A part of MODEL, `this` or `this = expression`; `table` may stand before it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "table": False, "expression": False}


class ErrorNode(exp.Expression):
    """`ERROR WITHIN expressions`, each a `BoundNode`."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class BoundNode(exp.Expression):
    """`attribute this % form` inside ERROR WITHIN; the form is `absolute`, `relative` or none."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "attribute": False,
        "percent": False,
        "form": False,
    }


class SampleNode(exp.Expression):
    """`SAMPLE EVERY every`, or `SAMPLE RATE rate`."""

    arg_types: ClassVar[dict[str, bool]] = {"every": False, "rate": False}


class SplitNode(exp.Expression):
    """`SPLIT this`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class HorizonNode(exp.Expression):
    """`HORIZON this`, or `HORIZON ADAPTIVE (least, this)`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "least": False}


class FitNode(exp.Expression):
    """`FIT table.this USING method (expressions) DEGREE degree`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "table": False,
        "method": True,
        "expressions": False,
        "degree": False,
    }


class UnknownStatementNode(exp.Expression):
    """A statement that begins with words of somebody else's dialect."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}
