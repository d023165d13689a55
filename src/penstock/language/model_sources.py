"""Sources of model queries: a stream of FROM, its key, its models, and which rows it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.models import Fit, ModelledAttribute, ModelSource
from penstock.language.comparisons import duck_refusal
from penstock.language.duckdb_checks import DuckError, arrow_type, types_of
from penstock.language.join_keys import key_kind
from penstock.language.model_clauses import ModelSettings
from penstock.language.model_coefficients import LawReader, is_time
from penstock.language.name_resolution import Names, Scope, exact, relation_of
from penstock.language.own_words import Wording
from penstock.language.places import ScriptSource, listing, suggestion
from penstock.language.residuals import refuse_variables
from penstock.language.window_clauses import check_ordered
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import NUMBERS, ColumnKind, kind_of

ATTRIBUTES_MAX = 16
"""Modelled attributes of one relation."""
KEYS_MAX = 8
"""Key columns of one relation, and columns that it carries."""
OTHER = ColumnKind.OTHER


@dataclass(slots=True)
class SourceDraft:
    """A source while its query is read: conditions on its rows are still coming."""

    relation: Relation
    qualifier: str
    source: ScriptSource
    tokens: Sequence[Token]
    settings: ModelSettings
    key: list[str] = field(default_factory=list)
    attributes: list[ModelledAttribute] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)

    def carry(self, column: str) -> None:
        """Let a column be constant during a segment, if it can be; others are refused later."""
        is_known = column in self.carried or len(self.carried) == KEYS_MAX
        if not is_known and kind_of(self.relation.schema.field(column).type) is not OTHER:
            self.carried.append(column)

    def add_condition(self, conjunct: exp.Expr) -> None:
        """Let only rows in of which a condition is true; it names columns of this relation."""
        names = self._names()
        holder = exp.Paren(this=conjunct.copy())
        names.resolve(holder)
        refuse_variables([holder.this], names)
        self._refuse_words_for_numbers(holder, conjunct)
        text = self._wording(names).say_beside(holder.this)
        (type_,) = self._types([text], names, conjunct)
        if type_ not in {"BOOLEAN", '"NULL"'}:
            fact = f"The condition is of type {type_}, not BOOLEAN."
            raise self.source.error("SQL-034", fact, "Compare it with something.", at=conjunct)
        if text not in self.conditions:
            self.conditions.append(text)

    def _refuse_words_for_numbers(self, holder: exp.Expr, at: exp.Expr) -> None:
        """Refuse comparisons of a column of numbers with a text that is none: no row has it."""
        for node in holder.find_all(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In):
            columns = (each for each in _operands(node) if isinstance(each, exp.Column))
            column = next(columns, None)
            if column is None or not self.is_number(column.name):
                continue
            for each in _operands(node):
                if isinstance(each, exp.Literal) and each.is_string and not _is_number(each.this):
                    type_ = self.relation.schema.field(column.name).type
                    fact = f"Cannot compare '{column.name}' ({type_}) with '{each.this}' (string)."
                    remedy = "Compare like with like, or CAST one side."
                    raise self.source.error("SQL-030", fact, remedy, at=at)

    def is_number(self, column: str) -> bool:
        """Say whether a column can be a function of time."""
        return kind_of(self.relation.schema.field(column).type) in NUMBERS

    def finish(self) -> ModelSource:
        """Give the source."""
        schema = self.relation.schema
        said = sorted(self.conditions)
        text = " AND ".join(f"({each})" for each in said) if len(said) > 1 else None
        return ModelSource(
            relation=self.relation.name,
            event_time=str(self.relation.event_time),
            key=tuple((name, schema.field(name).type) for name in self.key),
            attributes=tuple(self.attributes),
            columns=tuple(self.columns),
            carried=tuple((name, schema.field(name).type) for name in self.carried),
            condition=text or (said[0] if said else None),
            horizon_us=self.settings.horizon_us,
            horizon_min_us=self.settings.horizon_min_us,
            lateness_us=self.relation.lateness_us,
        )

    def law(self, law: exp.Expr) -> tuple[str, ...]:
        """Give the coefficients of a law, as texts over `c0`, `c1`, …."""
        names = self._names()
        holder = exp.Paren(this=law.copy())
        for node in list(holder.find_all(exp.Column)):
            if is_time(node):
                continue
            inside = exp.Paren(this=node.copy())
            names.resolve(inside)
            node.replace(inside.this)
        placeholder = holder.find(exp.Placeholder)
        if placeholder is not None:
            fact = f"The parameter :{placeholder.name} stands in a model, which queries share."
            remedy = "Write columns and numbers."
            raise self.source.error("MDL-014", fact, remedy, at=placeholder)
        wording = self._wording(names)
        texts = LawReader(self.source, wording.say).read(holder.this)
        for text, type_ in zip(texts, self._types(texts, names, law), strict=True):
            found = arrow_type(type_)
            if found is None or kind_of(found) not in NUMBERS:
                fact = f"A coefficient of the model is {type_}, no number: {text}."
                raise self.source.error("MDL-005", fact, "Make a number of it.", at=law)
        return texts

    def _names(self) -> Names:
        names = Names(self.source, (Scope(self.relation, self.qualifier),), None)
        names.tokens = self.tokens
        return names

    def _wording(self, names: Names) -> Wording:
        def column(name: str, _span: object) -> str:
            if name not in self.columns:
                self.columns.append(name)
            return f"c{self.columns.index(name)}"

        def parameter(name: str, _span: object) -> str:
            raise AssertionError(name)

        return Wording(names, column, parameter)

    def _types(self, texts: Sequence[str], names: Names, at: exp.Expr) -> tuple[str, ...]:
        schema = self.relation.schema
        met = {f"c{i}": schema.field(name).type for i, name in enumerate(self.columns)}
        try:
            return types_of(texts, met)
        except DuckError as error:
            raise duck_refusal(error, names, at, "SQL-032") from None


def source_draft(
    table: exp.Table,
    source: ScriptSource,
    catalog: Catalog,
    tokens: Sequence[Token],
    settings: ModelSettings,
) -> SourceDraft:
    """Read a relation of FROM with its MODEL, or refuse it."""
    relation = relation_of(table, source, catalog)
    models = table.args.get("models") or []
    if not models:
        raise source.error(
            "MDL-002",
            f"{table.alias_or_name!r} has no MODEL: nothing says which columns are functions of "
            "time.",
            f"Write {table.alias_or_name} MODEL column KEY column.",
            at=table,
        )
    if not relation.passes:
        fact = f"{relation.name!r} is no stream: models are of rows that come in time."
        remedy = "Model a stream; a table's rows can become one in their source."
        raise source.error("MDL-003", fact, remedy, at=table)
    check_ordered(relation, "Models follow", "MDL-003", table, source)
    draft = SourceDraft(relation, table.alias_or_name, source, tokens, settings)
    _read_keys(draft, [key for model in models for key in model.args.get("key") or ()])
    modelled = [each for model in models for each in model.expressions]
    if len(modelled) > ATTRIBUTES_MAX:
        fact = f"{draft.qualifier!r} has {len(modelled)} models, {ATTRIBUTES_MAX} may be."
        remedy = "Model those that the query speaks of."
        raise source.error("MDL-016", fact, remedy, at=modelled[ATTRIBUTES_MAX])
    for node in modelled:
        draft.attributes.append(_attribute(draft, node))
    return draft


def _read_keys(draft: SourceDraft, nodes: Sequence[exp.Expr]) -> None:
    for node in nodes:
        name = _column(draft, node)
        type_ = draft.relation.schema.field(name).type
        if name in draft.key:
            fact = f"KEY has {name!r} twice."
            raise draft.source.error("MDL-007", fact, "Remove one of them.", at=node)
        if key_kind(type_) is None or kind_of(type_) is ColumnKind.FLOAT:
            fact = f"{name!r} is {type_}: its values name nothing that has a model."
            remedy = "Choose columns of whole numbers, decimals, texts, dates, times or booleans."
            raise draft.source.error("MDL-007", fact, remedy, at=node)
        if name == draft.relation.event_time:
            fact = f"{name!r} is the event time: every row would be a key of its own."
            raise draft.source.error("MDL-007", fact, "Choose other columns.", at=node)
        if len(draft.key) == KEYS_MAX:
            fact = f"KEY has more than {KEYS_MAX} columns."
            raise draft.source.error("MDL-016", fact, "Choose fewer of them.", at=node)
        draft.key.append(name)


def _attribute(draft: SourceDraft, node: exp.Expr) -> ModelledAttribute:
    table = node.args.get("table")
    if table is not None and table.name.lower() != draft.qualifier.lower():
        fact = f"MODEL stands behind {draft.qualifier!r}, and models a column of {table.name!r}."
        remedy = f"Write {draft.qualifier}.{node.name}, or the column alone."
        raise draft.source.error("SQL-021", fact, remedy, at=table)
    name = _column(draft, node.this)
    type_ = draft.relation.schema.field(name).type
    if kind_of(type_) not in NUMBERS:
        fact = f"{name!r} is {type_}, and models are functions with numbers as values."
        raise draft.source.error("MDL-004", fact, "Model columns of numbers.", at=node)
    if name in draft.key or any(each.name == name for each in draft.attributes):
        what = "is a key column" if name in draft.key else "has two models"
        remedy = "Keep one of them." if name not in draft.key else "Take it out of one of the two."
        raise draft.source.error("MDL-004", f"{name!r} {what}.", remedy, at=node)
    law = node.args.get("expression")
    asked = [
        each
        for each in draft.settings.fits
        if each.attribute.lower() == name.lower()
        and (each.qualifier is None or each.qualifier.lower() == draft.qualifier.lower())
    ]
    if law is not None:
        if asked:
            fact = f"{name!r} has a model in MODEL, and FIT would fit another."
            raise draft.source.error("MDL-018", fact, "Keep one of them.", at=asked[0].node)
        return ModelledAttribute(name=name, observed=name, coefficients=draft.law(law))
    if len(asked) > 1:
        fact = f"{name!r} has two FITs."
        raise draft.source.error("MDL-018", fact, "Keep one of them.", at=asked[1].node)
    return ModelledAttribute(name=name, observed=name, fit=asked[0].fit if asked else Fit())


def _column(draft: SourceDraft, node: exp.Expr) -> str:
    known = draft.relation.schema.names
    found = exact(node.name, known)
    if found is None:
        fact = f"{draft.relation.name!r} has no column {node.name!r}."
        remedy = suggestion(node.name, known, f"Its columns are: {listing(known)}.")
        raise draft.source.error("SQL-020", fact, remedy, at=node)
    return found


def degree_of(attribute: ModelledAttribute) -> int:
    """Give the highest power of time that a source's attribute has."""
    if attribute.fit is not None:
        return attribute.fit.degree
    return len(attribute.coefficients) - 1


def refuse_unmet_fits(
    settings: ModelSettings, drafts: Sequence[SourceDraft], source: ScriptSource
) -> None:
    """Refuse a FIT of what is not modelled."""
    for asked in settings.fits:
        met = any(
            each.name.lower() == asked.attribute.lower()
            and (asked.qualifier is None or asked.qualifier.lower() == draft.qualifier.lower())
            for draft in drafts
            for each in draft.attributes
        )
        if not met:
            raise unknown_attribute(asked.attribute, drafts, "MDL-018", asked.node, source)


def unknown_attribute(
    name: str, drafts: Sequence[SourceDraft], code: str, at: exp.Expr, source: ScriptSource
) -> PenstockError:
    """Refuse the name of no attribute."""
    known = list(dict.fromkeys(each.name for draft in drafts for each in draft.attributes))
    fact = f"{name!r} is no modelled attribute."
    remedy = suggestion(name, known, f"Modelled are: {listing(known)}.")
    return source.error(code, fact, remedy, at=at)


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """Give what is compared."""
    return [node.this, *([node.expression] if node.expression else node.expressions)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
